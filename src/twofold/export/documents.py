"""JSON documents and arrays that need not be trusted: what a model file is made of.

Sizes are checked before memory is allocated: the number of values of a document before it is
parsed, the size of an array against its header.
"""

from __future__ import annotations

import io
import json
import math
from typing import Any, Final

import numpy as np

from twofold.export.errors import ModelFileError
from twofold.protocols import AnyArray

KINDS: Final = "biufcUS"
"""Kinds of arrays that a file may hold."""

MOST_VALUES: Final = 4 * 10**6
"""Values of a document: each takes some hundred bytes of memory."""

HEADERS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def parsed(text: bytes) -> Any:
    """Return the values of a JSON document.

    Raises
    ------
    ModelFileError
        If it is no such document, has too many values, has a key twice, or has text or numbers that
        cannot be written again.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ModelFileError(f"model.json has more than {MOST_VALUES} values")
    try:
        document = json.loads(
            text, object_pairs_hook=_mapping, parse_float=_number, parse_constant=_constant
        )
        if b"\\u" in text:  # half a pair of surrogates
            json.dumps(document, ensure_ascii=False).encode()
    except (RecursionError, ValueError) as error:
        raise ModelFileError(f"model.json cannot be read ({error})") from None
    return document


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a key twice")
    return found


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]} is too large")
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def as_npy(array: AnyArray) -> bytes:
    """Return an array in NumPy's own format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def header_of_npy(payload: bytes) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    """Return where the values of an array in NumPy's format begin, its shape and its type.

    Raises
    ------
    ValueError
        If it is none, has other values than numbers and text, or has not the stated size.
    """
    buffer = io.BytesIO(payload)
    read_header = HEADERS.get(np.lib.format.read_magic(buffer))
    if read_header is None:
        raise ValueError("its version is unknown")
    try:
        shape, _, dtype = read_header(buffer)
    except Exception as error:  # noqa: BLE001 - NumPy evaluates the header as a Python literal
        raise ValueError(f"its header is none ({error})") from None
    if dtype.kind not in KINDS or not dtype.itemsize:
        raise ValueError(f"its type is {dtype}")
    if not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"its shape is {shape}")
    if math.prod(shape) * dtype.itemsize != len(payload) - buffer.tell():
        raise ValueError("its size is not the stated one")
    return buffer.tell(), shape, dtype


def from_npy(payload: bytes) -> AnyArray:
    """Return an array of NumPy's own format.

    Raises
    ------
    ValueError
        As `header_of_npy`.
    """
    header_of_npy(payload)
    array: AnyArray = np.lib.format.read_array(io.BytesIO(payload), allow_pickle=False)
    return array
