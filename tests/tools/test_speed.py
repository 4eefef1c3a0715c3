"""The clock of what people wait for."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT
from tools import speed
from tools.speed import Line, Table

BODIES = """
import json, subprocess, sys, time
from tools.speed import use

def spin():
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.5: pass"], check=True)

def busy():
    yield
    spin()

def idle():
    spin()
    yield
    time.sleep(0.2)

print(json.dumps([use(busy()), use(idle())]))
"""


def test_only_what_follows_the_yield_is_timed_with_its_processes() -> None:
    done = subprocess.run([sys.executable, "-c", BODIES], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    taken, waited = (speed.Used(*of) for of in json.loads(done.stdout))
    assert 0.5 < taken.cpu < taken.wall + 0.5
    assert waited.cpu < 0.2 < waited.wall
    assert taken.peak > 1


def test_lines_are_compared_with_the_first_or_with_an_earlier_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = {("now", 0): 8.0, ("now", 1): 2.0, ("before", 0): 16.0, ("before", 1): 3.0}
    monkeypatch.setattr(
        speed, "measure", lambda name, n, checkout: speed.Used(seconds[checkout.name, n], seconds[checkout.name, n], 9)
    )
    lines = (Line("plain", partial(iter, ())), Line("ours", partial(iter, ())))
    both = [Path("before"), Path("now")]
    for given, expected in {
        Table(lines): "| ours | 2 | 2 | 9 | 0.25 |",
        Table(lines, faster=True): "| ours | 2 | 2 | 9 | 4.00 |",
        Table(lines, waits=True): "| ours | 3 | 2 | 1.50 | 3 | 2 | 1.50 |",
    }.items():
        monkeypatch.setitem(speed.TABLES, "made_up", given)
        speed.report("made_up", both)
        assert capsys.readouterr().out.splitlines()[-1] == expected
