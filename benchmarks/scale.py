"""UKR at scale: growth of time and memory, speed against matrix products, MNIST and USPS beside umap-learn.

    python benchmarks/scale.py [--only rate first_call usps mnist direct growth] [--folder scale]

Writes ``results.json`` and pictures into the folder. Timings are ratios of one run. MNIST and USPS come from the
data folder (``TWOFOLD_DATA``); umap-learn and PyTorch are used where they are installed. Compiled code is warm
for both. "growth" to a million rows takes about eight minutes, "direct" (the start and the sums for many rows
against those for few, on tables that both can fit) about fifteen, the rest eight.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import make_blobs, make_swiss_roll
from sklearn.manifold import trustworthiness

import twofold
from twofold import UKR
from twofold.datasets import load_mnist, load_usps
from twofold.kernels import Gaussian
from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error
from twofold.numerics.sums import CellWeights, kernel_radius
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, save_figure
from twofold.ukr import settings as ukr_settings
from twofold.ukr.regression import CELL_TOLERANCE, KernelRegression


def noisy_sheet(n, seed=0):
    """Return a curved sheet in 50 dimensions with noise in all of them."""
    rng = np.random.default_rng(seed)
    lift = np.random.default_rng(0).standard_normal((9, 50))
    sheet, _ = make_swiss_roll(n, random_state=seed)
    lifted = np.hstack([np.sin(sheet / 4.0), np.cos(sheet / 6.0), sheet / 10.0])
    X = lifted @ lift + 0.3 * rng.standard_normal((n, 50))
    return X.astype(np.float32)


def fit_once(n, connection):
    """Fit in a process of its own, so that its peak memory is its own."""
    warm()
    X, test = noisy_sheet(n), noisy_sheet(2_000, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model = UKR(random_state=0).fit(X)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {
        "seconds": seconds,
        "peak_gb": peak / 2**20,
        "peak_before_gb": before / 2**20,
        "score": model.score(test),
        "init": model.init_,
    }
    connection.send(result)


def warm():
    UKR(init="pca", homotopy=False, max_iter=2, random_state=0).fit(noisy_sheet(6_000))


def growth(_):
    results = {}
    context = multiprocessing.get_context("spawn")
    for n in (10**4, 10**5, 10**6):
        here, there = context.Pipe()
        process = context.Process(target=fit_once, args=(n, there))
        process.start()
        results[str(n)] = here.recv()
        process.join()
        print(n, results[str(n)], flush=True)
    keys = list(results)
    for key in ("seconds", "peak_gb"):
        results[f"{key}_ratios"] = [results[b][key] / results[a][key] for a, b in pairwise(keys)]
    return results


def rate(_):
    """Value and gradient at 100,000 x 50: all products made, and those within the radius."""
    rng = np.random.default_rng(0)
    n, n_features = 100_000, 50
    Z = rng.random((n, 2)) * np.sqrt(n / 3.0)
    X = rng.standard_normal((n, n_features)).astype(np.float32)
    objective = KernelRegression.of(X, Gaussian()).objective()
    square = rng.standard_normal((3_000, 3_000)).astype(np.float32)
    evaluation = median_seconds(lambda: objective.value_and_grad(Z))
    product = median_seconds(lambda: square @ square)
    radius = kernel_radius(Gaussian(), CELL_TOLERANCE)
    pairs = CellWeights.of(Z, Gaussian(), radius=radius).cells.n_pairs
    within = n * 3.0 * np.pi * radius**2
    gemm = 2.0 * len(square) ** 3 / product / 1e9
    return {
        "seconds": evaluation,
        "gemm_gflops": gemm,
        "gflops": 4.0 * n_features * pairs / evaluation / 1e9,
        "share_of_gemm": 4.0 * n_features * pairs / evaluation / 1e9 / gemm,
        "share_of_gemm_within_radius": 4.0 * n_features * within / evaluation / 1e9 / gemm,
    }


def median_seconds(function, repeats=5):
    function()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def first_call(_):
    """Seconds of the first fit and transform of a fresh process, with an empty compile cache and a full one."""
    program = (
        "import time, numpy as np, warnings; warnings.simplefilter('ignore'); from twofold import UKR\n"
        "X = np.random.default_rng(0).standard_normal((6000, 10)).cumsum(axis=1)\n"
        "for _ in range(2):\n"
        "    began = time.perf_counter()\n"
        "    UKR(init='pca', homotopy=False, max_iter=5, random_state=0).fit(X).transform(X[:500])\n"
        "    print(time.perf_counter() - began)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        runs = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            runs.append([float(line) for line in done.stdout.split()])
    return {
        "empty_cache": {"first": runs[0][0], "second": runs[0][1]},
        "full_cache": {"first": runs[1][0], "second": runs[1][1]},
        "first_minus_second": runs[0][0] - runs[0][1],
    }


def tables(n):
    """Return tables of n rows of which no setting was chosen on: (name, train, test)."""
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
            ukr_settings.MANY_ROWS = most
            model = UKR(1 if name == "curve" else 2, random_state=0)
            began = time.perf_counter()
            score = model.fit(np.asarray(X, dtype=np.float64)).score(X_test)
            seconds = time.perf_counter() - began
            row[way] = {"error": 1.0 - score, "seconds": seconds, "init": model.init_}
        row["ratio"] = row["many"]["error"] / row["few"]["error"]
        results[name] = row
        print(name, row, flush=True)
    ukr_settings.MANY_ROWS = 5_000
    return results


def judge(model, data, folder, name):
    """Fit a model and measure what a user would see."""
    X, X_test = data.X_train.astype(np.float64), data.X_test.astype(np.float64)
    began = time.perf_counter()
    model.fit(X)
    fitted = time.perf_counter()
    Z_test = model.transform(X_test)
    down = time.perf_counter()
    rebuilt = model.inverse_transform(Z_test)
    up = time.perf_counter()
    one = median_seconds(lambda: model.transform(X_test[:1]))
    Z = model.embedding_
    some = np.random.default_rng(0).permutation(len(Z))[:3_000]
    _, near = cKDTree(Z).query(Z[some], k=101)
    same = data.y_train[near[:, 1:]] == data.y_train[some, None]
    mass = KernelRegression.of(Z, Gaussian()).weigh(Z).mass
    latent_map = LatentMapDisplay.from_estimator(model, labels=data.y_train)
    save_figure(latent_map, folder / f"{name}-map.png")
    decoded = DecodedGridDisplay.from_estimator(model, image_shape=data.image_shape, n_side=24)
    save_figure(decoded, folder / f"{name}-decoded.png")
    return {
        "fit_seconds": fitted - began,
        "transform_seconds": down - fitted,
        "inverse_transform_seconds": up - down,
        "one_row_seconds": one,
        "init": model.init_,
        "held_out_error": relative_reconstruction_error(X_test, rebuilt),
        "nearest_neighbor_accuracy": nearest_neighbor_accuracy(
            Z, data.y_train, Z_test, data.y_test
        ),
        "same_class_of_100": float(same.mean()),
        "trustworthiness": float(trustworthiness(X[some], Z[some])),
        "strays": int((mass < 0.1).sum()),
    }


def usps(folder):
    warm()
    return judge(UKR(random_state=0), load_usps(), folder, "usps")


def mnist(folder):
    warm()
    data = load_mnist()
    results = {"UKR": judge(UKR(random_state=0), data, folder, "mnist")}
    results |= autoencoder(data)
    try:
        import umap
    except ImportError:
        return results
    X, X_test = data.X_train.astype(np.float64), data.X_test.astype(np.float64)
    umap.UMAP().fit(X[:5_000]).transform(X[:100])  # compiles; of fewer rows, another search
    began = time.perf_counter()
    model = umap.UMAP().fit(X)
    fitted = time.perf_counter()
    Z_test = model.transform(X_test)
    down = time.perf_counter()
    accuracy = nearest_neighbor_accuracy(model.embedding_, data.y_train, Z_test, data.y_test)
    few = np.random.default_rng(0).permutation(len(X_test))[:200]
    rebuilt = model.inverse_transform(Z_test[few])
    results["umap-learn"] = {
        "fit_seconds": fitted - began,
        "transform_seconds": down - fitted,
        "nearest_neighbor_accuracy": accuracy,
        "held_out_error_of_200": relative_reconstruction_error(X_test[few], rebuilt),
    }
    results["ratios"] = {
        key: results["UKR"][key] / results["umap-learn"][key]
        for key in ("fit_seconds", "transform_seconds")
    }
    return results


def autoencoder(data, q=2, epochs=50):
    """Train D-128-128-q-128-128-D with Adam, where PyTorch is installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.manual_seed(0)
    X, X_test = (torch.tensor(A / 255.0, dtype=torch.float32) for A in (data.X_train, data.X_test))
    widths = [X.shape[1], 128, 128, q, 128, 128, X.shape[1]]
    layers = []
    for number, (before, after) in enumerate(pairwise(widths)):
        layers.append(torch.nn.Linear(before, after))
        if number not in (2, 5):
            layers.append(torch.nn.ReLU())
    network = torch.nn.Sequential(*layers)
    adam = torch.optim.Adam(network.parameters(), 1e-3)
    began = time.perf_counter()
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(256):
            adam.zero_grad()
            torch.nn.functional.mse_loss(network(X[rows]), X[rows]).backward()
            adam.step()
    seconds = time.perf_counter() - began
    with torch.no_grad():
        rebuilt = network(X_test).numpy()
    error = relative_reconstruction_error(X_test.numpy(), rebuilt)
    return {f"autoencoder q={q}": {"fit_seconds": seconds, "held_out_error": error}}


EXPERIMENTS = {
    "rate": rate,
    "first_call": first_call,
    "usps": usps,
    "mnist": mnist,
    "direct": direct,
    "growth": growth,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--folder", type=Path, default=Path("scale"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {
        "twofold": twofold.__version__,
        "numpy": np.__version__,
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "seed": 0,
    }
    for name in options.only:
        results[name] = EXPERIMENTS[name](options.folder)
        print(f"{name}: {json.dumps(results[name], indent=1)}", flush=True)
        (options.folder / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
