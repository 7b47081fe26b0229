"""Many calls, many callers at once, and a process that may write nothing."""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from registry import ESTIMATORS
from sklearn.base import clone

import twofold
from benchmarks.endurance import Use, grew, repeat
from benchmarks.harness import ROOT
from twofold.datasets import make_s_curve

X = make_s_curve(60, noise=0.05, random_state=0)[0]
QUIET = [
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
]
pytestmark = QUIET


@pytest.fixture(scope="module")
def fitted():
    return {}


@pytest.fixture
def model(name, fitted):
    if name not in fitted:
        fitted[name] = clone(ESTIMATORS[name]).fit(X)
    return fitted[name]


def n_open_files():
    files = Path("/proc/self/fd")  # Linux only
    return len(list(files.iterdir())) if files.is_dir() else 0


@pytest.mark.parametrize("name", ["two_way-pca-rbf", "two_way-krr", "isomap-grnn", "drur"])
def test_transforms_leave_no_array(name, model):
    """The maps that take many rows quickly; `benchmarks.endurance` has all of them."""
    rows = np.tile(X, (20, 1))
    tracemalloc.start()
    try:
        latents = model.transform(rows)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(3):
            model.transform(rows)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < latents.nbytes


QUICK = ("two_way-krr", "ukr-quartic", "drur", "manifold", "isomap")
"""One estimator for each kind of encoder."""


@pytest.mark.parametrize(
    "name",
    [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in ESTIMATORS],
)
def test_24_concurrent_transforms(name, model, monkeypatch):
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 1)  # one row each
    monkeypatch.setattr("twofold.numerics.threads.n_threads", lambda _: 2)
    expected = model.transform(X[:3])
    before = n_open_files(), threading.active_count()
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        for found in pool.map(model.transform, [X[:3]] * 24):
            np.testing.assert_array_equal(found, expected)
    assert (n_open_files(), threading.active_count()) == before


READ_ONLY = """
import numpy as np, twofold
from twofold.datasets import make_s_curve
from twofold.numerics.sums._compiled import _loops
X = make_s_curve(300, random_state=0)[0]
model = twofold.TwoWay("pca", up="nw", down="nw").fit(X)
loops = _loops("_loops")
summed = np.zeros((2, 1))
loops.pair_sums(np.ones(1), np.array([0]), np.array([1]), np.array([[2.0], [3.0]]), summed)
print(twofold.__file__, loops.pair_sums.signatures != [], summed.ravel(), model.score(X) > 0.5)
"""


def test_nothing_can_be_written(tmp_path):
    """A file takes the place of each folder of caches, so that not even root can write there."""
    package = tmp_path / "twofold"
    shutil.copytree(
        Path(twofold.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    nowhere = {
        name: str(tmp_path / "twofold" / "__pycache__" / name)
        for name in ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR")
    }
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", READ_ONLY],
        env=os.environ | nowhere | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout.split(" ", 1)[0] == str(package / "__init__.py")
    assert ran.stdout.split(" ", 1)[1].strip() == "True [3. 2.] True"


def test_growth_is_noticed():
    kept = []
    use = Use.now()
    assert grew(use, use) == ""
    worse = Use(int(1.06 * use.resident), use.files + 2, use.threads + 1)
    assert grew(use, worse) == "memory grew by 6.0%, 2 files are left, 1 threads are left"
    first, last = repeat(lambda: kept.append(np.ones(2**20)), 20)  # 8 MB each
    assert "memory grew" in grew(first, last)


@pytest.mark.slow
def test_very_many_transforms_and_fits():
    subprocess.run([sys.executable, "-m", "benchmarks.endurance"], cwd=ROOT, check=True)
