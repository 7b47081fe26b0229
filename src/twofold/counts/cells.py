"""The cells of a table of counts, dense or sparse, in one form.

A dense table has all its cells, a sparse one those that are stored. Sums, checks and maps of single
cells, which keep zeros, are the same for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from twofold.protocols import AnyArray, Array

CellMap = Callable[[Array, Array], Array]
"""A map of cells, given a number for the row of each."""

MOST_CELLS = 2**22
"""Cells that are worked on at a time, in double precision."""

SMALLEST_SHARE = 1e-12
"""Sums over columns of a smaller share say nothing about the rest; also guards the division."""


@dataclass(frozen=True)
class Cells:
    """The cells of an array, or of a CSR or CSC matrix without duplicates.

    Attributes
    ----------
    table : ndarray or sparse matrix of shape (n, D)
        The table, in single or double precision.
    """

    table: Any

    @classmethod
    def of(cls, table: Any) -> Cells:
        """Return the cells of a table; stored duplicates of a sparse one are added up."""
        if issparse(table) and not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        return cls(table)

    @property
    def values(self) -> AnyArray:
        """The values: an array (n, D), or those stored (nnz,)."""
        return np.asarray(self.table.data if issparse(self.table) else self.table)

    def place(self, wrong: AnyArray) -> tuple[int, int]:
        """Return the row and column of the first cell that a mask of the values marks."""
        if not issparse(self.table):
            row, column = np.argwhere(wrong)[0]
            return int(row), int(column)
        number = int(np.argmax(wrong))
        line = int(np.searchsorted(self.table.indptr, number, side="right")) - 1
        across = int(self.table.indices[number])
        return (line, across) if self.table.format == "csr" else (across, line)

    def check_bounded(self) -> None:
        """Raise an error if a value is infinite."""
        infinite = np.isinf(self.values)
        if infinite.any():
            row, column = self.place(infinite)
            raise ValueError(f"Input X contains infinity, first in row {row}, column {column}.")

    def check(self) -> None:
        """Raise an error if a value is infinite or negative."""
        self.check_bounded()
        negative = self.values < 0.0
        if negative.any():
            row, column = self.place(negative)
            value = self.values[negative].ravel()[0]
            raise ValueError(
                f"Negative values in data passed to LogCounts: {value:.6g} in row {row}, column "
                f"{column}, {int(negative.sum())} in all. Counts are at least 0: pass the counts "
                "themselves, before logarithms, centering or scaling."
            )

    def column_shares(self) -> Array:
        """Return the share (D,) of each column in all counts; gaps count like their column's mean.

        Columns have equal shares if nothing was counted.
        """
        n_rows, n_columns = self.table.shape
        observed, gaps = self._without_gaps()
        seen = n_rows - self._gaps_of_columns(gaps)
        means = self._sums(observed, axis=0) / np.maximum(seen, 1)
        largest = means.max(initial=0.0)
        if not largest > 0.0:
            return np.full(n_columns, 1.0 / n_columns)
        _check_range(means, "column")
        relative = means / largest
        shares: Array = relative / relative.sum()
        return shares

    def row_sums(self, shares: Array, total: float = 1.0) -> Array:
        """Return the sum (n,) of each row; with gaps, over the share of its observed columns.

        The shares of all columns of the table add up to ``total``.
        """
        observed, gaps = self._without_gaps()
        sums = self._sums(observed, axis=1)
        if gaps is not None or total < 1.0:
            missing = 0.0 if gaps is None else self._missing_shares(gaps, shares)
            seen = total - missing
            with np.errstate(over="ignore"):
                scaled = sums / np.maximum(seen, SMALLEST_SHARE)
            sums = np.where(seen < 1.0, scaled, sums)
        _check_range(sums, "row")
        return sums

    def mapped(self, function: CellMap, of_rows: Array) -> Any:
        """Return the table with each cell mapped, given a number (n,) for each row.

        The function maps zeros to zeros. The result has the type and format of the table.
        """
        if not issparse(self.table):
            result = np.empty_like(self.table, order="C", subok=False)
            step = max(1, MOST_CELLS // max(1, self.table.shape[1]))
            for start in range(0, len(result), step):
                part = slice(start, start + step)
                values = self.table[part].astype(np.float64)
                result[part] = function(values, of_rows[part, None])
            return result
        made = self.table.copy()  # with its own indices: sorting them must not touch the input's
        for part in self._parts():
            values = made.data[part].astype(np.float64)
            made.data[part] = function(values, of_rows[self._rows(part)])
        return made

    def _parts(self) -> list[slice]:
        """Return slices of the stored values, of few values each."""
        n_values = len(self.table.data)
        return [slice(k, min(k + MOST_CELLS, n_values)) for k in range(0, n_values, MOST_CELLS)]

    def _rows(self, part: slice) -> AnyArray:
        """Return the row of each stored value of a part."""
        return self._across(part) if self.table.format == "csc" else self._along(part)

    def _columns(self, part: slice) -> AnyArray:
        """Return the column of each stored value of a part."""
        return self._across(part) if self.table.format == "csr" else self._along(part)

    def _across(self, part: slice) -> AnyArray:
        return np.asarray(self.table.indices[part])

    def _along(self, part: slice) -> AnyArray:
        pointers = self.table.indptr
        first = int(np.searchsorted(pointers, part.start, side="right")) - 1
        last = int(np.searchsorted(pointers, part.stop, side="left"))
        inside = np.clip(pointers[first : last + 1], part.start, part.stop)
        return np.repeat(np.arange(first, last), np.diff(inside))

    def _without_gaps(self) -> tuple[AnyArray, AnyArray | None]:
        """Return the values with zeros in gaps, and which are gaps if there are some."""
        gaps = np.isnan(self.values)
        if not gaps.any():
            return self.values, None
        return np.where(gaps, self.values.dtype.type(0.0), self.values), gaps

    def _sums(self, values: AnyArray, axis: int) -> Array:
        """Return the sums over an axis, in double precision."""
        if issparse(self.table):
            return self._stored_sums(axis, lambda part: values[part])
        with np.errstate(over="ignore"):
            sums: Array = values.sum(axis=axis, dtype=np.float64)
        return sums

    def _stored_sums(self, axis: int, weights: Callable[[slice], AnyArray]) -> Array:
        """Return sums over an axis of a weight for each stored value, given for parts of them."""
        sums = np.zeros(self.table.shape[1 - axis])
        for part in self._parts():
            numbers = self._columns(part) if axis == 0 else self._rows(part)
            with np.errstate(over="ignore"):
                sums += np.bincount(numbers, weights(part), minlength=len(sums))
        return sums

    def _gaps_of_columns(self, gaps: AnyArray | None) -> Any:
        """Return the number of gaps in each column."""
        if gaps is None:
            return 0
        if not issparse(self.table):
            return gaps.sum(axis=0)
        return self._stored_sums(0, lambda part: gaps[part])

    def _missing_shares(self, gaps: AnyArray, shares: Array) -> Array:
        """Return the sum (n,) of the shares of the columns that each row misses."""
        if not issparse(self.table):
            missing: Array = gaps @ shares
            return missing
        return self._stored_sums(1, lambda part: gaps[part] * shares[self._columns(part)])


def _check_range(sums: Array, kind: str) -> None:
    """Raise an error if the sum of a row or column overflows."""
    if not np.isfinite(sums).all():
        number = int(np.argmax(~np.isfinite(sums)))
        raise ValueError(
            f"the sum of {kind} {number} of X exceeds the range of floating-point numbers. Divide "
            "X by a constant."
        )
