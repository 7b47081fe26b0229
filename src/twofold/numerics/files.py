"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside the given one; at the end it replaces the given one.

    After an error or an interrupt the old file is unchanged, and no other file is left. The suffix
    is kept, since some writers choose the format by it.
    """
    target = Path(path).resolve()  # a link stays, and its target is replaced
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", os.fspath(path))
    # Not tempfile: only the owner may read its files.
    unfinished = target.with_name(f".{uuid4().hex}{target.suffix}")
    try:
        yield unfinished
        if target.exists():  # keep the permissions
            unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
