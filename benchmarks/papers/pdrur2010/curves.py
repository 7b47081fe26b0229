"""One-dimensional data: the noisy spiral (Fig. 2) and disconnected curves (Fig. 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from benchmarks.harness.machine import is_installed
from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pdrur2010.literal import (
    DEFAULTS_FROM_START,
    angles_to_curve,
    default,
    literal,
    squared_correlation,
)
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rivals import EPOCHS, autoencoded
from benchmarks.papers.statistics import median, summary
from twofold import DRUR
from twofold.datasets import make_disconnected_curves, make_noisy_spiral
from twofold.protocols import Array

SEEDS = range(7)
PERCEPTRONS: dict[str, Any] = {"up": "mlp", "down": "mlp"}
SPIRALS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "10 RBFs, λ = 0.1": ({"n_centers": 10, "alpha": 0.1, "max_iter": 10}, {}),
    "MLPs of 10 units": (PERCEPTRONS | {"n_centers": 10, "max_iter": 10}, PERCEPTRONS),
}
"""The paper's settings of Fig. 2, and ours."""

NONPARAMETRIC: dict[str, Any] = {"n_centers": "all", "alpha": 0.1, "max_iter": 10}
AUTOENCODER = "autoencoder 10-1-10"


def _spiral_start(seed: int) -> tuple[Array, Array, Array]:
    X, along = make_noisy_spiral(500, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal(along.shape)
    return X, along, 10.0 * along / np.ptp(along) + noise


def _spiral_run(task: tuple[int, bool]) -> dict[str, Any]:
    seed, quick = task
    X, along, start = _spiral_start(seed)
    found: dict[str, Any] = {"start": squared_correlation(along, start), "curves": {}}
    for name, (papers, ours) in SPIRALS.items():
        model = literal(X, start, seed, 1, **papers)
        found[name] = squared_correlation(along, model.embedding_)
        found["curves"][name] = _curve(model)
        model = default(X, start, seed, 1, **ours)
        found[f"{name}, default"] = squared_correlation(along, model.embedding_)
    model = DRUR(1, random_state=seed, n_jobs=1).fit(X)
    found["automatic"] = squared_correlation(along, model.embedding_)
    if not quick:
        model = literal(X, start, seed, 1, **NONPARAMETRIC)
        found["nonparametric"] = squared_correlation(along, model.embedding_)
        found["curves"]["nonparametric"] = _curve(model)
        model = default(X, start, seed, 1, n_centers="all")
        found["nonparametric, default"] = squared_correlation(along, model.embedding_)
    if is_installed("torch"):
        Z = autoencoded(X, start, 10, seed, epochs=200 if quick else EPOCHS)
        found[AUTOENCODER] = squared_correlation(along, Z)
    return found


def _curve(model: DRUR) -> tuple[Array, Array]:
    """Return the latents, and the image of a grid of latents."""
    Z = model.embedding_
    return Z, model.inverse_transform(np.linspace(Z.min(), Z.max(), 600)[:, None])


def spiral(quick: bool, folder: Path) -> Outcome:
    """Fig. 2: n = 500, from the true latents plus noise of a tenth of their range."""
    seeds = list(SEEDS)[: 2 if quick else None]
    runs = in_processes(_spiral_run, [(seed, quick) for seed in seeds])
    curves, *_ = [run.pop("curves") for run in runs]
    numbers = {name: summary([run[name] for run in runs]) for name in runs[0]}
    middle = {name: one["median"] for name, one in numbers.items()}
    words = "“reliably recover the manifold”"
    rows = [
        Row(
            f"{name}, 10 iterations: R² of the latents with the truth, median",
            words,
            middle[name],
            "higher",
            bound=0.97,
            default=middle[f"{name}, default"],
            beside=f"the start {middle['start']:.3f}",
            note=DEFAULTS_FROM_START if not ours else "Defaults: perceptrons, from the same start.",
            form=".4f",
            highlight=not ours,
        )
        for name, (_, ours) in SPIRALS.items()
    ]
    rows.append(
        Row(
            "without a start: R², median",
            "“very hard [...] using random or PCA initializations”, “easy if initializing from "
            "Isomap”",
            None,
            default=middle["automatic"],
            note="Defaults: DRUR(1), which chooses its start.",
            form=".4f",
        )
    )
    rival = middle.get(AUTOENCODER, "PyTorch is not installed")
    rows.append(Row(f"the rival, {AUTOENCODER}: R², median", words, rival, form=".4f"))
    if "nonparametric" in middle:
        rbf = "10 RBFs, λ = 0.1"
        rows.append(
            Row(
                "R² of 10 RBFs minus that of the nonparametric model, 500 centers, medians",
                "“a comparable quality [...] with a much more parsimonious model”",
                middle[rbf] - middle["nonparametric"],
                "higher",
                bound=-0.02,
                default=middle[f"{rbf}, default"] - middle["nonparametric, default"],
                note="The same λ for both in the paper's column; an iteration of the nonparametric "
                "model is 10 steps of L-BFGS.",
                form=".4f",
            )
        )

    def paint(figure: Any) -> None:
        X = _spiral_start(seeds[0])[0]
        for ax, (name, (Z, curve)) in zip(
            figure.subplots(1, len(curves)), curves.items(), strict=True
        ):
            ax.scatter(*X.T, c=Z[:, 0], s=6, cmap="viridis")
            ax.plot(*curve.T, color="black", lw=1)
            ax.set(title=f"{name}: R² {runs[0][name]:.4f}", aspect="equal", xticks=[], yticks=[])

    pictures = draw(folder / "spiral.png", "Fig. 2 by its protocol, one sample", (12, 4.2), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


CURVES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "15 and 20 RBFs, λ = 0.1, 20 iterations": (
        {"n_centers": (15, 20), "alpha": 0.1, "max_iter": 20},
        {},
    ),
    "MLPs of 20 units, 10 iterations": (
        PERCEPTRONS | {"n_centers": 20, "max_iter": 10},
        PERCEPTRONS,
    ),
}
"""The paper's settings of Fig. 3, and ours."""


def _orders(truth: Array, Z: Array) -> list[float]:
    """Return the rank correlation with the true order on each of the three curves."""
    on = [truth[:, 1] == curve for curve in range(3)]
    return [float(abs(spearmanr(truth[rows, 0], Z[rows, 0]).statistic)) for rows in on]


def _curves_run(task: tuple[int, bool]) -> dict[str, Any]:
    seed, quick = task
    X, truth = make_disconnected_curves(700, random_state=seed)
    pca = PCA(1).fit(X)
    found: dict[str, Any] = {
        "orders": {"PCA": _orders(truth, pca.transform(X))},
        "angles": {},
        "weight": float(pca.explained_variance_ratio_[0]),
        "curves": {},
    }
    for name, (papers, ours) in CURVES.items():
        for column, model in (
            (name, literal(X, "pca", seed, 1, **papers)),
            (f"{name}, default", DRUR(1, random_state=seed, n_jobs=1, **ours).fit(X)),
        ):
            found["orders"][column] = _orders(truth, model.embedding_)
            found["angles"][column] = angles_to_curve(model, X)
            found["curves"][column] = _curve(model)
    if not quick:
        model = literal(X, "pca", seed, 1, **NONPARAMETRIC)
        found["orders"]["nonparametric"] = _orders(truth, model.embedding_)
        found["curves"]["nonparametric"] = _curve(model)
    return found


def curves(quick: bool, folder: Path) -> Outcome:
    """Fig. 3: n = 700, from PCA: rank correlation with the true order, curve by curve."""
    seeds = list(SEEDS)[: 2 if quick else None]
    runs = in_processes(_curves_run, [(seed, quick) for seed in seeds])
    worst = {name: median(min(run["orders"][name]) for run in runs) for name in runs[0]["orders"]}
    weight = median(run["weight"] for run in runs)
    words = "“a reasonable solution that preserves each manifold's structure”"
    rows = [
        Row(
            f"{name}: rank correlation with the order on the worst of the three curves, median",
            words,
            worst[name],
            "higher",
            bound=0.95,
            default=worst[f"{name}, default"],
            beside=f"PCA {worst['PCA']:.2f}",
            note=f"The weight of the second term, PCA's share of the variance, is {weight:.2f}. "
            f"Defaults: DRUR(1), which chooses its start{', with perceptrons' if ours else ''}.",
            highlight=True,
        )
        for name, (_, ours) in CURVES.items()
    ]
    if "nonparametric" in worst:
        rows.append(
            Row(
                "nonparametric model, 700 centers, 10 iterations: the same",
                "“pDRUR can achieve a comparable quality”",
                worst["nonparametric"],
                note="A rival: no verdict.",
            )
        )
    claims = {
        "errors": ("y - f(x) and the tangent of f", "“approximately orthogonal”", 80.0),
        "contours": ("contours of F and the tangent of f", "“roughly orthogonally”", 70.0),
    }
    for what, (between, claim, bound) in claims.items():
        for name in CURVES:
            rows.append(
                Row(
                    f"{name}: angle between {between}, degrees, median",
                    claim,
                    median(run["angles"][name][what] for run in runs),
                    "higher",
                    bound=bound,
                    default=median(run["angles"][f"{name}, default"][what] for run in runs),
                    form=".1f",
                )
            )

    def paint(figure: Any) -> None:
        X, truth = make_disconnected_curves(700, random_state=seeds[0])
        shown = runs[0]["curves"]
        axes = figure.subplots(2, len(shown))
        for (above, below), (name, (Z, curve)) in zip(axes.T, shown.items(), strict=True):
            above.scatter(*X.T, c=Z[:, 0], s=4)
            above.plot(*curve.T, color="black", lw=0.8)
            ours = "DRUR(1), MLPs" if name.startswith("MLP") else "DRUR(1)"
            above.set_title(ours if name.endswith(", default") else name, fontsize=8)
            above.set(xlim=(-3.2, 3.8), ylim=(-1.8, 3.0))
            below.scatter(truth[:, 0], Z[:, 0], c=truth[:, 1], s=4)
            below.set(xlabel="arc length", ylabel="latent")

    pictures = draw(folder / "curves.png", "Fig. 3, one sample", (15, 6), paint)
    numbers = {
        "worst curve, median": worst,
        "orders of arch, wave, hook": {
            name: np.median([run["orders"][name] for run in runs], axis=0) for name in worst
        },
        "samples with all curves at 0.95 or more": {
            name: sum(min(run["orders"][name]) >= 0.95 for run in runs) for name in worst
        },
        "angles": [run["angles"] for run in runs],
    }
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)
