"""Sums, searches and fits for many rows: each against the exact way on sizes where both can run."""

import warnings

import numpy as np
import pytest
from differences import central_gradient
from registry import KERNELS

from twofold import UKR
from twofold.datasets import make_noisy_spiral, make_swiss_roll
from twofold.kernels import Gaussian
from twofold.maps import NadarayaWatson
from twofold.maps.affine import Affine
from twofold.numerics import threads as _blocks
from twofold.numerics.neighbors import CellIndex, nearest_neighbors
from twofold.numerics.sums.cells import Cells, CellWeights
from twofold.numerics.sums.dense import DenseWeights
from twofold.numerics.sums.grid import GridWeights
from twofold.starts.coarse_map import CoarseMap
from twofold.ukr.descent import rescue
from twofold.ukr.objective import Reconstruction
from twofold.ukr.regression import KernelRegression

RADII = {"gaussian": 9.0, "quartic": 1.0, "triweight": 1.0}


@pytest.fixture(params=["compiled", "twin"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(
        "twofold.numerics.sums._compiled.WORTH_COMPILING",
        0 if request.param == "compiled" else 1 << 70,
    )
    return request.param


def scattered(q, n=700):
    rng = np.random.default_rng(q)
    Z = rng.standard_normal((n, q)) * {1: 60.0, 2: 8.0, 3: 4.0}.get(q, 1.5)
    Z[:5] *= 30.0  # strays
    Z[5:9] = Z[9]  # points in one place
    return Z, rng


@pytest.mark.parametrize("q", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("kernel", RADII)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cells_equal_all_pairs(engine, q, kernel, dtype):
    Z, rng = scattered(q, 400)
    Z = Z if kernel == "gaussian" else 0.3 * Z
    X, left, offset = rng.random((400, 5)), rng.random((400, 5)), rng.random(400)
    cells = CellWeights.of(Z, KERNELS[kernel], radius=RADII[kernel])
    dense = DenseWeights.of(Z, KERNELS[kernel])
    mass, sums = cells.mass_and_apply(X.astype(dtype))
    gradient = cells.gradient(left.astype(dtype), X.astype(dtype), offset)
    # Coordinates relative to a leaf's first point: strays leave wide leaves, and few digits.
    rtol = 1e-12 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(mass, dense.mass, rtol=rtol, atol=10 * rtol)
    np.testing.assert_allclose(sums, dense.mass_and_apply(X)[1], rtol=rtol, atol=10 * rtol)
    expected = dense.gradient(left, X, offset)
    np.testing.assert_allclose(gradient, expected, atol=rtol * np.abs(expected).max())
    np.testing.assert_allclose(cells.mass, dense.mass, rtol=1e-12, atol=1e-11)
    exact = cells.mass_and_apply(X)[1]
    np.testing.assert_allclose(exact, sums, rtol=10 * rtol, atol=10 * rtol)


@pytest.mark.parametrize("q", [2, 5, 10, 30])
def test_columns_are_not_more_than_leaves(q):
    points = np.random.default_rng(0).standard_normal((20_000, q))
    cells = Cells.of(points, 1.0)
    assert len(cells.leaves) < 3 * 20_000 / 64


@pytest.mark.parametrize("most_compared", [10**8, 0])
def test_a_lone_point_beside_a_blob_is_rebuilt_by_the_mean(most_compared, monkeypatch):
    monkeypatch.setattr("twofold.numerics.neighbors.MOST_COMPARED", most_compared)
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((6_000, 2)), rng.standard_normal((6_000, 3))
    Z[0] = [300.0, 0.0]
    scheme = KernelRegression.of(X, Gaussian(), many=True, pseudo_count=0.0)
    assert isinstance(scheme.weigh(Z), CellWeights)
    assert 0.0 < scheme.cv_error(Z) < 10.0
    moved, n_moved = rescue(scheme, Z)
    assert n_moved == 1
    assert np.linalg.norm(moved[0]) < 6.0


def test_cells_of_equal_rows_are_searched_exactly(monkeypatch):
    monkeypatch.setattr("twofold.numerics.neighbors.MOST_COMPARED", 2_000**2)
    monkeypatch.setattr("twofold.numerics.neighbors.POINTS_PER_CELL", 100)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 5)).astype(np.float32)
    X[:1_600] = 0.0
    found = nearest_neighbors(X, 10, rng)
    assert (found != np.arange(5_000)[:, None]).all()
    rows = rng.permutation(5_000)[:200]
    distances = np.square(X[rows, None] - X[found[rows]]).sum(axis=2)
    exact = np.square(X[rows, None] - X).sum(axis=2)
    exact[np.arange(200), rows] = np.inf
    exact.sort(axis=1)
    assert np.median(distances[:, -1] / np.maximum(exact[:, 9], 1e-12)) < 1.01
    zero = rows[rows < 1_600]
    assert (np.square(X[found[zero]]).sum(axis=2) == 0.0).all()


def test_more_neighbors_than_the_probed_cells_hold(monkeypatch):
    monkeypatch.setattr("twofold.numerics.neighbors.PROBES", 1)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 2)).astype(np.float32)
    index = CellIndex.of(X, rng)
    found, _ = index.search(X[:5], 2_900)
    assert all(len(np.unique(row)) == 2_900 for row in found)


def test_gradient_by_cells_equals_differences(engine):
    rng = np.random.default_rng(0)
    Z, X = 3.0 * rng.standard_normal((40, 2)), rng.standard_normal((40, 3))

    def weigh(points):
        return CellWeights.of(points, KERNELS["gaussian"], radius=30.0)

    objective = Reconstruction(X, weigh, 0.1)
    numeric = central_gradient(objective.value, Z)
    np.testing.assert_allclose(objective.value_and_grad(Z)[1], numeric, rtol=1e-5, atol=1e-9)


def test_every_pair_within_reach_is_found_and_counted_once():
    Z, _ = scattered(2)
    radius = 2.5
    cells = Cells.of(Z, radius)
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(len(Z)))
    found = set()
    for leaf in range(len(cells.leaves) - 1):
        sources = cells.sources(leaf)
        assert len(np.unique(sources)) == len(sources)
        for row in range(cells.leaves[leaf], cells.leaves[leaf + 1]):
            found |= {(int(cells.order[row]), int(cells.order[s])) for s in sources}
    near = np.square(Z[:, None] - Z).sum(axis=2) <= radius**2
    assert {tuple(pair) for pair in np.argwhere(near).tolist()} <= found
    assert cells.n_pairs >= near.sum()


def test_cells_do_not_depend_on_threads(engine):
    Z, rng = scattered(2, 2000)
    X = rng.random((2000, 4), dtype=np.float32)
    results = []
    for n_jobs in (1, 2):
        weights = CellWeights.of(Z, KERNELS["gaussian"], radius=4.5, n_jobs=n_jobs)
        results.append((*weights.mass_and_apply(X), weights.gradient(X, X, X[:, 0])))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def recall(found, X, k, queries):
    squared = np.square(queries[:, None] - X).sum(axis=2)
    true = np.argsort(squared, axis=1)[:, :k]
    return np.mean(
        [len(set(a) & set(b)) / k for a, b in zip(found.tolist(), true.tolist(), strict=True)]
    )


def test_nearest_neighbors_by_cells(monkeypatch):
    X = np.random.default_rng(0).standard_normal((3000, 8)) + 100.0
    rng = np.random.default_rng(1)
    exact = nearest_neighbors(X, 5, rng)
    squared = np.square(X[:50, None] - X).sum(axis=2)
    squared[np.arange(50), np.arange(50)] = np.inf
    np.testing.assert_array_equal(exact[:50], np.argsort(squared, axis=1)[:, :5])
    monkeypatch.setattr("twofold.numerics.neighbors.MOST_COMPARED", 100)
    monkeypatch.setattr("twofold.numerics.neighbors.MAX_CHUNK", 1000)
    found = nearest_neighbors(X, 5, rng)
    assert (found != np.arange(3000)[:, None]).all()
    share = np.mean(
        [len(set(a) & set(b)) / 5 for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
    )
    assert share > 0.98


def test_search_of_other_points():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((2000, 4)), rng.standard_normal((60, 4))
    found, _ = CellIndex.of(X, rng).search(queries, 3)
    assert recall(found, X, 3, queries) > 0.98


def test_coarse_map_places_everyone_near_their_neighbors():
    X, truth = make_noisy_spiral(4000, noise=0.02, random_state=0)
    rng = np.random.default_rng(0)
    coarse = CoarseMap.of(X, nearest_neighbors(X, 10, rng), rng)

    def arc_length(few):
        nearest = np.square(few[:, None] - X).sum(axis=2).argmin(axis=1)
        return truth[nearest]

    Z = coarse.extend(arc_length, rng)
    assert np.median(np.abs(Z - truth)) < 0.05


def test_leading_subspace():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 80))
    wide -= wide.mean(axis=0)
    subspace = Affine.leading_subspace(wide)
    assert subspace.into(wide).shape[1] <= 3
    np.testing.assert_allclose(
        np.square(subspace.into(wide)).sum(), np.square(wide).sum(), rtol=0.011
    )
    narrow = wide[:, :10]
    assert Affine.leading_subspace(narrow).into(narrow) is narrow


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_compiled_means_equal_their_twin(kernel, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr("twofold.numerics.sums.neighbors.MANY_SOURCES", 100)
    rng = np.random.default_rng(0)
    inputs, targets = 200.0 * rng.random((600, 2)), rng.random((600, 5))
    queries = np.vstack([200.0 * rng.random((300, 2)), [[-90.0, 40.0], [5000.0, -30.0]]])
    data = rng.random((302, 5))
    fast = NadarayaWatson(kernel=kernel, bandwidth=2.5).fit(inputs, targets)
    assert fast._neighbors.local is not None
    monkeypatch.setattr("twofold.numerics.sums.neighbors.MANY_SOURCES", 10**9)
    slow = NadarayaWatson(kernel=kernel, bandwidth=2.5).fit(inputs, targets)
    assert slow._neighbors.local is None
    np.testing.assert_allclose(fast.predict(queries), slow.predict(queries), rtol=1e-10)
    for a, b in zip(
        fast.normal_terms(queries, data), slow.normal_terms(queries, data), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def test_compiled_density_equals_its_twin(monkeypatch):
    pytest.importorskip("numba")
    from twofold.numerics.density import LatentDensity

    rng = np.random.default_rng(0)
    points = 200.0 * rng.random((600, 2))
    queries = np.vstack([200.0 * rng.random((300, 2)), [[-90.0, 40.0], [5000.0, -30.0]]])
    slow = LatentDensity(bandwidth=2.0).fit(points)
    monkeypatch.setattr("twofold.numerics.sums.neighbors.MANY_SOURCES", 100)
    fast = LatentDensity(bandwidth=2.0).fit(points)
    assert fast._neighbors.local is not None
    np.testing.assert_allclose(fast.log_density(queries), slow.log_density(queries), rtol=1e-10)


class TestFit:
    """`UKR` where rows count as many from 400 on."""

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch):
        monkeypatch.setattr("twofold.ukr.settings.MANY_ROWS", 400)
        monkeypatch.setattr("twofold.ukr.settings.MOST_EXACT", 450)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
    def test_no_worse_than_the_direct_fit(self, kernel, monkeypatch):
        X, _ = make_swiss_roll(900, noise=0.3, random_state=0)
        X, test = X[:600], X[600:]
        many = UKR(kernel=kernel, init="isomap:10", random_state=0).fit(X)
        assert many.embedding_.shape == (600, 2)
        monkeypatch.setattr("twofold.ukr.settings.MANY_ROWS", 10**9)
        direct = UKR(kernel=kernel, init="isomap:10", random_state=0).fit(X)
        assert 1.0 - many.score(test) < 1.5 * (1.0 - direct.score(test))

    def test_auto_compares_starts(self):
        X, _ = make_noisy_spiral(800, random_state=0)
        model = UKR(1, random_state=0).fit(X)
        assert {row["name"] for row in model.candidates_} == {"pca", "tsne", "isomap"}
        assert model.score(make_noisy_spiral(300, random_state=1)[0]) > 0.98

    def test_wide_data_are_fitted_in_their_leading_subspace(self):
        rng = np.random.default_rng(0)
        X, _ = make_swiss_roll(600, random_state=0)
        wide = X @ rng.standard_normal((3, 70)) + 0.01 * rng.standard_normal((600, 70))
        model = UKR(init="pca", homotopy=False, random_state=0).fit(wide[:500])
        assert model.inverse_transform(model.embedding_[:3]).shape == (3, 70)
        residuals = wide[:500] - model.reconstruct(wide[:500])
        assert model.score(wide[500:]) > 0.8
        assert np.square(residuals).sum(axis=1).mean() < 2.0 * model.cv_error_

    def test_a_given_start_and_repeatability(self):
        X, truth = make_noisy_spiral(600, random_state=0)
        first, second = (UKR(1, init=truth, random_state=0).fit(X) for _ in range(2))
        np.testing.assert_array_equal(first.embedding_, second.embedding_)
        assert first.init_ == "ndarray-0"

    def test_groups_are_refused(self):
        X, _ = make_noisy_spiral(500, random_state=0)
        with pytest.raises(ValueError, match="leave_out=2 is supported for at most"):
            UKR(1, leave_out=2, init="isomap").fit(X)

    def test_batches_do_not_matter_through_the_index(self, monkeypatch):
        monkeypatch.setattr("twofold.maps.projection.MAX_COMPARED", 100)
        monkeypatch.setattr("twofold.numerics.sums.neighbors.MANY_SOURCES", 100)
        X, truth = make_noisy_spiral(700, random_state=0)
        model = UKR(1, init=truth[:600], random_state=0).fit(X[:600])
        assert model.encoder_.maps[1]._index is not None
        together = model.transform(X[600:])
        alone = np.vstack([model.transform(x[None]) for x in X[600:]])
        np.testing.assert_allclose(alone, together, atol=1e-7)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_n_jobs_is_kept_to(self, monkeypatch):
        asked = []
        pool = _blocks.ThreadPoolExecutor

        def recorded(workers, *rest):
            asked.append(workers)
            return pool(workers, *rest)

        monkeypatch.setattr(_blocks, "ThreadPoolExecutor", recorded)
        X, _ = make_swiss_roll(900, random_state=0)
        UKR(init="isomap:10", n_jobs=1, max_iter=3, random_state=0).fit(X).transform(X[:50])
        assert not asked  # one thread needs no pool

    def test_what_does_not_fit_into_memory_is_refused(self, monkeypatch):
        monkeypatch.setattr("twofold.numerics.memory.available_memory", lambda: 1e6)
        with pytest.raises(MemoryError, match="n_samples=500 needs about"):
            UKR().fit(np.random.default_rng(0).standard_normal((500, 200)))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_an_init_that_works_in_place_leaves_the_data_alone(self):
        X, truth = make_noisy_spiral(500, random_state=0)
        before = X.copy()

        def init(data, n_components, rng):
            data[:] = 0.0
            return truth

        UKR(1, init=init, max_iter=2, random_state=0).fit(X)
        np.testing.assert_array_equal(X, before)

    def test_validation_finds_a_number_of_iterations(self):
        X, truth = make_noisy_spiral(600, random_state=0)
        model = UKR(1, init=truth, validation_fraction=0.2, max_iter=30, random_state=0).fit(X)
        assert len(model.validation_history_) >= 1
        assert model.score(X) > 0.95

    def test_batches_do_not_matter(self):
        X, truth = make_noisy_spiral(700, random_state=0)
        model = UKR(1, init=truth[:600], random_state=0).fit(X[:600])
        together = model.transform(X[600:])
        alone = np.vstack([model.transform(x[None]) for x in X[600:]])
        np.testing.assert_allclose(alone, together, atol=1e-7)

    def test_strays_are_few(self):
        X, _ = make_swiss_roll(1000, noise=0.3, random_state=0)
        model = UKR(random_state=0, init="isomap:10").fit(X)
        scheme = KernelRegression.of(X, KERNELS["gaussian"], many=True)
        mass = scheme.weigh(model.embedding_).mass
        assert (mass < 0.1).sum() <= 3


def test_searching_images_by_cells(monkeypatch):
    from twofold.maps.projection import Projection

    rng = np.random.default_rng(0)
    Z = np.sort(30.0 * rng.random((900, 1)), axis=0)
    X = np.hstack([np.sin(0.3 * Z), np.cos(0.3 * Z), Z])
    regression = NadarayaWatson(bandwidth=0.5).fit(Z, X)
    queries = X[::20] + 0.01
    plain = Projection(regression).fit(X, Z).predict(queries)
    monkeypatch.setattr("twofold.maps.projection.MAX_COMPARED", 500)
    np.testing.assert_allclose(Projection(regression).fit(X, Z).predict(queries), plain, atol=1e-6)


def error_bound(spacing, n_components):
    """Return the bound of `twofold.numerics.sums.grid`, relative to the kernel's value at zero."""
    edge = np.pi / spacing
    omega = np.linspace(-edge, edge, 4001)
    spectrum = np.sqrt(2.0 * np.pi) * np.exp(-0.5 * omega**2)
    blur = np.sinc(omega * spacing / (2.0 * np.pi)) ** 4
    aliases = sum(
        np.sinc(omega * spacing / (2.0 * np.pi) + shift) ** 4
        for shift in range(-20, 21)
        if shift != 0
    )
    inside = np.trapezoid(spectrum * ((1.0 + aliases / blur) ** 2 - 1.0), omega) / (2.0 * np.pi)
    beyond = np.linspace(edge, edge + 12.0, 2001)
    tail = 2.0 * np.trapezoid(np.sqrt(2.0 * np.pi) * np.exp(-0.5 * beyond**2), beyond)
    return float((1.0 + inside + tail / (2.0 * np.pi)) ** n_components - 1.0)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_grid_equals_all_pairs_within_its_bound(q):
    rng = np.random.default_rng(q)
    Z, X = 1.5 * rng.standard_normal((300, q)), rng.standard_normal((300, 20))
    left, offset = rng.standard_normal((300, 20)), rng.standard_normal(300)
    grid, dense = GridWeights(Z), DenseWeights.of(Z, KERNELS["gaussian"])
    bound = error_bound(grid.spacing, q)
    assert bound < 3e-4
    assert np.abs(grid.mass - dense.mass).max() <= 300 * bound
    largest = np.abs(X).sum(axis=0).max()
    mass, sums = grid.mass_and_apply(X)
    assert np.abs(sums - dense.mass_and_apply(X)[1]).max() <= largest * bound
    np.testing.assert_array_equal(mass, grid.mass)
    expected = dense.gradient(left, X, offset)
    error = np.abs(grid.gradient(left, X, offset) - expected).max()
    assert error < 1e-3 * np.abs(expected).max()


def test_sums_run_where_they_are_cheaper():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((4000, 10)), rng.standard_normal((4000, 2))
    scheme = KernelRegression.of(X, KERNELS["gaussian"], many=True)
    assert isinstance(scheme.weigh(0.1 * Z), GridWeights)
    assert isinstance(scheme.weigh(30.0 * Z), CellWeights)
    compact = KernelRegression.of(X, KERNELS["quartic"], many=True)
    assert isinstance(compact.weigh(0.1 * Z), CellWeights)
    wide = scheme.objective().value(0.3 * Z)
    few = KernelRegression.of(X, KERNELS["gaussian"], many=False)
    exact = few.objective().value(0.3 * Z)
    assert wide == pytest.approx(exact, rel=1e-4)


def test_grid_error_falls_with_its_spacing():
    bounds = [error_bound(spacing, 2) for spacing in (0.8, 0.4, 0.2)]
    assert bounds[0] > 10.0 * bounds[1] > 100.0 * bounds[2]


class TestOneFitForAllSizes:
    """Settings that stay exact between 200 and 5,000 rows, and starts of many rows."""

    def test_exact_settings_keep_all_columns_and_double_precision(self):
        rng = np.random.default_rng(0)
        X, truth = make_noisy_spiral(250, random_state=0)
        wide = X @ rng.standard_normal((2, 60)) + 0.1 * rng.standard_normal((250, 60))
        exact = UKR(1, init=truth, pseudo_count=0.0, max_iter=5, tol=1e9, random_state=0).fit(wide)
        assert exact.history_[-1] == pytest.approx(exact.cv_error_, rel=1e-6)
        assert exact.decoder_.targets_.dtype == np.float64

    @pytest.mark.parametrize("settings", [{"leave_out": 3}, {"kernel": "student"}])
    def test_groups_and_heavy_tails(self, settings):
        X, _ = make_noisy_spiral(650, random_state=0)
        model = UKR(1, init="isomap", max_iter=10, random_state=0, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:600])
        assert model.score(X[600:]) > 0.95

    def test_hopeless_starts_of_many_rows_are_left_out(self, monkeypatch):
        monkeypatch.setattr("twofold.ukr.starts.ALL_TRIED", 500)
        monkeypatch.setattr("twofold.ukr.starts.N_TRIED", 300)
        X, _ = make_noisy_spiral(900, random_state=0)
        model = UKR(1, random_state=0).fit(X)
        names = [row["name"] for row in model.candidates_]
        assert "pca" not in names
        assert "isomap" in names or "tsne" in names
        assert model.score(X) > 0.98
