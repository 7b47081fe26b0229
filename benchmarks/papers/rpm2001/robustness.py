"""Principal manifolds beyond the paper's pictures: loops, outliers, few nodes, many rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rivals import umap_seconds
from benchmarks.papers.rpm2001.data import (
    NOISE,
    SHAPES,
    both_distances,
    hill,
    noisy_loop,
    sine,
    wave,
)
from benchmarks.papers.rpm2001.oil import oil_data
from benchmarks.papers.statistics import median
from twofold import PrincipalManifold
from twofold.plotting import LatentMapDisplay
from twofold.principal_manifold import CrossValidation
from twofold.protocols import Array

SEEDS = range(10)
PLACES = np.linspace(-1.0, 1.0, 2_000)[:, None]
LOSSES = ("squared", "norm", "huber")
L1_WEIGHTS = (0.001, 0.003, 0.01, 0.02, 0.03)


def _loop_run(task: tuple[str, str, int]) -> tuple[Array, tuple[float, float]]:
    name, rule, seed = task
    X, truth = noisy_loop(name, 500, seed)
    model = PrincipalManifold(
        domain="circle", alpha=CrossValidation(rule=rule), random_state=seed, n_jobs=1
    )
    curve = model.fit(X).inverse_transform(PLACES)
    to, back = both_distances(curve, truth)
    return curve, (to / NOISE, back / NOISE)


def loops(quick: bool, folder: Path) -> Outcome:
    """Fit a noisy circle and a noisy figure-eight, n = 500; distances are in units of the noise."""
    seeds = list(SEEDS)[: 2 if quick else None]
    rules = ("min",) if quick else ("min", "one_se")
    tasks = [(name, rule, seed) for name in SHAPES for rule in rules for seed in seeds]
    found = dict(zip(tasks, in_processes(_loop_run, tasks), strict=True))
    rows, numbers = [], {}
    for name in SHAPES:
        for rule in rules:
            runs = np.array([found[name, rule, seed][1] for seed in seeds])
            numbers[f"{name}, {rule}"] = {
                "worst to the curve, from it": runs.max(axis=0),
                "medians": np.median(runs, axis=0),
            }
            rows.append(
                Row(
                    f"{name}, alpha by “{rule}”: mean distance of the truth, in noise deviations, "
                    "worst sample",
                    None,
                    float(runs[:, 0].max()),
                )
            )

    def paint(figure: Any) -> None:
        for ax, name in zip(figure.subplots(1, 2), SHAPES, strict=True):
            X, truth = noisy_loop(name, 500, 0)
            ax.plot(*X.T, ".", ms=2, color="0.6")
            ax.plot(*truth.T, ":", color="0.2")
            ax.plot(*found[name, rules[-1], 0][0].T, color="C3")
            ax.set(title=name, aspect="equal")

    pictures = draw(folder / "loops.png", "closed curves, one sample", (9, 4.2), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def outliers(quick: bool, folder: Path) -> Outcome:
    """Fit a noisy sine, a tenth of whose rows are moved far away: distances with over without."""
    seeds = list(SEEDS)[: 2 if quick else None]
    growth: dict[str, list[tuple[float, float]]] = {loss: [] for loss in LOSSES}
    drawn = {}
    for seed in seeds:
        X, truth = sine(300, seed)
        spoiled = X.copy()
        spoiled[:30] += 20.0 * np.random.default_rng([5, seed]).standard_normal((30, 2))
        for loss in LOSSES:
            model = PrincipalManifold(loss=loss, alpha=0.02, random_state=seed)
            clean = both_distances(model.fit(X).inverse_transform(PLACES), truth)
            curve = model.fit(spoiled).inverse_transform(PLACES)
            with_outliers = both_distances(curve, truth)
            growth[loss].append((with_outliers[0] / clean[0], with_outliers[1] / clean[1]))
            if seed == 0:
                drawn[loss] = spoiled, curve

    def paint(figure: Any) -> None:
        for ax, (loss, (spoiled, curve)) in zip(figure.subplots(1, 3), drawn.items(), strict=True):
            ax.plot(*spoiled.T, ".", ms=3, color="0.6")
            ax.plot(*curve.T, color="C3")
            ax.set(title=loss, xlim=(-5, 5), ylim=(-4, 4))

    medians = {loss: median(to for to, _ in values) for loss, values in growth.items()}
    rows = [
        Row(
            f"loss “{loss}”: growth of the truth's distance by a tenth of outliers, median",
            None,
            medians[loss],
            beside="" if loss == "squared" else f"squared loss {medians['squared']:.2g}",
        )
        for loss in LOSSES
    ]
    pictures = draw(folder / "outliers.png", "one sample with outliers", (12, 3.6), paint)
    numbers = {loss: {"truth to curve, curve to truth": growth[loss]} for loss in LOSSES}
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def sparse(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Absolute penalty and a refit on the active nodes, beside the full expansion: held-out errors.

    Of the weights that leave at most half of the nodes, the one of the lowest validation error is
    taken.
    """
    found = {}
    for name, (parts, q, n_nodes, width, alpha) in _sparse_cases(quick).items():
        X, X_valid, X_test = parts
        settings: dict[str, Any] = {"n_nodes": n_nodes, "width": width}
        full = PrincipalManifold(q, alpha=alpha, **settings).fit(X)
        tried = [
            PrincipalManifold(q, penalty="l1", alpha=weight, refit_alpha=alpha, **settings).fit(X)
            for weight in (L1_WEIGHTS[1::2] if quick else L1_WEIGHTS)
        ]
        few = max(
            (model for model in tried if len(model.nodes_) <= n_nodes / 2),
            key=lambda model: model.score(X_valid),
        )
        lost, lost_full = 1.0 - few.score(X_test), 1.0 - full.score(X_test)
        found[name] = {
            "full": lost_full,
            "few": lost,
            "ratio": lost / lost_full,
            "active": f"{len(few.nodes_)} of {n_nodes}",
            "weight of the absolute penalty": few.alpha_,
        }
    rows = [
        Row(
            f"{name}: held-out error with few nodes over that with all",
            None,
            one["ratio"],
            note=f"{one['active']} nodes.",
        )
        for name, one in found.items()
    ]
    return Outcome(rows=rows, numbers=found, seeds=[0, 1, 2])


def _sparse_cases(quick: bool) -> dict[str, tuple[list[Array], int, int, float, float]]:
    """Return rows (training, validation, test), dimensions, nodes, width, weight of each case."""
    sizes = ((500, 0), (1_000, 2), (3_000, 1))
    cases: dict[str, tuple[list[Array], int, int, float, float]] = {
        "curve": ([wave(n, seed)[0] for n, seed in sizes], 1, 30, 3.0, 1e-3),
    }
    if not quick:
        sizes = ((1_000, 0), (1_000, 2), (3_000, 1))
        cases["surface"] = [hill(n, seed) for n, seed in sizes], 2, 64, 1.0, 1e-3
        cases["oil flow"] = oil_data()[0], 2, 100, 2.0, 1e-4
    return cases


def growth(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """CPU time at equal iterations, and a fit of many rows beside umap-learn."""
    few, many = (4_000, 12_000) if quick else (10_000, 100_000)

    def cpu(n: int) -> float:
        model = PrincipalManifold(2, n_nodes=100, alpha=1e-3, max_iter=5 if quick else 20, tol=0.0)
        X = hill(n, 5)
        began = time.process_time()
        model.fit(X)
        return time.process_time() - began

    cpu(2_000)
    times = {n: cpu(n) for n in (few, many)}
    X = hill(many, 6)
    began = time.perf_counter()
    model = PrincipalManifold(2, n_nodes=100, alpha=1e-3, max_iter=20 if quick else 200).fit(X)
    seconds = time.perf_counter() - began
    rival = umap_seconds(X, quick=quick)
    rows = [
        Row(
            "CPU time at equal turns: slope in log-log",
            "linear is 1",
            float(np.log(times[many] / times[few]) / np.log(many / few)),
            "lower",
            bound=1.2,
        ),
        Row(f"{many:,} x 3 to a surface of 100 nodes: seconds", None, seconds, beside=rival.said),
        Row("the same: held-out lost share", None, 1.0 - model.score(hill(5_000, 7))),
    ]
    numbers = {"CPU seconds": times, "seconds": seconds, "umap-learn": rival.seconds}
    return Outcome(rows=rows, numbers=numbers, seeds=[5, 6, 7])


def picture(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - it is quick
    """Draw the picture of the user guide."""
    curves = {
        name: PrincipalManifold(domain="circle", random_state=0)
        .fit(noisy_loop(name, 500, 0)[0])
        .inverse_transform(PLACES)
        for name in SHAPES
    }
    (train, *_), (y_train, *_) = oil_data()
    model = PrincipalManifold(2, n_nodes=49, alpha=0.01, init="pca").fit(train)

    def paint(figure: Any) -> None:
        *axes, last = figure.subplots(1, 3)
        for ax, (name, curve) in zip(axes, curves.items(), strict=True):
            ax.plot(*noisy_loop(name, 500, 0)[0].T, ".", ms=3, color="0.6")
            ax.plot(*curve.T, color="C3", lw=2)
            ax.set(title=f"a {name}: data and closed curve", aspect="equal")
        LatentMapDisplay.from_estimator(model, labels=y_train, ax=last)
        last.set_title("oil flow: latents of a surface, three regimes")

    caption = "closed curves, and the oil flow on a surface"
    pictures = draw(folder / "principal-manifolds.png", caption, (15, 4.6), paint)
    return Outcome(rows=[], pictures=pictures, seeds=[0])
