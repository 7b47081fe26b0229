r"""How features vary around a place of the map, at the scale of the map.

The derivative of the encoder answers what an infinitely small change of one feature does to a row's
position. It is a poor guide to the features that a place is about. At that scale a map follows the
noise of its rows: within a cluster two latents are spent on noise, and nuisance features come
first. And a derivative is a filter: it weighs a feature also to cancel the noise of others, so that
its weights do not show what belongs to the position (Haufe et al. 2014). So by default the effects
come from *patterns*, at the scale of the map. The images of the training latents :math:`z_i` are
regressed on the latents around the place :math:`z`, by weighted least squares with the heavy tails
of a Student kernel,

.. math:: \min_{a, B} \sum_i \frac{|f(z_i) - a - B (z_i - z)|^2}{1 + |z_i - z|^2 / h^2},
          \qquad h = \texttt{scale} \cdot \text{extent}.

In two dimensions these weights give each doubling of the distance about the same weight, so near
rows and other clusters both count. With the covariance :math:`\Sigma` of the latents, the spread
:math:`s_j` and the explained share :math:`\rho_j` of a feature (`twofold.explaining.reference`),

.. math:: m_j = \rho_j \, \Sigma B_j^T / s_j, \qquad
          e_j = |\Sigma^{-1/2} m_j| = \rho_j |B_j \Sigma^{1/2}| / s_j .

The *move* :math:`m_j` is the regression of the position on the feature, which turns the filter of
the encoder into a pattern: where a row is expected to lie if all that is known of it is that the
feature is one spread higher. The *effect* :math:`e_j` is its length in standard deviations of the
map. It is also the change of the decoded feature, in spreads, if the row moves by one standard
deviation across the map. The factor :math:`\rho_j` shrinks slopes by their reliability: those of
features that the map does not explain are noise.

With ``scale=0`` the move is :math:`(\partial F / \partial x_j) s_j`, from the exact derivative of
the encoder, and the effect is its length; see `twofold.explaining.derivatives`.

Decided on planted features (``python -m benchmarks.explain``): the share of held-out rows whose
first feature is a planted one is in the guide, docs/guide/explain.md, for both.

References
----------
S. Haufe, F. Meinecke, K. Goergen, S. Daehne, J.-D. Haynes, B. Blankertz, F. Biessmann. On the
interpretation of weight vectors of linear models in multivariate neuroimaging. NeuroImage 87, 2014.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from twofold.explaining.derivatives import encoder_derivatives
from twofold.explaining.reference import SMALLEST, SMALLEST_SCALE, Fitted, Reference
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array

FLOOR = 1e-9
"""Eigenvalues of covariances are raised to this share of the largest before they are inverted."""


def moves_and_effects(reference: Reference, Z: Array, scale: float) -> tuple[Array, Array]:
    """Return the moves (n, k, q) of columns and the effects (n, n_features) at latents (n, q).

    The moves are in the model's latent units.
    """
    root, _ = _roots(reference.covariance)
    columns = reference.columns
    shares = reference.explained[columns.features] / reference.divisors[columns.features]
    slopes = local_slopes(reference, Z, scale) * shares[:, None]
    lengths = np.square(_product(slopes, root)).sum(axis=2)
    return _product(slopes, reference.covariance), np.sqrt(columns.sums(lengths))


def exact_moves_and_effects(model: Fitted, reference: Reference, X: Array) -> tuple[Array, Array]:
    """Return the same for rows (n, D) without gaps, from the derivative of the encoder."""
    _, inverse = _roots(reference.covariance)
    columns = reference.columns
    derivatives = encoder_derivatives(model, columns, X)
    variances = np.maximum(_spreads_of_columns(reference), SMALLEST)
    moves = derivatives.transpose(0, 2, 1) * variances[:, None]
    lengths = np.square(_product(moves, inverse)).sum(axis=2)
    return moves, np.sqrt(columns.sums(lengths))


def _spreads_of_columns(reference: Reference) -> Array:
    """Return the spread (k,) of each column: its part in that of its feature."""
    columns = reference.columns
    if columns.is_plain:
        return reference.spreads[columns.features]
    own = reference.images.std(axis=0)
    totals = np.sqrt(columns.sums(np.square(own)[None])[0])
    share: Array = own / np.maximum(totals, SMALLEST)[columns.features]
    return share * reference.spreads[columns.features]


def local_slopes(reference: Reference, Z: Array, scale: float) -> Array:
    """Return the slopes ``B`` (n, k, q) of the images around places (n, q)."""
    n, q = Z.shape
    m, k = reference.images.shape
    slopes = np.empty((n, k, q))
    relative = 1.0 / max(scale, SMALLEST_SCALE) ** 2
    for rows in row_blocks(n, 8 * ((q + 2) * m + (q + 1) * k)):
        offsets = [reference.offsets(Z[rows], column) for column in range(q)]
        distances = np.sum([np.square(one) for one in offsets], axis=0)
        weights = 1.0 / (1.0 + distances * relative)
        weights /= weights.sum(axis=1, keepdims=True)
        centered = [one - (weights * one).sum(axis=1, keepdims=True) for one in offsets]
        weighted = [weights * one for one in centered]
        gram = np.array([[(a * b).sum(axis=1) for b in centered] for a in weighted])
        gram = gram.transpose(2, 0, 1)
        floors = FLOOR * (np.trace(gram, axis1=1, axis2=2) + FLOOR)
        gram += floors[:, None, None] * np.eye(q)
        products = np.stack([row_product(one, reference.images) for one in weighted], axis=1)
        solved = np.linalg.solve(gram, products)
        slopes[rows] = solved.transpose(0, 2, 1) / reference.extent
    return slopes


def _roots(covariance: Array) -> tuple[Array, Array]:
    """Return the root of a covariance matrix and the root of its inverse, with a floor."""
    values, vectors = linalg.eigh(covariance)
    largest = max(float(values[-1]), SMALLEST**2)
    kept = np.sqrt(np.maximum(values, FLOOR * largest))
    return (vectors * kept) @ vectors.T, (vectors / kept) @ vectors.T


def _product(A: Array, B: Array) -> Array:
    """Return ``A @ B`` for the last dimension of A (n, k, q), which is short."""
    return np.stack([(A * B[:, column]).sum(axis=2) for column in range(B.shape[1])], axis=2)
