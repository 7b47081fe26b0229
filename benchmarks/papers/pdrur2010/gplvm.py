"""The rival GPLVM (Lawrence 2005), by the package GPy where it is installed."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness.machine import is_installed
from twofold.protocols import Array

NO_GPLVM = "GPy is not installed: no GPLVM"
N_ACTIVE = 70
"""Active points, as in Fig. 10."""


def has_gplvm() -> bool:
    """Return whether GPy is installed."""
    return is_installed("GPy")


def gplvm(X: Array, start: Array, *, max_iter: int = 100) -> Array:
    """Return the latents of a GPLVM with 70 active points after some iterations from a start."""
    import GPy

    scale = float(np.sqrt(start.var()))
    centered = (X - X.mean(axis=0)) / X.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GPy.models.SparseGPLVM(
            centered, start.shape[1], X=(start - start.mean(axis=0)) / scale, num_inducing=N_ACTIVE
        )
        model.optimize(max_iters=max_iter)
    latents: Array = np.array(model.X)
    return latents
