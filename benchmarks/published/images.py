"""Images as rows in [0, 1]: MNIST by its own split, or files of the user's own.

A folder may hold ``.npz`` files with ``X`` (or ``X_train`` and ``X_test``), or pictures of one
size. Without a split of their own, a sixth of the rows is held out by a fixed seed, as in MNIST.
"""

from pathlib import Path

import numpy as np

from twofold.datasets import load_mnist

HELD_OUT_SHARE = 1 / 6
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif")


def mnist():
    """Return the 60,000 training rows and the 10,000 test rows."""
    data = load_mnist()
    return as_rows(data.X_train), as_rows(data.X_test)


def of_folder(folder):
    """Return training and test rows of every set in a folder, by name."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"--images {folder} is not a folder.")
    found = {path.stem: _of_npz(path) for path in sorted(folder.glob("*.npz"))}
    pictures = sorted(one for one in folder.rglob("*") if one.suffix.lower() in PICTURES)
    if pictures:
        found[folder.resolve().name] = split(_of_pictures(pictures))
    if not found:
        raise ValueError(
            f"--images {folder} has neither .npz files nor pictures ({', '.join(PICTURES)})."
        )
    return found


def split(X, seed=0):
    """Return training and test rows."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_test = max(1, round(HELD_OUT_SHARE * len(X)))
    return X[np.sort(order[n_test:])], X[np.sort(order[:n_test])]


def as_rows(X):
    """Return images as float32 rows in [0, 1]: integers are divided by their type's maximum."""
    X = np.asarray(X)
    rows = X.reshape(len(X), -1)
    if np.issubdtype(X.dtype, np.integer):
        top = np.iinfo(X.dtype).max if X.dtype == np.uint8 else max(255, int(X.max()))
        return rows.astype(np.float32) / np.float32(top)
    low, high = float(rows.min()), float(rows.max())
    if low < 0.0 or high > 1.0:
        rows = (rows - low) / ((high - low) or 1.0)
    return rows.astype(np.float32)


def _of_npz(path):
    with np.load(path, allow_pickle=False) as stored:
        if {"X_train", "X_test"} <= set(stored.files):
            n_train = len(stored["X_train"])
            rows = as_rows(np.concatenate([stored["X_train"], stored["X_test"]]))
            return rows[:n_train], rows[n_train:]
        if "X" not in stored.files:
            raise ValueError(f"{path} has no array X (nor X_train and X_test).")
        return split(as_rows(stored["X"]))


def _of_pictures(paths):
    from matplotlib.image import imread

    images = [_gray(imread(path)) for path in paths]
    sizes = {image.shape for image in images}
    if len(sizes) > 1:
        raise ValueError(
            f"the pictures in {paths[0].parent} have {len(sizes)} sizes, {sorted(sizes)[:3]} and "
            "so on: give pictures of one size."
        )
    return as_rows(np.stack(images))


def _gray(image):
    """Return the mean of the colors, in [0, 1], without the transparency."""
    image = np.asarray(image)
    unit = image / 255.0 if np.issubdtype(image.dtype, np.integer) else image
    return unit if unit.ndim == 2 else unit[..., :3].mean(axis=2)
