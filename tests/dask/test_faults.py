"""Fits survive the death of workers with the same bits, or end with an error that says why."""

import os
import pickle
import threading
import time

import dask
import numpy as np
import pytest
from dask_tables import (
    QUICK,
    QUIET,
    X,
    armed_in,
    assert_same_model,
    chunked,
    deadly_once,
    failing_block,
    slowly,
)
from distributed import Client, LocalCluster

import twofold
from twofold.dask import DistributedFitError, Levels, fit
from twofold.dask._cluster import Cluster
from twofold.dask._tasks import Task
from twofold.principal_manifold.domains import Points

pytestmark = QUIET


class TestDeaths:
    @pytest.mark.parametrize("phase", ["first look", "moments", "sample", "adaptation"])
    def test_a_worker_dies_in_a_fit(self, client, local, monkeypatch, tmp_path, phase):
        flag = tmp_path / "die"
        armed = armed_in(phase, flag, monkeypatch)
        model = fit(twofold.DRUR(**QUICK), deadly_once(chunked(400), flag))
        assert armed
        assert not flag.exists()
        assert_same_model(model, local)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_a_worker_dies_in_a_tile(self, client, monkeypatch, tmp_path):
        def tiled(rows):
            model = twofold.UKR(init="pca", homotopy=False, max_iter=5, tol=1e-3, random_state=0)
            levels = Levels(n_sample=60, tile_rows=120, n_sweeps=1)
            return fit(model, rows, levels=levels, return_embedding=True)

        flag = tmp_path / "die"
        expected, latents = tiled(chunked(120, X[:240]))
        armed = armed_in("refinement", flag, monkeypatch)
        model, found = tiled(deadly_once(chunked(120, X[:240]), flag))
        assert armed
        assert not flag.exists()
        np.testing.assert_array_equal(found.compute(), latents.compute())
        np.testing.assert_array_equal(model.transform(X[:50]), expected.transform(X[:50]))
        np.testing.assert_array_equal(model.refinement_history_, expected.refinement_history_)

    @pytest.mark.parametrize("what", ["embedding", "transform"])
    def test_a_worker_dies_in_a_map(self, client, local, tmp_path, what):
        flag = tmp_path / "die"
        rows = deadly_once(chunked(400), flag)
        model, Z = fit(twofold.DRUR(**QUICK), rows, return_embedding=True)
        lazy = Z if what == "embedding" else model.transform(rows, method="map")
        undisturbed = lazy.compute()
        flag.touch()
        np.testing.assert_array_equal(lazy.compute(), undisturbed)
        assert not flag.exists()
        expected = local.embedding_ if what == "embedding" else local.transform(X, method="map")
        np.testing.assert_allclose(undisturbed, expected, atol=1e-9)

    def test_a_worker_dies_in_k_means(self, client, monkeypatch, tmp_path):
        setting = {"domain": Points(5), "kernel": "delta", "alpha": 0.0, "random_state": 0}
        expected = twofold.PrincipalManifold(1, **setting).fit(X[:2_500])
        flag = tmp_path / "die"
        armed = armed_in("adaptation", flag, monkeypatch)
        rows = deadly_once(chunked(400, X[:2_500]), flag)
        model = fit(twofold.PrincipalManifold(1, **setting), rows)
        assert armed
        assert not flag.exists()
        np.testing.assert_array_equal(model.weights_, expected.weights_)

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
                fit(twofold.DRUR(**QUICK), deadly)
        finally:
            cluster.scheduler.allowed_failures = allowed


def _without_row_7(block):
    masked = np.ma.masked_array(block, mask=np.zeros(block.shape, dtype=bool))
    masked[7] = np.ma.masked
    return masked


class TestBadBlocks:
    def test_a_block_that_raises_is_named(self, client):
        model = twofold.DRUR(**QUICK)
        with pytest.raises(
            DistributedFitError, match=r"block 3 of 5.*the disk is on fire"
        ) as caught:
            fit(model, failing_block(chunked(1_000), 3))
        assert caught.value.block == 3
        assert isinstance(caught.value.__cause__, OSError)
        assert vars(model) == vars(twofold.DRUR(**QUICK))  # as it was

    @pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
    def test_a_block_that_raises_is_named_without_a_cluster(self, no_client, scheduler):
        with (
            dask.config.set(scheduler=scheduler),
            pytest.raises(DistributedFitError, match=r"block 3 of 5.*the disk is on fire"),
        ):
            fit(twofold.DRUR(**QUICK), failing_block(chunked(1_000), 3))

    def test_a_small_block_that_raises_later_is_named(self, client, tmp_path, monkeypatch):
        flag = tmp_path / "fail"
        bad = failing_block(chunked(300, X[:1_800]), 3, flag)
        armed_in("moments", flag, monkeypatch)
        with pytest.raises(DistributedFitError, match=r"block 3 of 6.*the disk is on fire"):
            fit(twofold.DRUR(**QUICK), bad)

    def test_blocks_whose_shape_differs_from_the_metadata(self, client):
        wrong = chunked(1_000).map_blocks(lambda block: block[:, :1], meta=np.empty((0, 0)))
        with pytest.raises(DistributedFitError, match=r"block \d of 5.*\(1000, 1\).*\(1000, 3\)"):
            fit(twofold.DRUR(**QUICK), wrong)

    def test_a_row_of_masked_values(self, client):
        masked = chunked(1_000).map_blocks(_without_row_7, meta=np.empty((0, 0)))
        message = r"block \d of 5.*Row 7 of .* has only missing values"
        with pytest.raises(DistributedFitError, match=message):
            fit(twofold.DRUR(**QUICK), masked)

    def test_a_value_that_is_not_a_number_is_found(self, client):
        self.check_a_bad_value()

    def test_a_value_that_is_not_a_number_is_found_without_a_cluster(self, no_client):
        with dask.config.set(scheduler="synchronous"):
            self.check_a_bad_value()

    @staticmethod
    def check_a_bad_value():
        data = X.copy()
        data[2_200, 1] = np.inf
        message = r"block 2 of 5.*infinity.*row 200, column 1"
        with pytest.raises(DistributedFitError, match=message):
            fit(twofold.DRUR(**QUICK), chunked(1_000, data))


class TestLostClusters:
    def test_a_closed_client(self, cluster):
        own = Client(cluster, set_as_default=False)
        own.close()
        with pytest.raises(DistributedFitError, match="the client is closed"):
            fit(twofold.DRUR(**QUICK), chunked(), client=own)

    def test_a_result_that_takes_long_to_come(self, client):
        class Slow:
            def __reduce__(self):
                time.sleep(1.5)
                return (str, ("here",))

        task = Task(dask.delayed(Slow)())
        (found,) = Cluster(client, "Test", 20.0, 20.0).run([], [task], "phase", str)
        assert found == "here"

    @pytest.mark.timing
    def test_all_workers_gone(self, no_client):
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
            ) as small,
            Client(small, set_as_default=False) as own,
        ):
            model = twofold.DRUR(**QUICK)
            threading.Timer(1.0, small.scale, [0]).start()
            began = time.monotonic()
            with pytest.raises(DistributedFitError, match=r"no workers for .* s"):
                fit(model, slowly(chunked(100), 0.1), client=own, no_workers_timeout=2.0)
            assert time.monotonic() - began < 20.0
            assert not hasattr(model, "decoder_")

    def test_a_task_that_never_ends(self, client):
        with pytest.raises(DistributedFitError, match="no task has ended for"):
            fit(twofold.DRUR(**QUICK), slowly(chunked(2_500), 4.0), timeout=1.5)

    def test_the_error_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(DistributedFitError("why", phase="sums", block=2)))
        assert (str(error), error.phase, error.block) == ("why", "sums", 2)
