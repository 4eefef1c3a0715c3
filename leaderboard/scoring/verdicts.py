"""The verdict of a gate as text, Markdown, JSON, and JUnit's XML, which CI systems show."""

from collections.abc import Callable, Mapping
from xml.etree import ElementTree as xml

from benchmark.errors import number_of
from leaderboard.scoring.gate import Gate
from leaderboard.scoring.reports import dump, ends
from leaderboard.tables.table import Table, Value
from leaderboard.write.formats import to_markdown


def _verdict(gate: Gate) -> str:
    if not gate.passed:
        return f"{'undecided' if gate.undecided else 'failed'}: {'; '.join(gate.reasons)}"
    limits = (f"{'bad flips' if name == 'bad' else name} at most {limit:.2%}" for name, limit in gate.limits.items())
    return f"passed: {', '.join(limits)}"


def _text(gate: Gate, source: str) -> str:
    lines = [
        f"{gate.title(name):>22}  {e.value:7.2%}  [{e.low:.2%}, {e.high:.2%}]" for name, e in gate.estimates.items()
    ]
    return "\n".join([*lines, _about(gate), _verdict(gate), ""])


def _about(gate: Gate) -> str:
    moved = "" if gate.tolerance is None else f"a value flips if it moves by more than {gate.tolerance:.3g}; "
    return f"{number_of(gate.n, 'example')}; {moved}{gate.interval}"


def _markdown(gate: Gate, source: str) -> str:
    rows = [(gate.title(name), Value.of(estimate, 100, 2)) for name, estimate in gate.estimates.items()]
    table = Table("gate", "Gate", "", ("Predictions that change", "Share (%)"), tuple(rows))
    parts = [f"### Gate {_verdict(gate)}", f"`{source}`", to_markdown(table)]
    return "\n\n".join([*parts, f"{_about(gate)}."]) + "\n"


def _json(gate: Gate, source: str) -> str:
    return dump(
        {
            "source": source,
            "passed": gate.passed,
            "undecided": gate.undecided,
            "reasons": gate.reasons,
            "limits": gate.limits,
            "n_examples": gate.n,
            "runs": gate.runs,
            "tolerance": gate.tolerance,
            **{name: ends(estimate) for name, estimate in gate.estimates.items()},
        }
    )


def _junit(gate: Gate, source: str) -> str:
    suite = xml.Element("testsuite", name="churn gate", tests="1", failures=str(int(not gate.passed)), errors="0")
    case = xml.SubElement(suite, "testcase", name=source, classname="churn.gate")
    if not gate.passed:
        xml.SubElement(case, "failure", message="; ".join(gate.reasons)).text = _text(gate, source)
    xml.SubElement(case, "system-out").text = _text(gate, source)
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


FORMATS: Mapping[str, Callable[[Gate, str], str]] = {
    "text": _text,
    "markdown": _markdown,
    "json": _json,
    "junit": _junit,
}
"""Writers by the name of their format; they are given the gate and what was compared."""
