"""Fitted steps of a pipeline as affine maps of the data, put in front of a model's units.

=======================================  ======================================================
step                                     map
=======================================  ======================================================
StandardScaler, RobustScaler,            ``(x - shift) / factors``
MinMaxScaler, MaxAbsScaler
PCA, IncrementalPCA, TruncatedSVD        ``(x - mean) axes^T``, divided by deviations if
                                         whitened
FunctionTransformer without functions,   ``x``
"passthrough"
=======================================  ======================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from twofold.counts import LogCounts
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.units import CenteredUnits

Placed = tuple[CenteredUnits, float | None]
"""Units of the data before a step, and their total variance if the step changes it."""


def before_step(name: str, step: Any, units: CenteredUnits) -> Placed:
    """Return the units of data before a fitted step, given those of the data after it."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return units, None
    place = _STEPS.get(type(step))
    if place is None:
        raise _unsupported(name, step, _why_not(step))
    return place(name, step, units)


def _why_not(step: Any) -> str:
    if isinstance(step, LogCounts):
        return (
            "it divides each row by the sum of its counts, so columns have no fixed unit. "
            "Save or export the last step, pipeline[-1], a model of the log counts; maps of "
            "twofold.anndata keep LogCounts in their files"
        )
    if not hasattr(step, "inverse_transform"):
        return "it has no inverse_transform, so that nothing decodes to the data's own units"
    return "its map is not one of shifts, factors and axes, which a model file can hold"


def _unsupported(name: str, step: Any, why: str) -> TypeError:
    known = ", ".join(one.__name__ for one in _STEPS)
    return TypeError(
        f"step {name!r} of the pipeline, {step!r}, cannot become part of the model: {why}. "
        f"Supported steps are {known} and 'passthrough'. Apply this step to the data before the "
        "pipeline."
    )


def _scaled(units: CenteredUnits, shift: Any, factors: Any) -> Placed:
    """Return the units before ``(x - shift) / factors``; None stands for no shift or factor."""
    given = shift if factors is None else factors
    if given is None:
        return units, None
    shift = np.zeros(len(given)) if shift is None else np.asarray(shift, dtype=np.float64)
    factors = np.ones(len(given)) if factors is None else np.asarray(factors, dtype=np.float64)
    return units.after(shift, factors), None


def _standard(name: str, step: StandardScaler, units: CenteredUnits) -> Placed:
    del name
    return _scaled(units, step.mean_ if step.with_mean else None, step.scale_)


def _robust(name: str, step: RobustScaler, units: CenteredUnits) -> Placed:
    del name
    return _scaled(units, step.center_, step.scale_)


def _largest(name: str, step: MaxAbsScaler, units: CenteredUnits) -> Placed:
    if getattr(step, "clip", False):
        raise _unsupported(name, step, "it clips values, use clip=False")
    return _scaled(units, None, step.scale_)


def _min_max(name: str, step: MinMaxScaler, units: CenteredUnits) -> Placed:
    if step.clip:
        raise _unsupported(name, step, "it clips values, use clip=False")
    return _scaled(units, -step.min_ / step.scale_, 1.0 / step.scale_)


def _function(name: str, step: FunctionTransformer, units: CenteredUnits) -> Placed:
    if step.func is not None or step.inverse_func is not None:
        raise _unsupported(name, step, "it applies a function, which a model file cannot hold")
    return units, None


def _components(name: str, step: Any, units: CenteredUnits) -> Placed:
    del name
    axes = np.asarray(step.components_, dtype=np.float64)
    mean = getattr(step, "mean_", None)
    shift = np.zeros(axes.shape[1]) if mean is None else np.asarray(mean, dtype=np.float64)
    lengths = np.ones(len(axes))
    if getattr(step, "whiten", False):
        variances = np.asarray(step.explained_variance_, dtype=np.float64)
        lengths = np.sqrt(np.maximum(variances, np.finfo(variances.dtype).eps))
    matrix = axes.T / lengths
    made = AffineUnits.behind(units, shift, matrix, axes * lengths[:, None], shift)
    return made, _total_variance(step, units.exponent)


def _total_variance(step: Any, exponent: int) -> float | None:
    """Return the variance of the data before a reduction, in centered units."""
    share = float(step.explained_variance_ratio_[0])
    if not share > 0.0:
        return None
    total = float(step.explained_variance_[0]) / share
    n_rows = getattr(step, "n_samples_", getattr(step, "n_samples_seen_", None))
    if n_rows is not None and hasattr(step, "noise_variance_"):  # over n - 1; ours is over n
        total *= (int(n_rows) - 1) / int(n_rows)
    return float(np.ldexp(total, -2 * exponent))


_STEPS: dict[type, Callable[[str, Any, CenteredUnits], Placed]] = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _largest,
    PCA: _components,
    IncrementalPCA: _components,
    TruncatedSVD: _components,
    FunctionTransformer: _function,
}
