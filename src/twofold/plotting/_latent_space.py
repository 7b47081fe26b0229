"""A fitted model as pictures need it: its latents, its maps, and where its latent space ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from twofold.base import TwoWayEstimator
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import AnyArray, Array
from twofold.ukr.feature_space import FeatureEncoder

__all__ = ["LatentGrid", "LatentSpace", "check_components", "final_step"]

MOST_JUDGED = 5_000
"""Latents whose densities set the levels of a picture."""

N_DRAWN = 2_000
"""Latents that stand for those which a model has not kept."""

FEW_LATENTS = 3_000
"""Latents up to which the density of a whole grid takes no time."""

MARGIN = 0.04
MOST_WIDENINGS = 12


def final_step(model: Any) -> Any:
    """Return the two-way estimator, which is the last step where a pipeline is given."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, TwoWayEstimator):
        raise TypeError(
            f"model={type(last).__name__} is no two-way estimator: give one of twofold, or a pipeline that ends in one "
            "(TwoWay makes one of any embedding)."
        )
    check_is_fitted(last)
    return last


@dataclass(frozen=True)
class LatentSpace:
    """The latent space of a fitted model.

    Attributes
    ----------
    model : TwoWayEstimator or Pipeline
        As it was given: pipelines scale data on the way down, and back on the way up.
    last : TwoWayEstimator
        The estimator.
    """

    model: Any
    last: Any

    @classmethod
    def of(cls, model: Any) -> LatentSpace:
        """Return the latent space of a two-way estimator, or of a pipeline that ends in one."""
        return cls(model, final_step(model))

    @property
    def n_components(self) -> int:
        """The number of latent dimensions, q."""
        return int(self.last.embedding_.shape[1])

    @property
    def keeps_latents(self) -> bool:
        """Whether the model has its training latents."""
        return len(self.last.embedding_) > 0

    @cached_property
    def latents(self) -> Array:
        """The training latents (n, q); draws from their density where the model has not kept them."""
        if self.keeps_latents:
            return np.asarray(self.last.embedding_, dtype=np.float64)
        drawn = self.last.density_.sample(N_DRAWN, 0)
        return np.asarray(self.last._latent_units.back(drawn))

    @cached_property
    def domain(self) -> Domain | Points | None:
        """The shape of the latent space, where it has one."""
        found = getattr(self.last.decoder_, "domain", None)
        return found if isinstance(found, Domain | Points) else None

    @property
    def wrapped(self) -> tuple[bool, ...]:
        """Which latent dimensions are circles."""
        return (False,) * self.n_components if self.domain is None else self.domain.wrapped

    @cached_property
    def log_densities(self) -> Array:
        """The log densities of the training latents, of more than 5,000 those of so many."""
        return self.log_density(self.latents[some_rows(len(self.latents), MOST_JUDGED)])

    @property
    def log_border(self) -> float:
        """The log density where the support of the model ends: its own threshold, or the lowest at a training latent."""
        own = getattr(self.last, "log_density_threshold_", None)
        return float(self.log_densities.min()) if own is None else float(own)

    def encode(self, X: Any) -> Array:
        """Return the latents (n, q) of data."""
        return np.asarray(self.model.transform(X), dtype=np.float64)

    def decode(self, Z: Array) -> Array:
        """Return the data (n, D) of latents."""
        return np.asarray(self.model.inverse_transform(Z), dtype=np.float64)

    def log_density(self, Z: Array) -> Array:
        """Return the log densities (n,) of latents."""
        return np.asarray(self.last.log_density(Z), dtype=np.float64)

    def log_density_near(self, Z: Array, spacing: float) -> Array:
        """Return the log densities (n,) of places on a grid, where none of the data is near only a bound on them.

        Places far from all latents are most of a map, and take most of the time: they are left out as soon as a rim of
        places around the others lies below the border.
        """
        if self.domain is not None or len(self.latents) <= FEW_LATENTS:
            return self.log_density(Z)
        distances, _ = cKDTree(self.latents).query(Z)
        border = min(self.log_border, float(self.log_densities.min()))
        found = np.full(len(Z), np.nan)
        reach, reached = 0.0, np.zeros(len(Z), dtype=bool)
        rim_is_low = False
        while not (rim_is_low or reached.all()):
            reach = max(3.0 * spacing, 2.0 * reach)
            new = (distances <= reach) & ~reached
            found[new] = self.log_density(Z[new]) if new.any() else 0.0
            reached |= new
            rim = reached & (distances > reach - 2.0 * spacing)
            rim_is_low = bool((found[rim] < border).all())
        found[~reached] = np.nanmin([*found[reached], border]) - 1.0
        return found

    def errors(self, X: Any, Z: Array) -> Array:
        """Return the distances (n,) of data to the images of their latents, in feature space where the model measures them there."""
        if isinstance(self.last.encoder_, FeatureEncoder):
            inside = X if self.model is self.last else self.model[:-1].transform(X)
            return np.asarray(self.last.reconstruction_error(inside), dtype=np.float64)
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray(self.last._data_units.distances(rows, self.decode(Z)))

    def is_supported(self, Z: Array, spacing: float) -> AnyArray:
        """Tell where (n,) places of a grid belong to the manifold: within the domain, or where data support them."""
        if self.domain is not None:
            return np.asarray((np.abs(Z) <= 1.0).all(axis=1) | self.domain.is_discrete)
        return self.log_density_near(Z, spacing) >= self.log_border

    def support(self, Z: Array, spacing: float) -> Array:
        """Return how well (n,) data support places of a grid: 1 where they are as dense as the sparser tenth of the data, falling to 0."""
        reference = float(np.quantile(self.log_densities, 0.1))
        weights: Array = np.exp(np.minimum(self.log_density_near(Z, spacing) - reference, 0.0))
        return weights

    def limits(self, columns: tuple[int, ...], more: Array | None = None) -> Array:
        """Return where pictures of some latent dimensions begin and end, shape (len(columns), 2).

        Where a domain has an end, it is there; elsewhere latents, and more that are given, get a margin.
        """
        picked = self.latents[:, columns]
        if more is not None and len(more):
            picked = np.vstack([picked, more[:, columns]])
        low, high = picked.min(axis=0), picked.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        middle, half = 0.5 * low + 0.5 * high, (0.5 + MARGIN) * size
        bounds = np.stack([middle - half, middle + half], axis=1)
        if isinstance(self.domain, Points):
            return np.array([[-0.5, self.domain.n_points - 0.5]])
        if self.domain is not None:
            bounds[:] = (-1.0, 1.0)
        return bounds


@dataclass(frozen=True)
class LatentGrid:
    """Places over two latent dimensions.

    Attributes
    ----------
    horizontal, vertical : ndarray of shape (n_columns,) and (n_rows,)
        The places along each.
    """

    horizontal: Array
    vertical: Array

    @classmethod
    def over(cls, bounds: Array, n_side: int) -> LatentGrid:
        """Return places from bound to bound, as many along the longer side and in proportion along the other."""
        size = bounds[:, 1] - bounds[:, 0]
        counts = np.maximum(2, np.rint(n_side * size / size.max()).astype(int))
        axes = [np.linspace(a, b, n) for (a, b), n in zip(bounds, counts, strict=True)]
        return cls(*axes)

    @classmethod
    def around_support(
        cls, space: LatentSpace, n_side: int, more: Array | None = None
    ) -> LatentGrid:
        """Return places that hold all latents, and the border around them."""
        bounds = space.limits((0, 1), more)
        if space.domain is not None:
            return cls.over(bounds, n_side)
        border = space.log_border
        for _ in range(MOST_WIDENINGS):
            grid = cls.over(bounds, 24)
            open_sides = np.array(
                [
                    [(space.log_density(edge) >= border).any() for edge in edges]
                    for edges in grid._edges()
                ]
            )
            if not open_sides.any():
                break
            bounds = bounds + np.where(open_sides, 0.06, 0.0) * np.diff(bounds) * np.array(
                [-1.0, 1.0]
            )
        return cls.over(bounds, n_side)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.vertical), len(self.horizontal)

    @property
    def spacing(self) -> float:
        """The distance between neighbouring places, the longer one of the two directions."""
        steps = [
            (axis[-1] - axis[0]) / (len(axis) - 1) for axis in (self.horizontal, self.vertical)
        ]
        return float(max(steps))

    @property
    def points(self) -> Array:
        """All places (n_rows * n_columns, 2), row by row upwards."""
        return np.stack(np.meshgrid(self.horizontal, self.vertical), axis=-1).reshape(-1, 2)

    def _edges(self) -> list[list[Array]]:
        """Return the places along the left and right side, and along the lower and upper one."""
        mesh = self.points.reshape(*self.shape, 2)
        return [[mesh[:, 0], mesh[:, -1]], [mesh[0], mesh[-1]]]


def check_components(components: Any, n_components: int, *, most: int = 3) -> tuple[int, ...]:
    """Return the latent dimensions to draw, by number from 0.

    Parameters
    ----------
    components : sequence of int or None
        Those asked for; None means all.
    n_components : int
        How many there are.
    most : int, default=3
        How many can be drawn.
    """
    if components is None:
        if n_components > most:
            raise ValueError(
                f"The model has {n_components} latent dimensions, too many for a picture: choose some of them, say components=(0, 1)."
            )
        return tuple(range(n_components))
    chosen = tuple(int(number) for number in np.ravel(components))
    valid = all(0 <= number < n_components for number in chosen)
    if not 1 <= len(chosen) <= most or not valid or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"components={components!r} must be 1 to {most} different numbers from 0 to {n_components - 1}."
        )
    return chosen
