"""The experiments of Memisevic & Hinton (2005), section 6 and Fig. 1, and guidance beyond gradient descent.

    python benchmarks/papers/sgd2005.py [--only NAME ...] [--folder sgd2005]

Names are circle (Fig. 1d), helix (Fig. 3), s_curve (Figs. 5-6), quasi_newton (the paper's future work, on the helix), digits and growth.
Writes ``results.json`` and learning curves on log axes into the folder. Starts run in processes of one thread each; all of it takes
about half an hour on two cores.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is there
    os.environ.setdefault(variable, "1")

import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import numpy as np
from experiments import run
from matplotlib.figure import Figure
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from twofold import SNE, UKR
from twofold.datasets import make_noisy_helix, make_partitioned_circle, make_s_curve
from twofold.kernel_regression import KernelRegression
from twofold.kernels import Gaussian
from twofold.neighbour_search import nearest_neighbors
from twofold.objectives import (
    NeighbourEmbedding,
    Reconstruction,
    SparseNeighbourEmbedding,
    neighbour_matrix,
    transition_probabilities,
)
from twofold.optimize import LBFGS, GradientDescent, SpectralGuidance, guided_minimizer
from twofold.plotting import save_figure
from twofold.sums import DenseWeights, kernel_radius, weigh_many

NOISE = 0.07
N_STARTS = 20
LATE = 100
"""Iteration at which "then plain" goes over to the plain gradient."""


def in_processes(function, arguments):
    """Return the results in order."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, arguments))


def descend(objective, Z0, guide=None, n_iter=200):
    """One line search for all, which doubles a step once at most; no tolerance ends it."""
    minimizer = GradientDescent(max_iter=n_iter, tol=0.0, max_doublings=1, guide=guide)
    return minimizer.minimize(objective, Z0)


def curve(result, length):
    """Return the learning curve, filled up with its last value."""
    history = result.history[: length + 1]
    return np.concatenate([history, np.full(length + 1 - len(history), history[-1])])


def quartiles(values):
    return [float(q) for q in np.quantile(values, [0.25, 0.5, 0.75])]


def plot_curves(ax, curves, title):
    """Median learning curves with their quartiles, on log axes."""
    for name, values in curves.items():
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        steps = np.arange(1, len(middle) + 1)
        (line,) = ax.loglog(steps, middle, label=name)
        ax.fill_between(steps, low, high, alpha=0.15, color=line.get_color(), lw=0)
    ax.set(title=title, xlabel="iterations", ylabel="error")
    ax.legend(fontsize=8)


# --- Fig. 1d: partitioned circle, SNE ------------------------------------------------------------------------------


# The paper gives neither. Neighbourhoods have to be small against the arcs for plain descent to have any trouble with them; the affinity
# that guides should hold an arc together. Chosen on data 0-2, reported on others.
CIRCLE_BANDWIDTH = 0.02
CIRCLE_AFFINITY = 0.1
CIRCLE_DATA = range(100, 110)


def circle_run(task):
    data_seed, start = task
    X, _ = make_partitioned_circle(150, random_state=data_seed)
    objective = NeighbourEmbedding(transition_probabilities(X, CIRCLE_BANDWIDTH))
    Z0 = 0.1 * np.random.default_rng([1, data_seed, start]).standard_normal((len(X), 2))
    truncated = partial(SpectralGuidance, bandwidth=CIRCLE_AFFINITY, form="truncated")
    guides = {
        "plain": None,
        "l = 2": truncated(schedule=(2, 2)).prepare(X),
        "growing l": truncated(schedule=(1, len(X))).prepare(X),
    }
    return {
        name: curve(descend(objective, Z0, guide), 200).tolist() for name, guide in guides.items()
    }


def circle(folder):
    """Fig. 1d: ten data sets, four starts each."""
    runs = in_processes(circle_run, [(data, start) for data in CIRCLE_DATA for start in range(4)])
    curves = {name: np.array([one[name] for one in runs]) for name in runs[0]}
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    plot_curves(figure.add_subplot(), curves, "SNE, partitioned circle")
    save_figure(figure, folder / "circle.png")
    plain, growing = curves["plain"], curves["growing l"]
    return {
        "at iteration 50": {name: quartiles(values[:, 50]) for name, values in curves.items()},
        "at iteration 200": {name: quartiles(values[:, 200]) for name, values in curves.items()},
        "ratio at 50": float(np.median(growing[:, 50]) / np.median(plain[:, 50])),
        "share no higher at the end": float(
            np.mean(growing[:, 200] <= plain[:, 200] * (1.0 + 1e-3))
        ),
    }


# --- Fig. 3: noisy helix, UKR --------------------------------------------------------------------------------------


HELIX_SCHEDULES = {
    "plain": None,
    "nu 10 to 1": (10, 1),
    "nu 10 to 0": (10, 0),
    "nu 10 to 1, then plain": lambda n_iter: max(1, 10 - n_iter) if n_iter < LATE else 0,
}


def helix_problem(data_seed):
    X, arc = make_noisy_helix(300, noise=NOISE, random_state=data_seed)
    X = X - X.mean(axis=0)
    return X, arc[:, 0], Reconstruction(X, lambda Z: DenseWeights.of(Z, Gaussian(), n_jobs=1))


def helix_distance(Z, data_seed):
    """Mean distance of the fitted curve, at the training latents, to the true helix."""
    noisy, _ = make_noisy_helix(300, noise=NOISE, random_state=data_seed)
    angle = np.linspace(0.0, 6.0 * np.pi, 5_000)
    truth = np.column_stack([np.cos(angle), np.sin(angle), 1.5 / (2.0 * np.pi) * angle])
    kernel = np.exp(-0.5 * np.square(Z - Z.T))
    images = kernel @ noisy / kernel.sum(axis=1, keepdims=True)
    return float(cdist(images, truth).min(axis=1).mean())


def helix_run(task):
    data_seed, start = task
    X, arc, objective = helix_problem(data_seed)
    Z0 = np.random.default_rng([2, data_seed, start]).standard_normal((len(X), 1))
    found = {}
    for name, schedule in HELIX_SCHEDULES.items():
        guide = schedule and SpectralGuidance(bandwidth=1.0, schedule=schedule).prepare(X)
        result = descend(objective, Z0, guide)
        found[name] = {
            "error": result.value,
            "order": abs(float(spearmanr(result.Z[:, 0], arc)[0])),
            "distance": helix_distance(result.Z, data_seed),
            "curve": curve(result, 200).tolist(),
        }
    return found


def helix(folder):
    """Fig. 3: three data sets, twenty starts each."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    report = {}
    for data_seed, ax in enumerate(figure.subplots(1, 3)):
        runs = in_processes(helix_run, [(data_seed, start) for start in range(N_STARTS)])
        names = list(HELIX_SCHEDULES)
        curves = {name: np.array([one[name]["curve"] for one in runs]) for name in names}
        plot_curves(ax, curves, f"UKR, noisy helix, data {data_seed}")
        plain = np.median([one["plain"]["error"] for one in runs])
        report[f"data {data_seed}"] = {
            name: {
                "error": quartiles([one[name]["error"] for one in runs]),
                "of plain's median": float(np.median([one[name]["error"] for one in runs]) / plain),
                "ordered and on the helix": sum(
                    one[name]["order"] > 0.95 and one[name]["distance"] < 1.5 * NOISE
                    for one in runs
                ),
                "ordered": sum(one[name]["order"] > 0.95 for one in runs),
                "distance": quartiles([one[name]["distance"] for one in runs]),
            }
            for name in names
        }
    save_figure(figure, folder / "helix.png")
    return report


# --- Figs. 5-6: S-curve, SNE ---------------------------------------------------------------------------------------


S_BANDWIDTH = 0.5


def s_curve_run(task):
    n, first, start = task
    X, _ = make_s_curve(n, noise=0.05, random_state=0)
    objective = NeighbourEmbedding(transition_probabilities(X, S_BANDWIDTH))
    Z0 = np.random.default_rng([3, start]).standard_normal((n, 2))
    curves = {"plain": curve(descend(objective, Z0), 200).tolist()}
    for affinity, short in (("clustering", "clus"), ("kpca", "kpca")):
        for form, prefix in (("power", "spec"), ("deflated", "pow")):
            guidance = SpectralGuidance(affinity, S_BANDWIDTH, form, schedule=(first, 0))
            result = descend(objective, Z0, guidance.prepare(X))
            curves[f"{prefix}-{short}"] = curve(result, 200).tolist()
    return curves


def s_curve(folder):
    """Figs. 5-6: nu from 20 as in the paper, and from 5."""
    figure = Figure(figsize=(12, 9), layout="constrained")
    report = {}
    axes = figure.subplots(2, 2)
    for (n, first), ax in zip(((200, 5), (200, 20), (500, 5), (500, 20)), axes.flat, strict=True):
        runs = in_processes(s_curve_run, [(n, first, start) for start in range(N_STARTS)])
        curves = {name: np.array([one[name] for one in runs]) for name in runs[0]}
        plot_curves(ax, curves, f"SNE, S-curve, n = {n}, nu from {first}")
        best = min(values[:, -1].min() for values in curves.values())
        excess = {
            name: {step: float(np.median(values[:, step])) - best for step in (10, 20, 200)}
            for name, values in curves.items()
        }
        report[f"n {n}, nu from {first}"] = {
            name: {
                "end": quartiles(values[:, -1]),
                "excess of plain's at 10": excess[name][10] / excess["plain"][10],
                "excess of plain's at 20": excess[name][20] / excess["plain"][20],
                "end of plain's": float(
                    np.median(values[:, -1]) / np.median(curves["plain"][:, -1])
                ),
            }
            for name, values in curves.items()
        }
    save_figure(figure, folder / "s_curve.png")
    return report


# --- beyond the paper ----------------------------------------------------------------------------------------------


class Spent(Exception):
    """The evaluations are used up."""


class Counted:
    """An objective that ends a run after a number of evaluations, and remembers the best of them."""

    def __init__(self, objective, most):
        self.objective, self.left, self.best = objective, most, np.inf

    def value_and_grad(self, Z):
        if self.left <= 0:
            raise Spent
        self.left -= 1
        value, gradient = self.objective.value_and_grad(Z)
        self.best = min(self.best, value)
        return value, gradient


EVALUATIONS = 200


def best_of(minimizers, objective, Z0):
    """Return the lowest error of minimizers in a row, with so many evaluations in all."""
    counted = Counted(objective, EVALUATIONS)
    Z = Z0
    try:
        for minimizer in minimizers:
            Z = minimizer.minimize(counted, Z).Z
    except Spent:
        pass
    return counted.best


def quasi_newton_run(task):
    data_seed, start = task
    X, _, objective = helix_problem(data_seed)
    Z0 = np.random.default_rng([4, data_seed, start]).standard_normal((len(X), 1))
    guide = SpectralGuidance(bandwidth=1.0, schedule=(10, 1)).prepare(X)
    stages = SpectralGuidance(bandwidth=1.0).prepare(X)
    lbfgs = LBFGS(max_iter=1_000, tol=0.0)
    second = eigh(guide.matrix)[1][:, -2:-1]
    return {
        "L-BFGS": best_of([lbfgs], objective, Z0),
        "guided steps, then L-BFGS": best_of(
            [GradientDescent(max_iter=30, tol=0.0, guide=guide), lbfgs], objective, Z0
        ),
        "L-BFGS in stages": best_of([guided_minimizer(lbfgs, stages)], objective, Z0),
        "second eigenvector, then L-BFGS": best_of([lbfgs], objective, 3.0 * second / second.std()),
    }


def quasi_newton(_folder):
    """Helix, twenty starts on three data sets, 200 evaluations each."""
    report = {}
    for data_seed in range(3):
        runs = in_processes(quasi_newton_run, [(data_seed, start) for start in range(N_STARTS)])
        plain = np.array([one["L-BFGS"] for one in runs])
        report[f"data {data_seed}"] = {
            name: {
                "error": quartiles([one[name] for one in runs]),
                "of plain's median": float(
                    np.median([one[name] for one in runs]) / np.median(plain)
                ),
                "no worse": int(np.sum([one[name] for one in runs] <= plain)),
            }
            for name in runs[0]
        }
    return report


def digits_data():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def digits_run(start):
    X, y = digits_data()
    found = {}
    for name, guidance in (("plain", None), ("stages", SpectralGuidance())):
        model = UKR(
            init="random",
            guidance=guidance,
            max_iter=150,
            tol=0.0,
            random_state=start,
            n_jobs=1,
        )
        model.fit(X)
        nearest = cross_val_score(KNeighborsClassifier(1), model.embedding_, y, cv=5).mean()
        found[name] = {"error": model.cv_error_, "1-NN": float(nearest)}
    return found


def digits(_folder):
    """UKR of the digits from random starts by L-BFGS, plain and in stages; a spectral start beside them."""
    runs = in_processes(digits_run, range(N_STARTS))
    X, y = digits_data()
    spectral = UKR(init="laplacian_eigenmaps:15", max_iter=150, tol=0.0, random_state=0).fit(X)
    report = {
        name: {
            "error": quartiles([one[name]["error"] for one in runs]),
            "1-NN": quartiles([one[name]["1-NN"] for one in runs]),
        }
        for name in runs[0]
    }
    report["lower by a tenth"] = sum(
        one["stages"]["error"] <= 0.9 * one["plain"]["error"] for one in runs
    )
    report["from Laplacian eigenmaps"] = {
        "error": spectral.cv_error_,
        "1-NN": cross_val_score(KNeighborsClassifier(1), spectral.embedding_, y, cv=5).mean(),
    }
    report["variance"] = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    return report


def clusters(n):
    """Twenty clusters of five dimensions each, in fifty, with noise."""
    rng = np.random.default_rng([5, n])
    shared = np.random.default_rng(5)
    centers, axes = 2.0 * shared.standard_normal((20, 50)), shared.standard_normal((5, 50))
    X = centers[rng.integers(20, size=n)] + rng.standard_normal((n, 5)) @ axes
    return X + 0.3 * rng.standard_normal(X.shape)


def growth(_folder):
    """SNE of 10^4 and 10^5 rows of 50 features with its maps, and what a guided step costs."""
    seconds, fits = {}, {}
    for n in (10_000, 100_000):
        X = clusters(n)
        began = time.perf_counter()
        model = SNE(random_state=0).fit(X)
        seconds[n] = time.perf_counter() - began
        fits[n] = {
            "iterations": model.n_iter_,
            "divergence": model.kl_divergence_,
            "score": model.score(X[:1_000]),
        }
    return {
        "fit seconds": seconds,
        "ratio": seconds[100_000] / seconds[10_000],
        "fits": fits,
        **steps(),
    }


def steps():
    """Time plain and guided evaluations at 10^5 rows, at the highest power, one after the other."""
    X = clusters(100_000)
    X -= X.mean(axis=0)
    neighbours = nearest_neighbors(X, 90, np.random.default_rng(0))
    guide = SpectralGuidance().prepare(X, neighbours)
    radius = kernel_radius(Gaussian(), 5e-5)
    objectives = {
        "SNE": SparseNeighbourEmbedding(
            neighbour_matrix(X, neighbours, perplexity=30.0),
            lambda Z: weigh_many(Z, Gaussian(), radius, masses_alone=True),
        ),
        "UKR": KernelRegression.of(X, Gaussian()).objective(),
    }
    ratios = {}
    for (name, objective), spread in product(objectives.items(), (1.0, 20.0, 60.0)):
        Z = spread * np.random.default_rng(6).standard_normal((len(X), 2))
        plain, guided = [], []
        for _ in range(5):
            began = time.perf_counter()
            _, gradient = objective.value_and_grad(Z)
            plain.append(time.perf_counter() - began)
            guide.guided(gradient, 0)
            guided.append(time.perf_counter() - began)
        ratios[f"{name}, latents spread over {spread:g}"] = float(
            np.median(guided[1:]) / np.median(plain[1:])
        )
    return {"guided step over plain": ratios}


EXPERIMENTS = {
    "circle": circle,
    "helix": helix,
    "s_curve": s_curve,
    "quasi_newton": quasi_newton,
    "digits": digits,
    "growth": growth,
}

if __name__ == "__main__":
    run(EXPERIMENTS, "sgd2005", __doc__)
