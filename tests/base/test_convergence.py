"""The warning about fits that reach max_iter too early."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from twofold.base.convergence import warn_if_cut_short, warn_if_still_falling
from twofold.optimize.gradient_descent import NOT_ENDED
from twofold.protocols import MinimizeResult


def result(*history, status="The iterations ran out."):
    n_iter = len(history) - 1
    return MinimizeResult(
        np.zeros((1, 1)), history[-1], n_iter, n_iter, False, status, np.array(history)
    )


def test_a_falling_objective_is_reported_at_the_caller():
    with pytest.warns(ConvergenceWarning, match="The energy was still falling by 50 %") as caught:
        warn_if_still_falling([4.0, 2.0], "energy", n_iter=2, max_iter=2)
    assert "max_iter=2 was reached" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_one_value_cannot_show_a_decrease():
    with pytest.warns(ConvergenceWarning, match="max_iter=1: one iteration cannot show"):
        warn_if_still_falling([4.0], "energy", n_iter=1, max_iter=1)


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ([4.0, 2.0], {"n_iter": 1, "max_iter": 2}),
        ([4.0, 3.99], {}),
        ([4.0, 4.5], {}),
        ([0.0, 0.0], {}),
        ([4.0, 2.0], {"threshold": 0.5}),
    ],
)
def test_other_runs_give_no_warning(values, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_still_falling(values, "energy", **{"n_iter": 2, "max_iter": 2, **settings})


def test_minimizations():
    with pytest.warns(ConvergenceWarning, match="The error was still falling"):
        warn_if_cut_short(result(4.0, 2.0), 1, "error")
    with pytest.warns(ConvergenceWarning, match="while steps were still guided"):
        warn_if_cut_short(result(4.0, 4.0, status="The iterations ran out" + NOT_ENDED), 1, "error")
