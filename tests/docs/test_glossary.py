"""The glossary has every term that the board and the commands show."""

import re

from benchmark.files import CHECKOUT
from benchmark.types import SAMPLINGS
from leaderboard.tables.boards import MARKS, SUSPICIONS

TERMS = re.findall(r"^## (.+)$", (CHECKOUT / "docs" / "glossary.md").read_text(encoding="utf-8"), flags=re.M)


def test_every_sampling_mark_and_badge_is_a_term():
    named = {re.sub(r" \(.*\)", "", term).lower() for term in TERMS}
    assert {*SAMPLINGS, "collapsed", "control", *SUSPICIONS} <= named
    assert {"baseline", "verified", "self-reported", "yours"} <= named
    signs = {sign for term in TERMS for sign in re.findall(r"\((.)\)", term)}
    assert {sign[0] for sign in MARKS if not sign.isalpha()} <= signs
