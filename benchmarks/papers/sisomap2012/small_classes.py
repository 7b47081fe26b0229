"""Labeled tables with few rows a class: 24 rows of images or of drawn curves.

The UCI table "libras movement" has 15 classes of 24 rows, hand movements as 45 points of a curve.
It is not in the data folder. `curves` draws a table of the same shape; the others are samples of
digits and objects.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from twofold.datasets import load_coil20, load_mnist, load_usps
from twofold.protocols import AnyArray, Array

Table = tuple[Array, AnyArray]

ROWS = 24
"""Rows of a class."""

N_POINTS = 45
"""Points of a curve, as in "libras movement"."""


def _sample(X: Array, y: AnyArray, seed: int, n_classes: int | None = None) -> Table:
    """Return 24 rows of each class, or of some classes drawn at random."""
    rng = np.random.default_rng(seed)
    labels = np.unique(y)
    if n_classes is not None:
        labels = np.sort(rng.choice(labels, n_classes, replace=False))
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(y == label), ROWS, replace=False) for label in labels]
    )
    return np.asarray(X[rows], dtype=float), y[rows]


def _shrunk(images: Array, side: int, factor: int) -> Array:
    """Return images (n, side * side) with blocks of pixels averaged."""
    n, small = len(images), side // factor
    blocks = images.reshape(n, small, factor, small, factor)
    return blocks.mean(axis=(2, 4)).reshape(n, small * small)


def usps(seed: int) -> Table:
    """Return ten digits of USPS, 8 x 8 pixels."""
    data = load_usps()
    X, y = _sample(data.X_train, data.y_train, seed)
    return _shrunk(X, 16, 2), y


def mnist(seed: int) -> Table:
    """Return ten digits of MNIST, 7 x 7 pixels."""
    data = load_mnist()
    X, y = _sample(data.X_train.reshape(len(data.y_train), -1), data.y_train, seed)
    return _shrunk(X, 28, 4), y


def digits(seed: int) -> Table:
    """Return ten digits of scikit-learn's table, 8 x 8 pixels."""
    X, y = load_digits(return_X_y=True)
    return _sample(X, y, seed)


def coil(seed: int) -> Table:
    """Return 15 objects of COIL-20, 8 x 8 pixels."""
    data = load_coil20()
    X, y = _sample(data.X.reshape(len(data.y), -1), data.y, seed, n_classes=15)
    return _shrunk(X, 32, 4), y


def _movements(t: Array) -> list[tuple[Array, Array]]:
    """Return the 15 movements at times t in [0, 1]: swings, arcs, lines, zigzags, waves, bows."""
    turn, line = 2.0 * np.pi * t, 2.0 * t - 1.0
    zigzag = 1.2 * np.abs(2.0 * (2.0 * t % 1.0) - 1.0) - 0.6
    wave, bow, rest = 0.4 * np.sin(2.0 * turn), 0.8 * line**2, np.zeros_like(t)
    return [
        (np.sin(turn), 0.4 * np.sin(turn) ** 2),
        (np.sin(turn), rest),
        (rest, np.sin(turn)),
        (np.cos(0.5 * turn), np.sin(0.5 * turn)),
        (-np.cos(0.5 * turn), np.sin(0.5 * turn)),
        (np.cos(turn), np.sin(turn)),
        (line, rest),
        (rest, line),
        (line, zigzag),
        (zigzag, line),
        (line, wave),
        (wave, line),
        (line, bow),
        (line, -bow),
        (0.15 * np.sin(5.0 * turn), 0.15 * np.cos(7.0 * turn)),
    ]


def curves(seed: int) -> Table:
    """Return 15 movements of 45 points (x, y), with random speed, size, angle, place and noise."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for label in range(15):
        for _ in range(ROWS):
            speed, start = np.exp(0.35 * rng.standard_normal()), 0.06 * rng.standard_normal()
            times = np.clip(np.linspace(0.0, 1.0, N_POINTS) ** speed + start, 0.0, 1.0)
            curve = np.stack(_movements(times)[label], axis=1)
            curve *= np.exp(0.3 * rng.standard_normal(2))
            sine, cosine = np.sin(angle := 0.3 * rng.standard_normal()), np.cos(angle)
            curve = curve @ np.array([[cosine, sine], [-sine, cosine]])
            curve += 0.4 * rng.standard_normal(2)
            curve += 0.02 * rng.standard_normal(curve.shape).cumsum(axis=0)
            rows.append(curve.ravel())
            labels.append(label)
    return np.array(rows), np.array(labels)


TABLES = {
    "USPS, 10 x 24": usps,
    "MNIST, 10 x 24": mnist,
    "digits, 10 x 24": digits,
    "COIL-20, 15 x 24": coil,
    "curves, 15 x 24": curves,
}
