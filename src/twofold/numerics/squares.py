"""Squares and products of the columns, summed over rows."""

from __future__ import annotations

from dataclasses import dataclass

from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array

__all__ = ["Squares"]


@dataclass(frozen=True)
class Squares:
    """The sum of all squares of rows, and ``sum_i x_i x_i^T`` (D, D) where it is asked for."""

    total: float
    products: Array | None

    @classmethod
    def of_rows(cls, data: Array, start: int = 0) -> Squares:  # noqa: ARG003 - a leaf kernel
        """Sum over some centred rows."""
        return cls(float(row_norms_sq(data).sum()), None)

    @classmethod
    def with_products(cls, data: Array, start: int = 0) -> Squares:  # noqa: ARG003
        """Do the same with products."""
        return cls(float(row_norms_sq(data).sum()), data.T @ data)

    def __add__(self, other: Squares) -> Squares:
        """Return the sums over both sets of rows."""
        products = None
        if self.products is not None and other.products is not None:
            products = self.products + other.products
        return Squares(self.total + other.total, products)
