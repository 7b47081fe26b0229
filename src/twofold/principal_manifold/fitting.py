"""The steps of a principal manifold, for rows in memory or on a cluster alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.base.estimator import Problem, warn_of_rank
from twofold.base.journal import Journal
from twofold.losses import Loss, Norm, Squared, resolve_loss
from twofold.maps.affine import Affine
from twofold.numerics.linalg import axes_of_products, principal_axes, rank_up_to
from twofold.numerics.squares import Squares
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import RowSource
from twofold.principal_manifold.all_rows import adapted_to_all
from twofold.principal_manifold.alpha_path import (
    MIDDLE_ALPHA,
    AlphaChoice,
    Fitted,
    Fitting,
    choose_alpha,
    without_idle_nodes,
)
from twofold.principal_manifold.domains import resolve_domain
from twofold.principal_manifold.maps import robust_frame
from twofold.principal_manifold.node_layout import MOST_ON_A_GRID, layout_of
from twofold.principal_manifold.starts import starts_of
from twofold.protocols import Array

__all__ = ["ManifoldFit", "fit_rows", "loss_of"]

MOST_ROWS, ROWS_OF_A_NODE = 3_000, 20
"""Of more rows so many (or so many for each node) take part in the turns; all of them in the last ones."""

MOST_MEASURED = 20_000
"""Rows by which medians are taken, and scattered nodes are placed."""

ROBUST = ("l1", "norm", "huber")
OF_LENGTH = ("norm", "huber")


@dataclass(frozen=True)
class ManifoldFit:
    """What the steps found: settings, the map, coordinates, the penalty's weight, starts compared, total variance."""

    fitting: Fitting
    fitted: Fitted
    frame: Affine
    choice: AlphaChoice
    candidates: list[dict[str, Any]]


def fit_rows(model: Any, source: RowSource, problem: Problem, journal: Journal) -> ManifoldFit:
    """Find a map by turns of some rows, and adapt it to all.

    Parameters
    ----------
    model : PrincipalManifold
        The settings.
    source : RowSource
        All rows, centred.
    problem : Problem
        The same rows where they are in memory; otherwise it has no rows, and those of the turns take their place.
    journal : Journal
        Knows the steps that were made before an interruption.
    """
    here = len(problem.data) == source.n_rows
    frame = journal.step("frame", lambda: _frame(model, source))
    fitting = journal.step("layout", lambda: _fitting(model, source, frame, problem))
    most = max(MOST_ROWS, ROWS_OF_A_NODE * len(fitting.layout.nodes))
    rows = some_rows(source.n_rows, most)
    everyone = len(rows) == source.n_rows
    centred = journal.step("sample", lambda: source.rows(rows, "sample"))
    if not here:
        problem = replace(problem, data=centred, original=problem.units.back(centred))
        rows = np.arange(len(centred))
        warn_of_rank(rank_up_to(centred, problem.n_components), problem.n_components)
    some = frame.into(centred)
    alpha = MIDDLE_ALPHA if model.alpha == "cv" else float(model.alpha)

    def start() -> tuple[Fitting, Fitted, list[dict[str, Any]]]:
        starts = starts_of(
            model.init,
            model.n_init,
            fitting,
            frame,
            some,
            alpha,
            problem,
            rows,
            robust=is_robust(model),
        )
        first, candidates = model._best(starts, fitting, some, alpha)
        scaled = fitting.with_scale(first, some) if model.loss == "huber" else fitting
        return scaled, first, candidates

    with problem.progress.phase("starts"):
        fitting, first, candidates = journal.step("starts", start)
    choice = AlphaChoice(alpha, np.empty(0), np.empty((0, 0)))
    if model.alpha == "cv":
        with problem.progress.phase("cross-validation"):
            choice = journal.step(
                "cross-validation",
                lambda: choose_alpha(
                    fitting,
                    some,
                    first.latents,
                    n_folds=model.cv,
                    rule=model.alpha_rule,
                    rng=problem.rng,
                ),
            )

    def turns() -> tuple[Fitting, Fitted, float]:
        with problem.progress.phase("turns", max_iter=None, at_most=model.max_iter) as callback:
            ended = fitting.run(
                some,
                choice.alpha,
                first.up,
                first.latents,
                callback,
                state=journal.state("turns"),
                note=lambda state: journal.note("turns", state),
            )
        if ended.n_iter >= model.max_iter:
            model._warn_if_cut_short(ended)
        return without_idle_nodes(fitting, ended, some, choice.alpha, model.refit_alpha)

    fitting, fitted, alpha = journal.step("turns", turns)
    if not everyone and model.assignment == "hard":
        with problem.progress.phase("all rows"):
            up = journal.step(
                "all rows",
                lambda: adapted_to_all(source, fitting, fitted.up, alpha, frame, some, keep=here),
            )
            fitted = replace(fitted, up=up)
    return ManifoldFit(fitting, fitted, frame, choice, candidates)


def is_robust(model: Any) -> bool:
    """Tell whether outliers should not count."""
    if isinstance(model.loss, str):
        return model.loss in ROBUST
    return not isinstance(model.loss, Squared)


def loss_of(loss: Any) -> Loss:
    """Return the loss of a parameter; Mahalanobis's is the squared one in whitened coordinates."""
    return Squared() if isinstance(loss, str) and loss == "mahalanobis" else resolve_loss(loss)


def _frame(model: Any, source: RowSource) -> Affine:
    of_columns = model.loss not in OF_LENGTH
    if isinstance(model.loss, str) and model.loss == "mahalanobis":
        if source.n_columns > source.n_rows:
            data = source.rows(np.arange(source.n_rows), "sample")
            return Affine.whitened(*principal_axes(data, min(data.shape)))
        squares: Squares = source.total(Squares.with_products, "moments")
        assert squares.products is not None
        return Affine.whitened(*axes_of_products(squares.products, source.n_rows, source.n_columns))
    if is_robust(model):
        some = source.rows(some_rows(source.n_rows, MOST_MEASURED), "sample")
        return robust_frame(some, of_columns=of_columns)
    total = source.total(Squares.of_rows, "moments").total
    return Affine.one_unit(total / source.n_rows, source.n_columns if of_columns else 1)


def _fitting(model: Any, source: RowSource, frame: Affine, problem: Problem) -> Fitting:
    domain = resolve_domain(model.domain, problem.n_components)
    inside: Array = frame.into(np.empty((0, source.n_columns)))
    if domain.n_components > MOST_ON_A_GRID:
        inside = frame.into(source.rows(some_rows(source.n_rows, MOST_MEASURED), "sample"))
    return Fitting(
        layout_of(domain, model.kernel, model.n_nodes, float(model.width), inside, problem.rng),
        Norm() if model.loss == "huber" else loss_of(model.loss),
        model.penalty,
        model.assignment,
        float(model.latent_noise),
        model.max_iter,
        float(model.tol),
    )
