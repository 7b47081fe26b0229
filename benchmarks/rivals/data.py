"""The data sets: training and held-out rows, split by a fixed seed, one file for all jobs.

A set of your own is an ``.npz`` with ``X`` (n, d) and optionally labels ``y`` (n,) and
true parameters ``truth`` (n, q); a fifth is held out. A file with an official split has
``X_train``, ``y_train``, ``X_test``, ``y_test`` (and ``truth_*``) instead.

Every set is shifted and scaled by one number, its overall standard deviation, which changes no
geometry. Otherwise rivals whose defaults depend on units would suffer from the units of the data.
In a table whose columns have units of their own each column is divided by its own standard
deviation. All figures are those of the training rows.
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
    per_column: bool = False
    """Whether each column is standardized by itself."""

    def prepare(self, folder):
        """Write the set into the folder and return its description."""
        path = Path(folder) / f"{slug(self.name)}.npz"
        split, unit = _in_common_units(self.load(), self.per_column)
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
            unit=unit,
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
    unit: float | None = None
    """The number that all values were divided by; None if every column has its own."""

    def summary(self):
        return {key: value for key, value in asdict(self).items() if key != "path"}


def slug(name):
    """Return a file name for a name."""
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")


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


def _in_common_units(raw, per_column):
    """Return the standardized split and the unit, None if each column has one of its own."""
    X = np.asarray(raw.X_train, dtype=np.float64)
    mean = X.mean(axis=0)
    if per_column:
        scale = X.std(axis=0)
        scale[scale == 0] = 1.0
    else:
        scale = float(np.sqrt(np.square(X - mean).mean())) or 1.0
    standardized = Split(
        (X - mean) / scale,
        (np.asarray(raw.X_test, dtype=np.float64) - mean) / scale,
        raw.y_train,
        raw.y_test,
        raw.truth_train,
        raw.truth_test,
    )
    return standardized, None if per_column else scale


def _digest(split):
    hashed = hashlib.sha256()
    for part in (split.X_train, split.X_test):
        hashed.update(np.ascontiguousarray(part).data)
    return hashed.hexdigest()[:16]
