"""The settings of a fit, checked once, and the decision between few and many rows.

Few rows: exact sums over all pairs or lists of pairs, in double precision; candidates from the
whole data set; homotopy from PCA. Many rows: sums by cells or on a grid, in single precision; data
in their leading subspace; candidates from a coarse map. `check_settings` decides at the start of a
fit, and `Settings.many` carries the decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twofold.base.guidance import check_guidance
from twofold.kernels import resolve_kernel
from twofold.numerics.density import LatentDensity
from twofold.numerics.memory import check_memory_for
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.threads import n_threads
from twofold.numerics.validation import check_choice, check_int, check_real
from twofold.optimize import SpectralGuidance, resolve_minimizer
from twofold.protocols import IntArray, Minimizer, RadialKernel

if TYPE_CHECKING:
    from twofold.ukr.estimator import UKR

MANY_ROWS = 5_000
"""Rows up to which weights are exact and inner products are kept (0.2 GB at most)."""

CELL_TOLERANCE = 5e-5
"""Kernel values left out for many rows: a Gaussian is cut at 4.45 widths."""

FARTHEST_CUT = 10.0
"""Kernels that reach farther, in widths, are never cut: all pairs count, however many rows."""

FEW_AND_MANY_ITERATIONS = (100, 60)
FEW_AND_MANY_STARTS = (4, 2)
"""Starts of the projection of a new row."""


@dataclass(frozen=True)
class Settings:
    """The checked parameters of a `UKR` that its parts need.

    ``many`` tells whether sums run over cells, in single precision. ``homotopy=None`` means "auto":
    from PCA, for few rows. ``minimum_density`` is the constraint of the plain reconstruction error;
    None means the leave-one-out error.
    """

    many: bool
    max_iter: int
    homotopy: bool | None
    minimum_density: float | None
    kernel: RadialKernel
    optimizer: str | Minimizer
    guidance: SpectralGuidance | None
    tol: float
    leave_out: int
    pseudo_count: float
    validation_fraction: float | None
    n_jobs: int | None

    def minimizer(self, max_iter: int) -> Minimizer:
        """Return the optimizer with this number of iterations."""
        return resolve_minimizer(self.optimizer, max_iter=max_iter, tol=self.tol)


def is_many(n_samples: int, kernel: RadialKernel) -> bool:
    """Tell whether sums should run over cells, in single precision."""
    return n_samples > MANY_ROWS and kernel_radius(kernel, CELL_TOLERANCE) < FARTHEST_CUT


def check_settings(model: UKR, n_samples: int = 0) -> Settings:
    """Return the settings of a fit; raise an error that names the first invalid parameter."""
    if model.max_iter != "auto":
        check_int("max_iter", model.max_iter)
    n_threads(model.n_jobs)
    resolve_minimizer(model.optimizer, max_iter=1, tol=model.tol)
    check_guidance(model.guidance, model.optimizer)
    if model.metric_params and not isinstance(model.metric_params, dict):
        raise TypeError(f"metric_params={model.metric_params!r} must be a dict or None.")
    if model.metric_params and model.metric in ("euclidean", "l1", "precomputed"):
        raise ValueError(
            f"metric_params={model.metric_params!r} has no meaning for metric={model.metric!r}."
        )
    check_int("leave_out", model.leave_out)
    check_choice("objective", model.objective, ("leave_one_out", "reconstruction"))
    if not (isinstance(model.homotopy, bool) or model.homotopy == "auto"):
        raise ValueError(f"homotopy={model.homotopy!r} must be 'auto', True or False.")
    if check_real("pseudo_count", model.pseudo_count, above=-1.0) < 0.0:
        raise ValueError(f"pseudo_count={model.pseudo_count!r} must not be negative.")
    fraction = model.validation_fraction
    if fraction is not None and not 0.0 < check_real("validation_fraction", fraction) < 1.0:
        raise ValueError(f"validation_fraction={fraction!r} must lie between 0 and 1, or be None.")
    minimum = _check_threshold(model.density_threshold)
    if model.objective == "reconstruction" and minimum is None:
        raise ValueError(
            "objective='reconstruction' needs a density_threshold that is a number between 0 and "
            "1: without it the latents drift apart until every point is rebuilt by itself."
        )
    kernel = resolve_kernel(model.kernel)
    many = is_many(n_samples, kernel)
    return Settings(
        many=many,
        max_iter=FEW_AND_MANY_ITERATIONS[many] if model.max_iter == "auto" else int(model.max_iter),
        homotopy=None if isinstance(model.homotopy, str) else model.homotopy,
        minimum_density=minimum if model.objective == "reconstruction" else None,
        kernel=kernel,
        optimizer=model.optimizer,
        guidance=model.guidance,
        tol=model.tol,
        leave_out=model.leave_out,
        pseudo_count=model.pseudo_count,
        validation_fraction=fraction,
        n_jobs=model.n_jobs,
    )


def groups_of(settings: Settings, n: int, rng: np.random.Generator) -> IntArray | None:
    """Return random groups (n,) of rows that leave each other out; None for groups of one."""
    leave_out = settings.leave_out
    if leave_out == 1:
        return None
    if settings.many:
        raise ValueError(
            f"leave_out={leave_out} is supported for at most {MANY_ROWS} rows, but n_samples={n}. "
            "Use leave_out=1, or fit a sample of the rows."
        )
    if leave_out > n // 2:
        raise ValueError(
            f"leave_out={leave_out} must be at most half of n_samples={n}: the others must "
            "predict the points left out."
        )
    return rng.permutation(n) // leave_out


def log_threshold(setting: str | float, density: LatentDensity, log_maximum: float) -> float:
    """Return the log density that bounds the domain of the map (step 6).

    A number is a share of the kernel's maximum, whose logarithm is ``log_maximum``.
    """
    if isinstance(setting, str):
        return density.log_threshold(_quantile(setting) or 0.0)
    return float(np.log(float(setting))) + log_maximum


def check_memory(n_samples: int, n_matrices: int) -> None:
    """Raise a MemoryError if matrices of all pairs would not fit into memory."""
    _check_memory(n_samples, n_matrices * 8.0 * n_samples**2, f"{n_matrices} matrices of all pairs")


def check_memory_of_many(n_samples: int, n_features: int, n_components: int) -> None:
    """Raise a MemoryError if many rows would not fit into memory.

    The decoder's copy of the data; in single precision the data, sums, residuals and their sorted
    copies; latents, their L-BFGS history, neighbors and cells.
    """
    of_a_row = 36.0 * n_features + 250.0 * n_components + 800.0
    _check_memory(n_samples, n_samples * of_a_row, "arrays of all rows")


def _check_memory(n_samples: int, needed: float, what: str) -> None:
    who = f"Kernel regression of n_samples={n_samples}"
    check_memory_for(who, needed, what, "Fit a sample of the rows and transform the rest.")


def _check_threshold(threshold: str | float) -> float | None:
    """Return the density threshold as a number; None for "auto" and quantiles."""
    if isinstance(threshold, str):
        if threshold != "auto" and _quantile(threshold) is None:
            raise ValueError(
                f"density_threshold={threshold!r} must be 'auto', 'quantile:' and a share such as "
                "'quantile:0.01', or a number between 0 and 1."
            )
        return None
    if not 0.0 < check_real("density_threshold", threshold) < 1.0:
        raise ValueError(f"density_threshold={threshold!r} must lie between 0 and 1.")
    return float(threshold)


def _quantile(setting: str) -> float | None:
    """Return the share in ``"quantile:share"``; None if it is not between 0 and 1."""
    name, _, share = setting.partition(":")
    try:
        quantile = float(share)
    except ValueError:
        return None
    return quantile if name == "quantile" and 0.0 <= quantile < 1.0 else None
