r"""Clusters around planes: k-planes, or local principal components.

.. math:: \frac 1n \sum_i \min_{j \le k} \min_{z \in R^q} |x_i - m_j - V_j z|^2

Smola et al. (2001), section 2, combine k-means and principal components to this quantization error
(Bradley and Mangasarian 1998, Kambhatla and Leen 1997). Rows go to the nearest plane, and each
plane becomes that of the leading principal components of its rows. Neither step raises the error.
For ``q = 0`` the method is k-means, for ``k = 1`` principal component analysis.

A code has a number, that of the plane, and q coordinates. So the domain is k copies of ``R^q``,
which no smooth map covers: the method stands beside `PrincipalManifold`.

All steps are in centered units (`twofold.numerics.units`), so results do not depend on the scale of
the data.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from twofold.base.dimensions import warn_of_rank
from twofold.numerics.linalg import principal_axes, rank_up_to, row_norms_sq, sqdist
from twofold.numerics.row_products import row_product
from twofold.numerics.row_weights import check_sample_weight, repeated_rows
from twofold.numerics.units import FAR, CenteredUnits
from twofold.numerics.validation import (
    cast_back,
    check_data,
    check_int,
    check_latents,
    check_not_negative,
    warn_user,
)
from twofold.numerics.validation import check_rng as rng_of
from twofold.protocols import Array, IntArray

ROWS_OF_A_START = 3
"""Rows that span a first plane, in multiples of ``q + 1``."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Of a distance to a plane, for each column, as a share of the distance to its center."""


@dataclass(frozen=True)
class Planes:
    """Centers (k, D) and orthonormal axes (k, q, D) of planes; missing axes are 0."""

    centers: Array
    axes: Array

    def squares(self, data: Array) -> Array:
        """Return the squared distances of rows to all planes (n, k).

        Those that are only rounding are 0: a row on several planes belongs to the first of them,
        whatever the other rows.
        """
        found = np.empty((len(data), len(self.centers)))
        rounding = ROUNDING * data.shape[1]
        for number, (center, axes) in enumerate(zip(self.centers, self.axes, strict=True)):
            offsets = data - center
            squares = row_norms_sq(offsets - row_product(row_product(offsets, axes.T), axes))
            squares[squares <= rounding**2 * row_norms_sq(offsets)] = 0.0
            found[:, number] = squares
        return found


class KPlanes(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator):
    """Clusters around k planes: k-planes, or local principal components.

    Each row belongs to the nearest of k planes of ``n_components`` dimensions, and each plane is
    that of the leading principal components of its rows (Smola et al. 2001, section 2). It suits
    data that consist of flat pieces; for one curved piece use `PrincipalManifold`.

    Data that vary in fewer than ``n_components`` directions, or not at all, give a warning.

    Parameters
    ----------
    n_planes : int, default=2
        Number of planes, k.
    n_components : int, default=1
        Dimension of the planes, q; 0 gives k-means.
    n_init : int, default=10
        Number of starts, each from planes through neighboring rows; the lowest error wins.
    max_iter : int, default=100
        Maximum number of iterations of a start.
    tol : float, default=1e-6
        An iteration that lowers the error by a smaller share is the last.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the starts.

    Attributes
    ----------
    centers_ : ndarray of shape (n_planes, n_features)
        The means of the clusters.
    axes_ : ndarray of shape (n_planes, n_components, n_features)
        Orthonormal axes of the planes. An axis is 0 if the rows of its plane have no further
        direction; entries of constant columns are 0.
    labels_ : ndarray of shape (n_samples,)
        The plane of each training row.
    history_ : ndarray of shape (n_values,)
        The mean squared distance as a share of the variance, at the start and after each iteration
        of the best start. It never rises.
    n_iter_ : int
        Iterations of the best start.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
    JMLR 1, 2001.

    Examples
    --------
    Two crossing lines:

    >>> import numpy as np
    >>> from twofold.principal_manifold import KPlanes
    >>> t = np.linspace(-1, 1, 50)
    >>> X = np.vstack([np.c_[t, 0.5 * t], np.c_[t, -0.5 * t]])
    >>> model = KPlanes(n_planes=2, random_state=0).fit(X)
    >>> codes = model.transform(X)  # plane and coordinate of each row
    >>> codes.shape, bool(np.abs(model.inverse_transform(codes) - X).max() < 1e-8)
    ((100, 2), True)
    >>> bool((model.predict(X) == codes[:, 0]).all()), round(model.score(X), 3)
    (True, 1.0)
    """

    def __init__(
        self,
        n_planes: int = 2,
        n_components: int = 1,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_planes = n_planes
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        sample_weight: Any = None,
    ) -> Self:
        """Find the planes of data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : None, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0. Only ratios matter: whole numbers without a common
            divisor repeat rows, other weights are rounded to as many copies as there are rows with
            a positive weight.

        Returns
        -------
        self
        """
        for name in ("n_planes", "n_init", "max_iter"):
            check_int(name, getattr(self, name))
        check_not_negative("tol", self.tol)
        given, _ = check_data(self, X, reset=True)
        rows = None if sample_weight is None else repeated_rows(sample_weight, *given.shape)
        data = given if rows is None else given[rows]
        check_int("n_components", self.n_components, low=0, high=data.shape[1])
        if self.n_planes > len(data):
            raise ValueError(f"n_planes={self.n_planes} exceeds the number of rows, {len(data)}.")
        rng = rng_of(self.random_state)
        units = CenteredUnits.of(data)
        inside = units.into(data)
        self._warn_of_rank(inside)
        runs = [self._run(inside, rng) for _ in range(self.n_init)]
        planes, labels, history = min(runs, key=lambda run: run[2][-1])
        axes = np.zeros((*planes.axes.shape[:2], data.shape[1]))
        axes[:, :, units.varying] = planes.axes
        variance = float(row_norms_sq(inside).mean())
        self._units, self._planes = units, planes
        self.centers_, self.axes_ = units.back(planes.centers), axes
        self.labels_ = labels if rows is None else self._nearest(units.into(given))
        self.history_ = np.array(history) / (variance if variance > 0.0 else 1.0)
        self.n_iter_ = len(history) - 1
        return self

    def _warn_of_rank(self, inside: Array) -> None:
        if not inside.any():
            warn_user("All rows of X are equal: every plane passes through that row.", UserWarning)
        elif self.n_components:
            warn_of_rank(rank_up_to(inside, self.n_components), self.n_components)

    def _run(self, data: Array, rng: np.random.Generator) -> tuple[Planes, IntArray, list[float]]:
        """Return planes, labels (n,) and errors of one start."""
        planes = self._first(data, rng)
        squares = planes.squares(data)
        history = [float(squares.min(axis=1).mean())]
        labels = squares.argmin(axis=1)
        for _ in range(self.max_iter):
            planes = self._adapted(data, labels, squares)
            squares = planes.squares(data)
            labels = squares.argmin(axis=1)
            history.append(float(squares.min(axis=1).mean()))
            if history[-2] - history[-1] <= self.tol * history[-2]:
                break
        return planes, labels, history

    def _first(self, data: Array, rng: np.random.Generator) -> Planes:
        """Return planes through the neighbors of rows that are drawn at random."""
        n_near = min(len(data), ROWS_OF_A_START * (self.n_components + 1))
        chosen = rng.choice(len(data), self.n_planes, replace=False)
        parts = [data[np.argsort(sqdist(data[[row]], data)[0])[:n_near]] for row in chosen]
        return self._planes_of([part if self.n_components else part[:1] for part in parts])

    def _adapted(self, data: Array, labels: IntArray, squares: Array) -> Planes:
        """Return the principal planes of the clusters; an empty one takes the most distant row."""
        labels = labels.copy()
        counts = np.bincount(labels, minlength=self.n_planes)
        far = iter(np.argsort(squares.min(axis=1))[::-1])
        for number in np.flatnonzero(counts == 0):
            row = next(row for row in far if counts[labels[row]] > 1)  # empty no other cluster
            counts[labels[row]] -= 1
            counts[number] += 1
            labels[row] = number
        return self._planes_of([data[labels == number] for number in range(self.n_planes)])

    def _planes_of(self, parts: list[Array]) -> Planes:
        q, n_columns = self.n_components, parts[0].shape[1]
        centers = np.array([part.mean(axis=0) for part in parts])
        axes = np.zeros((len(parts), q, n_columns))
        for number, (part, center) in enumerate(zip(parts, centers, strict=True)):
            if q:
                axes[number] = principal_axes(part - center, q)[0]
        return Planes(centers, axes)

    def predict(self, X: Any) -> IntArray:
        """Return the nearest plane of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        check_is_fitted(self)
        data, _ = check_data(self, X, reset=False)
        return self._nearest(self._units.into(data))

    def _nearest(self, inside: Array) -> IntArray:
        return np.asarray(self._planes.squares(inside).argmin(axis=1))

    def transform(self, X: Any) -> Array:
        """Return the plane of each row, and its coordinates there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, 1 + n_components)
            The number of the plane, then the coordinates.
        """
        check_is_fitted(self)
        data, dtype = check_data(self, X, reset=False)
        inside = self._units.into(data)
        labels = self._nearest(inside)
        offsets = inside - self._planes.centers[labels]
        coordinates = np.einsum("nd,nqd->nq", offsets, self._planes.axes[labels])
        with np.errstate(over="ignore"):
            scaled = np.ldexp(coordinates, self._units.exponent)
        limit = np.finfo(np.float64).max
        codes = np.hstack([labels[:, None], np.clip(scaled, -limit, limit)])
        return cast_back(codes, dtype)

    def inverse_transform(self, Z: Any) -> Array:
        """Return the points of given codes.

        Parameters
        ----------
        Z : array-like of shape (n_samples, 1 + n_components)
            Numbers of planes, integers from 0 to ``n_planes - 1``, then coordinates.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        n_planes, q = self.axes_.shape[:2]
        fitted_with = f"n_components={q}, so codes have 1 + n_components = {1 + q} columns"
        codes, dtype = check_latents(Z, 1 + q, owner=type(self).__name__, fitted_with=fitted_with)
        numbers = codes[:, 0]
        wrong = (numbers != np.rint(numbers)) | (numbers < 0) | (numbers >= n_planes)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"Z has {numbers[row]:g} in row {row}, column 0. That is the number of a plane: an "
                f"integer from 0 to {n_planes - 1}. Pass codes as transform returns them."
            )
        labels = numbers.astype(np.intp)
        with np.errstate(over="ignore"):
            coordinates = np.clip(np.ldexp(codes[:, 1:], -self._units.exponent), -FAR, FAR)
        offsets = np.einsum("nq,nqd->nd", coordinates, self._planes.axes[labels])
        return cast_back(self._units.back(self._planes.centers[labels] + offsets), dtype)

    @property
    def _n_features_out(self) -> int:
        return 1 + int(self.axes_.shape[1])

    def score(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        sample_weight: Any = None,
    ) -> float:
        """Return the share of the variance that the codes keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : None, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0, in the error and in the variance.

        Returns
        -------
        float
            1 if all rows lie in the planes.
        """
        check_is_fitted(self)
        data, _ = check_data(self, X, reset=False)
        inside, units, weights = self._units.into(data), self._units, np.ones(len(data))
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, len(data))
            weights /= weights.max()

        def around_mean(values: Array) -> float:
            center = weights @ values / weights.sum()
            return float(weights @ row_norms_sq(values - center))

        lost = weights @ self._planes.squares(inside).min(axis=1)
        total = around_mean(inside)
        if not units.varying.all():  # these columns decode to their constants
            with np.errstate(over="ignore"):
                rest = data[:, ~units.varying] - units.constants[~units.varying]
                rest = np.clip(np.ldexp(rest, -units.exponent), -FAR, FAR)
            lost += weights @ row_norms_sq(rest)
            total += around_mean(rest)
        return float(1.0 - lost / total) if total > 0.0 else 1.0

    def __sklearn_tags__(self) -> Any:
        """Declare that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
