"""The data sets: training and held-out rows, split by a fixed seed, one file for all jobs.

A set of your own is an ``.npz`` with ``X`` (n, d) and optionally labels ``y`` (n,) and
true parameters ``truth`` (n, q); a fifth is held out. A file with an official split has
``X_train``, ``y_train``, ``X_test``, ``y_test`` (and ``truth_*``) instead.

Every set is shifted and scaled by one number, its overall standard deviation, which changes no
geometry. Otherwise rivals whose defaults depend on units would suffer from the units of the data.
"""

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HELD_OUT = 1_000
"""Most rows held out, so that slow decoders can be measured on all of them."""
HELD_OUT_SHARE = 0.2
SPLIT_SEED = 0


@dataclass(frozen=True)
class Split:
    """Training and held-out rows, with labels and true parameters if they are known."""

    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray | None = None
    y_test: np.ndarray | None = None
    truth_train: np.ndarray | None = None
    truth_test: np.ndarray | None = None

    def save(self, path):
        present = {key: value for key, value in vars(self).items() if value is not None}
        with path.open("wb") as file:
            np.savez(file, **present)

    @classmethod
    def load(cls, path):
        with np.load(path, allow_pickle=False) as stored:
            return cls(**{key: stored[key] for key in stored.files})


@dataclass(frozen=True)
class DataSet:
    """A named set. Sets of one family differ only in their number of rows and are sorted by it."""

    name: str
    load: Callable[[], Split] = field(repr=False)
    family: str = ""
    on_request: bool = False
    """Whether it runs only if it is named."""

    def prepare(self, folder):
        """Write the set into the folder and return its description."""
        path = Path(folder) / f"{slug(self.name)}.npz"
        split = _in_common_units(self.load())
        path.parent.mkdir(parents=True, exist_ok=True)
        split.save(path)
        return Prepared(
            name=self.name,
            family=self.family or self.name,
            path=str(path),
            rows=len(split.X_train),
            held_out=len(split.X_test),
            features=split.X_train.shape[1],
            classes=0 if split.y_train is None else len(np.unique(split.y_train)),
            truth=split.truth_test is not None,
            digest=_digest(split),
        )


@dataclass(frozen=True)
class Prepared:
    """A set that has been written to a file."""

    name: str
    family: str
    path: str
    rows: int
    held_out: int
    features: int
    classes: int
    truth: bool
    digest: str

    def summary(self):
        return {key: value for key, value in asdict(self).items() if key != "path"}


def slug(name):
    """Return a file name for a name."""
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")


def catalogue(quick):
    """Return the sets of a run: all, or all at reduced sizes."""
    from sklearn.datasets import load_digits

    from twofold import datasets

    def of(loader, rows):
        def load():
            found = loader()
            return split(found, most=rows if quick else None, held_out=200 if quick else HELD_OUT)

        return load

    sets = [
        DataSet("digits", of(load_digits_with(load_digits), 500)),
        DataSet("oil flow", of(datasets.load_oil_flow, 400)),
        DataSet("COIL-20", of(datasets.load_coil20, 400)),
        _synthetic("S-curve", datasets.make_s_curve, 400 if quick else 1_500, 3, quick),
        DataSet("USPS", of(datasets.load_usps, 1_000)),
        DataSet("MNIST", of(datasets.load_mnist, 6_000)),
    ]
    sizes = {3: (500, 6_000), 100: (500,)} if quick else dict.fromkeys((3, 100), FULL_SIZES)
    sets += [
        _synthetic(f"Swiss roll {d}-D, {n:,}", datasets.make_swiss_roll, n, d, quick)
        for d, rows in sizes.items()
        for n in rows
    ]
    return sets


FULL_SIZES = (10**3, 10**4, 10**5, 10**6)
MOST_VALUES = 50_000_000
"""A set with more numbers than this, the largest roll, runs only if it is named."""


def load_digits_with(loader):
    return lambda: dict(zip(("X", "y"), loader(return_X_y=True), strict=True))


def from_file(path):
    """Return the set in a user's file."""
    path = Path(path)

    def load():
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is no NPZ file: write one with numpy.savez(path, X=X, y=y).")
        with np.load(path, allow_pickle=False) as stored:
            return split({key: stored[key] for key in stored.files}, name=str(path))

    return DataSet(path.stem, load)


def split(arrays: Mapping[str, Any], *, most=None, held_out=HELD_OUT, name="the file"):
    """Return the official split, or a fixed one, with limited numbers of rows.

    Parameters
    ----------
    arrays : mapping
        ``X`` and optionally ``y``, ``truth``; or the same names followed by ``_train`` and
        ``_test``.
    most, held_out : int or None
        Rows to keep of the training set (None: all) and of the held-out one.
    name : str
        What to call the data in an error.
    """
    rng = np.random.default_rng(SPLIT_SEED)
    if "X_train" in arrays:
        pair = {
            key: [arrays.get(f"{key}_{part}") for part in ("train", "test")]
            for key in ("X", "y", "truth")
        }
        if pair["X"][1] is None:
            raise ValueError(f"{name} has X_train but no X_test: give both, or X alone.")
    elif "X" in arrays:
        order = rng.permutation(len(arrays["X"]))
        n_test = max(1, round(HELD_OUT_SHARE * len(order)))
        rows = (order[n_test:], order[:n_test])
        pair = {}
        for key in ("X", "y", "truth"):
            values = arrays.get(key)
            pair[key] = [None if values is None else np.asarray(values)[part] for part in rows]
    else:
        raise ValueError(f"{name} has no array X (nor X_train): it has {sorted(arrays)}.")
    train, test = (
        np.sort(rng.permutation(len(X))[:limit])
        for X, limit in zip(pair["X"], (most, held_out), strict=True)
    )
    kept = {
        f"{key}_{part}": None if values is None else np.asarray(values)[rows]
        for key, both in pair.items()
        for part, values, rows in zip(("train", "test"), both, (train, test), strict=True)
    }
    return Split(**kept)


def _synthetic(name, make, rows, n_features, quick):
    n_test = 200 if quick else HELD_OUT

    def load():
        X, truth = make(rows + n_test, n_features=n_features, random_state=SPLIT_SEED)
        return Split(X[:rows], X[rows:], truth_train=truth[:rows], truth_test=truth[rows:])

    return DataSet(name, load, name.split(",")[0], on_request=rows * n_features > MOST_VALUES)


def _in_common_units(raw):
    X = np.asarray(raw.X_train, dtype=np.float64)
    mean = X.mean(axis=0)
    scale = float(np.sqrt(np.square(X - mean).mean())) or 1.0
    return Split(
        (X - mean) / scale,
        (np.asarray(raw.X_test, dtype=np.float64) - mean) / scale,
        raw.y_train,
        raw.y_test,
        raw.truth_train,
        raw.truth_test,
    )


def _digest(split):
    hashed = hashlib.sha256()
    for part in (split.X_train, split.X_test):
        hashed.update(np.ascontiguousarray(part).data)
    return hashed.hexdigest()[:16]
