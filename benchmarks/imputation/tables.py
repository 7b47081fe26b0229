"""The sets, complete, and the cells that are removed from them.

Sets are shifted by the mean of each column and divided by one number, the standard deviation of all
cells: column means have a root mean squared error of about 1. Penguins have columns of different
units, and each is standardized by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

BLOCKS = "block"
"""The pattern of gaps that removes a rectangle of half the width and height from each image."""
SAMPLE_SEED = 0
QUICK_ROWS = 150
HELD_OUT_SHARE = 0.2


@dataclass(frozen=True)
class Table:
    """A complete table: how to load it, and what is removed from it."""

    load: Callable[[], np.ndarray]
    most: int | None = None
    """Rows of the sample; None means all."""
    image: tuple[int, int] | None = None
    share: float | None = None
    """The share of cells to remove if it is not that of the run."""
    per_column: bool = False

    def rows(self, quick=False):
        """Return standardized rows (n, D)."""
        X = np.asarray(self.load(), dtype=np.float64)
        most = QUICK_ROWS if quick else self.most
        if most is not None and len(X) > most:
            X = X[np.sort(np.random.default_rng(SAMPLE_SEED).permutation(len(X))[:most])]
        X = X - X.mean(axis=0)
        scale = X.std(axis=0) if self.per_column else X.std()
        return X / np.where(scale > 0.0, scale, 1.0)

    def patterns(self, shares):
        """Return the names of the patterns of gaps: shares of cells, and blocks of images."""
        asked = shares if self.share is None else [self.share]
        return [f"{share:.0%}" for share in asked] + ([BLOCKS] if self.image else [])


def _train(name):
    def load():
        from twofold import datasets

        found = getattr(datasets, name)()
        return found["X_train"] if "X_train" in found else found["X"]

    return load


def _penguins():
    from palmerpenguins import load_penguins

    return load_penguins().select_dtypes("float").dropna().to_numpy()


TABLES = {
    "penguins": Table(_penguins, share=0.2, per_column=True),
    "oil flow": Table(_train("load_oil_flow")),
    "COIL-20": Table(_train("load_coil20"), most=720, image=(32, 32)),
    "USPS": Table(_train("load_usps"), most=1_000, image=(16, 16)),
    "MNIST": Table(_train("load_mnist"), most=1_000, image=(28, 28)),
}


def removed_cells(X, pattern, image, seed):
    """Return which cells are removed (n, D); every row and every column keeps at least one."""
    rng = np.random.default_rng([seed, 1])
    if pattern == BLOCKS:
        return np.array([_block(image, rng).ravel() for _ in X])
    share = float(pattern.rstrip("%")) / 100.0
    removed = rng.random(X.shape) < share
    removed[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] &= ~removed.all(axis=1)
    removed[rng.integers(len(X), size=X.shape[1]), np.arange(X.shape[1])] &= ~removed.all(axis=0)
    return removed


def _block(image, rng):
    """Return a rectangle, somewhere in an image, of about half its height and width."""
    removed = np.zeros(image, dtype=bool)
    starts_sizes = []
    for length in image:
        size = int(rng.integers(round(0.4 * length), round(0.6 * length) + 1))
        starts_sizes.append((int(rng.integers(length - size + 1)), size))
    (top, height), (left, width) = starts_sizes
    removed[top : top + height, left : left + width] = True
    return removed


def split(X, seed):
    """Return training rows and held-out rows."""
    order = np.random.default_rng([seed, 2]).permutation(len(X))
    n_held_out = round(HELD_OUT_SHARE * len(X))
    return X[np.sort(order[n_held_out:])], X[np.sort(order[:n_held_out])]
