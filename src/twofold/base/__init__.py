"""What every two-way estimator is built on: the base class, its problem and result, progress."""

from twofold.base.estimator import (
    TwoWayEstimator,
    check_n_components,
    constant_model,
    warn_of_rank,
)
from twofold.base.problem import Learned, Problem

__all__ = [
    "Learned",
    "Problem",
    "TwoWayEstimator",
    "check_n_components",
    "constant_model",
    "warn_of_rank",
]
