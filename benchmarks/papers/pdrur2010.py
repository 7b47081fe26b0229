"""The experiments of Carreira-Perpinan & Lu (2010) that have known latents.

    python benchmarks/papers/pdrur2010.py [--only spiral curves roll noisy_roll hole wide_roll] [--folder pdrur2010]

Writes ``results.json`` and one picture an experiment into the folder. Seeds are 0 to 9 (spiral, curves) and 0 to 4.
"""

import argparse
import json
import platform
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning

import twofold
from twofold import DRUR
from twofold.datasets import make_disconnected_curves, make_noisy_spiral, make_swiss_roll
from twofold.initializers import isomap
from twofold.metrics import procrustes_r2

mpl.use("Agg")
import matplotlib.pyplot as plt

warnings.simplefilter("ignore", ConvergenceWarning)


def summary(values):
    values = np.asarray(values)
    return {
        "median": float(np.median(values)),
        "least": float(values.min()),
        "greatest": float(values.max()),
    }


def squared_correlation(a, b):
    return float(np.corrcoef(a, b)[0, 1] ** 2)


def spiral(folder):
    """Noisy spiral, n = 500, from the true latents plus noise of a tenth of their range (Fig. 2)."""
    settings = {
        "rbf, lambda 0.1": {"n_centers": 10, "alpha": 0.1},
        "rbf, lambda 0.001": {"n_centers": 10, "alpha": 1e-3},
        "mlp": {"n_centers": 10, "up": "mlp", "down": "mlp"},
    }
    results = {}
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4))
    for axis, (name, setting) in zip(axes, settings.items(), strict=True):
        found = []
        for seed in range(10):
            X, along = make_noisy_spiral(500, random_state=seed)
            noise = np.random.default_rng(seed).standard_normal(along.shape)
            start = 10.0 * along / np.ptp(along) + noise
            model = DRUR(1, init=start, random_state=seed, **setting).fit(X)
            found.append(squared_correlation(along[:, 0], model.embedding_[:, 0]))
        results[name] = summary(found) | {"at_least_0.99": int(np.sum(np.array(found) >= 0.99))}
        curve = model.inverse_transform(
            np.linspace(model.embedding_.min(), model.embedding_.max(), 400)[:, None]
        )
        axis.scatter(*X.T, c=model.embedding_[:, 0], s=6, cmap="viridis")
        axis.plot(*curve.T, color="black", linewidth=1)
        axis.set(title=f"{name}: median R² {results[name]['median']:.4f}", aspect="equal")
    figure.savefig(folder / "spiral.png", dpi=110)
    return results


def curves(folder):
    """Disconnected curves, n = 700, from PCA (Fig. 3): rank correlation with the true order, curve by curve."""
    results = {}
    for name, setting in {
        "rbf": {"n_centers": (15, 20), "alpha": 0.1},
        "rbf, alpha auto": {"n_centers": (15, 20)},
        "auto": {"init": "auto"},
    }.items():
        least, all_found = [], []
        for seed in range(10):
            X, truth = make_disconnected_curves(700, random_state=seed)
            model = DRUR(1, **({"init": "pca", "random_state": seed} | setting)).fit(X)
            found = [
                abs(spearmanr(truth[on, 0], model.embedding_[on, 0]).statistic)
                for on in (truth[:, 1] == curve for curve in range(3))
            ]
            least.append(min(found))
            all_found += found
        results[name] = {"curves": summary(all_found), "worst curve of a seed": summary(least)}
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4))
    for axis, colours in zip(axes, (truth[:, 0], model.embedding_[:, 0]), strict=True):
        axis.scatter(*X.T, c=colours, s=6)
    axes[0].set_title("true arc length")
    axes[1].set_title("latent")
    figure.savefig(folder / "curves.png", dpi=110)
    return results


def restored(n, stdev, seed, *, noise=0.0, n_features=3, **setting):
    """Return the roll's R^2 before and after, the model, the truth and the seconds."""
    X, sheet = make_swiss_roll(n, noise, n_features=n_features, random_state=seed)
    start = sheet + stdev * np.random.default_rng(seed).standard_normal(sheet.shape)
    began = time.perf_counter()
    # In the paper latents and data have one unit: the sheet's variance is three times the roll's.
    given = {"init": start, "random_state": seed, "down_weight": 3.0}
    model = DRUR(**(given | setting)).fit(X)
    seconds = time.perf_counter() - began
    after = procrustes_r2(sheet, model.embedding_)
    return procrustes_r2(sheet, start), after, model, sheet, seconds


def roll(folder):
    """Swiss roll, n = 1,000, latent noise of stdev 10 to 60 (Figs. 4 and 6)."""
    results = {}
    figure, axes = plt.subplots(2, 4, figsize=(16, 7))
    for column, stdev in zip(axes.T, (10, 20, 40, 60), strict=True):
        runs = [
            restored(1000, stdev, seed, n_centers=30, alpha=1e-5, max_iter=100, tol=1e-3)
            for seed in range(5)
        ]
        results[str(stdev)] = {
            "before": summary([run[0] for run in runs]),
            "after": summary([run[1] for run in runs]),
            "seconds": summary([run[4] for run in runs]),
        }
        _, _, model, sheet, _ = runs[0]
        noise = np.random.default_rng(0).standard_normal(sheet.shape)
        column[0].scatter(*(sheet + stdev * noise).T, c=sheet[:, 0], s=5)
        column[1].scatter(*model.embedding_.T, c=sheet[:, 0], s=5)
        column[0].set_title(f"start, noise {stdev}")
        column[1].set_title(f"R² {runs[0][1]:.3f}")
    figure.savefig(folder / "roll.png", dpi=100)
    return results


def noisy_roll(_):
    """Data noise of 0.5, latent noise of 10, default stopping; and R^2 as turns go on."""
    runs = [
        restored(1000, 10, seed, noise=0.5, down_weight=1.0, n_centers=30, alpha=1e-5)
        for seed in range(5)
    ]
    fewer = [
        [
            restored(
                1000,
                10,
                seed,
                noise=0.5,
                down_weight=1.0,
                n_centers=30,
                alpha=1e-5,
                max_iter=turns,
            )[1]
            for turns in (1, 2, 4, 8, 16, 50)
        ]
        for seed in range(2)
    ]
    return {
        "after": summary([run[1] for run in runs]),
        "turns": [run[2].n_iter_ for run in runs],
        "r2 at most 1, 2, 4, 8, 16, 50 turns": fewer,
    }


def hole(folder):
    """Swiss roll with a hole, n = 791, from Isomap with five neighbours (Fig. 8)."""
    before, after = [], []
    for seed in range(5):
        X, sheet = make_swiss_roll(791, hole=True, random_state=seed)
        start = isomap(X, 2, np.random.default_rng(seed), n_neighbors=5)
        model = DRUR(n_centers=30, alpha=1e-5, init=start, random_state=seed).fit(X)
        before.append(procrustes_r2(sheet, start))
        after.append(procrustes_r2(sheet, model.embedding_))
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.4))
    for axis, Z, title in zip(
        axes, (sheet, start, model.embedding_), ("truth", "Isomap", "DRUR"), strict=True
    ):
        axis.scatter(*Z.T, c=sheet[:, 0], s=6)
        axis.set_title(title)
    figure.savefig(folder / "hole.png", dpi=110)
    cut = 1.0 - (1.0 - np.array(after)) / (1.0 - np.array(before))
    return {"isomap": before, "drur": after, "1 - R2 cut by": summary(cut)}


def wide_roll(_):
    """Swiss roll, n = 20,000, with 97 noise dimensions (Fig. 6, row 4)."""
    before, after, model, _, seconds = restored(
        20_000, 10, 0, n_features=100, n_centers=70, alpha=1e-5, max_iter=10
    )
    return {"before": before, "after": after, "seconds": seconds, "turns": model.n_iter_}


EXPERIMENTS = {
    "spiral": spiral,
    "curves": curves,
    "roll": roll,
    "noisy_roll": noisy_roll,
    "hole": hole,
    "wide_roll": wide_roll,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--folder", type=Path, default=Path("pdrur2010"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {
        "twofold": twofold.__version__,
        "numpy": np.__version__,
        "machine": platform.platform(),
    }
    for name in options.only:
        results[name] = EXPERIMENTS[name](options.folder)
        print(f"{name}: {json.dumps(results[name], indent=1)}", flush=True)
        (options.folder / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
