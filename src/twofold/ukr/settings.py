"""The settings of a fit, checked once, and the decision between few and many rows.

Few rows: exact sums over all pairs or lists of pairs, in double precision; homotopy from PCA. Many
rows: sums by cells or on a grid, in single precision. `UKRSettings.of` decides at the start of a
fit, and `UKRSettings.many` carries the decision. The paper's own settings (no pseudo-count, groups
left out, constraints on the density) stay exact as long as a matrix of all pairs is small.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.base.guidance import check_guidance
from twofold.kernels import resolve_kernel
from twofold.maps.projection import MARGIN
from twofold.numerics.memory import check_memory_for
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.threads import n_threads
from twofold.numerics.validation import (
    check_choice,
    check_int,
    check_real,
    is_auto,
)
from twofold.optimize import SpectralGuidance, resolve_minimizer
from twofold.protocols import IntArray, Minimizer, RadialKernel
from twofold.starts.named import is_pca, with_pca_by_name
from twofold.ukr.feature_space import Metric, check_metric_params
from twofold.ukr.homotopy import Homotopy

if TYPE_CHECKING:
    from twofold.ukr.estimator import UKR

MANY_ROWS = 200
"""Rows up to which weights are exact: beyond, cells take a fifth of the time or less."""

MOST_EXACT = 5_000
"""Rows up to which the paper's own settings are exact, and inner products are kept (0.2 GB)."""

CELL_TOLERANCE = 5e-5
"""Kernel values left out for many rows: a Gaussian is cut at 4.45 widths."""

FARTHEST_CUT = 10.0
"""Kernels that reach farther, in widths, are never cut: all pairs count, however many rows."""

FIRST_PSEUDO_COUNT = 0.1
"""While starts are scaled and compared, and their noise is not known yet."""

LEAST_PSEUDO_COUNT = 1e-3

MAX_ITER = 100
N_STARTS = 4
"""Starts of the projection of a new row."""


@dataclass(frozen=True)
class UKRSettings:
    """The checked parameters of a `UKR` that its parts need.

    With ``many`` rows, sums run over cells, in single precision; ``keep_gram`` tells whether they
    are few enough for a matrix of inner products, ``in_subspace`` whether the data are reduced to
    their leading subspace. ``pseudo_count=None`` means "auto": the noise of the start,
    `pseudo_count_of_noise`. ``anneal`` tells whether the ``homotopy`` runs. ``minimum_density`` is
    the constraint of the plain reconstruction error; None means the leave-one-out error. The domain
    of the map ends at a share ``threshold`` of the kernel's maximum, or if that is None at a
    ``quantile`` of the density, less a ``margin`` of the log density. ``spans_rows`` tells whether
    the rows of the fit are all rows: wide data may then become coordinates in their span.
    """

    many: bool
    keep_gram: bool
    in_subspace: bool
    max_iter: int
    anneal: bool
    homotopy: Homotopy
    minimum_density: float | None
    threshold: float | None
    quantile: float
    margin: float
    kernel: RadialKernel
    metric: Metric
    metric_params: dict[str, Any] | None
    init: object
    optimizer: str | Minimizer
    guidance: SpectralGuidance | None
    tol: float
    leave_out: int
    pseudo_count: float | None
    smoothing: float
    validation_fraction: float | None
    n_jobs: int | None
    spans_rows: bool = True

    @classmethod
    def of(cls, model: UKR, n_samples: int) -> UKRSettings:
        """Check the parameters of an estimator; an error names the first invalid one."""
        if not is_auto(model.max_iter):
            check_int("max_iter", model.max_iter, also="'auto'")
        n_threads(model.n_jobs)
        resolve_minimizer(model.optimizer, max_iter=1, tol=model.tol)
        check_guidance(model.guidance, model.optimizer)
        params = model.metric_params
        if params and not isinstance(params, dict):
            raise TypeError(f"metric_params={params!r} must be a dict or None.")
        if params:
            check_metric_params(model.metric, params)
        check_int("leave_out", model.leave_out)
        check_choice("objective", model.objective, ("leave_one_out", "reconstruction"))
        homotopy = model.homotopy
        if isinstance(homotopy, np.bool_):
            homotopy = bool(homotopy)
        if not (isinstance(homotopy, bool | Homotopy) or is_auto(homotopy)):
            raise ValueError(
                f"homotopy={homotopy!r} must be 'auto', True, False or a Homotopy, from "
                "twofold.ukr."
            )
        pseudo_count = None
        if not is_auto(model.pseudo_count):
            pseudo_count = check_real("pseudo_count", model.pseudo_count, low=0.0, also="'auto'")
        smoothing = check_real("smoothing", model.smoothing, low=1e-100, below=1e100)
        if model.validation_fraction is not None:
            check_real("validation_fraction", model.validation_fraction, below=1.0, also="None")
        threshold, quantile = _check_threshold(model.density_threshold)
        plain = model.objective == "reconstruction"
        if plain and threshold is None:
            raise ValueError(
                "objective='reconstruction' needs a density_threshold that is a number between 0 "
                "and 1: without it the latents drift apart until every point is rebuilt by itself."
            )
        kernel = resolve_kernel(model.kernel)
        asked = homotopy is True or isinstance(homotopy, Homotopy)
        exact = plain or model.leave_out > 1 or pseudo_count == 0.0 or asked
        many = is_many(n_samples, kernel, MOST_EXACT if exact else MANY_ROWS)
        init = model.init
        if is_metric(model.metric, "euclidean"):  # elsewhere "pca" is PCA in feature space
            init = with_pca_by_name(init, model.n_components)
        # By default not of many rows: they would end in fragments, after a long time.
        anneal = asked or plain or (is_auto(homotopy) and is_pca(init) and not many)
        if not isinstance(homotopy, Homotopy):
            homotopy = Homotopy(tol=min(model.tol, Homotopy.tol))
        return cls(
            many=many,
            keep_gram=n_samples <= MOST_EXACT,
            in_subspace=many and is_metric(model.metric, "euclidean"),
            max_iter=MAX_ITER if is_auto(model.max_iter) else int(model.max_iter),
            anneal=anneal,
            homotopy=homotopy,
            minimum_density=threshold if plain else None,
            threshold=threshold,
            quantile=quantile,
            margin=MARGIN if is_auto(model.density_threshold) else 0.0,
            kernel=kernel,
            metric=model.metric,
            metric_params=params,
            init=init,
            optimizer=model.optimizer,
            guidance=model.guidance,
            tol=model.tol,
            leave_out=model.leave_out,
            pseudo_count=pseudo_count,
            smoothing=smoothing,
            validation_fraction=model.validation_fraction,
            n_jobs=model.n_jobs,
        )

    def minimizer(self, max_iter: int, tol: float | None = None) -> Minimizer:
        """Return the optimizer with this number of iterations, and this tolerance if given."""
        tol = self.tol if tol is None else tol
        return resolve_minimizer(self.optimizer, max_iter=max_iter, tol=tol)


def pseudo_count_of_noise(relative_error: float) -> float:
    """Return the pseudo-count for data whose leave-one-out error is this share of their variance.

    A mean of ``m`` noisy observations is best shrunk to a prior mean as if ``s / v`` observations
    lay there, with ``s`` the variance of the noise and ``v`` that of the prior. The prior here is
    the distribution of all data, the noise what neighbors do not predict.
    """
    return min(max(relative_error, LEAST_PSEUDO_COUNT), 1.0)


def is_many(n_samples: int, kernel: RadialKernel, most_exact: int) -> bool:
    """Tell whether sums should run over cells, in single precision."""
    return n_samples > most_exact and kernel_radius(kernel, CELL_TOLERANCE) < FARTHEST_CUT


def is_metric(metric: object, name: str) -> bool:
    """Tell whether a metric, which may be of any type, is the one of this name."""
    return isinstance(metric, str) and metric == name


def groups_of(settings: UKRSettings, n: int, rng: np.random.Generator) -> IntArray | None:
    """Return random groups (n,) of rows that leave each other out; None for groups of one."""
    leave_out = settings.leave_out
    if leave_out == 1:
        return None
    if settings.many:
        raise ValueError(
            f"leave_out={leave_out} is supported for at most {MOST_EXACT} rows, but n_samples={n}. "
            "Use leave_out=1, or fit a sample of the rows."
        )
    if leave_out > n // 2:
        raise ValueError(
            f"leave_out={leave_out} must be at most half of n_samples={n}: the others must "
            "predict the points left out."
        )
    return rng.permutation(n) // leave_out


def check_memory(n_samples: int, row_bytes: float, what: str) -> None:
    """Raise a MemoryError if rows of this size each would not fit into memory."""
    who = f"Kernel regression of n_samples={n_samples}"
    remedy = "Fit a sample of the rows and transform the rest."
    check_memory_for(who, n_samples * row_bytes, what, remedy)


def _check_threshold(threshold: str | float) -> tuple[float | None, float]:
    """Return the density threshold, None for "auto" and quantiles, and the quantile or 0."""
    if not isinstance(threshold, str):
        return check_real("density_threshold", threshold, below=1.0), 0.0
    name, _, share = threshold.partition(":")
    with suppress(ValueError):
        if name == "quantile" and 0.0 <= float(share) < 1.0:
            return None, float(share)
    if threshold != "auto":
        raise ValueError(
            f"density_threshold={threshold!r} must be 'auto', 'quantile:' and a share such as "
            "'quantile:0.01', or a number between 0 and 1."
        )
    return None, 0.0
