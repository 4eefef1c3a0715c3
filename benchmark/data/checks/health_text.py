"""Texts of the health report: for readers, and as files stored with every result."""

import textwrap
from collections.abc import Iterable

from benchmark.data.checks.expected_churn import Expected, Properties, expectations
from benchmark.data.checks.health import NEAR, REASONS, Health, examine
from benchmark.data.rows import load_rows
from benchmark.data.spec import DatasetSpec

FEW = 30
"""Fewest test rows for a usable churn: with fewer, 10 % is less than three flips."""
WIDTH = 90
"""Characters in a line of the stored text."""


def reports(spec: DatasetSpec, canonical_seed: int) -> dict[str, str]:
    """Return the report as files to store with a result, with the group of each example if the dataset has groups."""
    health = examine(spec, canonical_seed)
    groups = {"groups.csv": load_rows(spec).used[["id", "group"]].to_csv(index=False)} if spec.groups else {}
    wrapped = "\n".join(_wrapped(line) for line in to_text(health).splitlines())
    return {"health.json": health.to_json(), "health.txt": wrapped, **groups}


def _wrapped(line: str) -> str:
    """Break a line of more than ``WIDTH`` characters: MLflow shows files without line breaks of its own."""
    return (
        line if len(line) <= WIDTH else textwrap.fill(line, WIDTH, subsequent_indent=" " * 11, break_long_words=False)
    )


def _doubts(health: Health) -> list[str]:
    """Return reasons why results on the test sets may be meaningless."""
    tests = {name: part for name, part in health.parts.items() if name != "train"}
    few = [
        f"test set {name} has {part.rows} rows: too few to measure churn, which needs about {FEW}"
        for name, part in tests.items()
        if part.rows < FEW
    ]
    one = [
        f"test set {name} has only class {part.positive:.0f} in its {part.rows} rows: its accuracy is meaningless; "
        "try --split random:0.8 with new-dataset, or another canonical seed"
        for name, part in tests.items()
        if part.positive in (0.0, 1.0)
    ]
    return few + one


def to_expect(of: Properties, unit: str = "") -> str:
    """Return in one sentence the churn to expect between two halves of a table; "" where no model is published."""
    found = expectations(of, "halves")
    if not found:
        return ""
    (model, first), *others = found
    regression = of.task == "regression"
    scale, shown = (of.sd or 1.0, f" {unit or 'target units'}") if regression else (100.0, " %")

    def spelled(value: float) -> str:
        return f"{value * scale:.2g}" if regression or value < 0.0995 else f"{value * scale:.0f}"

    def between(ends: Expected) -> str:
        return f"{spelled(ends.low)} to {spelled(ends.high)}{shown}"

    what = f"predictions to differ by {between(first)}" if regression else f"{between(first)} of predictions to flip"
    more = "".join(f", {between(ends)} with {other.method}" for other, ends in others)
    basis = {
        "knn": f"; a k-NN {'differs by' if regression else 'flips'} {spelled(of.knn_churn)}{shown}",
        "table": "; predicted from the number of rows and the labels of neighbours",
        "mean": "; nothing known of this table makes them narrower",
    }[model.predictor]
    return (
        f"Expect {what} between two halves of the training rows with {model.method}{more} (95 % prediction intervals, "
        f"from {model.families} families of datasets{basis})"
    )


def to_text(health: Health) -> str:
    """Return the report for a reader."""
    h = health

    def expected(count: int | None, want: int | None) -> str:
        return "" if want in (None, count) else f" (expected {want:,}: another version of RDKit or another file)"

    lines = [f"{h.title} ({h.dataset}), family {h.family}, canonical seed {h.canonical_seed}, RDKit {h.rdkit}"]
    lines.append(f"  rows in the file       {h.rows:,}{expected(h.rows, h.expected_rows)}")
    if h.parsable is not None:
        lines.append(f"  parsable SMILES        {h.parsable:,}{expected(h.parsable, h.expected_parsable)}")
    lines.append(f"  rows used              {h.used:,}")
    for reason, words in REASONS.items():
        rows = [left for left in h.left_out if left.reason == reason]
        if rows:
            lines.append(f"  excluded: {words}: {len(rows)}")
            lines += _first([f"line {left.line}: {left.text}".rstrip(": ") for left in rows])
    conflicts = [repeat for repeat in h.repeats if repeat.conflict]
    what = "molecules on several lines" if h.parsable is not None else "rows with equal features"
    lines.append(f"  {what}: {len(h.repeats)} ({len(conflicts)} with conflicting targets)")
    lines += _first([f"lines {_join(r.lines)}: {r.what}: {_join(r.targets)}" for r in conflicts])
    for name, part in h.parts.items():
        line = f"  {name:5} {part.rows:6,} rows, "
        if part.positive is not None:
            line += f"{part.positive:.1%} of class 1"
        elif part.classes is not None:
            line += ", ".join(f"{share:.1%} {name}" for name, share in part.classes.items())
        else:
            line += f"target {part.mean:.3g} on average, standard deviation {part.sd:.3g}"
        if part.in_train is not None:
            line += f"; in the training pool: {part.in_train} identical"
        if part.near_train is not None:
            line += (
                f", {part.near_train} ({part.near_train / part.rows:.1%}) including near-duplicates (Tanimoto ≥ {NEAR})"
            )
        lines.append(line)
    lines += [f"  {doubt}" for doubt in _doubts(h)]
    if h.properties and (to_come := to_expect(h.properties, h.unit)):
        lines.append(f"  {to_come}")
    outside = h.used - sum(part.rows for part in h.parts.values())
    if outside:
        lines.append(f"  {outside:,} rows are in neither the training pool nor a test set")
    for other in h.overlaps or ():
        same = "" if other.same_label is None else f", {other.same_label:,} of them with the same label"
        lines.append(
            f"  shares {other.rows:,} rows with {other.dataset}{same} ({h.dataset} has {other.of:,}, "
            f"{other.dataset} {other.of_other:,})"
        )
        if other.one_dataset and h.family == other.family:
            lines.append(f"    the two are one dataset, in the family {h.family}")
        elif other.one_dataset:
            lines.append(
                f"    the two are one dataset in the families {h.family} and {other.family}: "
                'give them the same "family" in their TOMLs'
            )
    if h.not_compared:
        lines.append(f"  not compared, because their files cannot be read: {_join(h.not_compared)} (see doctor)")
    if h.overlaps == () and h.parsable is not None:
        lines.append("  shares few molecules with the other registered datasets on this machine")
    return "\n".join(lines)


def to_lines(health: Health) -> list[str]:
    """Return a few lines that a user should see before training; none if nothing is wrong."""
    kinds = {
        words: [str(left.line) for left in health.left_out if left.reason == reason]
        for reason, words in REASONS.items()
    }
    conflicts = [repeat for repeat in health.repeats if repeat.conflict]
    kinds["duplicates with conflicting targets"] = ["+".join(map(str, repeat.lines)) for repeat in conflicts]
    troubles = [
        f"{words}: {len(lines)} (line {_join(lines[:12])}{', …' if len(lines) > 12 else ''})"
        for words, lines in kinds.items()
        if lines
    ]
    troubles += _doubts(health)
    header = [f"{health.dataset}: {health.used:,} of {health.rows:,} rows are used"] if troubles else []
    return header + [f"  {trouble}" for trouble in troubles]


def _first(lines: list[str], limit: int = 20) -> list[str]:
    more = [f"… and {len(lines) - limit} more: all are listed by health --json"] if len(lines) > limit else []
    return [f"    {line}" for line in [*lines[:limit], *more]]


def _join(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
