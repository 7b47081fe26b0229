"""The base class of all two-way estimators, the problem it poses and the result it expects."""

from twofold.base.alignment import Alignment
from twofold.base.compressing import Compression
from twofold.base.estimator import TwoWayEstimator
from twofold.base.maps_for_latents import MapSettings, learn_maps
from twofold.base.problem import Anchors, Learned, Problem
from twofold.base.update_report import UpdateReport

__all__ = [
    "Alignment",
    "Anchors",
    "Compression",
    "Learned",
    "MapSettings",
    "Problem",
    "TwoWayEstimator",
    "UpdateReport",
    "learn_maps",
]
