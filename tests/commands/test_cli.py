"""The command line agrees with the documentation and MLproject; mistakes give one plain message and exit code 2."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import typer
import yaml

from benchmark.commands import train
from benchmark.files import CHECKOUT
from benchmark.learners import names
from benchmark.registry import discover
from benchmark.studies import discover as studies
from benchmark.train.learner import NetworkLearner
from leaderboard.__main__ import app as leaderboard_app
from leaderboard.__main__ import churn_app
from tests.conftest import Churn, call

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
GUIDES = {path.name: path.read_text(encoding="utf-8") for path in (CHECKOUT / "docs").rglob("*.md")}
CHURN = typer.main.get_command(churn_app())


def commands_in(text: str) -> list[list[str]]:
    """Return every ``churn …`` in a text, and every ``python -m …`` of MLproject, as a list of words."""
    code = "\n".join(re.findall(r"```sh\n(.*?)```", text, flags=re.S)) if text.startswith("#") else text
    lines = re.findall(r"^ *churn ([a-z][^\n&'\"#]+)", code, flags=re.M)
    lines += re.findall(r"(?:`churn|python -m (?:benchmark|leaderboard)) ([a-z][^`\n&'\"]+)", text)
    return [shlex.split(line) for line in lines]


def assert_understood(name: str, *words: str) -> None:
    options = {option for parameter in CHURN.commands[name].params for option in parameter.opts}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= options, f"churn {name} has no {given - options}"


def test_every_command_of_mlproject_exists_with_its_options() -> None:
    commands = commands_in((CHECKOUT / "MLproject").read_text(encoding="utf-8"))
    assert commands
    for words in commands:
        assert_understood(*words)


def test_the_guides_name_every_command() -> None:
    told = [words for text in (README, *GUIDES.values()) for words in commands_in(text)]
    commands = CHURN.commands
    assert {words[0] for words in told} == {name for name in commands if not commands[name].hidden}


def test_the_help_of_every_command_fits_on_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, command in CHURN.commands.items():
        context = click.Context(command, info_name=name, terminal_width=80)
        assert command.get_help(context).count("\n") < 40, name


def test_the_guides_name_every_learner_that_is_a_network_and_no_other_than_there_are() -> None:
    table = re.findall(r"^\| (`.*?) \|", GUIDES["learners.md"].partition("\n## ")[0], flags=re.M)
    named = {name for row in table for name in re.findall(r"`(\w+)", row)}
    networks = {name for name, cls in discover()[0].items() if issubclass(cls, NetworkLearner)}
    assert networks <= named <= {*names()}


def test_the_guides_name_every_study() -> None:
    rows = re.findall(r"^\| (`.*?) \|", GUIDES["studies.md"], flags=re.M)
    assert sorted(name for row in rows for name in re.findall(r"`([\w-]+)`", row)) == list(studies())


def test_mlproject_hands_on_every_parameter_that_it_declares() -> None:
    project = yaml.safe_load((CHECKOUT / "MLproject").read_text())
    for entry in project["entry_points"].values():
        used = set(re.findall(r"{(\w+)}", entry["command"]))
        assert used == set(entry["parameters"])


def test_the_environment_of_mlflow_run_is_built_from_the_same_list() -> None:
    environment = yaml.safe_load((CHECKOUT / "python_env.yaml").read_text())
    assert environment["dependencies"] == ["-c constraints.txt", "."]
    assert "python" not in environment
    pinned = {
        line.split("==")[0].lower() for line in (CHECKOUT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    for line in tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]:
        assert re.split(r"[<>=]", line)[0].lower() in pinned


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--method", "erm", "--dataset", "b3db_mesured"], "did you mean 'b3db_measured'"),
        (["run", "--method", ","], "at least one method"),
        (["run", "--method", "erm", "--register", "mine"], "there is no model to register: add --log-models"),
        (["run", "--method", "erm,twin", "--log-models", "--register", "x"], "2 models cannot be versions of one"),
        (["run", "--site", "/"], "/ exists and is not a leaderboard: choose another folder"),
        (["run", "--method", "erm", "--canonical-seed", "x"], "canonical seeds 'x': expected one as in 99, a range"),
        (["run", "--method", "erm", "--seeds", "4294967296,"], "seeds '4294967296,'"),
        (["check", "nowhere.py"], "nowhere.py: no such file"),
        (["list", "bace", "--markdown"], "--markdown prints the table of the suite's datasets: name none"),
        (["study", "lambda-rule", "--store", "results", "--dataset", "dili"], "--dataset has no effect with --store"),
        (["study", "members", "--learner", "svm:C=10"], "--learner svm:C=10: a study takes a learner with its default"),
        (["study", "", "--dataset", ""], "expected the name of a study, found nothing: churn study lists them"),
        (["study", "--seeds", "3"], "--seeds has no effect without the name of a study"),
        (
            ["study", "lambda-rule", "--dataset", "bace", "--set", "dataset=dili"],
            "--set dataset=dili: an option says dataset=bace: leave one out",
        ),
        (["study", "similarity", "--canonical-seed=-1"], "canonical_seed=-1: Input should be greater than or"),
        (["new-method", "Twin 2"], "expected at most 64 lower-case letters"),
        (["new-method", "twin"], "twin.py exists"),
        (["new-method", "true"], "it is a word of Python's: choose another name"),
        (["new-method", "mean"], "its class would hide what the template imports: choose another name"),
        (["plan", "--grids", "/dev/zero"], "/dev/zero: no such file: name a TOML of grids"),
        (["run", "--slurm", "no.toml"], "--slurm no.toml: no such file: name a TOML"),
        (
            ["run", "--slurm", "s.toml", "--scheduler", "tcp://a:1"],
            "--scheduler tcp://a:1 has no effect beside --slurm",
        ),
        (["new-method", "a" * 65], "expected at most 64 lower-case letters"),
        (["plan", "--features", "atom_pairs.4096+"], "expected a name on each side of '+'"),
        (["plan", "--grids", "g.toml", "--set", "lam=3"], "--set has no effect with --grids, as the blocks of g.toml"),
        (["run", "--block", "bits"], "--block bits: give the file"),
    ],
)
def test_a_mistake_gets_one_message_with_the_remedy(words, message, churn):
    error = churn(*words, code=2)
    assert message in error
    assert error.startswith("error: ")


def test_what_is_quoted_from_a_file_cannot_steer_the_terminal(tmp_path, churn):
    path = tmp_path / "mine" / "1.0" / "predictions"
    path.mkdir(parents=True)
    (path.parent / "submission.yml").write_bytes(b"\xef\xbb\xbf{a: 1}: \xef\xbb\xbf[b")
    (path / "bace.parquet").touch()
    said = churn("submit", "--check", str(path.parent), code=2, which=leaderboard_app)
    assert said.replace("\n", "").isprintable()


def test_a_plan_shows_what_is_missing_with_a_command_that_is_understood_and_what_it_costs(
    churn: Churn, own_store: Path, small_table: str
) -> None:
    words = ["--method", "erm,bagging:k=2", "--learner", "linear", "--features", "morgan.64.2", "--seeds", "4"]
    printed = churn("plan", *words, "--dataset", f"{small_table},{small_table}@train=20", "--jobs", "2")
    assert "looking for 4 cells in the tracking store sqlite:" in printed
    assert "missing  small@train=20, split 99: Bagging K=2" in printed
    commands = commands_in(printed)
    assert len(commands) == 4
    for command in commands:
        assert_understood(*command)
    head, first, second, total = printed.splitlines()[-4:]
    assert head.split() == ["dataset", "split", "cells", "retrainings", "CPU", "hours", "MB"]
    assert first.split()[:4] == ["small", "99", "2", "8"]
    assert second.split()[:4] == ["small@train=20", "99", "2", "8"]
    assert re.match(r"to train: 16 retrainings, \d+\.\d\d CPU hours, \d+\.\d\d hours on 2 workers, 0 MB", total)


@pytest.mark.parametrize(
    ("called", "program"), [("/venv/bin/churn", "churn"), ("/suite/benchmark/__main__.py", "python -m benchmark")]
)
def test_an_interrupted_command_is_repeated_as_it_was_called(churn, monkeypatch, called, program):
    monkeypatch.setattr(sys, "argv", [called, "run", "--method", "two words"])

    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmark.commands.train._grids", interrupted)
    said = churn("run", "--method", "erm", code=130)
    assert f"resumes from there:\n  {program} run --method 'two words'\n" in said


@pytest.mark.parametrize("which", [None, leaderboard_app, churn_app()])
def test_an_option_given_twice_is_refused_as_only_its_last_value_would_count(which, churn):
    words = ["compare", "erm"] if which is leaderboard_app else ["plan"]
    option = "--store" if which is leaderboard_app else "--method"
    error = churn(*words, option, "erm", f"{option}=twin", code=2, which=which)
    assert error.startswith(f"error: {option}: expected once, found 2 times: give it once")


def test_an_option_that_takes_several_values_and_a_flag_may_be_repeated(churn):
    words = ["plan", "--set", "lam=3", "--set", "k=2", "--offline", "--offline", "--seeds", "0"]
    assert "seeds '0': expected a count" in churn(*words, code=2)


def test_a_study_that_cannot_be_shown_has_the_exit_code_of_a_mistake(monkeypatch):
    monkeypatch.setattr(train, "_leaderboard", lambda *words: 2)
    assert call("study", "lambda-rule", "--store", "nowhere") == 2


def test_the_leaderboard_without_a_store_says_how_to_fill_one_and_makes_none(churn, own_store):
    assert "create one with churn run" in churn("build", code=2, which=leaderboard_app)
    assert list(own_store.iterdir()) == []


@pytest.mark.slow
def test_mlflow_run_of_a_git_server_trains_records_and_builds_the_page_where_the_user_stands(tmp_path: Path) -> None:
    served, user = tmp_path / "served", tmp_path / "user"
    user.mkdir()
    shutil.copytree(CHECKOUT, served / "suite", ignore=shutil.ignore_patterns(".*", "tests", "docs", "mlruns", "*.db"))
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "A"]):
        subprocess.run(["git", *words], cwd=served, check=True)
    ours = ("PYTHONPATH", "CHURN_HOME", "CHURN_OUTBOX")
    outside = {key: value for key, value in os.environ.items() if key not in ours and not key.startswith("MLFLOW_")}
    outside["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{outside['PATH']}"
    outside |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{served}.insteadOf"}
    outside["GIT_CONFIG_VALUE_0"] = "git://served"
    given = ["method=twin", "seeds=2", "set=lam=30", "dataset=b3db_measured@epochs=2"]
    words = ["mlflow", "run", "git://served#suite", "--env-manager", "local"]
    words += [word for pair in given for word in ("-P", pair)]
    result = subprocess.run(words, cwd=user, env=outside, capture_output=True, text=True, timeout=400, check=False)
    assert result.returncode == 0, result.stderr
    assert "2 cells trained" in result.stdout
    assert "mlflow ui" in result.stdout
    assert {"mlflow.db", "mlruns", "site"} <= {path.name for path in user.iterdir()}
    assert "Twin-bootstrap λ=30" in (user / "site" / "index.html").read_text()
    assert (user / "site" / "tables" / "b3db_measured@epochs=2-ood.csv").is_file()


@pytest.mark.usefixtures("own_registry")
def test_a_new_method_comes_from_the_template_and_keeps_the_contract(churn, monkeypatch, tmp_path):
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    churn("new-method", "my_method")
    assert "my_method keeps the contract" in churn("check", "my_method", "--trust")


def test_update_takes_predictions_or_a_dataset(churn: Churn) -> None:
    help_of = {trains: typer.main.get_command(churn_app(trains)).commands["update"].params for trains in (False, True)}
    names = {trains: {param.name for param in params} for trains, params in help_of.items()}
    assert {"old", "new"} <= names[False]
    assert {"dataset", "cuts"} <= names[True]
    assert not names[True] & {"old", "new"}
    assert "new" in churn("update", "old.csv", code=2, which=leaderboard_app).lower()


def test_an_output_that_lacks_a_letter_shows_something_else_and_goes_on(monkeypatch):
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert call("list") == 0
    shown.flush()
    assert b"475?1,058" in shown.buffer.getvalue()
