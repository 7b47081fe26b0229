"""The base class of all two-way estimators, the problem it poses and the result it expects."""

from twofold.base.estimator import TwoWayEstimator
from twofold.base.maps_for_latents import MapSettings, learn_maps
from twofold.base.problem import Learned, Problem
from twofold.base.update_report import UpdateReport

__all__ = ["Learned", "MapSettings", "Problem", "TwoWayEstimator", "UpdateReport", "learn_maps"]
