"""UKR and DRUR with many rows: MNIST beside umap-learn and an autoencoder, growth, speed.

    python -m benchmarks.many_rows [--only ukr_mnist drur_mnist rate direct growth]
                                   [--folder many-rows]

Writes ``results.json`` and pictures into the folder. Compare times only within one run. MNIST
comes from the data folder (``TWOFOLD_DATA``); umap-learn and PyTorch take part if they are
installed, and their code is compiled before the clock starts. On two cores, "growth" to a million
rows takes about eight minutes, "direct" (the fit for many rows against the fit for few, on tables
that both can fit) about fifteen, and the others about ten together.
"""

import argparse
import pickle
import warnings
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import make_blobs, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import trustworthiness

from benchmarks.harness.jobs import alone
from benchmarks.harness.machine import is_installed, usable_cores
from benchmarks.harness.records import described, write_json
from benchmarks.rivals.adapters import Autoencoder
from twofold import DRUR, UKR
from twofold.cli.measurement import time_steps, timed
from twofold.datasets import load_mnist
from twofold.kernels import Gaussian
from twofold.maps.affine import Chain
from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error
from twofold.numerics.sums.cells import CellWeights
from twofold.numerics.sums.reach import kernel_radius
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, save_figure
from twofold.ukr import settings
from twofold.ukr.regression import KernelRegression

GROWTH = (10**4, 10**5, 10**6)


def noisy_sheet(n, seed=0):
    """Return a curved sheet (n, 50) with noise in all 50 features."""
    rng = np.random.default_rng(seed)
    lift = np.random.default_rng(0).standard_normal((9, 50))
    sheet, _ = make_swiss_roll(n, random_state=seed)
    lifted = np.hstack([np.sin(sheet / 4.0), np.cos(sheet / 6.0), sheet / 10.0])
    X = lifted @ lift + 0.3 * rng.standard_normal((n, 50))
    return X.astype(np.float32)


def warm():
    """Compile the loops for many rows."""
    UKR(init="pca", homotopy=False, max_iter=2, random_state=0).fit(noisy_sheet(6_000))


def fit_once(n):
    """Fit n rows in a process of its own."""
    warm()
    X = noisy_sheet(n)
    seconds, model = timed(lambda: UKR(random_state=0).fit(X))
    score = model.score(noisy_sheet(2_000, seed=1))
    return {"seconds": seconds, "score": score, "init": model.init_}


def growth(_):
    """Time and peak memory as rows grow."""
    results = {n: alone(fit_once, n=n) for n in GROWTH}
    ratios = {
        f"{key}_ratios": [results[b][key] / results[a][key] for a, b in pairwise(GROWTH)]
        for key in ("seconds", "peak_gb")
    }
    return results | ratios


def rate(_):
    """Value and gradient at 100,000 x 50, as a share of the speed of a matrix product."""
    rng = np.random.default_rng(0)
    n, n_features = 100_000, 50
    Z = rng.random((n, 2)) * np.sqrt(n / 3.0)
    X = rng.standard_normal((n, n_features)).astype(np.float32)
    objective = KernelRegression.of(X, Gaussian(), many=True).objective()
    square = rng.standard_normal((3_000, 3_000)).astype(np.float32)
    evaluation = median_seconds(lambda: objective.value_and_grad(Z))
    product = median_seconds(lambda: square @ square)
    radius = kernel_radius(Gaussian(), settings.CELL_TOLERANCE)
    pairs = CellWeights.of(Z, Gaussian(), radius=radius).cells.n_pairs
    within = n * 3.0 * np.pi * radius**2
    gemm = 2.0 * len(square) ** 3 / product / 1e9
    gflops = 4.0 * n_features * pairs / evaluation / 1e9
    return {
        "seconds": evaluation,
        "gemm_gflops": gemm,
        "gflops": gflops,
        "share_of_gemm": gflops / gemm,
        "share_of_gemm_within_radius": gflops / gemm * within / pairs,
    }


def median_seconds(function, repeats=5):
    function()
    return float(np.median([timed(function)[0] for _ in range(repeats)]))


def tables(n):
    """Return tables of n rows on which no setting was chosen: (name, train, test)."""
    rng = np.random.default_rng(5)
    roll, _ = make_swiss_roll(2 * n, noise=0.3, random_state=5)
    angle = rng.uniform(0.0, 3.0, 2 * n)[:, None] * np.arange(1, 6)
    curve = np.hstack([np.sin(angle), np.cos(angle)]) + 0.05 * rng.standard_normal((2 * n, 10))
    blobs, _ = make_blobs(2 * n, 20, centers=12, cluster_std=2.0, random_state=5)
    digits = load_mnist()
    order = rng.permutation(len(digits.X_train))[:n]
    return [
        ("mnist", digits.X_train[order] / 255.0, digits.X_test[: n // 3] / 255.0),
        *((name, X[:n], X[n:]) for name, X in [("roll", roll), ("curve", curve), ("blobs", blobs)]),
    ]


def direct(_):
    """Held-out errors of the fit for many rows and of the fit for few, on the same tables."""
    results = {}
    for name, X, X_test in tables(3_000):
        row = {}
        for way, most in (("many", 1_000), ("few", 10**9)):
            with patch.object(settings, "MANY_ROWS", most):
                model = UKR(1 if name == "curve" else 2, random_state=0)
                seconds, _ = timed(lambda X=X, model=model: model.fit(np.asarray(X, np.float64)))
            # Only the fit for many rows encodes by a chain: into the leading subspace, then on.
            assert isinstance(model.encoder_, Chain) == (way == "many")
            error = 1.0 - model.score(X_test)
            row[way] = {"error": error, "seconds": seconds, "init": model.init_}
        row["ratio"] = row["many"]["error"] / row["few"]["error"]
        results[name] = row
        print(name, row, flush=True)
    return results


def ukr_mnist(folder):
    """UKR on MNIST in two dimensions, beside an autoencoder and umap-learn."""
    warm()
    data = load_mnist()
    X, X_test = data.X_train.astype(np.float64), data.X_test.astype(np.float64)
    model = UKR(random_state=0)
    found = time_steps(model, X, X_test)
    Z = model.embedding_
    some = np.random.default_rng(0).permutation(len(Z))[:3_000]
    _, near = cKDTree(Z).query(Z[some], k=101)
    same = data.y_train[near[:, 1:]] == data.y_train[some, None]
    mass = KernelRegression.of(Z, Gaussian(), many=True).weigh(Z).mass
    draw(model, data, folder, "mnist")
    results = {
        "UKR": {
            **seconds_of(found),
            "one_row_seconds": median_seconds(lambda: model.transform(X_test[:1])),
            "init": model.init_,
            "held_out_error": found.error,
            "nearest_neighbor_accuracy": nearest_neighbor_accuracy(
                Z, data.y_train, found.latents, data.y_test
            ),
            "same_class_of_100": same.mean(),
            "trustworthiness": trustworthiness(X[some], Z[some]),
            "strays": int((mass < 0.1).sum()),
        }
    }
    results |= autoencoder(data, 2)
    if not is_installed("umap"):
        return results
    theirs = results["umap-learn"] = umap_mnist(X, X_test, data)
    keys = ("fit_seconds", "transform_seconds")
    return results | {"ratios": {key: results["UKR"][key] / theirs[key] for key in keys}}


def umap_mnist(X, X_test, data):
    """Measure umap-learn; decoding is slow, so only 200 rows are decoded."""
    import umap

    umap.UMAP().fit(X[:5_000]).transform(X[:100])  # compiles; fewer rows use another search
    fit_seconds, model = timed(lambda: umap.UMAP().fit(X))
    transform_seconds, Z_test = timed(lambda: model.transform(X_test))
    few = np.random.default_rng(0).permutation(len(X_test))[:200]
    rebuilt = model.inverse_transform(Z_test[few])
    return {
        "fit_seconds": fit_seconds,
        "transform_seconds": transform_seconds,
        "nearest_neighbor_accuracy": nearest_neighbor_accuracy(
            model.embedding_, data.y_train, Z_test, data.y_test
        ),
        "held_out_error_of_200": relative_reconstruction_error(X_test[few], rebuilt),
    }


def drur_mnist(_):
    """DRUR on MNIST in ten and two dimensions, by its map and by projection."""
    data = load_mnist()
    X, X_test = (A.astype(np.float32) / 255.0 for A in (data.X_train, data.X_test))
    results = {}
    for q, setting in {10: {"init": "pca"}, 2: {}}.items():
        settings = {"n_centers": (500, 1_000), "store_embedding": False, "random_state": 0}
        model = DRUR(q, **settings, **setting)
        one = {"fit_seconds": timed(lambda model=model: model.fit(X))[0], "turns": model.n_iter_}
        one["pickle_mb"] = len(pickle.dumps(model)) / 1e6
        for method in ("map", "project"):
            seconds, Z = timed(
                lambda model=model, method=method: model.transform(X_test, method=method)
            )
            error = relative_reconstruction_error(X_test, model.inverse_transform(Z))
            one |= {f"{method} seconds": seconds, f"{method} error": error}
        results[f"DRUR, q = {q}"] = one | {"default": model.method_}
        results |= autoencoder(data, q)
    return results


def autoencoder(data, q):
    """Measure D-128-128-q-128-128-D with Adam if PyTorch is installed."""
    if not is_installed("torch"):
        return {}
    model = Autoencoder(0, usable_cores(), n_components=q)
    found = time_steps(model, data.X_train / 255.0, data.X_test / 255.0)
    return {f"autoencoder q={q}": {**seconds_of(found), "held_out_error": found.error}}


def seconds_of(found):
    return {
        "fit_seconds": found.fit_seconds,
        "transform_seconds": found.transform_seconds,
        "inverse_transform_seconds": found.inverse_seconds,
    }


def draw(model, data, folder, name):
    """Draw the latent map and the decoded grid."""
    latent_map = LatentMapDisplay.from_estimator(model, labels=data.y_train)
    save_figure(latent_map, folder / f"{name}-map.png")
    decoded = DecodedGridDisplay.from_estimator(model, image_shape=data.image_shape, n_side=24)
    save_figure(decoded, folder / f"{name}-decoded.png")


EXPERIMENTS = {
    function.__name__: function for function in (ukr_mnist, drur_mnist, rate, direct, growth)
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    add("--folder", type=Path, default=Path("many-rows"), help="for results and pictures")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    results = described("umap-learn", "torch") | {"seed": 0}
    for name in options.only:
        results[name] = EXPERIMENTS[name](options.folder)
        print(name, results[name], flush=True)
        write_json(options.folder / "results.json", results)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
