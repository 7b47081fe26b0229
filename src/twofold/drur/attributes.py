"""The learned attributes of `DRUR` that describe a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.drur.fitting import UnsupervisedFit
from twofold.protocols import Map

KEPT = ("mlp", "linear")
"""Maps that keep what they learned from the sample of rows that took part in the turns."""


def attributes_of(found: UnsupervisedFit, kinds: tuple[str | Map, str | Map]) -> dict[str, Any]:
    """Return the attributes of a fit; ``kinds`` are the parameters ``up`` and ``down``."""
    maps, errors = found.maps, found.errors
    both = list(zip((maps.up, maps.down), kinds, strict=True))
    return {
        "errors_": errors,
        "n_centers_": tuple(
            len(getattr(one, "weights_", ())) if kind in ("rbf", "mlp") else 0 for one, kind in both
        ),
        "alpha_": tuple(  # for all rows; only networks were solved for them
            float(getattr(one, "alpha_", np.nan)) / (found.share if kind in KEPT else 1.0)
            for one, kind in both
        ),
        "init_": found.candidates[0]["name"],
        "candidates_": found.candidates,
        "method_": min(errors, key=errors.__getitem__),
        "history_": found.turns.energies,
        "validation_history_": found.turns.held_out,
        "n_iter_": len(found.turns.energies),
    }


def constant_attributes() -> dict[str, Any]:
    """Return the attributes of a fit to rows that are all equal."""
    return {
        "method_": "map",
        "errors_": {"map": 0.0, "project": 0.0},
        "n_centers_": (1, 1),
        "alpha_": (np.nan, np.nan),
        "init_": "constant",
        "candidates_": [],
        "history_": np.zeros(1),
        "validation_history_": np.full(1, np.nan),
        "n_iter_": 1,
    }
