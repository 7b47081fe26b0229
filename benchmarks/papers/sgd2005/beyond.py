"""Guidance beyond the paper: digits from random starts, and many rows (section 7 asks for them)."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.records import Better, Outcome, Row
from benchmarks.papers.statistics import median, quartiles
from twofold import SNE, UKR
from twofold.kernels import Gaussian
from twofold.numerics.neighbors import nearest_neighbors
from twofold.numerics.probabilities import neighbor_matrix
from twofold.numerics.sums.grid import weigh_many
from twofold.numerics.sums.reach import kernel_radius
from twofold.optimize import SpectralGuidance
from twofold.protocols import Array, Objective
from twofold.sne.divergence import SparseNeighborEmbedding
from twofold.ukr.regression import KernelRegression

N_STARTS = 6
FEW_DIGITS = 500
WIDTHS = (20.0, 60.0)
"""Spreads of the latents at which a step is timed: a latent of a fitted map feels few others."""


def _data(n_rows: int | None) -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    return X[:n_rows] / 16.0, y[:n_rows]


def _accuracy(Z: Array, y: Array) -> float:
    return float(cross_val_score(KNeighborsClassifier(1), Z, y, cv=5).mean())


def _digits_run(task: tuple[int, int | None]) -> dict[str, dict[str, float]]:
    start, n_rows = task
    X, y = _data(n_rows)
    found = {}
    for name, guidance in (("plain", None), ("guided", SpectralGuidance())):
        model = UKR(
            init="random",
            guidance=guidance,
            max_iter=150,
            tol=0.0,
            random_state=start,
            n_jobs=1,
        ).fit(X)
        found[name] = {"error": model.cv_error_, "1-NN": _accuracy(model.embedding_, y)}
    return found


def digits(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """UKR of the digits from random starts by L-BFGS, plain and in stages, and a spectral start."""
    n_rows = FEW_DIGITS if quick else None
    seeds = list(range(3 if quick else N_STARTS))
    runs = in_processes(_digits_run, [(seed, n_rows) for seed in seeds])
    X, y = _data(n_rows)
    spectral = UKR(init="laplacian_eigenmaps:15", max_iter=150, tol=0.0, random_state=0).fit(X)
    start = {"error": float(spectral.cv_error_), "1-NN": _accuracy(spectral.embedding_, y)}
    directions: dict[str, Better] = {"error": "lower", "1-NN": "higher"}
    rows = []
    for key, better in directions.items():
        plain, guided = (median(one[name][key] for one in runs) for name in ("plain", "guided"))
        rows += [
            Row(f"{key}, guided, median of random starts", None, None, default=guided),
            Row(
                f"{key}, guided over plain",
                "“Further experimentation is required”",
                None,
                better,
                default=guided / plain,
                bound=1.0,
                beside=f"plain {plain:.3g}; from Laplacian eigenmaps {start[key]:.3g}",
                note='UKR(init="random", max_iter=150, tol=0), by L-BFGS in stages, '
                "guidance=SpectralGuidance().",
            ),
        ]
    lower = sum(one["guided"]["error"] <= 0.9 * one["plain"]["error"] for one in runs)
    said = f"{lower} of {len(runs)}"
    rows.append(Row("starts whose error is lower by a tenth", None, None, default=said))
    numbers: dict[str, Any] = {
        name: {key: quartiles([one[name][key] for one in runs]) for key in ("error", "1-NN")}
        for name in runs[0]
    }
    numbers |= {"rows": len(X), "from Laplacian eigenmaps": start}
    numbers["variance"] = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    return Outcome(rows=rows, numbers=numbers, seeds=seeds)


def _clusters(n: int) -> Array:
    """Return twenty clusters of five dimensions each, in fifty, with noise."""
    rng = np.random.default_rng([5, n])
    shared = np.random.default_rng(5)
    centers, axes = 2.0 * shared.standard_normal((20, 50)), shared.standard_normal((5, 50))
    X = centers[rng.integers(20, size=n)] + rng.standard_normal((n, 5)) @ axes
    return np.asarray(X + 0.3 * rng.standard_normal(X.shape))


def growth(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Time SNE of ever more rows of 50 features with its maps, and what a guided step costs."""
    sizes: tuple[int, ...] = () if quick else (5_000, 50_000)
    most = 5_000 if quick else 50_000
    seconds, fits = {}, {}
    for n in sizes:
        X = _clusters(n)
        began = time.perf_counter()
        model = SNE(random_state=0).fit(X)
        seconds[n] = time.perf_counter() - began
        fits[n] = {
            "iterations": model.n_iter_,
            "divergence": model.kl_divergence_,
            "score": model.score(X[:1_000]),
        }
    ratios = _steps(most)
    rows = [
        Row(
            f"SNE of {n:,} x 50: seconds",
            None,
            None,
            default=seconds[n],
            note="Timed: other runs disturb it.",
        )
        for n in sizes
    ]
    words = f"a guided evaluation over a plain one, {most:,} rows, worst"
    rows.append(Row(words, None, None, default=max(ratios.values())))
    if sizes:
        times = float(seconds[sizes[1]] / seconds[sizes[0]])
        words = f"{sizes[1] // sizes[0]} times the rows: seconds over seconds"
        rows.append(Row(words, None, None, default=times))
    numbers = {"seconds": seconds, "fits": fits, "guided step over plain": ratios}
    return Outcome(rows=rows, numbers=numbers, seeds=[0])


def _steps(n: int) -> dict[str, float]:
    """Time plain and guided evaluations at the highest power, one after the other."""
    X = _clusters(n)
    X -= X.mean(axis=0)
    neighbors = nearest_neighbors(X, 90, np.random.default_rng(0))
    guide = SpectralGuidance().prepare(X, neighbors)
    radius = kernel_radius(Gaussian(), 5e-5)
    objectives: dict[str, Objective] = {
        "SNE": SparseNeighborEmbedding(
            neighbor_matrix(X, neighbors, perplexity=30.0),
            lambda Z: weigh_many(Z, Gaussian(), radius, masses_alone=True),
        ),
        "UKR": KernelRegression.of(X, Gaussian(), many=True).objective(),
    }
    ratios = {}
    for (name, objective), width in product(objectives.items(), WIDTHS):
        Z = width * np.random.default_rng(6).standard_normal((len(X), 2))
        plain, guided = [], []
        for _ in range(4):
            began = time.perf_counter()
            _, gradient = objective.value_and_grad(Z)
            plain.append(time.perf_counter() - began)
            guide.guided(gradient, 0)
            guided.append(time.perf_counter() - began)
        ratios[f"{name}, latents spread over {width:g}"] = median(guided[1:]) / median(plain[1:])
    return ratios
