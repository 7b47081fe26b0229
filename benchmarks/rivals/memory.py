"""How much memory a process has used: its own peak, and that of a process with all it started."""

import os
import resource
import sys
from pathlib import Path

PAGE = resource.getpagesize()


def start_counting():
    """Forget the peak so far and return the bytes in use now.

    Loading and converting data may have taken more than what stays. Where the system cannot forget (all but
    Linux), the peak so far is returned, and what is used up to it is not seen.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status_bytes("VmRSS")
    except OSError:
        return peak_bytes()


def peak_bytes():
    """Return the peak of this process since :func:`start_counting`."""
    try:
        return _status_bytes("VmHWM")
    except OSError:
        # Bytes on macOS, kilobytes elsewhere.
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def session_bytes(leader):
    """Return the memory in use by the session of a process, or 0 where that cannot be read."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # The name stands in parentheses and may hold spaces; the session is the fourth after it.
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                total += int((process / "statm").read_text().split()[1]) * PAGE
        except (OSError, ValueError, IndexError):
            continue  # it has ended since
    return total


def machine_bytes():
    """Return the memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _status_bytes(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
