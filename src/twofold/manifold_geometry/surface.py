r"""The manifold as paths see it: images, density, and what a step costs.

A step ``dz`` costs its length on the manifold times a weight,

.. math:: \sqrt{w^2 |df|^2 + v^2 |dz|^2}, \qquad
          \log w = \frac{s^2}{1 + s}, \quad s = \max(0, \log p_0 - \log p(z)), \quad
          v = g \, (w - 1 + \epsilon) .

``p`` is the density of the training latents, and ``p_0`` the density that all but a tenth of them
reach. So the weight is 1 where data lie, smooth at the border, and about ``p_0 / p`` in empty
places. There the decoder means little: many are constant, with a jump somewhere. So a step also
costs its length on the map, with the usual stretch ``g`` and the weight ``w - 1``. With the small
``eps`` equal images cost something where data lie, too.

Circular dimensions are unwrapped: a path leaves the interval and its images go on around.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from twofold.manifold_geometry.metric import Behind, behind_units, pulled_back
from twofold.numerics.threads import some_rows
from twofold.protocols import Array

MOST_LANDMARKS = 400
"""Training latents that stand for all."""

SPARSEST = 0.1
"""The share of the training latents that lie where steps cost more."""

EMPTIEST = 12.0
"""The largest ``s``: beyond it all places are equally empty."""

SHORTEST = 0.03
"""``eps``."""


@dataclass(frozen=True, eq=False)
class Surface:
    """The manifold of a fitted model, in centered units of latents and data.

    ``period`` (q,) is the circumference of circular dimensions, and infinite for the others.
    """

    model: Any
    behind: Behind
    period: Array
    ends: Array | None
    n_landmarks: int = MOST_LANDMARKS

    @classmethod
    def of(cls, model: Any, n_landmarks: int = MOST_LANDMARKS) -> Surface:
        """Return the surface of a fitted model, with at most some number of landmarks."""
        n_columns = int(model._latent_units.varying.sum())
        domain = getattr(model.decoder_, "domain", None)
        behind = behind_units(model._data_units)
        if domain is None:
            return cls(model, behind, np.full(n_columns, np.inf), None, n_landmarks)
        if domain.is_discrete:
            raise ValueError(
                f"domain={domain!r} has nothing between its places, so there are no paths and no "
                "stretch. Fit a model with an interval, a box or a circle."
            )
        period = np.where(domain.wrapped, 2.0 * domain.ends, np.inf)
        return cls(model, behind, period, domain.ends, n_landmarks)

    def images(self, Z: Array) -> Array:
        """Return images (n, r) whose distances are those of the data of latents (n, q)."""
        return self.behind.steps(self.model.decoder_.predict(Z))

    def metric(self, Z: Array) -> Array:
        """Return the metric (n, q, q) at latents (n, q)."""
        return pulled_back(self.model.decoder_, Z, self.behind)

    def log_density(self, Z: Array) -> Array:
        """Return the log densities (n,) of the training latents."""
        found: Array = self.model.density_.log_density(Z)
        return found

    def shortest(self, differences: Array) -> Array:
        """Return differences (n, q) of latents, the shorter way around circles."""
        circular = np.isfinite(self.period)
        if not circular.any():
            return differences
        period = np.where(circular, self.period, 1.0)
        around = np.mod(differences + 0.5 * period, period) - 0.5 * period
        return np.where(circular, around, differences)

    def inside(self, Z: Array) -> Array:
        """Return latents (n, q), unwrapped ones among them, within the domain."""
        return Z if self.ends is None else self.model.decoder_.domain.into(Z)

    def limited(self, Z: Array) -> Array:
        """Return latents (n, q) moved to the ends of intervals; circles go on."""
        if self.ends is None:
            return Z
        ends = np.where(np.isfinite(self.period), np.inf, self.ends)
        return np.clip(Z, -ends, ends)

    def flat(self, Z: Array) -> Array:
        """Return coordinates in which near places are near, also across the seam of a circle."""
        circular = np.isfinite(self.period)
        if not circular.any():
            return Z
        turns = 2.0 * np.pi * Z[:, circular] / self.period[circular]
        radius = self.period[circular] / (2.0 * np.pi)
        return np.hstack([Z[:, ~circular], radius * np.cos(turns), radius * np.sin(turns)])

    @cached_property
    def landmarks(self) -> Array:
        """Distinct training latents (m, q), or draws from their density."""
        own = self.model.embedding_
        if len(own):
            some = own[some_rows(len(own), self.n_landmarks)]
            found = self.model._latent_units.into(np.asarray(some, dtype=np.float64))
        else:
            found = self.model.density_.sample(self.n_landmarks, 0)
        return np.unique(self.inside(found), axis=0)

    @cached_property
    def landmark_images(self) -> Array:
        """The images (m, r) of the landmarks."""
        return self.images(self.landmarks)

    @cached_property
    def landmark_metric(self) -> Array:
        """The metric (m, q, q) at the landmarks."""
        return self.metric(self.landmarks)

    @cached_property
    def usual_stretch(self) -> float:
        """The median over landmarks of the root mean square of the singular values."""
        squares = np.trace(self.landmark_metric, axis1=1, axis2=2) / max(1, len(self.period))
        return float(np.sqrt(np.median(squares)))

    @cached_property
    def log_reference(self) -> float:
        """``log p_0``."""
        return float(np.quantile(self.log_density(self.landmarks), SPARSEST))

    def log_weight(self, Z: Array) -> Array:
        """Return ``log w`` (n,)."""
        emptiness = np.clip(self.log_reference - self.log_density(Z), 0.0, EMPTIEST)
        weights: Array = emptiness * emptiness / (1.0 + emptiness)
        return weights

    def squared_weights(self, log_weight: Array) -> tuple[Array, Array]:
        """Return ``w^2`` and ``v^2``, shaped like ``log w``."""
        weights = np.exp(log_weight)
        return weights**2, ((self.usual_stretch or 1.0) * (weights - 1.0 + SHORTEST)) ** 2

    def step_costs(self, lines: Array) -> Array:
        """Return what the steps of lines (n, n_nodes, q) of places cost (n, n_nodes - 1)."""
        n_lines, n_nodes, q = lines.shape
        places = self.limited(lines.reshape(-1, q))
        images = self.images(places).reshape(n_lines, n_nodes, -1)
        logs = self.log_weight(places).reshape(n_lines, n_nodes)
        squares = [
            np.square(np.diff(images, axis=1)).sum(axis=2),
            np.square(np.diff(lines, axis=1)).sum(axis=2),
        ]
        parts = zip(self.squared_weights(logs), squares, strict=True)
        costs: Array = np.sqrt(
            sum(0.5 * (weight[:, 1:] + weight[:, :-1]) * square for weight, square in parts)
        )
        return costs

    def costs(self, lines: Array) -> Array:
        """Return what lines (n, n_nodes, q) of places cost (n,)."""
        total: Array = self.step_costs(lines).sum(axis=1)
        return total
