"""Two-way models on held-out digits: the table of the README.

    python benchmarks/two_way_digits.py [--seeds 3] [--json results.json]

8x8 digits, 10 % held out by ``train_test_split(random_state=0)``, two latent dimensions. The
embedding's seed varies; medians are reported. scikit-learn's own invertible methods stand beside.
"""

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split

import twofold
from twofold import UKR, TwoWay
from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error

CONTESTANTS = {
    "PCA (scikit-learn)": lambda seed: PCA(2),
    "KernelPCA, RBF kernel (scikit-learn)": lambda seed: KernelPCA(
        2, kernel="rbf", gamma=1e-3, alpha=0.01, fit_inverse_transform=True
    ),
    "`TwoWay('pca')`": lambda seed: TwoWay("pca", random_state=seed),
    "`TwoWay('isomap')`": lambda seed: TwoWay("isomap", random_state=seed),
    "`TwoWay('laplacian_eigenmaps')`": lambda seed: TwoWay(
        "laplacian_eigenmaps", random_state=seed
    ),
    "`TwoWay(TSNE())`": lambda seed: TwoWay(TSNE(random_state=seed), random_state=seed),
    "`UKR()`": lambda seed: UKR(random_state=seed),
}


def measure(model, X, X_test, y, y_test):
    start = time.perf_counter()
    model.fit(X)
    fitted = time.perf_counter()
    Z_test = model.transform(X_test)
    rebuilt = model.inverse_transform(Z_test)
    mapped = time.perf_counter()
    Z = getattr(model, "embedding_", None)
    Z = model.transform(X) if Z is None else Z
    return {
        "error": relative_reconstruction_error(X_test, rebuilt),
        "accuracy": nearest_neighbor_accuracy(Z, y, Z_test, y_test),
        "fit_seconds": fitted - start,
        "map_seconds": mapped - fitted,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    results = {}
    print("| method | held-out error | 1-NN accuracy | fit, s | 180 digits down and up, s |")
    print("|---|---|---|---|---|")
    for name, make in CONTESTANTS.items():
        runs = [measure(make(seed), X, X_test, y, y_test) for seed in range(options.seeds)]
        results[name] = runs
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        print(
            f"| {name} | {median['error']:.3f} | {median['accuracy']:.3f} "
            f"| {median['fit_seconds']:.1f} | {median['map_seconds']:.2f} |",
            flush=True,
        )
    if options.json:
        versions = {module.__name__: module.__version__ for module in (twofold, np, sklearn)}
        record = {"results": results, "versions": versions, "machine": platform.platform()}
        options.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
