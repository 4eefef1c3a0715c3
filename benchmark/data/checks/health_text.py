"""Texts of the health report: for readers, and as files stored with every result."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from benchmark.data.checks.expected_churn import Expected, Properties, expectations
from benchmark.data.checks.health import NEAR, Health, Part, examine
from benchmark.data.rows import REASONS, load_rows
from benchmark.data.spec import DatasetSpec
from benchmark.errors import number_of

PARTS = {"train": "training pool", "id": "test set id", "ood": "test set ood"}
FEW_OF_CLASS = 5
"""Fewest test rows of the rarer class: with fewer, balanced accuracy moves by 10 points with each."""
MANY = 0.05
"""Share of molecules that the features do not tell apart from which on it is said in any case."""
FEW = 30
"""Fewest test rows for a usable churn: with fewer, 10 % is less than three flips."""
WIDTH = 90
"""Characters in a line of the stored text."""


def reports(spec: DatasetSpec, canonical_seed: int) -> dict[str, str]:
    """Return the report as files to store with a result, with the group of each example if the dataset has groups."""
    health = examine(spec, canonical_seed)
    groups = {"groups.csv": load_rows(spec).used[["id", "group"]].to_csv(index=False)} if spec.groups else {}
    # MLflow shows files without line breaks of its own.
    fill = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * 11, break_long_words=False).fill
    wrapped = "\n".join(map(fill, to_text(health).splitlines()))
    return {"health.json": health.to_json(), "health.txt": wrapped, **groups}


def _doubts(health: Health) -> list[str]:
    """Return reasons why results on the test sets may be meaningless."""
    lines = []
    for name, part in health.parts.items():
        if name == "train":
            continue
        few = None if part.positive is None else round(min(part.positive, 1 - part.positive) * part.rows)
        if part.rows < FEW:
            lines.append(
                f"test set {name} has {number_of(part.rows, 'row')}: too few to measure churn, which needs about {FEW}"
            )
        if part.positive in (0.0, 1.0):
            lines.append(
                f"test set {name} has only {_class(health, int(part.positive))} in its {number_of(part.rows, 'row')}: "
                "its accuracy is meaningless; try --split random:0.8 with new-dataset, or another canonical seed"
            )
        elif few is not None and few < FEW_OF_CLASS and part.rows >= FEW:
            rarer = _class(health, int(part.positive is not None and part.positive < 0.5))
            lines.append(f"test set {name} has {number_of(few, 'row')} of {rarer}: too few to tell methods apart")
    return lines


def _class(health: Health, number: int) -> str:
    """Return a class in the user's words; ``active = 1`` where the table has numbers."""
    name = health.class_names[number]
    return f"{health.target} = {name}" if name in ("0", "1") else name


def _alike(health: Health) -> list[str]:
    """Return lines on molecules that the features do not tell apart, and on salts."""
    alike, lines = health.alike, []
    if alike.conflicting or alike.molecules > MANY * health.used:
        conflicts = f", {alike.conflicting} of them beside one with another target" if alike.conflicting else ""
        best = max(alike.telling, key=lambda name: alike.telling[name])
        telling = f"; --features {best.replace(':', '.')} of run tells {alike.telling[best]:.0%} of them apart"
        lines.append(
            f"{alike.molecules} molecules cannot be told apart by these features ({health.features}){conflicts}"
            + (telling if alike.telling[best] else "")
        )
    if health.salts and health.salts.rows:
        text = f"salts or mixtures of several parts: {health.salts.rows}"
        if health.salts.conflicting:
            text += (
                f"; {health.salts.conflicting} of them have another target than their parent molecule on another line "
                f"(line {_some(health.salts.lines, health.salts.conflicting)})"
            )
        lines.append(f"{text}; --desalt of new-dataset keeps the parents")
    return lines


def to_expect(of: Properties, unit: str = "") -> str:
    """Return in one sentence the churn to expect between two halves of a table; "" where no model is published."""
    found = expectations(of, "halves")
    if not found:
        return ""
    (model, first), *others = found
    others = others if of.scaffolds is not None else []  # those read molecules
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

    lines = [f"{h.title} ({h.dataset}), split by seed {h.canonical_seed}, RDKit {h.rdkit}"]
    lines.append(f"  rows in the file       {h.rows:,}{expected(h.rows, h.expected_rows)}")
    if h.parsable is not None:
        lines.append(f"  parsable SMILES        {h.parsable:,}{expected(h.parsable, h.expected_parsable)}")
    lines += [f"  rows used              {h.used:,}", *of_table(h)[1:]]
    if h.overlaps is not None and h.parsable is not None:
        lines.append(f"  {_shared(h)}")
    if h.not_compared:
        lines.append(f"  not compared, because their files cannot be read: {_join(h.not_compared)} (see doctor)")
    if line := expected_line(h):
        lines.append(f"  {line}")
    return "\n".join(lines)


def of_table(health: Health, short: bool = False) -> list[str]:
    """Return lines on the rows of a dataset and its split, or a ``short`` form of one line."""
    h = health
    lines = [f"{h.dataset}: {h.used:,} of {h.rows:,} rows are used"]
    outside = h.used - sum(part.rows for part in h.parts.values())
    nowhere = f"in neither the training pool nor a test set: {number_of(outside, 'row')}"
    conflicts = [repeat for repeat in h.repeats if repeat.conflict]
    what = "molecules on several lines" if h.parsable is not None else "rows with equal features"
    repeated = f"{what}: {len(h.repeats)} ({len(conflicts)} with conflicting targets)"
    if short:
        left = Counter(left.reason for left in h.left_out)
        lines[0] += "".join(f"; {REASONS[reason]}: {count:,}" for reason, count in left.items())
        lines[0] += f"; {nowhere}" if outside else ""
        lines[0] += f"; {repeated}" if h.repeats else ""
        lines[0] += "".join(f"; {_balance(h, part)} in the {PARTS[name]}" for name, part in h.parts.items())
        lines[0] += "".join(f"; {doubt}" for doubt in _doubts(h)[:1])
        return lines
    for reason, words in REASONS.items():
        rows = [left for left in h.left_out if left.reason == reason]
        if rows:
            lines.append(f"  left out: {words}: {len(rows)} (line {_some([left.line for left in rows])})")
        if reason == "unparsable":
            lines += _first([f"line {left.line}: {left.text}" for left in rows])
    lines.append(f"  {repeated}")
    lines += _first([f"lines {_join(r.lines)}: {r.what}: {_join(r.targets)}" for r in conflicts])
    lines += [f"  {line}" for line in _alike(h)]
    for name, part in h.parts.items():
        line = f"  {PARTS[name]:23}{number_of(part.rows, 'row')}, {_balance(h, part)}"
        if part.in_train is not None:
            line += f"; in the training pool: {part.in_train} identical"
        if part.near_train is not None:
            line += (
                f", {part.near_train} ({part.near_train / part.rows:.1%}) including near-duplicates (Tanimoto ≥ {NEAR})"
            )
        lines.append(line)
    if outside:
        lines.append(f"  {nowhere}")
    return lines + [f"  {doubt}" for doubt in _doubts(h)]


def _balance(health: Health, part: Part) -> str:
    if part.positive is not None:
        return f"{part.positive:.1%} {_class(health, 1)}"
    if part.classes is not None:
        return ", ".join(f"{share:.1%} {name}" for name, share in part.classes.items())
    return f"target {part.mean:.3g} on average, standard deviation {part.sd:.3g}"


def expected_line(health: Health, several: bool = False) -> str:
    """Return the sentence on the churn to expect, for one of ``several`` with its name; "" if none is known."""
    line = to_expect(health.properties, health.unit) if health.properties else ""
    return f"{health.dataset}: {line}" if line and several else line


def _shared(health: Health) -> str:
    """Return one line on the datasets with the same molecules, those that share most first."""
    shown = [
        f"{other.dataset} ({other.shared:,} of {min(other.of, other.of_other):,}"
        + ("" if other.agreement is None else f", {other.agreement:.0%} in the same class")
        + (f"; one {other.one} with it" if other.one else "")
        + ")"
        for other in health.overlaps or ()
    ]
    if not shown:
        return "shares few molecules with the other datasets on this machine"
    more = f" and {number_of(len(shown) - 5, 'more dataset')}" if len(shown) > 5 else ""
    return f"shares molecules with {'; '.join(shown[:5])}{more}"


def to_lines(health: Health) -> list[str]:
    """Return a few lines that a user should see before training; none if nothing is wrong."""
    kinds = {
        words: [str(left.line) for left in health.left_out if left.reason == reason]
        for reason, words in REASONS.items()
    }
    conflicts = [repeat for repeat in health.repeats if repeat.conflict]
    kinds["duplicates with conflicting targets"] = ["+".join(map(str, repeat.lines)) for repeat in conflicts]
    troubles = [f"{words}: {len(lines)} (line {_some(lines)})" for words, lines in kinds.items() if lines]
    troubles += _doubts(health)
    if health.alike.conflicting > MANY * health.used:
        troubles += _alike(health)[:1]
    header = [f"{health.dataset}: {health.used:,} of {health.rows:,} rows are used"] if troubles else []
    return header + [f"  {trouble}" for trouble in troubles]


def _some(lines: Sequence[object], count: int = 0) -> str:
    return _join(lines[:12]) + (", …" if max(len(lines), count) > 12 else "")


def _first(lines: list[str], limit: int = 5) -> list[str]:
    more = [f"… and {len(lines) - limit} more: all are listed by health --json"] if len(lines) > limit else []
    return [f"    {line}" for line in [*lines[:limit], *more]]


def _join(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
