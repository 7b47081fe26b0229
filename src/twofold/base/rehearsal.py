"""Rows that stand for the old ones while a model learns new ones.

Methods with parametric maps keep no rows, except those from which gaps are filled: at most 2,000.
In an update these stand for all old rows, each for equally many, so that the maps do not forget
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.new_regions import new_regions
from twofold.numerics.threads import some_rows
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

USUAL = 0.95
"""Share of the old rows whose errors count as usual."""

MOST_JUDGED = 500
"""Old rows whose errors are measured."""


@dataclass(frozen=True)
class Rehearsal:
    """Old rows (k, D') in centered units, their latents (k, q), and how many they stand for."""

    rows: Array
    latents: Array
    n: int

    @classmethod
    def of(cls, model: TwoWayEstimator, n: int) -> Rehearsal:
        """Return what a model of n rows remembers."""
        filling = getattr(model, "_gap_filling", None)
        if filling is None:
            raise ValueError(
                f"This {type(model).__name__} keeps no rows of its fit: it is of an older file. "
                "Fit it again to take new rows in."
            )
        donors = filling.donors
        rows = donors.rows.astype(np.float64)
        if len(model.embedding_) > donors.numbers.max():
            latents = model._latent_units.into(model.embedding_[donors.numbers])
        else:
            latents = model.encoder_.predict(rows)
        return cls(rows, latents, max(n, len(rows)))

    @property
    def weight(self) -> float:
        """How many rows each of these stands for."""
        return self.n / len(self.rows)

    def drift(
        self, model: TwoWayEstimator, new: Array, latents: Array | None = None
    ) -> tuple[float, float]:
        """Return the share of new rows off the manifold, and the change of the log density.

        Latents of the new rows by the encoder are computed unless they are given.
        """
        some = some_rows(len(self.rows), MOST_JUDGED)
        known = None if latents is None else self.latents[some]
        old_error, old_density = _error_and_density(model, self.rows[some], known)
        new_error, new_density = _error_and_density(model, new, latents)
        share_off = float((new_error > np.quantile(old_error, USUAL)).mean())
        return share_off, float(new_density.mean() - old_density.mean())

    def variance(self, before: float, new: Array) -> float:
        """Return the total variance of old and new rows, given that of the old ones."""
        shift = new.mean(axis=0) - self.rows.mean(axis=0)
        own = float(row_norms_sq(new - new.mean(axis=0)).mean())
        n, m = self.n, len(new)
        return (n * before + m * own + float(shift @ shift) * n * m / (n + m)) / (n + m)

    def regions(self, new: Array, rng: np.random.Generator) -> list[IntArray]:
        """Return the regions of new rows that these do not cover."""
        return new_regions(self.rows, new, rng)


def _error_and_density(
    model: TwoWayEstimator, rows: Array, latents: Array | None = None
) -> tuple[Array, Array]:
    """Return the squared error and the log density of each row (n, D')."""
    latents = model.encoder_.predict(rows) if latents is None else latents
    residuals = rows - model.decoder_.predict(latents)
    return row_norms_sq(residuals), model.density_.log_density(latents)
