"""Memory: what is free, and a refusal before too much of it is asked for."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory", "check_memory_for"]


def check_memory_for(who: str, needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError if something will not fit into memory, before it is allocated.

    Parameters
    ----------
    who : str
        Who needs it, for the message.
    needed : float
        Bytes.
    what : str
        What it is needed for.
    remedy : str
        What to do instead: a sentence.
    """
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{who} needs about {needed / 1e9:.1f} GB for {what}; {available / 1e9:.1f} GB are free. {remedy}"
        )


def available_memory() -> float:
    """Return the bytes that can be had without swapping: free ones, and caches that can be given up."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return 1024.0 * float(fields["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass  # not on this system
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8e9
