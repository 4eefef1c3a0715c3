"""The tables of the leaderboard, each one entry."""

from __future__ import annotations

from leaderboard.table import Table, Value

__all__ = ["Table", "Value"]
