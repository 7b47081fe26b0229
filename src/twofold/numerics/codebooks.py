r"""Codebooks of points: how much of a row survives when latents are rounded to K places.

A model is judged at K codewords: each held-out row's latent is replaced by the nearest of K
codewords, found by k-means of the training latents, and decoded. Latents of held-out rows are
searched for or predicted one by one, so their plain error does not see how they lie relative to
each other; a rough, torn or folded map has the same plain error as a smooth one. Its cells of the
codebook, though, hold rows that have little in common, and their common reconstruction is poor.

The limit is k-means of the *data* with K codewords: no code of K words has a much lower error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.quiet import quiet
from twofold.numerics.threads import row_blocks, some_rows
from twofold.protocols import Array

N_CODES = (16, 64, 256, 1024)
FEW_CODES = (16, 64, 256)
"""Sizes of the codebooks that judge a model, and a start, as far as there are enough rows."""

MIDDLE = 64
"""The size that stands for the whole map where one must do."""

ROWS_PER_CODE = 4
"""Codewords of fewer rows each, on average, would be rows, not codewords."""

ROWS_OF_KMEANS = 40
"""Rows for each codeword that k-means sees at the most."""

N_INIT, MOST_REPEATED = 3, 64
"""Initializations of small codebooks. Those of large ones take long, and differ less."""

SMALLEST_ERROR = 1e-12
"""Smaller relative errors count as this: below, rounding would decide."""


def sizes_of_codebooks(n_rows: int, sizes: Sequence[int] = N_CODES) -> tuple[int, ...]:
    """Return the sizes that n rows can support: all with at least four rows for each codeword."""
    return tuple(size for size in sizes if ROWS_PER_CODE * size <= n_rows)


def middle_size(n_rows: int) -> int:
    """Return 64, the size at which a map is judged as a whole, or as many as n rows support."""
    return max(1, min(MIDDLE, n_rows // ROWS_PER_CODE))


def codewords(points: Array, n_codes: int, seed: int, n_init: int | None = None) -> Array:
    """Return k-means centers (n_codes, d) of points (n, d); all points if there are no more.

    Small codebooks are the best of three initializations, unless ``n_init`` is given.
    """
    from sklearn.cluster import KMeans  # slow to import

    some = points[some_rows(len(points), ROWS_OF_KMEANS * n_codes)]
    distinct = np.unique(some, axis=0)
    if len(distinct) <= n_codes:
        return distinct
    if n_init is None:
        n_init = N_INIT if n_codes <= MOST_REPEATED else 1
    # Nearly equal points may share a center, with a warning; a forked child could not use threads.
    with quiet(), threadpool_limits(1, "openmp"):
        kmeans = KMeans(n_codes, n_init=n_init, random_state=seed).fit(some)
    centers: Array = kmeans.cluster_centers_
    return centers


def quantized(points: Array, codes: Array) -> Array:
    """Return the nearest codeword (n, d) of each point (n, d)."""
    found: Array = codes[nearest(codes, points, 1)[0][:, 0]]
    return found


def codebook_errors(
    decode: Callable[[Array], Array],
    latents: Array,
    others: Array,
    data: Array,
    sizes: Sequence[int],
    seed: int,
) -> Array:
    """Return the mean squared errors of rows decoded from their codewords, one for each size.

    Parameters
    ----------
    decode : callable
        The up-map.
    latents : ndarray of shape (n, q)
        Training latents, which the codewords represent.
    others : ndarray of shape (m, q)
        Latents of held-out rows.
    data : ndarray of shape (m, D)
        The held-out rows.
    sizes : sequence of int
        Numbers of codewords.
    seed : int
        Seeds k-means.
    """
    errors = np.empty(len(sizes))
    for number, size in enumerate(sizes):
        codes = codewords(latents, size, seed)
        cell = nearest(codes, others, 1)[0][:, 0]
        errors[number] = mean_squared_error(data, decode(codes), cell)
    return errors


def mean_squared_error(data: Array, decoded: Array, cell: Any = slice(None)) -> float:
    """Return the mean squared distance of rows (m, D) to ``decoded[cell]``."""
    total = 0.0
    rebuilt = np.arange(len(decoded))[cell]
    for rows in row_blocks(len(data), 2 * 8 * data.shape[1]):
        total += float(row_norms_sq(data[rows] - decoded[rebuilt[rows]]).sum())
    return total / len(data)


def mean_log(errors: Array) -> float:
    """Return the mean of the logarithms of relative errors, finite if some errors vanish.

    Errors at few codewords and at many differ by orders of magnitude. Their logarithms give equal
    weight to equal *ratios*: a map that loses 5 % more at one size and 5 % less at another has the
    same mean, whatever the sizes and the units of the data.
    """
    return float(np.log(np.maximum(errors, SMALLEST_ERROR)).mean())


def score_of_map(
    decode: Callable[[Array], Array],
    latents: Array,
    others: Array,
    data: Array,
    variance: float,
    seed: int,
    sizes: Sequence[int] = N_CODES,
) -> float:
    """Return the negative mean log error at several codebooks and without one; higher is better.

    The arguments are those of `codebook_errors`. Errors are relative to the ``variance`` of all
    data, so that scores do not depend on their unit.
    """
    possible = sizes_of_codebooks(len(latents), sizes)
    rounded = codebook_errors(decode, latents, others, data, possible, seed)
    plain = mean_squared_error(data, decode(others))
    return -mean_log(np.append(rounded, plain) / (variance or 1.0))
