"""Blocks of rows, linear algebra, units, validation."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from differences import naive_sqdist

from twofold.numerics import threads as _blocks
from twofold.numerics.linalg import k_smallest, principal_axes, solve_psd, sqdist
from twofold.numerics.threads import map_blocks, n_threads, row_blocks, some_rows
from twofold.numerics.units import FAR, CentredUnits
from twofold.numerics.validation import (
    check_choice,
    check_int,
    check_latents,
    check_real,
    check_rng,
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


class TestBlocks:
    def test_cover_all_rows_once(self, monkeypatch):
        for n, size in [(1, 10), (10, 10), (11, 10), (100, 3)]:
            monkeypatch.setattr(_blocks, "BLOCK_BYTES", 8 * size)
            blocks = row_blocks(n, bytes_per_row=8)
            rows = np.concatenate([np.arange(n)[block] for block in blocks])
            np.testing.assert_array_equal(rows, np.arange(n))
            assert max(block.stop - block.start for block in blocks) <= size

    def test_no_rows_are_one_empty_block(self):
        assert row_blocks(0, 8) == [slice(0, 0)]

    def test_some_rows(self):
        np.testing.assert_array_equal(some_rows(5, 9), np.arange(5))
        chosen = some_rows(10_000, 100)
        assert len(set(chosen.tolist())) == 100
        assert (np.diff(chosen) > 0).all()
        assert 30 < (chosen % 2).sum() < 70  # no period

    def test_a_row_larger_than_the_budget_is_a_block(self):
        assert row_blocks(3, bytes_per_row=10**9) == [slice(0, 1), slice(1, 2), slice(2, 3)]

    @pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
    def test_map_keeps_order(self, n_jobs):
        blocks = [slice(start, start + 2) for start in (0, 2, 4, 6)]
        assert map_blocks(lambda rows: rows.start, blocks, n_jobs=n_jobs) == [0, 2, 4, 6]

    def test_n_threads(self, monkeypatch):
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

    def test_errors_propagate_and_cancel(self, monkeypatch):
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

    def test_blas_is_limited_inside_and_restored_after(self):
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


class TestLinalg:
    @pytest.mark.parametrize("n_columns", [1, 3, 5, 20])
    def test_sqdist_equals_a_loop(self, n_columns):
        rng = np.random.default_rng(0)
        A, B = rng.standard_normal((6, n_columns)), rng.standard_normal((4, n_columns))
        np.testing.assert_allclose(sqdist(A, B), naive_sqdist(A, B), rtol=1e-12)

    @pytest.mark.parametrize("n_columns", [2, 20])
    def test_sqdist_survives_an_offset(self, n_columns):
        rng = np.random.default_rng(0)
        A, B = rng.standard_normal((6, n_columns)), rng.standard_normal((4, n_columns))
        np.testing.assert_allclose(sqdist(A + 1e8, B + 1e8), naive_sqdist(A, B), atol=1e-5)

    def test_k_smallest(self):
        values = np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
        np.testing.assert_array_equal(k_smallest(values, 2), [[1, 3], [0, 1]])
        np.testing.assert_array_equal(k_smallest(values, 9), [[0, 1, 2, 3]] * 2)

    @pytest.mark.parametrize("shape", [(30, 5), (5, 30)])
    def test_principal_axes_equal_svd(self, shape):
        X = np.random.default_rng(1).standard_normal(shape)
        X -= X.mean(axis=0)
        axes, variances = principal_axes(X, 3)
        _, singular, rows = np.linalg.svd(X, full_matrices=False)
        np.testing.assert_allclose(variances, singular[:3] ** 2 / len(X), rtol=1e-10)
        np.testing.assert_allclose(np.abs(np.sum(axes * rows[:3], axis=1)), 1.0, rtol=1e-10)
        assert (axes[np.arange(3), np.abs(axes).argmax(axis=1)] > 0.0).all()

    def test_principal_axes_of_a_line(self):
        X = np.outer(np.linspace(-1, 1, 5), np.ones(9))
        axes, variances = principal_axes(X, 2)
        assert variances[1] == 0.0
        assert not axes[1].any()

    def test_solve_psd(self):
        rng = np.random.default_rng(2)
        A = rng.standard_normal((6, 6))
        B = rng.standard_normal((6, 2))
        np.testing.assert_allclose(A @ A.T @ solve_psd(A @ A.T, B), B, rtol=1e-8)
        singular = np.outer(B[:, 0], B[:, 0])
        np.testing.assert_allclose(singular @ solve_psd(singular, B[:, :1]), B[:, :1], rtol=1e-5)
        assert not solve_psd(np.zeros((3, 3)), np.ones((3, 1))).any()


class TestUnits:
    def test_round_trip_and_total_variance(self):
        X = np.random.default_rng(0).standard_normal((50, 4)) * 37.0 + 5.0
        units = CentredUnits.of(X)
        U = units.into(X)
        assert 1.0 <= np.square(U).sum(axis=1).mean() < 4.0
        np.testing.assert_allclose(units.back(U), X, rtol=1e-14)
        np.testing.assert_allclose(U.mean(axis=0), 0.0, atol=1e-14)

    @pytest.mark.parametrize("power", [-900, -40, 40, 900])
    def test_powers_of_two_change_no_bit(self, power):
        X = np.random.default_rng(0).standard_normal((20, 3))
        np.testing.assert_array_equal(
            CentredUnits.of(X).into(X),
            CentredUnits.of(np.ldexp(X, power)).into(np.ldexp(X, power)),
        )

    def test_constant_columns_are_left_out_and_put_back_exactly(self):
        X = np.random.default_rng(0).standard_normal((20, 3))
        X[:, 1] = 0.1
        units = CentredUnits.of(X)
        U = units.into(X)
        np.testing.assert_array_equal(U, CentredUnits.of(X[:, ::2]).into(X[:, ::2]))
        assert (units.back(U)[:, 1] == 0.1).all()

    def test_equal_rows(self):
        X = np.full((4, 3), 0.1)
        units = CentredUnits.of(X)
        assert not units.into(X).any()
        np.testing.assert_array_equal(units.back(units.into(X)), X)
        assert units.into(np.zeros((1, 3))).any()

    @pytest.mark.parametrize("value", [1e305, 1e-305])
    def test_out_of_range(self, value):
        with pytest.raises(ValueError, match=r"latents are out of range.*Rescale"):
            CentredUnits.of(np.array([[value], [2 * value]]), name="latents")

    def test_far_points_are_moved_in(self):
        units = CentredUnits.of(np.array([[0.0, 0.0], [1e-100, 1e-100]]))
        assert np.abs(units.into(np.full((1, 2), 1e300))).max() == FAR
        assert np.isfinite(units.back(np.full((1, 2), FAR))).all()

    def test_distances_do_not_overflow(self):
        units = CentredUnits.of(np.eye(2))
        X, Y = np.array([[3e300, 0.0], [1.0, 1.0]]), np.array([[0.0, 4e300], [1.0, 1.0]])
        np.testing.assert_allclose(units.distances(X, Y), [5e300, 0.0])
        big = np.full((1, 2), 1.7e308)
        assert np.isfinite(units.distances(big, -big)).all()


class TestValidation:
    def test_check_int(self):
        assert check_int("k", np.int64(3)) == 3
        for value in (True, 2.0, "2"):
            with pytest.raises(TypeError, match="k="):
                check_int("k", value)
        with pytest.raises(ValueError, match="k=0 must be at least 1"):
            check_int("k", 0)
        with pytest.raises(ValueError, match="k=9 must be between 1 and 5"):
            check_int("k", 9, high=5)

    def test_check_real(self):
        assert check_real("h", 2) == 2.0
        for value in (True, "2"):
            with pytest.raises(TypeError, match="h="):
                check_real("h", value)
        for value in (0.0, -1.0, np.inf, np.nan):
            with pytest.raises(ValueError, match="h="):
                check_real("h", value)

    def test_check_choice(self):
        assert check_choice("up", "nw", ("nw", "krr")) == "nw"
        with pytest.raises(ValueError, match=r"up='x' must be one of \['krr', 'nw'\]"):
            check_choice("up", "x", ("nw", "krr"))

    def test_check_rng(self):
        generator = np.random.default_rng(0)
        assert check_rng(generator) is generator
        assert check_rng(3).random() == check_rng(np.int64(3)).random()
        before = np.random.get_state()[1].copy()
        assert check_rng(np.random.RandomState(3)).random() == (
            check_rng(np.random.RandomState(3)).random()
        )
        assert check_rng(None).random() != check_rng(None).random()
        np.testing.assert_array_equal(np.random.get_state()[1], before)
        for value in (-1, "seed", 1.5):
            with pytest.raises(ValueError, match="random_state"):
                check_rng(value)

    def test_check_latents(self):
        Z, dtype = check_latents([[1.0, 2.0]], 2, owner="Model")
        assert Z.dtype == dtype == np.float64
        with pytest.raises(ValueError, match=r"3 columns.*n_components=2"):
            check_latents(np.zeros((1, 3)), 2, owner="Model")
        with pytest.raises(ValueError, match="Z contains infinity, first in row 1, column 0"):
            check_latents(np.array([[0.0], [np.inf]]), 1, owner="Model")


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
