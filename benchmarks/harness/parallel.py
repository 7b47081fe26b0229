"""Run many tasks at once, in processes of one thread each."""

import warnings

from joblib import Parallel, delayed, parallel_config

from benchmarks.harness.machine import usable_cores


def in_processes(function, tasks):
    """Return ``[function(task) for task in tasks]``, computed in as many processes as cores."""
    with parallel_config(backend="loky", inner_max_num_threads=1):
        return Parallel(n_jobs=usable_cores())(delayed(_quietly)(function, task) for task in tasks)


def _quietly(function, task):
    """Run one task without warnings: many runs are cut short on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(task)
