"""The latent space of a fitted model: its latents, maps, density and domain, and grids over it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from scipy.spatial import cKDTree
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from twofold.base import TwoWayEstimator
from twofold.base.aligning import domain_of
from twofold.base.gaps import observed_distances
from twofold.numerics.sparse_rows import dense_if_few_cells
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.pipelines import from_pipeline
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import AnyArray, Array
from twofold.ukr.feature_space import FeatureEncoder

Model: TypeAlias = TwoWayEstimator | Pipeline
"""A fitted estimator, or a pipeline that ends in one."""

MOST_JUDGED = 5_000  # number of latents whose densities set the levels of a picture
N_DRAWN = 2_000  # number of latents drawn from the density of a model that has not kept its latents
FEW_LATENTS = 3_000  # up to this many latents the density of a whole grid is fast
MARGIN = 0.04
MOST_WIDENINGS = 12


def final_step(model: Model) -> TwoWayEstimator:
    """Return the fitted estimator, which is the last step of a pipeline."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, TwoWayEstimator):
        raise TypeError(
            f"model={type(last).__name__} is not a two-way estimator: give one of twofold, or a "
            "pipeline that ends in one (TwoWay makes one of any embedding)."
        )
    check_is_fitted(last)
    return last


@dataclass(frozen=True)
class LatentSpace:
    """The latent space of a model; ``last`` is the estimator, without the rest of a pipeline."""

    model: Model
    last: TwoWayEstimator

    @classmethod
    def of(cls, model: Model) -> LatentSpace:
        """Return the latent space of an estimator, or of a pipeline that ends in one.

        If possible, a pipeline becomes one model. Other pipelines are used as they are.
        """
        last = final_step(model)
        if isinstance(model, Pipeline):
            with suppress(TypeError):  # a step that cannot become part of a model
                model = last = from_pipeline(model)
        return cls(model, last)

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
        """The training latents (n, q), or draws from their density if the model has none."""
        if self.keeps_latents:
            return np.asarray(self.last.embedding_, dtype=np.float64)
        drawn = self.last.density_.sample(N_DRAWN, 0)
        return np.asarray(self.last._latent_units.back(drawn))

    @cached_property
    def domain(self) -> Domain | Points | None:
        """The domain of the latent space, if it has one."""
        found = domain_of(self.last)
        return found if isinstance(found, Domain | Points) else None

    def domain_along(self, columns: tuple[int, ...]) -> Domain | Points | None:
        """Return the domain of some latent dimensions."""
        if not isinstance(self.domain, Domain):
            return self.domain
        wrapped = tuple(self.domain.wrapped[column] for column in columns)
        ends = self.domain.ends[list(columns)]
        return Domain(wrapped, None if self.domain.sides is None else tuple(ends.tolist()))

    @property
    def wrapped(self) -> tuple[bool, ...]:
        """Which latent dimensions are circular."""
        return (False,) * self.n_components if self.domain is None else self.domain.wrapped

    @cached_property
    def log_densities(self) -> Array:
        """The log densities of the training latents, of at most 5,000 of them."""
        return self.log_density(self.latents[some_rows(len(self.latents), MOST_JUDGED)])

    @property
    def log_border(self) -> float:
        """The log density at the border: the threshold, or the lowest of a training latent."""
        own = getattr(self.last._unwrapped, "log_density_threshold_", None)
        return float(self.log_densities.min()) if own is None else float(own)

    def encode(self, X: Any) -> Array:
        """Return the latents (n, q) of data."""
        return np.asarray(self.model.transform(X), dtype=np.float64)

    def decode(self, Z: Array) -> Array:
        """Return the data (n, D) of latents."""
        return np.asarray(self.model.inverse_transform(Z), dtype=np.float64)

    def log_density(self, Z: Array, per: str = "latent") -> Array:
        """Return the log densities (n,) of latents."""
        return np.asarray(self.last.log_density(Z, per), dtype=np.float64)

    def log_density_near(self, Z: Array, spacing: float) -> Array:
        """Return the log densities (n,) on a grid, far from all latents only a bound.

        Most of a map is far from all latents. These places are left out as soon as a rim of places
        around the others lies below the border.
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
        """Return the distances (n,) of data to the images of their latents.

        They are those of ``reconstruction_error``, with scaled columns in units of these. For
        pipelines that are used as they are, they are in the data's own units. If the model works in
        a feature space, the distances are measured there.
        """
        if isinstance(self.last.encoder_, FeatureEncoder):
            inside = self.model[:-1].transform(X) if isinstance(self.model, Pipeline) else X
            return np.asarray(self.last.reconstruction_error(inside), dtype=np.float64)
        if issparse(X) and not isinstance(self.model, Pipeline):
            return np.asarray(self.last.reconstruction_error(X), dtype=np.float64)
        rows = np.asarray(dense_if_few_cells(X), dtype=np.float64)
        units = self.last._data_units
        if isinstance(self.model, Pipeline):
            units = CenteredUnits.identity(rows.shape[1])
        return observed_distances(units, rows, self.decode(Z))

    def is_supported(self, Z: Array, spacing: float) -> AnyArray:
        """Return which places (n,) of a grid are in the domain, or supported by data."""
        if isinstance(self.domain, Points):
            return np.ones(len(Z), dtype=bool)
        if self.domain is not None:
            return np.asarray((np.abs(Z) <= self.domain.ends).all(axis=1))
        return self.log_density_near(Z, spacing) >= self.log_border

    def support(self, Z: Array, spacing: float) -> Array:
        """Return the support (n,) of places: 1 at the density of the sparsest tenth of the data.

        It falls to 0 where data are less dense.
        """
        reference = float(np.quantile(self.log_densities, 0.1))
        weights: Array = np.exp(np.minimum(self.log_density_near(Z, spacing) - reference, 0.0))
        return weights

    def limits(self, columns: tuple[int, ...], more: Array | None = None) -> Array:
        """Return the bounds (len(columns), 2) of pictures of some latent dimensions.

        They are those of the domain, or those of the latents (and of ``more``) with a margin.
        """
        picked = self.latents[:, columns]
        if more is not None and len(more):
            picked = np.vstack([picked, more[:, columns]])
        low, high = picked.min(axis=0), picked.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        middle, half = 0.5 * low + 0.5 * high, 0.5 * size + MARGIN * size.max()
        bounds = np.stack([middle - half, middle + half], axis=1)
        if isinstance(self.domain, Points):
            return np.array([[-0.5, self.domain.n_points - 0.5]])
        if self.domain is not None:
            ends = self.domain.ends[list(columns)]
            bounds = np.stack([-ends, ends], axis=1)
        return bounds


def grid_axes(bounds: Array, n_side: int) -> list[Array]:
    """Return the places along each side of bounds (k, 2), ``n_side`` along the longest side."""
    size = bounds[:, 1] - bounds[:, 0]
    counts = np.maximum(2, np.rint(n_side * size / size.max()).astype(int))
    return [np.linspace(a, b, n) for (a, b), n in zip(bounds, counts, strict=True)]


@dataclass(frozen=True)
class LatentGrid:
    """A grid over two latent dimensions: places along each of them."""

    horizontal: Array
    vertical: Array

    @classmethod
    def over(cls, bounds: Array, n_side: int) -> LatentGrid:
        """Return a grid within bounds, with ``n_side`` places along the longer side."""
        return cls(*grid_axes(bounds, n_side))

    @classmethod
    def around_support(
        cls, space: LatentSpace, n_side: int, more: Array | None = None
    ) -> LatentGrid:
        """Return a grid that covers all latents and the border around them."""
        bounds = space.limits((0, 1), more)
        if space.domain is not None:
            return cls.over(bounds, n_side)
        border = space.log_border
        for _ in range(MOST_WIDENINGS):
            grid = cls.over(bounds, 24)
            mesh = grid.points.reshape(*grid.shape, 2)
            edges = [[mesh[:, 0], mesh[:, -1]], [mesh[0], mesh[-1]]]
            is_open = [[(space.log_density(e) >= border).any() for e in pair] for pair in edges]
            if not np.any(is_open):
                break
            outward = np.diff(bounds) * np.array([-1.0, 1.0])
            bounds = bounds + np.where(is_open, 0.06, 0.0) * outward
        return cls.over(bounds, n_side)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.vertical), len(self.horizontal)

    @property
    def spacing(self) -> float:
        """The distance between neighboring places, in the direction where it is longer."""
        axes = (self.horizontal, self.vertical)
        return float(max((axis[-1] - axis[0]) / (len(axis) - 1) for axis in axes))

    @property
    def points(self) -> Array:
        """All places (n_rows * n_columns, 2), from the lowest row upwards."""
        return np.stack(np.meshgrid(self.horizontal, self.vertical), axis=-1).reshape(-1, 2)


def check_components(components: Any, n_components: int, *, most: int = 3) -> tuple[int, ...]:
    """Return the latent dimensions to draw, at most ``most``, numbered from 0; None means all."""
    if components is None:
        if n_components > most:
            raise ValueError(
                f"The model has {n_components} latent dimensions, too many for a picture: choose "
                "some of them, say components=(0, 1)."
            )
        return tuple(range(n_components))
    chosen = tuple(int(number) for number in np.ravel(components))
    valid = all(0 <= number < n_components for number in chosen)
    if not 1 <= len(chosen) <= most or not valid or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"components={components!r} must be 1 to {most} different numbers from 0 to "
            f"{n_components - 1}."
        )
    return chosen
