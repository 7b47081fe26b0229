"""Fits on a cluster equal local ones, however the rows are chunked."""

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from dask_tables import (
    MANIFOLDS,
    N_ROWS,
    QUICK,
    QUIET,
    SHEET,
    X,
    assert_same_model,
    chunked,
    wide_rows,
)
from distributed import Client

import twofold
from twofold.dask import Levels, fit
from twofold.dask._tiles import _FixedHalo, tiles_of
from twofold.kernels import resolve_kernel
from twofold.metrics import procrustes_r2
from twofold.numerics.sums.reach import kernel_radius
from twofold.ukr.regression import KernelRegression

pytestmark = QUIET


class TestEqualToLocal:
    @pytest.mark.parametrize("rows", [N_ROWS, 1_700, 4_096])
    def test_drur(self, client, local, rows):
        model, Z = fit(twofold.DRUR(**QUICK), chunked(rows), return_embedding=True)
        assert_same_model(model, local)
        assert isinstance(Z, da.Array)
        assert Z.chunks[0] == chunked(rows).chunks[0]
        np.testing.assert_allclose(Z.compute(), local.embedding_, atol=1e-9)
        few = X[:400]
        assert model.score(chunked(150, few)) == pytest.approx(local.score(few), abs=1e-9)

    @pytest.mark.parametrize("scale", ["standard", [1.0, 3.0, 0.5]])
    def test_scaled_columns(self, client, scale):
        few = X[:900] * [1.0, 1e3, 1e-3]
        expected = twofold.DRUR(**QUICK, scale=scale).fit(few)
        model = fit(twofold.DRUR(**QUICK, scale=scale), chunked(100, few))
        assert_same_model(model, expected)
        np.testing.assert_array_equal(model._data_units.factors, expected._data_units.factors)
        with pytest.raises(ValueError, match="scale='robust' needs the quartiles of all rows"):
            fit(twofold.DRUR(**QUICK, scale="robust"), chunked(100, few))
        with pytest.raises(ValueError, match="scale='robust' needs the quartiles of all rows"):
            fit(twofold.AutoTwoWay(scale="robust"), chunked(100, few))

    def test_drur_whose_rows_all_take_part(self, client):
        few = X[:900]
        expected = twofold.DRUR(**QUICK).fit(few)
        model, Z = fit(twofold.DRUR(**QUICK), chunked(100, few), return_embedding=True)
        assert_same_model(model, expected)
        np.testing.assert_allclose(Z.compute(), expected.embedding_, atol=1e-9)

    def test_drur_of_many_columns(self, client):
        expected = twofold.DRUR(**QUICK).fit(wide_rows())
        assert_same_model(fit(twofold.DRUR(**QUICK), chunked(700, wide_rows())), expected)

    def test_perceptrons(self, client):
        setting = {**QUICK, "up": "mlp", "n_centers": 4, "max_iter": 1}
        with pytest.warns(UserWarning, match="one iteration"):
            expected = twofold.DRUR(**setting).fit(X[:2_500])
        with pytest.warns(UserWarning, match="one iteration"):
            model = fit(twofold.DRUR(**setting), chunked(600, X[:2_500]))
        np.testing.assert_array_equal(model.transform(X[:50]), expected.transform(X[:50]))

    def test_the_estimator_itself_is_fitted(self, client, local, tmp_path):
        given = twofold.DRUR(**QUICK)
        model = fit(given, chunked())
        assert model is given
        assert model.embedding_.shape == (0, 2)
        np.testing.assert_array_equal(model.transform(X[:99]), local.transform(X[:99]))
        model.save(tmp_path / "model.twofold")
        loaded = twofold.load(tmp_path / "model.twofold")
        np.testing.assert_array_equal(loaded.transform(X[:99]), given.transform(X[:99]))
        assert model.sample(3, random_state=0).shape == (3, 3)

    def test_fitted_again(self, no_client):
        """Nothing of another fit is left."""
        import dask.dataframe as dd
        import pandas as pd

        frame = dd.from_pandas(pd.DataFrame(X[:300], columns=["a", "b", "c"]), npartitions=2)
        setting = {"init": "pca", "homotopy": False, "max_iter": 100, "tol": 1e-1}
        model = fit(twofold.UKR(**setting), frame, levels=Levels(n_sweeps=1, sweep_iter=1))
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        assert len(model.refinement_history_) == 2
        fit(model, chunked(100, X[:300, :2]), levels=Levels(n_sweeps=0))
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 2
        assert len(model.refinement_history_) == 0
        model.fit(X[:300])
        assert not hasattr(model, "refinement_history_")

    def test_a_client_that_is_not_current(self, cluster, local, no_client):
        with Client(cluster, set_as_default=False) as own:
            model, Z = fit(twofold.DRUR(**QUICK), chunked(), client=own, return_embedding=True)
            assert_same_model(model, local)
            assert own.compute(Z).result().shape == (N_ROWS, 2)
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(again.transform(X[:9]), model.transform(X[:9]))

    def test_a_fit_that_is_a_task_itself(self, client):
        def fitted():
            rows = da.from_array(X[:300], chunks=(100, 3))
            model = fit(twofold.DRUR(**QUICK), rows, timeout=20.0)
            return fit(model, rows, timeout=20.0)

        models = client.gather([client.submit(fitted, pure=False) for _ in range(3)])  # 2 threads
        assert {model.score(X[:300]) for model in models} == {models[0].score(X[:300])}

    def test_without_a_cluster(self, local, no_client):
        assert_same_model(fit(twofold.DRUR(**QUICK), chunked()), local)

    def test_equal_rows(self, client):
        rows = da.ones((50, 3), chunks=(20, 3))
        with pytest.warns(UserWarning, match="vary in only 0 directions"):
            model, Z = fit(twofold.DRUR(**QUICK), rows, return_embedding=True)
        assert Z.compute().shape == (50, 2)
        assert model.embedding_.shape == (0, 2)
        np.testing.assert_array_equal(model.reconstruct(rows).compute(), np.ones((50, 3)))

    def test_callbacks_are_called(self, no_client):
        pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
        events = []

        class Recorder:
            def setup(self, estimator, context):
                events.append("setup")

            def teardown(self, estimator, context):
                events.append("teardown")

            def on_fit_task_begin(self, estimator, context):
                events.append(context.task_name)

            def on_fit_task_end(self, estimator, context): ...

        fit(twofold.DRUR(**QUICK).set_callbacks(Recorder()), chunked(100, X[:300]))
        assert events[:3] == ["setup", "fit", "starts"]
        assert events[-1] == "teardown"


class TestManifoldEqualToLocal:
    @pytest.mark.parametrize("name", MANIFOLDS)
    def test_many_rows(self, client, name):
        setting = {"random_state": 0, "tol": 1e-2, **MANIFOLDS[name]}
        data = X[:2_500]
        expected = twofold.PrincipalManifold(1, **setting).fit(data)
        for rows in (2_500, 900):
            model, Z = fit(
                twofold.PrincipalManifold(1, **setting), chunked(rows, data), return_embedding=True
            )
            np.testing.assert_array_equal(model.weights_, expected.weights_)
            np.testing.assert_allclose(Z.compute(), expected.embedding_, atol=1e-8)
        few = data[:200]
        assert model.score(few) == pytest.approx(expected.score(few), abs=1e-12)
        Z = Z[:50].compute()
        np.testing.assert_allclose(model.log_density(Z), expected.log_density(Z), rtol=1e-7)

    def test_few_rows(self, client):
        setting = {"alpha": 1e-3, "init": "pca", "random_state": 0}
        expected = twofold.PrincipalManifold(1, **setting).fit(X[:300])
        model = fit(twofold.PrincipalManifold(1, **setting), chunked(70, X[:300]))
        np.testing.assert_array_equal(model.weights_, expected.weights_)

    def test_scattered_nodes(self, client):
        rng = np.random.default_rng(0)
        data = rng.standard_normal((2_300, 6))
        setting = {"alpha": 1e-2, "init": "pca", "n_nodes": 10, "tol": 1e-2, "random_state": 0}
        expected = twofold.PrincipalManifold(4, **setting).fit(data)
        model = fit(twofold.PrincipalManifold(4, **setting), chunked(1_000, data))
        np.testing.assert_array_equal(model.weights_, expected.weights_)


class TestTiles:
    Z = np.random.default_rng(0).uniform(0.0, 30.0, (3_000, 2))

    def test_every_row_is_in_one_tile_and_in_the_halos_around(self):
        tiles = tiles_of(self.Z, 500, 2.0)
        own = np.concatenate([tile.rows[tile.own] for tile in tiles])
        np.testing.assert_array_equal(np.sort(own), np.arange(3_000))
        for tile in tiles:
            inside = self.Z[tile.rows[tile.own]]
            assert len(inside) <= 500
            outside = np.setdiff1d(np.arange(3_000), tile.rows)
            gaps = np.maximum(
                inside.min(axis=0) - self.Z[outside], self.Z[outside] - inside.max(axis=0)
            )
            assert gaps.max(axis=1).min() > 2.0

    def test_equal_latents_are_one_tile(self):
        assert len(tiles_of(np.zeros((100, 2)), 10, 1.0)) == 1

    def test_the_gradient_of_a_tile_is_that_of_all_rows(self):
        data = np.random.default_rng(1).standard_normal((3_000, 3))
        kernel = resolve_kernel("quartic")  # compact, so nothing is cut
        _, gradient = (
            KernelRegression.of(data, kernel, many=False).objective().value_and_grad(self.Z)
        )
        for tile in tiles_of(self.Z, 800, 2.0 * kernel_radius(kernel, 1e-4))[:2]:
            part = KernelRegression.of(data[tile.rows], kernel, many=False).objective()
            latents = self.Z[tile.rows]
            _, found = _FixedHalo(part, latents, tile.own).value_and_grad(latents[tile.own])
            # Both errors are means over their rows.
            np.testing.assert_allclose(
                found * len(tile.rows) / 3_000, gradient[tile.rows[tile.own]], rtol=1e-6, atol=1e-12
            )


class TestKernelRegression:
    SETTING = {"init": "isomap", "max_iter": 10, "tol": 1e-3, "random_state": 0}
    LEVELS = Levels(n_sample=400, tile_rows=400)

    def test_in_levels(self, client, tmp_path):
        data, sheet = X[:1_000], SHEET[:1_000]
        options = {
            "checkpoint": tmp_path / "run.twofold",
            "levels": self.LEVELS,
            "return_embedding": True,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # runs are cut short
            model, Z = fit(twofold.UKR(**self.SETTING), chunked(400, data), **options)
            again, Z_again = fit(
                twofold.UKR(**self.SETTING), chunked(400, data), resume=True, **options
            )
        assert len(model.refinement_history_) == 3
        assert model.refinement_history_[-1] < 0.9 * model.refinement_history_[0]
        Z = Z.compute()
        assert procrustes_r2(sheet, Z) > 0.95
        np.testing.assert_array_equal(Z_again.compute(), Z)
        assert model.score(data[:100]) > 0.99
        # One plane: the maps take rows to where they are.
        assert procrustes_r2(Z[:100], model.transform(data[:100])) > 0.99
        np.testing.assert_array_equal(again.transform(data[:9]), model.transform(data[:9]))
        other = {**options, "levels": replace(self.LEVELS, n_sweeps=1)}
        with pytest.raises(ValueError, match=r"another fit: it has \{'n_sweeps': '2'\}"):
            fit(twofold.UKR(**self.SETTING), chunked(400, data), resume=True, **other)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"kernel": "student"}, "reach every tile"),
            ({"init": SHEET}, "init is an array"),
            ({"metric": "l1"}, "metric='euclidean'"),
        ],
    )
    def test_invalid_settings(self, no_client, setting, message):
        with pytest.raises(ValueError, match=message):
            fit(twofold.UKR(**setting), chunked())

    def test_invalid_levels(self, no_client):
        with pytest.raises(ValueError, match="tile_rows=1 must be at least 2"):
            Levels(tile_rows=1)
        with pytest.raises(TypeError, match=r"must be a twofold.dask.Levels"):
            fit(twofold.UKR(), chunked(), levels={"tile_rows": 1})


def test_dask_is_not_imported_by_the_package():
    code = (
        "import sys, twofold; "
        "print(any(m.split('.')[0] in ('dask', 'distributed') for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
