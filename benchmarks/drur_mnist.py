"""DRUR on MNIST: through the down-map and by projection, beside an autoencoder in PyTorch.

    python benchmarks/drur_mnist.py [--folder drur_mnist]

Writes ``results.json`` and a picture into the folder. Timings are ratios of one run. MNIST comes
from the data folder (``TWOFOLD_DATA``). Takes about five minutes on two cores.
"""

import argparse
import json
import pickle
import platform
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scale import autoencoder

import twofold
from twofold import DRUR
from twofold.datasets import load_mnist
from twofold.metrics import relative_reconstruction_error

mpl.use("Agg")
import matplotlib.pyplot as plt


def mnist(folder):
    """MNIST through F and by projection, beside D-128-128-q-128-128-D in PyTorch."""
    data = load_mnist()
    X, X_test = (A.astype(np.float32) / 255.0 for A in (data.X_train, data.X_test))
    results = {}
    for q, setting in {10: {"init": "pca"}, 2: {}}.items():
        began = time.perf_counter()
        model = DRUR(
            q, n_centers=(500, 1_000), store_embedding=False, random_state=0, **setting
        ).fit(X)
        one = {"fit_seconds": time.perf_counter() - began, "turns": model.n_iter_}
        one["pickle_mb"] = len(pickle.dumps(model)) / 1e6
        for method in ("map", "project"):
            began = time.perf_counter()
            Z = model.transform(X_test, method=method)
            one[f"{method} seconds"] = time.perf_counter() - began
            error = relative_reconstruction_error(X_test, model.inverse_transform(Z))
            one[f"{method} error"] = error
        one["default"] = model.method_
        results[f"DRUR, q = {q}"] = one
        if q == 2:
            draw_mnist(folder, model, X_test, data.y_test)
        else:
            results["rates"] = rates(model, X)
        results |= autoencoder(data, q)
    return results


def draw_mnist(folder, model, X_test, y_test):
    Z = model.transform(X_test)
    figure, axes = plt.subplots(1, 2, figsize=(14, 7))
    axes[0].scatter(*Z.T, c=y_test, s=3, cmap="tab10")
    low, high = np.quantile(Z, 0.02, axis=0), np.quantile(Z, 0.98, axis=0)
    x, y = (np.linspace(low[i], high[i], 18) for i in range(2))
    grid = np.stack(np.meshgrid(x, y[::-1]), axis=-1).reshape(-1, 2)
    images = model.inverse_transform(grid).reshape(18, 18, 28, 28)
    axes[1].imshow(images.transpose(0, 2, 1, 3).reshape(18 * 28, -1), cmap="gray_r")
    axes[1].axis("off")
    figure.savefig(folder / "mnist.png", dpi=80)


def rates(model, X):
    """Return the times of both ways for 100,000 rows against the matrix products that they need."""
    X = np.concatenate([X, X])[:100_000].astype(np.float64)
    down = model._ways["map"]
    axes, centers, weights = (
        down.coordinates.axes.T.copy(),
        down.way.centers_.T.copy(),
        down.way.weights_,
    )
    up_centers, up_weights = model.decoder_.centers_.T.copy(), model.decoder_.weights_
    inside = np.ascontiguousarray(X[:, model._data_units.varying])
    Z = model.transform(X, method="map")

    def seconds(function):
        began = time.perf_counter()
        function()
        return time.perf_counter() - began

    def blocks(function):
        return [function(slice(start, start + 5_000)) for start in range(0, 100_000, 5_000)]

    products = {
        "transform": lambda: blocks(lambda rows: inside[rows] @ axes @ centers @ weights),
        "inverse_transform": lambda: blocks(lambda rows: Z[rows] @ up_centers @ up_weights),
    }
    calls = {
        "transform": lambda: model.transform(X, method="map"),
        "inverse_transform": lambda: model.inverse_transform(Z),
    }
    results = {}
    for name, call in calls.items():
        pairs = [(seconds(products[name]), seconds(call)) for _ in range(3)]
        needed, taken = (float(np.median(times)) for times in zip(*pairs, strict=True))
        results[name] = {"products": needed, "seconds": taken, "ratio": taken / needed}
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("drur_mnist"))
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    versions = {"twofold": twofold.__version__, "numpy": np.__version__}
    results = versions | {"machine": platform.platform()} | mnist(folder)
    print(json.dumps(results, indent=1))
    (folder / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
