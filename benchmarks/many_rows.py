"""UKR and DRUR with many rows: MNIST beside umap-learn and an autoencoder, growth.

    python -m benchmarks.many_rows [ukr_mnist] [drur_mnist] [growth] [--folder many-rows]
                                   [--publish]

Writes ``results.json`` and pictures into the folder. Compare times only within one run. MNIST
comes from the data folder (``TWOFOLD_DATA``); umap-learn and PyTorch take part if they are
installed, and their code is compiled before the clock starts. ``--publish`` keeps the figures in
``many_rows.json`` beside this file and writes the section of docs/measured.md from that file.
"""

import argparse
import pickle
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import trustworthiness

from benchmarks.harness import ROOT
from benchmarks.harness.jobs import alone
from benchmarks.harness.kept import figures_table, origin, publish, recorded
from benchmarks.harness.machine import is_installed, usable_cores
from benchmarks.harness.records import write_json
from benchmarks.rivals.networks import Autoencoder
from twofold import DRUR, UKR
from twofold.cli.measurement import time_steps, timed
from twofold.datasets import load_mnist
from twofold.kernels import Gaussian
from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, save_figure
from twofold.ukr.regression import KernelRegression

KEPT = ROOT / "benchmarks" / "many_rows.json"
MARKS = (
    "<!-- many rows: written by python -m benchmarks.many_rows --publish; do not edit -->",
    "<!-- many rows: end -->",
)
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
    return {f"{n:,}": alone(fit_once, n=n) for n in GROWTH}


def median_seconds(function, repeats=5):
    function()
    return float(np.median([timed(function)[0] for _ in range(repeats)]))


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
            "encode one row, s": median_seconds(lambda: model.transform(X_test[:1])),
            "init": model.init_,
            "held-out error": found.error,
            "1-NN accuracy": nearest_neighbor_accuracy(Z, data.y_train, found.latents, data.y_test),
            "same class among 100 neighbors": same.mean(),
            "trustworthiness": trustworthiness(X[some], Z[some]),
            "strays": int((mass < 0.1).sum()),
        }
    }
    results |= autoencoder(data, 2)
    if not is_installed("umap"):
        return results
    return results | {"umap-learn": umap_mnist(X, X_test, data)}


def umap_mnist(X, X_test, data):
    """Measure umap-learn; decoding is slow, so only 200 rows are decoded."""
    import umap

    umap.UMAP().fit(X[:5_000]).transform(X[:100])  # compiles; fewer rows use another search
    fit_seconds, model = timed(lambda: umap.UMAP().fit(X))
    transform_seconds, Z_test = timed(lambda: model.transform(X_test))
    few = np.random.default_rng(0).permutation(len(X_test))[:200]
    rebuilt = model.inverse_transform(Z_test[few])
    return {
        "fit, s": fit_seconds,
        "encode, s": transform_seconds,
        "1-NN accuracy": nearest_neighbor_accuracy(
            model.embedding_, data.y_train, Z_test, data.y_test
        ),
        "held-out error": relative_reconstruction_error(X_test[few], rebuilt),
    }


def drur_mnist(_):
    """DRUR on MNIST in ten and two dimensions, by its map and by projection."""
    data = load_mnist()
    X, X_test = (A.astype(np.float32) / 255.0 for A in (data.X_train, data.X_test))
    results = {}
    for q, setting in {10: {"init": "pca"}, 2: {}}.items():
        settings = {"n_centers": (500, 1_000), "store_embedding": False, "random_state": 0}
        model = DRUR(q, **settings, **setting)
        one = {"fit, s": timed(lambda model=model: model.fit(X))[0], "turns": model.n_iter_}
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
    return {f"autoencoder q={q}": {**seconds_of(found), "held-out error": found.error}}


def seconds_of(found):
    return {
        "fit, s": found.fit_seconds,
        "encode, s": found.transform_seconds,
        "decode, s": found.inverse_seconds,
    }


def draw(model, data, folder, name):
    """Draw the latent map and the decoded grid."""
    latent_map = LatentMapDisplay.from_estimator(model, labels=data.y_train)
    save_figure(latent_map, folder / f"{name}-map.png")
    decoded = DecodedGridDisplay.from_estimator(model, image_shape=data.image_shape, n_side=24)
    save_figure(decoded, folder / f"{name}-decoded.png")


EXPERIMENTS = {function.__name__: function for function in (ukr_mnist, drur_mnist, growth)}
WORDS = {
    "ukr_mnist": "MNIST, 60,000 digits to fit and 10,000 held out, two dimensions. umap-learn and "
    "an autoencoder (that of `benchmarks/rivals` at this commit) are in the table if they are "
    "installed; the error of umap-learn, whose decoder is slow, is that of 200 of the rows.",
    "drur_mnist": "MNIST by `DRUR` with 500 and 1,000 centers, encoded by its own map or by "
    "projection, beside the autoencoder if it is installed.",
    "growth": "`UKR()` on a noisy sheet in 50 columns, each fit in a process of its own.",
}


def section(parts):
    """Return the section of docs/measured.md, each part with its command, commit and date."""
    written = []
    for part, record in parts.items():
        rows = {label: one for label, one in record["figures"].items() if isinstance(one, dict)}
        said = origin(f"python -m benchmarks.many_rows {part}", record)
        first = "rows" if part == "growth" else "method"
        written += [f"{said} {WORDS[part]}", figures_table(first, rows)]
    return "\n\n".join(written)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("parts", nargs="*", choices=[*EXPERIMENTS, []], default=[])
    add("--folder", type=Path, default=Path("many-rows"), help="for results and pictures")
    add("--publish", action="store_true", help="write docs/measured.md")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    measured = {}
    for part in options.parts or EXPERIMENTS:
        measured[part] = recorded(EXPERIMENTS[part](options.folder), "umap-learn", "torch")
        print(part, measured[part]["figures"], flush=True)
        write_json(options.folder / "results.json", measured)
    if options.publish:
        publish(KEPT, measured, EXPERIMENTS, ROOT / "docs" / "measured.md", MARKS, section)


if __name__ == "__main__":
    from benchmarks import many_rows  # whose functions other processes can import

    warnings.simplefilter("ignore", ConvergenceWarning)
    many_rows.main()
