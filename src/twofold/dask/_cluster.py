"""Run tasks so that every wait ends: with results, or with an error that names phase and block.

With a client of ``distributed``, tasks run on its cluster. Dask itself computes lost results again.
This module bounds what Dask leaves open: a cluster without workers, tasks that never end, a
scheduler that is gone. Without a client, tasks run in Dask's threads.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twofold.dask._errors import DistributedFitError
from twofold.dask._tasks import Task

__all__ = ["Cluster"]

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_BETWEEN_COUNTS = 1.0
SECONDS_FOR_AN_ANSWER = 10.0
REMEDY = "Start workers and fit again, with resume=True if there is a checkpoint."

Describe = Callable[[int], str]
"""Describes a block by its number."""


@dataclass(frozen=True)
class Cluster:
    """Where tasks run.

    Attributes
    ----------
    client : distributed.Client or None
        None means Dask's threads.
    name : str
        The estimator, for messages and the dashboard.
    timeout : float
        Seconds without a finished task after which a fit fails.
    no_workers_timeout : float
        Seconds without a worker after which a fit fails.
    """

    client: Any
    name: str
    timeout: float
    no_workers_timeout: float

    @classmethod
    def of(cls, client: Any, name: str, timeout: float, no_workers_timeout: float) -> Cluster:
        """Take the given client, or the current one, if there is one."""
        if client is None:
            try:
                from distributed import get_client

                client = get_client()
            except (ImportError, ValueError):
                client = None
        if client is not None and not hasattr(client, "compute"):
            raise TypeError(
                f"client={client!r} must be a distributed.Client, or None for the current one."
            )
        return cls(client, name, timeout, no_workers_timeout)

    def run(
        self,
        watched: Sequence[Task],
        wanted: Sequence[Task],
        phase: str,
        describe: Describe,
        on_progress: Callable[[int, int], None] = lambda *_: None,
    ) -> list[Any]:
        """Run tasks and return the results of those wanted.

        Parameters
        ----------
        watched : sequence of Task
            Tasks on which the wanted ones depend: their failures name their blocks, their results
            are released.
        wanted : sequence of Task
            Tasks whose results are returned.
        phase : str
            The phase of the fit, for messages.
        describe : callable
            Describes a block by its number.
        on_progress : callable
            Called with the number of finished tasks and of all tasks.
        """
        if self.client is None:
            return self._run_in_threads(watched, wanted, phase, describe)
        from distributed import as_completed, rejoin

        tasks = [*watched, *wanted]
        with warnings.catch_warnings():
            # Maps that every worker needs travel in the graph: the scheduler cannot lose them.
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures: Any = self._submitted([task.delayed for task in tasks], phase)
        blocks = {future.key: task.block for future, task in zip(futures, tasks, strict=True)}
        results = futures[len(watched) :]
        coming = as_completed(futures, loop=self.client.loop)  # not the loop of another client
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
                    self._raise_failure(future, blocks[future.key], phase, describe)
                    n_done += 1
                patience.renew()
                on_progress(n_done, len(tasks))
            return [
                self._result(future, blocks[future.key], phase, describe, patience)
                for future in results
            ]
        finally:
            coming.clear()
            results = []
            if left:
                rejoin()

    def _error(self, phase: str, why: str, block: int | None = None) -> DistributedFitError:
        return DistributedFitError(f"{self.name}, {phase}: {why}", phase=phase, block=block)

    def _submitted(self, tasks: list[Any], phase: str) -> list[Any]:
        """Submit the tasks and return their futures."""
        try:
            return list(self.client.compute(tasks))
        except Exception as error:
            status = getattr(self.client, "status", "closed")
            if status == "running":
                raise
            raise self._error(
                phase, f"the client is {status}. Pass a client that is connected."
            ) from error

    def _raise_failure(
        self, future: Any, block: int | None, phase: str, describe: Describe
    ) -> None:
        # A result is "lost" after its worker died and until a dependent task has it recomputed.
        if future.status in ("finished", "pending", "lost"):
            return
        if future.status == "error":
            raise self._failure(future.exception(), block, phase, describe)
        raise self._error(
            phase,
            "the connection to the cluster was lost, or its tasks were cancelled "
            f"(a task is {future.status}). {REMEDY}",
        )

    def _failure(
        self, cause: Any, block: int | None, phase: str, describe: Describe
    ) -> DistributedFitError:
        block = getattr(cause, "twofold_block", block)
        place = "" if block is None else f" in {describe(block)}"
        why = f"{type(cause).__name__}: {cause}"
        if type(cause).__name__ == "KilledWorker":
            why = (
                "every worker that tried it died (KilledWorker). If workers have too little memory "
                f"for a block, use smaller chunks. {cause}"
            )
        error = self._error(phase, f"failed{place}. {why}", block)
        error.__cause__ = cause if isinstance(cause, BaseException) else None
        return error

    def _result(
        self, future: Any, block: int | None, phase: str, describe: Describe, patience: _Patience
    ) -> Any:
        from distributed import CancelledError

        seconds = SECONDS_BETWEEN_COUNTS
        while True:
            try:
                return future.result(timeout=seconds)
            except TimeoutError:  # a large result, or a lost one that is computed again
                patience.look()
                seconds *= 2.0  # the next attempt starts from the beginning
            except CancelledError as error:
                raise self._error(
                    phase, f"the connection to the cluster was lost ({error}). {REMEDY}"
                ) from error
            except Exception as cause:
                raise self._failure(cause, block, phase, describe) from cause

    def _run_in_threads(
        self, watched: Sequence[Task], wanted: Sequence[Task], phase: str, describe: Describe
    ) -> list[Any]:
        import dask

        try:
            return list(dask.compute(*(task.delayed for task in wanted)))
        except Exception as error:
            block = getattr(error, "twofold_block", None)
            if block is None:
                block = _first_that_fails([*watched, *wanted])
            raise self._failure(error, block, phase, describe) from error


def _first_that_fails(tasks: Sequence[Task]) -> int | None:
    """Return the block of the first task that fails on its own: Dask's threads do not report it."""
    import dask

    for task in tasks:
        try:
            dask.compute(task.delayed)
        except Exception:  # noqa: BLE001 - the error is known already
            return task.block
    return None


def _leave_the_pool() -> bool:
    """Release this thread if it runs a task itself: it would wait for tasks that wait for it."""
    from distributed import secede

    try:
        secede()
    except ValueError:  # not a task
        return False
    return True


class _Patience:
    """Ends waits that cannot succeed."""

    def __init__(self, cluster: Cluster, phase: str) -> None:
        self._cluster = cluster
        self._phase = phase
        self._counted = self._seen_workers = self._moved = time.monotonic()

    def renew(self) -> None:
        """Record that a task has ended."""
        self._moved = self._seen_workers = time.monotonic()

    def look(self) -> None:
        """Raise an error if there have been no workers, or no finished tasks, for too long."""
        if time.monotonic() - self._counted < SECONDS_BETWEEN_COUNTS:
            return
        cluster = self._cluster
        if self._n_workers():
            self._seen_workers = time.monotonic()
        self._counted = now = time.monotonic()
        alone, idle = now - self._seen_workers, now - self._moved
        if alone > cluster.no_workers_timeout:
            raise cluster._error(
                self._phase,
                f"the cluster has had no workers for {alone:.0f} s "
                f"(no_workers_timeout={cluster.no_workers_timeout:g}). {REMEDY}",
            )
        if idle > cluster.timeout:
            raise cluster._error(
                self._phase,
                f"no task has ended for {idle:.0f} s (timeout={cluster.timeout:g}). "
                "Raise timeout, or use smaller chunks.",
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
