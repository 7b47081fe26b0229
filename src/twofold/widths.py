"""Kernel widths worth trying.

A width below the spacing of the centres sees no neighbour; one beyond their whole spread sees nothing
else. What lies between is searched on a geometric grid.
"""

from __future__ import annotations

import numpy as np

from twofold._linalg import sqdist
from twofold.protocols import Array

__all__ = ["width_grid"]


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
    some = centers[:: max(1, len(centers) // 500)]
    distances = sqdist(some, centers)
    distances[distances <= 1e-20 * spread**2] = np.inf
    nearest = distances.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    if not len(nearest):
        return [1.0]
    spacing = float(np.sqrt(np.median(nearest)))
    n_widths = max(3, int(np.ceil(np.log(2.0 * spread / spacing) / np.log(ratio))) + 1)
    return [float(width) for width in spacing * ratio ** np.arange(n_widths)]
