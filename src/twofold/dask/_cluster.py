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

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_BETWEEN_COUNTS = 1.0
SECONDS_FOR_AN_ANSWER = 10.0
REMEDY = "Start workers and fit again, with resume=True if there is a checkpoint."


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
        describe: Callable[[int], str],
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
        run = _Run(self, phase, describe)
        if self.client is None:
            return run.in_threads(watched, wanted)
        return run.on_workers(watched, wanted, on_progress)


class _Run:
    """The tasks of one phase, and the errors that end their waits."""

    def __init__(self, cluster: Cluster, phase: str, describe: Callable[[int], str]) -> None:
        self._cluster, self._phase, self._describe = cluster, phase, describe
        self._counted = self._seen_workers = self._moved = time.monotonic()

    def in_threads(self, watched: Sequence[Task], wanted: Sequence[Task]) -> list[Any]:
        """Compute tasks in Dask's threads."""
        import dask

        try:
            return list(dask.compute(*(task.delayed for task in wanted)))
        except Exception as error:
            block = getattr(error, "twofold_block", None)
            if block is None:
                block = _first_that_fails([*watched, *wanted])
            raise self._failure(error, block) from error

    def on_workers(
        self,
        watched: Sequence[Task],
        wanted: Sequence[Task],
        on_progress: Callable[[int, int], None],
    ) -> list[Any]:
        """Compute tasks on the cluster of the client."""
        from distributed import as_completed, rejoin

        tasks = [*watched, *wanted]
        futures: Any = self._submitted(tasks)
        blocks = {future.key: task.block for future, task in zip(futures, tasks, strict=True)}
        results = futures[len(watched) :]
        # With the loop of this client, not of another one.
        coming = as_completed(futures, loop=self._cluster.client.loop)
        futures = None  # results that nobody waits for are released on the cluster
        n_done = 0
        left = _leave_the_pool()
        try:
            while n_done < len(tasks):
                if not coming.has_ready():
                    time.sleep(SECONDS_BETWEEN_LOOKS)
                    self._look()
                    continue
                for future in coming.next_batch(block=False):
                    self._check(future, blocks[future.key])
                    n_done += 1
                self._moved = self._seen_workers = time.monotonic()
                on_progress(n_done, len(tasks))
            return [self._result(future, blocks[future.key]) for future in results]
        finally:
            coming.clear()
            results = []
            if left:
                rejoin()

    def _submitted(self, tasks: list[Task]) -> list[Any]:
        client = self._cluster.client
        try:
            with warnings.catch_warnings():
                # Maps that every worker needs travel in the graph: the scheduler cannot lose them.
                warnings.filterwarnings("ignore", message="Sending large graph")
                return list(client.compute([task.delayed for task in tasks]))
        except Exception as error:
            status = getattr(client, "status", "closed")
            if status == "running":
                raise
            raise self._error(f"the client is {status}. Pass a connected client.") from error

    def _check(self, future: Any, block: int | None) -> None:
        # A result is "lost" after its worker died and until a dependent task has it recomputed.
        if future.status == "error":
            raise self._failure(future.exception(), block)
        if future.status not in ("finished", "pending", "lost"):
            raise self._error(
                "the connection to the cluster was lost, or its tasks were cancelled "
                f"(a task is {future.status}). {REMEDY}"
            )

    def _result(self, future: Any, block: int | None) -> Any:
        from distributed import CancelledError

        seconds = SECONDS_BETWEEN_COUNTS
        while True:
            try:
                return future.result(timeout=seconds)
            except TimeoutError:  # a large result, or a lost one that is computed again
                self._look()
                seconds *= 2.0  # the next attempt starts from the beginning
            except CancelledError as error:
                why = f"the connection to the cluster was lost ({error}). {REMEDY}"
                raise self._error(why) from error
            except Exception as cause:
                raise self._failure(cause, block) from cause

    def _look(self) -> None:
        """Raise an error if there have been no workers, or no finished tasks, for too long."""
        if time.monotonic() - self._counted < SECONDS_BETWEEN_COUNTS:
            return
        cluster = self._cluster
        if _n_workers(cluster.client):
            self._seen_workers = time.monotonic()
        self._counted = now = time.monotonic()
        alone, idle = now - self._seen_workers, now - self._moved
        if alone > cluster.no_workers_timeout:
            raise self._error(
                f"the cluster has had no workers for {alone:.0f} s "
                f"(no_workers_timeout={cluster.no_workers_timeout:g}). {REMEDY}"
            )
        if idle > cluster.timeout:
            raise self._error(
                f"no task has ended for {idle:.0f} s (timeout={cluster.timeout:g}). "
                "Raise timeout, or use smaller chunks."
            )

    def _failure(self, cause: Any, block: int | None) -> DistributedFitError:
        block = getattr(cause, "twofold_block", block)
        place = "" if block is None else f" in {self._describe(block)}"
        why = f"{type(cause).__name__}: {cause}"
        if type(cause).__name__ == "KilledWorker":
            why = (
                "every worker that tried it died (KilledWorker). If workers have too little memory "
                f"for a block, use smaller chunks. {cause}"
            )
        error = self._error(f"failed{place}. {why}", block)
        error.__cause__ = cause if isinstance(cause, BaseException) else None
        return error

    def _error(self, why: str, block: int | None = None) -> DistributedFitError:
        message = f"{self._cluster.name}, {self._phase}: {why}"
        return DistributedFitError(message, phase=self._phase, block=block)


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


def _n_workers(client: Any) -> int:
    if client.status != "running":
        return 0
    try:
        found = client.sync(client.scheduler.identity, callback_timeout=SECONDS_FOR_AN_ANSWER)
        return len(found["workers"])
    except (OSError, TimeoutError):  # the scheduler does not answer
        return 0
