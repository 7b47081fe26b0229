"""The settings of unsupervised regression, checked once at the start of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.numerics.threads import n_threads
from twofold.numerics.validation import check_int, check_not_negative, check_real

__all__ = ["check_settings", "is_rbf", "pair_of"]

MOST_WEIGHT = 1e6


def check_settings(model: Any) -> None:
    """Raise an error that names the first setting of a `DRUR` that makes no sense."""
    n_threads(model.n_jobs)
    check_int("max_iter", model.max_iter)
    check_not_negative("tol", model.tol)
    if not isinstance(model.store_embedding, bool | np.bool_):
        raise TypeError(f"store_embedding={model.store_embedding!r} must be True or False.")
    weight = check_real("down_weight", model.down_weight)
    if not 1.0 / MOST_WEIGHT <= weight <= MOST_WEIGHT:
        raise ValueError(
            f"down_weight={model.down_weight!r} must lie between {1.0 / MOST_WEIGHT:g} and {MOST_WEIGHT:g}: beyond, one of the "
            "two errors vanishes beside the other."
        )
    if not isinstance(model.recenter, bool):
        check_int("recenter", model.recenter, low=0)
    for name in ("up", "down"):
        value = getattr(model, name)
        if isinstance(value, str) and value not in ("rbf", "mlp"):
            raise ValueError(f"{name}={value!r} must be 'rbf', 'mlp' or a map.")
        if not isinstance(value, str) and not (hasattr(value, "fit") and hasattr(value, "predict")):
            raise TypeError(f"{name}={value!r} is no map: it has no fit and predict.")
    if not isinstance(model.up, str) and not hasattr(model.up, "normal_terms"):
        raise TypeError(
            f"up={model.up!r} has no normal_terms, which projections need; see "
            "twofold.protocols.Map."
        )
    if isinstance(model.n_centers, str):
        if model.n_centers not in ("auto", "all"):
            raise ValueError(
                f"n_centers={model.n_centers!r} must be 'auto', 'all', a number or (up, down)."
            )
        others = {name: getattr(model, name) for name in ("up", "down")}
        if model.n_centers == "all" and any(not is_rbf(kind) for kind in others.values()):
            raise ValueError(f"n_centers='all' is for radial networks alone, not for {others}.")
    else:
        for one in pair_of(model.n_centers, "n_centers"):
            check_int("n_centers", one)
    for one in pair_of(model.alpha, "alpha"):
        if isinstance(one, str):
            if one != "auto":
                raise ValueError(f"alpha={model.alpha!r} must be 'auto', a number or (up, down).")
        else:
            check_not_negative("alpha", one)


def is_rbf(kind: Any) -> bool:
    """Return whether a map is asked for as a radial network of our own making."""
    return isinstance(kind, str) and kind == "rbf"


def pair_of(value: Any, name: str = "setting") -> tuple[Any, Any]:
    """Return a setting for both maps, (up, down)."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise ValueError(f"{name}={value!r} must be one setting, or two: (up, down).")
        return value[0], value[1]
    return value, value
