"""The learning scheme of Meinicke et al. (2005), section 2.3, from settings to both maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from twofold.base.convergence import warn_if_cut_short
from twofold.base.dimensions import warn_of_rank
from twofold.base.guidance import prepare_guide
from twofold.base.problem import Learned, Problem
from twofold.kernels import DensityKernel, Gaussian
from twofold.maps.affine import Affine, Chain, Predictor, are_wide
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import rank_up_to, row_norms_sq
from twofold.numerics.threads import single_threaded_blas, some_rows
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array, IntArray
from twofold.ukr.aligned import aligned_candidates, aligned_settings, narrower
from twofold.ukr.descent import compared, minimize, rescue, validated_iterations
from twofold.ukr.feature_space import FeatureEncoder, FeatureSpace, PreimageDecoder
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import (
    FIRST_PSEUDO_COUNT,
    N_STARTS,
    UKRSettings,
    check_memory,
    groups_of,
    is_metric,
    pseudo_count_of_noise,
)
from twofold.ukr.starts import candidates_of

Space = FeatureSpace | Affine


def fit_rows(settings: UKRSettings, problem: Problem) -> Learned:
    """Find latents of all rows, and both maps."""
    if problem.anchors is not None:
        settings = aligned_settings(settings)
    with problem.progress.phase("leading subspace"):
        space, data = space_and_data(settings, problem)
    with single_threaded_blas():  # products are small from here on, or in blocks of rows
        return _fit_inside(settings, problem, space, data)


def _fit_inside(
    settings: UKRSettings, problem: Problem, space: Space | None, data: Array
) -> Learned:
    """Find latents of the data (n, r) in their space, and both maps."""
    groups = groups_of(settings, len(data), problem.rng)
    scheme = scheme_of(settings, data, groups)
    # Steps 1 to 3: candidates, each at its best scale.
    pull = None
    if problem.anchors is None:
        candidates = candidates_of(settings.init, scheme, data, problem)
        with problem.progress.phase("comparison"):
            candidates = compared(settings, scheme, candidates)
    else:
        with problem.progress.phase("aligned starts"):
            candidates, pull = aligned_candidates(settings, scheme, data, problem)
    if settings.pseudo_count is None:
        noise = candidates[0].error / (float(row_norms_sq(data).mean()) or 1.0)
        scheme = replace(scheme, pseudo_count=pseudo_count_of_noise(noise))
    # Steps 4 and 5: homotopy and descent from the best.
    start, unit = candidates[0], _squared_unit(settings, problem)
    guide = prepare_guide(settings.guidance, data, unit)
    n_iter, validation = settings.max_iter, list[float]()
    if settings.validation_fraction is not None:
        n_iter, validation = validated_iterations(settings, scheme, start, problem, guide)
    result = minimize(settings, scheme, start, problem, n_iter, guide, pull)
    if pull is not None:
        again = narrower(scheme, result.Z)
        if again is not None:
            pull = pull.scaled(result.Z, again.latents)
            result = minimize(settings, scheme, again, problem, n_iter, guide, pull)
    warn_if_cut_short(result, settings.max_iter, "error")
    with problem.progress.phase("maps"):
        Z, _ = rescue(scheme, result.Z)
        # A wider kernel on latents is one of unit width on smaller latents.
        Z = (Z - Z.mean(axis=0)) / settings.smoothing
        learned = assembled(settings, problem, scheme, space, Z)
    attributes = {
        "candidates_": [
            {
                "name": c.name,
                "scales": c.scales,
                "cv_error": float(_times(c.error, unit)),
                "map_score": c.score,
            }
            for c in candidates
        ],
        "init_": start.name,
        "pseudo_count_": scheme.pseudo_count,
        "history_": _times(result.history, unit),
        "validation_history_": np.array(validation),
        "n_iter_": max(1, result.n_iter),
    }
    return replace(learned, attributes=learned.attributes | attributes)


def scheme_of(
    settings: UKRSettings, data: Array, groups: IntArray | None = None
) -> KernelRegression:
    """Return the kernel regression of data (n, D) with these settings."""
    return KernelRegression.of(
        data,
        settings.kernel,
        many=settings.many,
        keep_gram=settings.keep_gram,
        pseudo_count=FIRST_PSEUDO_COUNT if settings.pseudo_count is None else settings.pseudo_count,
        groups=groups,
        n_jobs=settings.n_jobs,
    )


def assembled(
    settings: UKRSettings,
    problem: Problem,
    scheme: KernelRegression,
    space: Space | None,
    Z: Array,
    *,
    most_judged: int | None = None,
) -> Learned:
    """Return the maps, the density and the attributes that follow from latents (n, q), step 6.

    The leave-one-out error is that of all rows, or of some of them.
    """
    kernel = scheme.kernel
    regression = scheme.decoder(Z, scheme.data.astype(np.float64, copy=False))
    density_kernel = kernel if isinstance(kernel, DensityKernel) else Gaussian()
    density = LatentDensity(kernel=density_kernel, bandwidth=1.0, n_jobs=settings.n_jobs).fit(Z)
    log_maximum = -density_kernel.log_integral(Z.shape[1])
    if settings.threshold is None:
        log_bound = density.log_threshold(settings.quantile)
    else:
        log_bound = float(np.log(settings.threshold)) + log_maximum
    projection = Projection(
        regression,
        n_starts=N_STARTS,
        density=density,
        log_threshold=log_bound - settings.margin,
    )
    images = scheme.images(Z) if settings.many else None
    projection.fit(regression.targets_, Z, images=images)
    encoder: Predictor = projection
    decoder: Predictor = regression
    if isinstance(space, Affine):
        encoder = Chain((space, projection))
        if not space.is_identity:
            decoder = scheme.decoder(Z, problem.data)
            scheme = replace(scheme, data=problem.data.astype(scheme.data.dtype))
    elif space is not None:
        encoder = FeatureEncoder(space, regression, projection)
        decoder = PreimageDecoder(space, regression)
    if most_judged is None:
        error = scheme.cv_error(Z)
    else:
        error = scheme.cv_error_of_some(Z, most_judged, regression._columns)
    attributes = {
        "cv_error_": float(_times(error, _squared_unit(settings, problem))),
        "density_threshold_": float(np.exp(log_bound - log_maximum)),
        "log_density_threshold_": log_bound,
    }
    variance = float(row_norms_sq(scheme.data).mean(dtype=np.float64))
    units = CenteredUnits.identity(Z.shape[1])
    return Learned(Z, units, encoder, decoder, density, variance, attributes)


def space_and_data(
    settings: UKRSettings, problem: Problem, *, most_rows: int | None = None
) -> tuple[Space | None, Array]:
    """Return the space of the manifold, None for the data space, and the data (n, r) in it.

    All rows determine the leading subspace, or some of them.
    """
    data, q, metric = problem.data, problem.n_components, settings.metric
    if settings.in_subspace:
        # The decoder's copy of the data; in single precision the data, sums, residuals and their
        # sorted copies; latents, their L-BFGS history, neighbors and cells.
        row_bytes = 36.0 * data.shape[1] + 250.0 * q + 800.0
        check_memory(len(data), row_bytes, "arrays of all rows")
        seen = data if most_rows is None else data[some_rows(len(data), most_rows)]
        subspace = Affine.leading_subspace(seen, q)
        return subspace, subspace.into(data)
    if is_metric(metric, "euclidean"):
        if not (settings.spans_rows and are_wide(data)):
            return None, data
        span = Affine.span_of_rows(data)
        return span, span.into(data)
    check_memory(len(data), 4 * 8.0 * len(data), "matrices of all pairs")
    space = FeatureSpace.of(data, metric, settings.metric_params)
    n_directions = space.coordinates.shape[1]
    if not n_directions:
        raise ValueError(
            f"metric={metric!r}: the data vary in no directions of feature space. Check for equal "
            "rows, and for a kernel whose scale is far from that of the data."
        )
    if rank_up_to(data, q) == q:  # otherwise a warning has been given
        warn_of_rank(n_directions, q, where=f" of the feature space of metric={metric!r}")
    return space, space.coordinates


def _squared_unit(settings: UKRSettings, problem: Problem) -> float:
    """Return one squared unit of the scheme's data in the units of X."""
    return problem.units.unit(1 if is_metric(settings.metric, "l1") else 2)


def _times(errors: Array | float, unit: float) -> Array:
    """Return errors in a unit, at most the largest float: squares of data near 1e300 overflow."""
    with np.errstate(over="ignore"):
        return np.minimum(np.multiply(errors, unit), np.finfo(np.float64).max)
