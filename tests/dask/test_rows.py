"""Sums of rows in tasks: the same bits wherever blocks end and whoever computes them."""

import pickle
import sys

import dask.array as da
import numpy as np
import pytest
from dask_tables import QUICK, QUIET, X, chunked, wide_rows

import twofold
from twofold.dask import fit
from twofold.dask._blocks import Blocks, as_numbers
from twofold.dask._cluster import Cluster
from twofold.dask._freed_memory import _library, keeping_freed_memory
from twofold.dask._rows import DistributedRows
from twofold.dask._tasks import Shared
from twofold.numerics.tree_sums import LEAF_ROWS, ArrayRows, TreeSum, in_leaves

pytestmark = QUIET


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
        assert not outside  # a buffer of the network may begin at any byte
        found = pickle.loads(sent).content
        assert found.flags.aligned
        np.testing.assert_array_equal(found, X)

    def test_numbers_are_aligned(self):
        shifted = np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
        assert not shifted.flags.aligned
        assert as_numbers(shifted).flags.aligned
        np.testing.assert_array_equal(as_numbers(shifted), X)

    def test_bits_do_not_depend_on_the_worker(self, client):
        """Weights as ill-conditioned as these show any other rounding."""
        rows = chunked(700, wide_rows())
        found = [fit(twofold.DRUR(**QUICK), rows).decoder_.weights_ for _ in range(3)]
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

    def test_limits_are_lifted_while_tasks_run(self, monkeypatch):
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
        library = self.Library()
        with keeping_freed_memory(lambda: library):
            lifted = list(library.calls)
            with keeping_freed_memory(lambda: library):
                assert library.calls == lifted  # the first lifts them for all
            assert library.calls == lifted  # and the last restores them
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

    def test_workers_reuse_their_memory(self, client):
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
