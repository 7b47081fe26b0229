"""Blocks of rows in threads."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from twofold.numerics import threads as _blocks
from twofold.numerics.threads import (
    map_blocks,
    n_threads,
    repeatable_threads,
    row_blocks,
    some_rows,
)

BLAS_SCRIPT = """
import os, sys, threading, time
import numpy, scipy.linalg
from threadpoolctl import threadpool_info as infos
from twofold.numerics import threads as _blocks

def count():
    return max(p["num_threads"] for p in infos() if p["user_api"] == "blas")

_blocks.n_threads = lambda _: 2
before, inside = count(), []
gate = threading.Barrier(3, timeout=10)

def fit(delay):
    gate.wait()
    _blocks.map_blocks(lambda _: (inside.append(count()), time.sleep(delay)), range(4))

fits = [threading.Thread(target=fit, args=(delay,)) for delay in (0.0, 0.02, 0.04)]
[thread.start() for thread in fits]
[thread.join() for thread in fits]
after = count()
reader, writer = os.pipe()
with _blocks.single_threaded_blas():
    child = os.fork()
    if child == 0:
        os.write(writer, str(count()).encode())
        os._exit(0)
    os.waitpid(child, 0)
print(before, max(inside), after, os.read(reader, 9).decode())
"""


def test_cover_all_rows_once(monkeypatch):
    for n, size in [(1, 10), (10, 10), (11, 10), (100, 3)]:
        monkeypatch.setattr(_blocks, "BLOCK_BYTES", 8 * size)
        blocks = row_blocks(n, bytes_per_row=8)
        rows = np.concatenate([np.arange(n)[block] for block in blocks])
        np.testing.assert_array_equal(rows, np.arange(n))
        assert max(block.stop - block.start for block in blocks) <= size


def test_no_rows_are_one_empty_block():
    assert row_blocks(0, 8) == [slice(0, 0)]


def test_some_rows():
    np.testing.assert_array_equal(some_rows(5, 9), np.arange(5))
    chosen = some_rows(10_000, 100)
    assert len(set(chosen.tolist())) == 100
    assert (np.diff(chosen) > 0).all()
    assert 30 < (chosen % 2).sum() < 70  # no period


def test_a_row_larger_than_the_budget_is_a_block():
    assert row_blocks(3, bytes_per_row=10**9) == [slice(0, 1), slice(1, 2), slice(2, 3)]


@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_map_keeps_order(n_jobs):
    blocks = [slice(start, start + 2) for start in (0, 2, 4, 6)]
    assert map_blocks(lambda rows: rows.start, blocks, n_jobs=n_jobs) == [0, 2, 4, 6]


def test_n_threads(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [n_threads(n) for n in (None, 1, 9, -1, -2, -9)] == [4, 1, 4, 4, 3, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert n_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert n_threads() == 4
    with pytest.raises(ValueError, match="n_jobs=0"):
        n_threads(0)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert n_threads() == 1


def test_errors_propagate_and_cancel(monkeypatch):
    monkeypatch.setattr(_blocks, "n_threads", lambda _: 2)
    started = []

    def work(rows):
        started.append(rows.start)
        time.sleep(0.01)
        if rows.start == 0:
            raise RuntimeError("block 0")

    with pytest.raises(RuntimeError, match="block 0"):
        map_blocks(work, [slice(i, i + 1) for i in range(1000)])
    assert len(started) < 1000


def test_blas_is_limited_inside_and_restored_after():
    """In a process of its own, where BLAS starts with two threads."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", BLAS_SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    before, inside, after, in_child = done.stdout.split()
    if before == "1":
        pytest.skip("BLAS has one thread here, whatever is asked")
    assert (before, inside, after, in_child) == ("2", "1", "2", "2")


@pytest.mark.timing
def test_an_error_cancels_what_runs_nested(monkeypatch):
    monkeypatch.setattr(_blocks, "n_threads", lambda _: 2)
    count = []

    def work(number):
        if number == 0:
            time.sleep(0.05)
            raise RuntimeError("first")
        map_blocks(lambda _: (count.append(1), time.sleep(0.01)), range(1000))

    started = time.perf_counter()
    with pytest.raises(RuntimeError, match="first"):
        map_blocks(work, [0, 1])
    assert time.perf_counter() - started < 2.0
    time.sleep(0.1)
    before = len(count)
    time.sleep(0.1)
    assert len(count) == before < 1000


def test_nested_blocks_run_in_their_thread(monkeypatch):
    monkeypatch.setattr(_blocks, "n_threads", lambda _: 2)
    outer = [slice(i, i + 1) for i in range(4)]

    def work(_):
        inner = map_blocks(lambda _: threading.get_ident(), outer)
        return set(inner) == {threading.get_ident()}

    assert map_blocks(work, outer) == [True] * 4
    assert map_blocks(lambda _: 1, []) == []


def test_threads_of_openmp_are_limited_in_blocks_too():
    with repeatable_threads():
        assert _openmp_effective_n_threads() == 1
        found = map_blocks(lambda _: _openmp_effective_n_threads(), range(4), n_jobs=2)
    assert found == [1] * 4
