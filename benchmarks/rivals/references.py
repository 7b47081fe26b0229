"""Reference lines: what a table without a bottleneck of two latents can do. They are no rivals.

A reference has ``fit(X)`` and ``figures(X)``, its errors on held-out rows.
"""

import numpy as np

from twofold.metrics import relative_reconstruction_error
from twofold.numerics.codebooks import quantized, sizes_of_codebooks


class Lookup:
    """Rebuild a row as the mean of its nearest training rows, found in the data space."""

    def __init__(self, n_neighbors, threads):
        self.n_neighbors, self.threads = n_neighbors, threads

    def fit(self, X):
        from sklearn.neighbors import NearestNeighbors

        self._X = X
        self._search = NearestNeighbors(n_neighbors=self.n_neighbors, n_jobs=self.threads).fit(X)
        return self

    def figures(self, X):
        near = self._search.kneighbors(X, return_distance=False)
        rebuilt = self._X[near].mean(axis=1)
        error = relative_reconstruction_error(X, rebuilt)
        return {"error": error, "mse": float(np.square(X - rebuilt).mean())}


class KMeans:
    """Rebuild a row as the nearest k-means center of the data, for codebooks of several sizes.

    No code of as many words has a much lower error: the limit of the codebook errors.
    """

    MOST, ROWS, STARTS = 256, 20_000, 3
    """Larger codebooks and more rows take minutes with many columns."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X):
        from sklearn.cluster import KMeans as Search

        order = np.random.default_rng(self.seed).permutation(len(X))
        some = X[order[: self.ROWS]]
        starts = {"n_init": self.STARTS, "random_state": self.seed}
        self._codes = {
            size: Search(size, **starts).fit(some).cluster_centers_
            for size in sizes_of_codebooks(len(X))
            if size <= self.MOST
        }
        return self

    def figures(self, X):
        return {
            f"codebook_error_{size}": relative_reconstruction_error(X, quantized(X, codes))
            for size, codes in self._codes.items()
        }
