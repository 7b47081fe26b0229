"""Matrix products whose rows do not depend on each other, to the last bit.

BLAS rounds a row by its place: the last rows of a product, or of a thread's part of it, and all
rows of a small product go through other kernels, which add in another order. In flat minima such a
last digit moves a projection visibly. So BLAS gets full tiles of rows, in one thread, and products
of a tile that are small stay small: a row then has the same result in any batch, at any place, and
for any number of threads.
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.threads import map_blocks, single_threaded_blas
from twofold.protocols import Array

TILE = 24
"""Rows of a tile: a multiple of the rows that each kernel of OpenBLAS handles at a time."""

BLOCK = 10 * TILE
"""Rows of one call, so that BLAS arranges the other factor once for many rows."""

SMALL_PRODUCT = 10**6
"""Multiplications up to which BLAS libraries may use other kernels."""


def row_product(A: Array, B: Array) -> Array:
    """Return ``A @ B`` so that a row's result depends on no other row of ``A``, nor on threads.

    That holds in double precision. In single precision, BLAS rounds by the place in a tile.
    """
    n_rows, n_inner = A.shape
    product = np.empty((n_rows, B.shape[1]), dtype=np.result_type(A, B))
    if not product.size or not n_inner:
        product[:] = 0.0
        return product
    if not (B.flags.c_contiguous or B.flags.f_contiguous):
        B = np.ascontiguousarray(B)
    if TILE * B.size <= SMALL_PRODUCT:
        with single_threaded_blas():
            _small_products(A, B, product)
        return product

    def work(start: int) -> None:
        block = np.ascontiguousarray(A[start : start + BLOCK])
        found = product[start : start + BLOCK]
        full = len(block) // TILE * TILE
        if full:
            np.matmul(block[:full], B, out=found[:full])
        if full < len(block):
            found[full:] = (_padded(block[full:]) @ B)[: len(block) - full]

    map_blocks(work, range(0, n_rows, BLOCK))
    return product


def _small_products(A: Array, B: Array, product: Array) -> None:
    """Write ``A @ B`` tile by tile."""
    full = len(A) // TILE * TILE
    if full:
        tiles = np.ascontiguousarray(A[:full]).reshape(-1, TILE, A.shape[1])
        np.matmul(tiles, B, out=product[:full].reshape(-1, TILE, B.shape[1]))
    if full < len(A):
        product[full:] = (_padded(A[full:]) @ B)[: len(A) - full]


def _padded(A: Array) -> Array:
    """Return less than a tile of rows as a tile."""
    tile = np.zeros((TILE, A.shape[1]), dtype=A.dtype)
    tile[: len(A)] = A
    return tile
