"""Weights among points, each implementation against loops, in small leaves, tiles and blocks."""

from functools import partial

import numpy as np
import pytest
from differences import naive_sqdist
from registry import KERNELS

from twofold.numerics.sums import cells, grid
from twofold.numerics.sums.cells import CellWeights
from twofold.numerics.sums.dense import DenseWeights
from twofold.numerics.sums.grid import GridWeights, StudentField, weigh_many
from twofold.numerics.sums.pairs import PairWeights

N = 23
RADIUS = 1.3


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("twofold.numerics.sums.dense.TILE", 7)
    monkeypatch.setattr("twofold.numerics.sums.pairs.CHUNK", 11)
    monkeypatch.setattr(cells, "LEAF", 4)
    monkeypatch.setattr(cells, "LEAVES_PER_BLOCK", 2)
    monkeypatch.setattr(cells, "BLOCKS_AT_ONCE", 2)
    monkeypatch.setattr(grid, "COLUMNS_AT_ONCE", 2)
    monkeypatch.setattr(grid, "POINTS_AT_ONCE", 5)
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 800)


@pytest.fixture(params=["compiled", "twin"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    work = 0 if request.param == "compiled" else 1 << 70
    monkeypatch.setattr("twofold.numerics.sums._compiled.WORTH_COMPILING", work)


def points(q, n=N):
    rng = np.random.default_rng(q)
    Z = rng.standard_normal((n, q))
    Z[1] = Z[0]
    return Z


def operands(n=N, seed=9):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), rng.standard_normal(n)


def naive_weights(Z, kernel, groups=None, radius=np.inf):
    """Return ``k_ij`` and ``k'_ij`` (n, n): zero within a group, and beyond a radius."""
    sqdist = naive_sqdist(Z, Z)
    K = np.exp(KERNELS[kernel].log_profile(sqdist.copy()))
    groups = np.arange(len(Z)) if groups is None else groups
    K[(groups[:, None] == groups) | (sqdist > radius**2)] = 0.0
    return K, K * np.nan_to_num(KERNELS[kernel].dlog_profile(sqdist))


def naive_gradient(Z, slopes, pulls):
    """Return the gradient (n, q) of ``sum_ij k_ij pulls_ij``, pair by pair."""
    gradient = np.zeros(Z.shape)
    for i in range(len(Z)):
        for j in range(len(Z)):
            step = 2.0 * slopes[i, j] * pulls[i, j] * (Z[i] - Z[j])
            gradient[i] += step
            gradient[j] -= step
    return gradient


def check(weights, Z, kernel, rtol, **options):
    """Compare masses, sums and the gradient with loops."""
    left, right, offset = operands(len(Z))
    K, slopes = naive_weights(Z, kernel, **options)
    mass, sums = weights.mass_and_apply(right)
    np.testing.assert_allclose(mass, K.sum(axis=1), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(weights.mass, K.sum(axis=1), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(sums, K @ right, rtol=rtol, atol=rtol)
    expected = naive_gradient(Z, slopes, left @ right.T + offset[:, None])
    np.testing.assert_allclose(
        weights.gradient(left, right, offset), expected, rtol=rtol, atol=10.0 * rtol
    )


WAYS = {"dense": DenseWeights.of, "pairs": partial(PairWeights.of, tolerance=1e-14)}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
groupings = pytest.mark.parametrize("groups", [None, np.arange(N) // 3, np.arange(N) % 4])


@ways
@groupings
@pytest.mark.parametrize("kernel", ["gaussian", "quartic", "student3"])
def test_lists_and_matrices_equal_loops(way, groups, kernel):
    Z = points(2)
    weights = way(Z, KERNELS[kernel], groups=groups)
    # A list of the pairs of a heavy tail would be complete at an endless radius only.
    check(weights, Z, kernel, 1e-6 if kernel == "student3" else 1e-12, groups=groups)


def test_half_of_a_matrix_is_computed():
    sizes = []

    class Counted:
        def log_profile(self, sqdist):
            sizes.append(sqdist.size)
            return -0.5 * sqdist

        def dlog_profile(self, sqdist):
            return np.full_like(sqdist, -0.5)

    DenseWeights.of(points(2), Counted())
    assert max(sizes) <= 7**2
    assert sum(sizes) <= (N**2 + 7 * N) / 2


@ways
@groupings
def test_products_with_a_gram_matrix_equal_loops(way, groups):
    Z, (X, _, offset) = points(2), operands()
    gram, scale = X @ X.T, np.random.default_rng(1).random(N) + 0.5
    weights = way(Z, KERNELS["quartic"], groups=groups)
    K, slopes = naive_weights(Z, "quartic", groups)
    C = scale[:, None] * K - np.eye(N)
    error, own, products = weights.gram_products(scale, gram)
    assert error == pytest.approx(np.sum(C * (C @ gram)), rel=1e-12)
    np.testing.assert_allclose(own, np.sum(scale[:, None] * K * (C @ gram), axis=1), atol=1e-12)

    expected = naive_gradient(Z, slopes, scale[:, None] * (C @ gram + offset[:, None]))
    found = weights.pull_gradient(products, scale, offset)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_products_of_more_points_than_16_bits_count():
    n = (1 << 16) + 100
    Z = 20.0 * np.arange(n)[:, None]
    for number, first in enumerate((0, 400, n - 3)):
        Z[first + 1] = Z[first] + 0.5 + 0.2 * number
    Z[n - 1] = Z[n - 2] + 0.4
    weights = PairWeights.of(Z, KERNELS["gaussian"])
    ones = np.broadcast_to(1.0, (n, n))  # the Gram matrix of equal rows, in no memory
    error, own, products = weights.gram_products(np.ones(n), ones)
    expected = weights.mass - 1.0
    assert error == pytest.approx(np.square(expected).sum(), rel=1e-12)
    np.testing.assert_allclose(own, weights.mass * expected, rtol=1e-12)
    np.testing.assert_allclose(products[0], expected[weights.first], rtol=1e-12)
    np.testing.assert_allclose(products[1], expected[weights.second], rtol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "student3"])
@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1, 1, 2, 3, 3])])
def test_tiny_weights_of_points_far_from_all_others_are_kept(kernel, groups):
    Z = np.array([[0.0], [0.4], [0.9], [1.3], [12.0], [60.0], [61.0]])
    weights = DenseWeights.of(Z, KERNELS[kernel], groups=groups)
    K, slopes = naive_weights(Z, kernel, groups)
    # Of pairs of other points, values below exp(-40) are zero: nothing beside their mass.
    far = K.sum(axis=1) < 1e-6
    np.testing.assert_allclose(weights.mass, K.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(weights.kernel_matrix[far], K[far], rtol=1e-12)
    np.testing.assert_allclose(weights.kernel_matrix, weights.kernel_matrix.T, rtol=0.0)
    found = weights.slopes * weights.slope_unit
    np.testing.assert_allclose(found[far], slopes[far], rtol=1e-12)
    assert far.any() == (kernel == "gaussian")


@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["gaussian", "quartic", "student3"])
def test_cells_equal_loops(engine, q, kernel):
    Z = 0.7 * points(q)
    radius = 1.0 if kernel == "quartic" else RADIUS
    weights = CellWeights.of(Z, KERNELS[kernel], radius=radius)
    assert len(weights.cells.leaves) > 5
    assert len(weights.cells.blocks()) > 2
    check(weights, Z, kernel, 1e-12, radius=radius)
    assert weights.cells.n_pairs >= (naive_sqdist(Z, Z) <= radius**2).sum()


@pytest.mark.parametrize("q", [1, 2, 3])
def test_cells_reach_no_farther_than_they_must(q):
    """Boxes of leaves and stretches of columns leave out most pairs of points far apart."""
    Z = 40.0 * np.random.default_rng(0).random((400, q))
    found = cells.Cells.of(Z, 1.0)
    assert found.n_pairs < {1: 0.07, 2: 0.08, 3: 0.15}[q] * 400**2
    assert np.diff(found.leaves).max() <= cells.LEAF
    one = cells.Cells.of(Z, 100.0)
    assert one.n_pairs == 400**2
    np.testing.assert_array_equal(one.order[one.places], np.arange(400))


def test_leaves_and_columns_beyond_ten_million_pairs(monkeypatch):
    monkeypatch.setattr(cells, "LEAF", 1)
    Z = np.random.default_rng(0).random((50_000, 2))
    found = cells.Cells.of(Z, 2e-3)
    assert (len(found.leaves) - 1) * 50_000**0.5 > 1.1e7
    for leaf in (0, 1, 25_000, 44_999, 49_999):
        (row,) = range(found.leaves[leaf], found.leaves[leaf + 1])
        near = np.flatnonzero(np.square(found.points - found.points[row]).sum(axis=1) <= 2e-3**2)
        assert set(near) <= set(found.sources(leaf))


@pytest.mark.parametrize("n_groups", [1, 300, 70_000])
def test_values_are_sorted_within_their_groups(n_groups):
    """Also where the groups' numbers need more than 16 bits."""
    values = np.random.default_rng(0).random(140_000)
    bounds = np.linspace(0, len(values), n_groups + 1).astype(np.intp)
    group = np.repeat(np.arange(n_groups), np.diff(bounds))
    expected = np.lexsort((values, group))
    np.testing.assert_array_equal(cells._sorted_within(values, bounds), expected)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_grids_equal_loops(q):
    check_grid(q)


def test_compiled_grids_equal_loops(engine):
    check_grid(2)


def check_grid(q):
    Z, (left, right, offset) = 1.5 * points(q), operands()
    weights, (K, slopes) = GridWeights(Z), naive_weights(Z, "gaussian")
    mass, sums = weights.mass_and_apply(right)
    np.testing.assert_allclose(mass, K.sum(axis=1), atol=2e-3)
    np.testing.assert_allclose(weights.mass, mass, rtol=0.0)
    np.testing.assert_allclose(sums, K @ right, atol=2e-3)
    expected = naive_gradient(Z, slopes, left @ right.T + offset[:, None])
    np.testing.assert_allclose(weights.gradient(left, right, offset), expected, atol=3e-2)


def test_finer_grids_are_more_exact():
    Z = 1.5 * points(2)
    mass = naive_weights(Z, "gaussian")[0].sum(axis=1)
    errors = [np.abs(GridWeights(Z, spacing).mass - mass).max() for spacing in (0.8, 0.4, 0.2)]
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]
    assert errors[2] < 1e-4


def test_points_at_opposite_ends_of_a_grid_do_not_meet():
    Z = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    assert GridWeights(Z).mass.max() < 5e-4
    assert (GridWeights(Z).mass >= 0.0).all()
    assert GridWeights(Z).n_nodes < 100**2  # 22 widths by 0.3, and room for the splines


@pytest.mark.parametrize("q", [1, 2, 3])
def test_student_fields_equal_loops(q):
    Z = (3.0 if q == 3 else 8.0) * points(q)
    weights = 1.0 / (1.0 + naive_sqdist(Z, Z))
    sums, slopes = StudentField(Z).sums_and_slopes()
    np.testing.assert_allclose(sums, weights.sum(axis=1), rtol=0.02)
    expected = -2.0 * np.sum(weights[:, :, None] ** 2 * (Z[:, None] - Z), axis=1)
    np.testing.assert_allclose(slopes, expected, atol=0.1)


def test_the_cheaper_of_cells_and_grid_is_taken():
    Z = np.random.default_rng(0).standard_normal((3_000, 2))
    gaussian = KERNELS["gaussian"]
    assert isinstance(weigh_many(0.1 * Z, gaussian, 6.0), GridWeights)
    assert isinstance(weigh_many(30.0 * Z, gaussian, 6.0), CellWeights)
    assert isinstance(weigh_many(Z, KERNELS["quartic"], 1.0), CellWeights)
    four = np.random.default_rng(0).standard_normal((300, 4))
    assert isinstance(weigh_many(four, gaussian, 6.0), CellWeights)
