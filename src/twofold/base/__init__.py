"""The base class of all two-way estimators, the problem it poses and the result it expects."""

from twofold.base.estimator import TwoWayEstimator
from twofold.base.problem import Learned, Problem

__all__ = ["Learned", "Problem", "TwoWayEstimator"]
