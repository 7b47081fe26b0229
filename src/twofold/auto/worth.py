"""Warnings where a map is not worth having, or shows the units of a column."""

from __future__ import annotations

import numpy as np

from twofold.auto.race import Outcome
from twofold.model_selection import Structure, detect_structure
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import warn_user
from twofold.protocols import AnyArray, Array

DOMINANT = 0.9
"""A column with more than this share of the variance dominates the map."""

FEWEST_COLUMNS = 3
EXACT = 1e-9
"""An error of PCA below this leaves nothing to improve."""

FEWEST_FOR_DIMENSION = 400
FEWEST_TESTED, MOST_TESTED = 400, 1_000
"""Rows that are compared with noise. With fewer, a smooth sheet may look like noise."""


def warn_of_noise(data: Array, structure: Structure | None) -> bool:
    """Warn if data (n, D) are noise; their structure is tested on some rows if it is not known."""
    if data.shape[1] < 2 or len(data) < FEWEST_TESTED:  # one column maps to itself
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
    linear, last = outcome.linear, outcome.rounds[-1].trials
    if linear is None or linear.judged.error < EXACT:
        return
    if len(last) == 1:
        warn_user(
            "effort: the seconds sufficed for a trial of PCA only, which is linear. Give more "
            "seconds to compare methods.",
            UserWarning,
        )
        return
    if outcome.winner is linear:
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


def warn_of_few_rows(n_rows: int, n_components: int) -> None:
    """Warn if a number of dimensions was chosen from few rows."""
    if n_rows < FEWEST_FOR_DIMENSION:
        warn_user(
            f"n_components='auto' found {n_components} from {n_rows} rows. Below "
            f"{FEWEST_FOR_DIMENSION} rows it is often too low: compare with more dimensions, or "
            "give n_components a number.",
            UserWarning,
        )


def warn_of_units(data: Array, units: CenteredUnits, names: AnyArray | None) -> bool:
    """Warn if one column of the centered data (n, D) has most of the variance."""
    if data.shape[1] < FEWEST_COLUMNS:
        return False
    variances = np.square(data).mean(axis=0)
    shares = variances / (float(variances.sum()) or 1.0)
    largest = int(shares.argmax())
    if shares[largest] <= DOMINANT:
        return False
    column = np.flatnonzero(units.varying)[largest]
    name = f"Column {column}" if names is None else f"Column {names[column]!r}"
    warn_user(
        f"{name} has {shares[largest]:.1%} of the variance, so the map shows little else. If the "
        "columns have different units, set scale='standard', which makes the scaling of columns "
        "part of the model.",
        UserWarning,
    )
    return True
