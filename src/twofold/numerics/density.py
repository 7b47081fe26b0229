r"""Densities of latent points, in log space.

.. math:: p(z) = \frac{1}{n h^q c_K} \sum_i K\!\left(\frac{z - z_i}{h}\right)

(Meinicke et al. 2005, Eq. 3, for any width). The width maximizes the leave-one-out log-likelihood
:math:`\sum_i \log p_{-i}(z_i)` (Silverman 1986), which the paper uses to scale its initial latents.
A threshold on ``p`` bounds the region where data support a map (their Eq. 7 and step 6).

Without any point in reach of a compact kernel the logarithm would be ``-inf``. There it is
``LOG_FLOOR - d^2``, with ``d`` the distance to the nearest point in widths: finite, below every
supported value, and falling with distance.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
B. W. Silverman. Density estimation for statistics and data analysis. Chapman & Hall, 1986.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from twofold.kernels import Compact, DensityKernel, Gaussian, resolve_kernel
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.caches import ComputedAgain
from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.linalg import shifted_exp, sqdist
from twofold.numerics.row_weights import repeated_rows
from twofold.numerics.sums.dense import DenseSums
from twofold.numerics.sums.neighbors import FARTHEST, LocalMeans, Neighbors, target_blocks
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import (
    RandomLike,
    check_finite,
    check_no_missing,
    check_real,
    check_rng,
)
from twofold.protocols import Array, RadialKernel

LOG_FLOOR = -1e4
SMALLEST_WIDTH = 1e-100
"""Narrower kernels get this width: distances in widths must not overflow."""

MAX_CV_POINTS = 4_000
MAX_POINTS = 20_000


class LatentDensity(ComputedAgain, BaseEstimator):
    """A kernel density of latent points.

    The kernel must have a finite integral. ``points_`` (n, q) are the points, at most 20,000 of
    them if all are within reach of each other; ``log_densities_`` (n,) are the log densities there.
    """

    def __init__(
        self,
        *,
        kernel: str | DensityKernel = "gaussian",
        bandwidth: float | str = "likelihood_cv",
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    def fit(self, Z: Array, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Store the points (n, q) and choose the width."""
        kernel = _density_kernel(self.kernel)
        if self.bandwidth == "likelihood_cv":
            self.bandwidth_ = likelihood_cv_bandwidth(Z, kernel)
        else:
            self.bandwidth_ = max(check_real("bandwidth", self.bandwidth), SMALLEST_WIDTH)
        self.points_ = Z
        self.__dict__.pop("_neighbors", None)
        if len(Z) > MAX_POINTS and self._neighbors is None:
            self.points_ = Z[some_rows(len(Z), MAX_POINTS)]
            del self._neighbors
        self.log_densities_ = self.log_density(self.points_)
        return self

    def log_density(self, Z: Array) -> Array:
        """Return the log densities, shape (n,); finite everywhere."""
        points = self.points_ / self.bandwidth_
        log_shift, mass = self._shifted_mass(Z / self.bandwidth_, points)
        reached = mass > 0.0
        log_density = np.empty(len(Z))
        log_density[reached] = log_shift[reached] + np.log(mass[reached])
        far = np.flatnonzero(~reached)
        for rows in row_blocks(len(far), 3 * 8 * len(points)):
            distances = sqdist(Z[far[rows]] / self.bandwidth_, points)
            log_density[far[rows]] = LOG_FLOOR - distances.min(axis=1, initial=np.inf)
        log_density -= self.log_unit
        return log_density

    @property
    def log_unit(self) -> float:
        """The logarithm of the sum of kernels at a density of one."""
        n, q = self.points_.shape
        integral = _density_kernel(self.kernel).log_integral(q)
        return float(integral + q * np.log(self.bandwidth_) + np.log(n))

    @cached_property
    def _neighbors(self) -> Neighbors | None:
        """The points in a tree; None if the kernel reaches many of them."""
        return Neighbors.if_few(self.points_ / self.bandwidth_, _density_kernel(self.kernel))

    @property
    def columns(self) -> LocalMeans | None:
        """The points for compiled loops; None if the kernel reaches many of them."""
        return None if self._neighbors is None else self._neighbors.columns

    def reaches(self, Z: Array, log_bound: float) -> NDArray[np.bool_]:
        """Tell where the log density is at least a bound, shape (n,).

        The kernel of the nearest point is a part of the density. Where it reaches the bound, the
        sum over all points is not computed.
        """
        if self._neighbors is not None:  # such sums are cheap
            return self.log_density(Z) >= log_bound
        points, scaled = self.points_ / self.bandwidth_, Z / self.bandwidth_
        distances, _ = cKDTree(points).query(np.clip(scaled, -FARTHEST, FARTHEST))
        nearest = _density_kernel(self.kernel).log_profile(np.square(distances))
        found: NDArray[np.bool_] = nearest - self.log_unit >= log_bound
        rest = np.flatnonzero(~found)
        if rest.size:
            found[rest] = self.log_density(Z[rest]) >= log_bound
        return found

    def _shifted_mass(self, scaled: Array, points: Array) -> tuple[Array, Array]:
        """Return ``c`` and ``m`` (n,): the kernels' sum is ``exp(c) m``."""
        neighbors = self._neighbors
        columns = None if neighbors is None else neighbors.local
        if columns is not None and columns.is_available:
            mass, log_shift = columns.mass(scaled, self.n_jobs)
            return log_shift, mass
        if neighbors is None:
            none = np.empty((len(points), 0))
            sums = DenseSums(_density_kernel(self.kernel), self.n_jobs).forward(
                scaled, points, none
            )
            return sums.log_shift, sums.mass
        log_shift, mass = np.empty(len(scaled)), np.empty(len(scaled))

        def work(rows: slice) -> None:
            local = neighbors.weigh(scaled[rows])
            log_shift[rows], mass[rows] = local.log_shift, local.mass

        map_blocks(work, target_blocks(len(scaled)), n_jobs=self.n_jobs)
        return log_shift, mass

    def log_threshold(self, quantile: float = 0.0) -> float:
        """Return the log density that all but a share (``quantile``) of the points reach.

        A share of 0 is step 6 of Meinicke et al. (2005), section 2.3.
        """
        if not 0.0 <= quantile <= 1.0:
            raise ValueError(f"quantile={quantile!r} must lie between 0 and 1.")
        return float(np.quantile(self.log_densities_, quantile))

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> Array:
        """Draw latent points, shape (n_samples, q)."""
        rng = check_rng(random_state)
        centers = self.points_[rng.integers(len(self.points_), size=n_samples)]
        offsets = _density_kernel(self.kernel).sample(n_samples, centers.shape[1], rng)
        return centers + self.bandwidth_ * offsets


def likelihood_cv_bandwidth(Z: Array, kernel: DensityKernel, *, most: int = MAX_CV_POINTS) -> float:
    """Return the width of the highest leave-one-out log-likelihood of points (n, q).

    Exact duplicates would drive the width to zero, so none below the spacing of distinct points is
    tried. If there are more than ``most`` points, a sample is used, and the width shrinks by the
    ratio of the counts to the power 1 / (q + 4), the rate at which optimal widths fall.
    """
    q = Z.shape[1]
    points = Z[some_rows(len(Z), most)]
    widths = np.array(width_grid(points, ratio=2.0**0.5))
    if len(points) < 2:
        return float(widths[0])

    def work(rows: slice) -> Array:
        distances = sqdist(points[rows], points)
        distances[np.arange(len(distances)), np.arange(rows.start, rows.stop)] = np.inf
        totals = np.empty(len(widths))
        for number, width in enumerate(widths):
            weights, shift = shifted_exp(kernel.log_profile(distances / width**2))
            with np.errstate(divide="ignore"):  # no point in reach of a compact kernel
                log_sums = shift + np.log(weights.sum(axis=1))
            totals[number] = np.maximum(log_sums, LOG_FLOOR).sum()
        return totals

    parts = map_blocks(work, row_blocks(len(points), bytes_per_row=3 * 8 * len(points)))
    log_likelihoods = np.sum(parts, axis=0) - len(points) * q * np.log(widths)
    best = float(widths[np.argmax(log_likelihoods)])
    return float(best * (len(points) / len(Z)) ** (1.0 / (q + 4.0)))


class KernelDensityClassifier(ClassifierMixin, BaseEstimator):
    """Classify by the class whose share of the kernel density is highest.

    All classes have the same width, so the density of a class is its part of the density of all
    points (Meinicke et al. 2005, section 4.3).

    Parameters
    ----------
    kernel : str or DensityKernel, default="gaussian"
        The kernel.
    bandwidth : float or "likelihood_cv", default="likelihood_cv"
        The width; use 1.0 on the latents of UKR.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    bandwidth_ : float
        The width.
    densities_ : list of LatentDensity
        One for each class, in centered units.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import KernelDensityClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = KernelDensityClassifier().fit(X, y)
    >>> classifier.score(X, y) > 0.95, classifier.predict(X[:1])
    (True, array([0]))
    >>> classifier.predict_proba(X[:1]).round(2), classifier.predict_log_proba(X[:1]).shape
    (array([[1., 0., 0.]]), (1, 3))
    """

    def __init__(
        self,
        *,
        kernel: str | DensityKernel = "gaussian",
        bandwidth: float | str = "likelihood_cv",
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one density for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, usually latents.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, at least 0. Only ratios matter: whole numbers without a common
            divisor repeat points, other weights are rounded to as many copies as there are points
            with a positive weight.
        """
        if y is not None:
            y = as_numpy(y, "y")
            check_no_missing(y)
        X = as_numpy(X, "X")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
        check_finite(X, "X")
        if sample_weight is not None:
            rows = repeated_rows(sample_weight, *X.shape)
            X, y = (X, y) if rows is None else (X[rows], y[rows])
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError("y has 1 class; a classifier needs at least two classes.")
        units = CenteredUnits.of(X)
        points = units.into(X)
        if self.bandwidth == "likelihood_cv":
            width = likelihood_cv_bandwidth(points, _density_kernel(self.kernel))
        else:
            width = float(np.ldexp(check_real("bandwidth", self.bandwidth), -units.exponent))
            width = max(width, SMALLEST_WIDTH)
        densities = [
            LatentDensity(kernel=self.kernel, bandwidth=width).fit(points[numbers == number])
            for number in range(len(classes))
        ]
        self._units = units
        self.classes_ = classes
        self.bandwidth_ = float(np.ldexp(width, units.exponent))
        self.densities_ = densities
        self.log_priors_ = np.log(np.bincount(numbers) / len(numbers))
        return self

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log of each class's share of the density, shape (n, n_classes)."""
        check_is_fitted(self)
        X = as_numpy(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        check_finite(X, "X")
        points = self._units.into(X)
        joint = np.column_stack([density.log_density(points) for density in self.densities_])
        joint += self.log_priors_
        joint -= joint.max(axis=1, keepdims=True)  # far away all are huge, so subtract first
        normalized: Array = joint - logsumexp(joint, axis=1, keepdims=True)
        return normalized

    def predict_proba(self, X: Any) -> Array:
        """Return each class's share of the density, shape (n, n_classes)."""
        probabilities: Array = np.exp(self.predict_log_proba(X))
        return probabilities

    def predict(self, X: Any) -> Any:
        """Return the class of the highest density, shape (n,)."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]


def _density_kernel(kernel: str | RadialKernel) -> DensityKernel:
    resolved = resolve_kernel(kernel)
    if isinstance(resolved, Gaussian | Compact):
        return resolved
    if not isinstance(resolved, DensityKernel):
        raise TypeError(
            f"kernel={kernel!r} cannot carry a density: its integral is not known to be finite. "
            "Use 'gaussian', 'quartic' or 'triweight'."
        )
    return resolved
