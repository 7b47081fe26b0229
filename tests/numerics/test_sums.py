import numpy as np
import pytest
from differences import central_gradient, naive_sqdist
from registry import KERNELS

from twofold.kernels import Compact, StudentT
from twofold.numerics.sums import DenseSums, Neighbours, NeighbourSums, kernel_radius

SUMS = {"dense": DenseSums, "neighbours": NeighbourSums}


def skip_if_never_cut(engine, kernel):
    if engine is NeighbourSums and isinstance(kernel, StudentT):
        pytest.skip("a kernel with heavy tails cannot be cut")


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


@pytest.mark.parametrize("engine", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("leave_out", [False, True])
def test_forward_equals_a_loop(engine, kernel, leave_out, points):
    skip_if_never_cut(engine, kernel)
    targets, sources, values = points
    exclude = np.arange(len(targets)) % len(sources) if leave_out else None
    sums = engine(kernel).forward(targets, sources, values, exclude=exclude)
    mass, weighted = naive(kernel, targets, sources, values, exclude)
    scale = np.exp(sums.log_shift)
    np.testing.assert_allclose(scale * sums.mass, mass, rtol=1e-12)
    np.testing.assert_allclose(scale[:, None] * sums.weighted, weighted, rtol=1e-12, atol=1e-15)
    assert (sums.mass[np.isfinite(sums.log_shift)] >= 1.0).all()


@pytest.mark.parametrize("engine", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("leave_out", [False, True])
def test_backward_equals_differences(engine, kernel, leave_out, points):
    skip_if_never_cut(engine, kernel)
    targets, sources, values = points
    exclude = np.arange(len(targets)) % len(sources) if leave_out else None
    rng = np.random.default_rng(1)
    mass_bar, weighted_bar = rng.standard_normal(9), rng.standard_normal((9, 3))

    def value(t, s):
        mass, weighted = naive(kernel, t, s, values, exclude)
        return (mass_bar * mass).sum() + (weighted_bar * weighted).sum()

    sums = engine(kernel).forward(targets, sources, values, exclude=exclude)
    scale = np.exp(sums.log_shift)
    targets_bar, sources_bar = engine(kernel).backward(
        targets,
        sources,
        values,
        sums,
        scale[:, None] * weighted_bar,
        scale * mass_bar,
        exclude=exclude,
    )
    numeric_targets = central_gradient(lambda t: value(t, sources), targets)
    numeric_sources = central_gradient(lambda s: value(targets, s), sources)
    np.testing.assert_allclose(targets_bar, numeric_targets, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sources_bar, numeric_sources, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("engine", SUMS.values(), ids=SUMS)
def test_far_targets_stay_finite(engine):
    sources, values = np.zeros((3, 2)), np.arange(3.0)[:, None]
    far = np.full((1, 2), 1e6)
    sums = engine(KERNELS["gaussian"]).forward(far, sources, values)
    assert sums.weighted[0] / sums.mass[0] == pytest.approx(1.0)
    sums = engine(KERNELS["quartic"]).forward(far, sources, values)
    assert sums.mass[0] == 0.0
    assert np.isneginf(sums.log_shift[0])
    targets_bar, sources_bar = engine(KERNELS["quartic"]).backward(
        far, sources, values, sums, np.ones((1, 1)), np.ones(1)
    )
    assert not targets_bar.any()
    assert not sources_bar.any()


@pytest.mark.parametrize("engine", SUMS.values(), ids=SUMS)
def test_a_stray_point_left_out_of_its_own_sum(engine):
    rng = np.random.default_rng(0)
    Z = np.vstack([rng.standard_normal((5, 2)), [[100.0, 0.0]]])
    values, order = rng.random((6, 2)), np.arange(6)
    sums = engine(KERNELS["gaussian"]).forward(Z, Z, values, exclude=order)
    gradients = engine(KERNELS["gaussian"]).backward(
        Z, Z, values, sums, np.ones((6, 2)), np.ones(6), exclude=order
    )
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("engine", SUMS.values(), ids=SUMS)
def test_gradients_survive_an_offset(engine, points):
    targets, sources, values = points
    sums = engine(KERNELS["gaussian"]).forward(targets, sources, values)
    bars = (np.ones((9, 3)), np.ones(9))
    near = engine(KERNELS["gaussian"]).backward(targets, sources, values, sums, *bars)
    far = engine(KERNELS["gaussian"]).backward(
        targets + 2.0**20, sources + 2.0**20, values, sums, *bars
    )
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("engine", SUMS.values(), ids=SUMS)
def test_blocks_and_threads_change_nothing(engine, monkeypatch):
    rng = np.random.default_rng(2)
    Z, values = rng.standard_normal((300, 2)), rng.random((300, 4))
    order = np.arange(300)
    kernel = KERNELS["gaussian"]
    whole = engine(kernel).forward(Z, Z, values, exclude=order)
    grads = engine(kernel).backward(Z, Z, values, whole, values, np.ones(300), exclude=order)
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 300 * 32 * 40)
    results = []
    for n_jobs in (1, 2):
        cut = engine(kernel, n_jobs=n_jobs)
        sums = cut.forward(Z, Z, values, exclude=order)
        results.append(
            (sums.weighted, *cut.backward(Z, Z, values, sums, values, np.ones(300), exclude=order))
        )
        np.testing.assert_allclose(sums.weighted, whole.weighted, rtol=1e-13)
        np.testing.assert_allclose(results[-1][1], grads[0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(results[-1][2], grads[1], rtol=1e-10, atol=1e-12)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_neighbours_equal_all_pairs_near_and_far(kernel):
    rng = np.random.default_rng(3)
    sources, values = 30.0 * rng.random((800, 2)), rng.random((800, 3))
    far = np.array([[-5.0, 3.0], [60.0, 10.0], [1e6, 0.0], [1e90, 1e90]])
    targets = np.vstack([30.0 * rng.random((50, 2)), far])
    dense = DenseSums(KERNELS[kernel]).forward(targets, sources, values)
    near = NeighbourSums(KERNELS[kernel]).forward(targets, sources, values)
    np.testing.assert_allclose(near.mass, dense.mass, rtol=1e-9)
    np.testing.assert_allclose(near.weighted, dense.weighted, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(np.isfinite(near.log_shift), np.isfinite(dense.log_shift))


def test_a_row_does_not_depend_on_its_batch():
    rng = np.random.default_rng(4)
    sources = 30.0 * rng.random((800, 2))
    targets = 30.0 * rng.random((200, 2))
    neighbours = Neighbours.of(sources, KERNELS["gaussian"])
    together = neighbours.weigh(targets).mass
    alone = np.concatenate([neighbours.weigh(row[None]).mass for row in targets])
    np.testing.assert_array_equal(together, alone)


def test_trees_serve_many_sources_that_reach_few():
    rng = np.random.default_rng(5)
    points = rng.random((1000, 2))
    gaussian = KERNELS["gaussian"]
    assert Neighbours.if_few(points, gaussian) is None  # all within reach
    assert Neighbours.if_few(100.0 * points[:50], gaussian) is None  # too few
    assert Neighbours.if_few(100.0 * points, KERNELS["student"]) is None  # cannot be cut
    found = Neighbours.if_few(100.0 * points, gaussian)
    assert not found.pays_for(1)
    assert found.pays_for(1000)
    with pytest.raises(ValueError, match="falls too slowly"):
        NeighbourSums(KERNELS["student"]).forward(points, points, points)


@pytest.mark.parametrize("power", [2.0, 3.0, 10.0])
def test_compact_kernels_are_cut_where_they_end(power):
    kernel = Compact(power)
    assert kernel_radius(kernel, 1e-3) == pytest.approx(1.0, rel=1e-12)
    sources = np.vstack([[[0.0, 0.0]], 5.0 + np.random.default_rng(0).random((400, 2))])
    edge = np.array([[0.0, 0.999995], [0.0, 0.98]])
    near = NeighbourSums(kernel).forward(edge, sources, np.ones((401, 1)))
    assert (near.mass == 1.0).all()
