"""The experiments of Carreira-Perpinan & Lu (2010).

    python benchmarks/papers/pdrur2010.py [--only NAME ...] [--folder pdrur2010]

Names are spiral, curves, roll, laplacian, noisy_roll, hole (known latents, seeds 0 to 9 or 0 to 4), wide_roll, rotated
and runtime (`pdrur2010_large.py`). Writes ``results.json`` and pictures into the folder. Timings are ratios of one
run; umap-learn and PyTorch are used where they are installed. All of it takes about twelve minutes on two cores.
"""

import time
import warnings

import matplotlib as mpl
import numpy as np
from experiments import run
from pdrur2010_large import rotated, runtime, wide_roll
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from twofold import DRUR
from twofold.datasets import make_disconnected_curves, make_noisy_spiral, make_swiss_roll
from twofold.initializers import isomap, laplacian_eigenmaps
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


PAPERS_CURVES = {"n_centers": (15, 20), "alpha": 0.1}


def curves(folder):
    """Disconnected curves, n = 700, from PCA (Fig. 3): rank correlation with the true order, curve by curve."""
    settings = {
        "rbf, weight 10": PAPERS_CURVES | {"down_weight": 10.0, "max_iter": 100, "tol": 1e-3},
        "rbf, default weight": PAPERS_CURVES,
        "mlp": {"n_centers": 20, "up": "mlp", "down": "mlp"},
        "all auto": {"init": "auto"},
    }
    results = {}
    figure, axes = plt.subplots(len(settings), 3, figsize=(13, 4 * len(settings)))
    for row, (name, setting) in zip(axes, settings.items(), strict=True):
        least, all_found, folded = [], [], []
        for seed in range(10):
            X, truth = make_disconnected_curves(700, random_state=seed)
            model = DRUR(1, **({"init": "pca", "random_state": seed} | setting)).fit(X)
            on = [truth[:, 1] == curve for curve in range(3)]
            found = [within(truth[rows, 0], model.embedding_[rows, 0]) for rows in on]
            first = PCA(1).fit_transform(X)
            folded.append([within(truth[rows, 0], first[rows, 0]) for rows in on])
            least.append(min(found))
            all_found += found
        by_curve = np.reshape(all_found, (10, 3))
        results[name] = {
            "curves": summary(all_found),
            "worst curve of a seed": summary(least),
            "seeds with all curves at 0.95 or more": int(np.sum(np.array(least) >= 0.95)),
            "arch, wave, hook: median": np.median(by_curve, axis=0).tolist(),
            "arch, wave, hook: least": np.min(by_curve, axis=0).tolist(),
            "pca: median": np.median(folded, axis=0).tolist(),
        }
        row[0].scatter(*X.T, c=truth[:, 0], s=6)
        row[1].scatter(*X.T, c=model.embedding_[:, 0], s=6)
        row[2].scatter(truth[:, 0], model.embedding_[:, 0], c=truth[:, 1], s=6)
        for axis, title in zip(
            row, ("arc length", "latent", "latent over arc length"), strict=True
        ):
            axis.set_title(f"{name}: {title}")
    figure.savefig(folder / "curves.png", dpi=80)
    return results


def within(truth, latent):
    return float(abs(spearmanr(truth, latent).statistic))


ROLL = {"n_centers": 30, "alpha": 1e-5, "down_weight": 3.0, "max_iter": 100, "tol": 1e-3}
"""30 basis functions, lambda and 100 iterations as in Figs. 4-6. In the paper latents and data have one unit: the sheet's
variance is three times the roll's."""


def restored(n, stdev, seed, *, noise=0.0, n_features=3, **setting):
    """Return the roll's R^2 before and after, the model, the truth and the seconds."""
    X, sheet = make_swiss_roll(n, noise, n_features=n_features, random_state=seed)
    start = sheet + stdev * np.random.default_rng(seed).standard_normal(sheet.shape)
    began = time.perf_counter()
    model = DRUR(init=start, random_state=seed, **setting).fit(X)
    seconds = time.perf_counter() - began
    after = procrustes_r2(sheet, model.embedding_)
    return procrustes_r2(sheet, start), after, model, sheet, seconds


def roll(folder):
    """Swiss roll, n = 1,000, latent noise of stdev 10 to 60 (Figs. 4 and 6), beside a 70-2-70 autoencoder."""
    results = {}
    figure, axes = plt.subplots(3, 4, figsize=(16, 10))
    for column, stdev in zip(axes.T, (10, 20, 40, 60), strict=True):
        runs = [restored(1000, stdev, seed, **ROLL) for seed in range(5)]
        results[str(stdev)] = {
            "before": summary([run[0] for run in runs]),
            "after": summary([run[1] for run in runs]),
            "seconds": summary([run[4] for run in runs]),
        }
        _, _, model, sheet, _ = runs[0]
        noise = np.random.default_rng(0).standard_normal(sheet.shape)
        pictures = {f"start, noise {stdev}": sheet + stdev * noise}
        pictures[f"DRUR, R² {runs[0][1]:.3f}"] = model.embedding_
        rivals = [autoencoded(1000, stdev, seed) for seed in range(5)]
        if rivals[0] is not None:
            found = [procrustes_r2(sheet, Z) for sheet, Z in rivals]
            results[str(stdev)]["autoencoder"] = summary(found)
            pictures[f"autoencoder, R² {found[0]:.3f}"] = rivals[0][1]
        for axis, (title, Z) in zip(column, pictures.items(), strict=False):
            axis.scatter(*Z.T, c=sheet[:, 0], s=5)
            axis.set_title(title)
    figure.savefig(folder / "roll.png", dpi=80)
    return results


def autoencoded(n, stdev, seed):
    """Return the sheet and the latents of an autoencoder whose maps are first fitted to the same noisy latents, as the
    paper does it; None without PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    torch.manual_seed(seed)
    X, sheet = make_swiss_roll(n, 0.0, random_state=seed)
    start = sheet + stdev * np.random.default_rng(seed).standard_normal(sheet.shape)
    X, Z = (torch.tensor((A - A.mean(axis=0)) / A.std()) for A in (X, start))

    def network(inputs, outputs):
        layers = [torch.nn.Linear(inputs, 70), torch.nn.Sigmoid(), torch.nn.Linear(70, outputs)]
        return torch.nn.Sequential(*layers).double()

    down, up = network(3, 2), network(2, 3)

    def train(parameters, loss):
        optimizer = torch.optim.LBFGS(parameters, max_iter=1_000, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        optimizer.step(closure)

    train(down.parameters(), lambda: (Z - down(X)).square().mean())
    train(up.parameters(), lambda: (X - up(Z)).square().mean())
    train([*down.parameters(), *up.parameters()], lambda: (X - up(down(X))).square().mean())
    return sheet, down(X).detach().numpy()


def laplacian(folder):
    """Swiss roll, n = 1,000, from Laplacian eigenmaps (Fig. 5)."""
    before, after = [], []
    for seed in range(5):
        X, sheet = make_swiss_roll(1000, random_state=seed)
        start = laplacian_eigenmaps(X, 2, np.random.default_rng(seed), n_neighbors=10)
        model = DRUR(init=start, random_state=seed, **ROLL).fit(X)
        before.append(procrustes_r2(sheet, start))
        after.append(procrustes_r2(sheet, model.embedding_))
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.4))
    titles = ("truth", "Laplacian eigenmaps", "DRUR")
    for axis, Z, title in zip(axes, (sheet, start, model.embedding_), titles, strict=True):
        axis.scatter(*Z.T, c=sheet[:, 0], s=6)
        axis.set_title(title)
    figure.savefig(folder / "laplacian.png", dpi=90)
    return {"laplacian eigenmaps": before, "drur": after}


def noisy_roll(_):
    """Data noise of 0.5, latent noise of 10, default weight and stopping; and R^2 as turns go on."""
    setting = {"noise": 0.5, "n_centers": 30, "alpha": 1e-5}
    runs = [restored(1000, 10, seed, **setting) for seed in range(5)]
    most = (1, 2, 4, 8, 16, 50)
    fewer = [
        [restored(1000, 10, seed, max_iter=turns, **setting)[1] for turns in most]
        for seed in range(2)
    ]
    return {
        "after": summary([run[1] for run in runs]),
        "turns": [run[2].n_iter_ for run in runs],
        f"r2 at most {most} turns": fewer,
    }


def hole(folder):
    """Swiss roll with a hole, n = 791, from Isomap with five neighbours (Fig. 8)."""
    before, after = [], []
    for seed in range(5):
        X, sheet = make_swiss_roll(791, hole=True, random_state=seed)
        start = isomap(X, 2, np.random.default_rng(seed), n_neighbors=5)
        model = DRUR(init=start, random_state=seed, **ROLL).fit(X)
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


EXPERIMENTS = {
    "spiral": spiral,
    "curves": curves,
    "roll": roll,
    "laplacian": laplacian,
    "noisy_roll": noisy_roll,
    "hole": hole,
    "wide_roll": wide_roll,
    "rotated": rotated,
    "runtime": runtime,
}


if __name__ == "__main__":
    run(EXPERIMENTS, "pdrur2010", __doc__)
