"""The font of the figures: matplotlib's DejaVu Sans, cut to the scripts in use.

A PDF embeds the glyphs that it uses. Finding them in the whole font, with its tables for all scripts, takes longer than
drawing the figure; in the cut font it takes a tenth of that.
"""

import atexit
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmark.files import kept, named, program

NAME = "DejaVu Sans cut"
WHOLE = "DejaVu Sans"
"""Shipped with matplotlib, hence the same everywhere; the fallback for glyphs missing from the cut font."""
BLOCKS = [(0x20, 0x17F), (0x370, 0x3FF), (0x2000, 0x22FF)]
"""Latin, Greek, and punctuation to mathematical operators."""


@cache
def families() -> tuple[str, str]:
    """Return the names of the fonts, in order of preference."""
    from matplotlib import font_manager

    name = named("font", [version("matplotlib"), program("leaderboard.figures")], ".ttf")
    folder = TemporaryDirectory(prefix="churn-font-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "cut.ttf"
    path.write_bytes(kept((name,), _cut)[0])
    font_manager.fontManager.addfont(path)
    return NAME, WHOLE


def _cut() -> tuple[bytes]:
    from fontTools import subset
    from matplotlib import font_manager

    options = subset.Options(layout_features=[], legacy_kern=True, notdef_outline=True)
    options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB", "MATH"]  # FontForge's dates and features no figure uses
    font = subset.load_font(font_manager.findfont(WHOLE), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in BLOCKS for code in range(first, last + 1)])
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 6, 16):  # family and full name, for matplotlib and for the PDF
            record.string = NAME.replace(" ", "") if record.nameID == 6 else NAME
    content = BytesIO()
    subset.save_font(font, content, options)
    font.close()
    return (content.getvalue(),)
