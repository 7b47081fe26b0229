"""Figures of the library's measures on a fixed example.

The measures of a run come from the library, whose code changes while a run is extended. Equal
figures on an example show that the measures mean the same as before.
"""

import numpy as np

from benchmarks.rivals.data import Split
from benchmarks.rivals.measure import measure

N_TRAIN, N_TEST = 300, 100
DIGITS = 6
COSTS = ("_seconds", "_bytes", "_gap")
"""Endings of the figures that are costs, not measures."""


class Axes:
    """Principal axes by numpy alone: no code of the library."""

    def fit(self, X):
        self._mean = X.mean(axis=0)
        self._axes = np.linalg.svd(X - self._mean, full_matrices=False)[2][:2]
        self.embedding_ = self.transform(X)
        return self

    def transform(self, X):
        return (X - self._mean) @ self._axes.T

    def inverse_transform(self, Z):
        return Z @ self._axes + self._mean


class _Notes:
    def __init__(self):
        self.figures = {}

    def step(self, name):
        pass

    def add(self, **figures):
        self.figures.update(figures)


def measures():
    """Return the figures of principal axes on a curved sheet, with six digits."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(-1.0, 1.0, (N_TRAIN + N_TEST, 2))
    bent = np.hstack([truth, np.sin(3 * truth)]) @ rng.standard_normal((4, 6))
    X = bent + 0.1 * rng.standard_normal(bent.shape)
    y = (truth[:, 0] > 0).astype(int)
    notes = _Notes()
    parts = (part for values in (X, y, truth) for part in (values[:N_TRAIN], values[N_TRAIN:]))
    measure(Axes, Split(*parts), notes)
    return {
        name: float(f"{value:.{DIGITS}g}")
        for name, value in sorted(notes.figures.items())
        if not name.endswith(COSTS)
    }
