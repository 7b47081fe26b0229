"""Tables in blocks, some of which misbehave, and fits that the tests of Dask share."""

import os
import signal
import time

import dask.array as da
import numpy as np
import pytest

from twofold.dask._cluster import Cluster
from twofold.datasets import make_s_curve
from twofold.principal_manifold import CrossValidation

QUIET = [
    # Closing a cluster leaves sockets to the garbage collector, also those of killed workers.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    # Dask's own, under pandas 3.1.
    pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:An error occurred while calling the read_parquet"),
]
"""The marks of every test module that starts a cluster."""

N_TURNED = 2_000
N_ROWS = 5_000
"""More than take part in the turns of DRUR, which are fewer here."""

X, SHEET = make_s_curve(N_ROWS, noise=0.02, random_state=0)
QUICK = {"n_centers": 12, "init": "pca", "tol": 0.9, "recenter": 1, "random_state": 0}
"""Three turns: two idle ones are the last."""

MANIFOLDS = {
    "squared": {"alpha": 1e-3, "init": "pca"},
    "huber": {"alpha": 1e-3, "init": "pca", "loss": "huber"},
    "noisy": {"alpha": 1e-3, "init": "pca", "latent_noise": 0.05},
    "mahalanobis, cv": {
        "loss": "mahalanobis",
        "n_nodes": 4,
        "init": "pca",
        "alpha": CrossValidation(2),
    },
    "soft": {"alpha": 1e-2, "init": "pca", "assignment": "soft", "max_iter": 4, "tol": 0.1},
}


class Interrupted(BaseException):
    """What interrupts a fit on purpose."""


def chunked(rows=1_700, data=X):
    return da.from_array(data, chunks=(rows, data.shape[1]))


def wide_rows():
    """2,500 rows of 60 columns."""
    rng = np.random.default_rng(0)
    return X[:2_500] @ rng.standard_normal((3, 60)) + 0.1 * rng.standard_normal((2_500, 60))


def slowly(array, seconds):
    """Blocks that take a while to read."""

    def read(block):
        time.sleep(seconds)
        return block

    return array.map_blocks(read, dtype=array.dtype, meta=np.empty((0, 0)))


def deadly_once(array, flag):
    """Blocks whose next reader dies by SIGKILL, as soon as the file ``flag`` exists."""

    def read(block):
        try:
            flag.unlink()
        except FileNotFoundError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    return array.map_blocks(read, dtype=array.dtype, meta=np.empty((0, 0)))


def failing_block(array, number, flag=None):
    """Blocks of which one raises an error, if the file ``flag`` exists."""

    def read(block, block_info=None):
        there = flag is None or flag.exists()
        if block_info[0]["chunk-location"][0] == number and there:
            raise OSError("the disk is on fire")
        return block

    return array.map_blocks(read, meta=np.empty((0, 0)))


def armed_in(phase, flag, monkeypatch):
    """Create the file ``flag`` when a phase of a fit begins for the first time."""

    def run(self, watched, wanted, now, *rest):
        if now == phase and not armed:
            armed.append(now)
            flag.touch()
        return original(self, watched, wanted, now, *rest)

    armed = []
    original = Cluster.run
    monkeypatch.setattr(Cluster, "run", run)
    return armed


def assert_same_model(model, reference):
    np.testing.assert_array_equal(model.decoder_.weights_, reference.decoder_.weights_)
    np.testing.assert_array_equal(
        model._ways["map"].maps[1].weights_, reference._ways["map"].maps[1].weights_
    )
    np.testing.assert_array_equal(model.history_, reference.history_)
