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
# random forest and a twin-bootstrap on a table of molecules; any scikit-learn classifier can take the forest's place.
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
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmark import load_problem
from benchmark.data import readers
from benchmark.data.features import morgan
from benchmark.data.problem import plain
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.types import Predictions
from leaderboard import score
from leaderboard.stats.intervals import Estimate
from leaderboard.tables.columns import estimate
from methods import TwinBootstrapClassifier, retrain

RETRAININGS = 10  # of each model; below three there is no interval
REVIEW = 0.1  # the share of molecules that you could measure or look at again

# %% [markdown]
# ## A table
# A column of SMILES and a column of classes: 0 and 1, or words. In a notebook, set `words`
# to name them, as in `["assays.csv", "SMILES", "active"]`.

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
    if len(rows) < 2 or rows.min() < 10:
        raise UserError(
            f"{path}: column {target!r}: expected two or more classes of at least 10 rows each, found {len(rows)} "
            f"different values, of which {rows.index[-1]!r} has {rows.min()} rows: leave rare classes out; numbers are "
            "for python -m benchmark new-dataset"
        )
except (UserError, OSError) as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)

X = morgan([molecule for molecule in molecules if molecule is not None], 2048, 2)
y = table[target].to_numpy(dtype=str)
print(f"{len(table)} molecules of {len(raw)} in {path}; classes: {', '.join(map(str, np.unique(y)))}")

# %% [markdown]
# ## Retrainings
# A fifth of the molecules is held out. (Molecules that resemble the training set are easy: for a harder and more honest
# test, hold out whole scaffolds, as `python -m benchmark new-dataset` does.)

# %%
train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
seeds = tuple(range(1, RETRAININGS + 1))  # of the bootstraps, the same for both models
classes, truth = np.unique(y, return_inverse=True)
models = {"random forest": RandomForestClassifier(n_estimators=500), "twin": TwinBootstrapClassifier()}
runs = {name: retrain(model, X[train], y[train], X[test], seeds) for name, model in models.items()}  # (R, T, C)

# %% [markdown]
# ## Churn
# The share of held-out molecules whose class differs between two retrainings, averaged over all pairs of them. The
# intervals leave one retraining out at a time: pairs share retrainings and are not independent.


# %%
def percent(estimate: Estimate, unit: str = "%") -> str:
    value = f"{100 * estimate.value:5.1f} {unit}"
    if np.isnan(estimate.low):  # all retrainings agree, or there are fewer than five molecules
        return f"{value} (no interval)"
    return f"{value} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


scores = {name: score(values, truth[test]) for name, values in runs.items()}
for name, found in scores.items():
    print(f"{name:>14}: accuracy {percent(found.estimates['accuracy'])}, churn {percent(found.churn)}")

# %% [markdown]
# ## The flip list
# The molecules whose class most retrainings dispute, for the model that you have; where that is equal, those that it is
# least sure of. `flips` is the share of pairs of retrainings that differ there.

# %%
mine = scores["random forest"]
flip_list = pd.DataFrame(
    {
        smiles: table[smiles].to_numpy()[test],
        "predicted": classes[runs["random forest"].mean(axis=0).argmax(axis=1)],
        "flips": mine.example_churn,
        "with the twin": scores["twin"].example_churn,
    }
).iloc[mine.ranking]
flip_list.to_csv(path.with_name(f"{path.stem}-flips.csv"), index=False, float_format="%.3f")
reviewed = flip_list.head(round(REVIEW * len(flip_list)))
fragile = int((flip_list["flips"] > 0).sum())
print(f"\n{fragile} of {len(flip_list)} molecules changed their class at least once with the random forest; the first:")
print(reviewed.head(10).to_string(index=False, float_format="{:.2f}".format))
share = reviewed["flips"].sum() / max(flip_list["flips"].sum(), 1e-12)
print(f"Reviewing the first {REVIEW:.0%} covers {share:.0%} of these retrainings' flips; of others', somewhat fewer.")

# %% [markdown]
# ## The decision
# Both models saw the same bootstraps, so that their difference is taken pair by pair. Churn is worth lowering only
# where accuracy holds: a constant never churns.

# %%
twin, forest = (
    Predictions(seeds, test.astype(str), truth[test], runs[name], "classification")
    for name in ("twin", "random forest")
)
fewer = estimate(CHURN, [(twin, forest)])
better = estimate(ACCURACY, [(twin, forest)])
print(f"\nTwin less random forest: churn {percent(fewer, 'pp')}, accuracy {percent(better, 'pp')}")
if fewer.high < 0 and better.high >= 0:
    print("Decision: the twin. It changes fewer predictions, and no loss of accuracy can be seen.")
elif fewer.high < 0:
    print("Decision: yours. The twin changes fewer predictions and is less accurate; weigh one against the other.")
elif fewer.low > 0:
    print("Decision: the random forest. It changes fewer predictions.")
else:
    print("Decision: none yet. No interval of the difference in churn excludes 0; more retrainings narrow it.")
