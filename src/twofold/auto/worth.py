"""Warnings where a map is not worth having, or shows the units of a column."""

from __future__ import annotations

import numpy as np

from twofold.auto.race import Outcome
from twofold.base.estimator import TwoWayEstimator
from twofold.model_selection import Structure, detect_structure
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import warn_user
from twofold.protocols import Array

DOMINANT = 0.9
"""A column with more than this share of the variance dominates the map."""

FEWEST_COLUMNS = 3
MOST_TESTED = 1_000
"""Rows that are compared with noise."""


def warn_of_noise(data: Array, structure: Structure | None) -> bool:
    """Warn if data (n, D) are noise; their structure is tested on some rows if it is not known."""
    if data.shape[1] < 2:  # a column has no structure, and maps to itself
        return False
    if structure is None:
        structure = detect_structure(data[some_rows(len(data), MOST_TESTED)])
    if structure.is_noise:
        warn_user(
            "The data look like pure noise: no direction has more variance than chance, and "
            "neighbors are no closer than in copies whose columns are permuted. A map of them "
            "shows nothing that other rows would confirm.",
            UserWarning,
        )
    return structure.is_noise


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
        return
    winner = outcome.winner
    if winner.judged.error >= linear.judged.error:
        warn_user(
            f"The held-out error of {winner.name}, {winner.judged.error:.3g} of the variance, is "
            f"not lower than that of PCA, {linear.judged.error:.3g}. Compare both before you trust "
            "the map; more rows or other columns may help.",
            UserWarning,
        )


def warn_of_units(model: TwoWayEstimator, data: Array) -> bool:
    """Warn if one column of the centered data (n, D) has most of the variance."""
    if data.shape[1] < FEWEST_COLUMNS:
        return False
    variances = np.square(data).mean(axis=0)
    shares = variances / (float(variances.sum()) or 1.0)
    largest = int(shares.argmax())
    if shares[largest] <= DOMINANT:
        return False
    varying = np.flatnonzero(model._data_units.varying)
    names = getattr(model, "feature_names_in_", None)
    column = varying[largest]
    name = f"Column {column}" if names is None else f"Column {names[column]!r}"
    warn_user(
        f"{name} has {shares[largest]:.1%} of the variance, so the map shows little else. If the "
        "columns have different units, standardize them first, for example with "
        "sklearn.preprocessing.StandardScaler.",
        UserWarning,
    )
    return True
