"""Zip archives that need not be trusted: entries of bounded size, stored or deflated.

Sizes are checked before memory is allocated: that of an entry against what the document states, and
the bytes of all entries together against the size of the file.
"""

from __future__ import annotations

import errno
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from twofold.export.array_forms import Allowance
from twofold.export.errors import ModelFileError

EPOCH: Final = (1980, 1, 1, 0, 0, 0)


@contextmanager
def opened(
    path: str | os.PathLike[str] | io.BytesIO, name: str | None = None
) -> Iterator[zipfile.ZipFile]:
    """Open a file; errors then or while it is read name the file."""
    called = path if name is None else name
    if name is None and not isinstance(path, io.BytesIO):
        path = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive)
            yield archive
    except ModelFileError as error:
        raise ModelFileError(f"{called}: {error}.") from None
    except MemoryError:
        raise
    except Exception as error:
        # An error of the file system; EINVAL is that of a place outside the file.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL) and name is None:
            raise
        raise ModelFileError(f"{called}: not a model file, or a damaged one ({error}).") from error


def _check_sizes(archive: zipfile.ZipFile) -> None:
    """Raise an error if entries share bytes: then there could be any number of large ones."""
    entries, file = archive.infolist(), archive.fp
    assert file is not None
    if sum(entry.compress_size for entry in entries) > file.seek(0, os.SEEK_END):
        raise ModelFileError("its entries are larger than the file")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ModelFileError("it has two entries of one name")


def write(archive: zipfile.ZipFile, name: str, content: bytes, *, deflate: bool = False) -> None:
    """Write an entry, without the time of writing: the same model is the same file."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
    archive.writestr(entry, content)


def read(
    archive: zipfile.ZipFile, name: str, most: int, allowance: Allowance | None = None
) -> bytes:
    """Return an entry of at most so many bytes; deflated ones need an allowance."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise ModelFileError(f"{name} is missing") from None
    stored = entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size
    deflated = entry.compress_type == zipfile.ZIP_DEFLATED and allowance is not None
    if not (stored or deflated) or entry.file_size > most:
        raise ModelFileError(
            f"{name} is compressed or has {entry.file_size} bytes, at most {most} are expected"
        )
    if allowance is not None:
        allowance.take(entry.file_size)
    with archive.open(entry) as content:
        return content.read(entry.file_size + 1)  # stops there, whatever else it would inflate to
