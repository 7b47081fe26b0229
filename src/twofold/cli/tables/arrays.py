"""Read tables from files of NumPy."""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any, Final

import click
import numpy as np

from twofold.cli.errors import one_line
from twofold.cli.messages import Messages, listed, table_size
from twofold.cli.tables.reading import (
    Source,
    Table,
    check_memory,
    check_names,
    frame_of,
    is_unicode,
)
from twofold.protocols import AnyArray

FEATURE_NAMES: Final = "feature_names"
"""The array of an NPZ file that names the columns of ``X``."""


def read_arrays(source: Source, kind: str, messages: Messages) -> Table:
    """Read an NPY file, or the array ``X`` or the only array of two dimensions of an NPZ file.

    Arrays of an NPZ file with a value per row stand beside the table. Arrays that cannot be read,
    such as those of Python objects, as which labels are often saved, are skipped with a warning.
    """
    with source.open() as stream:
        start = stream.read(len(np.lib.format.MAGIC_PREFIX))
        if kind == "npy" and start.startswith(b"PK"):
            raise click.ClickException(f"{source.name} holds several arrays; name it .npz")
        if kind == "npz" and start == np.lib.format.MAGIC_PREFIX:
            raise click.ClickException(f"{source.name} holds one array; name it .npy")
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if kind == "npy":
            X = _checked(source.name, _array(stream, size))
            return Table(source.name, frame_of(X), named=False)
        arrays = _arrays(source.name, stream, messages)
    flat = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" not in arrays and len(flat) != 1:
        which = f"several of two dimensions: {listed(flat)}" if flat else "none of two dimensions"
        raise click.ClickException(f"{source.name} has no array X, and {which}; name the table X")
    main = "X" if "X" in arrays else flat[0]
    X = _checked(f"{source.name}, array {main}", arrays.pop(main))
    names = _feature_names(source.name, arrays.pop(FEATURE_NAMES, None), X.shape[1])
    aside = {one: values for one, values in arrays.items() if values.shape == (len(X),)}
    beside = f", beside it {listed(aside)}" if aside else ""
    messages.note(f"{source.name}: array {main}, {table_size(X.shape)}{beside}")
    if other := [one for one in arrays if one not in aside]:
        messages.note(f"{source.name}: left out, not one value per row: {listed(other)}")
    return Table(source.name, frame_of(X, names), named=names is not None, aside=aside)


def _arrays(source: str, stream: Any, messages: Messages) -> dict[str, AnyArray]:
    """Return the arrays of an archive; those beside the table may fail with a warning."""
    arrays: dict[str, AnyArray] = {}
    with zipfile.ZipFile(stream) as archive:
        check_memory(source, sum(entry.file_size for entry in archive.infolist()))
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            try:
                with archive.open(entry) as content:
                    array = _array(content, entry.file_size)
                arrays[name] = array if name == "X" else _beside(array)
            except Exception as error:  # of zipfile, zlib and NumPy, which parses a line of Python
                if name in ("X", FEATURE_NAMES):
                    raise ValueError(f"array {name}: {one_line(error)}") from error
                messages.warning(f"{source}: array {name} is not read: {one_line(error)}")
    return arrays


def _array(stream: Any, n_bytes: int) -> AnyArray:
    """Read an array of at most so many bytes, after checking the size that it states."""
    version = np.lib.format.read_magic(stream)
    parts = np.lib.format
    read_header = parts.read_array_header_1_0 if version == (1, 0) else parts.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects; save it as numbers or with dtype=str")
    if any(type(side) is not int or side < 0 for side in shape):
        raise ValueError(f"its shape is {shape}")
    size, rest = math.prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    if size > rest:
        raise ValueError(f"it states {size} bytes and has {rest}; is it complete?")
    stream.seek(0)
    array: AnyArray = np.lib.format.read_array(stream, allow_pickle=False)
    return array.astype(dtype.newbyteorder("="), copy=False)  # as Arrow needs it


def _checked(name: str, array: AnyArray) -> AnyArray:
    if array.ndim != 2:
        raise click.ClickException(
            f"{name} has shape {array.shape}; a table has two dimensions, (rows, columns): "
            "reshape it"
        )
    if array.dtype.kind not in "biuf":
        raise click.ClickException(f"{name} has type {array.dtype}; a table holds real numbers")
    # Files of Arrow and frames have no wider floats.
    return array.astype(np.float64) if array.dtype.itemsize > 8 else array


def _beside(array: AnyArray) -> AnyArray:
    """Return an array that may hold names or labels: numbers, dates or text."""
    if array.dtype.kind not in "biufmMUS":
        raise ValueError(f"its type is {array.dtype}; save it as numbers or with dtype=str")
    texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    if texts.dtype.kind == "U" and not is_unicode("".join(texts.ravel().tolist())):
        raise ValueError("it has text that is not Unicode")
    return texts


def _feature_names(source: str, given: AnyArray | None, n_columns: int) -> list[str] | None:
    """Return the names of the columns, or None if the file has none."""
    if given is None:
        return None
    if given.dtype.kind != "U" or given.shape != (n_columns,):
        raise click.ClickException(
            f"{source}: array {FEATURE_NAMES} has shape {given.shape} and type {given.dtype}; it "
            f"must hold the names of the {n_columns} columns as text: save it with dtype=str"
        )
    names: list[str] = given.tolist()
    check_names(source, names)
    return names
