"""The end of an update of own data: a summary in Markdown, and the molecules that each method's last update changed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from benchmark.data.spec import DatasetSpec, load_spec
from benchmark.files import save
from benchmark.measure.updates import paired
from benchmark.store.cell import Cell
from benchmark.studies.updates import Updates
from leaderboard import my_data
from leaderboard.read.results import Results, slug
from leaderboard.read.structures import local
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.update import update
from leaderboard.tables import studies
from leaderboard.write import formats

NAMED = 5
"""Molecules of a method in the summary; its list has all."""


def write(results: Results, settings: Mapping[str, str]) -> tuple[str, Path]:
    """Write the summary of the study ``updates`` with these ``settings``, and a CSV of molecules for each method.

    They go to ``reports/`` of the user's home. Returns the summary and its path. Raises Missing for a study that has
    not been run.
    """
    context = studies.reader(results)
    shown = studies.render(context, "updates", settings)
    study = cast(Updates, shown.study)
    parts = [f"# {shown.title}", *shown.report.answer]
    parts += [formats.to_markdown(studies.table(shown, sheet)) for sheet in shown.report.sheets]
    every = {load_spec(name): updates for name, updates in study.updates(context).items()}
    for spec, (updates, tolerance) in every.items():
        known = local(spec)
        smiles = dict(zip(known.ids.tolist(), known.smiles.tolist(), strict=True)) if known else {}
        parts.append(f"## {spec.title}: what the last update changed")
        for title, pairs in updates.items():
            parts.append(_changed(spec, title, *pairs[-1], smiles, tolerance))
    text = "\n\n".join(parts) + "\n"
    path = my_data.folder() / f"{slug(' '.join(spec.name for spec in every))}-update.md"
    save(path, text.encode())
    return text, path


def _changed(spec: DatasetSpec, title: str, old: Cell, new: Cell, smiles: Mapping[str, str], tolerance: float) -> str:
    """Write the list of the test molecules that change from ``old`` to ``new``, and return a few of them as text."""
    names = spec.class_names
    before, after = old.predictions["id"], new.predictions["id"]
    first, second = paired(before, after)
    sets = [Runs.of(values, after.y, after.ids) for values in (first, second, before.values)]
    if names:
        sets = [replace(runs, classes=names) for runs in sets]
    was, now, again = sets
    table = update(was, now, again, None if names else tolerance).examples
    table = table[table["flips"] > 0]
    table.insert(1, "smiles", [formats.literal(smiles.get(i, "")) for i in table["example_id"]])
    table["example_id"] = table["example_id"].map(formats.literal)
    path = my_data.folder() / f"{slug(spec.name)}-{slug(title)}-update-changed.csv"
    save(path, table.to_csv(index=False, float_format="%.4g", lineterminator="\n").encode())
    lines = [f"{title}: {len(table)} of {len(after.ids)} molecules change in a retraining (`{path.name}`)."]
    for row in table.head(NAMED).to_dict("records"):
        change = " to ".join(row[side] if names else f"{row[side]:.3g}" for side in ("old", "new"))
        lines.append(f"- `{row['smiles'] or row['example_id']}`: {change}, in {row['flips']:.0%} of the retrainings")
    return "\n".join([lines[0], "", *lines[1:]])
