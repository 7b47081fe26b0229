r"""Clusters around planes: k-planes, or local principal components.

.. math:: \frac 1n \sum_i \min_{j \le k} \min_{z \in R^q} |x_i - m_j - V_j z|^2

Smola et al. (2001), section 2, combine k-means and principal components to this quantization error
(Bradley and Mangasarian 1998, Kambhatla and Leen 1997). Rows go to the nearest plane, and each
plane becomes that of the leading principal components of its rows. Neither step raises the error.
For ``q = 0`` the method is k-means, for ``k = 1`` principal component analysis.

A code has a number, that of the plane, and q coordinates. So the domain is k copies of ``R^q``,
which no smooth map covers: the method stands beside `PrincipalManifold`.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold.numerics.linalg import principal_axes, row_norms_sq, sqdist
from twofold.numerics.validation import check_data, check_int, check_latents, check_not_negative
from twofold.numerics.validation import check_rng as rng_of
from twofold.protocols import Array, IntArray

ROWS_OF_A_START = 3
"""Rows that span a first plane, in multiples of ``q + 1``."""


@dataclass(frozen=True)
class _Planes:
    """Centers (k, D) and orthonormal axes (k, q, D) of planes."""

    centers: Array
    axes: Array

    def squares(self, data: Array) -> Array:
        """Return the squared distances of rows to all planes (n, k)."""
        found = np.empty((len(data), len(self.centers)))
        for number, (center, axes) in enumerate(zip(self.centers, self.axes, strict=True)):
            offsets = data - center
            found[:, number] = row_norms_sq(offsets - (offsets @ axes.T) @ axes)
        return found


class KPlanes(ClusterMixin, TransformerMixin, BaseEstimator):
    """Clusters around k planes: k-planes, or local principal components.

    Each row belongs to the nearest of k planes of ``n_components`` dimensions, and each plane is
    that of the leading principal components of its rows (Smola et al. 2001, section 2). It suits
    data that consist of flat pieces; for one curved piece use `PrincipalManifold`.

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
        Orthonormal axes of the planes.
    labels_ : ndarray of shape (n_samples,)
        The plane of each training row.
    history_ : ndarray of shape (n_values,)
        The mean squared distance at the start and after each iteration of the best start. It never
        rises.
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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Find the planes of data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : None, default=None
            Ignored.

        Returns
        -------
        self
        """
        for name in ("n_planes", "n_init", "max_iter"):
            check_int(name, getattr(self, name))
        check_not_negative("tol", self.tol)
        data, _ = check_data(self, X, reset=True)
        check_int("n_components", self.n_components, low=0, high=data.shape[1])
        if self.n_planes > len(data):
            raise ValueError(f"n_planes={self.n_planes} exceeds the number of rows, {len(data)}.")
        rng = rng_of(self.random_state)
        offset = data.mean(axis=0)
        inside = data - offset
        runs = [self._run(inside, rng) for _ in range(self.n_init)]
        planes, labels, history = min(runs, key=lambda run: run[2][-1])
        self.centers_, self.axes_ = planes.centers + offset, planes.axes
        self.labels_, self.history_ = labels, np.array(history)
        self.n_iter_ = len(history) - 1
        return self

    def _run(self, data: Array, rng: np.random.Generator) -> tuple[_Planes, IntArray, list[float]]:
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

    def _first(self, data: Array, rng: np.random.Generator) -> _Planes:
        """Return planes through the neighbors of rows that are drawn far from each other."""
        n_near = min(len(data), ROWS_OF_A_START * (self.n_components + 1))
        chosen = rng.choice(len(data), self.n_planes, replace=False)
        parts = [data[np.argsort(sqdist(data[[row]], data)[0])[:n_near]] for row in chosen]
        return self._planes([part if self.n_components else part[:1] for part in parts])

    def _adapted(self, data: Array, labels: IntArray, squares: Array) -> _Planes:
        """Return the principal planes of the clusters; an empty one takes the most distant row."""
        labels = labels.copy()
        far = list(np.argsort(squares.min(axis=1)))
        for number in range(self.n_planes):
            if not (labels == number).any():
                labels[far.pop()] = number
        return self._planes([data[labels == number] for number in range(self.n_planes)])

    def _planes(self, parts: list[Array]) -> _Planes:
        q, n_columns = self.n_components, parts[0].shape[1]
        centers = np.array([part.mean(axis=0) for part in parts])
        axes = np.zeros((len(parts), q, n_columns))
        for number, (part, center) in enumerate(zip(parts, centers, strict=True)):
            found = min(q, *part.shape)
            if found:
                axes[number, :found] = principal_axes(part - center, found)[0]
        return _Planes(centers, axes)

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
        return self._nearest(data)

    def _nearest(self, data: Array) -> IntArray:
        return np.asarray(_Planes(self.centers_, self.axes_).squares(data).argmin(axis=1))

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
        labels = self._nearest(data)
        offsets = data - self.centers_[labels]
        coordinates = np.einsum("nd,nqd->nq", offsets, self.axes_[labels])
        return np.hstack([labels[:, None], coordinates]).astype(dtype, copy=False)

    def inverse_transform(self, Z: Any) -> Array:
        """Return the points of given codes.

        Parameters
        ----------
        Z : array-like of shape (n_samples, 1 + n_components)
            Numbers of planes, then coordinates.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        codes, dtype = check_latents(Z, 1 + self.n_components, owner=type(self).__name__)
        labels = np.clip(np.rint(codes[:, 0]), 0, self.n_planes - 1).astype(np.intp)
        images: Array = self.centers_[labels]
        images = images + np.einsum("nq,nqd->nd", codes[:, 1:], self.axes_[labels])
        return np.asarray(images, dtype=dtype)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return the share of the variance that the codes keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : None, default=None
            Ignored.

        Returns
        -------
        float
            1 if all rows lie in the planes.
        """
        check_is_fitted(self)
        data, _ = check_data(self, X, reset=False)
        lost = _Planes(self.centers_, self.axes_).squares(data).min(axis=1).sum()
        total = row_norms_sq(data - data.mean(axis=0)).sum()
        return float(1.0 - lost / total) if total > 0.0 else 1.0
