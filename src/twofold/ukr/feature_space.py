r"""Feature spaces of kernels, as coordinates, and the maps of kernel regression in them.

A kernel ``k(x, x')`` is an inner product of features ``phi(x)``. Kernel regression needs distances
only, so a kernel may be conditionally positive definite (Meinicke et al. 2005, section 3):
centering the Gram matrix, ``G = K - 1K - K1 + 1K1``, makes it positive semidefinite. From
``G = V diag(g) V^T`` follow coordinates ``V g^{1/2}`` of the training features in their own span,
and of new points

.. math:: c(x) = g^{-1/2} V^T \tilde k(x), \qquad
          |\phi(x) - \bar\phi|^2 = \tilde k(x, x) = |c(x)|^2 + \text{excess}(x) .

A manifold of weighted means lies in that span. So fitting and projecting in feature space is
fitting and projecting in these coordinates; the excess is a constant for each point.

Decoding needs a pre-image: the ``x`` whose feature is nearest to a weighted mean of features, see
`twofold.ukr.preimages`.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import (
    KERNEL_PARAMS,
    PAIRWISE_KERNEL_FUNCTIONS,
    manhattan_distances,
)

from twofold.calibration.left_out import ForgetfulMaps
from twofold.manifold_geometry.metric import Behind, differenced
from twofold.maps import NadarayaWatson
from twofold.maps.projection import Projection
from twofold.numerics.linalg import fix_signs
from twofold.numerics.pairwise_kernels import kernel_values
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.numerics.validation import warn_user
from twofold.protocols import Array
from twofold.ukr.preimages import preimages

PairwiseKernel = Callable[[Array, Array], Array]
Metric = str | PairwiseKernel
"""The name of a kernel, or a function of two data matrices that returns the kernel values."""

SHIFT_INVARIANT = ("linear", "rbf", "laplacian", "gaussian")
"""Kernels whose centered Gram matrix does not depend on the data's origin."""

STEP_OF_PREIMAGES, STEP_OF_MEDIANS = 1e-3, 0.25
"""Steps of differences of pre-images, in bandwidths of the regression."""

FARTHEST = 1e100
NEGLIGIBLE_SHARE = 1e-8
"""Variance, as a share of the largest kernel value, that is only rounding after centering."""

NEGATIVE = 1e-6
"""Largest negative eigenvalue, as a share of the largest one, that a kernel may have."""

FEW_EQUAL = 4
"""Rows that may well be equally far apart."""

EQUAL = 1e-9
"""Relative difference up to which the eigenvalues of all directions count as equal."""

NOT_NEGATIVE = ("chi2", "additive_chi2")
"""Kernels of data without negative values."""


@dataclass(frozen=True)
class FeatureSpace:
    """The features of training data, in coordinates; use `FeatureSpace.of`.

    ``data`` (n, D) are the training data, or their Gram matrix ("precomputed"); ``coordinates`` (n,
    r) their centered features; ``to_coordinates`` (n, r) takes centered kernel rows to coordinates;
    ``column_means`` (n,) are mean kernel values.
    """

    metric: Metric
    params: dict[str, Any]
    data: Array
    coordinates: Array
    to_coordinates: Array
    column_means: Array

    @classmethod
    def of(cls, data: Array, metric: Metric, params: dict[str, Any] | None = None) -> FeatureSpace:
        """Compute the coordinates of training data (n, D).

        For "precomputed" the data are a Gram matrix (n, n).
        """
        params = dict(params or {})
        K = data if metric == "precomputed" else _kernel(metric, params)(data, data)
        if K.shape != (len(data), len(data)):
            raise ValueError(
                f"metric={metric!r} must give a finite matrix of shape ({len(data)}, {len(data)}), "
                f"got shape {K.shape}."
            )
        if not np.isfinite(K).all():
            row, column = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(
                f"metric={metric!r}: the kernel matrix has NaN or infinity, first at row {row}, "
                f"column {column}. Use a kernel that is finite for all pairs of rows."
            )
        if np.abs(K - K.T).max() > 1e-6 * np.abs(K).max():
            raise ValueError(
                f"metric={metric!r} must give a symmetric matrix for the training data."
            )
        K = 0.5 * (K + K.T)
        means = K.mean(axis=0)
        eigenvalues, vectors = linalg.eigh(K - means - means[:, None] + means.mean())
        vectors = fix_signs(vectors)
        largest = eigenvalues[-1]
        floor = max(largest, 1e-300, NEGLIGIBLE_SHARE * float(np.abs(K).max()))
        kept = eigenvalues > len(data) * np.finfo(np.float64).eps * floor
        negative = eigenvalues[0] < -NEGATIVE * max(largest, 0.0) - 1e-300
        are_equal = bool(np.ptp(K) <= NEGLIGIBLE_SHARE * np.abs(K).max())
        if are_equal and (negative or not kept.any()):
            raise ValueError(
                f"metric={metric!r}: all kernel values are equal up to rounding, and the data vary "
                f"in no directions of feature space. {_remedy(metric, 'up', 'raise')}"
            )
        if negative:
            raise ValueError(
                f"metric={metric!r} is not positive definite, nor conditionally so: its centered "
                f"Gram matrix has eigenvalues from {eigenvalues[0]:.3g} to {largest:.3g}. Use a "
                "kernel, not a distance."
            )
        # One eigenvalue is 0, that of the direction that centering removes.
        if len(data) > FEW_EQUAL and np.ptp(eigenvalues[1:]) <= EQUAL * largest:
            warn_user(
                f"metric={metric!r} sees all rows as equally far apart, so the map has no order. "
                f"{_remedy(metric, 'down', 'lower')}",
                UserWarning,
            )
        root = np.sqrt(eigenvalues[kept])
        vectors = vectors[:, kept]
        return cls(metric, params, data, vectors * root, vectors / root, means)

    def locate(self, data: Array) -> tuple[Array, Array]:
        """Return coordinates (m, r) of points (m, D), and their squared distances to the span (m,).

        For "precomputed" the points are kernel rows (m, n); the distances are unknown, and given
        as 0.
        """
        if self.metric == "precomputed":
            rows, own = data, None
        else:
            kernel = _kernel(self.metric, self.params)
            with np.errstate(over="ignore", invalid="ignore"):
                rows = _bounded(kernel(data, self.data))
                own = _bounded(np.concatenate([np.diagonal(kernel(x, x)) for x in _few(data)]))
        row_means, mean = rows.mean(axis=1), self.column_means.mean()
        coordinates = row_product(
            rows - row_means[:, None] - self.column_means + mean, self.to_coordinates
        )
        if own is None:
            return coordinates, np.zeros(len(data))
        coordinates = np.clip(coordinates, -FARTHEST, FARTHEST)
        norms = own - 2.0 * row_means + mean
        return coordinates, np.maximum(norms - np.square(coordinates).sum(axis=1), 0.0)

    def kernel_rows(self, data: Array, training: Array) -> Array:
        """Return kernel values between points and the training data, both in the caller's units.

        For "l1" those of the positive definite form, Meinicke et al. (2005), Eq. (17).
        """
        if self.metric == "precomputed":
            return data
        rows = _kernel(self.metric, self.params)(data, training)
        if self.metric == "l1":
            own, others = (0.5 * np.abs(A).sum(axis=1) for A in (data, training))
            rows = rows + own[:, None] + others
        return rows

    def preimages(self, weights: Array) -> Array:
        """Return the points (m, D) whose features are nearest to weighted means of all features.

        Each row of the weights (m, n) sums to one.
        """
        return preimages(self.metric, self.params, self.data, weights)


@dataclass(frozen=True)
class FeatureEncoder:
    """Data to latents: into coordinates of feature space, then onto the manifold there."""

    space: FeatureSpace
    regression: NadarayaWatson
    projection: Projection

    def predict(self, data: Array) -> Array:
        """Return the latents (m, q) of data."""
        coordinates, _ = self.space.locate(data)
        return self.projection.predict(coordinates)

    def without_fold(self, maps: ForgetfulMaps, fold: int) -> FeatureEncoder:
        """Return the encoder without the rows of a fold."""
        known = maps.known
        regression = maps.lowered(self.regression, known.latents, known.data, fold)
        projection = maps.projection(self.projection, known.data, fold)
        return replace(self, regression=regression, projection=projection)

    def squared_errors(self, data: Array) -> Array:
        """Return the squared feature-space distances (m,) of data to the manifold."""
        coordinates, excess = self.space.locate(data)
        images = self.regression.predict(self.projection.predict(coordinates))
        errors: Array = np.square(coordinates - images).sum(axis=1) + excess
        return errors


@dataclass(frozen=True)
class PreimageDecoder:
    """Latents to data: the data nearest to the manifold's point in feature space."""

    space: FeatureSpace
    regression: NadarayaWatson

    def predict(self, latents: Array) -> Array:
        """Return the pre-images (m, D)."""
        blocks = row_blocks(len(latents), 4 * 8 * len(self.space.data))
        parts = [self.space.preimages(self.regression.weights(latents[rows])) for rows in blocks]
        return np.concatenate(parts)

    def without_fold(self, maps: ForgetfulMaps, fold: int) -> PreimageDecoder:
        """Return the decoder without the rows of a fold."""
        kept = maps.kept(self.regression.inputs_, maps.known.latents, fold)
        regression = maps.lowered(self.regression, maps.known.latents, maps.known.data, fold)
        return PreimageDecoder(replace(self.space, data=self.space.data[kept]), regression)

    def pulled_back(self, latents: Array, behind: Behind) -> Array:
        """Return the metric (m, q, q) of the pre-images, by differences.

        Medians jump from one value of the data to the next, so their steps are long.
        """
        jumps = self.space.metric in ("l1", "laplacian")
        step = (STEP_OF_MEDIANS if jumps else STEP_OF_PREIMAGES) * self.regression.bandwidth_
        return differenced(self, latents, behind, step)


def _kernel(metric: Metric, params: dict[str, Any]) -> PairwiseKernel:
    if metric == "l1":
        # Eq. (17) up to terms that centering removes; then d^2(x, x') = |x - x'|_1, Eq. (18).
        return lambda A, B: -0.5 * manhattan_distances(A, B)
    if callable(metric):
        return lambda A, B: np.asarray(metric(A, B), dtype=np.float64)
    if str(metric) not in PAIRWISE_KERNEL_FUNCTIONS:  # it may be of any type
        names = sorted({"euclidean", "l1", "precomputed", *PAIRWISE_KERNEL_FUNCTIONS})
        raise ValueError(f"metric={metric!r} must be a function or one of {names}.")

    def kernel(A: Array, B: Array) -> Array:
        if metric in NOT_NEGATIVE and min(A.min(initial=0.0), B.min(initial=0.0)) < 0.0:
            raise ValueError(
                f"metric={metric!r} needs data without negative values, such as counts. Use "
                "sklearn.preprocessing.MinMaxScaler(clip=True) first, or metric='l1'."
            )
        return kernel_values(metric, A, B, params)

    return kernel


def check_metric_params(metric: Any, params: dict[str, Any]) -> None:
    """Raise an error unless these are parameters of a named kernel."""
    if callable(metric) or metric in ("euclidean", "l1", "precomputed"):
        raise ValueError(f"metric_params={params!r} has no meaning for metric={metric!r}.")
    allowed = KERNEL_PARAMS.get(metric)  # None: `_kernel` names the metrics
    if allowed is not None and not set(params) <= set(allowed):
        names = ", ".join(map(repr, sorted(allowed))) or "no parameters"
        raise ValueError(
            f"metric_params={params!r} has unknown keys: metric={metric!r} takes {names}."
        )


def _remedy(metric: Metric, way: str, change: str) -> str:
    """Return what to do about a kernel whose scale is far from that of the data."""
    if isinstance(metric, str) and "gamma" in KERNEL_PARAMS.get(metric, ()):
        return f'Scale the data {way}, or {change} gamma by metric_params={{"gamma": ...}}.'
    return "Use a kernel whose scale suits the data."


def _bounded(values: Array) -> Array:
    """Return kernel values clipped so that later products cannot overflow."""
    return np.nan_to_num(np.clip(values, -FARTHEST, FARTHEST), copy=False)


def _few(data: Array) -> list[Array]:
    """Return the data in pieces whose kernel matrices stay small."""
    return [data[start : start + 64] for start in range(0, len(data), 64)]
