"""A cluster of two workers that may be killed, and fits in memory to compare with."""

import dask
import pytest
from dask_tables import N_TURNED, QUICK, X
from distributed import Client, LocalCluster

import twofold


@pytest.fixture(scope="package", autouse=True)
def few_rows_take_part():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("twofold.drur.settings.N_TURNED", N_TURNED)
        patch.setattr("twofold.principal_manifold.settings.MOST_ROWS", N_TURNED)
        for module in ("principal_manifold.estimator", "dask._principal_manifold"):
            patch.setattr(f"twofold.{module}.MOST_OF_DENSITY", 300)
        yield


@pytest.fixture(scope="package")
def cluster():
    settings = {
        "distributed.worker.memory.terminate": False,
        # On a busy machine, workers that were killed take longer to come back than Dask waits.
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


@pytest.fixture
def no_client(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.get_client", none)


@pytest.fixture(scope="package")
def local(few_rows_take_part):
    return twofold.DRUR(**QUICK).fit(X)
