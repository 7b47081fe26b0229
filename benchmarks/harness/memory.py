"""Memory of a process: its own peak, and the use of a process with everything it started."""

import os
import sys
from pathlib import Path


def start_counting():
    """Reset the peak and return the bytes in use now.

    Loading and converting data may take more memory than the data. Only Linux can reset the peak;
    other systems return the peak so far, and use below it is not seen.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status_bytes("VmRSS")
    except OSError:
        return peak_bytes()


def peak_bytes():
    """Return the peak of this process since :func:`start_counting`.

    ``ru_maxrss`` is the second choice: on Linux a child starts with the peak of its parent.
    """
    try:
        return _status_bytes("VmHWM")
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, kilobytes elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def session_bytes(leader):
    """Return the memory in use by the session of a process, or 0 where it cannot be read."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # The name is in parentheses and may hold spaces; the session is the fourth field after.
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                pages = int((process / "statm").read_text().split()[1])
                total += pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            continue  # it has ended since
    return total


def machine_bytes():
    """Return the memory of the machine, or None where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _status_bytes(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
