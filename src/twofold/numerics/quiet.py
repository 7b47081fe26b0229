"""Silence for parts of a fit whose warnings say nothing to users.

``warnings.catch_warnings`` saves and restores a list of the process. If threads enter and leave it
out of order, the list ends in the wrong state. Here the first to enter silences, and the last to
leave restores, whichever threads they are, also after an interrupt.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_users = 0
_caught: Any = None


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore all warnings inside."""
    global _caught, _users  # noqa: PLW0603 - the state of the process
    with _lock:
        if _users == 0:
            _caught = warnings.catch_warnings()
            _caught.__enter__()
            warnings.simplefilter("ignore")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _caught.__exit__(None, None, None)
                _caught = None
