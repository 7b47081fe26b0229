"""Read tables from files of NumPy."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click
import numpy as np

from twofold.cli.errors import one_line
from twofold.cli.messages import Messages, listed, table_size
from twofold.cli.tables.reading import Source, Table, check_names, frame_of
from twofold.protocols import AnyArray

FEATURE_NAMES: Final = "feature_names"
"""The array of an NPZ file that names the columns of ``X``."""

DAMAGED: Final = (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Exceptions that NumPy raises for damaged or encrypted files."""


def read_arrays(source: Source, kind: str, messages: Messages) -> Table:
    """Read an NPY file, or the array ``X`` or the only array of two dimensions of an NPZ file.

    Arrays of an NPZ file with a value per row stand beside the table. Arrays of Python objects,
    as which labels are often saved, are skipped with a note.
    """
    arrays: dict[str, AnyArray] = {}
    with _numpy_file(source) as content:
        if isinstance(content, np.ndarray) != (kind == "npy"):
            holds = "several arrays; name it .npz" if kind == "npy" else "one array; name it .npy"
            raise click.ClickException(f"{source.name} holds {holds}")
        if isinstance(content, np.ndarray):
            return Table(source.name, frame_of(_checked(source.name, content)), named=False)
        for name in content.files:
            try:
                arrays[name] = content[name]
            except ValueError:
                if name == "X":
                    raise
                messages.note(
                    f"{source.name}: array {name} holds Python objects and is not read; save it as "
                    "numbers or with dtype=str"
                )
    flat = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" not in arrays and len(flat) != 1:
        which = f"several of two dimensions: {listed(flat)}" if flat else "none of two dimensions"
        raise click.ClickException(f"{source.name} has no array X, and {which}; name the table X")
    main = "X" if "X" in arrays else flat[0]
    X = _checked(f"{source.name}, array {main}", arrays.pop(main))
    given = arrays.pop(FEATURE_NAMES, np.empty(0))
    names = [str(one) for one in given] if given.shape == (X.shape[1],) else None
    check_names(source.name, names or [])
    aside = {one: values for one, values in arrays.items() if values.shape == (len(X),)}
    beside = f", beside it {listed(aside)}" if aside else ""
    messages.note(f"{source.name}: array {main}, {table_size(X.shape)}{beside}")
    return Table(source.name, frame_of(X, names), named=names is not None, aside=aside)


@contextmanager
def _numpy_file(source: Source) -> Iterator[AnyArray | np.lib.npyio.NpzFile]:
    """Open a NumPy file without unpickling; errors name the file and the remedy."""
    try:
        with source.open() as stream:
            yield np.load(stream, allow_pickle=False)
    except DAMAGED as error:
        reason = one_line(error)
        if "pickle" in reason:
            reason = "it has another format, or holds Python objects, which are not read"
        raise click.ClickException(
            f"{source.name} cannot be read as a NumPy file ({reason}); save it with numpy.save or "
            "numpy.savez"
        ) from error


def _checked(name: str, array: AnyArray) -> AnyArray:
    if array.ndim != 2:
        raise click.ClickException(
            f"{name} has shape {array.shape}; a table has two dimensions, (rows, columns): "
            "reshape it"
        )
    if array.dtype.kind not in "biuf":
        raise click.ClickException(f"{name} has type {array.dtype}; a table holds real numbers")
    return array
