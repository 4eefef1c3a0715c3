"""Add the cells of a store to the published results of the board of pipelines.

Run it after ``churn run --grids leaderboard/pipelines.toml``, with the same tracking store. Published cells are kept,
and those of the store are added to them; what is published is not trained again.
"""

from benchmark.files import CHECKOUT
from benchmark.store.tracking import Store
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.write.published import write

FOLDER = CHECKOUT / "leaderboard" / "published" / "0.2.0"

if __name__ == "__main__":
    kept = published.read(FOLDER) if FOLDER.is_dir() else []
    known = {cell.key.digest for cell in kept}
    added = [cell for cell in Store().cells() if cell.key.digest not in known]
    write(collect([*kept, *added], str(FOLDER)), FOLDER, tables=False)
    print(f"{len(added)} cells added to {len(kept)}: {FOLDER}")
