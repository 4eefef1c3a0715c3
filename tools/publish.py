"""Add the cells of a store to the published results of the next version, before it is released.

Run it after ``churn run --grids leaderboard/pipelines.toml``, with the same tracking store. The cells in the
folder are kept, and are not trained again. Cells with fewer train seeds, on which ``study transfer`` chooses settings,
stay in the store. ``churn build`` makes the tables of single datasets, which are not kept.
"""

import sys

from benchmark.store.tracking import Store
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.write import cited
from leaderboard.write.published import write

SEEDS = 10

if __name__ == "__main__":
    folder = published.PUBLISHED
    if folder in cited.versions():
        sys.exit(f"{folder.name} is released: copy it to the next version, and name that in benchmark/files.py")
    kept = published.read(folder)
    known = {cell.key.digest for cell in kept}
    new = (cell for cell in Store().cells() if cell.key.digest not in known)
    added = [cell for cell in new if len(cell.key.seeds) == SEEDS]
    write(collect([*kept, *added], str(folder)), folder, complete=False)
    print(f"{len(added)} cells added to {len(kept)}: {folder}")
