"""Counts on a log scale and back: the formula, sparse tables, gaps, bad input, pipelines."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import twofold
from twofold import UKR, TwoWay
from twofold.counts import LogCounts
from twofold.datasets import make_branching_counts
from twofold.export import explorer
from twofold.export.onnx import export

X = make_branching_counts(120, 20, random_state=0)[0]
FORMATS = [
    sparse.csr_matrix,
    sparse.csc_matrix,
    sparse.csr_array,
    sparse.csc_array,
]


@pytest.mark.filterwarnings("ignore:Row .* of X has no counts:UserWarning")
@pytest.mark.filterwarnings("ignore:All counts of X are 0:UserWarning")
@parametrize_with_checks([LogCounts(), LogCounts(target_sum=1e4)])
def test_conventions(estimator, check):
    check(estimator)


class TestFormula:
    def test_median_size_is_the_target(self):
        sizes = X.sum(axis=1)
        model = LogCounts().fit(X)
        assert model.target_sum_ == model.library_size_ == np.median(sizes)
        expected = np.log1p(X / sizes[:, None] * np.median(sizes))
        np.testing.assert_allclose(model.transform(X), expected, rtol=1e-14)

    def test_given_target(self):
        model = LogCounts(target_sum=10_000).fit(X)
        np.testing.assert_allclose(np.expm1(model.transform(X)).sum(axis=1), 1e4, rtol=1e-12)
        assert model.library_size_ == np.median(X.sum(axis=1))

    def test_there_and_back(self):
        model = LogCounts().fit(X[::2])
        again = model.inverse_transform(model.transform(X), model.library_size(X))
        np.testing.assert_allclose(again, X, rtol=1e-12, atol=1e-12)

    def test_back_at_the_median_and_at_one_size(self):
        model = LogCounts(target_sum=1e4).fit(X)
        Y = model.transform(X)
        median = model.inverse_transform(Y)
        np.testing.assert_allclose(median.sum(axis=1), model.library_size_, rtol=1e-12)
        np.testing.assert_allclose(model.inverse_transform(Y, 500).sum(axis=1), 500.0, rtol=1e-12)

    def test_chosen_columns(self):
        frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(20)])
        model = LogCounts().fit(frame)
        Y, sizes = model.transform(frame), model.library_size(frame)
        for features in ([3, 7], ["g3", "g7"]):
            part = model.inverse_transform(Y[:, [3, 7]], sizes, features=features)
            np.testing.assert_allclose(part, X[:, [3, 7]], rtol=1e-12, atol=1e-12)
        part = model.at_library_size(X[:, [3, 7]], sizes)
        np.testing.assert_array_equal(part, Y[:, [3, 7]])

    def test_rows_do_not_depend_on_each_other(self):
        model = LogCounts().fit(X)
        together = model.transform(X)
        alone = np.vstack([model.transform(row[None]) for row in X])
        np.testing.assert_array_equal(together, alone)

    def test_negative_logs_become_zero_and_large_ones_stay_finite(self):
        model = LogCounts().fit(X)
        Y = np.zeros((2, 20))
        Y[0, 0], Y[1, 1] = -3.0, 1e6
        back = model.inverse_transform(Y, 1e9)
        assert back[0, 0] == 0.0
        assert np.isfinite(back).all()
        assert np.isfinite(model.inverse_transform(Y.astype(np.float32), 1e9)).all()


class TestSparse:
    @pytest.mark.parametrize("kind", FORMATS)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_equals_dense_and_stays_sparse(self, kind, dtype):
        table = kind(X.astype(dtype))
        copies = table.data.copy(), table.indices.copy(), table.indptr.copy()
        dense = LogCounts().fit(X.astype(dtype))
        model = LogCounts().fit(table)
        Y = model.transform(table)
        assert type(Y) is type(table)
        assert Y.dtype == dtype
        assert Y.nnz == table.nnz
        np.testing.assert_allclose(model.shares_, dense.shares_, rtol=1e-12)
        np.testing.assert_allclose(Y.toarray(), dense.transform(X.astype(dtype)), rtol=1e-6)
        back = model.inverse_transform(Y, model.library_size(table))
        assert type(back) is type(table)
        np.testing.assert_allclose(back.toarray(), X, rtol=1e-5)
        Y.sort_indices()
        Y.indices[:] = 0
        for before, now in zip(copies, (table.data, table.indices, table.indptr), strict=True):
            np.testing.assert_array_equal(before, now)

    def test_integers(self):
        Y = LogCounts().fit_transform(sparse.csr_array(X))
        assert Y.dtype == np.float64
        np.testing.assert_allclose(Y.toarray(), LogCounts().fit_transform(X), rtol=1e-14)

    def test_stored_duplicates_are_added_up(self):
        parts = (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3]))
        table = sparse.csr_array(parts, shape=(2, 2))
        Y = LogCounts(target_sum=1.0).fit_transform(table)
        np.testing.assert_allclose(Y.toarray(), np.log1p([[1.0, 0.0], [0.0, 1.0]]))
        assert table.nnz == 3

    def test_a_large_table_is_never_dense(self):
        """As an array this table would have 8e11 bytes."""
        table = sparse.random_array((10**5, 10**6), density=1e-6, rng=0, format="csr")
        Y = LogCounts().fit(table).at_library_size(table, np.ones(10**5))
        assert Y.nnz == table.nnz

    @pytest.mark.parametrize("kind", FORMATS)
    def test_parts(self, kind, monkeypatch):
        """A table in parts of few cells, with empty rows and columns at the ends of parts."""
        table = np.where(np.random.default_rng(0).random(X.shape) < 0.6, 0, X).astype(float)
        table[[0, 5, 6, 119]] = 0.0
        table[:, [0, 7, 19]] = 0.0
        table[20, 3] = np.nan
        model = LogCounts().fit(table)
        sizes = model.library_size(table)
        expected = model.at_library_size(table, sizes)
        for n_cells in (1, 3, 64):
            monkeypatch.setattr("twofold.counts.cells.MOST_CELLS", n_cells)
            in_parts = LogCounts().fit(kind(table))
            np.testing.assert_allclose(in_parts.shares_, model.shares_, rtol=1e-12)
            np.testing.assert_allclose(in_parts.library_size(kind(table)), sizes, rtol=1e-12)
            parts = in_parts.at_library_size(kind(table), sizes).toarray()
            np.testing.assert_allclose(parts, expected, rtol=1e-12)
            np.testing.assert_array_equal(model.at_library_size(table, sizes), expected)

    @pytest.mark.parametrize("kind", FORMATS)
    def test_gaps_are_those_of_the_array(self, kind):
        with_gaps = X.astype(float)
        with_gaps[::3, 2] = with_gaps[1::4, 5] = np.nan
        sparse_model, dense_model = LogCounts().fit(kind(with_gaps)), LogCounts().fit(with_gaps)
        np.testing.assert_allclose(sparse_model.shares_, dense_model.shares_, rtol=1e-12)
        Y = sparse_model.transform(kind(with_gaps)).toarray()
        np.testing.assert_allclose(Y, dense_model.transform(with_gaps), rtol=1e-12)


class TestGaps:
    def test_gaps_stay_and_sizes_are_those_of_the_whole_row(self):
        rates = np.arange(1.0, 21.0)
        table = np.outer([1.0, 2.0, 5.0, 3.0], rates)
        model = LogCounts().fit(table)
        with_gaps = table.copy()
        with_gaps[1, 4:] = with_gaps[2, 0] = np.nan
        np.testing.assert_allclose(model.library_size(with_gaps), table.sum(axis=1), rtol=1e-12)
        Y = model.transform(with_gaps)
        np.testing.assert_array_equal(np.isnan(Y), np.isnan(with_gaps))
        seen = ~np.isnan(with_gaps)
        np.testing.assert_allclose(Y[seen], model.transform(table)[seen], rtol=1e-12)
        assert np.isnan(model.inverse_transform(Y)[1, 4])

    def test_a_row_of_gaps_only(self):
        model = LogCounts().fit(X)
        with pytest.warns(UserWarning, match="has no counts"):
            assert np.isnan(model.transform(np.full((1, 20), np.nan))).all()


class TestBadInput:
    def test_negative_values_have_a_place(self):
        table = X.astype(float)
        table[7, 3] = -1.0
        table[9, 0] = -2.0
        for bad in (table, sparse.csr_array(table), sparse.csc_array(table)):
            with pytest.raises(ValueError, match=r"Negative values.* row \d, column \d, 2 in all"):
                LogCounts().fit(bad)
        with pytest.raises(ValueError, match="-1 in row 7, column 3"):
            LogCounts().fit(X).transform(sparse.csr_array(table[:9]))

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
    def test_infinity_has_a_place(self, kind):
        table = X.astype(float)
        table[5, 2] = np.inf
        with pytest.raises(ValueError, match="infinity, first in row 5, column 2"):
            LogCounts().fit(kind(table))

    def test_rows_without_counts_stay_zeros(self):
        table = X.copy()
        table[4] = 0
        model = LogCounts().fit(table)
        for kind in (np.asarray, sparse.csr_array):
            with pytest.warns(UserWarning, match="Row 4 of X has no counts, 1 such"):
                Y = model.transform(kind(table))
            assert not (Y if kind is np.asarray else Y.toarray())[4].any()

    def test_nothing_but_zeros(self):
        with pytest.warns(UserWarning, match="All counts of X are 0"):
            model = LogCounts().fit(np.zeros((3, 2)))
        assert model.target_sum_ == 1.0
        assert not model.inverse_transform(np.zeros((3, 2))).any()

    @pytest.mark.parametrize("target", [0, -1.0, np.inf, "median", True])
    def test_targets(self, target):
        with pytest.raises((ValueError, TypeError), match="target_sum="):
            LogCounts(target_sum=target).fit(X)

    def test_library_sizes(self):
        model = LogCounts().fit(X)
        Y = model.transform(X)
        with pytest.raises(ValueError, match="library_size has 3 entries, but there are 120"):
            model.inverse_transform(Y, [1, 2, 3])
        with pytest.raises(ValueError, match="at least 0"):
            model.inverse_transform(Y, -1.0)
        with pytest.raises(ValueError, match="must be a number"):
            model.inverse_transform(Y, "large")

    def test_columns(self):
        model = LogCounts().fit(X)
        with pytest.raises(ValueError, match="X has 2 features, but LogCounts was fitted with 20"):
            model.inverse_transform(np.zeros((1, 2)))
        with pytest.raises(ValueError, match="features names 3"):
            model.inverse_transform(np.zeros((1, 2)), features=[0, 1, 2])
        with pytest.raises(ValueError, match="99 is not a column"):
            model.inverse_transform(np.zeros((1, 1)), features=[99])

    def test_not_fitted(self):
        for call in (
            lambda m: m.transform(X),
            lambda m: m.inverse_transform(X),
            lambda m: m.library_size(X),
            lambda m: m.at_library_size(X, 1.0),
        ):
            with pytest.raises(NotFittedError):
                call(LogCounts())

    @pytest.mark.parametrize("unit", [1e150, 1e-150, 1e300, 1e-300, 2.0**-1070])
    def test_units(self, unit):
        table = np.minimum(X, 50) * unit
        plain = LogCounts().fit(np.minimum(X, 50))
        Y = LogCounts(plain.target_sum_).fit_transform(table)
        np.testing.assert_allclose(Y, plain.transform(np.minimum(X, 50)), rtol=1e-10)

    def test_sums_out_of_range(self):
        for kind in (np.asarray, sparse.csr_array):
            with pytest.raises(ValueError, match="range of floating-point"):
                LogCounts().fit(kind(np.full((3, 4), 1e308)))

    def test_layouts(self):
        expected = LogCounts().fit_transform(X.astype(float))
        base = X.astype(float)
        frozen = base.copy()
        frozen.flags.writeable = False
        swapped = base.astype(base.dtype.newbyteorder())
        for table in (np.asfortranarray(base), base[::-1][::-1], frozen, swapped):
            np.testing.assert_allclose(LogCounts().fit_transform(table), expected, rtol=1e-12)
        np.testing.assert_array_equal(base, X)

    def test_columns_in_another_order(self):
        frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(20)])
        model = LogCounts().fit(frame)
        with pytest.raises(ValueError, match="feature names"):
            model.transform(frame.iloc[:, ::-1])


class TestPipelines:
    def test_counts_again(self):
        pipeline = make_pipeline(LogCounts(), UKR(random_state=0)).fit(X)
        images = pipeline.inverse_transform(pipeline.transform(X))
        assert images.shape == X.shape
        assert (images >= 0.0).all()
        np.testing.assert_allclose(
            np.median(images.sum(axis=1)), np.median(X.sum(axis=1)), rtol=0.1
        )

    def test_sparse_equals_dense(self):
        pipeline = make_pipeline(LogCounts(), TwoWay("pca", up="nw", down="nw", random_state=0))
        dense = clone(pipeline).fit(X).transform(X)
        np.testing.assert_allclose(
            clone(pipeline).fit(sparse.csr_array(X)).transform(sparse.csr_array(X)),
            dense,
            atol=1e-9,
        )

    def test_grid_search(self):
        pipeline = make_pipeline(LogCounts(), TwoWay("pca", up="nw", down="nw", random_state=0))
        grid = {"logcounts__target_sum": [None, 1e4]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(X)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()

    def test_exports_say_what_to_do(self, tmp_path):
        pipeline = make_pipeline(LogCounts(), TwoWay("pca", up="nw", down="nw")).fit(X)
        for write in (
            lambda: twofold.save(pipeline, tmp_path / "a.twofold"),
            lambda: explorer.write(pipeline, X, path=tmp_path / "a.html"),
            lambda: export(pipeline, tmp_path / "a.onnx"),
        ):
            with pytest.raises(TypeError, match=r"no fixed unit.*pipeline\[-1\].*twofold\.anndata"):
                write()
        twofold.save(pipeline[-1], tmp_path / "a.twofold")
        again = twofold.load(tmp_path / "a.twofold")
        logs = pipeline[0].transform(X)
        np.testing.assert_array_equal(again.transform(logs), pipeline.transform(X))

    def test_set_output_and_names(self):
        frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(20)])
        out = LogCounts().set_output(transform="pandas").fit_transform(frame)
        assert list(out.columns) == list(frame.columns)
        assert list(LogCounts().fit(frame).get_feature_names_out()) == list(frame.columns)

    def test_pickle(self):
        model = LogCounts().fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
