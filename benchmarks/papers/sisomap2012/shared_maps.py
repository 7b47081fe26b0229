"""Both out-of-sample maps of many embeddings of the same rows, from shared factorizations.

The inner folds of the protocol fit maps to dozens of embeddings. One eigendecomposition of the
kernel matrix for each width serves all of them. The experiment "check" compares the results with
those of the estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy import linalg

from twofold.isomap.out_of_sample import STANDARD_ERRORS, _distinct, _right_votes
from twofold.maps.ridge import ALPHAS
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import sqdist
from twofold.protocols import AnyArray, Array

OfDimension = Callable[[int], tuple[Array, Array]]
"""Maps a number of columns to leave-one-out predictions of the rows and those of the query."""


class SharedMaps:
    """Kernel ridge regression and general regression networks from X to any latents of it."""

    def __init__(self, X: Array, query: Array) -> None:
        self.widths = width_grid(X)
        self.first = _distinct(X)
        self.of_distinct = self if len(self.first) == len(X) else SharedMaps(X[self.first], query)
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

    def by_labels(self, Z: Array, y: AnyArray) -> OfDimension:
        """Return the map that ``SupervisedIsomap(out_of_sample="auto")`` takes."""
        maps = self.krr(Z), self.grnn(Z)
        judged, wanted, labels = maps, Z, y
        if self.of_distinct is not self:
            wanted, labels = Z[self.first], y[self.first]
            judged = self.of_distinct.krr(wanted), self.of_distinct.grnn(wanted)

        def of(d: int) -> tuple[Array, Array]:
            right = [_right_votes(one(d)[0], labels, 1).astype(float) for one in judged]
            gain = right[1] - right[0]
            clear = gain.mean() > STANDARD_ERRORS * gain.std() / np.sqrt(len(gain))
            return maps[1 if clear else 0](d)

        return of

    def by_error(self, Z: Array) -> OfDimension:
        """Return the map that ``AgglomerativeIsomap(out_of_sample="auto")`` takes."""
        maps = self.krr(Z), self.grnn(Z)
        judged, wanted = maps, Z
        if self.of_distinct is not self:
            wanted = Z[self.first]
            judged = self.of_distinct.krr(wanted), self.of_distinct.grnn(wanted)

        def of(d: int) -> tuple[Array, Array]:
            errors = [np.square(one(d)[0] - wanted[:, :d]).sum() for one in judged]
            return maps[int(errors[1] < errors[0])](d)

        return of
