r"""The paper's algorithm as printed, and the two readings of its regularization constant.

Sections 5.1 to 5.3 without anything the paper does not have: centered data and no ``f_0``, one
start in the plane of the leading principal components (Eq. 35), and alternating exact projections
(Eq. 30) and adaptations (Eq. 33). The library adds ``f_0``, starts from Isomap and from planes that
grow, and the choice of the weight by cross-validation.

**The weight.** Squared loss and penalty are both homogeneous of degree 2: if data and map are
multiplied by a factor, the functional is multiplied by its square. So ``lambda`` has no unit, and
no scaling of the data explains that the values of Fig. 1, inserted into Eq. (33), leave little more
than the mean. There are two readings:

===============  =================================  ====================
name             the system of an adaptation        ``lambda`` in Eq. 14
===============  =================================  ====================
"printed"        ``lambda m / 2 K_z + K^T K``       ``lambda``
"without m / 2"  ``lambda K_z + K^T K``             ``2 lambda / m``
===============  =================================  ====================

The second is the sum of squares plus ``lambda |P f|^2``. It reproduces the figures of the paper.
The system that the paper prints below Eq. (35) lacks the number of terms in the same way:
minimizing Eq. (35), a mean over M nodes, gives ``lambda M / 2 + K_z``, and the paper prints
``lambda / 2 + K_z``.

**The width.** "Width 1" is the ``sigma`` of Eq. (18) in units of the domain ``[-1, 1]``.

**The start.** ``V`` in Eq. (35) has unit columns as printed; like the generative topographic map,
which the paper follows, we scale them by the deviations of the data. Otherwise the start depends on
the unit of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from benchmarks.papers.rpm2001.data import both_distances
from twofold.losses import Squared
from twofold.numerics.linalg import principal_axes
from twofold.principal_manifold.domains import Domain
from twofold.principal_manifold.node_kernels import GaussianKernel
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array

READINGS = ("without m / 2", "printed")
SEARCH = {1: 100, 2: 25, 3: 12}
"""Places along a dimension from which a projection starts: the best of them."""

MOST_TURNS, TOL = 200, 1e-4
"""The end: “until the regularized quantization functional does not decrease significantly”."""


def weight_of(reading: str, value: float, n_rows: int) -> float:
    """Return the ``lambda`` of Eq. (14) for a value that the paper prints."""
    return value if reading == "printed" else 2.0 * value / n_rows


@dataclass(frozen=True)
class LiteralManifold:
    """A manifold of the paper's algorithm.

    ``terms`` (k, 2) holds penalty and mean loss at the start and after every half turn, ``latents``
    (m, q) those of the training rows, ``center`` (D,) the mean of the data.
    """

    projection: DomainProjection
    center: Array
    latents: Array
    terms: Array

    @property
    def embedding_(self) -> Array:
        """The latents of the training rows, under the name that estimators use."""
        return self.latents

    def transform(self, X: Array) -> Array:
        """Return the places of the nearest images."""
        return self.projection.predict(X - self.center)

    def inverse_transform(self, Z: Array) -> Array:
        """Return the images."""
        return np.asarray(self.projection.up.predict(Z) + self.center)

    @property
    def roughness(self) -> float:
        """``Q`` of the map, in squared units of the data."""
        up = self.projection.up
        return 0.5 * float(np.vdot(up.weights_, up.gram() @ up.weights_))

    def error(self, X: Array) -> float:
        """Return the mean squared error of rows."""
        return float(np.square(X - self.inverse_transform(self.transform(X))).sum(axis=1).mean())

    def lost(self, X: Array) -> float:
        """Return the mean squared error as a share of the variance of the same rows."""
        total = np.square(X - X.mean(axis=0)).sum(axis=1).mean()
        return self.error(X) / float(total)

    def distance(self, truth: Array) -> float:
        """Return the mean distance of points (n, D) of a true curve to this curve."""
        places = np.linspace(-1.0, 1.0, 2_000)[:, None]
        return both_distances(self.inverse_transform(places), truth)[0]


def literal_fit(
    X: Array,
    weight: float,
    *,
    per_dimension: int,
    n_components: int = 1,
    width: float = 1.0,
    n_turns: int = MOST_TURNS,
    tol: float = TOL,
    limit: float | None = None,
) -> LiteralManifold:
    """Minimize Eq. (14) with the weight ``lambda`` as printed there.

    Parameters are the nodes along each dimension and the kernel's width in units of the domain.
    With a ``limit``, the class of Eq. (41): minimize Eq. (3) subject to ``Q[f] <= limit``, from the
    plane of the given weight.
    """
    domain = Domain((False,) * n_components)
    nodes = domain.grid((per_dimension,) * n_components)
    kernels = (GaussianKernel(),) * n_components
    up = NodeExpansion(nodes, kernels, np.full(n_components, width))
    center = X.mean(axis=0)
    data = X - center
    up = _with(up, _start(up, data, weight))
    price = weight if limit is None else 0.0
    grid = domain.grid((SEARCH[n_components],) * n_components)
    terms: list[list[float]] = []

    def project(up: NodeExpansion, latents: Array | None) -> Array:
        return DomainProjection(up, domain, grid, Squared(), many=True).lower(data, latents)[0]

    def note(up: NodeExpansion, latents: Array) -> float:
        penalty = 0.5 * price * float(np.vdot(up.weights_, up.gram() @ up.weights_))
        error = float(np.square(data - up.predict(latents)).sum(axis=1).mean())
        terms.append([penalty, error])
        return penalty + error

    latents = project(up, None)
    if limit is not None:
        up = _with(up, _adapted(up, latents, data, weight, limit))
    value = note(up, latents)
    for _ in range(n_turns):
        before = value
        up = _with(up, _adapted(up, latents, data, weight, limit))
        note(up, latents)
        latents = project(up, latents)
        value = note(up, latents)
        if before - value <= tol * before:
            break
    found = DomainProjection(up, domain, grid, Squared(), many=True)
    return LiteralManifold(found, center, latents, np.array(terms))


def _start(up: NodeExpansion, data: Array, weight: float) -> Array:
    """Return the coefficients of Eq. (35): the system printed below it, with M."""
    axes, variances = principal_axes(data, up.nodes.shape[1])
    targets = (up.nodes - up.nodes.mean(axis=0)) @ (axes * np.sqrt(variances)[:, None])
    return _solve(up, up.gram(), targets, 0.5 * weight * len(up.nodes))


def _adapted(
    up: NodeExpansion, latents: Array, data: Array, weight: float, limit: float | None
) -> Array:
    """Return the coefficients of Eq. (33), or the best ones within the limit."""
    return _solve(up, up.features(latents), data, 0.5 * weight * len(data), limit)


def _solve(
    up: NodeExpansion, features: Array, targets: Array, ridge: float, limit: float | None = None
) -> Array:
    """Solve ``(ridge K_z + F^T F) alpha = F^T X`` in directions in which ``K_z`` is not singular.

    A width of 1 makes ``K_z`` of ten nodes singular to working precision. With a limit, the ridge
    is the smallest for which ``Q`` is at most the limit.
    """
    white = up.whitening()
    inside = features @ white
    values, axes = np.linalg.eigh(inside.T @ inside)
    right = axes.T @ (inside.T @ targets)
    if limit is not None:

        def excess(log_ridge: float) -> float:
            solution = right / (np.maximum(values, 0.0) + np.exp(log_ridge))[:, None]
            return float(0.5 * np.square(solution).sum() - limit)

        low, high = np.log(1e-12 * len(targets)), np.log(1e12 * len(targets))
        ridge = float(np.exp(brentq(excess, low, high))) if excess(low) > 0.0 else np.exp(low)
    coefficients: Array = white @ (axes @ (right / (np.maximum(values, 0.0) + ridge)[:, None]))
    return coefficients


def _with(up: NodeExpansion, weights: Array) -> NodeExpansion:
    """Return the expansion with other coefficients, and no ``f_0``."""
    new = NodeExpansion(up.nodes, up.kernels, up.widths)
    for name in ("_gram", "_basis", "_places", "_grid"):  # they depend on the nodes alone
        if name in up.__dict__:
            new.__dict__[name] = up.__dict__[name]
    new.weights_, new.intercept_ = weights, np.zeros(weights.shape[1])
    return new


def papers_width(per_dimension: int, width: float = 1.0) -> float:
    """Return a width in units of the domain as the estimator's, in distances between nodes."""
    return width * (per_dimension - 1) / 2.0
