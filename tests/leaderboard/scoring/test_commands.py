"""The commands as a user runs them, by exit code and output."""

import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmark.errors import UserError
from leaderboard.__main__ import app
from leaderboard.tables import power
from leaderboard.write.published import write as write_published

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


def run(*words: str):
    return CliRunner().invoke(app, list(words), catch_exceptions=True)


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
    short, long = (run("score", *files, *more).output for more in ([], ["--more"]))
    assert len(short.splitlines()) < 45
    for part in ("Churn (%)", "The 5 most fragile", "ERM, plain training", "Add --more"):
        assert part in " ".join(short.split())
    for part in ("Scorecard", "By true class", "Among the published results"):
        assert part not in short
        assert part in long
    assert "The 20 most fragile" in " ".join(long.split())


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
    result = run("score", a, b, more, "--review", str(out))
    assert "--review takes two runs, found 3" in str(result.exception)
    result = run("score", a, b, "--review", str(out), "--review-share", "0%")
    assert "--review-share 0%: expected a share above 0%" in str(result.exception)


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


def test_gate_exits_with_2_for_bad_input(tmp_path):
    old = one_run(tmp_path / "old.csv")
    pd.read_csv(old).iloc[1:].to_csv(tmp_path / "new.csv", index=False)
    result = run("gate", old, str(tmp_path / "new.csv"), "--max-flips", "5%")
    assert isinstance(result.exception, UserError), "which exits with 2"
    assert "'m0' is in" in str(result.exception)
    for text in ("much", "5%%", "1_0%", "-0", ""):
        for option in ("--max-flips", "--max-bad-flips"):
            limits = {"--max-flips": "5%"} | {option: text}
            result = run("gate", old, "new.csv", *chain.from_iterable(limits.items()))
            assert f"{option} {text!r}: expected a share" in str(result.exception)
    for option, value in (("--max-flips", "1"), ("--max-flips", "1.0"), ("--max-bad-flips", "1")):
        limits = {"--max-flips": "5%"} | {option: value}
        result = run("gate", old, "new.csv", *chain.from_iterable(limits.items()))
        assert str(result.exception) == f"{option} {value!r}: may be 1% or all: write 1% or 100%"


def test_gate_says_how_it_read_each_table_beside_a_report_for_machines_and_refuses_options_of_models(tmp_path):
    old, new = one_run(tmp_path / "old.csv"), one_run(tmp_path / "new.csv")
    result = run("gate", old, new, "--max-flips", "100%", "--format", "json")
    assert f"{new}: read as probabilities; predictions: p0, p1; truth: y_true." in result.stderr
    content = json.loads(result.stdout)
    assert (content["passed"], content["reasons"]) == (True, [])
    for words in (["--target", "y"], ["--env-manager", "uv"]):
        result = run("gate", old, new, "--max-flips", "100%", *words)
        assert "have no effect without a model and its --data" in str(result.exception)


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
        ("update old.csv new.csv --retrained link.csv", "old.csv and link.csv are the same"),
    ],
)
def test_no_file_is_overwritten_or_compared_with_itself(tmp_path, monkeypatch, line, message):
    monkeypatch.chdir(tmp_path)
    old, _, _ = (one_run(tmp_path / name) for name in ("old.csv", "new.csv", "truth.csv"))
    (tmp_path / "link.csv").symlink_to(old)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert message in str(run(*line.split()).exception)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_power_says_how_many_retrainings_a_difference_needs(store):
    words = ("power", "--store", store, "--methods", "erm,calm", "--dataset", "solubility")
    regression = run(*words, "--delta", "0.5").output
    assert "truly differs by 0.5 log mol/l" in " ".join(regression.split())
    assert "left out" not in regression
    result = run("power", "--store", store, "--methods", "erm,calm", "--delta", "5")
    assert result.exit_code == 0, result.output
    assert "Edge" in result.output
    assert "truly differs by 5 pp" in " ".join(result.output.split())
    assert "Mid" not in result.output  # it lacks one of the two
    assert "Solubility" not in result.output
    assert "Regressions are left out" in result.output


def test_power_has_the_sign_of_the_board_and_a_line_that_sums_it_up(store):
    found = {}
    for methods in ("erm,calm", "calm,erm"):
        result = run("power", "--store", store, "--methods", methods, "--delta", "5", "--dataset", "edge")
        assert "10 resolve a difference of 5 pp on" in " ".join(result.output.split())
        line = next(line for line in result.output.splitlines() if "Edge" in line)
        found[methods] = float(line.split("│")[2].split()[0].replace("−", "-"))
    assert found["erm,calm"] == -found["calm,erm"] < 0, "calm minus ERM: the calm method churns less"


def test_power_knows_nothing_from_a_pilot_without_variance(world):
    edge = world.dataset("edge")
    erm = world.called("erm")["edge"]
    twin = replace(erm, method="twin", title="Twin")
    same = replace(world, datasets=(replace(edge, entries=(erm, twin)),))
    ((_, *cells, _),) = power.table(same, 5, ("erm", "twin"), "edge").rows
    assert [cell.text for cell in cells] == ["+0.0", "–", "–"]


def test_power_of_regressions_alone_says_how_to_ask_for_one(world):
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
