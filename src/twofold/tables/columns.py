r"""How each kind of column is encoded: to one unit, and back to valid values.

Every column gets about the same weight in distances between rows:

* a number has a robust variance of 1 (`twofold.tables.numbers`), so have dates, in days;
* a category with levels of shares :math:`p_k` is a block of indicators divided by
  :math:`\sqrt{\sum_k p_k (1 - p_k)}`, which has the total variance 1 however many levels it has.
  A boolean is a category with two levels;
* an ordered category is one column of scores with variance 1: the mid-ranks of its levels.

A column encodes the plain values of `twofold.tables.cells`, and decodes to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from twofold.protocols import AnyArray, Array
from twofold.tables.cells import Level, Storage, level_label

LARGEST_LOG = 700.0
"""Exponents are limited to this, so that numbers stay finite."""

PLACES = 2.0**30
"""Encoded numbers are multiples of one over this, which is some nine decimals.

Further digits depend on the unit of the column. A fit amplifies them: grams and kilograms would
lead to different maps that are equally good.
"""


@dataclass(frozen=True)
class Column:
    """A column of the frame, or a group of one-hot columns.

    Attributes
    ----------
    name : str
        Its name; the common beginning of the names of a one-hot group.
    kind : str
        "number", "log", "category", "ordered", "boolean", "date", "constant" or "empty".
    native : str
        The natural kind of its cells, see `twofold.tables.cells`.
    storage : Storage
        How the frame stores it.
    cell_levels : tuple
        The levels that plain values count, of natural kinds with levels.
    members : tuple of str
        The names of the columns of a one-hot group.
    member_storages : tuple of Storage
        How the frame stores the columns of a one-hot group.
    """

    name: str
    kind: str
    native: str
    storage: Storage
    cell_levels: tuple[Level, ...] = ()
    members: tuple[str, ...] = ()
    member_storages: tuple[Storage, ...] = ()

    width: ClassVar[int]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the levels, as text; none for numbers."""
        return ()

    @property
    def flat_names(self) -> list[str]:
        """The names of its encoded columns."""
        return [self.name]

    def encode(self, values: Array) -> Array:
        """Return plain values (n,) as encoded columns (n, width); gaps are NaN."""
        raise NotImplementedError

    def decode(self, encoded: Array) -> Array:
        """Return encoded columns (n, width) as valid plain values (n,)."""
        raise NotImplementedError

    def known(self, values: Array) -> AnyArray:
        """Return whether each plain value can be encoded; gaps can."""
        return np.ones(len(values), dtype=bool)

    def deviations(self, encoded: Array, spread: Array) -> Array:
        """Return the uncertainty (n,) of decoded values with this spread (n, width)."""
        raise NotImplementedError


@dataclass(frozen=True)
class FixedColumn(Column):
    """A column with one value, or with none: it carries no weight and is given back as it was.

    Attributes
    ----------
    value : float
        The plain value; NaN for a column without any value.
    """

    value: float = np.nan
    width: ClassVar[int] = 0

    @property
    def flat_names(self) -> list[str]:
        """The names of its encoded columns: none."""
        return []

    def encode(self, values: Array) -> Array:
        """Return no columns."""
        return np.empty((len(values), 0))

    def decode(self, encoded: Array) -> Array:
        """Return the value in each row."""
        return np.full(len(encoded), self.value)

    def deviations(self, encoded: Array, spread: Array) -> Array:  # noqa: ARG002
        """Return 0: the value is the same in all rows."""
        return np.zeros(len(encoded))


@dataclass(frozen=True)
class NumberColumn(Column):
    """A number, on its own scale or on a log scale, or a date in days.

    Attributes
    ----------
    center, scale : float
        The encoded column is the number minus ``center``, over ``scale``.
    log : bool
        Whether the logarithm is taken first, of the number plus ``offset``.
    offset : float
        Added before the logarithm.
    floor : float
        The smallest number plus offset of which the logarithm is taken.
    step : float
        Decoded values are multiples of this; 0 for any value.
    in_text : bool
        Whether the frame stores the dates as text.
    """

    center: float = 0.0
    scale: float = 1.0
    log: bool = False
    offset: float = 0.0
    floor: float = 0.0
    step: float = 0.0
    in_text: bool = False
    width: ClassVar[int] = 1

    def encode(self, values: Array) -> Array:
        """Return the numbers (n,) in units of the column (n, 1)."""
        if self.log:
            values = np.log(np.maximum(values + self.offset, self.floor))
        encoded = (values - self.center) / self.scale
        fine = np.abs(encoded) < PLACES  # further out there are no digits to round
        with np.errstate(over="ignore"):
            return np.where(fine, np.rint(encoded * PLACES) / PLACES, encoded)[:, None]

    def decode(self, encoded: Array) -> Array:
        """Return the numbers."""
        values = encoded[:, 0] * self.scale + self.center
        if self.log:
            exponents = np.clip(values, -LARGEST_LOG, LARGEST_LOG)
            values = np.maximum(np.exp(exponents) - self.offset, 0.0)
        return np.rint(values / self.step) * self.step if self.step else values

    def deviations(self, encoded: Array, spread: Array) -> Array:
        """Return standard deviations in the unit of the column; of logarithms to first order."""
        found: Array = spread[:, 0] * self.scale
        if self.log:
            exponents = encoded[:, 0] * self.scale + self.center
            found = found * np.exp(np.clip(exponents, -LARGEST_LOG, LARGEST_LOG))
        return found


@dataclass(frozen=True)
class CategoryColumn(Column):
    """A category or boolean: a block of indicators with total variance 1.

    Attributes
    ----------
    levels : tuple
        The levels seen in the fit.
    points : ndarray of shape (n_levels,)
        Their plain values, ascending.
    shares : ndarray of shape (n_levels,)
        How often each was seen.
    scale : float
        The root of the block's variance before scaling.
    """

    levels: tuple[Level, ...] = ()
    points: Array = field(default_factory=lambda: np.empty(0))
    shares: Array = field(default_factory=lambda: np.empty(0))
    scale: float = 1.0

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of its encoded columns."""
        return len(self.levels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the levels, as text."""
        return tuple(level_label(level) for level in self.levels)

    @property
    def flat_names(self) -> list[str]:
        """The names of its encoded columns: column and level."""
        return [f"{self.name}={label}" for label in self.labels]

    def known(self, values: Array) -> AnyArray:
        """Return whether each value was seen in the fit, or is a gap."""
        return np.isnan(values) | np.isin(values, self.points)

    def encode(self, values: Array) -> Array:
        """Return the indicators (n, n_levels) in units of the column; unknown values are gaps."""
        block: Array = ((values[:, None] == self.points) - self.shares) / self.scale
        block[~self.known(values) | np.isnan(values)] = np.nan
        return block

    def probabilities(self, encoded: Array) -> Array:
        """Return the probabilities (n, n_levels) of the levels."""
        return normalized(encoded * self.scale + self.shares, self.shares)

    def decode(self, encoded: Array) -> Array:
        """Return the most probable level."""
        values: Array = self.points[np.argmax(self.probabilities(encoded), axis=1)]
        return values

    def deviations(self, encoded: Array, spread: Array) -> Array:  # noqa: ARG002
        """Return one minus the probability of the decoded level."""
        chances: Array = self.probabilities(encoded).max(axis=1)
        return 1.0 - chances


@dataclass(frozen=True)
class OrderedColumn(Column):
    """An ordered category: one column of scores, the mid-ranks of its levels.

    Attributes
    ----------
    levels : tuple
        All levels, in order.
    points : ndarray of shape (n_levels,)
        Their plain values.
    scores : ndarray of shape (n_levels,)
        Their mid-ranks, between 0 and 1.
    seen : ndarray of shape (n_levels,)
        Whether each was seen in the fit. Others are encoded between their neighbors, and never
        decoded.
    center, scale : float
        Mean and standard deviation of the scores in the fit.
    """

    levels: tuple[Level, ...] = ()
    points: Array = field(default_factory=lambda: np.empty(0))
    scores: Array = field(default_factory=lambda: np.empty(0))
    seen: AnyArray = field(default_factory=lambda: np.empty(0, dtype=bool))
    center: float = 0.0
    scale: float = 1.0
    width: ClassVar[int] = 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the levels, as text."""
        return tuple(level_label(level) for level in self.levels)

    def known(self, values: Array) -> AnyArray:
        """Return whether each value is a level or a gap."""
        return np.isnan(values) | np.isin(values, self.points)

    def encode(self, values: Array) -> Array:
        """Return the scores (n, 1) in units of the column; unknown values are gaps."""
        hits = values[:, None] == self.points
        scores = np.where(hits.any(axis=1), self.scores[hits.argmax(axis=1)], np.nan)
        return ((scores - self.center) / self.scale)[:, None]

    def decode(self, encoded: Array) -> Array:
        """Return the nearest of the levels seen in the fit."""
        values: Array = self.points[self.seen][self._nearest(encoded)]
        return values

    def _nearest(self, encoded: Array) -> AnyArray:
        scores = encoded[:, 0] * self.scale + self.center
        edges = np.convolve(self.scores[self.seen], [0.5, 0.5], mode="valid")
        return np.searchsorted(edges, scores)

    def probabilities(self, encoded: Array) -> Array:
        """Return probabilities (n, n_levels) of levels, whose mean score is the decoded score."""
        scores, steps = encoded[:, 0] * self.scale + self.center, self.scores[self.seen]
        upper = np.clip(np.searchsorted(steps, scores), 1, len(steps) - 1)
        share = (scores - steps[upper - 1]) / (steps[upper] - steps[upper - 1])
        share = np.clip(share, 0.0, 1.0)
        rows, places = np.arange(len(scores)), np.flatnonzero(self.seen)
        found = np.zeros((len(scores), len(self.levels)))
        found[rows, places[upper - 1]] = 1.0 - share
        found[rows, places[upper]] = share
        return found

    def deviations(self, encoded: Array, spread: Array) -> Array:
        """Return one minus the probability of the decoded level, for normal errors of scores."""
        scores = encoded[:, 0] * self.scale + self.center
        edges = np.convolve(self.scores[self.seen], [0.5, 0.5], mode="valid")
        low, high = np.r_[-np.inf, edges], np.r_[edges, np.inf]
        nearest, width = self._nearest(encoded), spread[:, 0] * self.scale
        width = np.maximum(width, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            inside: Array = ndtr((high[nearest] - scores) / width) - ndtr(
                (low[nearest] - scores) / width
            )
        return 1.0 - inside


def normalized(shares: Array, fallback: Array) -> Array:
    """Return shares (n, k) as probabilities; rows without a positive one are ``fallback``."""
    positive = np.clip(shares, 0.0, None)
    total = positive.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(total > 0.0, positive / np.where(total > 0.0, total, 1.0), fallback)
