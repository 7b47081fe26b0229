"""The available memory, and an error before too much of it is allocated."""

from __future__ import annotations

import os
from pathlib import Path


def check_memory_for(who: str, needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError if ``needed`` bytes exceed the available memory.

    The message says who needs them for what, and ends with the remedy, a sentence.
    """
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{who} needs about {needed / 1e9:.1f} GB for {what}; {available / 1e9:.1f} GB are "
            f"free. {remedy}"
        )


def available_memory() -> float:
    """Return the bytes available without swapping: free memory and reclaimable caches."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return 1024.0 * float(fields["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass  # not Linux
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8e9
