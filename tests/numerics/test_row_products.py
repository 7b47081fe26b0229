"""Products and kernels of a row do not depend on the other rows, nor on the number of threads."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from twofold.numerics.pairwise_kernels import kernel_values
from twofold.numerics.row_products import BLOCK, SMALL_PRODUCT, TILE, row_product
from twofold.numerics.threads import using_threads

SHAPES = [(3, 1), (1, 3), (20, 3), (2, 700), (300, 130), (300, 150), (784, 64)]
"""Inner sizes and columns, on both sides of the border between small and large products."""

assert {TILE * k * m > SMALL_PRODUCT for k, m in SHAPES} == {True, False}


def factors(k, m, order="C"):
    rng = np.random.default_rng(k + m)
    return rng.standard_normal((2 * BLOCK + 7, k)), np.array(
        rng.standard_normal((k, m)), order=order
    )


@pytest.mark.parametrize(("k", "m"), SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_those_of_numpy(k, m, order):
    A, B = factors(k, m, order)
    for n in (0, 1, TILE, TILE + 1, len(A)):
        np.testing.assert_allclose(row_product(A[:n], B), A[:n] @ B, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("k", "m"), SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_do_not_depend_on_their_batch(k, m, order):
    A, B = factors(k, m, order)
    together = row_product(A, B)
    rng = np.random.default_rng(0)
    for size in (1, 2, TILE - 1, TILE, TILE + 5, 100, BLOCK + 1):
        rows = rng.permutation(len(A))[:size]
        np.testing.assert_array_equal(row_product(A[rows], B), together[rows])


@pytest.mark.parametrize(("k", "m"), SHAPES)
def test_rows_do_not_depend_on_the_number_of_threads(k, m):
    A, B = factors(k, m)
    with using_threads(1):
        alone = row_product(A, B)
    np.testing.assert_array_equal(row_product(A, B), alone)


def test_products_keep_single_precision_and_take_any_strides():
    A, B = factors(30, 40)
    single = row_product(A.astype(np.float32), B.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(
        row_product(A[:, ::2], B[::2, ::4]),
        row_product(np.ascontiguousarray(A[:, ::2]), np.ascontiguousarray(B[::2, ::4])),
    )


@pytest.mark.parametrize("shape", [(50_000, 1), (700, 300)])
@pytest.mark.parametrize(
    "laid_out",
    [np.asfortranarray, lambda A: A[::-1][::-1], lambda A: np.repeat(A, 2, axis=1)[:, ::2]],
    ids=["Fortran", "reversed", "strided"],
)
def test_layouts_do_not_matter(shape, laid_out):
    A, B = factors(*shape)
    A = A[: BLOCK + 30]
    np.testing.assert_array_equal(row_product(laid_out(A), B), row_product(A, B))


def test_products_without_columns_are_empty_or_zero():
    assert row_product(np.ones((5, 3)), np.ones((3, 0))).shape == (5, 0)
    np.testing.assert_array_equal(row_product(np.ones((5, 0)), np.ones((0, 2))), np.zeros((5, 2)))


KERNELS = [
    ("linear", {}),
    ("poly", {}),
    ("polynomial", {"degree": 2, "gamma": 0.3, "coef0": 0.5}),
    ("sigmoid", {"gamma": 0.01}),
    ("cosine", {}),
    ("rbf", {}),
    ("rbf", {"gamma": 0.2}),
    ("laplacian", {"gamma": 0.2}),
    ("chi2", {"gamma": 0.2}),
    ("additive_chi2", {}),
]


@pytest.mark.parametrize(("name", "params"), KERNELS)
def test_kernels_are_those_of_scikit_learn(name, params):
    rng = np.random.default_rng(0)
    A, B = rng.random((50, 6)), rng.random((30, 6))
    A[3] = 0.0
    expected = pairwise_kernels(A, B, metric=name, **params)
    values = kernel_values(name, A, B, params)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
    rows = rng.permutation(50)[:7]
    np.testing.assert_array_equal(kernel_values(name, A[rows], B, params), values[rows])
