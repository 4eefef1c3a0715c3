"""Print the table on the page on deployment: what the stability of served models promises."""

import numpy as np

from benchmark.data.spec import as_written, dataset_names
from leaderboard.read import published

specs = map(as_written, dataset_names())  # those of the paper and of its filter alone
names = [spec.name for spec in specs if spec.task == "classification" and spec.group != "wide"]
found = {"erm": [], "twin": []}
for cell in published.shipped(datasets=names):
    key, p = cell.key, cell.predictions["id"]
    if (key.canonical_seed, key.sampling) != (99, "paper"):
        continue
    if (key.method, dict(key.params)) not in (("erm", {}), ("twin", {"lam": 300.0, "members": 2})):
        continue
    classes, counts = p.values.argmax(axis=-1), []
    for answer in range(10):
        for new in set(range(10)) - {answer}:
            others = [run for run in range(10) if run not in (answer, new)]
            stability = (classes[others] == classes[answer]).mean(axis=0)
            flips, wrong = classes[new] != classes[answer], classes[answer] != p.y
            stable, unstable = stability == 1, stability <= 0.5
            parts = (flips, wrong, stable, flips & stable, wrong & stable, flips & unstable, unstable)
            counts.append([part.mean() for part in parts])
    flips, wrong, stable, stable_flips, stable_wrong, unstable_flips, unstable = np.mean(counts, axis=0)
    found[key.method].append(
        (flips, wrong, stable, stable_flips / stable, stable_wrong / stable, unstable_flips / unstable)
    )
for method, datasets in found.items():
    for name, shares in zip(("least", "median", "most"), np.percentile(datasets, [0, 50, 100], axis=0), strict=True):
        print(f"| {method} | {name} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
