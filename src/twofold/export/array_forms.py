"""The arrays of a model file: their forms without loss, smaller than NumPy's own format.

A file has a list of arrays. Each is described by the digests and sizes of its entries and by its
*form*:

``plain``
    NumPy's format (``.npy``).
``planes``
    The same with the bytes of all items grouped by their place: first bytes, second bytes, and so
    on. Deflation then finds the zeros of whole numbers and of values in single precision, and the
    similar exponents of others.
``levels``
    Floats whose columns have few distinct values: whole numbers, gray values, indicators, in any
    unit and around any center. Each column stores its values once, as they are, and one code of one
    or two bytes for each row. Columns of many values are kept beside them. A table of
    60,000 x 784 gray values in double precision takes a fortieth of its size.
``same``
    A copy of an earlier array.

All forms give back every bit, and the order of an array in memory, by which matrix products round.

Entries may be deflated. A few bytes can then stand for many, so a reader has an `Allowance`: what
a file unpacks to, in all forms together, is bounded by a multiple of its size. Sizes are subtracted
before memory is allocated. The writer keeps within the same bound and deflates fewer entries if a
model is more regular than that.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from twofold.export.documents import as_npy, from_npy, header_of_npy
from twofold.export.errors import ModelFileError
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import AnyArray

FREE_BYTES: Final = 2**26
MOST_RATIO: Final = 100
"""A file may unpack to this many bytes for each of its own, and to `FREE_BYTES` more."""

SMALLEST: Final = 1024
"""Bytes from which on an array is worth another form than the plain one."""

FEWEST_ROWS: Final = 32
FEWEST_REPEATS: Final = 2
"""Rows for each distinct value of a column from which on codes are shorter than values."""

SAMPLE: Final = 2_048
MOST_DISTINCT: Final = 0.98
"""A column of more distinct values in a sample has too many in all."""

LEAST_GAIN: Final = 0.75
"""A form is used if it takes at most this share of the plain one."""

CHUNK, N_CHUNKS = 2**14, 16
"""Bytes from which the gain of deflation is estimated."""

CODES: Final = (np.uint8, np.uint16)
Order = Literal["C", "F"]


@dataclass
class Allowance:
    """The bytes that the arrays of a file may still take in memory."""

    left: int

    @classmethod
    def of_file(cls, n_bytes: int) -> Allowance:
        """Return the allowance of a file of this size."""
        return cls(FREE_BYTES + MOST_RATIO * n_bytes)

    def take(self, n_bytes: int) -> None:
        """Subtract bytes that are about to be allocated."""
        self.left -= n_bytes
        if self.left < 0:
            raise ModelFileError(
                f"its arrays unpack to more than {MOST_RATIO} times the size of the file"
            )


@dataclass
class Packed:
    """The arrays of a file to be written.

    Attributes
    ----------
    listed : list of dict
        What the document says of each array.
    entries : list of (str, bytes, bool)
        Names and contents of entries, and whether to deflate them.
    unpacked : int
        What a reader's `Allowance` has to cover.
    """

    listed: list[dict[str, Any]] = field(default_factory=list)
    entries: list[tuple[str, bytes, bool]] = field(default_factory=list)
    unpacked: int = 0

    @classmethod
    def of(cls, arrays: list[AnyArray], *, compact: bool = True) -> Packed:
        """Choose a form for each array; without ``compact`` all are plain."""
        made = cls()
        earlier: dict[tuple[Any, ...], list[int]] = {}
        for number, array in enumerate(arrays):
            if not compact:
                made._add(number, array, deflate=False)
                continue
            alike = earlier.setdefault((array.dtype.str, array.shape, _order(array)), [])
            found = next((one for one in alike if _same_bytes(arrays[one], array)), None)
            if found is not None and array.nbytes >= SMALLEST:
                made.listed.append({"form": "same", "as": found})
                made.unpacked += array.nbytes
                continue
            alike.append(number)
            made._add(number, array, deflate=True)
        return made

    def _add(self, number: int, array: AnyArray, *, deflate: bool) -> None:
        parts = _levels(array) if deflate else None
        if parts is None:
            self.listed.append(self._entry(str(number), array, deflate))
            return
        facts = [
            self._entry(f"{number}-{place}", part, deflate) for place, part in enumerate(parts)
        ]
        self.unpacked += array.nbytes
        form = {"form": "levels", "shape": list(array.shape), "order": _order(array)}
        self.listed.append({**form, "parts": facts})

    def _entry(self, name: str, array: AnyArray, deflate: bool) -> dict[str, Any]:
        payload, facts = as_npy(array), dict[str, Any]()
        deflate = deflate and array.nbytes >= SMALLEST
        if deflate and array.dtype.itemsize > 1 and array.dtype.kind in "iufc":
            planes = _split(payload, len(payload) - array.nbytes, array.dtype.itemsize)
            if deflate := _is_worth_deflating(planes):
                payload, facts["form"] = planes, "planes"
        elif deflate:
            deflate = _is_worth_deflating(payload)
        self.entries.append((f"{name}.npy", payload, deflate))
        self.unpacked += 2 * len(payload) if "form" in facts else len(payload)
        return {**facts, "sha256": digest(payload), "bytes": len(payload)}

    def deflate_less(self) -> bool:
        """Leave the largest deflated entry as it is; tell whether there was one."""
        deflated = [place for place, entry in enumerate(self.entries) if entry[2]]
        if not deflated:
            return False
        largest = max(deflated, key=lambda place: len(self.entries[place][1]))
        self.entries[largest] = (*self.entries[largest][:2], False)
        return True


class Unpacking:
    """Makes the arrays of a list that need not be trusted.

    ``read`` returns the content of an entry, by name and stated size. Files of a ``plain_only``
    format have no other form.
    """

    def __init__(
        self, read: Callable[[str, int], bytes], allowance: Allowance, *, plain_only: bool
    ) -> None:
        self._read = read
        self._allowance = allowance
        self._forms = ("plain",) if plain_only else ("plain", "planes", "levels", "same")

    def arrays(self, listed: Any) -> list[AnyArray]:
        """Return all arrays of a list."""
        if not isinstance(listed, list):
            raise ModelFileError("the list of arrays is missing")
        found: list[AnyArray] = []
        for number, facts in enumerate(listed):
            try:
                found.append(self._array(str(number), facts, found))
            except (TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
                if isinstance(error, ModelFileError):
                    raise
                raise ModelFileError(f"array {number} cannot be read ({error})") from None
        return found

    def _array(self, name: str, facts: Any, earlier: list[AnyArray]) -> AnyArray:
        form = facts.get("form", "plain") if isinstance(facts, dict) else None
        if form not in self._forms:
            raise ModelFileError(f"array {name} is not described")
        if form == "same":
            return self._copy(facts.get("as"), earlier)
        if form == "levels":
            return self._from_levels(name, facts)
        return self._from_entry(name, facts, str(form))

    def _copy(self, number: Any, earlier: list[AnyArray]) -> AnyArray:
        if type(number) is not int or not 0 <= number < len(earlier):
            raise ValueError("there is no such array before it")
        self._allowance.take(earlier[number].nbytes)
        return earlier[number].copy(order="K")

    def _from_entry(self, name: str, facts: dict[str, Any], form: str) -> AnyArray:
        if type(facts.get("bytes")) is not int:
            raise ModelFileError(f"array {name} is not described")
        payload = self._read(f"{name}.npy", facts["bytes"])
        if digest(payload) != facts.get("sha256"):
            raise ModelFileError(f"the digest of array {name} does not match: the file is damaged")
        if form == "planes":
            self._allowance.take(len(payload))
            start, _, dtype = header_of_npy(payload)
            payload = _joined(payload, start, dtype.itemsize)
        return from_npy(payload)

    def _from_levels(self, name: str, facts: dict[str, Any]) -> AnyArray:
        listed, shape = facts.get("parts"), facts.get("shape")
        if not isinstance(listed, list) or len(listed) != N_PARTS or not isinstance(shape, list):
            raise ModelFileError(f"array {name} is not described")
        parts = []
        for place, one in enumerate(listed):
            form = one.get("form", "plain") if isinstance(one, dict) else None
            if form not in ("plain", "planes"):
                raise ModelFileError(f"part {place} of array {name} is not described")
            parts.append(self._from_entry(f"{name}-{place}", one, str(form)))
        return _from_levels(shape, facts.get("order"), parts, self._allowance)


def digest(content: bytes) -> str:
    """Return the digest of an entry."""
    return hashlib.sha256(content).hexdigest()


# Planes


def _split(payload: bytes, start: int, itemsize: int) -> bytes:
    """Group the bytes of the items by their place."""
    items = np.frombuffer(payload, dtype=np.uint8, offset=start).reshape(-1, itemsize)
    return payload[:start] + np.ascontiguousarray(items.T).tobytes()


def _joined(payload: bytes, start: int, itemsize: int) -> bytes:
    """Put the bytes of each item together again."""
    if (len(payload) - start) % itemsize:
        raise ValueError("its size is not the stated one")
    planes = np.frombuffer(payload, dtype=np.uint8, offset=start).reshape(itemsize, -1)
    return payload[:start] + np.ascontiguousarray(planes.T).tobytes()


def _is_worth_deflating(payload: bytes) -> bool:
    """Estimate from some of its chunks whether an entry shrinks."""
    step = max(CHUNK, len(payload) // N_CHUNKS)
    some = b"".join(payload[at : at + CHUNK] for at in range(0, len(payload), step))
    return len(zlib.compress(some)) <= 0.95 * len(some)


# Levels

N_PARTS: Final = 5
"""Numbers of levels of the columns, levels, codes of one byte and of two bytes, other columns."""


def _levels(array: AnyArray) -> list[AnyArray] | None:
    """Return the parts of an array of floats with few distinct values in its columns, or None."""
    itemsize = array.dtype.itemsize
    if array.dtype.kind != "f" or not array.dtype.isnative or itemsize not in (4, 8):
        return None
    if array.ndim not in (1, 2) or len(array) < FEWEST_ROWS or array.nbytes < SMALLEST:
        return None
    order, n_rows = _order(array), len(array)
    values = np.asarray(array.reshape(n_rows, -1, order=order), order=order)
    words = values.view(f"u{itemsize}")  # all bits count: -0.0 is not 0.0
    found = map_blocks(lambda column: _distinct(words[:, column]), range(words.shape[1]))
    counts = np.array([0 if one is None else len(one) for one in found], dtype=np.int32)
    size = float(itemsize * counts.sum())
    size += n_rows * float(np.select([counts == 0, counts <= 256], [itemsize, 1], 2).sum())
    if size > LEAST_GAIN * array.nbytes:
        return None
    parts = [counts, np.concatenate([one for one in found if one is not None]).view(array.dtype)]
    for columns, dtype in zip(_kinds_of_columns(counts), CODES, strict=False):
        codes = np.empty((n_rows, len(columns)), dtype=dtype, order=order)

        def work(place: int, columns: AnyArray = columns, codes: AnyArray = codes) -> None:
            column = columns[place]
            codes[:, place] = np.searchsorted(found[column], words[:, column])

        map_blocks(work, range(len(columns)))
        parts.append(codes)
    parts.append(np.asarray(values[:, counts == 0], order=order))
    return parts


def _distinct(words: AnyArray) -> AnyArray | None:
    """Return the distinct values of a column, ascending; None if they are too many for codes."""
    some = words[:: max(1, len(words) // SAMPLE)]
    if len(np.unique(some)) > MOST_DISTINCT * len(some):
        return None
    found: AnyArray = np.unique(words)
    return found if len(found) <= min(2**16, len(words) // FEWEST_REPEATS) else None


def _kinds_of_columns(counts: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the numbers of the columns with codes of one byte, of two bytes, and without codes."""
    small = (counts > 0) & (counts <= 256)
    large = counts > 256
    return np.flatnonzero(small), np.flatnonzero(large), np.flatnonzero(counts == 0)


def _from_levels(
    shape: list[Any], order: Any, parts: list[AnyArray], allowance: Allowance
) -> AnyArray:
    """Return the array of these parts, which need not be trusted."""
    counts, levels, *codes, rest = parts
    if len(shape) not in (1, 2) or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"its shape is {str(shape)[:80]}")
    if order not in ("C", "F"):
        raise ValueError(f"its order is {str(order)[:40]}")
    n_rows, n_columns = shape[0], math.prod(shape[1:])
    if not n_rows or not n_columns:  # without values any number of rows would take no bytes
        raise ValueError(f"its shape is {str(shape)[:80]}, without values")
    if levels.dtype.kind != "f" or levels.ndim != 1 or rest.dtype != levels.dtype:
        raise ValueError("its levels are not floats")
    if counts.dtype != np.int32 or counts.shape != (n_columns,) or (counts < 0).any():
        raise ValueError("its columns are not described")
    if int(counts.sum(dtype=np.int64)) != len(levels):
        raise ValueError("it has not the stated number of levels")
    *kinds, others = _kinds_of_columns(counts)
    starts = np.cumsum(counts, dtype=np.int64) - counts
    for columns, one, dtype in zip(kinds, codes, CODES, strict=True):
        if one.dtype != dtype or one.shape != (n_rows, len(columns)):
            raise ValueError("its codes have another shape")
        if one.size and (one.max(axis=0) >= counts[columns]).any():
            raise ValueError("it has codes without a level")
    if rest.shape != (n_rows, len(others)):
        raise ValueError("its other columns have another shape")
    allowance.take(n_rows * n_columns * levels.dtype.itemsize)
    made = np.empty((n_rows, n_columns), dtype=levels.dtype, order=order)

    def work(rows: slice) -> None:
        for columns, one in zip(kinds, codes, strict=True):
            if len(columns):
                made[rows, _compact(columns)] = levels[one[rows] + starts[columns]]
        if len(others):
            made[rows, _compact(others)] = rest[rows]

    map_blocks(work, row_blocks(n_rows, 24 * max(1, n_columns)))
    return made.reshape(shape, order=order)


def _compact(columns: AnyArray) -> AnyArray | slice:
    """Return a slice for neighboring columns, into which NumPy writes faster."""
    first, last = int(columns[0]), int(columns[-1])
    return slice(first, last + 1) if last - first + 1 == len(columns) else columns


def _order(array: AnyArray) -> Order:
    """Return the order in memory, as NumPy's format keeps it."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _same_bytes(first: AnyArray, second: AnyArray) -> bool:
    """Tell whether two arrays of one type and shape are equal in every bit."""
    order = _order(first)
    ours, theirs = (np.asarray(one, order=order).ravel(order="K") for one in (first, second))
    return ours.tobytes() == theirs.tobytes() if ours.dtype.kind in "US" else _equal(ours, theirs)


def _equal(first: AnyArray, second: AnyArray) -> bool:
    return bool(np.array_equal(first.view(np.uint8), second.view(np.uint8)))
