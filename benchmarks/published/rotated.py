r"""Rotated digits: one image each of three classes of MNIST, at 360 angles (1,080 rows).

The protocol of the paper's code: 85 % of the rows are fitted, the others are judged. *Error* is the
mean squared error of a pixel in [0, 1] after the way down and up. :math:`R^2` is that of the angle
of rotation, regressed on the angle of the latent around the center of its digit's loop, the mean of
the three digits; the latent angle is turned so that both start at the row with the smallest angle.
*Accuracy* is that of a logistic regression of the digit on the latents.

References
----------
* A. F. Duque, S. Morin, G. Wolf and K. R. Moon. Extendable and invertible manifold learning with
  geometry regularized autoencoders. *IEEE International Conference on Big Data*, 2020.
"""

from statistics import median

import numpy as np
from scipy.ndimage import rotate
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.harness.kept import figures_table
from benchmarks.published.methods import METHODS, shown
from benchmarks.published.two_latents import pixel_error
from twofold.datasets import load_mnist

CLASSES, ANGLES, TRAIN_SHARE = 3, 360, 0.85
PAPER_SEED = 42
"""The seed of the paper's code: the first data set here has its images and its split."""
PENALTY = 0.002
DEFAULT = (
    "UKR()",
    "DRUR()",
    "AutoTwoWay()",
    'TwoWay("tsne")',
    "SNE()",
    "AgglomerativeIsomap()",
    'UKR(init="isomap")',
    "TwoWay(UMAP())",
    "PCA",
    "umap-learn",
    "openTSNE + kNN regression",
)


def rotations(digits, labels, seed):
    """Return the rows (1080, 784), the digits' numbers 0..2 and the angles in radians."""
    drawn = np.random.RandomState(seed)
    chosen = drawn.choice(10, size=CLASSES, replace=False)
    angles = np.linspace(0.0, 360.0, ANGLES, endpoint=False)
    rows = []
    for label in chosen:
        images = digits[labels == label]
        image = images[drawn.choice(len(images), size=1)[0]].reshape(28, 28) / 255.0
        rows += [rotate(image, angle, reshape=False).ravel() for angle in angles]
    return (
        np.array(rows),
        np.repeat(np.arange(CLASSES), ANGLES),
        np.tile(np.radians(angles), CLASSES),
    )


def angle_r2(Z, digit, angles):
    """Return R^2 of the angles of rotation by the angles of the latents, the mean of the digits."""
    found = []
    for one in np.unique(digit):
        rows = digit == one
        offset = Z[rows] - Z[rows].mean(axis=0)
        turned = np.arctan2(offset[:, 0], offset[:, 1]) + np.pi
        truth = angles[rows]
        first = min(truth.argmin(), turned.argmin())
        turned = (turned - turned[first]) % (2 * np.pi)
        truth = (truth - truth[first]) % (2 * np.pi)
        if np.corrcoef(turned, truth)[0, 1] < 0.0:
            turned[first] = 2 * np.pi  # a loop that runs backward ends where it starts
        line = Lasso(PENALTY).fit(turned[:, None], truth)
        found.append(line.score(turned[:, None], truth))
    return float(np.mean(found))


def measure(seeds, names=DEFAULT, say=print):
    """Return the figures of each method on the data sets of some seeds."""
    data = load_mnist()
    found = {}
    for name in names:
        try:
            found[name] = [_judged(name, seed, data) for seed in seeds]
        except ImportError as error:
            say(f"{name}: left out, {error}")
            continue
        shorter = [{key: round(value, 5) for key, value in one.items()} for one in found[name]]
        say(f"{name}: {shorter}")
    return {"seeds": list(seeds), "methods": found}


def _judged(name, seed, data):
    X, digit, angles = rotations(data.X_train, data.y_train, seed)
    fitted, held_out = train_test_split(
        np.arange(len(X)), train_size=TRAIN_SHARE, random_state=seed
    )
    model = METHODS[name](seed)
    model.fit(X[fitted])
    Z = np.asarray(model.transform(X[held_out]), dtype=np.float64)
    error = pixel_error(X[held_out], model.inverse_transform(Z))
    classifier = LogisticRegression(max_iter=1_000).fit(Z, digit[held_out])
    return {
        "R^2": angle_r2(Z, digit[held_out], angles[held_out]),
        "error": error,
        "accuracy": float(classifier.score(Z, digit[held_out])),
    }


def table(record):
    """Return medians and ranges over the data sets in Markdown."""
    rows = {}
    for name, runs in record["methods"].items():
        row = rows[shown(name)] = {}
        for key, label in (("R^2", "$R^2$"), ("error", "test MSE of a pixel"), ("accuracy",) * 2):
            values = [one[key] for one in runs]
            places = 2 if key != "error" else 5
            low, middle, high = (
                f"{one:.{places}f}" for one in (min(values), median(values), max(values))
            )
            row[label] = f"{middle} ({low} to {high})"
            row[f"{label}, the paper's images"] = f"{runs[0][key]:.{places}f}"
    return figures_table("median of data sets (range)", rows)
