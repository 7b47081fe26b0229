"""The experiments of Carreira-Perpinan & Lu (2010) with many rows or columns; run by `pdrur2010.py`.

The rotated digits come from the data folder (``TWOFOLD_DATA``).
"""

import multiprocessing
import resource
import time
from itertools import pairwise

import matplotlib as mpl
import numpy as np
from scipy.ndimage import rotate
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from twofold import DRUR
from twofold.datasets import load_mnist, make_swiss_roll
from twofold.metrics import procrustes_r2, relative_reconstruction_error

mpl.use("Agg")
import matplotlib.pyplot as plt

PAPER = {"n_centers": 70, "alpha": 1e-5, "max_iter": 10, "random_state": 0}
"""70 basis functions and 10 iterations, as in Fig. 10."""


def noisy_roll(n, n_features=3):
    X, sheet = make_swiss_roll(n, n_features=n_features, random_state=0)
    return X, sheet, sheet + 10.0 * np.random.default_rng(0).standard_normal(sheet.shape)


def umap_seconds(X):
    """Return how long umap-learn takes, compiled code being warm; None without it."""
    try:
        import umap
    except ImportError:
        return None
    umap.UMAP().fit(X[:2_000])
    began = time.perf_counter()
    umap.UMAP().fit(X)
    return time.perf_counter() - began


def warm():
    X, _, start = noisy_roll(1_000)
    DRUR(init=start, **PAPER).fit(X)


def wide_roll(_):
    """Swiss roll, n = 20,000, with 97 noise dimensions (Fig. 6, row 4)."""
    warm()
    X, sheet, start = noisy_roll(20_000, 100)
    began = time.perf_counter()
    model = DRUR(init=start, **PAPER).fit(X)
    seconds = time.perf_counter() - began
    result = {
        "before": procrustes_r2(sheet, start),
        "after": procrustes_r2(sheet, model.embedding_),
        "turns": model.n_iter_,
        "seconds": seconds,
    }
    rival = umap_seconds(X)
    return result | ({} if rival is None else {"umap seconds": rival, "ratio": rival / seconds})


def fit_once(n, n_features, connection):
    """Fit in a process of its own, so that its peak memory is its own."""
    warm()
    X, sheet, start = noisy_roll(n, n_features)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, began_cpu = time.perf_counter(), time.process_time()
    model = DRUR(init=start, tol=0.0, **PAPER).fit(X)
    connection.send(
        {
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - began_cpu,
            "turns": model.n_iter_,
            "r2": procrustes_r2(sheet, model.embedding_),
            "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "peak_before_gb": before / 2**20,
        }
    )


def fitted_alone(n, n_features):
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=fit_once, args=(n, n_features, there)
    )
    process.start()
    result = here.recv()
    process.join()
    return result


def slopes(results):
    """Return the slopes between neighbours in log-log."""
    sizes = [int(size) for size in results]
    seconds = [result["seconds"] for result in results.values()]
    pairs = pairwise(zip(sizes, seconds, strict=True))
    return [float(np.log(b[1] / a[1]) / np.log(b[0] / a[0])) for a, b in pairs]


def runtime(folder):
    """Run time over rows and over columns (Fig. 10), and beside umap-learn."""
    rows = {str(n): fitted_alone(n, 3) for n in (10**3, 10**4, 10**5, 10**6)}
    columns = {str(d): fitted_alone(500, d) for d in (5, 50, 500, 5_000)}
    results = {
        "rows": rows,
        "slopes in rows": slopes(rows),
        "columns": columns,
        "slopes in columns": slopes(columns),
    }
    rival = umap_seconds(noisy_roll(10**5)[0])
    if rival is not None:
        results["umap seconds, 100,000 rows"] = rival
        results["ratio"] = rival / rows["100000"]["seconds"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for axis, part, label in zip(axes, (rows, columns), ("rows", "columns"), strict=True):
        sizes = [int(size) for size in part]
        axis.loglog(sizes, [one["seconds"] for one in part.values()], "o-", label="DRUR")
        axis.set(xlabel=label, ylabel="seconds")
    if rival is not None:
        axes[0].loglog([10**5], [rival], "s", label="umap-learn")
        axes[0].legend()
    figure.tight_layout()
    figure.savefig(folder / "runtime.png", dpi=100)
    return results


def rotated_sevens(digits, step=4):
    """Return all rotations (n * 90, 784) of some digits, and their angles in degrees."""
    angles = np.arange(0, 360, step)
    images = [
        rotate(digit.reshape(28, 28).astype(np.float64), -angle, reshape=False, order=1)
        for digit in digits
        for angle in angles
    ]
    return np.reshape(images, (-1, 784)) / 255.0, np.tile(angles, len(digits))


def angle_errors(Z, angles, Z_test, test_angles):
    """Return the median errors in degrees of the nearest neighbour's angle and of fifteen neighbours' circular mean."""
    near = NearestNeighbors(n_neighbors=15).fit(Z).kneighbors(Z_test, return_distance=False)
    turns = np.exp(1j * np.radians(angles))
    truth = np.exp(1j * np.radians(test_angles))
    nearest, mean = turns[near[:, 0]], turns[near].mean(axis=1)
    return {
        name: float(np.degrees(np.median(np.abs(np.angle(found / truth)))))
        for name, found in {"1 neighbour": nearest, "15 neighbours": mean}.items()
    }


def rotated(folder):
    """220 sevens in 4-degree steps from PCA (Fig. 9); the angle of 20 other sevens from their latents."""
    data = load_mnist()
    sevens = data.X_train[data.y_train == 7]
    chosen = np.random.default_rng(0).permutation(len(sevens))[:240]
    X, angles = rotated_sevens(sevens[chosen[:220]])
    X_test, test_angles = rotated_sevens(sevens[chosen[220:]])
    began = time.perf_counter()
    model = DRUR(init="pca", random_state=0).fit(X)
    seconds = time.perf_counter() - began
    pca = PCA(2).fit(X)
    results = {
        "seconds": seconds,
        "n_centers": model.n_centers_,
        "turns": model.n_iter_,
        "pca": angle_errors(pca.transform(X), angles, pca.transform(X_test), test_angles),
    }
    for method in ("map", "project"):
        Z, Z_test = (model.transform(A, method=method) for A in (X, X_test))
        results[method] = angle_errors(Z, angles, Z_test, test_angles)
        results[method]["held-out error"] = relative_reconstruction_error(
            X_test, model.inverse_transform(Z_test)
        )
    draw_rotated(folder, model, pca, X, angles, X_test[:90])
    return results


def draw_rotated(folder, model, pca, X, angles, sequence):
    figure, axes = plt.subplots(1, 3, figsize=(19, 5), width_ratios=(1, 1, 1.8))
    down = model.transform(sequence)
    for axis, Z, title in zip(
        axes, (pca.transform(X), model.embedding_), ("PCA", "DRUR"), strict=False
    ):
        axis.scatter(*Z.T, c=angles, s=2, cmap="hsv")
        axis.set_title(f"{title}, coloured by angle")
    axes[1].plot(*down.T, "k-", linewidth=0.8)
    # A path once around: the mean latent of each angle.
    path = np.array([model.embedding_[angles == angle].mean(axis=0) for angle in np.unique(angles)])
    axes[1].plot(*path.T, "w-", linewidth=2)
    shown = np.linspace(0, len(path) - 1, 10).astype(int)
    rows = [
        sequence[shown],
        model.inverse_transform(down[shown]),
        model.inverse_transform(path[shown]),
    ]
    axes[2].imshow(
        np.block([[image.reshape(28, 28) for image in row] for row in rows]), cmap="gray_r"
    )
    axes[2].set_title("a new seven, rebuilt, and the path morphed")
    axes[2].axis("off")
    figure.savefig(folder / "rotated.png", dpi=90)
