"""Where a table comes from, and which format it has."""

from __future__ import annotations

import gzip
import io
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, Final, cast

import click

__all__ = ["FORMATS", "STANDARD", "Source", "format_of"]

STANDARD: Final = "-"
"""Stands for standard input, or standard output."""

FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
}
"""Formats by the suffix of a file."""


@dataclass(frozen=True)
class Source:
    """A file, or what came through a pipe.

    Parameters
    ----------
    name : str
        What people call it.
    path : Path or None
        The file, where it can be opened more than once.
    content : bytes
        What came through a pipe.
    """

    name: str
    path: Path | None = None
    content: bytes = b""

    @classmethod
    def of(cls, text: str) -> Source:
        """Return the source that an argument names."""
        if text == STANDARD:
            return cls("standard input", content=sys.stdin.buffer.read())
        path = Path(text)
        if path.is_dir():
            raise click.ClickException(f"{text} is a folder; name a file in it")
        if path.exists() and not path.is_file():  # a pipe: it can be read once
            return cls(text, content=path.read_bytes())
        if not path.exists():
            raise click.ClickException(f"{text}: no such file{_nearest(path)}")
        return cls(text, path)

    def open(self) -> BinaryIO:
        """Return the bytes as a stream, from their beginning."""
        if self.path is None:
            return io.BytesIO(self.content)
        if self.path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(self.path))
        return self.path.open("rb")

    def size(self) -> int:
        """Return the number of bytes that come out."""
        with self.open() as stream:
            return stream.seek(0, io.SEEK_END)

    def format(self, given: str | None) -> str:
        """Return the format: the one that was given, or by the name."""
        if given is not None:
            return given
        if self.path is None:
            return "csv"
        return format_of(self.path, "--format")


def format_of(path: Path, option: str, *, compressed: bool = True) -> str:
    """Return the format that a file's name says.

    Parameters
    ----------
    path : Path
        The file.
    option : str
        What to use where the name says nothing.
    compressed : bool, default=True
        Whether ``.csv.gz`` and ``.tsv.gz`` will do.
    """
    suffix = path.suffix.lower()
    if suffix == ".gz" and compressed:
        inner = FORMATS.get(Path(path.stem).suffix.lower())
        if inner in ("csv", "tsv"):
            return inner
    if suffix not in FORMATS:
        said = f"the suffix {path.suffix}" if path.suffix else "no suffix"
        raise click.UsageError(
            f"{path} has {said}; tables have {', '.join(FORMATS)}: rename it, or say {option} csv"
        )
    return FORMATS[suffix]


def _nearest(path: Path) -> str:
    """Return a hint at a file of nearly the same name in the same folder."""
    folder = path.parent
    if not folder.is_dir():
        return f", and no folder {folder}"
    close = get_close_matches(path.name, [one.name for one in folder.iterdir()], n=1, cutoff=0.7)
    return f"; did you mean {folder / close[0]}?" if close else ""
