"""How classifiers are judged: parameters are chosen inside the training rows, for all methods.

Columns are standardized on the training rows of each split. Three inner folds of the training rows
choose what a method leaves open and the parameters of the classifiers. Leave-one-out chooses widths
and ridges of the maps. For support vector machines the embedding is chosen with C = 10 and the
default width, then C and width for that embedding.

Two protocols are compared. *Literal* is the method of the paper: Eq. (1) with ``beta`` the mean
distance in the units of the (standardized) data, the graph of nearest neighbors with agglomerated
components, and classifiers trained on the exact embedding; neighbors, ``alpha`` and dimension are
left open. *Default* is what `twofold.SupervisedIsomap` does with its defaults; only the dimension
is left open.

The inner loops share work between settings (`benchmarks.papers.sisomap2012.shared_maps`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.papers.sisomap2012.shared_maps import OfDimension, SharedMaps
from twofold.geodesics.dissimilarities import Euclidean, Supervised
from twofold.geodesics.graph import (
    connect_components,
    default_mutual_neighbors,
    graph_of_neighbors,
    mutual_graph,
)
from twofold.geodesics.scaling import classical_scaling, squared_geodesics
from twofold.numerics.linalg import sqdist
from twofold.protocols import AnyArray, Array

DIMENSIONS = (2, 4, 8, 16)
VOTERS = (1, 3, 5, 9, 15, 25)
SVMS = tuple(product((1.0, 10.0, 100.0), (0.125, 0.5, 1.0, 2.0)))
USUAL_SVM = (10.0, 1.0)
KINDS = ("k-NN", "SVM")
DEFAULT_NEIGHBORS = 10

Key = tuple[str, str]
"""A method and a kind of classifier."""


@dataclass(frozen=True)
class Embedding:
    """How rows are embedded.

    Attributes
    ----------
    labels : {"literal", "scaled"} or None
        Eq. (1) in units of the data, or with distances divided by their mean; None without labels.
    alpha : float
        The parameter of Eq. (1).
    graph : {"knn", "linked", "mutual"}
        As in `twofold.SupervisedIsomap`.
    neighbors : int
        Neighbors of each row.
    """

    labels: str | None
    alpha: float = 0.5
    graph: str = "knn"
    neighbors: int = DEFAULT_NEIGHBORS


@dataclass(frozen=True)
class Method:
    """What is fixed, and what inner folds choose.

    Attributes
    ----------
    embeddings : tuple of Embedding
        To choose from.
    map : {"krr", "grnn", "by labels", "by error"}
        The out-of-sample map.
    exact : bool
        Whether classifiers are trained on the exact embedding, not on cross-fitted latents.
    dimensions : tuple of int
        To choose from.
    """

    embeddings: tuple[Embedding, ...]
    map: str
    exact: bool = False
    dimensions: tuple[int, ...] = DIMENSIONS


LITERAL = tuple(Embedding("literal", a, "knn", h) for h in (5, 15) for a in (0.0, 0.75))
DEFAULT = (Embedding("scaled", 0.5, "linked"),)

METHODS: dict[str, Method] = {
    "literal KRR": Method(LITERAL, "krr", exact=True),
    "literal GRNN": Method(LITERAL, "grnn", exact=True),
    "literal A-Isomap": Method(
        tuple(Embedding(None, neighbors=h) for h in (5, 15)), "krr", exact=True
    ),
    "default": Method(DEFAULT, "by labels"),
    "default, 2 dimensions": Method(DEFAULT, "by labels", dimensions=(2,)),
    "default, KRR": Method(DEFAULT, "krr"),
    "default, GRNN": Method(DEFAULT, "grnn"),
    "default A-Isomap": Method((Embedding(None, graph="mutual"),), "by error"),
}

Setting = tuple[Embedding, int]
"""An embedding and its dimension."""


def _embedded(X: Array, y: AnyArray, how: Embedding, n_components: int) -> Array:
    """Return the exact embedding."""
    spread = float(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean()))
    points: Any = Euclidean(X / spread)
    if how.labels is not None:
        unit = 1.0 / spread if how.labels == "literal" else None
        points = Supervised(points, y, alpha=how.alpha, unit=unit)
    mutual = how.graph == "mutual"
    k = default_mutual_neighbors(len(X)) if mutual else min(how.neighbors, len(X) - 1)
    near = points.neighbors(k, 1)
    if how.graph == "linked":
        near = np.hstack([near, points.nearest_of_others(1)])
    if mutual:
        graph, _ = mutual_graph(points, near)
    else:
        graph, _ = connect_components(graph_of_neighbors(points, near), points)
    return classical_scaling(squared_geodesics(graph, None, np.float64), n_components)


def coordinates(
    X: Array, y: AnyArray, query: Array, wanted: dict[str, Iterable[Setting]]
) -> Iterator[tuple[str, Setting, Array, Array]]:
    """Yield method, setting, training and query coordinates for the wanted settings."""
    shared = SharedMaps(X, query)
    latents: dict[Embedding, Array] = {}
    maps: dict[tuple[Embedding, str], OfDimension] = {}
    for name, settings in wanted.items():
        method = METHODS[name]
        for how, d in settings:
            if how not in latents:
                latents[how] = _embedded(X, y, how, min(max(DIMENSIONS), X.shape[1]))
            Z = latents[how]
            if (how, method.map) not in maps:
                fitted = {
                    "krr": lambda Z=Z: shared.krr(Z),
                    "grnn": lambda Z=Z: shared.grnn(Z),
                    "by labels": lambda Z=Z: shared.by_labels(Z, y),
                    "by error": lambda Z=Z: shared.by_error(Z),
                }
                maps[how, method.map] = fitted[method.map]()
            left_out, predicted = maps[how, method.map](d)
            yield name, (how, d), Z[:, :d] if method.exact else left_out, predicted


def _settings_of(name: str, n_features: int) -> list[Setting]:
    method = METHODS[name]
    dimensions = [d for d in method.dimensions if d <= n_features]
    return list(product(method.embeddings, dimensions))


def _knn(Z: Array, y: AnyArray, query: Array, voters: tuple[int, ...] = VOTERS) -> AnyArray:
    """Return majority labels, one row for each number of voters; ties take the first label."""
    distances = sqdist(query, Z)
    most = min(max(voters), len(Z))
    near = np.argpartition(distances, most - 1, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1)
    labels, numbers = np.unique(y, return_inverse=True)
    votes = np.eye(len(labels))[numbers[np.take_along_axis(near, order, axis=1)]].cumsum(axis=1)
    return np.array([labels[votes[:, min(k, most) - 1].argmax(axis=1)] for k in voters])


def _svm(Z: Array, y: AnyArray, query: Array, C: float, factor: float) -> AnyArray:
    gamma = factor / max(Z.shape[1] * Z.var(), 1e-12)
    predicted: AnyArray = SVC(C=C, gamma=gamma, cache_size=100).fit(Z, y).predict(query)
    return predicted


def scaled(X: Array, *others: Array) -> list[Array]:
    """Standardize all tables by the mean and deviation of the first."""
    scaler = StandardScaler().fit(X)
    return [scaler.transform(A) for A in (X, *others)]


def _chosen(
    X: Array, y: AnyArray, methods: tuple[str, ...], seed: int
) -> dict[Key, tuple[Any, Any]]:
    """Choose the setting and the parameters of each method and classifier by inner folds."""
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    parts = [
        (*scaled(X[train], X[valid]), y[train], y[valid]) for train, valid in folds.split(X, y)
    ]
    wanted: dict[str, Iterable[Setting]] = {m: _settings_of(m, X.shape[1]) for m in methods}
    scores: dict[tuple[Any, ...], float] = {}
    kept: dict[tuple[Any, ...], tuple[Array, Array]] = {}
    for number, (train, valid, y_train, y_valid) in enumerate(parts):
        found: list[Any] = list(coordinates(train, y_train, valid, wanted))
        found.append(("raw", None, train, valid))
        for method, setting, Z, query_Z in found:
            kept[number, method, setting] = Z, query_Z
            key: tuple[Any, ...]
            for k, labels in zip(VOTERS, _knn(Z, y_train, query_Z), strict=True):
                key = method, "k-NN", setting, k
                scores[key] = scores.get(key, 0.0) + float(np.mean(labels == y_valid))
            key = method, "SVM", setting, USUAL_SVM
            hits = _svm(Z, y_train, query_Z, *USUAL_SVM) == y_valid
            scores[key] = scores.get(key, 0.0) + float(np.mean(hits))
    chosen: dict[Key, tuple[Any, Any]] = {}
    for method, kind in product((*methods, "raw"), KINDS):
        best = max((key for key in scores if key[:2] == (method, kind)), key=scores.__getitem__)
        chosen[method, kind] = best[2], best[3]
        if kind == "SVM":
            totals = {
                parameters: sum(
                    float(np.mean(_svm(Z, part[2], Q, *parameters) == part[3]))
                    for number, part in enumerate(parts)
                    for Z, Q in [kept[number, method, best[2]]]
                )
                for parameters in SVMS
            }
            chosen[method, kind] = best[2], max(totals, key=totals.__getitem__)
    return chosen


def _classified(
    X: Array, y: AnyArray, query: Array, methods: tuple[str, ...], seed: int
) -> dict[Key, AnyArray]:
    """Return the labels each method and classifier predicts."""
    chosen = _chosen(X, y, methods, seed)
    X, query = scaled(X, query)
    wanted: dict[str, Iterable[Setting]] = {
        method: {chosen[method, kind][0] for kind in KINDS} for method in methods
    }
    places: dict[Any, tuple[Array, Array]] = {
        (method, setting): (Z, Q) for method, setting, Z, Q in coordinates(X, y, query, wanted)
    }
    places["raw", None] = X, query
    predictions = {}
    for (method, kind), (setting, parameters) in chosen.items():
        Z, Q = places[method, setting]
        if kind == "k-NN":
            predictions[method, kind] = _knn(Z, y, Q, (parameters,))[0]
        else:
            predictions[method, kind] = _svm(Z, y, Q, *parameters)
    return predictions


def accuracies(
    X: Array, y: AnyArray, methods: tuple[str, ...], n_folds: int, seed: int
) -> dict[Key, float]:
    """Return percent correct of each method and classifier over the folds of one split.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Rows.
    y : ndarray of shape (n,)
        Their classes.
    methods : tuple of str
        Keys of `METHODS`; "raw", the classifier without an embedding, is added.
    n_folds : int
        Outer folds.
    seed : int
        Deals rows to folds.
    """
    correct: dict[Key, int] = {}
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        labels = _classified(X[train], y[train], X[test], methods, seed)
        for key, predicted in labels.items():
            correct[key] = correct.get(key, 0) + int((predicted == y[test]).sum())
    return {key: 100.0 * count / len(y) for key, count in correct.items()}
