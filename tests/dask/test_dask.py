"""Distributed estimators: equal to the local ones however rows are chunked, and whatever happens to workers."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import twofold
import twofold.dask as distributed_twofold
from twofold.dask import DistributedFitError
from twofold.dask._blocks import Blocks, as_numbers
from twofold.dask._checkpoint import MARK, FileJournal
from twofold.dask._cluster import Cluster, Task
from twofold.dask._freed_memory import _library, keeping_freed_memory
from twofold.dask._rows import DistributedRows
from twofold.dask._shared import Shared
from twofold.dask._tiles import _HeldHalo, tiles_of
from twofold.datasets import make_s_curve
from twofold.export.model_files import ModelFileError, load_objects, save_objects
from twofold.kernels import resolve_kernel
from twofold.metrics import procrustes_r2
from twofold.numerics.sums import kernel_radius
from twofold.numerics.tree_sums import LEAF_ROWS, ArrayRows, TreeSum, in_leaves
from twofold.principal_manifold.domains import Points
from twofold.ukr.regression import KernelRegression

# Closing a cluster leaves sockets to the garbage collector, also those of workers that were killed on purpose.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    # Dask's own, under pandas 3.1.
    pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:An error occurred while calling the read_parquet"),
]

N_TURNED = 2_000
N_ROWS = 5_000
"""More than take part in the turns of DRUR, which are fewer here."""

X, SHEET = make_s_curve(N_ROWS, noise=0.02, random_state=0)
QUICK = {"n_centers": 12, "init": "pca", "tol": 0.9, "recenter": 1, "random_state": 0}
"""Three turns: two idle ones are the last."""


@pytest.fixture(scope="module", autouse=True)
def few_rows_take_part():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("twofold.drur.selection.N_TURNED", N_TURNED)
        patch.setattr("twofold.principal_manifold.fitting.MOST_ROWS", N_TURNED)
        for module in ("estimators.principal_manifold", "dask._principal_manifold"):
            patch.setattr(f"twofold.{module}.MOST_OF_DENSITY", 300)
        yield


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.worker.memory.terminate": False,
        # Workers that die on purpose are back later than this allows for on a busy machine, and would be given up.
        "distributed.deploy.lost-worker-timeout": "300s",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as made,
        Client(made),
    ):
        yield made


@pytest.fixture
def client(cluster):
    current = Client.current()
    current.wait_for_workers(2, timeout=120)  # the test before may have killed some
    return current


@pytest.fixture(scope="module")
def local():
    return twofold.DRUR(**QUICK).fit(X)


@pytest.fixture
def no_client(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.get_client", none)


def chunked(rows=1_700, data=X):
    return da.from_array(data, chunks=(rows, data.shape[1]))


def slowly(array, seconds):
    """Blocks that take a while to read."""

    def read(block):
        time.sleep(seconds)
        return block

    return array.map_blocks(read, dtype=array.dtype, meta=np.empty((0, 0)))


def deadly_once(array, flag):
    """Blocks whose next reader dies by SIGKILL, as soon as the file ``flag`` is there."""

    def read(block):
        try:
            flag.unlink()
        except FileNotFoundError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    return array.map_blocks(read, dtype=array.dtype, meta=np.empty((0, 0)))


def assert_same_model(model, reference):
    np.testing.assert_array_equal(model.decoder_.weights_, reference.decoder_.weights_)
    np.testing.assert_array_equal(
        model._ways["map"].maps[1].weights_, reference._ways["map"].maps[1].weights_
    )
    np.testing.assert_array_equal(model.history_, reference.history_)


class TestLeaves:
    def test_sums_do_not_depend_on_blocks_or_threads(self):
        rng = np.random.default_rng(0)
        data = rng.standard_normal((5 * LEAF_ROWS + 77, 3))
        expected = ArrayRows(data).total(lambda rows, _: rows.sum(axis=0))
        cuts = np.sort(rng.integers(0, len(data), 20))
        tree, seen = TreeSum(), 0
        for block in in_leaves(np.split(data, cuts)):
            tree.add_rows(lambda rows, _: rows.sum(axis=0), block, seen)
            seen += len(block)
        np.testing.assert_array_equal(tree.total(), expected)
        np.testing.assert_allclose(expected, data.sum(axis=0), rtol=1e-11, atol=1e-9)

    def test_parts_may_come_in_any_order(self):
        rng = np.random.default_rng(1)
        values = rng.standard_normal(23)
        totals = set()
        for _ in range(10):
            tree = TreeSum()
            for number in rng.permutation(23):
                tree.add(0, int(number), values[number])
            totals.add(float(tree.total()))
        assert len(totals) == 1

    def test_a_leaf_begins_at_its_place(self):
        with pytest.raises(ValueError, match="row 5 is not the first of a leaf"):
            TreeSum().add_rows(lambda rows, _: 0, X, 5)
        with pytest.raises(ValueError, match="no rows"):
            TreeSum().total()

    @pytest.mark.parametrize("seed", range(5))
    def test_rows_in_tasks(self, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(0, 5_000, 9).tolist()
        data = rng.standard_normal((sum(sizes), 2))
        array = da.from_array(data, chunks=(tuple(sizes), 2))
        source = DistributedRows(Blocks.of(array), sizes, Cluster(None, "Test", 60.0, 60.0))

        def kernel(rows, first):
            np.testing.assert_array_equal(rows, data[first : first + len(rows)])
            return rows.sum(axis=0)

        np.testing.assert_array_equal(
            source.total(kernel, "sums"), ArrayRows(data).total(lambda rows, _: rows.sum(axis=0))
        )
        numbers = np.sort(rng.permutation(len(data))[:50])
        np.testing.assert_array_equal(source.rows(numbers, "rows"), data[numbers])


class TestShared:
    def test_nothing_travels_outside_of_the_bytes(self):
        outside = []
        sent = pickle.dumps(Shared(X), protocol=5, buffer_callback=outside.append)
        assert not outside  # where a buffer of the network would begin is anybody's guess
        found = pickle.loads(sent).content
        assert found.flags.aligned
        np.testing.assert_array_equal(found, X)

    def test_numbers_are_put_in_their_places(self):
        shifted = np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
        assert not shifted.flags.aligned
        assert as_numbers(shifted).flags.aligned
        np.testing.assert_array_equal(as_numbers(shifted), X)

    def test_bits_do_not_depend_on_who_did_what(self, client):
        """Weights as ill-conditioned as these show any other rounding."""
        rng = np.random.default_rng(0)
        wide = X[:2_500] @ rng.standard_normal((3, 60)) + 0.1 * rng.standard_normal((2_500, 60))
        rows = chunked(700, wide)
        found = [distributed_twofold.DRUR(**QUICK).fit(rows).decoder_.weights_ for _ in range(4)]
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])


class TestFreedMemory:
    class Library:
        def __init__(self):
            self.calls = []

        def mallopt(self, name, value):
            self.calls.append((name, value))

        def malloc_trim(self, pad):
            self.calls.append("trim")

    def test_limits_are_lifted_for_the_time_of_the_tasks(self, monkeypatch):
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
        library = self.Library()
        with keeping_freed_memory(lambda: library):
            lifted = list(library.calls)
            with keeping_freed_memory(lambda: library):
                assert library.calls == lifted  # the first lifts them for all
            assert library.calls == lifted  # and the last puts them back
        assert [name for name, _ in lifted] == [-1, -3]
        assert min(value for _, value in lifted) >= 2**25
        assert library.calls[len(lifted) :] == [(-1, 65536), (-3, 131072), "trim"]

    def test_elsewhere_nothing_happens(self, monkeypatch):
        with keeping_freed_memory(lambda: None):
            pass
        monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
        _library.cache_clear()
        assert _library() is None
        _library.cache_clear()

    def test_workers_work_in_memory_they_have(self, client):
        def faults():
            import resource

            def touched():
                before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                for _ in range(20):
                    np.ones(400_000).sum()
                return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

            plain = touched()
            with keeping_freed_memory():
                touched()
                return plain, touched()

        if not sys.platform.startswith("linux"):
            pytest.skip("the GNU C library alone")
        for plain, kept in client.run(faults).values():
            assert kept < 0.2 * plain


class TestEqualToLocal:
    @pytest.mark.parametrize("rows", [N_ROWS, 1_700, 4_096])
    def test_drur(self, client, local, rows):
        model = distributed_twofold.DRUR(**QUICK).fit(chunked(rows))
        assert_same_model(model.local_, local)
        assert isinstance(model.embedding_, da.Array)
        assert model.embedding_.chunks[0] == chunked(rows).chunks[0]
        np.testing.assert_allclose(model.embedding_.compute(), local.embedding_, atol=1e-9)
        few = X[:400]
        assert model.score(chunked(150, few)) == pytest.approx(local.score(few), abs=1e-9)

    def test_drur_whose_rows_all_take_part(self, client):
        few = X[:900]
        expected = twofold.DRUR(**QUICK).fit(few)
        model = distributed_twofold.DRUR(**QUICK).fit(chunked(100, few))
        assert_same_model(model.local_, expected)
        np.testing.assert_allclose(model.embedding_.compute(), expected.embedding_, atol=1e-9)

    def test_drur_of_many_columns(self, client):
        rng = np.random.default_rng(0)
        wide = X[:2_500] @ rng.standard_normal((3, 60)) + 0.1 * rng.standard_normal((2_500, 60))
        expected = twofold.DRUR(**QUICK).fit(wide)
        model = distributed_twofold.DRUR(**QUICK).fit(chunked(700, wide))
        assert_same_model(model.local_, expected)

    def test_perceptrons(self, client):
        setting = {**QUICK, "up": "mlp", "n_centers": 4, "max_iter": 1}
        with pytest.warns(UserWarning, match="one iteration"):
            expected = twofold.DRUR(**setting).fit(X[:2_500])
        with pytest.warns(UserWarning, match="one iteration"):
            model = distributed_twofold.DRUR(**setting).fit(chunked(600, X[:2_500]))
        np.testing.assert_array_equal(model.transform(X[:50]), expected.transform(X[:50]))

    def test_to_local(self, client, local, tmp_path):
        model = distributed_twofold.DRUR(**QUICK).fit(chunked())
        given = model.to_local()
        assert type(given) is twofold.DRUR
        assert given.embedding_.shape == (0, 2)
        np.testing.assert_array_equal(given.transform(X[:99]), local.transform(X[:99]))
        assert model.to_local(embedding=True).embedding_.shape == (N_ROWS, 2)
        model.save(tmp_path / "model.twofold")
        loaded = twofold.load(tmp_path / "model.twofold")
        np.testing.assert_array_equal(loaded.transform(X[:99]), given.transform(X[:99]))
        assert model.sample(3, random_state=0).shape == (3, 3)

    def test_a_client_that_is_not_current(self, cluster, local, no_client):
        with Client(cluster, set_as_default=False) as own:
            model = distributed_twofold.DRUR(client=own, **QUICK)
            assert clone(model).client is own
            model.fit(chunked())
            assert_same_model(model.local_, local)
            assert model.to_local(embedding=True).embedding_.shape == (N_ROWS, 2)
            again = pickle.loads(pickle.dumps(model))
            assert again.client is None
            np.testing.assert_array_equal(again.transform(X[:9]), model.transform(X[:9]))

    def test_a_fit_that_is_a_task_itself(self, client):
        def fit():
            rows = da.from_array(X[:300], chunks=(100, 3))
            model = distributed_twofold.DRUR(timeout=20.0, **QUICK)
            return model.fit(rows).fit(rows).to_local()

        models = client.gather([client.submit(fit, pure=False) for _ in range(3)])  # of 2 threads
        assert {model.score(X[:300]) for model in models} == {models[0].score(X[:300])}

    def test_without_a_cluster(self, local, no_client):
        model = distributed_twofold.DRUR(**QUICK).fit(chunked())
        assert_same_model(model.local_, local)

    def test_equal_rows(self, client):
        rows = da.ones((50, 3), chunks=(20, 3))
        with pytest.warns(UserWarning, match="vary in only 0 directions"):
            model = distributed_twofold.DRUR(**QUICK).fit(rows)
        assert model.embedding_.compute().shape == (50, 2)
        np.testing.assert_array_equal(model.reconstruct(rows).compute(), np.ones((50, 3)))


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
        kernel = resolve_kernel("quartic")  # it ends, so nothing is cut
        _, gradient = KernelRegression.of(data, kernel).objective().value_and_grad(self.Z)
        for tile in tiles_of(self.Z, 800, 2.0 * kernel_radius(kernel, 1e-4))[:2]:
            part = KernelRegression.of(data[tile.rows], kernel).objective()
            latents = self.Z[tile.rows]
            _, found = _HeldHalo(part, latents, tile.own).value_and_grad(latents[tile.own])
            # Both errors are means over their rows.
            np.testing.assert_allclose(
                found * len(tile.rows) / 3_000, gradient[tile.rows[tile.own]], rtol=1e-6, atol=1e-12
            )


class TestKernelRegression:
    SETTING = {
        "init": "isomap",
        "n_sample": 400,
        "tile_rows": 400,
        "max_iter": 10,
        "tol": 1e-3,
        "random_state": 0,
    }

    def test_in_levels(self, client, tmp_path):
        data, sheet = X[:1_000], SHEET[:1_000]
        path = tmp_path / "run.twofold"
        model = distributed_twofold.UKR(checkpoint=path, **self.SETTING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of runs cut short
            model.fit(chunked(400, data))
            again = distributed_twofold.UKR(checkpoint=path, **self.SETTING)
            again.fit(chunked(400, data), resume=True)
        assert len(model.refinement_history_) == 3
        assert model.refinement_history_[-1] < 0.9 * model.refinement_history_[0]
        Z = model.embedding_.compute()
        assert procrustes_r2(sheet, Z) > 0.95
        np.testing.assert_array_equal(again.embedding_.compute(), Z)
        local = model.to_local()
        assert type(local) is twofold.UKR
        assert local.score(data[:100]) > 0.99
        # One plane: rows are where the maps take them to.
        assert procrustes_r2(Z[:100], local.transform(data[:100])) > 0.99
        np.testing.assert_array_equal(again.transform(data[:9]), local.transform(data[:9]))

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"kernel": "student"}, "reach every tile"),
            ({"init": SHEET}, "init is an array"),
            ({"tile_rows": 1}, "tile_rows=1"),
        ],
    )
    def test_settings_that_make_no_sense(self, client, setting, message):
        with pytest.raises(ValueError, match=message):
            distributed_twofold.UKR(**setting).fit(chunked())


@pytest.fixture(scope="module")
def expected():
    return twofold.DRUR(**QUICK).fit(X[:2_500])


MANIFOLDS = {
    "squared": {"alpha": 1e-3, "init": "pca"},
    "huber": {"alpha": 1e-3, "init": "pca", "loss": "huber"},
    "noisy": {"alpha": 1e-3, "init": "pca", "latent_noise": 0.05},
    "mahalanobis, cv": {"loss": "mahalanobis", "n_nodes": 4, "init": "pca", "cv": 2},
    "soft": {"alpha": 1e-2, "init": "pca", "assignment": "soft", "max_iter": 4, "tol": 0.1},
}


class TestManifoldEqualToLocal:
    @pytest.mark.parametrize("name", MANIFOLDS)
    def test_many_rows(self, client, name):
        setting = {"random_state": 0, "tol": 1e-2, **MANIFOLDS[name]}
        data = X[:2_500]
        expected = twofold.PrincipalManifold(1, **setting).fit(data)
        for rows in (2_500, 900):
            model = distributed_twofold.PrincipalManifold(1, **setting).fit(chunked(rows, data))
            np.testing.assert_array_equal(model.weights_, expected.weights_)
            np.testing.assert_allclose(model.embedding_.compute(), expected.embedding_, atol=1e-8)
        few = data[:200]
        assert model.score(few) == pytest.approx(expected.score(few), abs=1e-12)
        Z = model.embedding_[:50].compute()
        np.testing.assert_allclose(model.log_density(Z), expected.log_density(Z), rtol=1e-7)

    def test_few_rows(self, client):
        setting = {"alpha": 1e-3, "init": "pca", "random_state": 0}
        expected = twofold.PrincipalManifold(1, **setting).fit(X[:300])
        model = distributed_twofold.PrincipalManifold(1, **setting).fit(chunked(70, X[:300]))
        np.testing.assert_array_equal(model.weights_, expected.weights_)
        assert type(model.to_local()) is twofold.PrincipalManifold

    def test_scattered_nodes(self, client):
        rng = np.random.default_rng(0)
        data = rng.standard_normal((2_300, 6))
        setting = {"alpha": 1e-2, "init": "pca", "n_nodes": 20, "tol": 1e-2, "random_state": 0}
        expected = twofold.PrincipalManifold(4, **setting).fit(data)
        model = distributed_twofold.PrincipalManifold(4, **setting).fit(chunked(1_000, data))
        np.testing.assert_array_equal(model.weights_, expected.weights_)

    def test_latents_of_rows_that_are_elsewhere(self, client):
        with pytest.raises(ValueError, match="init is an array"):
            distributed_twofold.PrincipalManifold(2, init=SHEET).fit(chunked())

    @pytest.mark.parametrize(("name", "turn"), [("squared", 3), ("soft", 2)])
    def test_resumed(self, client, tmp_path, monkeypatch, name, turn):
        setting = {"random_state": 0, **MANIFOLDS[name]}
        expected = twofold.PrincipalManifold(1, **setting).fit(X[:2_500])
        model = distributed_twofold.PrincipalManifold(
            1, checkpoint=tmp_path / "run.twofold", **setting
        )

        def note(self, step, state):
            before(self, step, state)
            if state.turn == turn:
                raise Interrupted

        before = FileJournal.note
        monkeypatch.setattr(FileJournal, "note", note)
        with pytest.raises(Interrupted):
            model.fit(chunked(data=X[:2_500]))
        monkeypatch.undo()
        model.fit(chunked(data=X[:2_500]), resume=True)
        np.testing.assert_array_equal(model.weights_, expected.weights_)
        np.testing.assert_array_equal(model.history_, expected.history_)


class TestInputs:
    SETTING = QUICK

    @pytest.mark.parametrize("kind", ["frame", "zarr", "zarr path", "npy", "memmap", "parquet"])
    def test_kinds(self, client, expected, tmp_path, kind):
        rows = np.ascontiguousarray(X[:2_500])
        names = ["a", "b", "c"]
        frame = dd.from_pandas(pd.DataFrame(rows, columns=names), npartitions=3)
        if kind == "frame":
            given = frame
        elif kind.startswith("zarr"):
            import zarr

            stored = zarr.create_array(
                tmp_path / "x.zarr", shape=rows.shape, chunks=(600, 3), dtype="f8"
            )
            stored[:] = rows
            given = stored if kind == "zarr" else str(tmp_path / "x.zarr")
        elif kind == "parquet":
            frame.to_parquet(tmp_path / "x.parquet")
            given = tmp_path / "x.parquet"
        else:
            np.save(tmp_path / "x.npy", np.vstack([np.zeros((10, 3)), rows]))
            mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
            np.save(tmp_path / "y.npy", rows)
            given = mapped[10:] if kind == "memmap" else tmp_path / "y.npy"
        model = distributed_twofold.DRUR(**self.SETTING).fit(given)
        assert_same_model(model.local_, expected)
        Z = model.transform(given, method="map")
        assert hasattr(Z, "__dask_graph__")
        np.testing.assert_allclose(
            np.asarray(Z.compute()), expected.transform(X[:2_500], method="map"), atol=1e-9
        )
        if kind in ("frame", "parquet"):
            assert list(model.feature_names_in_) == names

    def test_single_precision(self, client):
        model = distributed_twofold.DRUR(**self.SETTING).fit(chunked(data=X.astype(np.float32)))
        assert model.embedding_.dtype == np.float32
        assert model.embedding_.compute().dtype == np.float32

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            (X[:50], TypeError, "ndarray is not distributed"),
            (da.from_array(X)[da.from_array(X)[:, 0] > 0], ValueError, "compute_chunk_sizes"),
            (da.from_array(X, chunks=(500, 2)), ValueError, r"rechunk\(\{1: -1\}\)"),
            (da.from_array(X[:, 0]), ValueError, "2D array"),
            (da.from_array(X.astype(complex)), ValueError, "could not convert"),
            (da.from_array(X[:1]), ValueError, "1 sample"),
            ("data.csv", ValueError, "must end in .zarr"),
            ("data.zarr", FileNotFoundError, "does not exist"),
            (
                dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1),
                ValueError,
                "column 'b' of X",
            ),
        ],
    )
    def test_refused(self, client, given, error, message):
        with pytest.raises(error, match=message):
            distributed_twofold.DRUR(n_components=1).fit(given)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"n_centers": "all"}, "n_centers='all'"),
            ({"init": SHEET}, "init is an array"),
            ({"n_components": 7}, "at most n_features=3"),
            ({"timeout": 0.0}, "timeout=0.0"),
        ],
    )
    def test_settings_that_make_no_sense(self, client, setting, message):
        with pytest.raises(ValueError, match=message):
            distributed_twofold.DRUR(**setting).fit(chunked())

    def test_resume_needs_a_path(self, client):
        with pytest.raises(ValueError, match="set checkpoint"):
            distributed_twofold.DRUR().fit(chunked(), resume=True)


@pytest.fixture(scope="module", params=["drur", "ukr", "principal_manifold", "two_way"])
def fitted(request):
    made = {
        "drur": twofold.DRUR(**QUICK),
        "ukr": twofold.UKR(init="pca", max_iter=3, homotopy=False, random_state=0),
        "principal_manifold": twofold.PrincipalManifold(2, alpha=1e-3, init="pca", max_iter=3),
        "two_way": twofold.TwoWay("pca", up="nw", down="nw", random_state=0),
    }[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of runs cut short
        return made.fit(X[:120])


class TestLazyMaps:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_arrays(self, client, fitted, dtype):
        rows = X[:120].astype(dtype)
        lazy = chunked(50, rows)
        Z = fitted.transform(rows)
        for method, argument, plain in [
            ("transform", lazy, rows),
            ("reconstruct", lazy, rows),
            ("reconstruction_error", lazy, rows),
            ("inverse_transform", chunked(50, Z), Z),
            ("log_density", chunked(50, Z), Z),
        ]:
            found, expected = getattr(fitted, method)(argument), getattr(fitted, method)(plain)
            assert isinstance(found, da.Array)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert found.chunks[0] == argument.chunks[0]
            computed = found.compute()
            assert (computed.shape, computed.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(
                computed, expected, atol=1e-3 if dtype == np.float32 else 1e-5
            )
        assert fitted.score(lazy) == pytest.approx(fitted.score(rows), abs=1e-4)

    def test_frames(self, client):
        frame = pd.DataFrame(X[:300], columns=["a", "b", "c"], index=np.arange(300) + 1_000)
        model = twofold.DRUR(**QUICK).fit(frame)
        lazy = dd.from_pandas(frame, npartitions=3)
        Z = model.transform(lazy)
        assert list(Z.columns) == ["drur0", "drur1"]
        assert list(Z.compute().index) == list(frame.index)
        np.testing.assert_allclose(Z.compute(), model.transform(frame), atol=1e-7)
        errors = model.reconstruction_error(lazy)
        assert errors.compute().name == "reconstruction_error"
        again = model.inverse_transform(Z)
        assert list(again.columns) == ["a", "b", "c"]
        np.testing.assert_allclose(again.compute(), model.reconstruct(frame), atol=1e-6)
        with pytest.raises(ValueError, match="feature names"):
            model.transform(lazy[["b", "a", "c"]]).compute()
        assert model.score(lazy) == pytest.approx(model.score(frame), abs=1e-6)

    def test_frames_keep_their_index(self, client, tmp_path):
        index = pd.date_range("2020-01-01", periods=300, freq="h", name="when")
        frame = pd.DataFrame(X[:300], columns=["a", "b", "c"], index=index)
        model = twofold.DRUR(**QUICK).fit(frame)
        lazy = dd.from_pandas(frame, npartitions=3)
        for found in (model.transform(lazy), model.reconstruction_error(lazy)):
            assert found.index.dtype == index.dtype
            assert found.index.name == "when"
        model.transform(lazy).to_parquet(tmp_path / "latents.parquet")
        again = pd.read_parquet(tmp_path / "latents.parquet")
        np.testing.assert_allclose(again, model.transform(frame), atol=1e-7)
        with pytest.raises(ValueError, match="feature names"):
            model.score(lazy[["b", "c", "a"]])

    def test_containers_in_memory_are_refused(self):
        model = twofold.DRUR(**QUICK).fit(X[:300]).set_output(transform="pandas")
        with pytest.raises(TypeError, match="set_output would bring all rows"):
            model.transform(chunked(100, X[:300]))

    def test_nothing_is_computed_before_it_is_asked_for(self, fitted):
        def refuse(block):
            raise AssertionError("computed")

        lazy = chunked(100, X[:300]).map_blocks(refuse, meta=np.empty((0, 0)))
        assert fitted.transform(lazy).shape == (300, 2)

    def test_a_model_is_in_the_graph_once(self, client, fitted):
        lazy = fitted.transform(chunked(10, X[:1_000]))
        (optimised,) = dask.optimize(lazy)
        import cloudpickle

        graph = dict(optimised.__dask_graph__())
        blocks = [
            task for key, task in graph.items() if isinstance(key, tuple) and "transform" in key[0]
        ]
        assert len(blocks) == 100
        assert max(len(cloudpickle.dumps(task)) for task in blocks) < 5_000

    def test_unknown_and_empty_chunks(self, client, fitted):
        lazy = chunked(100, X[:300])
        some = lazy[(lazy[:, 0] > 0) & (da.arange(300, chunks=100) >= 100)]
        expected = X[100:300][X[100:300, 0] > 0]
        np.testing.assert_allclose(
            fitted.transform(some).compute(), fitted.transform(expected), atol=1e-6
        )

    def test_wrong_widths(self, fitted):
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
            fitted.transform(da.zeros((10, 2)))
        with pytest.raises(ValueError, match="rechunk"):
            fitted.transform(da.zeros((10, 3), chunks=(5, 1)))
        with pytest.raises(ValueError, match="2D"):
            fitted.transform(da.zeros(10))

    def test_the_way_down_is_passed_on(self, client):
        model = twofold.DRUR(**QUICK).fit(X[:300])
        for method in ("map", "project"):
            np.testing.assert_allclose(
                model.transform(chunked(100, X[:300]), method=method).compute(),
                model.transform(X[:300], method=method),
                atol=1e-7,
            )


def armed_in(phase, flag, monkeypatch):
    """Let a worker die in a phase of a fit."""

    def run(self, watched, wanted, now, *rest):
        if now == phase and not armed:
            armed.append(now)
            flag.touch()
        return original(self, watched, wanted, now, *rest)

    armed = []
    original = Cluster.run
    monkeypatch.setattr(Cluster, "run", run)
    return armed


class TestFaults:
    @pytest.mark.parametrize("phase", ["first look", "moments", "sample", "adaptation"])
    def test_a_worker_dies_in_a_fit(self, client, local, monkeypatch, tmp_path, phase):
        flag = tmp_path / "die"
        armed = armed_in(phase, flag, monkeypatch)
        model = distributed_twofold.DRUR(**QUICK).fit(deadly_once(chunked(400), flag))
        assert armed
        assert not flag.exists()
        assert_same_model(model.local_, local)

    @pytest.mark.parametrize("what", ["projection", "transform"])
    def test_a_worker_dies_in_a_map(self, client, local, tmp_path, what):
        flag = tmp_path / "die"
        rows = deadly_once(chunked(400), flag)
        model = distributed_twofold.DRUR(**QUICK).fit(rows)
        lazy = model.embedding_ if what == "projection" else model.transform(rows, method="map")
        undisturbed = lazy.compute()
        flag.touch()
        np.testing.assert_array_equal(lazy.compute(), undisturbed)
        assert not flag.exists()
        expected = local.embedding_ if what == "projection" else local.transform(X, method="map")
        np.testing.assert_allclose(undisturbed, expected, atol=1e-9)

    def test_a_worker_dies_in_k_means(self, client, monkeypatch, tmp_path):
        setting = {"domain": Points(5), "kernel": "delta", "alpha": 0.0, "random_state": 0}
        expected = twofold.PrincipalManifold(1, **setting).fit(X[:2_500])
        flag = tmp_path / "die"
        armed = armed_in("adaptation", flag, monkeypatch)
        model = distributed_twofold.PrincipalManifold(1, **setting).fit(
            deadly_once(chunked(400, X[:2_500]), flag)
        )
        assert armed
        assert not flag.exists()
        np.testing.assert_array_equal(model.weights_, expected.weights_)

    def test_a_block_that_raises_is_named(self, client):
        def read(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 3:
                raise OSError("the disk is on fire")
            return block

        bad = chunked(1_000).map_blocks(read, meta=np.empty((0, 0)))
        with pytest.raises(
            DistributedFitError, match=r"block 3 of 5.*the disk is on fire"
        ) as caught:
            distributed_twofold.DRUR(**QUICK).fit(bad)
        assert caught.value.block == 3
        assert isinstance(caught.value.__cause__, OSError)

    @pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
    def test_a_block_that_raises_is_named_without_a_cluster(self, no_client, scheduler):
        def read(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 3:
                raise OSError("the disk is on fire")
            return block

        bad = chunked(1_000).map_blocks(read, meta=np.empty((0, 0)))
        with (
            dask.config.set(scheduler=scheduler),
            pytest.raises(DistributedFitError, match=r"block 3 of 5.*the disk is on fire"),
        ):
            distributed_twofold.DRUR(**QUICK).fit(bad)

    def test_a_small_block_that_raises_later_is_named(self, client, tmp_path, monkeypatch):
        flag = tmp_path / "fail"

        def read(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 3 and flag.exists():
                raise OSError("the disk is on fire")
            return block

        bad = chunked(300, X[:1_800]).map_blocks(read, meta=np.empty((0, 0)))
        armed_in("moments", flag, monkeypatch)
        with pytest.raises(DistributedFitError, match=r"block 3 of 6.*the disk is on fire"):
            distributed_twofold.DRUR(**QUICK).fit(bad)

    def test_blocks_of_other_shapes_than_they_say(self, client):
        wrong = chunked(1_000).map_blocks(lambda block: block[:, :1], meta=np.empty((0, 0)))
        with pytest.raises(DistributedFitError, match=r"block \d of 5.*\(1000, 1\).*\(1000, 3\)"):
            distributed_twofold.DRUR(**QUICK).fit(wrong)

    def test_masked_values(self, client):
        masked = chunked(1_000).map_blocks(np.ma.masked_greater, 0.5, meta=np.empty((0, 0)))
        with pytest.raises(DistributedFitError, match="masked values"):
            distributed_twofold.DRUR(**QUICK).fit(masked)

    def test_a_closed_client(self, cluster):
        own = Client(cluster, set_as_default=False)
        own.close()
        with pytest.raises(DistributedFitError, match="the client is closed"):
            distributed_twofold.DRUR(client=own, **QUICK).fit(chunked())

    def test_a_result_that_takes_long_to_come(self, client):
        class Slow:
            def __reduce__(self):
                time.sleep(1.5)
                return (str, ("here",))

        task = Task(dask.delayed(Slow)())
        (found,) = Cluster(client, "Test", 20.0, 20.0).run([], [task], "phase", str)
        assert found == "here"

    def test_a_value_that_is_no_number_is_found(self, client):
        self.check_a_bad_value()

    def test_a_value_that_is_no_number_is_found_without_a_cluster(self, no_client):
        with dask.config.set(scheduler="synchronous"):
            self.check_a_bad_value()

    @staticmethod
    def check_a_bad_value():
        data = X.copy()
        data[2_200, 1] = np.nan
        message = r"block 2 of 5.*NaN.*row 200, column 1"
        with pytest.raises(DistributedFitError, match=message):
            distributed_twofold.DRUR(**QUICK).fit(chunked(1_000, data))

    def test_a_block_that_kills_its_workers_is_named(self, client, cluster):
        def read(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 1:
                os._exit(1)
            return block

        deadly = chunked(2_000).map_blocks(read, meta=np.empty((0, 0)))
        allowed = cluster.scheduler.allowed_failures
        cluster.scheduler.allowed_failures = 1
        try:
            with pytest.raises(DistributedFitError, match=r"in block \d of 3.*KilledWorker"):
                distributed_twofold.DRUR(**QUICK).fit(deadly)
        finally:
            cluster.scheduler.allowed_failures = allowed

    def test_all_workers_gone(self, no_client):
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
            ) as small,
            Client(small, set_as_default=False) as own,
        ):
            model = distributed_twofold.DRUR(client=own, no_workers_timeout=2.0, **QUICK)
            threading.Timer(1.0, small.scale, [0]).start()
            began = time.monotonic()
            with pytest.raises(DistributedFitError, match=r"no workers for .* s"):
                model.fit(slowly(chunked(100), 0.1))
            assert time.monotonic() - began < 20.0
            assert not hasattr(model, "local_")

    def test_a_task_that_never_ends(self, client):
        model = distributed_twofold.DRUR(timeout=1.5, **QUICK)
        with pytest.raises(DistributedFitError, match="no task has ended for"):
            model.fit(slowly(chunked(2_500), 4.0))

    def test_the_error_travels(self):
        error = pickle.loads(pickle.dumps(DistributedFitError("why", phase="sums", block=2)))
        assert (str(error), error.phase, error.block) == ("why", "sums", 2)


def start_by_columns(data, n_components, rng):
    return data[:, :n_components]


class Interrupted(BaseException):
    pass


class TestCheckpoints:
    @pytest.mark.parametrize("when", ["starts", "turn 2", "maps"])
    def test_resumed_equals_uninterrupted(self, client, local, tmp_path, monkeypatch, when):
        path = tmp_path / "run.twofold"
        model = distributed_twofold.DRUR(checkpoint=path, **QUICK)
        steps = []

        def note(self, name, state):
            note_before(self, name, state)
            steps.append(f"turn {state.turn}")
            if steps[-1] == when:
                raise Interrupted

        def step(self, name, function):
            def watched():
                steps.append(name)
                if name == when:
                    raise Interrupted
                return function()

            return step_before(self, name, watched)

        note_before, step_before = FileJournal.note, FileJournal.step
        monkeypatch.setattr(FileJournal, "note", note)
        monkeypatch.setattr(FileJournal, "step", step)
        with pytest.raises(Interrupted):
            model.fit(chunked())
        assert not hasattr(model, "local_")
        made, when = list(steps), "never"
        steps.clear()
        model.fit(chunked(900), resume=True)  # other chunks, the same rows
        assert_same_model(model.local_, local)
        assert not set(made[:-1]) - {"turns"} & set(steps)  # nothing that had ended is done again

    def test_of_another_fit(self, client, tmp_path):
        path = tmp_path / "run.twofold"
        distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked())
        other = distributed_twofold.DRUR(checkpoint=path, **{**QUICK, "n_centers": 13})
        with pytest.raises(ValueError, match=r"is of another fit: it has \{'n_centers': '12'\}"):
            other.fit(chunked(), resume=True)
        with pytest.raises(ValueError, match=r"another fit.*data"):
            distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked(data=X + 1), resume=True)

    def test_damaged(self, client, tmp_path):
        path = tmp_path / "run.twofold"
        path.write_bytes(b"no archive")
        with pytest.raises(ModelFileError, match="not a model file"):
            distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked(), resume=True)

    def test_a_model_is_no_checkpoint(self, client, local, tmp_path):
        path = tmp_path / "model.twofold"
        local.save(path)
        with pytest.raises(ModelFileError, match="not that of a twofold checkpoint"):
            distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked(), resume=True)

    def test_of_other_data_with_the_same_extremes(self, client, tmp_path):
        path = tmp_path / "run.twofold"
        scaled = np.clip(X, np.quantile(X, 0.05, axis=0), np.quantile(X, 0.95, axis=0))
        model = distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked(data=scaled))
        for other in (0.999 * scaled + 0.001 * scaled[::-1], scaled[[0, 2, 1, *range(3, N_ROWS)]]):
            with pytest.raises(ValueError, match=r"another fit.*data"):
                model.fit(chunked(data=other), resume=True)

    def test_generators_and_functions_are_told_from_others(self, client, tmp_path):
        path = tmp_path / "run.twofold"
        setting = {**QUICK, "init": start_by_columns, "checkpoint": path}

        def fitted(seed, **more):
            setting["random_state"] = np.random.default_rng(seed)
            return distributed_twofold.DRUR(**setting).fit(chunked(), **more)

        first = fitted(0)
        assert_same_model(fitted(0, resume=True).local_, first.local_)
        with pytest.raises(ValueError, match=r"another fit.*random_state"):
            fitted(1, resume=True)

    def test_of_an_older_version(self, client, tmp_path):
        path = tmp_path / "run.twofold"
        distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked())
        held = load_objects(path, MARK)
        del held.facts["recenter"]
        save_objects(held, path, MARK)
        with pytest.raises(ValueError, match="'recenter': None"):
            distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked(), resume=True)

    def test_nothing_there_yet(self, client, local, tmp_path):
        path = tmp_path / "run.twofold"
        model = distributed_twofold.DRUR(checkpoint=path, **QUICK).fit(chunked(), resume=True)
        assert_same_model(model.local_, local)


def test_dask_is_not_imported_by_the_package():
    code = "import sys, twofold; print(any(m.split('.')[0] in ('dask', 'distributed') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
