"""The evaluator ``churn`` of ``mlflow.models.evaluate``: a candidate against the model that it would replace.

MLflow imports this module, by the entry point in pyproject.toml, as soon as it evaluates anything: only ``evaluate``
imports what takes time. It is the one module of this package that imports MLflow.
"""

import io
import json
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator
from mlflow.tracking import MlflowClient

from benchmark.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.measure.intervals import Estimate
    from leaderboard.scoring.files import Table
    from leaderboard.scoring.roles import Options
    from leaderboard.scoring.runs import Runs

CLASSIFIER, REGRESSOR = "classifier", "regressor"
BASELINE = "baseline"
OPTIONS = ("kind", "classes", "logits")
"""Keys of ``evaluator_config`` that say how predictions are read, as the options of the command line do."""
KEYS = {"flips": "flips", "bad": "bad_flips", "good": "good_flips", "other": "wrong_to_wrong"}
"""Names of the gate's estimates in metrics, behind ``churn/``."""
DIFFERENCE = "mean_absolute_difference"


class ChurnEvaluator(ModelEvaluator):
    """Logs how many predictions flip between a baseline and the evaluated model, which ones, and for better or worse.

    ``evaluator_config`` names the ``baseline``: ``models:/name/3``, ``models:/name@alias`` or ``runs:/<run id>/model``.
    Like the evaluated model, it is loaded in this process; both predict for the same data. Where these can be read in
    two ways, ``kind`` ("labels" or "probabilities"), ``classes`` (in the order of their numbers) and ``logits`` (names
    of columns) say how, as the options of ``churn gate`` do. A classifier gets the
    metrics ``churn/flips``, with the targets also ``churn/bad_flips``, ``churn/good_flips`` and
    ``churn/wrong_to_wrong``, and the table ``churn/flips.json``; a regressor ``churn/mean_absolute_difference`` and
    ``churn/differences.json``. Both get what the scorecard says of two models, such as ``churn/rank_correlation`` and
    ``churn/list_churn_10pc``, where it is defined. Metrics are fractions or in the target's unit; those that are means
    over examples have their 95 % interval as ``…_low`` and ``…_high`` (absent where there are too few examples for
    one).
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, Any] | None, **kwargs: Any) -> bool:
        """Return whether the model is a classifier or regressor and a baseline is configured.

        Raises MlflowException if ``evaluators`` names this evaluator without a baseline.
        """
        if model_type not in (CLASSIFIER, REGRESSOR):
            return False
        if (evaluator_config or {}).get(BASELINE):
            return True
        # Where the user names no evaluator, MLflow first asks all that are installed, in another function, and leaves
        # out those that cannot: an exception there would break every evaluation on a machine with this package.
        if sys._getframe(1).f_code.co_name == "_evaluate":
            raise MlflowException.invalid_parameter_value(
                'the evaluator "churn" needs the model to compare with: give evaluator_config={"baseline": '
                '"models:/name/3"}, or {"churn": {"baseline": …}} beside other evaluators'
            )
        return False

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any],
        model: Any = None,
        predictions: str | None = None,
        model_id: str | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Compare the model, or the predictions in the dataset, with the baseline, and log the result to ``run_id``.

        Raises MlflowException if the baseline cannot be loaded or the predictions cannot be compared.
        """
        import mlflow
        from mlflow.models.evaluation.artifacts import JsonEvaluationArtifact

        from leaderboard.scoring import readers

        baseline = str(evaluator_config[BASELINE])
        try:
            replaced = mlflow.pyfunc.load_model(baseline)
        except Exception as error:
            raise MlflowException(f"the baseline {baseline} cannot be loaded: {error}") from error
        features = dataset.features_data
        outputs = {  # of copies, because a model may change its input
            baseline: replaced.predict(features.copy()),
            "the evaluated model": dataset.predictions_data if model is None else model.predict(features.copy()),
        }
        try:
            tables = [_table(name, output, dataset, predictions) for name, output in outputs.items()]
            old, new = readers.read(tables, _options(evaluator_config, model_type))
            values, table = _compared(old, new, model_type == REGRESSOR)
        except UserError as error:
            where = ""
            if model_type == CLASSIFIER and any(f"--{name}" in str(error) for name in OPTIONS):
                where = "; evaluator_config has these options as keys, such as {'classes': ['inactive', 'active']}"
            if "--runs" in str(error) or "--probabilities" in str(error):
                where += "; evaluate's argument predictions names the column that is meant"
            raise MlflowException.invalid_parameter_value(f"{error}{where}") from error
        path = "churn/differences" if model_type == REGRESSOR else "churn/flips"
        metrics = {
            f"churn/{name}{end}": float(value)
            for name, e in values.items()
            for end, value in (("", e.value), ("_low", e.low), ("_high", e.high))
            if value == value
        }
        client, now = MlflowClient(), int(time.time() * 1000)
        about = {"dataset_name": dataset.name, "dataset_digest": dataset.digest, "model_id": model_id, "run_id": run_id}
        client.log_batch(run_id, metrics=[Metric(key, value, now, 0, **about) for key, value in metrics.items()])
        client.set_tag(run_id, "churn.baseline", baseline)
        client.set_tag(run_id, "churn.read", " ".join(dict.fromkeys((old.columns, new.columns))))  # with any doubts
        client.log_table(run_id, table, f"{path}.json")
        text = table.to_json(orient="split", index=False)
        client.log_text(run_id, text, f"{path}.json")  # log_table adds to the table of an earlier evaluation in the run
        artifact = JsonEvaluationArtifact(f"{client.get_run(run_id).info.artifact_uri}/{path}.json", json.loads(text))
        return EvaluationResult(metrics=metrics, artifacts={path: artifact})


def _options(config: Mapping[str, Any], model_type: str) -> "Options":
    """Return how predictions are to be read. Raises UserError for a key of another type."""
    from leaderboard.scoring.roles import Options

    if model_type == REGRESSOR:
        if asked := [key for key in OPTIONS if key in config]:
            raise UserError(f"evaluator_config: {asked[0]!r} is for a classifier: leave it out for a regressor")
        return Options(kind="values")
    given: dict[str, Any] = {}
    for key in OPTIONS:
        value = config.get(key, ())
        several = [value] if isinstance(value, str) else value
        if not (isinstance(several, list | tuple) and all(isinstance(one, str) for one in several)):
            raise UserError(f"evaluator_config: {key!r}: expected a text or a list of texts, found {value!r}")
        given[key] = "".join(several) if key == "kind" else tuple(several)
    return Options(**given)


def _table(name: str, output: Any, dataset: Any, column: str | None) -> "Table":
    """Return the predictions that a model has made for a dataset as a table. Raises UserError."""
    import numpy as np
    import pandas as pd
    from mlflow.pyfunc.scoring_server import predictions_to_json

    from leaderboard.scoring.models import table_of
    from leaderboard.scoring.roles import EXAMPLE

    if column is not None and isinstance(output, pd.DataFrame) and column in output:
        output = output[column]
    written = io.StringIO()
    predictions_to_json(output, written)
    truth = None
    if dataset.labels_data is not None:  # where what is missing beside texts is nan
        truth = [None if y is pd.NA or y != y else y for y in np.asarray(dataset.labels_data).tolist()]
    features = dataset.features_data
    named = {str(key).lower(): key for key in getattr(features, "columns", ())}
    key = next((named[name] for name in EXAMPLE if name in named), None)
    known = key is not None and features[key].is_unique and not features[key].isna().any()
    ids = list(features[key].tolist()) if known else None
    return table_of(name, json.loads(written.getvalue())["predictions"], ids, truth, len(features))


def _compared(old: "Runs", new: "Runs", regressor: bool) -> "tuple[dict[str, Estimate], pd.DataFrame]":
    """Return the estimates by the names of metrics, and the table of what changes."""
    from leaderboard.scoring.gate import gate
    from leaderboard.scoring.review import changed
    from leaderboard.scoring.runs import together
    from leaderboard.scoring.score import score

    if several := next((runs for runs in (old, new) if len(runs.names) > 1), None):
        more = ", …" if len(several.names) > 3 else ""
        raise UserError(
            f"{several.source}: found {len(several.names)} runs ({', '.join(several.names[:3])}{more}): expected one "
            "prediction for each row; evaluate's argument predictions names the column that is meant"
        )
    both = together((old, new), f"{old.source} and {new.source}")
    if not regressor and both.kind == "values":
        raise UserError("a classifier predicts classes or probabilities, but these are regression values")
    scored = score(both, kind="examples")
    own = {DIFFERENCE: scored.churn}
    if not regressor:
        own = {KEYS[name]: estimate for name, estimate in gate(old, new, max_flips=1.0).estimates.items()}
    card = {measure.key: value for measure, value in scored.card if measure.per_pair is not None}
    return own | card, changed(both)
