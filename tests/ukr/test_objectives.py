import numpy as np
import pytest
from differences import central_gradient
from registry import KERNELS

from twofold.numerics.sums.dense import DenseWeights
from twofold.numerics.sums.pairs import PairWeights
from twofold.numerics.sums.reach import kernel_radius
from twofold.protocols import Objective
from twofold.ukr.objective import Barrier, Reconstruction

COMPACT = ("quartic", "triweight")
WAYS = {"dense": DenseWeights.of, "pairs": PairWeights.of}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
kernels = pytest.mark.parametrize("kernel", ["gaussian", "quartic", "student3"])


@pytest.fixture(params=[1, 2])
def problem(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 4))
    return X - X.mean(axis=0), 0.4 * rng.standard_normal((12, request.param))


def weigher(way, kernel, **options):
    # A Student kernel never ends: compared with dense sums, its list must be nearly complete.
    if way is PairWeights.of and kernel.startswith("student"):
        options["tolerance"] = 1e-12
    return lambda Z: way(Z, KERNELS[kernel], **options)


def by_gram(X, weigh, pseudo_count=0.0, barrier=None):
    return Reconstruction(X, weigh, pseudo_count, barrier=barrier, gram=X @ X.T, wide=True)


def naive(X, Z, kernel, pseudo_count=0.0, leave_one_out=True, groups=None):
    total = 0.0
    for i in range(len(X)):
        weighted, mass = np.zeros(X.shape[1]), pseudo_count
        for j in range(len(X)):
            if leave_one_out and i == j:
                continue
            if groups is not None and groups[i] == groups[j]:
                continue
            k = np.exp(KERNELS[kernel].log_profile(np.array([np.square(Z[i] - Z[j]).sum()])))[0]
            weighted, mass = weighted + k * X[j], mass + k
        prediction = weighted / mass if mass > 0.0 else 0.0 * weighted
        total += np.square(X[i] - prediction).sum()
    return total / len(X)


@ways
@kernels
@pytest.mark.parametrize("pseudo_count", [0.0, 0.3])
@pytest.mark.parametrize("leave_one_out", [True, False])
def test_value_equals_a_loop(way, kernel, pseudo_count, leave_one_out, problem):
    X, Z = problem
    objective = Reconstruction(X, weigher(way, kernel), pseudo_count, leave_one_out)
    assert isinstance(objective, Objective)
    expected = naive(X, Z, kernel, pseudo_count, leave_one_out)
    assert objective.value(Z) == pytest.approx(expected, rel=1e-9)
    assert objective.value_and_grad(Z)[0] == pytest.approx(expected, rel=1e-9)


@ways
@kernels
@pytest.mark.parametrize("pseudo_count", [0.0, 0.3])
@pytest.mark.parametrize("form", ["data", "plain", "gram", "barrier", "gram barrier"])
def test_gradient_by_differences(way, kernel, pseudo_count, form, problem):
    X, Z = problem
    weigh = weigher(way, kernel)
    barrier = Barrier(0.01, 0.05) if "barrier" in form else None
    if "gram" in form:
        objective = by_gram(X, weigh, pseudo_count, barrier)
    else:
        objective = Reconstruction(X, weigh, pseudo_count, form != "plain", barrier)
    numeric = central_gradient(lambda z: objective.value(z), Z, step=1e-4)
    _, gradient = objective.value_and_grad(Z)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)
    assert np.abs(gradient.sum(axis=0)).max() < 1e-10  # a shift of all latents changes nothing


@kernels
@pytest.mark.parametrize("barrier", [None, Barrier(0.01, 0.05)])
def test_all_forms_agree(kernel, barrier, problem):
    X, Z = problem
    results = [
        form(X, weigher(way, kernel), pseudo_count=0.2, barrier=barrier).value_and_grad(Z)
        for way in WAYS.values()
        for form in (Reconstruction, by_gram)
    ]
    for value, gradient in results[1:]:
        assert value == pytest.approx(results[0][0], rel=1e-9)
        np.testing.assert_allclose(gradient, results[0][1], rtol=1e-6, atol=1e-8)


@ways
@kernels
def test_groups_leave_each_other_out(way, kernel, problem):
    X, Z = problem
    groups = np.arange(len(X)) // 3
    weigh = weigher(way, kernel, groups=groups)
    objective = Reconstruction(X, weigh)
    assert objective.value(Z) == pytest.approx(naive(X, Z, kernel, groups=groups), rel=1e-9)
    alone = Reconstruction(X, weigher(way, kernel, groups=np.arange(len(X))))
    assert alone.value(Z) == pytest.approx(naive(X, Z, kernel), rel=1e-9)


def test_penalty_form_of_leave_one_out(problem):
    """Meinicke et al. (2005), Eqs. (11)-(12): the same error with penalty factors."""
    X, Z = problem
    weigh = weigher(DenseWeights.of, "gaussian")
    K = weigh(Z).kernel_matrix + np.eye(len(Z))
    plain = np.square(X - K @ X / K.sum(axis=1, keepdims=True)).sum(axis=1)
    penalty = np.square(1.0 + 1.0 / (K.sum(axis=1) - 1.0))
    assert Reconstruction(X, weigh).value(Z) == pytest.approx((penalty * plain).mean(), rel=1e-10)


@ways
@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_isolated_points_count_as_the_mean(way, kernel):
    X = np.array([[3.0], [-1.0], [-2.0]])
    Z = np.array([[1e4], [0.0], [0.1]])
    for pseudo_count in (0.0, 0.1):
        objective = Reconstruction(X, weigher(way, kernel), pseudo_count)
        value, gradient = objective.value_and_grad(Z)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert gradient[0] == 0.0
    assert Reconstruction(X, weigher(way, kernel)).value(Z) == pytest.approx((9.0 + 1.0 + 1.0) / 3)


@pytest.mark.parametrize("distance", [np.sqrt(80.0), 10.5])
def test_the_error_is_smooth_far_from_all_neighbors(distance):
    """Weights are ratios of tiny values: where these fall below exp(-40), nothing may jump."""
    X = np.array([[3.0, 0.0], [-1.0, 2.0], [-2.0, -1.0]])
    Z = np.array([[distance], [0.0], [-0.4]])
    objective = Reconstruction(X, weigher(DenseWeights.of, "gaussian"))
    shift = np.array([[1e-9], [0.0], [0.0]])
    before, after = objective.value(Z - shift), objective.value(Z + shift)
    assert abs(after - before) < 1e-6
    gradient = objective.value_and_grad(Z)[1]
    numeric = central_gradient(objective.value, Z)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-8)
    assert objective.value(Z) == pytest.approx(naive(X, Z, "gaussian"), rel=1e-5)


def test_pseudo_count_pulls_a_stray_back():
    """While any mass is left the gradient points home."""
    rng = np.random.default_rng(0)
    Z = np.vstack([rng.standard_normal((30, 1)) * 0.5, [[5.0]]])
    X = np.vstack([np.ones((30, 1)), [[1.0]]]) + 0.01 * rng.standard_normal((31, 1)) + 3.0
    objective = Reconstruction(X, weigher(DenseWeights.of, "gaussian"), pseudo_count=0.1)
    assert objective.value_and_grad(Z)[1][-1, 0] > 0.0


def test_barrier_is_infinite_outside(problem):
    X, Z = problem
    outside = Reconstruction(X, weigher(DenseWeights.of, "gaussian"), barrier=Barrier(0.9, 0.1))
    assert outside.value(10.0 * Z) == np.inf
    assert outside.value_and_grad(10.0 * Z)[0] == np.inf


def test_tiles_and_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((90, 5)), rng.standard_normal((90, 2))
    reference = [
        (
            Reconstruction(X, weigher(way, kernel)).value_and_grad(Z),
            by_gram(X, weigher(way, kernel)).value_and_grad(Z),
        )
        for way in WAYS.values()
        for kernel in ("gaussian", "quartic")
    ]
    monkeypatch.setattr("twofold.numerics.sums.dense.TILE", 17)
    monkeypatch.setattr("twofold.numerics.sums.pairs.CHUNK", 64)
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 9_000)
    again = [
        (
            Reconstruction(X, weigher(way, kernel)).value_and_grad(Z),
            by_gram(X, weigher(way, kernel)).value_and_grad(Z),
        )
        for way in WAYS.values()
        for kernel in ("gaussian", "quartic")
    ]
    for one, two in zip(reference, again, strict=True):
        for (value, gradient), (other, other_gradient) in zip(one, two, strict=True):
            assert value == pytest.approx(other, rel=1e-12)
            np.testing.assert_allclose(gradient, other_gradient, rtol=1e-9, atol=1e-12)


def test_kernel_radius():
    assert kernel_radius(KERNELS["quartic"], 1e-30) == pytest.approx(1.0)
    assert kernel_radius(KERNELS["gaussian"], np.exp(-8.0)) == pytest.approx(4.0)
    assert kernel_radius(KERNELS["student"], 0.01) == pytest.approx(np.sqrt(99.0))


def test_the_cheaper_form_is_the_same_error():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((60, 5)), 3.0 * rng.standard_normal((60, 2))
    for way in WAYS.values():
        weigh = weigher(way, "quartic")
        by_data = Reconstruction(X, weigh, 0.1)
        cheaper = Reconstruction(X, weigh, 0.1, gram=X @ X.T)
        assert cheaper.value(Z) == by_data.value(Z)
        value, gradient = cheaper.value_and_grad(Z)
        for form in (by_data, by_gram(X, weigh, 0.1)):
            assert value == pytest.approx(form.value_and_grad(Z)[0], rel=1e-12)
            np.testing.assert_allclose(gradient, form.value_and_grad(Z)[1], atol=1e-13)


@pytest.mark.parametrize("form", [Reconstruction, by_gram])
def test_compiled_loops_equal_their_twins(form, monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((300, 40)), 4.0 * rng.standard_normal((300, 2))
    objective = form(X, weigher(PairWeights.of, "gaussian"))
    results = []
    for least in (0, 1 << 62):
        monkeypatch.setattr("twofold.numerics.sums._compiled.WORTH_COMPILING", least)
        results.append(objective.value_and_grad(Z))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-12)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-9, atol=1e-13)


def test_without_numba_the_twins_do_the_work(monkeypatch):
    from twofold.numerics.sums import _compiled

    assert _compiled.compiled(1) is None
    for broken in (lambda: monkeypatch.setenv("TWOFOLD_NUMBA", "0"), _break_import(monkeypatch)):
        _compiled._loops.cache_clear()
        broken()
        assert _compiled.compiled(1 << 40) is None
        monkeypatch.undo()
    _compiled._loops.cache_clear()


def _break_import(monkeypatch):
    def fail(_):
        raise ImportError("no numba here")

    return lambda: monkeypatch.setattr("twofold.numerics.sums._compiled.import_module", fail)
