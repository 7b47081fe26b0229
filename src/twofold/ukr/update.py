"""The update of a fitted kernel regression: from new rows to the attributes of a grown model.

The decoder keeps all rows of the fit, so nothing else is needed: the units of the data, the leading
subspace, both maps and the density are made anew for old and new rows together. Latents do not
depend on the units of the data. The dilation of the map (`twofold.ukr.growth`) goes into the units
of the latents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from twofold.base.growth import Growth
from twofold.base.problem import Problem
from twofold.maps import NadarayaWatson
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.column_factors import factors_of_rows
from twofold.numerics.threads import single_threaded_blas
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array
from twofold.ukr.feature_space import FeatureEncoder
from twofold.ukr.fitting import assembled, scheme_of, space_and_data
from twofold.ukr.growth import grow
from twofold.ukr.settings import UKRSettings, groups_of, is_metric

MOST_OF_SUBSPACE = 5_000
"""Rows that determine the leading subspace."""

MOST_JUDGED = 2_000
"""Rows whose leave-one-out error is measured."""

FAR_IN_UNITS = 1e6
"""Values for which the units of the fit are too small."""

if TYPE_CHECKING:
    from twofold.base.progress import FitProgress
    from twofold.ukr.estimator import UKR


def updated(model: UKR, new: Array, rng: np.random.Generator, progress: FitProgress) -> Growth:
    """Return what a model becomes with new rows (m, D), which have no gaps."""
    if is_metric(model.metric, "precomputed"):
        raise ValueError(
            "metric='precomputed': an update needs the kernel values of all pairs of rows, old and "
            "new. Fit again to the larger matrix, with init=model.embedding_ for the old rows."
        )
    regression = model._regression()
    inside = regression.inputs_ * regression.bandwidth_  # the bandwidth is 1
    kept = _kept_rows(model)
    n, n_all = len(kept), len(kept) + len(new)
    with progress.phase("units"):
        units, centered = _in_units_of_all(model, kept, new)
        problem = Problem(centered, units, centered, None, inside.shape[1], rng, progress)
    settings = replace(UKRSettings.of(model, n_all), spans_rows=True)
    pseudo_count = getattr(model, "pseudo_count_", settings.pseudo_count)
    settings = replace(settings, pseudo_count=pseudo_count)
    with progress.phase("leading subspace"):
        space, data = space_and_data(settings, problem, most_rows=MOST_OF_SUBSPACE)
    with single_threaded_blas():
        scheme = scheme_of(settings, data, groups_of(settings, len(data), rng))
        with progress.phase("new latents"):
            Z = inside * settings.smoothing
            grown = grow(settings, scheme, Z, model.init_, rng)
        with progress.phase("maps"):
            latents = grown.latents / settings.smoothing
            learned = assembled(settings, problem, scheme, space, latents, most_judged=MOST_JUDGED)
    q = inside.shape[1]
    factors = np.full(q, 1.0 / grown.dilation) * model._latent_units.column_factors()
    latent_units = replace(CenteredUnits.identity(q), factors=factors)
    if isinstance(model._latent_units, AffineUnits):  # moved into another frame, and stays there
        factors = np.full(q, 1.0 / grown.dilation)
        if model._latent_units.factors is not None:
            factors = factors * model._latent_units.factors
        latent_units = replace(model._latent_units, factors=factors)
    # The threshold is a value of `log_density`, in the caller's units.
    log_volume = latent_units.log_volume
    attributes = learned.attributes
    attributes["log_density_threshold_"] -= log_volume
    mine = latent_units.back(latents)
    embedding = _moved(model.embedding_, model._latent_units.back(inside), mine[:n])
    return Growth(
        state={
            "encoder_": learned.encoder,
            "decoder_": learned.decoder,
            "density_": learned.density,
            "embedding_": np.concatenate([embedding, mine[n:]]),
            **attributes,
            "_data_units": units,
            "_latent_units": latent_units,
            "_variance": learned.variance,
        },
        share_off=grown.share_off,
        density_change=grown.density_change,
        regions=grown.regions,
    )


def _kept_rows(model: UKR) -> Array:
    """Return the old rows (n, D') in the units of the model."""
    if isinstance(model.encoder_, FeatureEncoder):
        return model.encoder_.space.data
    assert isinstance(model.decoder_, NadarayaWatson)
    return model.decoder_.targets_


def _in_units_of_all(model: UKR, kept: Array, new: Array) -> tuple[CenteredUnits, Array]:
    """Return units of old and new rows, and all rows in them (n, D').

    ``kept`` holds the old rows in the units of the model. Columns that vary for the first time come
    in, and the center moves; other columns keep their factors, and data their unit, unless the new
    rows are far too large for it.
    """
    before = model._data_units
    is_plain = is_metric(model.metric, "euclidean")
    inside = before.into(new)
    if is_plain and float(np.abs(inside).max(initial=0.0)) < FAR_IN_UNITS:
        units = _with_columns(model, before, new, len(kept))
        rows = np.zeros((len(kept) + len(new), int(units.varying.sum())))
        rows[: len(kept), before.varying[units.varying]] = kept
        rows[len(kept) :] = units.into(new)
        shift = rows.mean(axis=0)
        rows -= shift
        center = units.center.copy()
        center[units.varying] += shift
        return replace(units, center=center), rows
    old = before.back(kept)
    everyone = np.concatenate([old, new])
    if is_plain or is_metric(model.metric, "l1"):
        units = CenteredUnits.of(everyone, factors=before.factors)
    elif isinstance(model.scale, str):  # the origin of such kernels stays, too
        units = before.with_range(everyone)
    else:
        units = model._measure_units(everyone)
    return units, units.into(everyone)


def _with_columns(model: UKR, before: CenteredUnits, new: Array, n_old: int) -> CenteredUnits:
    """Return units with the columns that are constant before and vary with the new rows."""
    units = _with_range(before, before, new)
    appears = ~before.varying & (new != before.constants).any(axis=0)
    if not appears.any():
        return units
    factors, constants = before.factors, before.constants
    if factors is not None and isinstance(model.scale, str):
        constant = np.broadcast_to(constants[appears], (n_old, int(appears.sum())))
        measured = factors_of_rows(model.scale, np.concatenate([constant, new[:, appears]]))
        assert measured is not None
        factors = factors.copy()
        factors[appears] = measured
    center = before.center.copy()
    center[appears] = np.ldexp(constants[appears], -before.exponent)
    if factors is not None:
        center[appears] /= factors[appears]
    varying = before.varying | appears
    return replace(
        units,
        center=center,
        varying=varying,
        constants=np.where(varying, 0.0, constants),
        factors=factors,
    )


def _with_range(units: CenteredUnits, before: CenteredUnits, new: Array) -> CenteredUnits:
    """Return units with the range of old and new rows, if that of the old ones is known."""
    if before.lowest is None or before.highest is None:
        return units
    lowest = np.minimum(before.lowest, new.min(axis=0))
    return replace(units, lowest=lowest, highest=np.maximum(before.highest, new.max(axis=0)))


def _moved(embedding: Array, before: Array, after: Array) -> Array:
    """Return where latents (n, q) of rows move if those of the regression (m, q) have moved.

    The two differ after a fit with weights, where rows are repeated or left out.
    """
    if np.array_equal(embedding, before):
        return after
    _, which = cKDTree(before).query(embedding)
    moved: Array = embedding + (after - before)[which]
    return moved
