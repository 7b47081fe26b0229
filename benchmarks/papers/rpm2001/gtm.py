r"""The generative topographic map (Bishop et al. 1998), with which the paper compares.

K places of a grid are mapped by Gaussian basis functions and a constant; rows are noisy images of
the places. Expectation-maximization with a penalty of the weights, from the plane of the leading
principal components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from twofold.numerics.linalg import principal_axes
from twofold.protocols import Array

FINE = 100
"""Places along a dimension where a row's nearest image is sought."""


@dataclass(frozen=True)
class TopographicMap:
    """A fitted map: basis functions, their weights, and the precision of the noise."""

    centers: Array
    width: float
    weights: Array
    precision: float
    places: Array
    center: Array

    def images(self, places: Array) -> Array:
        """Return the images of places (n, 2)."""
        return np.asarray(_basis(places, self.centers, self.width) @ self.weights + self.center)

    def transform(self, X: Array) -> Array:
        """Return the posterior means of the rows (n, 2)."""
        logs = -0.5 * self.precision * np.square(cdist(X, self.images(self.places)))
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        return np.asarray(shares @ self.places)

    def errors(self, X: Array) -> tuple[float, float]:
        """Return the mean squared distances to the nearest place, and to that of a fine grid."""
        fine = _grid(FINE)
        return tuple(  # type: ignore[return-value]
            float(np.square(cdist(X, self.images(one)).min(axis=1)).mean())
            for one in (self.places, fine)
        )


def fit_gtm(
    X: Array, side: int, n_basis: int, spread: float, penalty: float, n_iter: int
) -> TopographicMap:
    """Fit a map with ``side`` x ``side`` places and ``n_basis`` x ``n_basis`` basis functions.

    ``spread`` is the width of these in distances between their centers.
    """
    places, centers = _grid(side), _grid(n_basis)
    width = spread * 2.0 / (n_basis - 1.0)
    phi = _basis(places, centers, width)
    center = X.mean(axis=0)
    data = X - center
    axes, variances = principal_axes(data, 3)
    plane = places @ (axes[:2] * np.sqrt(variances[:2])[:, None])
    ridge = np.eye(phi.shape[1])
    weights = np.linalg.solve(phi.T @ phi + 1e-6 * ridge, phi.T @ plane)
    precision = 1.0 / float(variances[2])
    for _ in range(n_iter):
        squares = np.square(cdist(data, phi @ weights))
        logs = -0.5 * precision * squares
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        counts = shares.sum(axis=0)
        system = (phi * counts[:, None]).T @ phi + penalty / precision * ridge
        weights = np.linalg.solve(system, phi.T @ (shares.T @ data))
        squares = np.square(cdist(data, phi @ weights))
        precision = data.size / float(np.vdot(shares, squares))
    return TopographicMap(centers, width, weights, precision, places, center)


def _grid(side: int) -> Array:
    axis = np.linspace(-1.0, 1.0, side)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def _basis(places: Array, centers: Array, width: float) -> Array:
    radial = np.exp(-0.5 * np.square(cdist(places, centers) / width))
    return np.hstack([radial, np.ones((len(places), 1))])
