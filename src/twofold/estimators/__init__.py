"""The estimators: each composes the blocks into one two-way model."""

from twofold.estimators.base import TwoWayEstimator
from twofold.estimators.drur import DRUR
from twofold.estimators.principal_manifold import PrincipalManifold
from twofold.estimators.sne import SNE
from twofold.estimators.two_way import TwoWay
from twofold.estimators.ukr import UKR

__all__ = ["DRUR", "SNE", "UKR", "PrincipalManifold", "TwoWay", "TwoWayEstimator"]
