"""Arrays as text that a browser unpacks: few bytes per number, deflated, in base64.

Pixels are multiples of some step (1, 1/255, 0.01, ...). Such arrays are stored as multiples, in one
or two bytes. All others are stored as float32, with an offset if they are far from zero and in a
unit if they exceed float32, or as float64 on request. Bytes of equal significance are stored
together, which deflates better.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twofold.protocols import AnyArray, Array

STEPS = (1.0, 0.5, 0.25, 1 / 16, 1 / 255, 1 / 256, 1e-1, 1e-2, 1e-3, 1e-4)
LARGEST_CODE = 65_535
LARGEST_WHOLE = 2.0**40
CLOSE = 1e-6  # allowed deviation from multiples of a step, as a share of the range
CLOSE_TO_STEP = 1e-3
FAR = 16.0  # arrays further than this many half ranges from zero get an offset
LARGEST_EXPONENT = 64  # numbers within these powers of two are stored in their own unit


@dataclass
class Packer:
    """Packed arrays, each stored once: ``texts`` are in base64, in the order of their numbers."""

    texts: list[str] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def pack(self, values: Any, *, exact: bool = False, by_column: bool = False) -> dict[str, Any]:
        """Pack finite numbers and return a record that the page needs to unpack them.

        With ``exact``, numbers that are not multiples of a step stay float64. With ``by_column``,
        each column has its own offset and step, for columns in different units.
        """
        array = np.asarray(values, dtype=np.float64)
        if by_column and array.size:
            return self._pack_columns(array)
        step, offset, codes = as_multiples(array)
        if codes is None and exact:
            codes = array
        if codes is None:
            step, offset = _unit_and_offset(array)
            codes = ((array - offset) / step).astype(np.float32)
        return self._record(codes, step, offset)

    def adopt(self, other: Packer) -> None:
        """Take over the arrays of a copy of this packer that has packed more."""
        self.texts, self._numbers = other.texts, other._numbers

    def pack_codes(self, codes: AnyArray, step: Any, offset: Any) -> dict[str, Any]:
        """Return the record of ``offset + step * codes``, for codes of one or two bytes."""
        return self._record(codes, step, offset)

    def _pack_columns(self, array: Array) -> dict[str, Any]:
        found = [as_multiples(column) for column in array.T]
        if all(codes is not None for _, _, codes in found):
            steps, offsets = [step for step, _, _ in found], [offset for _, offset, _ in found]
            codes = np.stack([codes for _, _, codes in found if codes is not None], axis=1)
        else:
            pairs = [_unit_and_offset(column) for column in array.T]
            steps, offsets = [step for step, _ in pairs], [offset for _, offset in pairs]
            codes = ((array - offsets) / steps).astype(np.float32)
        return self._record(codes, steps, offsets)

    def _record(self, codes: AnyArray, step: Any, offset: Any) -> dict[str, Any]:
        little = np.ascontiguousarray(codes.astype(codes.dtype.newbyteorder("<"), copy=False))
        planes = little.reshape(-1).view(np.uint8).reshape(-1, little.itemsize).T
        deflated = zlib.compress(planes.tobytes(), 9)
        key = (codes.dtype.name, deflated)
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append(b64encode(deflated).decode("ascii"))
        return {
            "array": self._numbers[key],
            "type": codes.dtype.name,
            "shape": list(codes.shape),
            "step": step,
            "offset": offset,
        }


def as_multiples(array: Array) -> tuple[float, float, AnyArray | None]:
    """Return step, offset and codes with ``array = offset + step * codes``, or no codes."""
    if not array.size:
        return 1.0, 0.0, None
    low, high = float(array.min()), float(array.max())
    if not max(abs(low), abs(high)) < LARGEST_WHOLE:
        return 1.0, 0.0, None
    some = array.reshape(-1)[:2_000]
    for step in STEPS:
        if (high - low) / step > LARGEST_CODE:
            continue
        # A few numbers first: most arrays fail there.
        if all(_is_multiple(part - low, step, high - low) for part in (some, array)):
            codes = np.rint((array - low) / step)
            small = codes.max() <= np.iinfo(np.uint8).max
            return step, low, codes.astype(np.uint8 if small else np.uint16)
    return 1.0, 0.0, None


def _is_multiple(differences: Array, step: float, extent: float) -> bool:
    off = np.abs(differences - step * np.rint(differences / step)).max()
    return bool(off <= min(CLOSE * extent, CLOSE_TO_STEP * step))


def _unit_and_offset(array: Array) -> tuple[float, float]:
    """Return what keeps float32 from losing digits, or from overflow: 1 and 0 for most arrays."""
    low, high = float(array.min(initial=np.inf)), float(array.max(initial=-np.inf))
    if not low < high:
        return 1.0, (low if array.size else 0.0)
    largest = max(abs(low), abs(high))
    offset = low if largest > FAR * (0.5 * high - 0.5 * low) else 0.0
    largest = max(abs(low - offset), abs(high - offset))
    exponent = int(np.frexp(largest)[1])
    return (1.0 if abs(exponent) < LARGEST_EXPONENT else 2.0 ** (exponent - 1)), offset
