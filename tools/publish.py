"""Add the cells of a store to the published results, which are those of version 0.2.0 until it is released.

Run it after ``churn run --grids leaderboard/pipelines.toml``, with the same tracking store. The cells in the
folder are kept, and are not trained again. Cells with fewer train seeds, on which ``study transfer`` chooses settings,
stay in the store. Tables of single datasets wait for the release (``churn export``).
"""

from benchmark.store.tracking import Store
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.write.published import write

SEEDS = 10

if __name__ == "__main__":
    folder = published.PUBLISHED
    kept = published.read(folder)
    known = {cell.key.digest for cell in kept}
    new = (cell for cell in Store().cells() if cell.key.digest not in known)
    added = [cell for cell in new if len(cell.key.seeds) == SEEDS]
    write(collect([*kept, *added], str(folder)), folder, of_datasets=False)
    print(f"{len(added)} cells added to {len(kept)}: {folder}")
