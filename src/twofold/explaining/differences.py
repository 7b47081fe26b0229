r"""Features that separate two selections of rows, on the manifold.

With the reconstructions :math:`\hat x` of the rows of A and B, the difference of a feature is

.. math:: d_j = (\bar{\hat x}_{A,j} - \bar{\hat x}_{B,j}) / s_j

with the spread :math:`s_j` (`twofold.explaining.reference`). It is the part of the difference of
the data that the map explains; the rest, :math:`(\bar x - \bar{\hat x})_A - (\bar x - \bar{\hat
x})_B`, is *off the manifold*.

The *effect* :math:`\rho_j |d_j|` sorts the features. The explained share :math:`\rho_j` shrinks
features that are noise to the map: among many of these, some differ by chance in any selection
(`twofold.explaining.reference`).

The interval is Welch's: :math:`d_j \pm t \, (v_A / n_A + v_B / n_B)^{1/2}`, where :math:`v` is the
variance of the reconstructions in a selection plus that of the residuals, and the degrees of
freedom are those of Welch and Satterthwaite. It is that of the mean over many rows drawn like those
of the selections, by the same model. The residuals make it wider than the reconstructions alone
would: features that are noise to the map have reconstructions of small variance, and every tiny
difference of theirs would seem certain.

A category with k levels is a vector of k indicators. Its difference is the length of the vector,
and the interval is that of the component in this direction, with Scheffe's quantile
:math:`((k - 1) F)^{1/2}` instead of Student's, since the data have chosen the direction.

References
----------
B. L. Welch. The generalization of Student's problem when several different population variances are
involved. Biometrika 34, 1947.
H. Scheffe. A method for judging all contrasts in the analysis of variance. Biometrika 40, 1953.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from twofold.explaining.reference import Reference
from twofold.explaining.results import DifferenceExplanation
from twofold.protocols import AnyArray, Array, IntArray


@dataclass(frozen=True)
class Selection:
    """Rows (n, k) of a selection in centered units, and their reconstructions (n, k)."""

    rows: Array
    images: Array

    def __len__(self) -> int:
        return len(self.rows)

    def variance(self, direction: Array, own: IntArray) -> float:
        """Return the variance of the mean along a direction of some columns."""
        parts = (self.images[:, own], self.rows[:, own] - self.images[:, own])
        total = sum(float((part @ direction).var(ddof=1)) for part in parts)
        return total / len(self)


def difference_explanation(
    reference: Reference,
    A: Selection,
    B: Selection,
    names: tuple[str, ...],
    level: float,
    shown: Callable[[Array], AnyArray],
) -> DifferenceExplanation:
    """Explain the difference of two selections; ``shown`` turns mean images into values."""
    columns = reference.columns
    spreads = reference.divisors
    mean_a, mean_b = A.images.mean(axis=0), B.images.mean(axis=0)
    apart = mean_a - mean_b
    rest = A.rows.mean(axis=0) - B.rows.mean(axis=0) - apart
    found = np.zeros((4, columns.n_features))
    for feature in range(columns.n_features):
        own = np.flatnonzero(columns.features == feature)
        if len(own):
            found[:, feature] = _interval(A, B, own, apart[own], rest[own], level)
    differences, low, high, off_manifold = found / spreads
    return DifferenceExplanation(
        feature_names=names,
        effects=reference.explained * np.abs(differences),
        differences=differences,
        low=low,
        high=high,
        off_manifold=off_manifold,
        mean_a=shown(mean_a),
        mean_b=shown(mean_b),
        n_a=len(A),
        n_b=len(B),
        level=level,
    )


def _interval(
    A: Selection, B: Selection, own: IntArray, apart: Array, rest: Array, level: float
) -> tuple[float, float, float, float]:
    """Return the difference of a feature, its bounds, and the difference of the residuals."""
    length = float(np.sqrt(apart @ apart))
    direction = apart / length if length > 0.0 else np.full(len(own), len(own) ** -0.5)
    if len(own) == 1:
        direction = np.ones(1)
    difference = float(apart @ direction)
    parts = np.array([A.variance(direction, own), B.variance(direction, own)])
    total = float(parts.sum())
    half = 0.0
    if total > 0.0:
        shares = parts / total
        freedom = 1.0 / float(np.sum(np.square(shares) / (np.array([len(A), len(B)]) - 1.0)))
        half = _quantile(level, len(own), freedom) * np.sqrt(total)
    return difference, difference - half, difference + half, float(rest @ direction)


def _quantile(level: float, n_columns: int, freedom: float) -> float:
    """Return Student's quantile for one column, Scheffe's for a category."""
    if n_columns == 1:
        return float(stats.t.ppf(0.5 + 0.5 * level, freedom))
    contrasts = n_columns - 1
    return float(np.sqrt(contrasts * stats.f.ppf(level, contrasts, freedom)))
