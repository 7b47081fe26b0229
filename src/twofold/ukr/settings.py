"""The settings of unsupervised kernel regression, checked once at the start of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.base.guidance import check_guidance
from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import n_threads
from twofold.numerics.validation import check_choice, check_int, check_real
from twofold.optimize import resolve_minimizer
from twofold.protocols import RadialKernel
from twofold.ukr.regression import MANY_ROWS, is_many

__all__ = ["check_settings", "groups_of", "log_threshold"]


def check_settings(model: Any) -> None:
    """Raise an error that names the first setting of a `UKR` that makes no sense."""
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
    threshold = model.density_threshold
    named = isinstance(threshold, str)
    if named and threshold != "auto" and _quantile(threshold) is None:
        raise ValueError(
            f"density_threshold={threshold!r} must be 'auto', 'quantile:' and a share such as "
            "'quantile:0.01', or a number between 0 and 1."
        )
    if not named and not 0.0 < check_real("density_threshold", threshold) < 1.0:
        raise ValueError(f"density_threshold={threshold!r} must lie between 0 and 1.")
    if model.objective == "reconstruction" and named:
        raise ValueError(
            "objective='reconstruction' needs a density_threshold that is a number between 0 and 1: "
            "without one the latents drift apart until every point is rebuilt by itself."
        )


def groups_of(leave_out: int, n: int, kernel: RadialKernel, rng: np.random.Generator) -> Any:
    """Return random groups of rows that leave each other out; None where each leaves out itself."""
    if leave_out == 1:
        return None
    if is_many(n, kernel):
        raise ValueError(
            f"leave_out={leave_out} is supported for at most {MANY_ROWS} rows, n_samples={n} are more. "
            "Use leave_out=1, or fit a sample of the rows."
        )
    if leave_out > n // 2:
        raise ValueError(
            f"leave_out={leave_out} must be at most half of n_samples={n}: the rest has to "
            "predict the points left out."
        )
    return rng.permutation(n) // leave_out


def log_threshold(setting: str | float, density: LatentDensity, log_maximum: float) -> float:
    """Return the log density that bounds the domain of the map (step 6).

    Parameters
    ----------
    setting : "auto", "quantile:share" or float
        The lowest density at a latent, the one that all but a share of the latents reach, or a share
        of the kernel's maximum.
    density : LatentDensity
        The density of the latents.
    log_maximum : float
        The kernel's maximum, ``log K(0)``.
    """
    if isinstance(setting, str):
        return density.log_threshold(_quantile(setting) or 0.0)
    return float(np.log(float(setting))) + log_maximum


def _quantile(setting: str) -> float | None:
    """Return the share in ``"quantile:share"``, None where there is none between 0 and 1."""
    name, _, share = setting.partition(":")
    try:
        quantile = float(share)
    except ValueError:
        return None
    return quantile if name == "quantile" and 0.0 <= quantile < 1.0 else None
