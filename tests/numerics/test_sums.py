import numpy as np
import pytest
from differences import naive_sqdist
from registry import KERNELS

from twofold.kernels import Compact
from twofold.numerics.sums.dense import DenseSums, ShiftedSums
from twofold.numerics.sums.neighbors import Neighbors
from twofold.numerics.sums.reach import kernel_radius


def by_all_pairs(kernel, targets, sources, values):
    return DenseSums(kernel).forward(targets, sources, values)


def by_neighbors(kernel, targets, sources, values):
    neighbors = Neighbors.of(sources, kernel)
    if neighbors is None:
        pytest.skip("a kernel with heavy tails cannot be cut")
    local = neighbors.weigh(targets)
    return ShiftedSums(local.log_shift, local.mass, local.matrix(local.weights) @ values)


WAYS = {"dense": by_all_pairs, "neighbors": by_neighbors}


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((9, 2)) * 0.4, rng.standard_normal((7, 2)) * 0.4, rng.random((7, 3))


def naive(kernel, targets, sources, values, exclude=None):
    k = np.exp(kernel.log_profile(naive_sqdist(targets, sources)))
    mass, weighted = np.zeros(len(targets)), np.zeros((len(targets), values.shape[1]))
    for i in range(len(targets)):
        for j in range(len(sources)):
            if exclude is not None and exclude[i] == j:
                continue
            mass[i] += k[i, j]
            weighted[i] += k[i, j] * values[j]
    return mass, weighted


def assert_equals_a_loop(sums, kernel, targets, sources, values, exclude=None):
    mass, weighted = naive(kernel, targets, sources, values, exclude)
    scale = np.exp(sums.log_shift)
    np.testing.assert_allclose(scale * sums.mass, mass, rtol=1e-12)
    np.testing.assert_allclose(scale[:, None] * sums.weighted, weighted, rtol=1e-12, atol=1e-15)
    assert (sums.mass[np.isfinite(sums.log_shift)] >= 1.0).all()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_sums_equal_a_loop(way, kernel, points):
    assert_equals_a_loop(way(kernel, *points), kernel, *points)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_one_source_is_left_out_of_each_sum(kernel, points):
    exclude = np.arange(9) % 7
    sums = DenseSums(kernel).forward(*points, exclude=exclude)
    assert_equals_a_loop(sums, kernel, *points, exclude)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_far_targets_stay_finite(way):
    sources, values = np.zeros((3, 2)), np.arange(3.0)[:, None]
    far = np.full((1, 2), 1e6)
    sums = way(KERNELS["gaussian"], far, sources, values)
    assert sums.weighted[0] / sums.mass[0] == pytest.approx(1.0)
    sums = way(KERNELS["quartic"], far, sources, values)
    assert sums.mass[0] == 0.0
    assert np.isneginf(sums.log_shift[0])


def test_a_stray_point_left_out_of_its_own_sum():
    rng = np.random.default_rng(0)
    Z = np.vstack([rng.standard_normal((5, 2)), [[100.0, 0.0]]])
    sums = DenseSums(KERNELS["gaussian"]).forward(Z, Z, rng.random((6, 2)), exclude=np.arange(6))
    assert np.isfinite(sums.weighted).all()
    assert (sums.mass >= 1.0).all()


def test_blocks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    Z, values = rng.standard_normal((300, 2)), rng.random((300, 4))
    kernel = KERNELS["gaussian"]
    whole = DenseSums(kernel).forward(Z, Z, values, exclude=np.arange(300))
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 300 * 32 * 40)
    one, two = (
        DenseSums(kernel, n_jobs).forward(Z, Z, values, exclude=np.arange(300)).weighted
        for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(one, whole.weighted, rtol=1e-13)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_neighbors_equal_all_pairs_near_and_far(kernel):
    rng = np.random.default_rng(3)
    sources, values = 30.0 * rng.random((800, 2)), rng.random((800, 3))
    far = np.array([[-5.0, 3.0], [60.0, 10.0], [1e6, 0.0], [1e90, 1e90]])
    targets = np.vstack([30.0 * rng.random((50, 2)), far])
    dense, near = (way(KERNELS[kernel], targets, sources, values) for way in WAYS.values())
    np.testing.assert_allclose(near.mass, dense.mass, rtol=1e-9)
    np.testing.assert_allclose(near.weighted, dense.weighted, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(np.isfinite(near.log_shift), np.isfinite(dense.log_shift))


def test_a_row_does_not_depend_on_its_batch():
    rng = np.random.default_rng(4)
    sources = 30.0 * rng.random((800, 2))
    targets = 30.0 * rng.random((200, 2))
    neighbors = Neighbors.of(sources, KERNELS["gaussian"])
    together = neighbors.weigh(targets).mass
    alone = np.concatenate([neighbors.weigh(row[None]).mass for row in targets])
    np.testing.assert_array_equal(together, alone)


def test_trees_serve_many_sources_that_reach_few():
    rng = np.random.default_rng(5)
    points = rng.random((1000, 2))
    gaussian = KERNELS["gaussian"]
    assert Neighbors.if_few(points, gaussian) is None  # all within reach
    assert Neighbors.if_few(100.0 * points[:50], gaussian) is None  # too few
    assert Neighbors.if_few(100.0 * points, KERNELS["student"]) is None  # cannot be cut
    assert Neighbors.if_few(100.0 * points, gaussian) is not None
    assert Neighbors.of(points, KERNELS["student"]) is None


@pytest.mark.parametrize("power", [2.0, 3.0, 10.0])
def test_compact_kernels_are_cut_where_they_end(power):
    kernel = Compact(power)
    assert kernel_radius(kernel, 1e-3) == pytest.approx(1.0, rel=1e-12)
    sources = np.vstack([[[0.0, 0.0]], 5.0 + np.random.default_rng(0).random((400, 2))])
    edge = np.array([[0.0, 0.999995], [0.0, 0.98]])
    near = by_neighbors(kernel, edge, sources, np.ones((401, 1)))
    assert (near.mass == 1.0).all()
