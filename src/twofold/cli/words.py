"""Names and numbers in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["counted", "did_you_mean", "listed", "table_size"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest of the known names, or all of them where none is near."""
    known = list(known)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"there are {listed(known, 30)}"


def counted(number: int, what: str) -> str:
    """Return a number of things, in the plural unless it is one."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Return names in a row, the first of them where there are many."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def table_size(shape: tuple[int, int]) -> str:
    """Return how many rows and columns a table has."""
    return f"{counted(shape[0], 'row')} of {counted(shape[1], 'column')}"
