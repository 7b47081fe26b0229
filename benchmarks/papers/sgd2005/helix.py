"""The noisy helix: UKR by plain and guided gradient descent (section 6.1), and by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.sgd2005.learning_curves import curve, descend, paint_curves
from benchmarks.papers.statistics import median, quartiles
from twofold.datasets import make_noisy_helix
from twofold.kernels import Gaussian
from twofold.numerics.sums.dense import DenseWeights
from twofold.optimize import LBFGS, GradientDescent, SpectralGuidance, guided_minimizer
from twofold.protocols import Array, Minimizer, Objective
from twofold.ukr.objective import Reconstruction

NOISE = 0.07
N_POINTS = 300
N_ITER = 200
N_STARTS = 20
DATA = (0, 1, 2)
LATE = 100
"""Iteration at which "then plain" goes over to the plain gradient."""

Schedule = tuple[int, int] | Callable[[int], int]


def _late_plain(n_iter: int) -> int:
    return max(1, 10 - n_iter) if n_iter < LATE else 0


SCHEDULES: dict[str, Schedule | None] = {
    "plain": None,
    "nu 10 to 1": (10, 1),
    "nu 10 to 0": (10, 0),
    "nu 10 to 1, then plain": _late_plain,
}
PAPERS = "nu 10 to 1"


def _problem(data_seed: int) -> tuple[Array, Array, Reconstruction]:
    X, arc = make_noisy_helix(N_POINTS, noise=NOISE, random_state=data_seed)
    X = X - X.mean(axis=0)
    return X, arc[:, 0], Reconstruction(X, lambda Z: DenseWeights.of(Z, Gaussian(), n_jobs=1))


def _images(Z: Array, data_seed: int) -> Array:
    """Return the manifold at the training latents, as the paper draws it."""
    noisy, _ = make_noisy_helix(N_POINTS, noise=NOISE, random_state=data_seed)
    kernel = np.exp(-0.5 * np.square(Z - Z.T))
    images: Array = kernel @ noisy / kernel.sum(axis=1, keepdims=True)
    return images


def _distance(images: Array) -> float:
    """Return the mean distance of the fitted curve to the true helix."""
    angle = np.linspace(0.0, 6.0 * np.pi, 5_000)
    truth = np.column_stack([np.cos(angle), np.sin(angle), 1.5 / (2.0 * np.pi) * angle])
    return float(cdist(images, truth).min(axis=1).mean())


def _run(task: tuple[int, int]) -> dict[str, Any]:
    data_seed, start = task
    X, arc, objective = _problem(data_seed)
    Z0 = np.random.default_rng([2, data_seed, start]).standard_normal((len(X), 1))
    found = {}
    for name, schedule in SCHEDULES.items():
        guide = None
        if schedule is not None:
            guide = SpectralGuidance(bandwidth=1.0, schedule=schedule).prepare(X)
        result = descend(objective, Z0, guide)
        images = _images(result.Z, data_seed)
        order = abs(float(spearmanr(result.Z[:, 0], arc)[0]))
        distance = _distance(images)
        found[name] = {
            "error": result.value,
            "order": order,
            "distance": distance,
            "recovered": order > 0.95 and distance < 1.5 * NOISE,
            "curve": curve(result, N_ITER),
            "images": images[np.argsort(result.Z[:, 0])].tolist(),
        }
    return found


def helix(quick: bool, folder: Path) -> Outcome:
    """Fig. 3: three data sets, twenty starts each."""
    n_starts = 2 if quick else N_STARTS
    tasks = [(data, start) for data in DATA for start in range(n_starts)]
    runs = in_processes(_run, tasks)

    def of(name: str, key: str) -> list[Any]:
        return [run[name][key] for run in runs]

    plain = median(of("plain", "error"))
    recovered = {name: int(np.sum(of(name, "recovered"))) for name in SCHEDULES}
    paper = f"“close to zero and [...] significantly smaller” than {plain:.3g}"
    rows = [
        Row(
            f"error after {N_ITER} iterations, nu from 10 to 1, over the plain one's",
            "“significantly smaller”",
            median(of(PAPERS, "error")) / plain,
            "lower",
            bound=0.5,
            beside=f"plain {plain:.3g}",
        ),
        Row(
            "manifold in order and within the noise, runs guided as in the paper",
            "“smoothly approximates the data”",
            recovered[PAPERS] / len(runs),
            "higher",
            bound=0.9,
            beside=f"plain {recovered['plain']} of {len(runs)}",
        ),
        Row(
            "the same, plain runs",
            "“partly disrupted and does not lie within the noise-range”",
            recovered["plain"] / len(runs),
            "lower",
            bound=0.5,
        ),
    ]
    for name in list(SCHEDULES)[1:]:
        rows.append(Row(f"error, {name}, median", None, median(of(name, "error"))))
    report: dict[str, Any] = {"paper": paper, "recovered": recovered}
    for data in DATA:
        here = [run for run, task in zip(runs, tasks, strict=True) if task[0] == data]
        report[f"data {data}"] = {
            name: {
                key: quartiles([run[name][key] for run in here]) for key in ("error", "distance")
            }
            for name in SCHEDULES
        }
    curves = {name: np.array(of(name, "curve")) for name in SCHEDULES}
    pictures = draw(
        folder / "helix.png",
        "learning curves, and the manifolds of one start (Fig. 3)",
        (14, 4.4),
        lambda figure: _paint(figure, curves, runs[0]),
    )
    return Outcome(rows=rows, numbers=report, pictures=pictures, seeds=list(DATA))


def _paint(figure: Any, curves: dict[str, Any], run: dict[str, Any]) -> None:
    paint_curves(figure.add_subplot(1, 3, 1), curves, "UKR, noisy helix")
    X, _ = make_noisy_helix(N_POINTS, noise=NOISE, random_state=DATA[0])
    for number, name in ((2, "plain"), (3, PAPERS)):
        ax = figure.add_subplot(1, 3, number, projection="3d")
        ax.scatter(*X.T, s=3, color="0.7")
        ax.plot(*np.array(run[name]["images"]).T, color="black", lw=1)
        ax.set_title(name)


class _Spent(Exception):
    """The evaluations are used up."""


class _Counted:
    """An objective that ends a run after some evaluations and remembers the best value."""

    def __init__(self, objective: Objective, most: int) -> None:
        self.objective, self.left, self.best = objective, most, np.inf

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        if self.left <= 0:
            raise _Spent
        self.left -= 1
        value, gradient = self.objective.value_and_grad(Z)
        self.best = min(self.best, value)
        return value, gradient


def _best_of(minimizers: list[Minimizer], objective: Objective, Z0: Array) -> float:
    """Return the lowest error of minimizers in a row, with 200 evaluations in all."""
    counted = _Counted(objective, N_ITER)
    Z = Z0
    try:
        for minimizer in minimizers:
            Z = minimizer.minimize(counted, Z).Z
    except _Spent:
        pass
    return float(counted.best)


def _quasi_newton_run(task: tuple[int, int]) -> dict[str, float]:
    data_seed, start = task
    X, _, objective = _problem(data_seed)
    Z0 = np.random.default_rng([4, data_seed, start]).standard_normal((len(X), 1))
    guide = SpectralGuidance(bandwidth=1.0, schedule=(10, 1)).prepare(X)
    stages = SpectralGuidance(bandwidth=1.0).prepare(X)
    lbfgs = LBFGS(max_iter=1_000, tol=0.0)
    second = eigh(np.asarray(guide.matrix))[1][:, -2:-1]
    return {
        "L-BFGS": _best_of([lbfgs], objective, Z0),
        "guided steps, then L-BFGS": _best_of(
            [GradientDescent(max_iter=30, tol=0.0, guide=guide), lbfgs], objective, Z0
        ),
        "L-BFGS in stages": _best_of([guided_minimizer(lbfgs, stages)], objective, Z0),
        "second eigenvector, then L-BFGS": _best_of(
            [lbfgs], objective, 3.0 * second / second.std()
        ),
    }


def quasi_newton(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Guide L-BFGS on the helix: twenty starts on three data sets, 200 evaluations each."""
    n_starts = 2 if quick else N_STARTS
    tasks = [(data, start) for data in DATA for start in range(n_starts)]
    runs = in_processes(_quasi_newton_run, tasks)
    errors = {name: [run[name] for run in runs] for name in runs[0]}
    plain = errors["L-BFGS"]
    rows = [
        Row(f"{name}: error at {N_ITER} evaluations, median", None, median(values))
        for name, values in errors.items()
    ]
    best = errors["L-BFGS in stages"]
    rows.append(
        Row(
            "L-BFGS in stages over plain L-BFGS, medians",
            "“Future work will examine [...] quasi-Newton”",
            median(best) / median(plain),
            "lower",
            bound=1.0,
            beside=f"plain {median(plain):.3g}",
        )
    )
    numbers = {name: quartiles(values) for name, values in errors.items()}
    return Outcome(rows=rows, numbers=numbers, seeds=list(DATA))
