"""Progress of fits, with scikit-learn's callbacks and without."""

import builtins
import importlib
import logging
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from twofold.base import progress as _progress
from twofold.base.progress import (
    CallbackSupportMixin,
    FitProgress,
    ProgressEvent,
    with_callbacks,
)


class Fit(CallbackSupportMixin, BaseEstimator):
    @with_callbacks
    def fit(self, n_iter=3, verbose=0):
        progress = FitProgress(self, verbose=verbose)
        self.stopped = []
        with progress.fit(), progress.phase("descending", max_iter=n_iter) as on_iteration:
            for number in range(n_iter):
                self.stopped.append(on_iteration(number, 1.0 / (number + 1), np.zeros(1)))
        return self


class Recorder:
    def __init__(self):
        self.seen = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, metadata):
        if metadata:
            self.seen.append(metadata)
            return metadata["n_iter"] == 1
        return False


def test_iterations_reach_callbacks_which_may_stop():
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    recorder = Recorder()
    model = Fit().set_callbacks(recorder).fit()
    assert [entry["objective"] for entry in recorder.seen] == [1.0, 0.5, pytest.approx(1 / 3)]
    assert model.stopped == [False, True, False]


def test_iterations_are_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="twofold"):
        assert Fit().fit().stopped == [False] * 3
    assert any(line.startswith("descending, iteration 2: 0.333333 (") for line in caplog.messages)


def test_records_tell_programs_how_far_it_is(caplog):
    progress = FitProgress(Fit())
    phase = progress.phase("descending", max_iter=None, at_most=9)
    with caplog.at_level(logging.DEBUG, logger="twofold"), phase as on_iteration:
        on_iteration(4, 0.5, np.zeros(1))
    begin, step, end = [record.progress for record in caplog.records]
    assert begin == ProgressEvent("Fit", "descending", at_most=9)
    assert step == ProgressEvent("Fit", "descending", at_most=9, n_iter=4, objective=0.5)
    assert end == ProgressEvent("Fit", "descending", at_most=9, ended=True)


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 2), (2, 5)])
def test_verbose_shows_phases_then_iterations(verbose, lines, caplog):
    with caplog.at_level(logging.INFO, logger="twofold"):
        Fit().fit(verbose=verbose)
    printed = caplog.messages
    assert len(printed) == lines
    if verbose == 2:
        assert printed[1].startswith("descending, iteration 0: 1 (")
        assert printed[1].endswith("s per iteration)")


def test_verbose_is_seen_without_any_set_up():
    program = (
        "import numpy as np; from twofold import TwoWay\n"
        "TwoWay('pca', verbose=1).fit(np.random.default_rng(0).standard_normal((30, 3)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "TwoWay: embedding" in done.stderr
    assert done.stdout == ""


def test_without_scikit_learns_callbacks(monkeypatch):
    real = builtins.__import__

    def older(name, *args, **kwargs):
        if name == "sklearn.callback":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", older)
    try:
        module = importlib.reload(_progress)

        class Older(module.CallbackSupportMixin):
            @module.with_callbacks
            def fit(self):
                progress = module.FitProgress(self)
                with progress.fit(), progress.phase("descending") as on_iteration:
                    return on_iteration(0, 1.0, np.zeros(1))

        assert Older().fit() is False
    finally:
        monkeypatch.undo()
        importlib.reload(_progress)


def test_a_long_phase_says_that_it_goes_on(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "SECONDS_BETWEEN_LINES", 0.05)
    progress = FitProgress(Fit(), verbose=1)
    with caplog.at_level(logging.INFO, logger="twofold"), progress.phase("neighbors"):
        time.sleep(0.3)
    waiting = [record for record in caplog.records if record.progress.waiting]
    assert len(waiting) >= 2
    assert "so far" in waiting[0].getMessage()
    assert not any(thread.name == "twofold-progress" for thread in threading.enumerate())
