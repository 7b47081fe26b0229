"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside the given one, to be written to; at the end it takes the place of the given one.

    After an error or an interrupt the old file is there as it was, and no other. The suffix is kept, since some writers choose the
    format by it.
    """
    target = Path(path).resolve()  # a link stays one: what it leads to is replaced
    # Not tempfile: its files may be read by their owner alone.
    unfinished = target.with_name(f".{uuid4().hex}{target.suffix}")
    try:
        yield unfinished
        if target.exists():  # who may read the old file may read the new one
            unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
