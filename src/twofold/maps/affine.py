"""Leading principal subspaces of data, and maps that work inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.linalg import principal_axes, row_norms_sq
from twofold.protocols import Array

__all__ = ["MAX_RANK", "LeadingSubspace", "SubspaceEncoder"]

MAX_RANK = 50
VARIANCE_SHARE = 0.99


@dataclass(frozen=True)
class LeadingSubspace:
    """The leading principal axes of some data: 99 % of the variance, at most 50 of them.

    Attributes
    ----------
    axes : ndarray of shape (rank, D)
        Orthonormal rows.
    """

    axes: Array

    @classmethod
    def of(cls, data: Array, least: int = 1) -> LeadingSubspace:
        """Find the axes of centred data, not fewer than ``least``."""
        if data.shape[1] <= MAX_RANK:
            return cls(np.eye(data.shape[1]))
        axes, variances = principal_axes(data, MAX_RANK)
        return cls.enough(axes, variances, float(row_norms_sq(data).mean()), least)

    @classmethod
    def enough(cls, axes: Array, variances: Array, total: float, least: int) -> LeadingSubspace:
        """Take as many axes as hold enough of a total variance, not fewer than ``least``."""
        enough = int(np.searchsorted(np.cumsum(variances), VARIANCE_SHARE * total)) + 1
        return cls(axes[: max(enough, least)])

    def into(self, data: Array) -> Array:
        """Return coordinates (n, rank) of data."""
        if len(self.axes) == data.shape[1]:
            return data
        coordinates: Array = data @ self.axes.T
        return coordinates


@dataclass(frozen=True)
class SubspaceEncoder:
    """Data to latents through the leading subspace."""

    subspace: LeadingSubspace
    projection: Any

    def predict(self, data: Array) -> Array:
        """Return the latents (m, q) of data."""
        latents: Array = self.projection.predict(self.subspace.into(data))
        return latents
