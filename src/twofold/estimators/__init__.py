"""The estimators: each composes the blocks into one two-way model."""

from twofold.estimators.agglomerative_isomap import AgglomerativeIsomap
from twofold.estimators.base import TwoWayEstimator
from twofold.estimators.drur import DRUR
from twofold.estimators.principal_manifold import PrincipalManifold
from twofold.estimators.sne import SNE
from twofold.estimators.supervised_isomap import SupervisedIsomap
from twofold.estimators.two_way import TwoWay
from twofold.estimators.ukr import UKR

__all__ = [
    "DRUR",
    "SNE",
    "UKR",
    "AgglomerativeIsomap",
    "PrincipalManifold",
    "SupervisedIsomap",
    "TwoWay",
    "TwoWayEstimator",
]
