"""``python -m twofold.reproduce.alone module:function``: arguments in by standard input, the result out, as JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from twofold.reproduce.machine import peak_gigabytes

__all__ = ["run_alone"]


def run_alone(place: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what a function of this package returns, and the peak memory."""
    module, _, name = place.partition(":")
    if module.split(".")[0] != "twofold":
        raise ValueError(f"{place!r} is not in this package.")
    found: dict[str, Any] = getattr(import_module(module), name)(**arguments)
    return found | {"peak_gb": peak_gigabytes()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_alone(sys.argv[1], json.load(sys.stdin))) + "\n")
