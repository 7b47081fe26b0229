"""Warnings where a map is not worth having, or shows the units of a column."""

from __future__ import annotations

import numpy as np

from twofold.auto.race import Outcome
from twofold.base.estimator import TwoWayEstimator
from twofold.numerics.validation import warn_user
from twofold.protocols import Array

DOMINANT = 0.9
"""A column with more than this share of the variance dominates the map."""

FEWEST_COLUMNS = 3


def warn_of_linear(outcome: Outcome, n_components: int) -> None:
    """Warn if the winner keeps no more of held-out rows than PCA."""
    linear = outcome.linear
    if linear is None:
        return
    if outcome.winner.name == "pca":
        warn_user(
            f"No method is better than PCA with n_components={n_components}, whose held-out error "
            f"is {linear.judged.error:.3g} of the variance: the data are flat, or what bends is "
            "noise. The model is linear.",
            UserWarning,
        )
    elif outcome.winner.judged.error >= linear.judged.error:
        warn_user(
            f"The held-out error of {outcome.winner.name}, {outcome.winner.judged.error:.3g} of the "
            f"variance, is not lower than that of PCA, {linear.judged.error:.3g}. Compare both "
            "before you trust the map; more rows or other columns may help.",
            UserWarning,
        )


def warn_of_units(model: TwoWayEstimator, data: Array) -> None:
    """Warn if one column of the centered data (n, D) has most of the variance."""
    if data.shape[1] < FEWEST_COLUMNS:
        return
    variances = np.square(data).mean(axis=0)
    shares = variances / (float(variances.sum()) or 1.0)
    largest = int(shares.argmax())
    if shares[largest] <= DOMINANT:
        return
    varying = np.flatnonzero(model._data_units.varying)
    names = getattr(model, "feature_names_in_", None)
    column = varying[largest]
    name = f"Column {column}" if names is None else f"Column {names[column]!r}"
    warn_user(
        f"{name} has {shares[largest]:.0%} of the variance, so the map shows little else. If the "
        "columns have different units, standardize them first, for example with "
        "sklearn.preprocessing.StandardScaler.",
        UserWarning,
    )
