"""How classifiers are judged: all parameters are chosen inside the training rows, for all methods.

Columns are standardized on the training rows of each split. Neighbors, alpha and dimension of the
embedding and the parameters of the classifiers are chosen by three inner folds of the training
rows, for all methods. Leave-one-out chooses widths and ridges of the maps. beta is 1.0, the mean
distance, everywhere. For support vector machines the embedding is chosen with C = 10 and the
default width, then C and width for that embedding.

The inner loops share work between settings: one factorization for each width serves all of them.
The experiment "check" compares their results with the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from twofold.geodesics.dissimilarities import Euclidean, Supervised
from twofold.geodesics.graph import connect_components, knn_graph
from twofold.geodesics.scaling import classical_scaling, squared_geodesics
from twofold.maps.ridge import ALPHAS
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import sqdist
from twofold.protocols import AnyArray, Array

NEIGHBORS = (5, 15)
LABELS = ((0.0, 1.0), (0.75, 1.0))
DIMENSIONS = (2, 4, 8, 16)
VOTERS = (1, 3, 5, 9, 15, 25)
SVMS = [(C, factor) for C in (0.1, 1.0, 10.0, 100.0, 1000.0) for factor in (0.125, 0.5, 1.0, 2.0)]
USUAL_SVM = (10.0, 1.0)
KINDS = ("k-NN", "SVM")

Labels = tuple[float, float] | None
"""alpha and beta; None without labels."""

Setting = tuple[int, Labels, int]
"""Neighbors, labels, dimension."""

OfDimension = Callable[[int], tuple[Array, Array]]
"""Maps a number of columns to leave-one-out predictions of the rows and those of the query."""

METHODS: dict[str, tuple[tuple[Labels, ...], str, bool]] = {
    "KRR": (LABELS, "krr", False),
    "GRNN": (LABELS, "grnn", False),
    "KRR, exact": (LABELS, "krr", True),
    "GRNN, exact": (LABELS, "grnn", True),
    "A-Isomap": ((None,), "krr", False),
}
"""Values of alpha and beta (None: no labels), the map, and whether to train on exact latents."""


def _embedded(X: Array, y: AnyArray, neighbors: int, labels: Labels, n_components: int) -> Array:
    """Return the exact embedding."""
    distances: Any = Euclidean(X / np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean()))
    if labels is not None:
        distances = Supervised(distances, y, alpha=labels[0], beta=labels[1])
    graph = knn_graph(distances, min(neighbors, len(X) - 1))
    graph, _ = connect_components(graph, distances)
    return classical_scaling(squared_geodesics(graph, None, np.float64), n_components)


class _Maps:
    """Both out-of-sample maps of many embeddings of the same rows: factorised once."""

    def __init__(self, X: Array, query: Array) -> None:
        self.widths = width_grid(X)
        own, other = sqdist(X, X), sqdist(query, X)
        self.ridge = []
        for width in self.widths:
            values, vectors = linalg.eigh(np.exp(-0.5 * own / width**2), driver="evd")
            kept = values > 1e-10 * values[-1]
            values, vectors = values[kept], vectors[:, kept]
            hats = [1.0 - np.square(vectors) @ (values / (values + alpha)) for alpha in ALPHAS]
            self.ridge.append((values, vectors, np.maximum(hats, 1e-12)))
        self.to_query = [np.exp(-0.5 * other / width**2) for width in self.widths]
        np.fill_diagonal(own, np.inf)
        self.squares = {"own": own, "other": other}
        self.known: dict[tuple[str, str], Array] = {}

    def _means(self, width: float, of: str) -> Array:
        """Return regression weights of the query, or of the rows with each left out."""
        key = f"{width:.10e}", of
        if key not in self.known:
            logs = -0.5 * self.squares[of] / width**2
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            self.known[key] = weights / weights.sum(axis=1, keepdims=True)
        return self.known[key]

    def krr(self, Z: Array) -> OfDimension:
        """Return leave-one-out and query predictions by kernel ridge for each dimension."""
        errors = np.empty((len(self.widths), len(ALPHAS), Z.shape[1]))
        projected = [vectors.T @ Z for _, vectors, _ in self.ridge]
        for (w, (values, vectors, rest)), (a, alpha) in product(
            enumerate(self.ridge), enumerate(ALPHAS)
        ):
            fit = vectors @ (projected[w] * (values / (values + alpha))[:, None])
            errors[w, a] = np.square((Z - fit) / rest[a][:, None]).sum(axis=0)

        def of(d: int) -> tuple[Array, Array]:
            total = errors[:, :, :d].sum(axis=2)
            ridges = [max(np.flatnonzero(row <= 1.01 * row.min())) for row in total]
            w = int(np.argmin([row[a] for row, a in zip(total, ridges, strict=True)]))
            a = ridges[w]
            values, vectors, rest = self.ridge[w]
            weights = vectors @ (projected[w][:, :d] / (values + ALPHAS[a])[:, None])
            fit = vectors @ (projected[w][:, :d] * (values / (values + ALPHAS[a]))[:, None])
            left_out = Z[:, :d] - (Z[:, :d] - fit) / rest[a][:, None]
            return left_out, self.to_query[w] @ weights

        return of

    def grnn(self, Z: Array) -> OfDimension:
        """Return the same for the general regression network, its width searched as in `GRNN`."""
        errors: dict[str, Array] = {}

        def error(width: float, d: int) -> float:
            key = f"{width:.10e}"
            if key not in errors:
                errors[key] = np.square(Z - self._means(width, "own") @ Z).sum(axis=0)
            return float(errors[key][:d].sum())

        def of(d: int) -> tuple[Array, Array]:
            first = self.widths[0]
            tried = [first / 8.0, first / 4.0, first / 2.0, *self.widths]
            best = min(tried, key=lambda width: error(width, d))
            for ratio in (2.0**0.5, 2.0**0.25, 2.0**0.125):
                best = min((best, best / ratio, best * ratio), key=lambda width: error(width, d))
            return self._means(best, "own") @ Z[:, :d], self._means(best, "other") @ Z[:, :d]

        return of


def coordinates(
    X: Array, y: AnyArray, query: Array, wanted: dict[str, Iterable[Setting]]
) -> Iterator[tuple[str, Setting, Array, Array]]:
    """Yield method, setting, training and query coordinates for the wanted settings."""
    maps = _Maps(X, query)
    done: dict[tuple[int, Labels], tuple[Array, OfDimension, OfDimension]] = {}
    for method, settings in wanted.items():
        _, kind, exact = METHODS[method]
        for setting in settings:
            neighbors, labels, d = setting
            key = (neighbors, labels)
            if key not in done:
                Z = _embedded(X, y, neighbors, labels, min(max(DIMENSIONS), X.shape[1]))
                done[key] = (Z, maps.krr(Z), maps.grnn(Z))
            Z, krr, grnn = done[key]
            left_out, predicted = (grnn if kind == "grnn" else krr)(d)
            yield method, setting, Z[:, :d] if exact else left_out, predicted


def _settings_of(method: str, n_features: int) -> list[Setting]:
    labels = METHODS[method][0]
    dimensions = [d for d in DIMENSIONS if d <= n_features]
    return list(product(NEIGHBORS, labels, dimensions))


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
) -> dict[tuple[str, str], tuple[Any, Any]]:
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
    chosen: dict[tuple[str, str], tuple[Any, Any]] = {}
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
) -> dict[tuple[str, str], AnyArray]:
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
) -> dict[tuple[str, str], float]:
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
    correct: dict[tuple[str, str], int] = {}
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        labels = _classified(X[train], y[train], X[test], methods, seed)
        for key, predicted in labels.items():
            correct[key] = correct.get(key, 0) + int((predicted == y[test]).sum())
    return {key: 100.0 * count / len(y) for key, count in correct.items()}
