"""Two-way models on held-out digits: the table of docs/measured.md.

    python -m benchmarks.two_way_digits [--seeds 3] [--json results.json]

8x8 digits, 10 % held out by ``train_test_split(random_state=0)``, two latent dimensions. The seed
of the embedding varies, and the table shows medians. scikit-learn's own invertible methods take
part. Takes about three minutes on two cores.
"""

import argparse
import statistics
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split

from benchmarks.harness.records import described, write_json
from twofold import UKR, TwoWay
from twofold.cli.measurement import time_steps
from twofold.metrics import nearest_neighbor_accuracy

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
    found = time_steps(model, X, X_test)
    Z = getattr(model, "embedding_", None)
    Z = model.transform(X) if Z is None else Z
    return {
        "error": found.error,
        "accuracy": nearest_neighbor_accuracy(Z, y, found.latents, y_test),
        "fit_seconds": found.fit_seconds,
        "map_seconds": found.transform_seconds + found.inverse_seconds,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args(arguments)
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    record = described() | {"seeds": list(range(options.seeds)), "results": {}}
    print(
        "| method | held-out error | 1-NN accuracy | fit, s | 180 digits encoded and decoded, s |"
    )
    print("|---|---|---|---|---|")
    for name, make in CONTESTANTS.items():
        runs = [measure(make(seed), X, X_test, y, y_test) for seed in record["seeds"]]
        record["results"][name] = runs
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        print(
            f"| {name} | {median['error']:.3f} | {median['accuracy']:.3f} "
            f"| {median['fit_seconds']:.1f} | {median['map_seconds']:.2f} |",
            flush=True,
        )
    if options.json:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
