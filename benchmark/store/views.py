"""Saved views of experiments in the MLflow UI: tables and charts that answer which method is calmest, at what cost."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.measure.catalogue import QUALITY
from benchmark.types import Task

TABLE, CHARTS = "churn", "cost"
"""Keys of the two views of an experiment in addresses: its runs, lowest churn first, and charts of churn and cost."""
MODE = "workflowType=machine_learning"
"""Part of every address: the UI otherwise opens its pages for chat traces."""
MOST = 100
"""Runs in a chart; by default the UI draws the first ten."""
BOUNDS = ("", "_low", "_high")
"""What follows the name of a metric, for its value and the ends of its interval."""


def of_cells(task: Task, evalsets: Sequence[str]) -> dict[str, str]:
    """Return the views of a dataset's experiment as its tags: they show runs of cells, not those of retrainings."""
    quality = QUALITY[task].key
    names = ["id/churn", *(f"id/delta_churn{end}" for end in BOUNDS), f"id/{quality}", f"id/delta_{quality}"]
    names += [f"{evalset}/churn" for evalset in evalsets if evalset != "id"]
    charts = [_bars("id/churn"), _bars("id/delta_churn"), _points("id/churn", "compute_vs_erm")]
    charts += [_points("id/churn", f"id/{quality}"), _bars("compute_vs_erm")]
    return _tags("cell", "id/churn", ["compute_vs_erm", *names], charts, evalsets)


def of_methods(groups: Mapping[str, Task]) -> dict[str, str]:
    """Return the views of the board's experiment as its tags; the first parts of its metrics are ``groups``."""
    names, charts = [], []
    for group, task in groups.items():
        names += [f"{group}/{key}" for key in ("rank", *(f"delta_churn{end}" for end in BOUNDS))]
        names += [f"{group}/{key}" for key in (f"delta_{QUALITY[task].key}", "compute", "datasets")]
        charts += [_bars(f"{group}/rank"), _bars(f"{group}/delta_churn")]
        charts += [_points(f"{group}/delta_churn", f"{group}/compute")]
    return _tags("board", f"{next(iter(groups))}/rank", names, charts, list(groups))


def _tags(
    kind: str, by: str, names: Sequence[str], charts: Sequence[Mapping[str, Any]], others: Sequence[str]
) -> dict[str, str]:
    """Return the tags of both views; ``others`` are sections with the charts that the UI adds, which are closed."""
    shared = {
        "searchFilter": f"tags.`churn.kind` = '{kind}'",
        "orderByKey": f"metrics.`{by}`",
        "orderByAsc": True,
        "selectedColumns": [f"metrics.`{name}`" for name in names],
        "runsHiddenMode": "SHOW_ALL",
    }
    sections = [{"uuid": "churn", "name": "Churn and its cost", "display": True, "isReordered": True}]
    sections += [{"uuid": f"churn-{name}", "name": name, "display": False, "isReordered": False} for name in others]
    drawn = [{**chart, "uuid": f"churn-{i}", "metricSectionId": "churn"} for i, chart in enumerate(charts)]
    shown = {"compareRunCharts": drawn, "compareRunSections": sections, "isAccordionReordered": True}
    views = {TABLE: ("Lowest churn first", shared), CHARTS: ("Churn and cost (charts)", shared | shown)}
    # The names that the menu "Views" lists, around the state that the UI saves.
    return {
        f"mlflow.sharedViewState.{key}": json.dumps({"name": name, "createdAt": i, "state": json.dumps(state)})
        for i, (key, (name, state)) in enumerate(views.items())
    }


def _bars(metric: str) -> dict[str, Any]:
    return {"type": "BAR", "metricKey": metric, "displayName": metric, **_CHART}


def _points(x: str, y: str) -> dict[str, Any]:
    axes = {"xaxis": {"key": x, "type": "METRIC"}, "yaxis": {"key": y, "type": "METRIC"}}
    return {"type": "SCATTER", "displayName": f"{y} against {x}", **axes, **_CHART}


_CHART = {"runsCountToCompare": MOST, "deleted": False, "isGenerated": False}


def address(experiment: str, run: str = "", view: str = "", charts: bool = False) -> str:
    """Return the path in the MLflow UI, after the host, of a run or of the runs of an experiment, in a saved view."""
    if run:
        return f"#/experiments/{experiment}/runs/{run}?{MODE}"
    mode = ("&compareRunsMode=CHART" if charts else "") if view else ""
    return f"#/experiments/{experiment}/runs?{MODE}" + (f"&viewStateShareKey={view}{mode}" if view else "")
