"""The steps of a principal manifold, for rows in memory or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.base.convergence import MANIFOLD_TOLS, warn_if_still_falling
from twofold.base.dimensions import warn_of_rank
from twofold.base.journal import Journal
from twofold.base.problem import Problem
from twofold.losses import Norm
from twofold.maps.affine import Affine
from twofold.numerics.linalg import axes_of_products, principal_axes, rank_up_to
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import RowSource, squares_and_products, squares_of_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import is_auto, warn_user
from twofold.principal_manifold.alpha_path import MIDDLE_ALPHA, AlphaChoice, choose_alpha
from twofold.principal_manifold.descent import (
    DescentSettings,
    Fitted,
    at_constant_speed,
    without_idle_nodes,
)
from twofold.principal_manifold.functional import penalized
from twofold.principal_manifold.limit import PenaltyLimit, limit_in_units
from twofold.principal_manifold.maps import robust_frame
from twofold.principal_manifold.metric import Mahalanobis, frame_of_metric
from twofold.principal_manifold.node_layout import MOST_ON_A_GRID, layout_of
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.settings import (
    MOST_MEASURED,
    OF_LENGTH,
    CrossValidation,
    ManifoldSettings,
    rows_of_turns,
)
from twofold.principal_manifold.starts import best_start, starts_of
from twofold.principal_manifold.sweep import adapted_to_all
from twofold.protocols import Array


@dataclass(frozen=True)
class ManifoldFit:
    """The result of a fit: settings, map, coordinates, weight of the penalty, starts compared.

    ``unit`` is that of the coordinates, in units of the data.
    """

    descent: DescentSettings
    fitted: Fitted
    frame: Affine
    choice: AlphaChoice
    candidates: list[dict[str, Any]]
    unit: float


def fit_rows(
    settings: ManifoldSettings, source: RowSource, problem: Problem, journal: Journal
) -> ManifoldFit:
    """Find a map by turns on some rows, and adapt it to all.

    ``problem`` has the same rows as ``source`` if they are in memory; otherwise it has none, and
    the fit puts those of the turns in their place. ``journal`` holds the steps that were completed
    before an interruption.
    """
    in_memory = len(problem.data) == source.n_rows
    frame = journal.step("frame", lambda: _frame(settings, source, problem.units))
    descent = journal.step("layout", lambda: _descent_settings(settings, source, frame, problem))
    rows = rows_of_turns(source.n_rows, len(descent.layout.nodes))
    everyone = len(rows) == source.n_rows
    centered = journal.step("sample", lambda: source.rows(rows, "sample"))
    if not in_memory:
        problem = replace(problem, data=centered, original=problem.units.back(centered))
        rows = np.arange(len(centered))
        warn_of_rank(rank_up_to(centered, problem.n_components), problem.n_components)
    some = frame.into(centered)
    validation = settings.alpha if isinstance(settings.alpha, CrossValidation) else None
    alpha = settings.alpha if isinstance(settings.alpha, float) else MIDDLE_ALPHA

    def start() -> tuple[DescentSettings, Fitted, list[dict[str, Any]]]:
        starts = starts_of(settings, descent, frame, some, alpha, problem, rows)
        # Another functional follows if its weight or scale is still to be found.
        final = validation is None and settings.loss != "huber"
        auto = is_auto(settings.init)
        chosen, first, candidates = best_start(
            starts, some, alpha, problem.rng, auto=auto, final=final
        )
        scaled = chosen.with_scale(first, some) if settings.loss == "huber" else chosen
        return scaled, first, candidates

    with problem.progress.phase("starts"):
        descent, first, candidates = journal.step("starts", start)
    choice = AlphaChoice(alpha, np.empty(0), np.empty((0, 0)))
    if validation is not None:
        with problem.progress.phase("cross-validation"):
            choice = journal.step(
                "cross-validation",
                lambda: choose_alpha(descent, validation, some, first.latents, problem.rng),
            )

    def take_turns() -> Fitted:
        most = settings.max_iter
        with problem.progress.phase("alternation", max_iter=None, at_most=most) as callback:
            return descent.run(
                some,
                choice.alpha,
                first.up,
                first.latents,
                callback,
                state=journal.state("turns"),
                note=lambda state: journal.note("turns", state),
            )

    ended = journal.step("turns", take_turns)
    if isinstance(settings.alpha, PenaltyLimit) and settings.alpha.length is not None:
        turned = ended
        ended = journal.step("speed", lambda: at_constant_speed(descent, turned, some))
    if descent.limit is not None:
        functional = descent.functional(some, 0.0)
        choice = replace(choice, alpha=functional.multiplier(ended.up, ended.latents))
    descent, fitted, alpha = journal.step(
        "nodes",
        lambda: without_idle_nodes(descent, ended, some, choice.alpha, settings.refit_alpha),
    )
    _warn(settings, ended, choice.alpha, len(descent.layout.nodes))
    if not everyone and settings.assignment == "hard":
        with problem.progress.phase("all rows"):
            up = journal.step(
                "all rows",
                lambda: adapted_to_all(
                    source, descent, fitted.up, alpha, frame, some, keep=in_memory
                ),
            )
            fitted = replace(fitted, up=up)
    unit = unit_of(settings.loss, frame, problem.units)
    return ManifoldFit(descent, fitted, frame, choice, candidates, unit)


def _warn(settings: ManifoldSettings, ended: Fitted, alpha: float, n_nodes: int) -> None:
    """Warn if the last turn still lowered the functional, or if no node is left."""
    history = ended.history
    warn_if_still_falling(
        history[[max(-3, -len(history)), -1]],  # a turn has up to two values
        "functional",
        n_iter=ended.n_iter,
        max_iter=settings.max_iter,
        threshold=MANIFOLD_TOLS * settings.tol,
    )
    if not n_nodes:
        warn_user(
            f"penalty='l1' with alpha={alpha:g} leaves no node: the map is constant. Lower alpha.",
            UserWarning,
        )


def _frame(settings: ManifoldSettings, source: RowSource, units: CenteredUnits) -> Affine:
    n_rows, n_columns = source.n_rows, source.n_columns
    of_columns = settings.loss not in OF_LENGTH
    if settings.loss == "mahalanobis":
        if n_columns > n_rows:
            data = source.rows(np.arange(n_rows), "sample")
            return Affine.whitened(*principal_axes(data, min(data.shape)))
        products = source.total(squares_and_products, "moments").products
        return Affine.whitened(*axes_of_products(products, n_rows, n_columns))
    if isinstance(settings.loss, Mahalanobis):
        products = source.total(squares_and_products, "moments").products
        return frame_of_metric(settings.loss.D, products, n_rows, units.varying)
    if settings.is_robust:
        some = source.rows(some_rows(n_rows, MOST_MEASURED), "sample")
        return robust_frame(some, of_columns=of_columns)
    total = source.total(squares_of_rows, "moments")
    return Affine.one_unit(total / n_rows, n_columns if of_columns else 1)


def _descent_settings(
    settings: ManifoldSettings, source: RowSource, frame: Affine, problem: Problem
) -> DescentSettings:
    inside: Array = frame.into(np.empty((0, source.n_columns)))
    if settings.domain.n_components > MOST_ON_A_GRID:
        inside = frame.into(source.rows(some_rows(source.n_rows, MOST_MEASURED), "sample"))
    return DescentSettings(
        layout_of(settings, inside, problem.rng),
        Norm() if settings.loss == "huber" else settings.resolved_loss(),
        settings.penalty,
        settings.assignment,
        settings.latent_noise,
        settings.max_iter,
        settings.tol,
        _limit(settings, frame, problem.units),
    )


def _limit(settings: ManifoldSettings, frame: Affine, units: CenteredUnits) -> float | None:
    """Return the largest penalty in the coordinates of the frame, if there is one."""
    if not isinstance(settings.alpha, PenaltyLimit):
        return None
    unit = unit_of(settings.loss, frame, units)
    return limit_in_units(settings.alpha, unit, settings.penalty)


def unit_of(loss: object, frame: Affine, units: CenteredUnits) -> float:
    """Return the unit of the coordinates, in units of the data or of a metric."""
    if loss == "mahalanobis":
        return 1.0  # deviations
    size = frame.backward if isinstance(frame.backward, float) else frame.unit
    return size * units.unit()


def roughness(up: NodeExpansion, penalty: str, unit: float) -> float:
    """Return ``Q`` of a map in the units of `PenaltyLimit`, at most the largest float."""
    in_units = penalized(up, penalty) * unit
    with np.errstate(over="ignore", under="ignore"):
        Q = np.float64(in_units if penalty == "l1" else in_units * unit)
    return float(min(Q, np.finfo(np.float64).max))
