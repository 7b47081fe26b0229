"""Results as JSON files with time, commit, versions and machine."""

import json
from datetime import UTC, datetime

from benchmarks.harness.machine import PACKAGES, commit, describe_machine, versions
from twofold.cli.measurement import as_json
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


def write_text(path, text):
    """Write a file; an error or an interrupt leaves the old one."""
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path


def write_json(path, value):
    """Write a value as JSON; an error or an interrupt leaves the old file."""
    return write_text(path, json.dumps(as_json(value), indent=1, allow_nan=False) + "\n")
