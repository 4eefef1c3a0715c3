"""The glossary has every term that the board and the commands show, and its links lead to terms."""

import re

from benchmark.files import CHECKOUT
from benchmark.types import SAMPLINGS
from leaderboard.tables.boards import MARKS, SUSPICIONS

PAGE = (CHECKOUT / "docs" / "glossary.md").read_text(encoding="utf-8")
_parts = re.split(r"^## (.+)$", PAGE, flags=re.M)
TERMS = {term: " ".join(text.split()) for term, text in zip(_parts[1::2], _parts[2::2], strict=True)}
CODE = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Terms of the code")[2]
CODE = CODE.partition("\n## ")[0]


def slug(term: str) -> str:
    return re.sub(r"[^\w\- ]", "", term.lower()).replace(" ", "-")


def test_every_link_leads_to_a_term():
    targets = re.findall(r"\]\(#([^)]+)\)", PAGE) + re.findall(r"\]\(glossary\.md#([^)]+)\)", CODE)
    assert len(targets) > 20
    assert {*targets} <= {*map(slug, TERMS)}


def test_every_sampling_mark_and_badge_is_a_term():
    named = {re.sub(r" \(.*\)", "", term).lower() for term in TERMS}
    assert {*SAMPLINGS, "collapsed", "control", *SUSPICIONS} <= named
    assert {"baseline", "verified", "self-reported", "yours"} <= named
    signs = {sign for term in TERMS for sign in re.findall(r"\((.)\)", term)}
    assert {sign[0] for sign in MARKS if not sign.isalpha()} <= signs
