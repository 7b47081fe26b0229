"""What the paper proposes without an experiment: loops, robust losses, few nodes, planes, costs."""

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
from benchmarks.papers.rpm2001.literal import literal_fit
from benchmarks.papers.rpm2001.oil import oil_data
from benchmarks.papers.statistics import median
from twofold import PrincipalManifold
from twofold.plotting import LatentMapDisplay
from twofold.principal_manifold import CrossValidation, KPlanes
from twofold.protocols import Array

SEEDS = range(4)
PLACES = np.linspace(-1.0, 1.0, 2_000)[:, None]
LOSSES = ("squared", "norm", "huber")
L1_WEIGHTS = (0.001, 0.003, 0.01, 0.03)


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
                    "“allows one to model circular structures”" if rule == "min" else None,
                    None,
                    "lower",
                    bound=1.0,
                    default=float(runs[:, 0].max()),
                    note="PrincipalManifold(domain='circle'"
                    + (")." if rule == "min" else ", alpha=CrossValidation(rule='one_se'))."),
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
            None if loss == "squared" else "“robust against outliers” (Example 3)",
            None,
            None if loss == "squared" else "lower",
            bound=None if loss == "squared" else medians["squared"] / 2.0,
            default=medians[loss],
            beside="" if loss == "squared" else f"squared loss {medians['squared']:.2g}",
            note=f"PrincipalManifold(loss='{loss}', alpha=0.02)."
            + ("" if loss == "squared" else " Read as half of the squared loss's."),
        )
        for loss in LOSSES
    ]
    pictures = draw(folder / "outliers.png", "one sample with outliers", (12, 3.6), paint)
    numbers = {loss: {"truth to curve, curve to truth": growth[loss]} for loss in LOSSES}
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def _sparse_task(task: tuple[str, bool]) -> dict[str, Any]:
    """Return held-out errors of all nodes, of few, and of few after a refit."""
    name, quick = task
    parts, q, n_nodes, width, alpha = _sparse_cases()[name]
    X, X_valid, X_test = parts
    settings: dict[str, Any] = {"n_nodes": n_nodes, "width": width, "n_jobs": 1}
    full = PrincipalManifold(q, alpha=alpha, **settings).fit(X)
    found: dict[str, Any] = {"full": 1.0 - full.score(X_test)}
    for way, more in (("few", {}), ("refitted", {"refit_alpha": alpha})):
        tried = [
            PrincipalManifold(q, penalty="l1", alpha=weight, **more, **settings).fit(X)
            for weight in (L1_WEIGHTS[1:3] if quick else L1_WEIGHTS)
        ]
        few = max(
            (model for model in tried if len(model.nodes_) <= n_nodes / 2),
            key=lambda model: model.score(X_valid),
        )
        found[way] = (1.0 - few.score(X_test)) / found["full"]
        found[f"{way}, nodes"] = f"{len(few.nodes_)} of {n_nodes}"
    return found


def sparse(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Linear penalty, beside the full expansion: held-out errors.

    Of the weights that leave at most half of the nodes, the one of the lowest validation error is
    taken.
    """
    names = ["curve"] if quick else ["curve", "surface", "oil flow"]
    found = dict(
        zip(names, in_processes(_sparse_task, [(name, quick) for name in names]), strict=True)
    )
    rows = [
        Row(
            f"{name}: held-out error with few nodes over that with all",
            "“a (nearly as good) estimate of f with just a few basis functions”",
            one["few"],
            "lower",
            bound=1.1,
            default=one["refitted"],
            note=f"Read as at most a tenth more. Eq. (22) alone, {one['few, nodes']} nodes; "
            f"default: penalty='l1' with refit_alpha, {one['refitted, nodes']}. Weights by "
            "validation.",
        )
        for name, one in found.items()
    ]
    return Outcome(rows=rows, numbers=found, seeds=[0, 1, 2])


def _sparse_cases() -> dict[str, tuple[list[Array], int, int, float, float]]:
    """Return rows (training, validation, test), dimensions, nodes, width, weight of each case."""
    sizes = ((500, 0), (1_000, 2), (3_000, 1))
    more = ((1_000, 0), (1_000, 2), (3_000, 1))
    return {
        "curve": ([wave(n, seed)[0] for n, seed in sizes], 1, 30, 3.0, 1e-3),
        "surface": ([hill(n, seed) for n, seed in more], 2, 64, 1.0, 1e-3),
        "oil flow": (oil_data()[0], 2, 100, 2.0, 1e-4),
    }


def planes(quick: bool, folder: Path) -> Outcome:
    """Section 2: k-planes, on lines that cross and on the oil flow, beside k-means."""
    (train, _, test), _ = oil_data()
    cases = {
        "two crossing lines": (*(_crossing(400, seed) for seed in (0, 1)), 2, 1),
        "oil flow, 6 planes of 2 dimensions": (train, test, 6, 2),
    }
    rows, numbers = [], {}
    for name, (X, X_test, k, q) in cases.items():
        seeds = range(1 if quick else 5)
        lost = {
            dim: median(
                1.0 - KPlanes(k, dim, random_state=seed).fit(X).score(X_test) for seed in seeds
            )
            for dim in (0, q)
        }
        flat = 1.0 - KPlanes(1, q).fit(X).score(X_test)
        numbers[name] = {"k-planes": lost[q], "k-means": lost[0], "principal components": flat}
        rows.append(
            Row(
                f"{name}: lost share of the variance of test rows",
                "k-planes “can improve results on certain datasets”",
                None,
                "lower",
                bound=min(lost[0], flat),
                default=lost[q],
                beside=f"k-means {lost[0]:.3g}, one plane {flat:.3g}",
                note=f"KPlanes({k}, {q}). Read as below k-means and one plane.",
            )
        )

    def paint(figure: Any) -> None:
        X = _crossing(400, 0)
        model = KPlanes(2, 1, random_state=0).fit(X)
        ax = figure.add_subplot()
        ax.scatter(*X.T, c=model.labels_, s=6, cmap="coolwarm")
        ax.set(title="two planes of one dimension", aspect="equal")

    pictures = draw(folder / "planes.png", "k-planes on crossing lines", (4.5, 4), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=[0, 1])


def _crossing(n: int, seed: int) -> Array:
    rng = np.random.default_rng([6, seed])
    t, line = rng.uniform(-1.0, 1.0, n), rng.integers(0, 2, n)
    X = np.column_stack([t, np.where(line, 0.8, -0.8) * t])
    return np.asarray(X + 0.03 * rng.standard_normal(X.shape))


def growth(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """CPU time at equal iterations over rows and over nodes, and a fit of many rows."""
    few, many = (4_000, 12_000) if quick else (10_000, 80_000)
    turns = 3 if quick else 10

    def literal(n: int, side: int = 10) -> float:
        X = hill(n, 5)
        began = time.process_time()
        literal_fit(X, 1e-4, per_dimension=side, n_components=2, n_turns=turns, tol=-1.0)
        return time.process_time() - began

    def default(n: int) -> float:
        model = PrincipalManifold(2, n_nodes=100, alpha=1e-3, max_iter=turns, tol=0.0)
        X = hill(n, 5)
        began = time.process_time()
        model.fit(X)
        return time.process_time() - began

    def slope(times: dict[int, float]) -> float:
        (low, first), (high, last) = times.items()
        return float(np.log(last / first) / np.log(high / low))

    literal(2_000)
    default(2_000)
    over_rows = {n: literal(n) for n in (few, many)}
    over_nodes = {side**2: literal(few // 4, side) for side in ((8, 16) if quick else (10, 30))}
    ours = {n: default(n) for n in (few, many)}
    X = hill(many, 6)
    began = time.perf_counter()
    model = PrincipalManifold(2, n_nodes=100, alpha=1e-3, max_iter=20 if quick else 200).fit(X)
    seconds = time.perf_counter() - began
    rival = umap_seconds(X, quick=quick)
    rows = [
        Row(
            "CPU time at equal turns: slope in the number of rows, log-log",
            "“scales only linearly in the number of samples”",
            slope(over_rows),
            "lower",
            bound=1.2,
            default=slope(ours),
            note="Read as at most 1.2. Default: n_nodes=100, alpha=1e-3; from 3,000 rows on a "
            "sample takes part in the turns.",
        ),
        Row(
            "the same: slope in the number of nodes",
            "“cubic in the number of parameters”",
            slope(over_nodes),
            "lower",
            bound=3.0,
        ),
        Row(
            f"{many:,} x 3 to a surface of 100 nodes: seconds",
            default=seconds,
            beside=rival.said,
        ),
        Row("the same: held-out lost share", default=1.0 - model.score(hill(5_000, 7))),
    ]
    numbers = {
        "CPU seconds over rows": over_rows,
        "over nodes": over_nodes,
        "default": ours,
        "seconds": seconds,
        "umap-learn": rival.seconds,
    }
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
