r"""Classical multidimensional scaling of geodesic distances, of all pairs or from landmarks.

With squared distances ``K = [g_ij^2]`` and the centering matrix ``B = I - 1 1^T / n``, the leading
eigenpairs of ``S = -B K B / 2`` give the coordinates ``z_ip = sqrt(lambda_p) v_ip``. ``S`` is never
formed: the product ``S v`` centers ``v``, multiplies by ``K`` block by block, and centers again. So
``K`` may be stored in single precision (``4 n^2`` bytes in all) while sums run in double.

From ``m`` landmarks the ``m x n`` squared distances suffice (de Silva & Tenenbaum 2004). With the
eigenpairs of the landmarks' own ``S`` and the mean ``mu_j`` of a landmark's squared distances to
the others, any point lies at

.. math:: z_p = -\tfrac12 \sum_j \frac{v_{jp}}{\sqrt{\lambda_p}} (g_j^2 - \mu_j) ,

which reproduces the coordinates of the landmarks, and is exact for points on a flat manifold.

The residual variance of the first ``d`` coordinates, ``1 - R^2`` with ``R`` the correlation of
geodesic and embedded distances, falls until ``d`` is the dimension of the manifold and then stays:
the elbow (Tenenbaum et al. 2000).

Notation
--------
==================================  =====================================
Orsenigo & Vercellis, section 2.1   here
==================================  =====================================
``K = [g_ij^2]``                    ``squares``
``B``, ``S``                        applied by `_centered_product`
``lambda_p``, ``v_p``, ``z_i``      ``values``, ``vectors``, ``Z``
==================================  =====================================

References
----------
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
* V. de Silva and J. Tenenbaum. Sparse multidimensional scaling using landmark points. Stanford
  University, 2004.
* J. Tenenbaum, V. de Silva and J. Langford. A global geometric framework for nonlinear
  dimensionality reduction. *Science* 290, 2000.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from twofold.geodesics.graph import geodesic_distances
from twofold.numerics.linalg import fix_signs, principal_axes
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.numerics.validation import warn_user
from twofold.protocols import AnyArray, Array, IntArray

DENSE_EIGEN = 1_000
"""Rows up to which all eigenpairs are computed; beyond, the leading ones by products."""

SAMPLE_ROWS = 1_000
"""Rows whose distances to all others represent all pairs in a correlation."""

SMALLEST_VARIANCE = 1e-4
"""Residual variances below this count as zero."""

MOST_RESTARTS = 300


def squared_geodesics(graph: csr_array, sources: IntArray | None, dtype: Any) -> AnyArray:
    """Return the squared shortest path lengths (m, n) from some vertices of a graph, or all.

    Paths are found in double precision, block by block, and stored as ``dtype``.
    """
    n = graph.shape[0]
    rows = np.arange(n) if sources is None else sources
    squares = np.empty((len(rows), n), dtype=dtype)

    def work(block: slice) -> None:
        lengths = geodesic_distances(graph, indices=rows[block], n_sources=len(rows))
        squares[block] = np.square(lengths, out=lengths)

    map_blocks(work, row_blocks(len(rows), 8 * n))
    return squares


def classical_scaling(squares: AnyArray, n_components: int) -> Array:
    """Return coordinates (n, n_components) whose distances approximate given squared ones (n, n).

    If the distances have fewer dimensions, the other coordinates are zero up to rounding.
    """
    values, vectors = _leading_eigenpairs(squares, n_components)
    return vectors * np.sqrt(values)


def landmark_scaling(squares: AnyArray, landmarks: IntArray, n_components: int) -> Array:
    """Return coordinates (n, n_components) from squared distances (m, n) of landmarks (m,)."""
    own = squares[:, landmarks].astype(np.float64)
    values, vectors = _leading_eigenpairs(0.5 * (own + own.T), n_components)
    # Directions at the level of rounding are noise, which the division would amplify.
    rounding = max(len(own) * np.finfo(np.float64).eps, 10.0 * np.finfo(squares.dtype).eps)
    to_coordinates = np.divide(
        vectors,
        np.sqrt(values),
        out=np.zeros_like(vectors),
        where=values > rounding * values[0],
    )
    shift = own.mean(axis=0) @ to_coordinates
    Z = np.empty((squares.shape[1], n_components))

    def work(block: slice) -> None:
        Z[block] = -0.5 * (squares[:, block].T.astype(np.float64) @ to_coordinates - shift)

    map_blocks(work, row_blocks(len(Z), 12 * len(landmarks)))
    # The center and axes of the landmarks differ slightly from those of all points.
    Z -= Z.mean(axis=0)
    axes, _ = principal_axes(Z, n_components)
    return fix_signs(Z @ axes.T)


def residual_variances(squares: AnyArray, sources: IntArray | None, Z: Array) -> Array:
    """Return ``1 - R^2`` of geodesic and embedded distances for the first 1, 2, ... coordinates.

    ``squares`` (m, n) are squared geodesic distances from ``sources`` (m,), None for all points,
    and ``Z`` (n, q) are the coordinates. Beyond 1,000 rows a sample is used.
    """
    rows = some_rows(len(squares), SAMPLE_ROWS)
    points = rows if sources is None else sources[rows]
    n_components = Z.shape[1]
    # Sums of g, g^2, z, z^2 and g z, the last three for each number of coordinates
    sums = np.zeros((5, n_components))
    for block in row_blocks(len(rows), 8 * 4 * len(Z)):
        geodesics = np.sqrt(squares[rows[block]].astype(np.float64))
        embedded = np.zeros_like(geodesics)
        for column in range(n_components):
            difference = Z[points[block], column, np.newaxis] - Z[:, column]
            embedded += np.square(difference, out=difference)
            distances = np.sqrt(embedded)
            sums[:, column] += (
                geodesics.sum(),
                np.vdot(geodesics, geodesics),
                distances.sum(),
                embedded.sum(),
                np.vdot(geodesics, distances),
            )
    g, gg, z, zz, gz = sums / (len(rows) * len(Z))
    variances = (gg - g * g) * (zz - z * z)
    explained = np.zeros(n_components)
    np.divide(np.square(gz - g * z), variances, out=explained, where=variances > 0.0)
    return np.clip(1.0 - explained, 0.0, 1.0)


def elbow(variances: Array) -> int:
    """Return the number of coordinates after which residual variances (q,) hardly fall.

    This is the point of the curve that lies farthest below its chord. The curve starts at 1,
    without coordinates, and is taken in logarithms: the first coordinate of a long strip explains
    nearly all, but the second still counts. Values below 1e-4 do not count.
    """
    falling = np.minimum.accumulate(np.maximum(variances, SMALLEST_VARIANCE))
    curve = np.log(np.concatenate([[1.0], falling]))
    chord = np.linspace(curve[0], curve[-1], len(curve))
    return max(1, int(np.argmax(chord - curve)))


def _centered_product(squares: AnyArray) -> Any:
    """Return the product with ``S = -B K B / 2`` as a linear operator, in double precision."""
    blocks = row_blocks(len(squares), 8 * len(squares))

    def multiply(v: Array) -> Array:
        centered = v.ravel() - v.mean()
        product = np.empty(len(centered))

        def work(block: slice) -> None:
            product[block] = squares[block].astype(np.float64, copy=False) @ centered

        map_blocks(work, blocks)
        return np.asarray(-0.5 * (product - product.mean()))

    return LinearOperator(squares.shape, matvec=multiply, dtype=np.float64)


def _leading_eigenpairs(squares: AnyArray, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues of ``S``, clipped at 0, and their vectors (n, k)."""
    n = len(squares)
    found = min(k, n)
    if n <= max(DENSE_EIGEN, 2 * k):
        mean = squares.mean(axis=0, dtype=np.float64)
        S = -0.5 * (squares - mean - mean[:, np.newaxis] + mean.mean())
        values, vectors = linalg.eigh(S, subset_by_index=(n - found, n - 1))
    else:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigsh(
                _centered_product(squares), k=k, which="LA", v0=start, maxiter=MOST_RESTARTS
            )
        except ArpackNoConvergence as error:
            values, vectors = error.eigenvalues, error.eigenvectors
            found = len(values)
            warn_user(
                f"Only {found} of n_components={k} eigenvectors converged; the other coordinates "
                "are zero. Use fewer components.",
                UserWarning,
            )
    order = np.argsort(values)[::-1]
    padded_values, padded_vectors = np.zeros(k), np.zeros((n, k))
    padded_values[:found] = np.maximum(values[order], 0.0)
    padded_vectors[:, :found] = fix_signs(vectors[:, order])
    return padded_values, padded_vectors
