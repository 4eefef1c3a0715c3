# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Churn of your own model
#
# Which predictions would change if the training set had been drawn again, and does another method change fewer? A
# random forest and a twin-bootstrap on a table of molecules; any scikit-learn estimator can take the forest's place.
#
#     python docs/your_own_model.py [TABLE.csv SMILES_COLUMN TARGET_COLUMN [RETRAININGS]]
#
# Without a table it takes the 1,058 molecules with measured blood-brain partition that the suite installs. It writes
# the list of molecules to look at beside the table.

# %%
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split

from benchmark import load_problem
from benchmark.data import readers
from benchmark.data.features import morgan
from benchmark.data.problem import plain
from benchmark.errors import UserError, did_you_mean
from benchmark.estimators import MethodClassifier, MethodRegressor, retrain
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate
from benchmark.types import Predictions, Task
from leaderboard import score

RETRAININGS = 10  # of each model; below three there is no interval
REVIEW = 0.1  # the share of molecules that you could measure or look at again

# %% [markdown]
# ## A table
# A column of SMILES and a column of classes (0 and 1, or words) or of numbers, of which more than ten differ. In a
# notebook, set `words` to name them, as in `["assays.csv", "SMILES", "active"]`.

# %%
words = [] if "ipykernel" in sys.modules else sys.argv[1:]  # in a notebook, they are its kernel's
path, smiles, target = Path("b3db_measured.csv"), "SMILES", "reaches_the_brain"
try:
    if words:
        if len(words) not in (3, 4):
            raise UserError(f"expected TABLE.csv SMILES_COLUMN TARGET_COLUMN [RETRAININGS], found {len(words)} words")
        path, smiles, target = Path(words[0]), words[1], words[2]
        if words[3:] and not (words[3].isdecimal() and int(words[3]) > 1):
            raise UserError(f"retrainings {words[3]!r}: expected a number of at least 2, as in 10")
        RETRAININGS = int((*words, RETRAININGS)[3])
    else:
        problem = load_problem("b3db_measured")
        parts = [problem.train, *problem.evals.values()]
        columns = {smiles: [part.smiles for part in parts], target: [part.y for part in parts]}
        pd.DataFrame({name: np.concatenate(values) for name, values in columns.items()}).to_csv(path, index=False)

    raw = readers.read(path.read_bytes(), str(path)).drop(columns=readers.LINE)
    for column in (smiles, target):
        if column not in raw:
            raise did_you_mean(f"column of {path}", column, list(raw))
    table = raw[~raw[[smiles, target]].isin(readers.MISSING).any(axis=1)]
    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(text) for text in table[smiles]]
    table = table[[molecule is not None for molecule in molecules]].copy()
    if table.empty:
        raise UserError(
            f"{path}: no row has both a SMILES that RDKit can parse in {smiles!r} and a value in {target!r}"
        )
    table[target] = plain(table[target].str.strip())
    rows = table[target].value_counts()  # of each class
    numeric = bool(np.isfinite(pd.to_numeric(table[target], errors="coerce")).all())
    task: Task = "regression" if numeric and len(rows) > 10 else "classification"
    if task == "classification" and (len(rows) < 2 or rows.min() < 10):
        raise UserError(
            f"{path}: column {target!r}: expected numbers, or two or more classes of at least 10 rows each, found "
            f"{len(rows)} different values, of which {rows.index[-1]!r} has {rows.min()} rows: leave rare classes out"
        )
except (UserError, OSError) as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)

X = morgan([molecule for molecule in molecules if molecule is not None], 2048, 2)
y = table[target].to_numpy(dtype=float if task == "regression" else str)
what = f"numbers from {y.min():g} to {y.max():g}" if task == "regression" else f"classes: {', '.join(np.unique(y))}"
print(f"{len(table)} molecules of {len(raw)} in {path}; {what}")

# %% [markdown]
# ## Retrainings
# A fifth of the molecules is held out. (Molecules that resemble the training set are easy: for a harder and more honest
# test, hold out whole scaffolds, as `churn new-dataset` does.)

# %%
of_classes = task == "classification"
train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y if of_classes else None)
seeds = tuple(range(1, RETRAININGS + 1))  # of the bootstraps, the same for both models
classes, truth = np.unique(y, return_inverse=True) if of_classes else (y[:0], y)
if of_classes:
    models = {"random forest": RandomForestClassifier(n_estimators=500), "twin": MethodClassifier("twin")}
else:
    models = {"random forest": RandomForestRegressor(n_estimators=200), "twin": MethodRegressor("twin")}
runs = {name: retrain(model, X[train], y[train], X[test], seeds) for name, model in models.items()}  # (R, T, C)

# %% [markdown]
# ## Churn
# The share of held-out molecules whose class differs between two retrainings, or the mean absolute difference of their
# numbers, averaged over all pairs. The intervals leave one retraining out at a time: pairs share retrainings and are
# not independent.


# %%
def shown(estimate: Estimate, unit: str = "%") -> str:
    scale, digits, unit = (100, 1, f" {unit}") if of_classes else (1, 3, "")
    value = f"{scale * estimate.value:5.{digits}f}{unit}"
    if np.isnan(estimate.low):  # all retrainings agree, or there are fewer than five molecules
        return f"{value} (no interval)"
    return f"{value} ({scale * estimate.low:.{digits}f} to {scale * estimate.high:.{digits}f})"


quality = QUALITY[task]
title = quality.title if quality.title.isupper() else quality.title.lower()
scores = {name: score(values if of_classes else values[..., 0], truth[test]) for name, values in runs.items()}
for name, found in scores.items():
    print(f"{name:>14}: {title} {shown(found.estimates[quality.key])}, churn {shown(found.churn)}")

# %% [markdown]
# ## The flip list
# The molecules on which retrainings differ most, for the model that you have; where that is equal, those that it is
# least sure of. `flips` is the share of pairs of retrainings whose class differs there, or the mean difference.

# %%
mine = scores["random forest"]
mean = runs["random forest"].mean(axis=0)
flip_list = pd.DataFrame(
    {
        smiles: table[smiles].to_numpy()[test],
        "predicted": classes[mean.argmax(axis=1)] if of_classes else mean[:, 0],
        "flips": mine.example_churn,
        "with the twin": scores["twin"].example_churn,
    }
).iloc[mine.ranking]
flip_list.to_csv(path.with_name(f"{path.stem}-flips.csv"), index=False, float_format="%.3f")
reviewed = flip_list.head(round(REVIEW * len(flip_list)))
fragile = int((flip_list["flips"] > 0).sum())
changed = f"{fragile} of {len(flip_list)} molecules changed their class at least once" if of_classes else "Differences"
print(f"\n{changed} with the random forest; the first:")
print(reviewed.head(10).to_string(index=False, float_format="{:.2f}".format))
share = reviewed["flips"].sum() / max(flip_list["flips"].sum(), 1e-12)
of_them = "flips" if of_classes else "differences"
print(
    f"Reviewing the first {REVIEW:.0%} covers {share:.0%} of these retrainings' {of_them}; of others', somewhat fewer."
)

# %% [markdown]
# ## The decision
# Both models saw the same bootstraps, so that their difference is taken pair by pair. Churn is worth lowering only
# where accuracy holds: a constant never churns.

# %%
twin, forest = (
    Predictions(seeds, test.astype(str), truth[test], runs[name], task) for name in ("twin", "random forest")
)
fewer = estimate(churn(task), [(twin, forest)])
better = estimate(quality, [(twin, forest)])
print(f"\nTwin less random forest: churn {shown(fewer, 'pp')}, {title} {shown(better, 'pp')}")
worse = better.high < 0 if of_classes else better.low > 0
if fewer.high < 0 and not worse:
    print("Decision: the twin. It has less churn, and no loss of accuracy can be seen.")
elif fewer.high < 0:
    print("Decision: yours. The twin has less churn and is less accurate; weigh one against the other.")
elif fewer.low > 0:
    print("Decision: the random forest. It has less churn.")
else:
    print("Decision: none yet. No interval of the difference in churn excludes 0; more retrainings narrow it.")
