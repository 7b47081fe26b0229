"""Small models of every estimator, saved with some rows of their data, to be forged."""

import pickle
import sys
import warnings
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import twofold
from benchmarks.harness import ROOT
from twofold.dask._checkpoint import FileJournal
from twofold.datasets import make_s_curve
from twofold.maps import MLP, NadarayaWatson
from twofold.optimize import SpectralGuidance
from twofold.principal_manifold import CrossValidation, FourierKernel, KPlanes, PenaltyLimit, Points

N = 60
ROWS = 5
"""Rows that a forged model is used on."""

FORMER = ROOT / "tests" / "files"
"""Files of former formats."""


def sheet(n=N):
    return make_s_curve(n, random_state=0)[0]


def table():
    rng = np.random.default_rng(0)
    X = sheet()
    return pd.DataFrame(
        {
            "width": X[:, 0],
            "mass": np.exp(X[:, 1]),
            "kind": pd.Categorical(np.where(X[:, 2] > 0, "up", "down")),
            "size": pd.Categorical(
                np.digitize(X[:, 1], [0.7, 1.4]).astype(str), categories=list("012"), ordered=True
            ),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, N), unit="D"),
            "is_new": X[:, 0] > 0,
            "same": 1.0,
        }
    )


def variants():
    """Return unfitted models, their data and, if they need them, labels, by name.

    The estimators of the tests' registry come first, then settings that it does not have.
    """
    support = str(ROOT / "tests" / "support")
    if support not in sys.path:
        sys.path.append(support)
    from registry import ESTIMATORS

    X = sheet()
    own = type(next(iter(ESTIMATORS.values()))).__module__.partition(".")[0]
    found = {
        name: (clone(one), X)
        for name, one in ESTIMATORS.items()
        if type(one).__module__.startswith(own)
    }
    latents, quick = X[:, ::2], {"max_iter": 10, "random_state": 0}
    affinity = csr_array(np.eye(N) + np.eye(N, k=1) + np.eye(N, k=-1))
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    manifold = {"alpha": 1e-2, "init": "pca", "tol": 1e-2, "random_state": 0}
    found |= {
        "gaps": (twofold.TwoWay("pca", up="nw", down="nw", random_state=0), gaps),
        "generator": (
            twofold.UKR(init="pca", max_iter=10, random_state=np.random.default_rng(0)),
            X,
        ),
        "twister": (
            twofold.UKR(init="pca", max_iter=10, random_state=np.random.RandomState(0)),
            X,
        ),
        "sparse-guidance": (
            twofold.UKR(init="pca", guidance=SpectralGuidance(affinity, schedule=(2, 0)), **quick),
            X,
        ),
        "ukr-rbf": (twofold.UKR(metric="rbf", init="pca", homotopy=False, **quick), X),
        "ukr-named": (twofold.UKR(init={"known": latents}, **quick), X),
        "two_way-given": (twofold.TwoWay(latents, up=NadarayaWatson(bandwidth=0.1)), X),
        "two_way-mlp": (twofold.TwoWay("pca", up=MLP(4, random_state=0), down="projection"), X),
        "supervised": (twofold.SupervisedIsomap(random_state=0), X, X[:, 0] > 0.0),
        "kplanes": (KPlanes(3, 1, random_state=0), X),
        "circle": (twofold.PrincipalManifold(domain="circle", **manifold), X),
        "waves": (
            twofold.PrincipalManifold(
                domain="circle", kernel=FourierKernel((1.0, 0.5)), **manifold
            ),
            X,
        ),
        "cylinder": (
            twofold.PrincipalManifold(2, domain="cylinder", kernel="damped", **manifold),
            X,
        ),
        "points": (
            twofold.PrincipalManifold(domain=Points(5), kernel="delta", alpha=0.0, random_state=0),
            X,
        ),
        "few-nodes": (twofold.PrincipalManifold(penalty="l1", **(manifold | {"alpha": 0.05})), X),
        "folds": (
            twofold.PrincipalManifold(
                init="pca", alpha=CrossValidation(2, alphas=(0.1, 0.01)), tol=1e-2, random_state=0
            ),
            X,
        ),
        "length": (
            twofold.PrincipalManifold(
                kernel="spline", alpha=PenaltyLimit(length=2.0), init="pca", random_state=0
            ),
            X,
        ),
        "mahalanobis": (twofold.PrincipalManifold(loss="mahalanobis", **manifold), X),
        "dimensions": (
            twofold.AutoTwoWay(
                "auto", methods={"flat": twofold.TwoWay("pca", up="nw", down="nw")}, random_state=0
            ),
            X,
        ),
        "pipeline": (
            make_pipeline(
                StandardScaler(),
                PCA(2),
                twofold.TwoWay("pca", n_components=1, up="krr", down="krr", random_state=0),
            ),
            X,
        ),
        "constant": (twofold.DRUR(random_state=0), np.ones((10, 3))),
        "table": (twofold.TableMap(twofold.TwoWay("pca", up="nw", down="nw")), table()),
        "table-scaled": (
            twofold.TableMap(twofold.UKR(scale="standard", init="pca", max_iter=10)),
            table()[["width", "mass", "kind"]],
        ),
    }
    return found


def save_all(folder, names=None):
    """Fit and save the models, each with rows to use it on, and return the names of the files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (model, X, *labels) in variants().items():
        if names is not None and name not in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, *labels)
        whole = twofold.from_pipeline(model) if hasattr(model, "steps") else model
        keep(folder / f"{name}.twofold", whole, X[:ROWS])
    for name, model in CHECKPOINTED.items():
        if names is None or name in names:
            _save_checkpoint(folder / f"{name}.twofold", model)
    for path in sorted(FORMER.glob("format-*/*.twofold")):
        if names is None or path.stem in names:
            target = folder / f"{path.parent.name}-{path.stem}.twofold"
            target.write_bytes(path.read_bytes())
            _keep_rows(target, twofold.load(path), np.load(path.with_suffix(".npz"))["X"][:ROWS])
    return sorted(path.stem for path in folder.glob("*.twofold"))


CHECKPOINTED = {
    "checkpoint-drur": twofold.DRUR(n_centers=10, init="pca", random_state=0),
    "checkpoint-manifold": twofold.PrincipalManifold(alpha=1e-2, init="pca", random_state=0),
}
"""Fits whose steps are saved as on a cluster."""


def _save_checkpoint(path, model):
    """Fit a model, and save the steps and states of the fit."""
    journal = FileJournal(path, {}, np.random.default_rng(0), resume=False)
    journal.step = partial(_noted, journal, journal.step)
    with patch(f"{type(model).__module__}.Journal", return_value=journal):
        model.fit(sheet())


def _noted(journal, step, name, function):
    """Make a step, and keep the states of its iteration, which the end of a step drops."""
    result = function()
    states = dict(journal._held.states)
    step(name, lambda: result)
    journal._held.states.update(states)
    return result


def keep(path, model, X):
    """Write a model, and beside it the rows to use it on."""
    twofold.save(model, path)
    _keep_rows(path, model, X)


def _keep_rows(path, model, X):
    Z = np.asarray(model.transform(X))
    path.with_suffix(".pickle").write_bytes(pickle.dumps((X, Z)))
