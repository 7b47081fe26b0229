"""The paper's loop as parameters of `DRUR`, and what its experiments share.

Our two columns are `literal` and `default`. The paper leaves open: the grid of widths (ours runs
from the median distance of neighboring centers to twice their spread, in steps of a root of two),
the share of rows that judges it (a quarter), the ends of k-means (random rows as starts,
scikit-learn's tolerance) and the training of perceptrons (L-BFGS, 100 steps an iteration, weight
decay 1e-6).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold import DRUR
from twofold.protocols import Array

LOOP: dict[str, Any] = {
    "down_weight": None,  # latents and data keep their own units
    "tol": None,  # a fixed number of iterations with all rows
    "recenter": (True, False),  # centers and width of f in every iteration, the width of F once
    "exact": True,  # k-means best of 20, projections to 1e-4, all rows and columns
}
"""Fig. 1 and section 2: nothing that the paper does not do."""

DECAY = 1e-6
"""Weight decay of perceptrons, of which the paper gives none."""

DEFAULTS_FROM_START = "Defaults: DRUR(), from the same start."


def literal(X: Array, start: Any, seed: int, q: int = 2, **setting: Any) -> DRUR:
    """Fit by the paper's loop."""
    options = LOOP | {"init": start, "random_state": seed, "n_jobs": 1} | setting
    return DRUR(q, **options).fit(X)


def default(X: Array, start: Any, seed: int, q: int = 2, **setting: Any) -> DRUR:
    """Fit by our defaults, from the same start."""
    return DRUR(q, init=start, random_state=seed, n_jobs=1, **setting).fit(X)


def squared_correlation(a: Array, b: Array) -> float:
    """Return R² of two one-dimensional latents."""
    return float(np.corrcoef(a[:, 0], b[:, 0])[0, 1] ** 2)


def angles_to_curve(model: DRUR, X: Array) -> dict[str, float]:
    """Return median angles in degrees for a model with one latent; 90 is orthogonal.

    "errors": between ``y - f(x)`` and the tangent of f at the latents of the fit. "contours":
    between the contours of F and the tangent of f, at the points ``f(x)``. Both maps work in
    coordinates that differ from the data by one factor, which does not change angles.
    """
    coordinates, down = model._ways["map"].maps
    up = model._ways["project"].maps[-1].decoder
    assert up is not None
    inside = coordinates.predict(model._data_units.into(X))
    Z = model.embedding_
    images, tangents = up.predict(Z), up.jacobian(Z)[:, :, 0]
    slopes = down.jacobian(images)[:, 0]
    return {
        "errors": _median_angle(inside - images, tangents),
        "contours": 90.0 - _median_angle(slopes, tangents),
    }


def _median_angle(a: Array, b: Array) -> float:
    """Return the median angle between the lines along rows, in degrees from 0 to 90."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines = np.abs((a * b).sum(axis=1)) / np.maximum(lengths, 1e-300)
    return float(np.degrees(np.arccos(np.clip(np.median(cosines), 0.0, 1.0))))
