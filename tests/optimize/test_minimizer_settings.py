"""Settings of the minimizers, and minimizers by name."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest
from minimizer_problems import MINIMIZERS, each_minimizer

from twofold.optimize import (
    LBFGS,
    ConjugateGradient,
    GaussNewton,
    GradientDescent,
    RProp,
    resolve_minimizer,
)
from twofold.protocols import Minimizer


@pytest.mark.parametrize(
    ("kind", "settings", "error"),
    [
        *[(kind, {"max_iter": 0}, ValueError) for kind in [*MINIMIZERS.values(), GaussNewton]],
        *[(kind, {"max_iter": 2.0}, TypeError) for kind in MINIMIZERS.values()],
        *[(kind, {"max_iter": True}, TypeError) for kind in MINIMIZERS.values()],
        *[(kind, {"tol": -1e-3}, ValueError) for kind in [*MINIMIZERS.values(), GaussNewton]],
        *[(kind, {"tol": math.nan}, ValueError) for kind in MINIMIZERS.values()],
        *[(kind, {"tol": "tight"}, TypeError) for kind in MINIMIZERS.values()],
        (LBFGS, {"memory": 0}, ValueError),
        (RProp, {"window": 0}, ValueError),
        (RProp, {"initial_step": 0.0}, ValueError),
        (RProp, {"initial_step": "long"}, TypeError),
        (RProp, {"max_step": math.inf}, ValueError),
        (RProp, {"growth": 1.0}, ValueError),
        (RProp, {"shrink": 1.0}, ValueError),
        (GradientDescent, {"window": 0}, ValueError),
        (GradientDescent, {"sufficient": 0.5}, ValueError),
        (ConjugateGradient, {"window": 0}, ValueError),
        (ConjugateGradient, {"curvature": 0.0}, ValueError),
        (GaussNewton, {"damping": -1.0}, ValueError),
        (GaussNewton, {"max_halvings": -1}, ValueError),
    ],
)
def test_settings_are_checked_at_once(kind, settings, error):
    ((parameter, value),) = settings.items()
    with pytest.raises(error, match=re.escape(f"{kind.__name__}({parameter}={value!r})")):
        kind(**settings)


def test_rprop_steps_must_be_in_order():
    with pytest.raises(ValueError, match="initial_step must not exceed max_step"):
        RProp(initial_step=2.0, max_step=1.0)
    RProp(initial_step=2.0)
    RProp(max_step=1e-3)


@each_minimizer
def test_minimizers_are_frozen(name):
    minimizer = MINIMIZERS[name]()
    assert isinstance(minimizer, Minimizer)
    with pytest.raises(dataclasses.FrozenInstanceError):
        minimizer.max_iter = 7


@each_minimizer
def test_resolve_by_name(name):
    assert resolve_minimizer(name) == MINIMIZERS[name]()
    assert resolve_minimizer(name, max_iter=7) == MINIMIZERS[name](max_iter=7)
    assert resolve_minimizer(name, tol=0.0) == MINIMIZERS[name](tol=0.0)


def test_resolve_an_object():
    class Mine:
        def minimize(self, objective, Z0, *, callback=None):
            raise NotImplementedError

    mine = Mine()
    assert resolve_minimizer(mine, max_iter=7) is mine
    minimizer = LBFGS(max_iter=3)
    assert resolve_minimizer(minimizer, max_iter=7) is minimizer


def test_resolve_refuses():
    with pytest.raises(ValueError, match=r"optimizer='adam'.*'lbfgs', 'rprop', 'cg', 'gd'"):
        resolve_minimizer("adam")
    with pytest.raises(TypeError, match=r"optimizer=3 is of type int.*'lbfgs'"):
        resolve_minimizer(3)
    with pytest.raises(TypeError, match=r"is a class;.*LBFGS\(max_iter=100\)"):
        resolve_minimizer(LBFGS)
