"""Regularized principal manifolds (Smola et al. 2001)."""

from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.estimator import PrincipalManifold
from twofold.principal_manifold.generalization import (
    GeneralizationReport,
    KernelSpectrum,
    LearningCurve,
)
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

__all__ = [
    "CrossValidation",
    "DampedKernel",
    "DeltaKernel",
    "Domain",
    "GaussianKernel",
    "GeneralizationReport",
    "KernelSpectrum",
    "LearningCurve",
    "LinearKernel",
    "NodeKernel",
    "PeriodicKernel",
    "Points",
    "PrincipalManifold",
    "SplineKernel",
]
