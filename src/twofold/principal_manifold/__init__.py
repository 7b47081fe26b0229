"""Regularized principal manifolds (Smola et al. 2001)."""

from twofold.principal_manifold.estimator import PrincipalManifold

__all__ = ["PrincipalManifold"]
