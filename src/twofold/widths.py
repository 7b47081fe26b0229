"""Kernel widths worth trying.

A width below the spacing of the centres sees no neighbour; one beyond their whole spread sees nothing
else. What lies between is searched on a geometric grid.
"""

from __future__ import annotations

import numpy as np

from twofold._blocks import some_rows
from twofold._linalg import sqdist
from twofold.protocols import Array

__all__ = ["width_grid"]

MAX_ROWS = 500


def width_grid(centers: Array, *, ratio: float = 2.0) -> list[float]:
    """Return kernel widths to try: from the spacing of the centres to their whole spread.

    Parameters
    ----------
    centers : ndarray of shape (M, q)
        Distinct points.
    ratio : float, default=2.0
        Ratio of neighbouring widths.

    Returns
    -------
    list of float
        Ascending; a single 1.0 where the centres have no extent.
    """
    spread = float(np.sqrt(np.square(centers - centers.mean(axis=0)).sum(axis=1).mean()))
    rows = some_rows(len(centers), MAX_ROWS)
    distances = sqdist(centers[rows], centers)
    distances[np.arange(len(rows)), rows] = np.inf
    distances[distances <= 1e-12 * spread**2] = np.inf  # duplicates
    nearest = distances.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    if not len(nearest):
        return [1.0]
    spacing = float(np.sqrt(np.median(nearest)))
    n_widths = max(3, int(np.ceil(np.log(2.0 * spread / spacing) / np.log(ratio))) + 1)
    return [float(width) for width in spacing * ratio ** np.arange(n_widths)]
