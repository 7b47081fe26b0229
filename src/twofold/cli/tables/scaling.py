"""The means and standard deviations of columns as units."""

from __future__ import annotations

from twofold.protocols import Array


def in_deviations(values: Array, reference: Array, *, undo: bool = False) -> Array:
    """Scale columns (n, D) to the means and standard deviations of a reference (m, D), or back.

    Constant columns are only shifted.
    """
    means, deviations = reference.mean(axis=0), reference.std(axis=0)
    deviations[deviations == 0.0] = 1.0
    scaled: Array = values * deviations + means if undo else (values - means) / deviations
    return scaled
