"""Regularized principal manifolds (Smola et al. 2001)."""

from twofold.principal_manifold.bounds import RiskBounds
from twofold.principal_manifold.circle_kernels import FourierKernel, WrappedKernel
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.estimator import PrincipalManifold
from twofold.principal_manifold.generalization import GeneralizationReport, LearningCurve
from twofold.principal_manifold.k_planes import KPlanes
from twofold.principal_manifold.limit import PenaltyLimit
from twofold.principal_manifold.metric import Mahalanobis
from twofold.principal_manifold.node_kernels import (
    DampedKernel,
    DeltaKernel,
    GaussianKernel,
    LinearKernel,
    NodeKernel,
    PeriodicKernel,
    SplineKernel,
)
from twofold.principal_manifold.settings import CrossValidation
from twofold.principal_manifold.spectrum import KernelSpectrum

__all__ = [
    "CrossValidation",
    "DampedKernel",
    "DeltaKernel",
    "Domain",
    "FourierKernel",
    "GaussianKernel",
    "GeneralizationReport",
    "KPlanes",
    "KernelSpectrum",
    "LearningCurve",
    "LinearKernel",
    "Mahalanobis",
    "NodeKernel",
    "PenaltyLimit",
    "PeriodicKernel",
    "Points",
    "PrincipalManifold",
    "RiskBounds",
    "SplineKernel",
    "WrappedKernel",
]
