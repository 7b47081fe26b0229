"""Pairs of tables: two measurements of the same things, or two moments of one table.

Each pair has rows for both fits, the pairs of rows that are shared, and held-out rows that both
tables have and no fit has seen.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits, load_wine

from twofold.datasets import load_uci, load_usps


@dataclass(frozen=True)
class Views:
    """Two tables.

    ``first`` and ``second`` are the rows of the fits, ``shared`` (m, 2) pairs of rows (second,
    first) or None, and ``held_out`` the same new things in both tables.
    """

    first: np.ndarray
    second: np.ndarray
    shared: np.ndarray | None
    held_out: tuple[np.ndarray, np.ndarray]


N_ROLL = 1_000
NOISE = 0.3
COMMON = 0.7
"""Share of rows in common."""


def rolls(rng, n=N_ROLL):
    """Return a noisy roll, and other smooth functions of its sheet."""
    turn = 1.5 * np.pi * (1.0 + 2.0 * rng.uniform(size=n))
    height = 21.0 * rng.uniform(size=n)
    first = np.stack([turn * np.cos(turn), height, turn * np.sin(turn)], axis=1)
    second = np.stack(
        [6.0 * np.sin(turn / 3.0), turn, height, 0.05 * height**2, 4.0 * np.cos(height / 6.0)],
        axis=1,
    )
    return tuple(one + NOISE * rng.standard_normal(one.shape) for one in (first, second))


def halves(images, shape):
    """Return the left and the right half of images (n, h w)."""
    pictures = images.reshape(-1, *shape)
    middle = shape[1] // 2
    return tuple(
        np.ascontiguousarray(part.reshape(len(images), -1))
        for part in (pictures[:, :, :middle], pictures[:, :, middle:])
    )


def exposures(images, rng):
    """Return images with noise, and random mixtures of their pixels, saturated, with noise."""
    mixing = rng.standard_normal((images.shape[1], 100)) / 8.0
    noise = rng.standard_normal
    scale = images.std()
    mixed = np.tanh(images @ mixing / (2.0 * scale))
    return (
        images + 0.3 * scale * noise(images.shape),
        mixed + 0.05 * noise(mixed.shape),
    )


def _images(name, rng, most):
    if name == "digits":
        X, shape = load_digits().data, (8, 8)
    else:
        X, shape = np.asarray(load_usps().X_train, dtype=float), (16, 16)
    return X[rng.permutation(len(X))[:most]], shape


def _tables(name, rng, most):
    """Return both tables (n, .) of the same things, in the same order."""
    if name == "roll":
        return rolls(rng, min(N_ROLL, most))
    kind, _, way = name.partition(" ")
    if kind in ("digits", "USPS"):  # pixels alone are one kind of measurement
        images, shape = _images(kind, rng, most)
        return halves(images, shape) if way == "halves" else exposures(images, rng)
    X = load_wine().data if kind == "wine" else load_uci("satimage").X_train
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = X[rng.permutation(len(X))[:most]]
    if kind == "wine":  # alcohol to flavanoids, and the others with color and proline
        return X[:, :7], X[:, 7:]
    return X[:, :18], X[:, 18:]


def views_of(name, case, seed, most):
    """Return the tables of a case: "rows", "features" or "moments".

    "rows": the same things, measured twice; 70 % of the rows of the fits are declared shared.
    "features": one kind of measurement, other rows, nothing declared. "moments": one kind of
    measurement, 70 % of the rows in common and declared.
    """
    rng = np.random.default_rng(seed)
    first, second = _tables(name, rng, most)
    n = len(first)
    n_held_out = n * 3 // 10
    order = rng.permutation(n)
    held_out, rest = order[:n_held_out], order[n_held_out:]
    if case == "rows":
        mixed = rng.permutation(len(rest))  # rows of the second table have another order
        n_shared = int(COMMON * len(rest))
        shared = np.stack([np.argsort(mixed)[:n_shared], np.arange(n_shared)], axis=1)
        return Views(first[rest], second[rest[mixed]], shared, (first[held_out], second[held_out]))
    n_each = int(len(rest) / (2.0 - COMMON)) if case == "moments" else len(rest) // 2
    old, new = rest[:n_each], rest[len(rest) - n_each :]
    _, in_old, in_new = np.intersect1d(old, new, return_indices=True)
    shared = np.stack([in_new, in_old], axis=1) if case == "moments" else None
    return Views(first[old], first[new], shared, (first[held_out], first[held_out]))


SETS = {
    "rows": ("roll", "digits exposures", "digits halves", "USPS halves", "wine", "satimage"),
    "features": ("roll", "digits", "USPS", "satimage"),
    "moments": ("roll", "digits", "USPS", "satimage"),
}
