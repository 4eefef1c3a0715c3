"""Add the cells of a store to ``leaderboard/pipelines``, the results of version 0.2.0 as far as they are computed.

Run it after ``churn run --grids leaderboard/pipelines.toml``, with the same tracking store. The cells in the
folder are kept, and are not trained again.
"""

from benchmark.files import CHECKOUT
from benchmark.store.tracking import Store
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.write.published import write

FOLDER = CHECKOUT / "leaderboard" / "pipelines"

if __name__ == "__main__":
    kept = published.read(FOLDER) if FOLDER.is_dir() else []
    known = {cell.key.digest for cell in kept}
    added = [cell for cell in Store().cells() if cell.key.digest not in known]
    write(collect([*kept, *added], str(FOLDER)), FOLDER, tables=False)
    print(f"{len(added)} cells added to {len(kept)}: {FOLDER}")
