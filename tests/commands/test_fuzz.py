"""Command lines made at random, with odd words and files: each ends in bounded time and memory, without a traceback.

``FUZZ_SECONDS=900 pytest -m long -s tests/commands/test_fuzz.py`` tries for longer, and prints what it met.
"""

import importlib
import os
import signal
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from leaderboard.__main__ import churn_app

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
LONGEST, MOST = 120, 3 * 2**30
"""Seconds and bytes (resident) that a command may take."""
HEAVY = (
    *("benchmark.data.author", "benchmark.run.deploy", "benchmark.run.driver", "benchmark.study.training"),
    *("benchmark.store.tracking", "leaderboard.scoring.update", "leaderboard.site", "leaderboard.submission.pack"),
    *("leaderboard.submission.verify", "leaderboard.tables.pairwise", "leaderboard.write.cited", "openpyxl"),
)
WORDS = (
    *("", " ", "x", "x" * 10_000, "\udcff", "é\n", "../../etc", "/etc/passwd", "/dev/null", "--", "-1", "0", "1", "2"),
    *("1e400", "nan", "1-1000000", "1,2", "99999999999999999999", "0.5"),
    *("10%", "id", "y", "erm", "erm,twin", "svm:C=0"),
    *("bagging:k=999999999999", "svm:C=1e300", "sklearn:os.system", "sklearn:sklearn.svm.SVC", "models:/a/1", "lite"),
    *("b3db_measured", "b3db_measured@train=0", "small.toml"),
    *("small.toml@label_noise=7", "halves", "best", "runs,both"),
    *("http://[", "sqlite:////nowhere/a.db", "file:///", "%00", "$(id)", "{}", "[b]", "a=b", "=", "smiles", "target"),
)


def files(folder: Path) -> list[str]:
    """Write odd files, and return their names."""
    train = load_problem("b3db_measured").train
    table = pd.DataFrame({"smiles": train.smiles[:60], "target": train.y[:60], "p1": np.linspace(0, 1, 60)})
    table.insert(0, "id", np.arange(60))
    text = table.to_csv(index=False)
    contents: dict[str, str | bytes] = {
        "good.csv": text,
        "empty.csv": "",
        "header.csv": "id,y_pred\n",
        "cut.csv": text[:777],
        "nul.csv": "\0" * 999,
        "utf16.csv": text.encode("utf-16"),
        "latin.csv": b"id;\xe9\n1;2\n",
        "quote.csv": 'id,"y\n1,2',
        "wide.csv": ",".join("abc" * 999),
        "same.csv": "id,id\n1,2\n",
        "other.csv": text.replace(",1,", ",two,"),
        "big.csv": f"id,p1\n{'1' * 10**6},0.5\n",
        "zip.xlsx": b"PK\3\4" + b"x" * 99,
        "sdf.sdf": "x\n\n\n$$$$\n",
        "bad.parquet": b"PAR1" + b"\x15" * 99 + b"PAR1",
        "list.json": "[" * 9999,
        "bad.yml": "a: &a [*a]",
        "bad.toml": "hidden = 1600000000\n[",
        "odd.py": "import sys; sys.exit(3)",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    table.to_parquet(folder / "good.parquet")
    damaged = (folder / "good.parquet").read_bytes()
    (folder / "utf8.parquet").write_bytes(damaged.replace(b"smiles", b"\xff\xfeiles"))
    toml = """title = "S"\ntask = "classification"\ngroup = "own"\nsource = "file:good.csv"\nsmiles = "smiles"
target = "target"\nfeatures = ["morgan:64:2"]\nsplit = "random:0.5"\n"""
    (folder / "small.toml").write_text(toml)
    (folder / "huge.toml").write_text(f"{toml}[recipe]\nhidden = 1600000000\n")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe.csv")
    return [*contents, "good.parquet", "utf8.parquet", "small.toml", "huge.toml", "folder", "folder/none.csv"]


def command_line(rng: np.random.Generator, commands: dict[str, Any], words: list[str]) -> list[str]:
    """Draw a command with its arguments, and some of its options."""
    name = str(rng.choice(list(commands)))
    line = [name]
    for option in commands[name].params:
        word = words[int(rng.integers(len(words)))]
        flag = getattr(option, "is_flag", False)
        if option.param_type_name == "argument":
            line += [word] * int(rng.choice([0, 1, 1, 1, 2]))
        elif option.name != "help" and rng.random() < 0.25:
            line += [option.opts[-1]] if flag else [option.opts[-1], word]
    return line


def outcome(app: Any, line: list[str], said: Path) -> tuple[int, float, int, str]:
    """Run a command in a child: its exit code, seconds, bytes in memory, and what it said."""
    begin = time.monotonic()
    if not (child := os.fork()):
        os.setsid()
        signal.alarm(LONGEST)
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(out, number)
        sys.stdout, sys.stderr = open(1, "w", errors="replace"), open(2, "w", errors="replace")  # noqa: SIM115
        code: Any = 70
        try:
            app(line)
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            import traceback

            traceback.print_exc()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
    _, status, usage = os.wait4(child, 0)
    text = said.read_text(errors="replace")
    return os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_maxrss * 1024, text


@pytest.mark.long
def test_no_command_line_ends_in_a_traceback_or_takes_too_much(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    tarfile.open(tmp_path / "board.tar.xz", "w:xz").close()  # with a release, whose board is not built
    monkeypatch.setattr("leaderboard.site.prepared.ARCHIVE", tmp_path / "board.tar.xz")
    for name in HEAVY:  # once, not in each child
        importlib.import_module(name)
    app = churn_app()
    commands = dict(typer.main.get_command(app).commands)
    words = [*WORDS, *3 * files(tmp_path)]
    wrong, cases, longest, most, codes = [], 0, (0.0, [""]), (0, [""]), set()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        line = command_line(np.random.default_rng(cases), commands, words)
        code, seconds, memory, said = outcome(app, line, tmp_path.parent / "said")
        cases += 1
        codes.add(code)
        longest, most = max(longest, (seconds, line)), max(most, (memory, line))
        if code not in (0, 1, 2) or "Traceback" in said or memory > MOST:
            wrong.append((line, code, said[-1500:]))
            print(*wrong[-1], sep="\n", flush=True)
    print(f"{cases} cases, exit codes {codes}; {most[0] / 2**20:.0f} MiB at most: {str(most[1])[:200]}; "
          f"{longest[0]:.0f} s at most: {str(longest[1])[:200]}; {len(wrong)} wrong")  # fmt: skip
    assert cases > 0
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["submit", "nobody/1.0", "--verify"], "expected a folder METHOD/VERSION that exists"),
        (["plan", "--canonical-seed", "1-1000000"], "canonical seeds '1-1000000': at most 10,000 are possible"),
        (["plan", "--seeds", "4000000000"], "at most 10,000 are possible"),
        (["plan", "--dataset", "x" * 10_000], "churn list shows datasets"),
        (["plan", "--method", "bagging:k=999999999999"], ""),
        (["export", "good.csv"], "good.csv is a file: name a folder"),
        (["export", "all", "--tidy", "all/csv"], "--tidy all/csv: is in all, which the next export replaces"),
        (["submit", "--check", ".", "--comment", "good.csv"], "good.csv: is a file of the submission"),
        (["submit", "--check", ".", "--out", "site"], "--out is for the pages, which --check and --verify do"),
        (["compare", "erm", "bagging", "--markdown", "good.md"], "--markdown is for published numbers"),
        (["compare", "bagging"], "bagging: no such file of published numbers; to compare methods, name two"),
        (["compare", "--measure", "auroc"], "--measure, --on, --sampling and --ci are for two methods"),
        (["compare", "good.csv", "--markdown", "./good.csv"], "--markdown good.csv: it is read"),
        (["score", "utf8.parquet", "utf8.parquet"], ""),
        (["plan", "--dataset", "huge.toml"], ""),
    ],
)
def test_odd_words_and_files_are_refused_in_a_sentence(line, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    done = CliRunner().invoke(churn_app(), line)
    assert done.exit_code == 2 or isinstance(done.exception, UserError), done.output
    assert message in f"{done.output}{done.exception}"
