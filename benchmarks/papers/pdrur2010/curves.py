"""One-dimensional data: the noisy spiral (Fig. 2) and disconnected curves (Fig. 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from benchmarks.harness.machine import is_installed
from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rivals import EPOCHS, autoencoded
from benchmarks.papers.statistics import median, summary
from twofold import DRUR
from twofold.datasets import make_disconnected_curves, make_noisy_spiral
from twofold.protocols import Array

SEEDS = range(10)
SPIRALS: dict[str, dict[str, Any]] = {
    "10 RBFs, λ = 0.1": {"n_centers": 10, "alpha": 0.1},
    "10 RBFs, λ = 0.001": {"n_centers": 10, "alpha": 1e-3},
    "MLPs of 10 units": {"n_centers": 10, "up": "mlp", "down": "mlp"},
}
NONPARAMETRIC = "nonparametric, 500 centers"
AUTOENCODER = "autoencoder 10-1-10"


def _spiral_start(seed: int) -> tuple[Array, Array, Array]:
    X, along = make_noisy_spiral(500, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal(along.shape)
    return X, along, 10.0 * along / np.ptp(along) + noise


def _spiral_run(task: tuple[int, bool]) -> dict[str, Any]:
    seed, quick = task
    X, along, start = _spiral_start(seed)
    settings = dict(SPIRALS)
    if not quick:
        settings[NONPARAMETRIC] = {"n_centers": "all", "max_iter": 10}
    found: dict[str, Any] = {"start": _squared_correlation(along, start), "curves": {}}
    for name, setting in settings.items():
        model = DRUR(1, init=start, random_state=seed, n_jobs=1, **setting).fit(X)
        Z = model.embedding_
        found[name] = _squared_correlation(along, Z)
        line = np.linspace(Z.min(), Z.max(), 400)[:, None]
        found["curves"][name] = Z, model.inverse_transform(line)
    if is_installed("torch"):
        epochs = 200 if quick else EPOCHS
        Z = autoencoded(X, start, 10, seed, epochs=epochs)
        found[AUTOENCODER] = _squared_correlation(along, Z)
    return found


def _squared_correlation(a: Array, b: Array) -> float:
    return float(np.corrcoef(a[:, 0], b[:, 0])[0, 1] ** 2)


def spiral(quick: bool, folder: Path) -> Outcome:
    """Fig. 2: n = 500, from the true latents plus noise of a tenth of their range."""
    seeds = list(SEEDS)[: 3 if quick else None]
    runs = in_processes(_spiral_run, [(seed, quick) for seed in seeds])
    curves, *_ = [run.pop("curves") for run in runs]
    numbers = {name: summary([run[name] for run in runs]) for name in runs[0]}
    start = f"the start {numbers['start']['median']:.3f}"
    words = "“reliably recover the manifold”"
    rows = [
        Row(
            f"{name}: R² of the latents with the truth, median",
            words,
            numbers[name]["median"],
            "higher",
            bound=0.97,
            beside=start,
            form=".4f",
        )
        for name in SPIRALS
    ]
    rival = numbers[AUTOENCODER]["median"] if AUTOENCODER in numbers else "PyTorch is not installed"
    rows.append(Row(f"the rival, {AUTOENCODER}: R², median", words, rival, form=".4f"))
    if NONPARAMETRIC in numbers:
        rows.append(
            Row(
                "R² of 10 RBFs (λ = 0.1) minus that of the nonparametric model",
                "“a comparable quality [...] with a much more parsimonious model”",
                numbers["10 RBFs, λ = 0.1"]["median"] - numbers[NONPARAMETRIC]["median"],
                "higher",
                bound=-0.02,
                form=".4f",
            )
        )

    def paint(figure: Any) -> None:
        X = _spiral_start(seeds[0])[0]
        for ax, name in zip(figure.subplots(1, len(SPIRALS)), SPIRALS, strict=True):
            Z, curve = curves[name]
            ax.scatter(*X.T, c=Z[:, 0], s=6, cmap="viridis")
            ax.plot(*curve.T, color="black", lw=1)
            ax.set(title=f"{name}: R² {runs[0][name]:.4f}", aspect="equal", xticks=[], yticks=[])

    pictures = draw(folder / "spiral.png", "Fig. 2, one sample", (12, 4.2), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


PAPERS_CURVES: dict[str, Any] = {"n_centers": (15, 20), "alpha": 0.1}
PAPERS_WEIGHT = "15 and 20 RBFs, λ = 0.1, the paper's units"
CURVE_SETTINGS: dict[str, dict[str, Any]] = {
    # In the paper latents and data have one unit; PCA's latents have nearly all of the data's
    # variance.
    PAPERS_WEIGHT: PAPERS_CURVES | {"down_weight": 10.0, "max_iter": 100, "tol": 1e-3},
    "15 and 20 RBFs, λ = 0.1, default weight": PAPERS_CURVES,
    "MLPs of 20 units": {"n_centers": 20, "up": "mlp", "down": "mlp"},
    "all automatic": {"init": "auto"},
}


def _within(truth: Array, latent: Array) -> float:
    return float(abs(spearmanr(truth, latent).statistic))


def _curves_run(seed: int) -> dict[str, Any]:
    X, truth = make_disconnected_curves(700, random_state=seed)
    on = [truth[:, 1] == curve for curve in range(3)]
    first = PCA(1).fit_transform(X)
    found: dict[str, Any] = {
        "PCA": [_within(truth[rows, 0], first[rows, 0]) for rows in on],
        "latents": {},
    }
    for name, setting in CURVE_SETTINGS.items():
        options: dict[str, Any] = {"init": "pca", "random_state": seed, "n_jobs": 1} | setting
        Z = DRUR(1, **options).fit(X).embedding_
        found[name] = [_within(truth[rows, 0], Z[rows, 0]) for rows in on]
        found["latents"][name] = Z[:, 0]
    return found


def curves(quick: bool, folder: Path) -> Outcome:
    """Fig. 3: n = 700, from PCA: rank correlation with the true order, curve by curve."""
    seeds = list(SEEDS)[: 3 if quick else None]
    runs = in_processes(_curves_run, seeds)
    latents, *_ = [run.pop("latents") for run in runs]
    numbers: dict[str, Any] = {}
    rows = []
    for name in runs[0]:
        found = np.array([run[name] for run in runs])
        numbers[name] = {
            "curves": summary(found.ravel()),
            "worst curve of a sample": summary(found.min(axis=1)),
            "samples with all curves at 0.95 or more": int((found.min(axis=1) >= 0.95).sum()),
            "arch, wave, hook: median": np.median(found, axis=0),
        }
    folded = median(min(run["PCA"]) for run in runs)
    for name in CURVE_SETTINGS:
        rows.append(
            Row(
                f"{name}: rank correlation with the order on the worst of the three curves, median",
                "“a reasonable solution that preserves each manifold's structure”",
                median(min(run[name]) for run in runs),
                "higher",
                bound=0.95,
                beside=f"PCA {folded:.2f}",
            )
        )

    def paint(figure: Any) -> None:
        X, truth = make_disconnected_curves(700, random_state=seeds[0])
        axes = figure.subplots(2, len(latents))
        for (above, below), (name, Z) in zip(axes.T, latents.items(), strict=True):
            above.scatter(*X.T, c=Z, s=4)
            above.set_title(name, fontsize=8)
            below.scatter(truth[:, 0], Z, c=truth[:, 1], s=4)
            below.set(xlabel="arc length", ylabel="latent")

    pictures = draw(folder / "curves.png", "Fig. 3, one sample", (13, 6), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)
