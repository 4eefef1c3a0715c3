"""Tables of predictions as people and libraries write them: read right, or refused with the option that helps."""

import bz2
import gzip
import os
import re
import resource
import subprocess
import sys
import threading
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from benchmark.errors import UserError
from leaderboard.scoring import files, readers
from leaderboard.scoring.gate import flipped, gate
from leaderboard.scoring.models import table_of
from leaderboard.scoring.roles import Options
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import score
from tests.leaderboard.scoring.test_models import LIBRARIES, boosted

IDS = [f"m{t}" for t in range(7)]
P1 = np.random.default_rng(0).random((3, 7)).round(4)
Y = np.array([0, 1, 1, 0, 1, 0, 1])


def read(path: Path, **said: Any) -> Runs:
    (runs,) = readers.read([files.read(path)], Options(**said))
    return runs


def long(**columns: Any) -> pd.DataFrame:
    table = pd.DataFrame({"train_seed": np.repeat([4, 8, 15], 7), "example_id": IDS * 3, "y_true": np.tile(Y, 3)})
    return table.assign(**columns)


def save(table: pd.DataFrame, path: Path) -> Path:
    table.to_parquet(path, index=False) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


@pytest.fixture(params=["csv", "parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"predictions.{request.param}"


T = 200
RNG = np.random.default_rng(6)
TRUE = RNG.integers(2, size=T)
MARGIN = 1.4 * (2 * TRUE - 1) + RNG.normal(size=T) + 0.7 * RNG.normal(size=(5, T))
CHANCE = 1 / (1 + np.exp(-MARGIN))
CLASS = (CHANCE > 0.5).astype(int)
BADLY = (CLASS[0] == TRUE) & (CLASS[1] != TRUE)
FLIPS, BAD = (CLASS[0] != CLASS[1]).mean(), BADLY.mean()
PAIR, CALLS = CHANCE[:2], CLASS[:2]
BOTH = {"flips": FLIPS, "bad": BAD}
IC50 = (6 + TRUE + RNG.normal(size=T)).round(2)
VALUES = IC50 + 0.3 * RNG.normal(size=(5, T))
BEYOND = {"flips": (np.abs(VALUES[1] - VALUES[0]) > np.abs(VALUES[0] - IC50).mean()).mean()}
SMILES = [f"C{t}" for t in range(T)]
WORD = np.array(["inactive", "active"], dtype=object)
RINGS, LONG = np.array(["\u2460", "\u2461"], dtype=object), np.array(["1", "9" * 5000], dtype=object)


def model(**columns: Any) -> pd.DataFrame:
    """The table of a model."""
    return pd.DataFrame({"smiles": SMILES} | columns)


def two(**columns: Any) -> list[pd.DataFrame]:
    """Tables of two models; columns with a row for each model differ."""
    return [model(**{n: v[r] if np.ndim(v) == 2 else v for n, v in columns.items()}) for r in range(2)]


def found(frames: list[pd.DataFrame], folder: Path, **said: Any) -> list[Runs]:
    paths = [save(frame, folder / f"{'abc'[i]}.csv") for i, frame in enumerate(frames)]
    return readers.read([files.read(path) for path in paths], Options(**said))


THREE = RNG.integers(3, size=T)
THOUSANDS = np.vectorize(lambda x: f"{10**x / 1e4:,.0f}".replace(",", "."))(VALUES[:2])
LEVELS = np.moveaxis(softmax(2 * np.eye(3)[THREE] + RNG.normal(size=(2, T, 3)), axis=-1), 2, 0)
RANKED = LEVELS[:, 0].argsort(axis=0)[::-1]
SORTED = np.sort(LEVELS, axis=0)[::-1]
ROUNDED = np.where(np.arange(T) % 7 == 0, 0.685, PAIR.round(2))
FIRST, SPARSE = np.arange(T) < 3, np.arange(T) == 199


def coded(low: Any, high: Any, old: Any = ("Inactive", "Active"), **more: Any) -> list[pd.DataFrame]:
    """Tables of two models, of which the new one calls the classes ``low`` and ``high``."""
    a, b = two(y_pred=CALLS, **more)
    return [a.replace({"y_pred": dict(enumerate(old))}), b.replace({"y_pred": {0: low, 1: high}})]


MOVED = {"NR-AR": PAIR, "SR-p53": (0.9 * PAIR + 0.05).round(4)}
NAMED = {"inactive": 1 - PAIR, "active": PAIR}
MISSING = [model(y_true=TRUE, p1=CHANCE[0]), model(y_true=TRUE, p1=CHANCE[1]).iloc[5:]]
NAMES = {"classes": ("inactive", "active")}
CASES: dict[str, tuple[Any, ...]] = {
    "truth under the assay's name": (two(active=TRUE, pred=CALLS), {"flips": FLIPS}),
    "truth that is named": (two(active=TRUE, pred=CALLS), BOTH, {"truth_column": "active"}),
    "a regression under its name": (two(pIC50=IC50, pIC50_pred=VALUES[:2]), BEYOND),
    "predict_proba": (two(**{"0": 1 - PAIR, "1": PAIR}), {"flips": FLIPS}),
    "predict_proba and truth": (two(y_true=TRUE, **{"1": PAIR, "0": 1 - PAIR}), BOTH),
    "probabilities of a boolean": (two(y_true=TRUE.astype(bool), **{"True": PAIR, "False": 1 - PAIR}), BOTH),
    **{
        f"probabilities of {no} and {yes}{', said' * bool(said)}": (
            [frame[:12] for frame in two(target=np.array([no, yes])[TRUE], **{name(no): 1 - PAIR, name(yes): PAIR})],
            {kind: values[:12].mean() for kind, values in (("flips", CLASS[0] != CLASS[1]), ("bad", BADLY))},
            said,
        )
        for no, yes, name, said in (
            ("N", "Y", "{}".format, {}),
            ("N", "Y", "{}".format, {"classes": ("N", "Y")}),
            ("BBB-", "BBB+", "p_{}".format, {}),
            ("BBB-", "BBB+", "p_{}".format, {"classes": ("BBB-", "BBB+")}),
            ("-1", "1", "P (active={})".format, {}),
        )
    },
    "probabilities by the names of classes": (two(y_true=WORD[TRUE], inactive=1 - PAIR, active=PAIR), BOTH),
    "probabilities by the names of classes in capitals": (
        two(y_true=WORD[TRUE], p_Active=PAIR, p_Inactive=1 - PAIR),
        BOTH,
    ),
    "probabilities by the names of classes in capitals, said": (
        two(y_true=WORD[TRUE], p_Active=PAIR, p_Inactive=1 - PAIR),
        BOTH,
        NAMES,
    ),
    "probabilities by a part of the names of classes": (
        two(y_true=np.array(["weak binder", "good binder"])[TRUE], p_weak__binder=1 - PAIR, p_good__binder=PAIR),
        BOTH,
    ),
    **{
        f"{name} of one model and columns of classes of the other": (
            [two(**{name: values})[0], two(p_inactive=1 - CHANCE[1], p_active=CHANCE[1])[0]],
            f"a.csv has '{name}', and .*b.csv 'p_active', 'p_inactive': write either in both",
        )
        for name, values in (("words", WORD[CLASS[0]]), ("y_pred", CLASS[0]), ("prob_active", CHANCE[0]))
    },
    "a truth of two names": (
        [two(y_true=TRUE, y_pred=CLASS[0])[0], two(label=TRUE, y_pred=CLASS[1])[0]],
        BOTH,
        {"truth_column": "label"},
    ),
    "numbers for columns of classes": (two(y_true=TRUE, **NAMED), "--classes inactive,active$", NAMES, BOTH),
    "numbers for columns of three classes": (
        two(y_true=TRUE + 1, low=PAIR / 2, mid=PAIR / 2, high=1 - PAIR),
        "--classes low,mid,high$",
    ),
    "numbers for columns in another order": (
        two(y_true=TRUE, **NAMED),
        "--probabilities inactive,active$",
        {"classes": ("0", "1")},
    ),
    "numbers for columns in another order, said": (
        two(y_true=TRUE, **NAMED),
        BOTH,
        {"classes": ("0", "1"), "probabilities": ("inactive", "active")},
    ),
    "words for columns in another order": (two(y_true=WORD[TRUE], B=1 - PAIR, A=PAIR), "--probabilities B,A$", NAMES),
    "words for numbers": (two(y_true=TRUE, y_pred=WORD[CALLS]), "--classes", NAMES, BOTH),
    "words for numbers, said twice": (
        two(y_true=TRUE, y_pred=WORD[CALLS]),
        "do not match.* e.g. --classes inactive,active$",
        {"classes": ("0", "1", "inactive", "active")},
    ),
    "1 and 2 for 0 and 1": (two(y_true=TRUE, y_pred=CALLS + 1), "--classes 1,2$", {"classes": ("1", "2")}, BOTH),
    "-1 and 1 for a truth of 0 and 1": (two(y_true=TRUE, y_pred=2 * CALLS - 1), "--classes -1,1$"),
    "0 and 1 for a truth of 1 and 2": (two(y_true=TRUE + 1, y_pred=CALLS), "--classes 1,2$"),
    "numbers and words in one column": (coded("0", "Active"), r"b.csv: .* numbers \(0\) and words \(Active\)"),
    "-1 in the truth alone": (
        two(y_true=np.where(FIRST, -1, TRUE), y_pred=CALLS),
        "if -1 means a missing value, leave such examples out of all tables; if it is a class, --classes=-1,0,1$",
    ),
    "-1 for all of the truth": (
        two(y_true=-1, y_pred=CALLS),
        "the true values are -1, .* if -1 means a missing value, leave the column out of all tables$",
    ),
    "one class": (
        two(y_true=-1, y_pred=CALLS),
        "--classes -1: expected all classes, and thus two or more",
        {"classes": ("-1",)},
    ),
    "-1 in the truth alone, said": (
        two(y_true=np.where(FIRST, -1, TRUE), y_pred=CALLS),
        {"flips": FLIPS, "bad": (BADLY & ~FIRST).mean()},
        {"classes": ("-1", "0", "1")},
    ),
    "-9 in the truth beside a score": (
        two(y_true=np.where(FIRST, -9, TRUE), score=PAIR),
        "if -9 means a missing value",
    ),
    "2 in the truth beside a score": (
        two(y_true=np.where(FIRST, 2, TRUE), score=PAIR),
        "between 0 and 1, but the true values are 0, 1, 2: if one of these means a missing .* --kind values$",
    ),
    "classes that two models write differently": (coded("no", "yes"), "--classes"),
    "classes in other capitals": (
        coded("inactive", "active"),
        "'Active' and 'active' differ in capitals, blanks or",
    ),
    "a truth in two spellings beside a probability": (
        two(y_true=np.where(np.arange(T) % 3, WORD[TRUE], [text.capitalize() for text in WORD[TRUE]]), p1=PAIR),
        "differ in capitals, blanks or",
    ),
    "accents in two encodings": (
        two(y_true=np.array(["iné", "act"])[TRUE], y_pred=np.array(["ine\u0301", "act"])[CALLS]),
        "differ in capitals, blanks or the encoding of accents only",
    ),
    "columns of classes in percent": (
        two(y_true=WORD[TRUE], p_inactive=100 - 100 * PAIR, p_active=100 * PAIR),
        "'p_inactive', 'p_active' sum to 100 in each row, as percent: .*divide them by 100",
    ),
    "hard blanks in the truth": (
        two(y_true=np.where(SPARSE, "in\xa0active", WORD[TRUE]), y_pred=np.where(SPARSE, "in active", WORD[CALLS])),
        "capitals, blanks or",
    ),
    "percent in one of two tables": (
        [model(y_true=TRUE, prob=CHANCE[0]), model(y_true=TRUE, prob=100 * (CHANCE[1] + 1) / 2)],
        r"divide percent by 100",
    ),
    "0 and 1 for words": (
        coded(0, 1),
        "a.csv and .*b.csv: .* --classes Inactive,Active$",
        {"classes": ("Inactive", "Active")},
        {"flips": FLIPS},
    ),
    "0 and 1 for words beside the truth": (coded(0, 1, y_true=TRUE), "--classes"),
    "1 and 2 of another model": (coded(1, 2, (0, 1)), "--classes 1,2$", {"classes": ("1", "2")}, {"flips": FLIPS}),
    "decimals of another model": (coded("0.00", "1.00", (0, 1)), {"flips": FLIPS}),
    "a word for a missing truth": (
        two(y_true=np.where(FIRST, "n.d.", WORD[TRUE]), y_pred=WORD[CALLS]),
        "a.csv, row 1, column 'y_true': 'n.d.' stands for a missing value",
    ),
    "NA beside numbers": (two(y_true=np.where(SPARSE, "NA", TRUE.astype(str)), p1=PAIR), "row 200.*'NA'"),
    "failures among predictions": (
        two(y_true=WORD[TRUE], y_pred=np.where(SPARSE, "error", WORD[CALLS])),
        "row 200, column 'y_pred': 'error' stands for a missing value",
    ),
    "a class that is called none": (
        two(y_true=np.where(SPARSE, "none", WORD[TRUE]), y_pred=WORD[CALLS]),
        {"flips": FLIPS},
        {"classes": ("none", "inactive", "active")},
    ),
    "plus and minus": (two(y_pred=np.array(["-", "+"], dtype=object)[CALLS]), {"flips": FLIPS}),
    "true words and a probability": (two(y_true=WORD[TRUE], p1=PAIR), "--classes", NAMES, BOTH),
    "true words and the probability of one": (two(y_true=WORD[TRUE], prob_active=PAIR), BOTH),
    "tasks": (two(**MOVED), "--task-column"),
    "a task that is not there": (
        two(y_true=TRUE, p1=PAIR),
        "none is of the task 'y'; .*--task-column",
        {"task": "y"},
        {},
    ),
    "one task": (two(**MOVED), {"flips": FLIPS}, {"task": "NR-AR", "kind": "probabilities"}),
    "tasks with their predictions": (two(A=TRUE, A_pred=CALLS, B=TRUE, B_pred=1 - CALLS), BOTH, {"task": "A"}),
    "margins": (two(y_true=TRUE, score=MARGIN[:2]), "--logits"),
    "margins that are named": (two(y_true=TRUE, logit=MARGIN[:2]), "--logits", {"logits": ("logit",)}, BOTH),
    "margins of the first class, said": (
        two(y_true=TRUE, logit=-MARGIN[:2]),
        BOTH,
        {"logits": ("logit",), "classes": ("1", "0")},
    ),
    "margins of one model": (
        [model(y_true=TRUE, s=MARGIN[0]), model(y_true=TRUE, s=CHANCE[1])],
        "b.csv: --logits s: from 0.* use --probabilities, and write them in all tables",
        {"logits": ("s",)},
    ),
    "the examples": (two(y_true=TRUE, x=CALLS), "a.csv has the examples or runs in one", {"runs": ("smiles",)}),
    "a run twice": (two(y_true=TRUE, x=CALLS), "--runs x,x: names 'x' twice", {"runs": ("x", "x")}),
    "columns of two kinds": (
        two(y_true=TRUE, x=CALLS, p=PAIR),
        "--probabilities and --runs both name the columns to read: give one of them",
        {"runs": ("x",), "probabilities": ("p",)},
    ),
    "percent": (two(y_true=TRUE, score=(100 * PAIR).round(1)), "percent, divide them by 100"),
    "thousands in predictions": (
        two(y_true=IC50, y_pred=THOUSANDS),
        "a.csv: the column 'y_pred': in '.*0', the point may be a decimal point or stand between thousands: write",
    ),
    "thousands in the truth": (
        two(y_true=THOUSANDS[0], y_pred=VALUES[:2]),
        "a.csv: the true values: in '.*0', the point may be a decimal point or stand between thousands: write",
    ),
    "whole percent": (two(y_true=TRUE, score=(100 * PAIR).round()), "percent, divide them by 100"),
    "percent of true words": (two(y_true=WORD[TRUE], y_pred=100 * PAIR), "percent, divide them by 100"),
    "percent as margins": (two(y_true=TRUE, score=100 * PAIR), "margins are below 0", {"logits": ("score",)}),
    "log probabilities as margins": (two(score=np.log(PAIR)), "margins are below 0", {"logits": ("score",)}),
    "another truth": (
        two(y_true=np.stack([TRUE, np.r_[1 - TRUE[0], TRUE[1:]]]), p1=PAIR),
        "the true value of example 'C0' differs, [01] and [01]: .* --truth",
    ),
    "another truth of values": (
        two(y_true=np.stack([IC50, IC50 + 0.25]), y_pred=VALUES[:2]),
        rf"the true value of example 'C0' differs, {IC50[0]} and {IC50[0] + 0.25}: .* --truth",
    ),
    "a truth in float32": (two(pIC50=np.stack([IC50, IC50.astype("f4")]), pIC50_pred=VALUES[:2]), BEYOND),
    "missing rows": (MISSING, "--common-rows", {"common": True}, {"flips": (CLASS[0] != CLASS[1])[5:].mean()}),
    **{
        f"a missing {name} in a row that is left out": (
            [MISSING[0].assign(**{name: [None, *values[0][1:]]}), MISSING[1].assign(**{name: values[1][5:]})],
            {"flips": (CLASS[0] != CLASS[1])[5:].mean()},
            {"common": True, "runs": (name,)},
        )
        for name, values in (("p1", PAIR), ("call", CALLS.astype(object)))
    },
    "opposite columns": (two(y_true=TRUE, seed0=PAIR, seed1=(0.9 - 0.8 * PAIR)), "no two runs"),
    "the probability of the other class": (two(y_true=TRUE, prob_inactive=1 - PAIR), "--probabilities"),
    "probabilities of runs side by side": (
        two(y_true=TRUE, a_p0=1 - PAIR, a_p1=PAIR, b_p0=1 - PAIR[::-1], b_p1=PAIR[::-1]),
        "several sets of probabilities; .* one class of each with --runs",
    ),
    "probabilities of two decimals": (
        two(p0=(1 - ROUNDED).round(2), p1=ROUNDED.round(2)),
        {"flips": (np.diff(ROUNDED > 0.5, axis=0)).mean()},
    ),
    "both probabilities under the name of the other": (
        two(y_true=TRUE, p0=np.stack([1 - CHANCE[0], CHANCE[1]]), p1=np.stack([CHANCE[0], 1 - CHANCE[1]])),
        "b.csv: 'p1' is lower where the class is 1, .* add --probabilities p0,p1$",
    ),
    "the probability of the predicted class": (two(prob=np.maximum(CHANCE, 1 - CHANCE)[:2]), "--probabilities"),
    **{
        f"sorted probabilities {name}": (
            two(y_true=THREE + 1, **{f"{name}{c + 1}": SORTED[c] for c in range(3)}),
            f"these may be sorted, from the predicted class on; .*--probabilities {name}1,{name}2,{name}3, if",
        )
        for name in ("p", "prob_")
    },
    **{
        f"predictions between {low} and {high}": (
            two(pIC50=IC50, pIC50_pred=VALUES[:2], **{f"pIC50_pred_{end}": VALUES[:2] for end in (low, high)}),
            BEYOND,
        )
        for low, high in (("lower", "upper"), ("lwr", "upr"))
    },
    "whether a prediction is right": (
        two(y_true=TRUE, is_correct=(CALLS == TRUE) * 1),
        "no predictions: .*'is_correct'",
    ),
    "classes by another threshold": (two(y_true=TRUE, prob=PAIR, pred=(PAIR > 0.3) * 1), "--runs"),
    "classes of another threshold under any name": (two(p1=PAIR, call=WORD[(PAIR > 0.3) * 1]), "--runs"),
    "p-values of a conformal predictor": (two(y_true=TRUE, p_value=PAIR[::-1], outcome=CALLS), BOTH),
    "classes under any name": (two(p1=PAIR, call=WORD[CALLS]), {"flips": FLIPS}),
    "between 0 and 1 without truth": (two(pred=PAIR), "--kind"),
    "percent under p0 and p1": (
        two(y_true=TRUE, p0=100 - 100 * PAIR, p1=100 * PAIR),
        r"sum to 1 \(divide percent by 100\), found",
    ),
    "percent under p1": (two(y_true=TRUE, p1=100 * PAIR), r"from 0 to 1 \(divide percent by 100\), found"),
    "folds of two tasks side by side": (
        two(A_fold_0=PAIR, A_fold_1=PAIR[::-1], B_fold_0=PAIR, B_fold_1=PAIR[::-1]),
        "'A_fold_0', 'A_fold_1', 'B_fold_0', 'B_fold_1': each may be the predictions; say which with --task-column or",
    ),
    "several tasks below each other": (
        two(endpoint=np.where(TRUE, "logD", "hERG"), y_true=IC50, pred=VALUES[:2]),
        "the column 'endpoint' has '.*' and '.*': keep the rows of one task, or leave out the column if one model",
    ),
    "parts of the data beside predictions": (two(y_true=IC50, fold_0=TRUE, fold_1=1 - TRUE, rf=VALUES[:2]), BEYOND),
    "a truth of words called property": (two(property=WORD[TRUE], property_pred=WORD[CALLS]), BOTH),
    "rows of the training beside": (two(p1=PAIR, Partition=np.where(TRUE, "Train", "Holdout")), "one test set"),
    "rows of the training beside, left out": (
        [
            frame.assign(split=np.where(FIRST, "train", "test"))[skip:]
            for frame, skip in zip(two(p1=PAIR), (0, 3), strict=True)
        ],
        {"flips": (CLASS[0] != CLASS[1])[3:].mean()},
        {"common": True},
    ),
    "another test set beside": (two(p1=PAIR, split=np.where(TRUE, "id", "ood")), "one test set"),
    "a truth that one table writes otherwise": (
        [model(active=TRUE.astype(bool)), model(active=TRUE)],
        "the same in all tables, so it may be the true values.*--runs",
    ),
    "two units": (
        [model(pred_nM=VALUES[0]), model(pred_uM=VALUES[1])],
        "'pred_nM' in .*, predictions of two units.*--runs",
    ),
    "two units with a micro sign": (
        [model(**{"IC50 [nM] pred": VALUES[0]}), model(**{"IC50 [\u00b5M] pred": VALUES[1]})],
        "predictions of two units.*--runs",
    ),
    "two tasks in another script": (
        [model(毒性=TRUE, 活性=1 - TRUE, **{f"{name}_pred": CLASS[r]}) for r, name in enumerate(("毒性", "活性"))],
        "predictions of two tasks",
    ),
    "one of two tasks in another script": (
        two(毒性=TRUE, 毒性_pred=CALLS, 活性=TRUE, 活性_pred=CLASS[2:4]),
        "each may be the predictions; .*--task-column",
        {"task": "毒性"},
        BOTH,
    ),
    "classes in digits that are no numbers": (two(y_true=RINGS[TRUE], y_pred=RINGS[CALLS]), BOTH),
    "classes of many digits": (two(y_true=LONG[TRUE], y_pred=LONG[CALLS], **{f"pred_{LONG[1]}_sd": PAIR}), BOTH),
    "numbers in other digits": (
        two(y_true=TRUE, y_pred=np.vectorize(lambda p: f"\u0966.{p:.9}")(PAIR)),
        "is no number",
    ),
    "probabilities in capitals": (two(y_true=TRUE, P0=1 - PAIR, P1=PAIR), BOTH),
    "probabilities of a numbered task": (two(y=TRUE, task_0_class_0=1 - PAIR, task_0_class_1=PAIR), BOTH),
    "two tasks": (
        [model(hERG=TRUE, Ames=1 - TRUE, **{name: CLASS[r]}) for r, name in enumerate(("hERG_pred", "Ames_pred"))],
        "'hERG_pred' in .*a.csv and 'Ames_pred' in .*b.csv: by their names, predictions of two tasks",
    ),
    "a prediction of -1": (
        two(y_true=TRUE, y_pred=np.where(FIRST, -1, CALLS)),
        "some predictions are -1, and no true value is: .* --classes=-1,0,1",
    ),
    "a prediction of -1, said": (
        two(y_true=TRUE, y_pred=np.where(FIRST, -1, CALLS)),
        {"flips": ((CLASS[0] != CLASS[1]) & ~FIRST).mean()},
        {"classes": ("-1", "0", "1")},
    ),
    "a prediction of -999": (
        two(y_true=TRUE, y_pred=np.where(FIRST, -999, CALLS)),
        "some predictions are -999, and no true value is: .* --classes=-999,0,1",
    ),
    "a class that is misspelled": (
        two(y_true=WORD[TRUE], y_pred=CALLS),
        "'inactive' is none of the classes inactiv, active",
        {"classes": ("inactiv", "active")},
    ),
    **{
        f"the true value {text}": (
            two(y_true=np.where(SPARSE, text, IC50.astype(str)), pred=VALUES[:2]),
            f"a.csv: the true value of example 'C199' is '{text}': expected a finite number",
        )
        for text in (">9", "1e999", "1_000")
    },
    **{
        f"a prediction of {name}": (two(y_true=TRUE, **{f"{name}_pred": PAIR}), BOTH)
        for name in ("logp", "stability", "fold0", "rank")
    },
    **{
        f"{text} among true values": (
            two(y_pred=VALUES[:2], y_true=np.where(SPARSE, text, IC50.astype(str))),
            f"the true value '{text}' is no number: write it as in 4.91",
        )
        for text in ("4,51", "1,234.5", "45 %")
    },
}
"""Tables; what they are refused with, or their estimates; options; and the estimates that these lead to then."""


@pytest.mark.parametrize("name", CASES)
def test_two_models_are_compared_right_or_the_option_is_named(name: str, tmp_path: Path) -> None:
    frames, expected, said, remedied = (*CASES[name], {}, {})[:4]
    if isinstance(expected, str):
        with pytest.raises(UserError, match=expected):
            flipped(*found(frames, tmp_path, **({} if remedied else said)), None)
    if right := remedied if isinstance(expected, str) else expected:
        estimates = gate(*found(frames, tmp_path, **said), 1.0).estimates
        assert {kind: estimates[kind].value for kind in right} == pytest.approx(right)


@pytest.mark.parametrize(
    "name", ["prob_inactive", "p0", "p_negative", "prob_non_toxic", "p_no", "Probability(Class=0)"]
)
def test_the_probability_of_the_first_class_is_not_taken_for_that_of_the_second(name: str, tmp_path: Path) -> None:
    few = [frame[:10] for frame in two(y_true=TRUE, **{name: 1 - PAIR})]
    other = [model(**{name: 1 - CHANCE[0]}), model(p_active=CHANCE[1])]
    for frames in (few, other, other[::-1]):
        with pytest.raises(UserError, match=r"by its name the probability of the first of two.*--probabilities"):
            found(frames, tmp_path)
    assert gate(*found(two(**{name: 1 - PAIR}), tmp_path), 1.0).estimates["flips"].value == pytest.approx(FLIPS)


NOTATIONS = {
    "a decimal comma": lambda p: f"{p:.4f}".replace(".", ","),
    "few decimals after a comma": lambda p: f"{p:.1f}".replace(".", ","),
    "percent": lambda p: f"{100 * p:.1f}%",
    "whole percent": lambda p: f"{100 * p:.0f} %",
    "thousands": lambda p: f"{1e5 * p:,.2f}",
    "brackets": lambda p: f"[{p:.3f}]",
    "both classes": lambda p: f"[{1 - p:.3f} {p:.3f}]",
    "an interval": lambda p: f"{p:.3f} (0.5-1)",
    "a tensor": lambda p: f"tensor({p:.3f})",
    "a scalar": lambda p: f"np.float32({p:.3f})",
    "few different numbers in brackets": lambda p: f"[{10 * p:.0f}]",
    "few different numbers with a unit": lambda p: f"{10 * p:.0f} nM",
    "few different numbers with an error": lambda p: f"{10 * p:.0f} ± 1",
    "a typographic minus": lambda p: f"\u2212{10 * p:.0f}",
}
TRUTHS = {
    **dict.fromkeys(("y_true", "target", "active", "label", "output", "True", "rep_1", "baseline_pred"), TRUE),
    "measured": IC50,
    "corrected": np.stack([TRUE, np.r_[1 - TRUE[0], TRUE[1:]]]),
}


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_prediction_in_another_notation_is_named_with_its_row_and_no_true_value_taken_instead(notation, tmp_path):
    written = np.vectorize(NOTATIONS[notation])(PAIR)
    with pytest.raises(UserError, match=r"a\.csv, row 1, column 'p1': '.*' is no number: .* --kind labels"):
        found(two(y_true=TRUE, p1=written), tmp_path)
    every = notation in ("a decimal comma", "few different numbers with a unit")  # the others are recognised alike
    for name in ("y_pred", "active_pred", "mean", "logit"):
        for truth, values in TRUTHS.items() if every else [("active", TRUE)]:
            with pytest.raises(UserError):
                gate(*found(two(**{truth: values, name: written}), tmp_path), 1.0, tolerance=0.5)


@pytest.mark.parametrize(
    "beside",
    [{"mean": PAIR}, {"std": 0.1}, {"cut": np.repeat([[0.6], [0.7]], T, axis=1)}],
    ids=["another name", "no predictions", "a constant"],
)
def test_where_no_column_is_known_as_predictions_true_values_and_constants_are_not_taken(beside, tmp_path):
    for truth in (*({name: TRUE} for name in list(TRUTHS)[:7]), {"active": TRUE, "inactive": 1 - TRUE}):
        with pytest.raises(UserError, match=r"--runs|--probabilities|--kind"):
            gate(*found(two(**truth, **beside), tmp_path), 1.0, tolerance=0.5)


@pytest.mark.parametrize("regression", [False, True])
def test_a_prediction_in_a_file_of_true_values_is_not_taken_for_these(regression: bool, tmp_path: Path) -> None:
    y, pred = (IC50, VALUES) if regression else (TRUE, CLASS)
    for name, truth in (("y_pred", "y_true"), ("active_pred", "active"), ("hERG_pred", "hERG")):
        outside = save(model(**{name: pred[3], truth: y}), tmp_path / "truth.csv")
        old, _ = found(two(**{name: pred[:2]}), tmp_path, truth=outside)
        assert f"truth: {truth} in" in old.columns
        np.testing.assert_array_equal(old.y, y)
    for name in ("p_np", "logP_output"):  # a target, called as in the table of true values
        outside = save(model(**{name: y, "num": np.arange(T)}), tmp_path / "truth.csv")
        old, _ = found(two(**{name: pred[:2]}), tmp_path, truth=outside, runs=(name,))
        assert f"truth: {name} in" in old.columns
    runs = wide(CHANCE, "run{}")
    outside = save(runs.assign(result=y), tmp_path / "truth.csv")
    (found_runs,) = found([runs], tmp_path, truth=outside, kind="values" if regression else "")
    np.testing.assert_array_equal(found_runs.y, y)
    beside = save(model(p_active=y, plate=np.arange(T) % 2), tmp_path / "truth.csv")
    with pytest.raises(UserError, match="each of 'p_active', 'plate' may be the true values"):
        found(two(p1=PAIR), tmp_path, truth=beside)


def test_runs_below_each_other_are_told_apart_as_those_of_two_files_are(tmp_path: Path) -> None:
    rows = pd.concat(two(y_true=TRUE, y_pred=CALLS), keys=[1, 2], names=["run"]).reset_index(level=0)
    (runs,) = found([rows], tmp_path)
    np.testing.assert_array_equal(runs.values, CALLS)
    message = r"the predicted classes \(.*\) and those of another run \(.*\) do not match"
    for words in ({0: 1, 1: 2}, {0: "neg", 1: "pos"}):
        with pytest.raises(UserError, match=message):
            found([rows.assign(y_pred=[*CALLS[0], *map(words.get, CALLS[1])])], tmp_path)
    with pytest.raises(UserError, match="the column 'learner' has 'rf' and 'svm': keep the rows of one model"):
        found([rows.assign(learner=np.repeat(["rf", "svm"], T))], tmp_path)
    (runs,) = found([rows.rename(columns={"run": "replicate"}).assign(run="exp", model="rf")], tmp_path)
    np.testing.assert_array_equal(runs.values, CALLS)
    for model in (np.repeat(["fold1.ckpt", "fold2.ckpt"], T), np.tile(np.where(TRUE, "rat", "mouse"), 2)):
        (runs,) = found([rows.assign(model=model)], tmp_path)
        np.testing.assert_array_equal(runs.values, CALLS)


def test_runs_below_each_other_may_lack_a_class(tmp_path: Path) -> None:
    grades = np.arange(T) % 10
    labels = [np.where(grades == lacking, 0, grades) for lacking in (8, 9, 11)]
    rows = pd.concat([pd.DataFrame({"run": r, "id": SMILES, "y_pred": y}) for r, y in enumerate(labels)])
    (runs,) = found([rows], tmp_path)
    assert (len(runs.classes), runs.values.tolist()) == (10, np.array(labels).tolist())
    two_of_three = rows.assign(y_pred=np.concatenate([WORD[TRUE], np.where(TRUE, "mid", "active"), WORD[TRUE]]))
    with pytest.raises(UserError, match=r"--classes inactive,active,mid$"):
        found([two_of_three], tmp_path)


RELATIONS = np.where(np.arange(T) < 15, ">", "=")
NOTES = [
    (two(y_true=TRUE, p1=PAIR), r"^predictions: p1; truth: y_true\.$"),
    (two(y_true=WORD[TRUE], y_pred=WORD[CALLS]), r"^predictions: y_pred; truth: y_true\.$"),
    (two(y_true=TRUE, p1=CHANCE[[0, 0]]), "p1 in a.csv and p1 in b.csv are the same: if one is a copy"),
    (
        [model(run1=CHANCE[0], run2=CHANCE[1], run3=CHANCE[1], y_true=TRUE)],
        "run2 in a.csv and run3 in a.csv are the sa",
    ),
    (two(y_true=IC50, y_pred=np.stack([VALUES[0], IC50])), "the true value and y_pred in b.csv are the same"),
    (two(y_pred=WORD[CLASS[[0, 0]]]), "y_pred in a.csv and y_pred in b.csv are the same: if one is a copy"),
    (two(y_true=IC50, y_pred=np.stack([0 * IC50 + 6.1, VALUES[0]])), r"^predictions: y_pred; truth: y_true\.$"),
    (two(y_true=10 ** (9 - IC50), y_pred=VALUES[:2]), "write both in one"),
    (two(y_true=1000 * IC50, y_pred=VALUES[:2]), "write both in one"),
    (two(p1=np.stack([CHANCE[0], 1 - CHANCE[1]])), "a.csv rises: if these are of two classes, write both in one"),
    (
        two(y_pred=np.stack([VALUES[0], 1000 * VALUES[1]])),
        "b.csv spreads [0-9,]+ times as far .* two units, write both",
    ),
    (two(y_true=IC50, y_pred=np.stack([VALUES[0], VALUES[1] - 273.15])), "b.csv is -27.*: if these are two units"),
    (two(y_pred=np.stack([VALUES[0], 10 ** (9 - VALUES[1])])), "b.csv falls where .* rises: if these are of two units"),
    ([model(run1=VALUES[0], run2=1000 * VALUES[1])], "run2 in a.csv spreads [0-9,]+ times as far as run1 in a.csv"),
    (
        [pd.concat([model(y_true=IC50, run=r, y_pred=VALUES[r] * (1, 1000)[r]) for r in range(2)])],
        "run 1 in a.csv spreads [0-9,]+ times as far as run 0 in a.csv",
    ),
    (
        two(y_true=np.where(FIRST, -999, IC50), y_pred=VALUES[:2]),
        "-999 stands in .* missing value, leave such examples",
    ),
    (
        two(y_true=IC50, y_pred=np.where(FIRST, -999, VALUES[:2])),
        "a.csv: -999 stands in .* missing value, leave such examples",
    ),
    (two(y_true=WORD[TRUE], y_pred=np.where(FIRST, "abstained", WORD[CALLS])), r"true value: 'abstained' \(6 times\)"),
    (two(y_pred=np.where(FIRST, "keine Angabe", WORD[CALLS])), r"predicted rarely: 'keine Angabe' \(6 times\)"),
    (
        two(y_true=TRUE, prob=PAIR, Threshold=0.3),
        "by 'Threshold' in a.csv, the threshold is another than 0.5, at .* a column y_pred",
    ),
    (two(y_true=TRUE, prob=PAIR, Threshold=0.5), r"^predictions: prob; truth: y_true; left out: Threshold\.$"),
    (two(y_true=TRUE, p1=PAIR / 2), r"truth: y_true; all predictions are of the class '0'\.$"),
    (two(y_true=np.where(FIRST, 9, TRUE), y_pred=CALLS), r"true, and in no prediction: '9' \(3 times\): where"),
    (two(y_true=THREE, y_pred=np.stack([THREE, THREE[::-1]])), r"^predictions: y_pred; truth: y_true\.$"),
    (two(y_pred=np.stack([CLASS[0], 1 - CLASS[1]])), "b.csv falls where .* rises: if these are of two classes, write"),
    (two(y_true=IC50, rel=RELATIONS, y_pred=VALUES[:2]), "by 'rel', the true values in 15 rows of a.csv are bounds"),
    (
        two(y_true=IC50, unit=np.where(TRUE, "nM", "\u00b5M"), y_pred=VALUES[:2]),
        r"by 'unit' in a.csv, the true values have several units \(.*\): write all in one",
    ),
    (
        two(y_true=WORD[TRUE], rel=RELATIONS, y_pred=WORD[CALLS]),
        r"^predictions: y_pred; truth: y_true; left out: rel\.$",
    ),
    ([frame.drop(columns="smiles").reset_index(names="") for frame in two(p1=PAIR)], "^examples by the numbers of the"),
    (
        [model(y_true=TRUE, y_pred=CLASS[0]), model(y_true=TRUE, p1=CHANCE[1])],
        r"y_pred in a\.csv is only 0 and 1, so that all are compared as classes",
    ),
    (
        [model(p1=CHANCE[0]), model(p1=CHANCE[0]), model(p1=CLASS[1])],
        "are the same: if one is a copy of the other, leave it out",
    ),
    ([model(hERG_pred=CLASS[0]), model(Ames_pred=CLASS[1])], "differ: 'hERG_pred' in a.csv, 'Ames_pred' in b.csv"),
    ([model(rf_pred=CLASS[0]), model(xgb_pred=CLASS[1])], "differ: 'rf_pred' in a.csv, 'xgb_pred' in b.csv"),
    ([model(y_pred=CLASS[0]), model(active_pred=CLASS[1])], "differ: 'y_pred' in a.csv, 'active_pred' in b.csv"),
    ([model(pred_0h=CLASS[0]), model(pred_24h=CLASS[1])], "differ: 'pred_0h' in a.csv, 'pred_24h' in b.csv"),
    ([model(pred_42=CLASS[0]), model(pred_43=CLASS[1])], r"^predictions: pred_42\.$"),
    ([model(y_pred=CLASS[0]), model(prediction=CLASS[1])], r"^predictions: y_pred\.$"),
    (
        [pd.DataFrame({"Drug_ID": SMILES, "Drug": SMILES, "Y": IC50, "Y_pred": VALUES[0]})],
        r"^predictions: Y_pred; truth: Y; left out: Drug\.$",
    ),
]


@pytest.mark.parametrize(("frames", "expected"), NOTES, ids=map(str, range(len(NOTES))))
def test_what_may_not_mean_what_it_seems_to_is_pointed_at_and_what_is_plain_is_not(frames, expected, tmp_path):
    columns = re.sub(r"/\S*/", "", found(frames, tmp_path)[0].columns)  # files without their folder
    assert re.search(expected, columns), columns


def test_bounds_in_a_file_of_true_values_are_said(tmp_path: Path) -> None:
    truth = save(model(relation=RELATIONS, y_true=IC50), tmp_path / "truth.csv")
    columns = found(two(y_pred=VALUES[:2]), tmp_path, truth=truth)[0].columns
    assert re.search("by 'relation', the true values in 15 rows of .*truth.csv are bounds", columns)


@pytest.mark.parametrize("name", ["Compound ID", "Molecule Name", "Molecule ChEMBL ID", "compound-id"])
def test_ids_under_the_headings_of_spreadsheets_name_examples_whose_smiles_repeat(name: str, tmp_path: Path) -> None:
    frames = [frame.assign(**{name: IDS + [f"x{t}" for t in range(T - 7)]}) for frame in two(p1=PAIR)]
    for frame in frames:
        frame["smiles"] = "CCO"
    assert len(found(frames, tmp_path)[0].ids) == T
    for frame in frames:
        frame["smiles"], frame[name] = SMILES, "aspirin"
    assert found(frames, tmp_path)[0].ids.tolist() == SMILES, "a name that repeats is no id"
    for frame in frames:
        frame["smiles"] = "CCO"
    message = "appears twice; .* several runs .* if another column names the examples, call it ex"
    with pytest.raises(UserError, match=message):
        found([frame.drop(columns=name) for frame in frames], tmp_path)


def test_empty_rows_at_the_end_are_none_and_a_header_without_the_first_name_is_explained(tmp_path: Path) -> None:
    path = save(model(p1=CHANCE[0]), tmp_path / "a.csv")
    text = path.read_text()
    path.write_text(f"{text},\n,\n")
    assert len(read(path).ids) == T
    path.write_text("smiles,p1\n" + "".join(f"{i},{row}\n" for i, row in enumerate(text.splitlines()[1:])))
    with pytest.raises(UserError, match=r"3 fields, but the header on line 1 has 2: .*R's write.table leaves out the"):
        read(path)


@pytest.mark.parametrize("known", ["SMILES", "Name", "InChIKey"])
def test_numbers_of_rows_are_no_ids_if_another_column_names_the_examples(known: str, tmp_path: Path) -> None:
    frames = [pd.DataFrame({known: SMILES, "p1": p}) for p in PAIR]
    frames[1] = frames[1].sort_values("p1", ignore_index=True)
    for frame in frames:
        frame.insert(0, "id", range(T))
    with pytest.raises(UserError, match=f"example '.*' of the column 'id' has 'C.*' and 'C.*' in the column '{known}'"):
        found(frames, tmp_path)
    for frame, p in zip(frames, PAIR, strict=True):
        frame["interval"] = [f"{x:.1f}-{x + 0.1:.2f} ({x:.2f})" for x in p]
    frames[1][known] = [f"{text}O" for text in SMILES]  # other SMILES of the same molecules are no sign
    assert found(frames, tmp_path)[1].ids.tolist() == [str(t) for t in range(T)]


def wide(values: np.ndarray, pattern: str, **more: Any) -> pd.DataFrame:
    return model(**{pattern.format(r): row for r, row in enumerate(values)}, **more)


@pytest.mark.parametrize(
    "case",
    [
        (wide(CLASS, "seed{}", y_true=TRUE), "5 runs: seed0 … seed4; truth: y_true."),
        (
            wide(CHANCE, "seed{}", y_true=TRUE, mean=CHANCE.mean(axis=0), std=CHANCE.std(axis=0)),
            "5 runs: seed0 … seed4; truth: y_true; left out: mean, std.",
        ),
        (wide(VALUES, "pred_{}", y_true=IC50, MW=300 + IC50), "5 runs: pred_0 … pred_4; truth: y_true; left out: MW."),
        (
            wide(CLASS, "active_model_{}", active=TRUE, pIC50=IC50),
            "5 runs: active_model_0 … active_model_4; truth: active; left out: pIC50.",
        ),
        (wide(CLASS, "{}", y_true=TRUE), "5 runs: 0 … 4; truth: y_true."),
        (wide(CHANCE, "fold{}", y_true=TRUE, MW=300 + IC50), "5 runs: fold0 … fold4; truth: y_true; left out: MW."),
        (wide(CLASS, "fold{}", y_true=TRUE), UserError("'fold0', .* runs, or parts of the data; say .* --runs")),
        (wide(WORD[CLASS], "fold_{}", y_true=TRUE), UserError("'fold_0', .* runs, or parts of the data")),
        (
            wide(0.5 + PAIR / 500, "active_model_{}", active=TRUE),
            "2 runs: active_model_0, active_model_1; truth: active; all predictions are of the class '1'.",
        ),
        (wide(CALLS, "rf{}"), "2 runs: rf0, rf1.", {"runs": ("rf0", "rf1")}),
        (wide(CALLS, "rf{}"), UserError("--runs")),
        (wide(CLASS[:3], "CYP{}C9"), UserError("--task-column")),
        (wide(CLASS[:3], "剂量{}", y_true=TRUE), UserError("--task-column")),
        (wide(CLASS[:3], "{}"), UserError("--runs")),
        (wide(PAIR, "pred_{} %", y_true=TRUE), UserError("'pred_0 %', 'pred_1 %': each may be .* --runs")),
        (wide(PAIR, "pred_{}h", y_true=TRUE), UserError("'pred_0h', 'pred_1h': each may be .* --runs")),
        (wide(PAIR, "model_{}h", y_true=TRUE), UserError("'model_0h', 'model_1h': runs of one .* --runs")),
        (wide(PAIR, "pred_202{}", y_true=TRUE), UserError("'pred_2020', 'pred_2021': each .* --runs")),
        (wide(PAIR, "run{}pred", y_true=TRUE), "2 runs: run0pred, run1pred; truth: y_true."),
        (wide(CALLS, "run{}"), UserError("--classes a,a: names 'a' twice"), {"classes": ("a", "a")}),
        (wide(VALUES, "run_{}"), UserError("--classes a,b: .* has values"), {"classes": ("a", "b")}),
        (wide(np.array([*VALUES[:3], RNG.normal(size=T)]), "run{}", y_true=IC50), UserError("without relation")),
        (
            wide(np.array([*CHANCE[:3], CLASS[3]]), "run{}", y_true=TRUE),
            "4 runs: run0 … run3; truth: y_true; run3 in FILE is only 0 and 1, so that all are compared as classes "
            "(--kind probabilities compares them as probabilities).",
        ),
        (wide(np.array([*CHANCE[:3], VALUES[3]]), "run{}", y_true=TRUE), UserError("beyond 0 to 1")),
        (
            wide(WORD[[CLASS[0], 1 - CLASS[0]]], "run{}", y_true=TRUE),
            UserError("'run0', 'run1': hardly ever .* --runs"),
        ),
        *(
            (wide(np.where(alike, 1, RANKED), "pred_{}", y_true=THREE), UserError("'pred_0', 'pred_1': hardly ever"))
            for alike in (False, FIRST)
        ),
        *(
            (wide(VALUES[0] + [[-1], [0], [1]], name, y_true=IC50), UserError("same order of size .* quantiles.* --r"))
            for name in ("pred_{}", "{}0%")
        ),
        (wide(np.array([TRUE + 3, TRUE + 4]), "run{}"), "2 runs: run0, run1.", {"kind": "values"}),
        (
            pd.DataFrame({"id": range(15), "run0": range(20, 35), "run1": range(21, 36), "y_true": IC50[:15]}),
            "2 runs: run0, run1; truth: y_true.",
        ),
        (wide(VALUES, "run{}_logP"), "5 runs: run0_logP … run4_logP."),
        *(
            (
                wide(VALUES[:2], f"{word}{{}}_logD", **{f"{word}{r}_logP": VALUES[2 + r] for r in range(2)}),
                UserError(f"'{word}0_logD', '{word}1_logD', '{word}0_logP', '{word}1_logP': each may be the pred"),
            )
            for word in ("run", "replicate")
        ),
        (
            wide(VALUES[:2], "run{}_logP", run0_logP_std=0.1 * VALUES[2], run1_logP_std=0.1 * VALUES[3]),
            "2 runs: run0_logP, run1_logP; left out: run0_logP_std, run1_logP_std.",
        ),
        (wide(CHANCE, "seed{}", y_true=TRUE, seed5=0), UserError("'seed5': the same in every row.* --runs")),
        (wide(CLASS, "seed{}", y_true=TRUE, seed5=1), UserError("'seed5': the same in every row.* --runs")),
    ],
)
def test_columns_are_runs_if_they_differ_in_a_number_and_say_that_they_are(case, path):
    table, expected, *said = case
    if isinstance(expected, UserError):
        with pytest.raises(UserError, match=str(expected)):
            read(save(table, path), **dict(*said))
        return
    runs = read(save(table, path), **dict(*said))
    columns = runs.columns.replace("; truth: none (name its column with --truth-column)", "")
    assert columns.replace(str(path), "FILE") == expected
    assert len(runs.names) == int(expected[0])


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ({"p0": 1 - P1.ravel(), "p1": P1.ravel()}, slice(None)),
        ({"p1": P1.ravel()}, slice(None)),
        ({"p1": P1.ravel()}, np.random.default_rng(1).permutation(21)),
    ],
)
def test_long_tables_hold_a_row_for_each_run_and_example(columns: dict[str, Any], order: Any, path: Path) -> None:
    runs = read(save(long(**columns).iloc[order], path))
    place = [runs.ids.tolist().index(name) for name in IDS]
    by_name = [runs.names.index(name) for name in ("4", "8", "15")]
    np.testing.assert_allclose(runs.values[by_name][:, place, 1], P1, atol=1e-6)
    np.testing.assert_array_equal(runs.y[place], Y)


@pytest.mark.parametrize(
    ("name", "form", "written"),
    [
        *(("p.csv", "csv", {"sep": mark}) for mark in (",", ";", "\t", "|")),
        *((name, "csv", {"sep": ";", "lineterminator": "\r\n"}) for name in ("p.csv.gz", "p.CSV")),
        *(("p.PARQUET", "parquet", {}), ("p.parquet", "parquet", {}), ("p.JSON", "json", {"orient": "split"})),
    ],
)
def test_separators_are_found_and_a_suffix_says_the_format_in_any_capitals_and_the_compression(
    name, form, written, tmp_path
):
    table = long(p1=P1.ravel(), note2="", note="calm, quiet")  # a name with a digit above no entry is no first row
    named = table if form == "csv" else table.assign(**{"2024": 1})  # which would be a first row of CSV
    getattr(named, f"to_{form}")(tmp_path / name, index=False, **written)
    np.testing.assert_allclose(read(tmp_path / name).values[:, :, 1], P1, atol=1e-6)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_line_of_excel_names_the_separator_and_its_empty_columns_are_none(mark: str, tmp_path: Path) -> None:
    text = long(p1=P1.ravel()).to_csv(index=False, sep=mark, lineterminator=f"{mark * 2}\r\n")
    (tmp_path / "p.csv").write_text(f"\ufeffsep={mark}\r\n{text}", encoding="utf-8")
    np.testing.assert_allclose(read(tmp_path / "p.csv").values[:, :, 1], P1, atol=1e-6)


@pytest.mark.parametrize(
    ("ids", "values", "first"),
    [
        ([f"mol-{t:03}" for t in range(T)], CHANCE[0], "mol-000"),
        ([f"mol-{t:03}" for t in range(T)], CLASS[0], "mol-000"),
        (SMILES, VALUES[0].round(3), str(VALUES[0].round(3)[0])),
        ([f"CHEMBL{t + 1000}" for t in range(T)], WORD[CLASS[0]], "CHEMBL1000"),
    ],
)
def test_a_table_without_names_of_columns_does_not_lose_its_first_row(ids, values, first, tmp_path):
    pd.DataFrame({"id": ids, "p": values}).to_csv(tmp_path / "a.csv", index=False, header=False)
    with pytest.raises(UserError, match=f"a.csv: the first line has {first!r} where names of columns are expected"):
        files.read(tmp_path / "a.csv")


def test_ids_stay_text_also_symbols_of_elements_and_numbers_of_layers(tmp_path: Path) -> None:
    for ids in (["Na", "Nd", *(f"n={i}" for i in range(T - 2))], ["001", "1", "1e2", "100"]):
        tables = [pd.DataFrame({"id": ids, "p1": p[: len(ids)]}) for p in PAIR]
        assert [runs.ids.tolist() for runs in found(tables, tmp_path)] == [ids, ids]


def test_integers_are_classes_and_other_numbers_values_unless_said_otherwise(path: Path) -> None:
    whole = long(y_pred=(3 * P1.ravel()).round()).drop(columns="y_true")
    assert read(save(whole, path)).kind == "labels"
    assert read(path, kind="values").kind == "values"
    runs = read(save(long(y_pred=3 * P1.ravel() + 1e8).drop(columns="y_true"), path))
    np.testing.assert_array_equal(runs.values, 3 * P1 + 1e8)  # late digits, too


def test_true_values_may_be_in_a_file_of_their_own_under_the_name_of_the_predictions(tmp_path: Path) -> None:
    """As chemprop writes predictions, under the name of the target."""
    truth = tmp_path / "assays.csv"
    save(pd.DataFrame({"smiles": SMILES[::-1], "active": TRUE[::-1], "MW": 300.0}), truth)
    estimates = gate(*found(two(active=PAIR), tmp_path, truth=truth), 1.0).estimates
    assert (estimates["flips"].value, estimates["bad"].value) == pytest.approx((FLIPS, BAD))
    with pytest.raises(UserError, match="may be the true values: say which with --truth-column"):
        found(two(pred=CALLS), tmp_path, truth=truth)
    for table in (model(active=TRUE).iloc[1:], model(active=["n/a", *TRUE[1:]])):
        save(table, truth)
        with pytest.raises(UserError, match=r"'C0' has no true value.*, add --common-rows"):
            found(two(active=PAIR), tmp_path, truth=truth)
        assert len(found(two(active=PAIR), tmp_path, truth=truth, common=True)[0].ids) == T - 1


def test_names_of_examples_in_a_file_of_true_values_are_none(tmp_path: Path) -> None:
    truth = save(model(name=[f"mol {t}" for t in range(T)], hERG=TRUE), tmp_path / "truth.csv")
    assert "; truth: hERG in " in found(two(p1=PAIR), tmp_path, truth=truth)[0].columns


def test_the_gaps_of_one_task_in_a_file_of_true_values_are_left_out_with_common_rows(tmp_path: Path) -> None:
    gaps = np.where(np.arange(T) % 3 == 0, np.nan, TRUE)
    truth = save(model(A=gaps, B=TRUE), tmp_path / "truth.csv")
    tables = two(A=PAIR, B=CHANCE[2:4])
    first = found(tables, tmp_path, truth=truth, task="A", common=True)[0]
    np.testing.assert_array_equal(first.y, TRUE[np.arange(T) % 3 > 0])
    assert first.columns.endswith("200 of 200 examples, those in common; 133 of these have a true value.")
    assert len(found(tables, tmp_path, truth=truth, task="B", common=True)[0].ids) == T


@pytest.mark.parametrize(
    ("negative", "positive"),
    [("-", "+"), ("BBB-", "BBB+"), ("Nein", "Ja"), ("inaktiv", "aktiv"), ("unstable", "stable")],
)
def test_the_option_for_classes_is_shown_with_the_negative_class_first(negative, positive, tmp_path: Path) -> None:
    tables = two(y_pred=CALLS, y_true=np.where(TRUE, positive, negative))
    with pytest.raises(UserError, match=re.escape(f"e.g. --classes {negative},{positive}")):
        found(tables, tmp_path)
    estimates = gate(*found(tables, tmp_path, classes=(negative, positive)), 1.0).estimates
    assert estimates["bad"].value == pytest.approx(BAD)


@pytest.mark.parametrize("column", ["p1", "y_pred"])
def test_classes_that_seem_to_be_exchanged_are_pointed_at(column: str, tmp_path: Path) -> None:
    tables = two(y_true=WORD[TRUE], **{column: PAIR if column == "p1" else CALLS})
    expected = (
        rf"{column} in .*a\.csv says inactive more often where the truth is active: .*use --classes inactive,active"
    )
    assert re.search(expected, found(tables, tmp_path, classes=("active", "inactive"))[0].columns)
    assert "more often" not in found(tables, tmp_path, **NAMES)[0].columns


def test_the_order_of_three_classes_is_doubted_where_one_is_predicted_for_another(tmp_path: Path) -> None:
    tables = two(y_true=np.array(["low", "mid", "high"])[THREE], p0=LEVELS[0], p1=LEVELS[1], p2=LEVELS[2])
    doubt = r"p[012] in .*a\.csv says \w+ more often where the truth is \w+: .*use --classes in another order"
    assert re.search(doubt, found(tables, tmp_path, classes=("high", "low", "mid"))[0].columns)
    assert "more often" not in found(tables, tmp_path, classes=("low", "mid", "high"))[0].columns


def test_the_tables_of_knime_and_caret_have_their_truth_beside_predictions(tmp_path: Path) -> None:
    p = {"P (active=0)": 1 - PAIR, "P (active=1)": PAIR, "Prediction (active)": CALLS}
    knime = [
        frame.drop(columns="smiles").rename_axis("row ID").rename("Row{}".format) for frame in two(active=TRUE, **p)
    ]
    caret = two(pred=CALLS, obs=TRUE)
    for tables in ([frame.reset_index() for frame in knime], caret):
        assert gate(*found(tables, tmp_path), 1.0).estimates["bad"].value == pytest.approx(BAD)


def test_a_true_value_may_be_written_in_several_ways(tmp_path: Path) -> None:
    runs = read(save(changed("y_true", 9, "1.00"), tmp_path / "p.csv"))
    assert (runs.y == Y).all()
    truth = tmp_path / "truth.csv"
    save(pd.DataFrame({"example_id": [*IDS, "m2"], "y_true": [*Y, "1.0"]}), truth)
    assert (read(tmp_path / "p.csv", truth=truth).y == Y).all()


@pytest.mark.parametrize(
    ("old", "new", "common", "message"),
    [
        (("001", "002"), ("1", "2"), False, "no example in common; '001' and '1' may be the same: expected ids that"),
        (("001", "002"), ("1", "2"), True, "--common-rows: .* no example in common; '001' and '1' may be the same"),
        (("1.0", "2.0"), ("1", "2"), False, "no example in common; '1.0' and '1' may be"),
        (("mol-01", "a"), ("MOL-1", "a"), False, "'mol-01' and 'MOL-1' may be the same: .*add --common-rows"),
        (("a", "b"), ("c", "d"), False, "no example in common: 'a' and 'c' are the first$"),
        (("10", "2"), ("1", "2"), False, "'10' is in .* only; to compare those in common, add --common-rows"),
        (("A\u20111", "é"), ("A-1", "é"), False, r"'A\\u20111' and 'A-1' may be the same"),
        (("\xe9", "a"), ("e\u0301", "a"), False, r"'\\xe9' and 'e\\u0301' may be the same"),
        (("CCO", "CCN"), ("OCC", "CCN"), False, "'CCO' and 'OCC' may be the same: expected ids that are written alike"),
    ],
)
def test_ids_that_do_not_match_are_shown_with_the_likely_cause(old, new, common, message, tmp_path: Path) -> None:
    frames = [pd.DataFrame({"id": ids, "p1": [0.1, 0.9]}) for ids in (old, new)]
    with pytest.raises(UserError, match=message):
        found(frames, tmp_path, common=common)
    truth = save(pd.DataFrame({"id": ["1", "2"], "y_true": [0, 1]}), tmp_path / "truth.csv")
    with pytest.raises(UserError, match=r"truth\.csv: no example in common"):
        found([pd.DataFrame({"id": ["001", "002"], "p1": [0.1, 0.9]})], tmp_path, truth=truth)


def test_what_common_rows_leave_out_is_counted_and_ids_that_may_be_the_same_are_named(tmp_path: Path) -> None:
    table = save(long(p1=P1.ravel()).drop(index=[9, 17]), tmp_path / "p.csv")
    assert read(table, common=True).columns.endswith("truth: y_true; 5 of 7 examples, those in common.")
    frames = [pd.DataFrame({"id": ids, "y_true": [0, 1], "p1": [0.1, 0.9]}) for ids in (("a", "B"), ("a", "b"))]
    columns = found(frames, tmp_path, common=True)[0].columns
    assert "1 of 3 examples, those in common; 'B' and 'b' may be the same" in columns


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    table = long(p0=1 - P1.ravel(), p1=P1.ravel()).astype({column: object})
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (changed("p1", 9, "high"), r"row 10, column 'p1': expected a finite number, found 'high'"),
        (changed("p1", 9, "nan"), r"row 10, column 'p1': expected a finite number"),
        (changed("p1", 9, 7), r"row 10, columns p0, p1: expected probabilities that sum to 1, found .*7"),
        (changed("train_seed", slice(14, 20), "mean"), r"column 'train_seed': 'mean' is by its name no run"),
        (changed("example_id", 9, "m0"), r"row 10: example 'm0' of run '8' appears twice; write other models"),
        (changed("example_id", [6, 13, 20], "Grand Total"), r"'example_id': 'Grand Total' is by its name no example"),
        *(
            (changed("example_id", [6, 13, 20], text), f"'example_id': '{text}' is by its name no example")
            for text in ("Durchschnitt", "Moyenne:", "Std. Dev.", "ROC AUC", "Accuracy", "St.Dev")
        ),
        (changed("example_id", [6, 13, 20], "Total (60)"), r"'example_id': 'Total \(60\)' is by its name no example"),
        (changed("example_id", [6, 13, 20], "n/a"), r"'example_id': 'n/a' is by its name no example"),
        (changed("example_id", 9, ""), r"row 10: the column 'example_id' is empty: leave out such rows"),
        (changed("y_true", 9, 0), r"row 10, column 'y_true': example 'm2' is '0', but '1' in an earlier row"),
        (long(p0=0.5, p1=0.5).iloc[:-1], r"run '15' has 6 of 7 examples: 'm6' is missing"),
        (
            long(p0=0.5, p1=0.5).drop(columns="train_seed"),
            r"row 8: example 'm0' appears twice; write .*; several runs need",
        ),
        (long(p0=0.5, p2=0.5), r"probability columns p0, p2: expected p0, p1"),
        (long(p1=0.5).drop(columns="example_id"), r"no column of example ids"),
        (long(p1=0.5).assign(y_true=2), r"the true ones \(2\) do not match"),
        (long(p1=0.5, evalset=["id"] * 20 + ["ood"]), r"'evalset' has 'id' and 'ood'"),
        (long(p1=0.5).iloc[:0], r"no rows"),
        (pd.DataFrame({"id": IDS}), r"no predictions"),
    ],
)
def test_a_mistake_is_named_with_its_column_and_row(table: pd.DataFrame, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        read(save(table, tmp_path / "p.csv"))


def test_a_small_file_of_many_runs_and_examples_is_refused_in_little_memory(tmp_path: Path) -> None:
    table = pd.DataFrame({"run": np.arange(200_000), "id": np.arange(200_000), "p1": 0.5})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=r"200,000 rows, but 200,000 runs .* and 200,000 examples: expected a row for"):
        read(save(table, tmp_path / "p.parquet"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**20


NO_TABLES = (
    *(("csv", text, "only column is 'id p1': put commas") for text in (b"id p1\nm0 0.5\n", b"id p1\n0 m0 0.5\n")),
    ("csv", b"id,p1,p2\nm0,0.5,0.5,0\n", "line 2: 4 fields, but the header on line 1 has 3"),
    ("json", b'[{"id": 1}]', r'to_json\(orient="split"\)'),
    (
        "csv",
        b"CN,no\nCCN,yes\nCO,no\nCS,no\n",
        "'no' among its rows, too, .* names of columns were missing: .* rename 'CN'",
    ),
    ("csv", b"by X\nid,p1\nm0,0.5\n", "line 2: 2 fields, .* remove what stands above the names of the"),
    ("csv", b"<datawarrior>\nid\tp1\nm0\t0.5\n", "it begins with <datawarrior"),
    ("csv", b"id,p1\n" + b"m" * 2**21 + b",0.5\n", "is a quote never closed"),
    *(
        (
            "jsonl",
            pd.DataFrame({"id": IDS, "y_true": Y}).to_json(orient="records", lines=lines).encode(),
            r"it begins with \[?{.*, as JSON",
        )
        for lines in (True, False)
    ),
    ("csv", b"PK\3\4\0", "damaged Excel workbook, or another archive"),
    ("csv.bz2", bz2.compress(b"id,p1\nm0,0.5"), "compressed by bzip2: save the table as CSV"),
    *((kind, text, r"p\.") for kind in ("csv", "parquet") for text in (b"", b"PAR1 nothing", b"a,b\n1,2,3\n")),
)


@pytest.mark.parametrize(("kind", "content", "message"), NO_TABLES, ids=map(str, range(len(NO_TABLES))))
def test_what_is_no_table_is_refused(kind: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / f"p.{kind}").write_bytes(content)
    with pytest.raises(UserError, match=message):
        read(tmp_path / f"p.{kind}")


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        *(("p.csv", lambda t, code=code: t.encode(code), "") for code in ("utf-8-sig", "utf-16", "utf-16-le")),
        ("p.txt", lambda t: t.encode("cp1252"), "text read as Windows-1252, as in 'm0é': else save as UTF-8"),
        ("p.csv", lambda t: ("# by X\n" + t).encode(), ""),
        ("p.csv", lambda t: gzip.compress(t.encode()), ""),
        ("p.csv.gz", str.encode, ""),
        ("p.xlsx", lambda t: workbook(pd.read_csv(StringIO(t))), ""),
    ],
)
def test_tables_of_predictions_are_read_in_every_form_that_tables_of_molecules_may_have(name, make, said, tmp_path):
    table = long(p1=P1.ravel()).replace({"example_id": {"m0": "m0é"}})
    (tmp_path / name).write_bytes(make(table.to_csv(index=False)))
    runs = read(tmp_path / name)
    np.testing.assert_allclose(runs.values[:, :, 1], P1, atol=1e-6)
    assert runs.columns == f"3 runs by train_seed; predictions: p1; truth: y_true{'; ' * bool(said)}{said}."


def test_a_table_is_read_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = model(y_true=TRUE, p1=CHANCE[0], note="x" * 100).to_csv(index=False)
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(text,))
    writer.start()
    assert len(read(tmp_path / "pipe").ids) == T
    writer.join()


def workbook(table: pd.DataFrame) -> bytes:
    content = BytesIO()
    table.to_excel(content, index=False)
    return content.getvalue()


def test_numbers_of_half_precision_are_read(tmp_path: Path) -> None:
    half = P1.astype(np.float16)
    runs = read(save(long(p1=half.ravel(), y_true=np.tile(Y, 3).astype(np.float16)), tmp_path / "p.parquet"))
    np.testing.assert_array_equal(runs.values[..., 1], half)
    np.testing.assert_array_equal(runs.y, Y)


def test_bytes_that_are_no_text_and_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"p\.parquet: .*the column 'y_pred': .*UTF8.*leave it out"):
        read(save(long(y_pred=b"\xff"), tmp_path / "p.parquet"))
    table = long(y_pred=1).astype({"y_pred": object})
    table["y_pred"] = [[1, 2]] * len(table)
    with pytest.raises(UserError, match=r"the column 'y_pred': it holds list<.*expected text or one number per row"):
        read(save(table, tmp_path / "p.parquet"))


def test_values_whose_squares_are_no_floats_are_refused(path: Path) -> None:
    table = pd.DataFrame({"id": IDS, "run1": 1.0, "run2": [1.0] * 6 + [-1e300]})
    with pytest.raises(UserError, match="example 'm6' has a value of -1e\\+300: expected values from -1e\\+100"):
        read(save(table, path), kind="values")


@pytest.mark.parametrize("form", ["predict_proba", "classes", "with truth", "from MLflow"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_what_libraries_predict_is_read_without_options(library: str, form: str, tmp_path: Path) -> None:
    x = np.stack([MARGIN[0], VALUES[0]], axis=1)
    classes, tables = [], []
    for seed in range(2):
        rows = np.random.default_rng(seed).integers(T, size=80)
        fitted = boosted(library, seed).fit(x[rows], TRUE[rows])
        classes.append(fitted.predict_proba(x).argmax(axis=1))
        if form == "from MLflow":
            tables.append(table_of("m", fitted.predict(x).tolist(), SMILES, None, T))
            continue
        if form == "classes":
            table = pd.DataFrame({"prediction": np.ravel(fitted.predict(x))}, index=SMILES)
        else:
            table = pd.DataFrame(fitted.predict_proba(x), columns=fitted.classes_, index=SMILES)
        if form == "with truth":
            table["target"] = TRUE
        table.to_csv(tmp_path / f"{seed}.csv")
        tables.append(files.read(tmp_path / f"{seed}.csv"))
    estimates = gate(*readers.read(tables), 1.0).estimates
    assert estimates["flips"].value == pytest.approx((classes[0] != classes[1]).mean())
    if form == "with truth":
        bad = (classes[0] == TRUE) & (classes[1] != TRUE)
        assert estimates["bad"].value == pytest.approx(bad.mean())


@pytest.mark.long
@pytest.mark.skipif(find_spec("chemprop") is None, reason="chemprop is not installed")
def test_what_chemprops_command_writes_is_read_with_the_file_of_assays(tmp_path: Path) -> None:
    smiles = ["C" * n + end for n in range(1, 11) for end in ("O", "N", "Cl", "Br")]
    save(pd.DataFrame({"smiles": smiles, "active": TRUE[:40], "mass": IC50[:40]}), tmp_path / "assays.csv")
    chemprop = [str(Path(sys.executable).parent / "chemprop")]
    small = ["--epochs", "3", "--num-workers", "0", "--ensemble-size", "2"]
    train = ["-i", "assays.csv", "--target-columns", "active", "-t", "classification", "-o", "model", "--pytorch-seed"]
    predict = ["-i", "assays.csv", "-s", "smiles", "--model-paths", "model", "--num-workers", "0", "-o"]
    for seed in ("1", "2"):
        for words in (["train", *train, seed, *small], ["predict", *predict, f"{seed}.csv"]):
            subprocess.run(chemprop + words, cwd=tmp_path, check=True, capture_output=True)
    paths = [tmp_path / f"{seed}.csv" for seed in (1, 2)]
    a, b = (pd.read_csv(path)["active"] > 0.5 for path in paths)
    runs = readers.read([files.read(path) for path in paths], Options(truth=tmp_path / "assays.csv"))
    assert gate(*runs, 1.0).estimates["flips"].value == pytest.approx((a != b).mean())
    assert (runs[0].y == TRUE[:40]).all()
    members = read(tmp_path / "1_individual.csv")
    assert members.columns.startswith("2 runs: active_model_0, active_model_1; truth: active; left out: mass")
    assert len(score(members).ranking) == 40
