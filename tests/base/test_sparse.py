"""Sparse tables: small ones are fitted like dense ones, large ones in their leading subspace."""

import tracemalloc

import numpy as np
import pytest
from registry import ESTIMATORS
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import twofold
from twofold import DRUR, UKR, AgglomerativeIsomap, AutoTwoWay, TwoWay, from_pipeline
from twofold.metrics import map_score
from twofold.numerics import sparse_rows
from twofold.numerics.sparse_subspace import SparseSubspace

pytestmark = [
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
]

LINEAR = TwoWay("pca", up="nw", down="nw", random_state=0)
SHORT = UKR(1, init="pca", homotopy=False, pseudo_count=0, tol=1e-3, max_iter=20, random_state=0)
"""A descent so short that it does not amplify rounding."""

EUCLIDEAN = {name: one for name, one in ESTIMATORS.items() if name != "ukr-l1"}
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr"]


def curve(n_rows=150, n_columns=60, seed=0):
    """Return rows along a curve, mostly zeros."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.0, 3.0, n_rows))
    waves = np.stack([np.cos(k * t + k) for k in range(5)], axis=1)
    weights = np.random.default_rng(1).standard_normal((5, n_columns))
    return np.maximum(waves @ weights - 1.0, 0.0)


@pytest.fixture(scope="module")
def data():
    X = curve()
    X[:, 7] = 0.0
    return X


@pytest.fixture
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(sparse_rows, "FEW_CELLS", 100)


class TestFewCells:
    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_sparse_equals_dense(self, name, data):
        dense = clone(ESTIMATORS[name]).fit(data)
        model = clone(ESTIMATORS[name]).fit(sparse.csr_array(data))
        Z = dense.transform(data[:20])
        np.testing.assert_array_equal(model.transform(sparse.csr_array(data[:20])), Z)
        np.testing.assert_array_equal(model.inverse_transform(Z), dense.inverse_transform(Z))
        assert model.score(sparse.csc_array(data)) == dense.score(data)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
    def test_all_formats(self, form, kind, data):
        model = clone(LINEAR).fit(data)
        given = kind(data).asformat(form)
        np.testing.assert_array_equal(model.transform(given), model.transform(data))

    def test_in_single_precision(self, data):
        model = clone(LINEAR).fit(sparse.csr_array(data.astype(np.float32)))
        assert model.transform(sparse.csr_array(data.astype(np.float32))).dtype == np.float32

    def test_gaps(self, data):
        with_gap = sparse.csr_array(data)
        with_gap.data[3] = np.nan
        model = clone(LINEAR).fit(with_gap)
        assert np.isfinite(model.impute(with_gap)).all()

    def test_weights(self, data):
        weights = np.arange(len(data)) % 3
        dense = clone(LINEAR).fit(data, sample_weight=weights)
        model = clone(LINEAR).fit(sparse.csr_array(data), sample_weight=weights)
        np.testing.assert_array_equal(model.embedding_, dense.embedding_)

    def test_metrics(self, data):
        model = clone(LINEAR).fit(data)
        assert map_score(model, sparse.csr_array(data)) == map_score(model, data)

    def test_one_dimension_is_refused(self):
        with pytest.raises(ValueError, match=r"2D|1D"):
            clone(LINEAR).fit(sparse.coo_array(np.arange(5.0)))

    @pytest.mark.parametrize(
        "model", [UKR(metric="precomputed"), AgglomerativeIsomap(dissimilarity="precomputed")]
    )
    def test_pairs_are_refused(self, model):
        with pytest.raises(TypeError, match="pairs of rows"):
            model.fit(sparse.eye_array(20, format="csr"))


@pytest.mark.usefixtures("no_table_is_small")
class TestManyCells:
    @pytest.mark.parametrize("name", EUCLIDEAN)
    def test_all_methods(self, name, data, tmp_path):
        rows = sparse.csr_array(data)
        model = clone(EUCLIDEAN[name]).fit(rows)
        Z = model.transform(rows)
        images = model.reconstruct(rows)
        assert Z.shape == model.embedding_.shape == (len(data), 2)
        np.testing.assert_allclose(images, model.inverse_transform(Z), atol=1e-12)
        np.testing.assert_array_equal(images[:, 7], 0.0)
        errors = np.linalg.norm(data - images, axis=1)
        np.testing.assert_allclose(model.reconstruction_error(rows), errors, atol=1e-7)
        assert model.score(rows) == pytest.approx(1.0 - (errors**2).mean() / data.var(axis=0).sum())
        np.testing.assert_allclose(
            model.inverse_transform(Z, features=[5, 2]), images[:, [5, 2]], atol=1e-12
        )
        if name == "supervised":
            return  # a class of these tests, which files do not know
        assert ", score" not in repr(model)  # which the fit knows of the subspace only
        model.save(tmp_path / "model.twofold")
        again = twofold.load(tmp_path / "model.twofold")
        np.testing.assert_array_equal(again.transform(rows), Z)

    def test_a_row_does_not_depend_on_the_others(self, data):
        rows = sparse.csr_array(data)
        model = clone(SHORT).fit(rows)
        together = model.transform(rows)
        np.testing.assert_allclose(model.transform(rows[5:6]), together[5:6], atol=1e-10)

    @pytest.mark.parametrize("scale", [None, "standard"])
    def test_equals_principal_components_before_the_model(self, data, scale):
        X = data[:, np.arange(60) != 7]
        rows = sparse.csr_array(X)
        model = clone(SHORT).set_params(scale=scale).fit(rows)
        rank = model._data_units.matrix.shape[1]
        steps = [] if scale is None else [StandardScaler()]
        steps += [PCA(rank, svd_solver="full"), SHORT]
        dense = from_pipeline(make_pipeline(*steps).fit(X))
        assert model.score(rows) == pytest.approx(dense.score(X), abs=1e-8)
        np.testing.assert_allclose(model.reconstruct(rows), dense.reconstruct(X), atol=1e-8)
        np.testing.assert_allclose(
            model.reconstruction_error(rows), dense.reconstruction_error(X), atol=1e-7
        )

    def test_factors_of_columns(self, data):
        factors = np.linspace(1.0, 3.0, data.shape[1])
        scaled = clone(LINEAR).fit(sparse.csr_array(data / factors))
        model = clone(LINEAR).set_params(scale=factors).fit(sparse.csr_array(data))
        np.testing.assert_allclose(model.embedding_, scaled.embedding_, atol=1e-8)
        assert model.score(sparse.csr_array(data)) == pytest.approx(
            scaled.score(sparse.csr_array(data / factors))
        )

    def test_weights_are_copies(self, data):
        counts = np.arange(len(data)) % 3
        weighted = clone(LINEAR).fit(sparse.csr_array(data), sample_weight=counts)
        repeated = clone(LINEAR).fit(sparse.csr_array(np.repeat(data, counts, axis=0)))
        new = sparse.csr_array(curve(seed=3))
        np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-8)
        assert len(weighted.embedding_) == len(data)

    def test_dense_rows_of_a_sparse_fit_and_back(self, data):
        rows = sparse.csr_array(data)
        of_sparse, of_dense = clone(LINEAR).fit(rows), clone(LINEAR).fit(data)
        np.testing.assert_allclose(of_sparse.transform(data), of_sparse.transform(rows), atol=1e-9)
        np.testing.assert_array_equal(of_dense.transform(rows), of_dense.transform(data))
        np.testing.assert_array_equal(
            of_dense.reconstruction_error(rows), of_dense.reconstruction_error(data)
        )
        assert of_dense.score(rows) == of_dense.score(data)

    def test_ways_of_drur(self, data):
        rows = sparse.csr_array(data)
        model = DRUR(n_centers=20, alpha=1e-3, init="pca", random_state=0).fit(rows)
        for way in ("map", "project"):
            dense = model.transform(data, method=way)
            np.testing.assert_allclose(model.transform(rows, method=way), dense, atol=1e-5)

    def test_left_out_rows_of_isomap(self, data):
        rows = sparse.csr_array(data)
        model = AgglomerativeIsomap(1, cross_fit=True, random_state=0)
        latents = model.fit_transform(rows)
        assert not np.array_equal(latents, model.transform(rows))
        assert latents.shape == (len(data), 1)

    def test_cross_validation(self, data):
        folds = KFold(3, shuffle=True, random_state=0)
        scores = cross_val_score(clone(LINEAR), sparse.csr_array(data), cv=folds)
        np.testing.assert_allclose(
            scores, cross_val_score(clone(LINEAR), data, cv=folds), atol=0.01
        )

    def test_front_door(self, data):
        rows = sparse.csr_array(data)
        model = AutoTwoWay(methods={"flat": clone(LINEAR)}, random_state=0).fit(rows)
        assert model.n_features_in_ == model.best_estimator_.n_features_in_ == data.shape[1]
        assert model.score(rows) == pytest.approx(model.best_estimator_.score(rows))

    @pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_values_that_are_not_finite(self, data, bad, word):
        rows = sparse.csr_array(data)
        place = rows.indptr[4]
        rows.data[place] = bad
        message = f"{word}, first in row 4, column {rows.indices[place]}"
        with pytest.raises(ValueError, match=message):
            clone(LINEAR).fit(rows)
        with pytest.raises(ValueError, match=word):
            clone(LINEAR).fit(sparse.csr_array(data)).transform(rows)

    def test_gaps_of_dense_rows_are_refused(self, data):
        model = clone(LINEAR).fit(sparse.csr_array(data))
        with pytest.raises(ValueError, match="NaN"):
            model.transform(np.where(np.arange(60) == 3, np.nan, data[:5]))

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (UKR(metric="l1"), "metric='l1'"),
            (UKR(scale="robust"), "scale='robust'"),
            (UKR(61), "n_components=61"),
            (UKR(scale=np.ones(3)), "scale"),
        ],
    )
    def test_what_is_not_supported(self, data, model, message):
        with pytest.raises(ValueError, match=message):
            model.fit(sparse.csr_array(data))

    @pytest.mark.parametrize("factor", [1e150, 1e-150])
    def test_range(self, data, factor):
        with pytest.raises(ValueError, match="range"):
            clone(LINEAR).fit(sparse.csr_array(factor * data))

    def test_no_values(self):
        rows = sparse.csr_array((50, 20))
        with pytest.warns(UserWarning, match="equal|rank|vary"):
            model = clone(LINEAR).fit(rows)
        np.testing.assert_array_equal(model.inverse_transform(model.embedding_), 0.0)

    def test_several_values_of_one_cell_are_added_up(self, data):
        rows = sparse.csr_array(data)
        halves = np.repeat(rows.data / 2.0, 2), np.repeat(rows.indices, 2), 2 * rows.indptr
        twice = sparse.csr_array(halves, shape=rows.shape)
        model = clone(LINEAR).set_params(scale="standard").fit(twice)
        again = clone(LINEAR).set_params(scale="standard").fit(rows)
        assert model.score(twice) == pytest.approx(again.score(rows), abs=1e-8)
        assert twice.nnz == 2 * rows.nnz  # the caller's matrix stays as it was

    def test_other_columns(self, data):
        model = clone(LINEAR).fit(sparse.csr_array(data))
        with pytest.raises(ValueError, match=r"59 features.*60"):
            model.transform(sparse.csr_array(data[:, :59]))

    def test_other_units_are_noticed(self, data):
        model = clone(LINEAR).fit(sparse.csr_array(data))
        with pytest.warns(UserWarning, match="other units"):
            model.transform(sparse.csr_array(1000.0 * data))

    def test_a_failed_fit_changes_nothing(self, data):
        model = clone(LINEAR).fit(sparse.csr_array(data))
        before = model.transform(data)
        with pytest.raises(ValueError, match="infinity"):
            model.fit(sparse.csr_array(np.where(data > 0, np.inf, 0.0)[:, :30]))
        np.testing.assert_array_equal(model.transform(data), before)

    def test_results_that_do_not_fit_into_memory(self, data, monkeypatch):
        model = clone(LINEAR).fit(sparse.csr_array(data))
        monkeypatch.setattr(twofold.base.sparse_inputs, "MUCH_MEMORY", 0)
        monkeypatch.setattr(twofold.numerics.memory, "available_memory", lambda: 1000.0)
        for call in (model.inverse_transform, model.reconstruct):
            rows = model.embedding_ if call == model.inverse_transform else sparse.csr_array(data)
            with pytest.raises(MemoryError, match="features="):
                call(rows)


class TestSubspace:
    def test_axes_are_the_principal_ones(self, data):
        found = SparseSubspace.of(sparse.csr_array(data), None)
        centered = data - data.mean(axis=0)
        values = np.linalg.svd(centered, compute_uv=False) ** 2 / len(data)
        within = centered @ found.axes.T
        np.testing.assert_allclose(within.var(axis=0), values[: len(found.axes)], rtol=1e-8)
        np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(len(found.axes)), atol=1e-12)
        assert within.var(axis=0).sum() >= 0.99 * found.variance
        assert found.variance == pytest.approx(values.sum())
        np.testing.assert_allclose(found.coordinates(sparse.csr_array(data)), within, atol=1e-10)

    def test_the_table_is_never_dense(self):
        rows = sparse.random_array((3_000, 6_000), density=0.002, format="csr", rng=0)
        assert sparse_rows.is_large_sparse(rows)
        tracemalloc.start()
        model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(rows)
        model.score(rows)
        model.inverse_transform(model.embedding_, features=[0, 1])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.5 * 8 * rows.shape[0] * rows.shape[1]


class TestFeatures:
    @pytest.fixture
    def model(self, data):
        pd = pytest.importorskip("pandas")
        return clone(LINEAR).fit(pd.DataFrame(data, columns=[f"c{k}" for k in range(60)]))

    @pytest.mark.parametrize(
        ("features", "columns"),
        [
            ([3, 1], [3, 1]),
            (4, [4]),
            ([-1], [59]),
            (slice(0, 3), [0, 1, 2]),
            (["c3", "c1"], [3, 1]),
            ("c3", [3]),
            (np.arange(60) == 5, [5]),
        ],
        ids=str,
    )
    def test_by_number_name_slice_or_mask(self, model, features, columns):
        Z = model.embedding_[:4]
        chosen = model.inverse_transform(Z, features=features)
        np.testing.assert_array_equal(chosen, model.inverse_transform(Z)[:, columns])

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            ([60], "60 is not a column"),
            (["d"], "'d' is not a column"),
            ([0.5], "list of column numbers"),
            ([], "list of column numbers"),
            ([True, False], "mask with 60"),
        ],
        ids=str,
    )
    def test_columns_that_do_not_exist(self, model, features, message):
        with pytest.raises(ValueError, match=message):
            model.inverse_transform(model.embedding_[:4], features=features)

    def test_names_need_names(self, data):
        model = clone(LINEAR).fit(data)
        with pytest.raises(ValueError, match="without names"):
            model.inverse_transform(model.embedding_, features=["a"])
