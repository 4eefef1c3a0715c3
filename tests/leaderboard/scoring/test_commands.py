"""The commands as a user runs them, by exit code and output."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmark.errors import UserError
from leaderboard.tables import power
from leaderboard.write.published import write as write_published

from ..conftest import invoke as run

KEPT = ("mid", "edge", "solubility")
T = 200
RNG = np.random.default_rng(5)
Y = RNG.integers(2, size=T)
BASE = 1.5 * (2 * Y - 1) + RNG.normal(size=T)


def one_run(path, noise: float = 0.8, **more):
    p = 1 / (1 + np.exp(-(BASE + noise * RNG.normal(size=T))))
    table = pd.DataFrame({"example_id": [f"m{t}" for t in range(T)], "p0": 1 - p, "p1": p, "y_true": Y})
    table.assign(**more).to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def store(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "kept"
    write_published(replace(world, datasets=tuple(d for d in world.datasets if d.name in KEPT)), folder)
    return str(folder)


@pytest.fixture
def placed(world, monkeypatch):
    """Scores are placed among a few results: with the published ones, that takes most of a command's time."""
    monkeypatch.setattr("leaderboard.scoring.standing.published_results", lambda *_, **__: world)


@pytest.mark.parametrize(
    ("columns", "ends", "option"),
    [
        ({"y_true": np.array(["no effect", "toxic, severe"])[Y], "y_pred": Y}, (0, 1), "--classes"),
        ({"y_true": Y, "score (a, b)": BASE}, (-1, 1), "--logits"),
        ({"y_true": Y, 'score ("a", b)': BASE}, (-1, 1), "--logits"),
    ],
)
def test_an_option_that_an_error_names_is_typed_as_it_stands_there(columns, ends, option, tmp_path) -> None:
    names = [str(tmp_path / f"{r}.csv") for r in range(2)]
    for r, name in enumerate(names):
        table = pd.DataFrame({"example_id": [f"m{t}" for t in range(T)], **columns})
        table.iloc[0, -1] = ends[r]
        table.to_csv(name, index=False)
    words = ["gate", *names, "--max-flips", "5%"]
    refused = str(run(*words).exception)
    done = run(*words, *shlex.split(refused[refused.rindex(option) :].partition(", if classes")[0]))
    assert done.exit_code == 0, (refused, done.output)
    assert "bad (right to wrong)" in done.output


def test_score_writes_a_page_and_all_numbers(tmp_path, placed):
    files = [one_run(tmp_path / f"{r}.csv") for r in range(4)]
    pd.concat([pd.read_csv(f).assign(run=r) for r, f in enumerate(files)]).to_parquet(tmp_path / "all.parquet")
    page, numbers, table = (tmp_path / name for name in ("s.html", "s.json", "s.csv"))
    words = ["--html", str(page), "--json", str(numbers), "--csv", str(table)]
    result = run("score", str(tmp_path / "all.parquet"), *words)
    assert result.exit_code == 0, result.output
    assert "Churn (%)" in result.output
    columns = "4 runs by run; predictions: p0, p1; truth: y_true; left out: __index_level_0__."
    assert columns in result.output
    assert columns in page.read_text(encoding="utf-8")
    content = json.loads(numbers.read_text(encoding="utf-8"))
    assert columns in content["notes"]
    assert content["churn"]["low"] < content["churn"]["value"] < content["churn"]["high"]
    assert [row["example_id"] for row in content["ranking"]] == pd.read_csv(table)["example_id"].tolist()
    assert content["published"]["rows"][0][0] == "ERM"
    assert f"{100 * content['churn']['value']:.1f} %" in page.read_text(encoding="utf-8")


def test_score_is_short_unless_more_is_asked_for(tmp_path, placed):
    files = [one_run(tmp_path / f"{r}.csv") for r in range(3)]
    short, long = (" ".join(run("score", *files, *more).output.split()) for more in ([], ["--more"]))
    for part in ("Churn (%)", "The 5 most fragile", "ERM, plain training", "Add --more"):
        assert part in short
    for part in ("Scorecard", "By true class", "Among the published results", "The 20 most fragile"):
        assert part not in short
        assert part in long


def test_a_review_ranks_flips_first_and_says_what_is_in_sample(tmp_path, placed):
    a, b, out = one_run(tmp_path / "a.csv"), one_run(tmp_path / "b.csv"), tmp_path / "review.csv"
    result = run("score", a, b, "--review", str(out))
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out)
    flips = (pd.read_csv(a)["p1"] > 0.5) != (pd.read_csv(b)["p1"] > 0.5)
    assert table["review"].sum() == 60
    assert table["flips"].sum() == flips.sum()
    assert not table["flips"].iloc[flips.sum() :].any()
    assert "in-sample" in result.output
    assert "of the flips in other runs" in result.output
    more = one_run(tmp_path / "c.csv")
    for words, message in (
        ((a, b, more), "--review takes two runs, found 3"),
        ((a, b, "--review-share", "0%"), "--review-share 0%: expected a share above 0%"),
    ):
        assert message in str(run("score", *words, "--review", str(out)).exception)


def test_gate_passes_fails_or_is_undecided_and_says_how_it_read_each_table(tmp_path):
    old, new = one_run(tmp_path / "old.csv"), one_run(tmp_path / "new.csv")
    flips = ((pd.read_csv(old)["p1"] > 0.5) != (pd.read_csv(new)["p1"] > 0.5)).mean()
    above = str(flips + 0.01)
    for limits, code, said in [
        (["40%"], 0, "passed: flips at most 40.00%"),
        (["40%", "--max-bad-flips", "0.3"], 0, "passed: flips at most 40.00%, bad flips at most 30.00%"),
        (["1%"], 1, "failed: "),
        (["40%", "--max-bad-flips", "0"], 1, "failed: "),
        ([above], 1, "undecided: flips: the interval ["),
        ([above, "--by-estimate"], 0, "passed"),
    ]:
        result = run("gate", old, new, "--max-flips", *limits)
        assert result.exit_code == code, result.output
        assert said in result.output
        for path in (old, new):
            assert f"{path}: read as probabilities; predictions: p0, p1; truth: y_true." in result.output
    result = run("gate", old, new, "--max-flips", "100%", "--format", "json")
    content = json.loads(result.stdout)
    assert (content["passed"], content["reasons"]) == (True, [])
    assert f"{new}: read as probabilities; predictions: p0, p1; truth: y_true." in result.stderr, "beside the report"


def test_gate_exits_with_2_for_bad_input(tmp_path):
    old = one_run(tmp_path / "old.csv")
    pd.read_csv(old).iloc[1:].to_csv(tmp_path / "new.csv", index=False)
    result = run("gate", old, str(tmp_path / "new.csv"), "--max-flips", "5%")
    assert isinstance(result.exception, UserError), "which exits with 2"
    assert "'m0' is in" in str(result.exception)
    wrong = dict.fromkeys(("much", "5%%", "1_0%", "-0", ""), "expected a share")
    wrong |= dict.fromkeys(("1", "1.0"), "may be 1% or all: write 1% or 100%")
    for text, message in wrong.items():
        for limits in (["--max-flips", text], ["--max-flips", "5%", "--max-bad-flips", text]):
            result = run("gate", old, "new.csv", *limits)
            assert f"{limits[-2]} {text!r}: {message}" in str(result.exception)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("score old.csv new.csv --csv old.csv", "--csv old.csv: it is read"),
        ("score old.csv new.csv --html ./new.csv", "--html new.csv: it is read"),
        ("score old.csv new.csv --review link.csv", "--review link.csv: it is read"),
        ("score old.csv new.csv --json truth.csv --truth truth.csv", "--json truth.csv: it is read"),
        ("score old.csv new.csv --html x --json x", "--json x: --html writes it"),
        ("score old.csv new.csv --csv none/x.csv", "--csv none/x.csv: there is no folder none"),
        ("score old.csv new.csv --csv .", "--csv .: is a folder: expected the name of a file to write"),
        ("score old.csv new.csv --review-share 10%", "--review-share 10% has no effect without --review FILE"),
        ("update old.csv new.csv --csv old.csv", "--csv old.csv: it is read"),
        ("update old.csv new.csv --json - --markdown -", "--markdown -: --json writes it"),
        ("score old.csv ./old.csv", "old.csv and ./old.csv are the same"),
        ("gate old.csv old.csv --max-flips 5%", "old.csv is given twice"),
        ("gate models:/m/1 models:/m/1 --max-flips 5%", "models:/m/1 is given twice"),
        ("gate old.csv new.csv --max-flips 5% --target y", "have no effect without a model and its --data"),
        ("gate old.csv new.csv --max-flips 5% --env-manager uv", "have no effect without a model and its --data"),
        ("update old.csv new.csv --retrained link.csv", "old.csv and link.csv are the same"),
    ],
)
def test_no_file_is_overwritten_or_compared_with_itself_and_no_option_without_effect_ignored(
    tmp_path, monkeypatch, line, message
):
    monkeypatch.chdir(tmp_path)
    old, _, _ = (one_run(tmp_path / name) for name in ("old.csv", "new.csv", "truth.csv"))
    (tmp_path / "link.csv").symlink_to(old)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert message in str(run(*line.split()).exception)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_power_says_how_many_retrainings_a_difference_needs_with_the_sign_of_the_board(store):
    words = ("power", "--store", store, "--delta")
    regression = run(*words, "0.5", "--methods", "erm,calm", "--dataset", "solubility").output
    assert "truly differs by 0.5 log mol/l" in " ".join(regression.split())
    assert "left out" not in regression
    found = {}
    for methods in ("erm,calm", "calm,erm"):
        said = run(*words, "5", "--methods", methods).output
        for part in ("truly differs by 5 pp", "10 resolve a difference of 5 pp on", "Regressions are left out"):
            assert part in " ".join(said.split())
        assert not {"Mid", "Solubility"} & {*said.split()}, "one lacks a method, one is a regression"
        line = next(line for line in said.splitlines() if "Edge" in line)
        found[methods] = float(line.split("│")[2].split()[0].replace("−", "-"))
    assert found["erm,calm"] == -found["calm,erm"] < 0, "calm minus ERM: the calm method churns less"


def test_power_knows_nothing_from_a_pilot_without_variance_and_asks_for_a_regression_by_name(world):
    erm = world.called("erm")["edge"]
    edge = replace(world.dataset("edge"), entries=(erm, replace(erm, method="twin", title="Twin")))
    ((_, *cells, _),) = power.table(replace(world, datasets=(edge,)), 5, ("erm", "twin"), "edge").rows
    assert [cell.text for cell in cells] == ["+0.0", "–", "–"]
    alone = replace(world, datasets=(world.dataset("solubility"),), others=())
    with pytest.raises(UserError, match="Regressions are left out, as each has its own unit: name one with --dataset"):
        power.tables(alone, None, ("erm", "calm"))


@pytest.mark.long
def test_power_has_published_results_where_nothing_was_run():
    one, every = run("power", "--dataset", "bace"), run("power")
    assert one.exit_code == every.exit_code == 0
    said = " ".join(one.output.split())
    assert "halvings (two retrainings each) of ERM and of Twin-bootstrap λ=100, on the same samples" in said
    assert {"BACE", "AMES"} <= set(every.output.split())
    assert "ESOL" not in every.output
    assert "Regressions are left out" in every.output
    esol = run("power", "--dataset", "esol", "--delta", "0.05")
    assert "Halvings needed" in esol.output
    assert "log10(mol/L)" in esol.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset", "egde"], "did you mean 'edge'"),
        (["--dataset", "solubility"], "solubility is a regression: give --delta in its unit, log mol/l"),
        (["--methods", "erm"], "expected two methods"),
        (["--methods", "erm,erm", "--delta", "5"], "--methods erm,erm: the same method twice"),
        (["--methods", "erm,calm", "--dataset", "mid"], "no dataset has both"),
        (["--delta", "0"], "above 0"),
        (["--delta", "inf"], "--delta inf: expected a finite difference above 0"),
    ],
)
def test_power_names_what_is_wrong(store, words, message):
    words = words if "--methods" in words else ["--methods", "erm,calm", *words]
    result = run("power", "--store", store, *words)
    assert message in str(result.exception)
