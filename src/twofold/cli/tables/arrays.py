"""Tables from NumPy's files: one array, or an archive with ``X`` and what stands beside it."""

from __future__ import annotations

import zipfile
import zlib

import click
import numpy as np

from twofold.cli.errors import one_line
from twofold.cli.tables.sources import Source
from twofold.cli.tables.table import Table, check_names, frame_of
from twofold.cli.talk import Talk
from twofold.cli.words import listed, table_size
from twofold.protocols import AnyArray

__all__ = ["NAMES", "read_npy", "read_npz"]

UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    RuntimeError,  # encrypted
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What damaged files raise."""

NAMES = "feature_names"
"""The array of an NPZ that names the columns of ``X``."""

NUMBERS = "biuf"


def read_npy(source: Source, talk: Talk) -> Table:
    """Read a table of numbers without names."""
    array = _load(source, talk)
    if isinstance(array, dict):
        raise click.ClickException(f"{source.name} holds several arrays; name it .npz")
    return Table(source.name, frame_of(_checked(source.name, array)), named=False)


def read_npz(source: Source, talk: Talk) -> Table:
    """Read the array ``X``, or the only one of two dimensions; arrays of one value a row stand aside."""
    arrays = _load(source, talk)
    if not isinstance(arrays, dict):
        raise click.ClickException(f"{source.name} holds a single array; name it .npy")
    name = _main_array(source.name, arrays)
    X = _checked(f"{source.name}, array {name}", arrays.pop(name))
    names = arrays.pop(NAMES, None)
    named = names is not None and names.shape == (X.shape[1],)
    columns = [str(one) for one in np.asarray(names)] if named else None
    check_names(source.name, columns or [])
    aside = {one: values for one, values in arrays.items() if values.shape == (len(X),)}
    beside = f", beside it {listed(aside)}" if aside else ""
    talk.note(f"{source.name}: array {name}, {table_size(X.shape)}{beside}")
    return Table(source.name, frame_of(X, columns), named=named, aside=aside)


def _load(source: Source, talk: Talk) -> AnyArray | dict[str, AnyArray]:
    """Return the array of a file, or its arrays by name; nothing in it is run.

    Labels are often saved as Python objects; they are no reason to refuse the table beside them.
    """
    try:
        with source.open() as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            arrays = {}
            for name in loaded.files:
                try:
                    arrays[name] = loaded[name]
                except ValueError:
                    if name == "X":
                        raise
                    talk.note(
                        f"{source.name}: array {name} holds Python objects and is not read; save it as numbers or with dtype=str"
                    )
            return arrays
    except UNREADABLE as error:
        raise click.ClickException(_unreadable(source.name, error)) from error


def _unreadable(name: str, error: Exception) -> str:
    reason = one_line(error)
    if "pickle" in reason:
        reason = "it is none, or holds Python objects, which are not read"
    return f"{name} cannot be read as a file of NumPy ({reason}); save it with numpy.save or numpy.savez"


def _main_array(source: str, arrays: dict[str, AnyArray]) -> str:
    if "X" in arrays:
        return "X"
    flat = [name for name, array in arrays.items() if array.ndim == 2]
    if len(flat) == 1:
        return flat[0]
    which = f"several of two dimensions: {listed(flat)}" if flat else "none of two dimensions"
    raise click.ClickException(f"{source} has no array X, and {which}; name the table X")


def _checked(name: str, array: AnyArray) -> AnyArray:
    if array.ndim != 2:
        raise click.ClickException(
            f"{name} has shape {array.shape}; a table has two dimensions, (rows, columns): reshape it"
        )
    if array.dtype.kind not in NUMBERS:
        raise click.ClickException(f"{name} has type {array.dtype}; a table holds real numbers")
    return array
