"""Running tasks so that every wait ends: with results, or with an error that says what went wrong where.

With a client of ``distributed``, the tasks run on its cluster. Lost results are computed again there, which is Dask's own doing; what Dask
leaves open is bounded here: a cluster without workers, tasks that never end, a scheduler that is gone. Without a client the tasks run in
Dask's threads.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twofold.dask._errors import DistributedFitError

__all__ = ["Cluster", "Task"]

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_BETWEEN_COUNTS = 1.0
SECONDS_FOR_AN_ANSWER = 10.0
REMEDY = "Start workers and fit again, with resume=True where there is a checkpoint."


@dataclass(frozen=True)
class Task:
    """A task and the block of rows that it works on."""

    delayed: Any
    block: int | None = None


@dataclass(frozen=True)
class Cluster:
    """Where tasks run.

    Parameters
    ----------
    client : distributed.Client or None
        None means Dask's threads.
    name : str
        Whose tasks they are, for messages and the dashboard.
    timeout : float
        Seconds without any task ending after which a fit fails.
    no_workers_timeout : float
        Seconds without any worker after which it fails.
    """

    client: Any
    name: str
    timeout: float
    no_workers_timeout: float

    @classmethod
    def of(cls, client: Any, name: str, timeout: float, no_workers_timeout: float) -> Cluster:
        """Take the given client, or the one that is current, if there is one."""
        if client is None:
            try:
                from distributed import get_client

                client = get_client()
            except (ImportError, ValueError):
                client = None
        if client is not None and not hasattr(client, "compute"):
            raise TypeError(
                f"client={client!r} must be a distributed.Client, or None for the one that is current."
            )
        return cls(client, name, timeout, no_workers_timeout)

    def run(
        self,
        watched: Sequence[Task],
        wanted: Sequence[Task],
        phase: str,
        where: Callable[[int], str],
        told: Callable[[int, int], None] = lambda *_: None,
    ) -> list[Any]:
        """Run tasks and return the results of those wanted.

        Parameters
        ----------
        watched : sequence of Task
            On which the wanted ones depend: their failures are told by their blocks, their results are let go.
        wanted : sequence of Task
            Whose results are returned.
        phase : str
            What is being done.
        where : callable
            Describes a block by its number.
        told : callable
            Called with the tasks done and all tasks.
        """
        if self.client is None:
            return self._run_in_threads(watched, wanted, phase, where)
        from distributed import as_completed, rejoin

        tasks = [*watched, *wanted]
        with warnings.catch_warnings():
            # Maps and latents that every worker needs travel in the graph: the scheduler keeps them, so they cannot be lost.
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures: Any = self._sent([task.delayed for task in tasks], phase)
        blocks = {future.key: task.block for future, task in zip(futures, tasks, strict=True)}
        results = futures[len(watched) :]
        coming = as_completed(futures, loop=self.client.loop)  # not that of another client
        futures = None  # results that nobody waits for are released on the cluster
        patience = _Patience(self, phase)
        n_done = 0
        left = _leave_the_pool()
        try:
            while n_done < len(tasks):
                if not coming.has_ready():
                    time.sleep(SECONDS_BETWEEN_LOOKS)
                    patience.look()
                    continue
                for future in coming.next_batch(block=False):
                    self._raise_failure(future, blocks[future.key], phase, where)
                    n_done += 1
                patience.renew()
                told(n_done, len(tasks))
            return [
                self._result(future, blocks[future.key], phase, where, patience)
                for future in results
            ]
        finally:
            coming.clear()
            results = []
            if left:
                rejoin()

    def _sent(self, tasks: list[Any], phase: str) -> list[Any]:
        """Hand the tasks over; return their futures."""
        try:
            return list(self.client.compute(tasks))
        except Exception as error:
            if getattr(self.client, "status", "closed") == "running":
                raise
            raise DistributedFitError(
                f"{self.name}, {phase}: the client is {self.client.status}. Pass one that is connected.",
                phase=phase,
            ) from error

    def _raise_failure(
        self, future: Any, block: int | None, phase: str, where: Callable[[int], str]
    ) -> None:
        # A result that was there and went with its worker is "lost" until it has been computed again, which who needs it waits for.
        if future.status in ("finished", "pending", "lost"):
            return
        if future.status != "error":
            raise DistributedFitError(
                f"{self.name}, {phase}: the connection to the cluster was lost, or its tasks were cancelled "
                f"(a task is {future.status}). {REMEDY}",
                phase=phase,
            )
        raise self._failure(future.exception(), block, phase, where)

    def _failure(
        self, cause: Any, block: int | None, phase: str, where: Callable[[int], str]
    ) -> DistributedFitError:
        block = getattr(cause, "twofold_block", block)
        place = "" if block is None else f" in {where(block)}"
        why = f"{type(cause).__name__}: {cause}"
        if type(cause).__name__ == "KilledWorker":
            why = (
                "every worker that tried it died (KilledWorker). Do workers have too little memory for a block? Then use smaller "
                f"chunks. {cause}"
            )
        error = DistributedFitError(
            f"{self.name}, {phase}: failed{place}. {why}", phase=phase, block=block
        )
        error.__cause__ = cause if isinstance(cause, BaseException) else None
        return error

    def _result(
        self,
        future: Any,
        block: int | None,
        phase: str,
        where: Callable[[int], str],
        patience: _Patience,
    ) -> Any:
        from distributed import CancelledError

        seconds = SECONDS_BETWEEN_COUNTS
        while True:
            try:
                return future.result(timeout=seconds)
            except TimeoutError:  # large, or lost after it was there and on its way again
                patience.look()
                seconds *= 2.0  # a try that is given up begins anew
            except CancelledError as error:
                raise DistributedFitError(
                    f"{self.name}, {phase}: the connection to the cluster was lost ({error}). {REMEDY}",
                    phase=phase,
                ) from error
            except Exception as cause:
                raise self._failure(cause, block, phase, where) from cause

    def _run_in_threads(
        self,
        watched: Sequence[Task],
        wanted: Sequence[Task],
        phase: str,
        where: Callable[[int], str],
    ) -> list[Any]:
        import dask

        try:
            return list(dask.compute(*(task.delayed for task in wanted)))
        except Exception as error:
            block = getattr(error, "twofold_block", None)
            if block is None:
                block = self._first_that_fails([*watched, *wanted])
            raise self._failure(error, block, phase, where) from error

    @staticmethod
    def _first_that_fails(tasks: Sequence[Task]) -> int | None:
        """Return the block of the first task that fails on its own: of threads, Dask does not tell."""
        import dask

        for task in tasks:
            try:
                dask.compute(task.delayed)
            except Exception:  # noqa: BLE001 - what failed is known
                return task.block
        return None


def _leave_the_pool() -> bool:
    """Give up this thread's place where it is a task itself: it would wait for tasks that wait for it."""
    from distributed import secede

    try:
        secede()
    except ValueError:  # no task
        return False
    return True


class _Patience:
    """Ends waits that have become pointless."""

    def __init__(self, cluster: Cluster, phase: str) -> None:
        self._cluster = cluster
        self._phase = phase
        self._counted = self._seen_workers = self._moved = time.monotonic()

    def renew(self) -> None:
        """Note that a task has ended."""
        self._moved = self._seen_workers = time.monotonic()

    def look(self) -> None:
        """Raise an error when there is nothing left to wait for."""
        now = time.monotonic()
        if now - self._counted < SECONDS_BETWEEN_COUNTS:
            return
        cluster = self._cluster
        if self._n_workers():
            self._seen_workers = time.monotonic()
        self._counted = now = time.monotonic()
        if now - self._seen_workers > cluster.no_workers_timeout:
            self._fail(
                f"the cluster has had no workers for {now - self._seen_workers:.0f} s (no_workers_timeout="
                f"{cluster.no_workers_timeout:g}). {REMEDY}"
            )
        if now - self._moved > cluster.timeout:
            self._fail(
                f"no task has ended for {now - self._moved:.0f} s (timeout={cluster.timeout:g}). Raise timeout, or use smaller chunks."
            )

    def _n_workers(self) -> int:
        client = self._cluster.client
        if client.status != "running":
            return 0
        try:
            found = client.sync(client.scheduler.identity, callback_timeout=SECONDS_FOR_AN_ANSWER)
            return len(found["workers"])
        except (OSError, TimeoutError):  # the scheduler does not answer
            return 0

    def _fail(self, why: str) -> None:
        raise DistributedFitError(f"{self._cluster.name}, {self._phase}: {why}", phase=self._phase)
