r"""A pull of some rows to known places, added to an objective of latents.

.. math:: E(Z) + w \sum_{i \in S} \max(0, |z_i - c_i| - \rho)^2

This keeps the latents of a fit in the frame of another model, whose places ``c_i`` of the rows
``S`` are known. Within the radius ``rho`` of its place a row is free: the places carry the noise of
the other table, and to repeat it would cost accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twofold.protocols import Array, IntArray, Objective


@dataclass(frozen=True)
class RowPull:
    """The pull of ``rows`` (m,) to ``places`` (m, q), with one ``weight`` and ``radius``."""

    rows: IntArray
    places: Array
    weight: float
    radius: float = 0.0

    def in_order(self, order: IntArray) -> RowPull:
        """Return the same pull for rows that are sorted: ``order`` (n,) has their old numbers."""
        position = np.empty(len(order), dtype=np.intp)
        position[order] = np.arange(len(order))
        return replace(self, rows=position[self.rows])

    def scaled(self, before: Array, after: Array) -> RowPull:
        """Return the same pull for latents (n, q) that were shifted and multiplied by a factor."""
        middle, center = before.mean(axis=0), after.mean(axis=0)
        spread = float(np.linalg.norm(before - middle))
        factor = float(np.linalg.norm(after - center)) / spread if spread > 0.0 else 1.0
        factor = factor or 1.0
        places = (self.places - middle) * factor + center
        return RowPull(self.rows, places, self.weight / factor**2, self.radius * factor)


@dataclass(frozen=True)
class Pulled:
    """An objective with a pull added."""

    objective: Objective
    pull: RowPull

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the value and the gradient (n, q) at latents (n, q)."""
        value, gradient = self.objective.value_and_grad(Z)
        gaps = Z[self.pull.rows] - self.pull.places
        lengths = np.sqrt(np.square(gaps).sum(axis=1))
        excess = np.maximum(lengths - self.pull.radius, 0.0)
        slopes = 2.0 * self.pull.weight * excess / np.where(lengths > 0.0, lengths, 1.0)
        gradient = np.array(gradient)
        np.add.at(gradient, self.pull.rows, slopes[:, None] * gaps)
        return value + self.pull.weight * float(np.square(excess).sum()), gradient
