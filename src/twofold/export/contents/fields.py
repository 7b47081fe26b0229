"""What an attribute may hold: small checks, from which `twofold.export.contents` builds its tables.

A *field* is a function of a value and a `Scope` that raises an `UnfitError` for other values. Names
in the shape of an array are *sizes*: all that have the same name in one object must be equal. So

    ``{"inputs_": floats("rows", "inputs"), "targets_": floats("rows", "outputs")}``

says that both arrays have the same number of rows. An object hands its sizes to the object that
holds it, see `a`. Sizes are at least 1, unless their name ends in a question mark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from twofold.protocols import AnyArray

FAR: Final = 1e150
"""Numbers that are not in units of the data are within this: their squares are finite."""

LARGEST: Final = float(np.finfo(np.float64).max)

MOST_WHOLE: Final = 2**62
"""Whole numbers are within this: they must fit into the integers of NumPy."""


class UnfitError(ValueError):
    """Raised for a value that an attribute does not take."""


@dataclass(frozen=True)
class Checked:
    """What is known of an object that was checked: its sizes, and whether it is fitted."""

    sizes: Mapping[str, int]
    is_fitted: bool


@dataclass(frozen=True)
class Scope:
    """The sizes found so far in one object; ``of`` returns what is known of another one."""

    of: Callable[[Any], Checked]
    sizes: dict[str, int] = field(default_factory=dict)

    def agree(self, name: str, size: int) -> None:
        """Note a size; raise an error if it is another one than before."""
        if size < 1 and not name.endswith("?"):
            raise UnfitError(f"has no {name}")
        found = self.sizes.setdefault(name, size)
        if found != size:
            raise UnfitError(f"has {size} {name.rstrip('?')} instead of {found}")

    def same(self, first: str, second: str) -> None:
        """Note that two sizes are equal, if one of them is known."""
        if first in self.sizes:
            self.agree(second, self.sizes[first])
        elif second in self.sizes:
            self.agree(first, self.sizes[second])


Field = Callable[[Any, Scope], None]


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise UnfitError(text)


def anything(value: Any, scope: Scope) -> None:
    """Take every value: parameters that only a new fit reads, which checks them itself."""


def none(value: Any, scope: Scope) -> None:
    """Take None."""
    _require(value is None, "is not None")


def flag(value: Any, scope: Scope) -> None:
    """Take True and False."""
    _require(isinstance(value, bool | np.bool_), "is not True or False")


def text(*choices: str) -> Field:
    """Take text, one of some choices if they are given."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, str), "is not text")
        _require(not choices or value in choices, f"is {str(value)[:40]!r}")

    return check


def number(
    *, low: float = -FAR, above: float = -math.inf, high: float = FAR, nan: bool = False
) -> Field:
    """Take a number within bounds; with ``nan`` every number."""

    def check(value: Any, scope: Scope) -> None:
        _require(_is_number(value), "is not a number")
        _require(nan or (low <= float(value) <= high and float(value) > above), f"is {value}")

    return check


figure: Final = number(nan=True)
"""A number for people, whatever its value."""

positive: Final = number(above=0.0)
NARROWEST: Final = 1e-100
WIDEST: Final = 1e300
width: Final = number(low=NARROWEST, high=WIDEST)
"""A bandwidth. A fit gives no narrower ones; very wide ones stand for infinity."""

amount: Final = number(low=-LARGEST, high=LARGEST)
"""A number in units of the data."""

positive_amount: Final = number(above=0.0, high=LARGEST)


def whole(low: int = -MOST_WHOLE, high: int = MOST_WHOLE) -> Field:
    """Take a whole number within bounds."""

    def check(value: Any, scope: Scope) -> None:
        _require(_is_whole(value), "is not a whole number")
        _require(low <= value <= high, f"is {str(value)[:40]}")

    return check


def count(name: str) -> Field:
    """Take a whole number that is a size."""

    def check(value: Any, scope: Scope) -> None:
        _require(_is_whole(value), "is not a whole number")
        scope.agree(name, int(value))

    return check


def factor(value: Any, scope: Scope) -> None:
    """Take a finite float that is not 0: the factor of all columns."""
    _require(isinstance(value, float) and math.isfinite(value) and value != 0.0, "is no factor")


def floats(
    *shape: str, low: float = -FAR, above: float = -math.inf, high: float = FAR, nan: bool = False
) -> Field:
    """Take an array of floats of this shape, within bounds; with ``nan`` of any floats."""

    def check(value: Any, scope: Scope) -> None:
        array = _array(value, "f")
        _require(array.dtype.itemsize in (4, 8) and array.dtype.isnative, "has an odd type")
        _shaped(array, shape, scope)
        if array.size and not nan:
            lowest, highest = float(array.min()), float(array.max())  # NaN if there is one
            _require(low <= lowest and highest <= high, "has values that are not in its range")
            _require(lowest > above, f"has values up to {above:g}")

    return check


def values(*shape: str, above: float = -math.inf) -> Field:
    """Take an array of finite floats of this shape, in units of the data."""
    return floats(*shape, low=-LARGEST, above=above, high=LARGEST)


def integers(*shape: str) -> Field:
    """Take an array of whole numbers of at least 0: the numbers of rows."""

    def check(value: Any, scope: Scope) -> None:
        array = _array(value, "iu")
        _shaped(array, shape, scope)
        _require(not array.size or bool(array.min() >= 0), "has numbers below 0")

    return check


def flags(*shape: str) -> Field:
    """Take an array of True and False."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(_array(value, "b"), shape, scope)

    return check


def texts(size: str) -> Field:
    """Take an array of text, as scikit-learn keeps names."""

    def check(value: Any, scope: Scope) -> None:
        array = _array(value, "OU")
        _shaped(array, (size,), scope)
        _require(all(isinstance(one, str) for one in array.tolist()), "is not text")

    return check


def labels(value: Any, scope: Scope) -> None:
    """Take an array of numbers or text with one dimension."""
    array = _array(value, "biufUO")
    _require(array.ndim == 1, "is not a list of labels")
    if array.dtype.kind == "O":
        texts("labels?")(value, scope)


def generator(value: Any, scope: Scope) -> None:
    """Take a random generator."""
    _require(isinstance(value, np.random.Generator), "is not a random generator")


def either(*fields: Field) -> Field:
    """Take what one of some fields takes; the error is that of the last."""

    def check(value: Any, scope: Scope) -> None:
        for one in fields[:-1]:
            before = dict(scope.sizes)
            try:
                one(value, scope)
            except UnfitError:
                scope.sizes.clear()
                scope.sizes.update(before)
            else:
                return
        fields[-1](value, scope)

    return check


def alone(one: Field) -> Field:
    """Take what a field takes, with sizes that nothing else shares."""

    def check(value: Any, scope: Scope) -> None:
        one(value, Scope(scope.of))

    return check


def optional(one: Field) -> Field:
    """Take None, or what a field takes."""
    return either(none, one)


def listed(one: Field) -> Field:
    """Take a list."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, list), "is not a list")
        for item in value:
            one(item, scope)

    return check


def tupled(one: Field, size: str) -> Field:
    """Take a tuple of this size."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, tuple), "is not a tuple")
        scope.agree(size, len(value))
        for item in value:
            one(item, scope)

    return check


def record(*fields: Field) -> Field:
    """Take a tuple of one value for each field."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, tuple) and len(value) == len(fields), "is another tuple")
        for one, item in zip(fields, value, strict=True):
            one(item, scope)

    return check


def several(*fields: Field) -> Field:
    """Take a list of one value for each field."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, list) and len(value) == len(fields), "is another list")
        for one, item in zip(fields, value, strict=True):
            one(item, scope)

    return check


def mapping(one: Field) -> Field:
    """Take a mapping of text to what a field takes."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, dict), "is not a mapping")
        for key, item in value.items():
            text()(key, scope)
            one(item, scope)

    return check


def keyed(fields: Mapping[str, Field], *, all_keys: bool = True) -> Field:
    """Take a mapping with some of these keys, or with all of them and no other."""

    def check(value: Any, scope: Scope) -> None:
        _require(isinstance(value, dict), "is not a mapping")
        known = set(value) == set(fields) if all_keys else set(value) <= set(fields)
        _require(known, "has other keys")
        for key, item in value.items():
            fields[key](item, scope)

    return check


def a(*names: str, **sizes: str) -> Field:
    """Take a fitted object of one of some classes.

    A keyword says which size here is a size there: ``a("RBFNetwork", inputs="latents")``. An object
    without sizes of its own, such as a factor of all columns, has as many inputs as outputs.
    """

    def check(value: Any, scope: Scope) -> None:
        _require(type(value).__name__ in names, f"is a {type(value).__name__}")
        theirs = scope.of(value)
        _require(theirs.is_fitted, "is not fitted")
        for there, here in sizes.items():
            if there in theirs.sizes:
                scope.agree(here, theirs.sizes[there])
        if {"inputs", "outputs"} <= set(sizes) - set(theirs.sizes):
            scope.same(sizes["inputs"], sizes["outputs"])

    return check


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number, and no complex or huge one."""
    if isinstance(value, float | np.floating):
        return True
    return _is_whole(value) and -MOST_WHOLE <= value <= MOST_WHOLE


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _array(value: Any, kinds: str) -> AnyArray:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value)
        raise UnfitError(f"is {getattr(kind, '__name__', kind)}")
    return value


def _shaped(array: AnyArray, shape: tuple[str, ...], scope: Scope) -> None:
    _require(array.ndim == len(shape), f"has {array.ndim} dimensions instead of {len(shape)}")
    for name, size in zip(shape, array.shape, strict=True):
        scope.agree(name, size)
