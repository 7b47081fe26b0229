"""Results as JSON files with time, commit, versions and machine."""

import json
import math
from datetime import UTC, datetime

import numpy as np

from benchmarks.harness.machine import PACKAGES, commit, describe_machine, versions
from twofold.numerics.files import whole_file


def described(*packages):
    """Return time, commit, machine and the versions of the installed packages."""
    found = versions(["twofold", *PACKAGES, *packages])
    return {
        "started": now(),
        "commit": commit(),
        "versions": {name: version for name, version in found.items() if version},
        "machine": describe_machine(),
    }


def now():
    """Return date and time, to the second, in universal time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def as_json(value):
    """Return the same value in types that JSON has; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, list | tuple | range):
        return [as_json(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def write_text(path, text):
    """Write a file; an error or an interrupt leaves the old one."""
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path


def write_json(path, value):
    """Write a value as JSON; an error or an interrupt leaves the old file."""
    return write_text(path, json.dumps(as_json(value), indent=1, allow_nan=False) + "\n")
