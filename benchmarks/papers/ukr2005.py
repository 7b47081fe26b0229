"""The experiments of Meinicke et al. (2005), section 4, beside the paper's figures.

    python benchmarks/papers/ukr2005.py [--only spiral digits times oil] [--folder ukr2005]

Writes ``results.json`` and pictures into the folder. USPS digits and oil flow data come from the data folder
(``TWOFOLD_DATA``). All four take about ten minutes on two cores.
"""

import time
import warnings

import numpy as np
from experiments import run
from matplotlib.figure import Figure
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.neighbors import KNeighborsClassifier

from twofold import UKR
from twofold.candidates import scaled_candidate
from twofold.datasets import load_oil_flow, load_usps, make_noisy_spiral
from twofold.density import KernelDensityClassifier
from twofold.initializers import lle
from twofold.kernel_regression import KernelRegression
from twofold.kernels import Compact, Gaussian
from twofold.objectives import GramReconstruction, Reconstruction
from twofold.optimize import RProp
from twofold.plotting import (
    CandidatesDisplay,
    ClassBordersDisplay,
    DecodedGridDisplay,
    LatentMapDisplay,
    ManifoldDisplay,
    save_figure,
)

SPIRAL_SEEDS = range(100, 110)
"""Samples that no setting was chosen on."""


def spiral(folder):
    """Figs. 1-2, Table 1: errors at 200 iterations, and with the default stopping rule."""
    runs = []
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    for seed in SPIRAL_SEEDS:
        X, _ = make_noisy_spiral(300, random_state=seed)
        test, _ = make_noisy_spiral(3_000, random_state=1_000 + seed)
        clean, _ = make_noisy_spiral(3_000, noise=0.0, random_state=2_000 + seed)
        models = {
            "one iteration": UKR(1, max_iter=1, random_state=seed),
            "defaults": UKR(1, random_state=seed),
            "200 iterations": UKR(1, max_iter=200, tol=0.0, random_state=seed),
        }
        run = {"seed": seed}
        for number, (name, model) in enumerate(models.items()):
            model.fit(X)
            run[name] = {
                "start": model.candidates_[0]["cv_error"],
                "init": model.init_,
                "cv_error": model.cv_error_,
                "projection_error": float(np.square(model.reconstruction_error(test)).mean()),
                "clean_error": float(np.square(model.reconstruction_error(clean)).mean()),
                "iterations": model.n_iter_,
            }
            if seed == SPIRAL_SEEDS[0]:
                ManifoldDisplay.from_estimator(model, X, ax=axes[number])
                axes[number].set_title(f"{name}: CV error {model.cv_error_:.5f}")
        runs.append(run)
    save_figure(axes[0], folder / "spiral.png")
    medians = {
        name: {
            key: float(np.median([run[name][key] for run in runs]))
            for key in ("start", "cv_error", "projection_error", "clean_error")
        }
        for name in models
    }
    return {
        "paper": {"start": 0.00429, "cv_error": 0.00178, "projection_error": 0.00232},
        "median": medians,
        "runs": runs,
    }


def digits(folder):
    """Figs. 3-4: the USPS digit "2"; candidates' errors, then 500 iterations from 12 neighbours."""
    X = load_twos()
    neighbours = range(4, 31, 2)
    results = {"paper": {"gaussian": [83.53, 50.90], "quartic": [83.62, 51.52]}}
    errors, starts = {}, {}
    for kernel in ("gaussian", "quartic"):
        all_starts = [f"lle:{k}" for k in neighbours]
        compared = UKR(2, kernel=kernel, init=all_starts, max_iter=1, random_state=0).fit(X)
        starts[kernel] = compared
        found = {row["name"]: row["cv_error"] for row in compared.candidates_}
        errors[kernel] = [found[name] for name in all_starts]
        model = UKR(2, kernel=kernel, init="lle:12", max_iter=500, tol=0.0, random_state=0).fit(X)
        results[kernel] = {
            "best_candidate": compared.init_,
            "start": model.candidates_[0]["cv_error"],
            "end": model.cv_error_,
            "iterations": model.n_iter_,
        }
        latent_map = LatentMapDisplay.from_estimator(model)
        save_figure(latent_map, folder / f"digits-{kernel}-latents.png")
        decoded = DecodedGridDisplay.from_estimator(model, image_shape=(16, 16), n_side=18)
        save_figure(decoded, folder / f"digits-{kernel}-manifold.png")
    save_figure(CandidatesDisplay.from_estimators(starts), folder / "digits-candidates.png")
    results["neighbours"], results["candidates"] = list(neighbours), errors
    return results


def load_twos():
    usps = load_usps()
    return usps.X_train[usps.y_train == 2]


def times(_):
    """Table 2: CPU seconds of 500 RPROP steps from the same start, in four ways."""
    X = load_twos()
    X = X - X.mean(axis=0)
    start = lle(X, 2, np.random.default_rng(0), n_neighbors=12)
    seconds, ends = {}, {}
    for name, kernel in (("gaussian", Gaussian()), ("quartic", Compact())):
        scheme = KernelRegression.of(X, kernel, pseudo_count=0.0)
        candidate = scaled_candidate("lle", start, scheme.objective().value, kernel)
        for form, objective in (
            ("data space", Reconstruction(X, scheme.weigh)),
            ("feature space", GramReconstruction(scheme.gram, scheme.weigh)),
        ):
            RProp(max_iter=2).minimize(objective, candidate.latents)  # compiles
            began = time.process_time()
            result = RProp(max_iter=500, tol=0.0).minimize(objective, candidate.latents)
            seconds[f"{form}, {name}"] = time.process_time() - began
            ends[f"{form}, {name}"] = float(result.history[-1])
    ratios = {
        form: seconds[f"{form}, gaussian"] / seconds[f"{form}, quartic"]
        for form in ("data space", "feature space")
    }
    fastest = [min(seconds[f"{form}, {k}"] for form in ratios) for k in ("gaussian", "quartic")]
    return {
        "paper": {"data space": 753 / 30, "feature space": 1085 / 25},
        "cpu_seconds": seconds,
        "errors_at_the_end": ends,
        "ratios": ratios,
        "ratio_of_the_faster_forms": fastest[0] / fastest[1],
    }


def oil(folder):
    """Fig. 5, Table 3: classes in latent space, test errors in per cent."""
    data = load_oil_flow()
    results = {
        "paper": {
            "L2": {"UKR": [0.9, 1.2], "PCA": [12.0, 15.2]},
            "L1": {"UKR": [0.6, 0.9], "PCA": [16.6, 17.7]},
        },
        "columns": ["kernel density classifier", "nearest neighbour"],
    }
    for norm, metric in (("L2", "euclidean"), ("L1", "l1")):
        results[norm] = {}
        for name, settings in {
            "UKR": {},
            "UKR, homotopy from PCA": {"init": "pca", "homotopy": True},
        }.items():
            model = UKR(2, metric=metric, random_state=0, **settings).fit(data.X_train)
            parts = [(model.transform(data[f"X_{p}"]), data[f"y_{p}"]) for p in ("test", "valid")]
            classifier = KernelDensityClassifier(bandwidth=1.0)
            results[norm][name] = {
                "init": model.init_,
                "cv_error": model.cv_error_,
                "test": classify(classifier, model.embedding_, data.y_train, *parts[0]),
                "valid": classify(classifier, model.embedding_, data.y_train, *parts[1]),
            }
            display = ClassBordersDisplay.from_estimator(model, classifier, *parts[0])
            display.ax_.set_title(f"oil flow, {norm}, {name}")
            slug = "homotopy" if settings else "auto"
            save_figure(display, folder / f"oil-{norm}-{slug}.png")
        Z, Z_test = linear_latents(norm, data)
        classifier = KernelDensityClassifier()
        results[norm]["PCA"] = {"test": classify(classifier, Z, data.y_train, Z_test, data.y_test)}
    return results


def linear_latents(norm, data):
    """Return PCA's latents, in L1 feature space those of kernel PCA, of training and test data."""
    if norm == "L2":
        pca = PCA(2).fit(data.X_train)
        return pca.transform(data.X_train), pca.transform(data.X_test)
    # Minus half the distance is conditionally positive definite: centring makes it a kernel.
    pca = KernelPCA(2, kernel="precomputed")
    Z = pca.fit_transform(-0.5 * manhattan_distances(data.X_train))
    return Z, pca.transform(-0.5 * manhattan_distances(data.X_test, data.X_train))


def classify(classifier, Z, y, Z_test, y_test):
    """Return the errors in per cent of a kernel density classifier and of the nearest neighbour."""
    nearest = KNeighborsClassifier(1)
    return [100.0 * (1.0 - m.fit(Z, y).score(Z_test, y_test)) for m in (classifier, nearest)]


EXPERIMENTS = {"spiral": spiral, "digits": digits, "times": times, "oil": oil}


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    run(EXPERIMENTS, "ukr2005", __doc__)
