"""Minimizers and the problems on which the tests run them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from twofold.optimize import LBFGS, ConjugateGradient, GradientDescent, RProp

MINIMIZERS = {
    "lbfgs": LBFGS,
    "rprop": RProp,
    "cg": ConjugateGradient,
    "gd": GradientDescent,
}
MONOTONE = {"cg", "gd", "lbfgs"}
LINE_SEARCHING = sorted(MONOTONE)

each_minimizer = pytest.mark.parametrize("name", sorted(MINIMIZERS))


@dataclass(frozen=True)
class Function:
    """An objective from a plain function."""

    function: object

    def value_and_grad(self, Z):
        return self.function(Z)


class Watched:
    """An objective that remembers where it was evaluated, and what came out."""

    def __init__(self, objective):
        self.objective, self.places, self.values = objective, [], []

    def value_and_grad(self, Z):
        value, grad = self.objective.value_and_grad(Z)
        self.places.append(Z.copy())
        self.values.append(value)
        return value, grad


@dataclass(frozen=True)
class Times:
    """An objective multiplied by a number."""

    objective: object
    factor: float

    def value_and_grad(self, Z):
        value, grad = self.objective.value_and_grad(Z)
        return value * self.factor, grad * self.factor


WEIGHTS = np.geomspace(1.0, 1e3, 20).reshape(10, 2)
CENTER = np.random.default_rng(1).normal(size=(10, 2))


def quadratic(Z):
    """Condition number 1000, minimum 1."""
    gap = Z - CENTER
    return 1.0 + 0.5 * float(np.sum(WEIGHTS * gap**2)), WEIGHTS * gap


def rosenbrock(Z):
    """One curved valley per row, minimum 0 at (1, 1)."""
    x, y = Z.T
    across = y - x**2
    grad = np.stack([-400.0 * x * across - 2.0 * (1.0 - x), 200.0 * across], axis=1)
    return float(np.sum(100.0 * across**2 + (1.0 - x) ** 2)), grad


def plateaus(Z):
    """A well per row; far from it the gradient vanishes. Minimum 1."""
    hit = np.exp(-0.5 * np.sum(Z**2, axis=1))
    return 1.0 + float(np.sum(1.0 - hit)), hit[:, None] * Z


TARGET = np.array([0.6, -0.4])


def in_disc(Z):
    """A barrier towards the unit circle, and NaN outside."""
    left = 1.0 - np.sum(Z**2, axis=1)
    if (left <= 0.0).any():
        return math.nan, np.full_like(Z, math.nan)
    value = float(np.sum((Z - TARGET) ** 2) - 0.01 * np.sum(np.log(left)))
    return value, 2.0 * (Z - TARGET) + 0.02 * Z / left[:, None]


def to_the_edge(Z):
    """Lower and lower up to the unit circle, and infinite outside."""
    if (np.sum(Z**2, axis=1) >= 1.0).any():
        return math.inf, np.zeros_like(Z)
    return float(np.sum((Z - 5.0 * TARGET) ** 2)), 2.0 * (Z - 5.0 * TARGET)


def bowl(Z):
    return float(np.sum(Z**2)), 2.0 * Z


RNG = np.random.default_rng(0)
PROBLEMS = {
    "quadratic": (quadratic, RNG.normal(size=(10, 2))),
    "rosenbrock": (rosenbrock, np.array([[-1.2, 1.0], [-0.8, 1.1], [0.5, -0.5]])),
    "plateaus": (plateaus, RNG.normal(size=(8, 2))),
    "in_disc": (in_disc, RNG.uniform(-0.6, 0.6, size=(5, 2))),
    "to_the_edge": (to_the_edge, RNG.uniform(-0.6, 0.6, size=(5, 2))),
}
each_problem = pytest.mark.parametrize("problem", sorted(PROBLEMS))


def minimize(name, problem, *, callback=None, **settings):
    function, start = PROBLEMS[problem]
    return MINIMIZERS[name](**settings).minimize(Function(function), start, callback=callback)
