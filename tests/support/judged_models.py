"""Two-way models whose errors can be computed by hand."""

import numpy as np


class Plane:
    """Coordinates of a plane in the data, with known training latents."""

    def __init__(self, X, q=2, scale=1.0, offset=0.0):
        self.mean = X.mean(axis=0)
        self.axes = np.linalg.svd(X - self.mean, full_matrices=False)[2][:q]
        self.scale, self.offset = scale, offset
        self.embedding_ = self.transform(X)

    def transform(self, X):
        return self.scale * ((np.asarray(X) - self.mean) @ self.axes.T) + self.offset

    def inverse_transform(self, Z):
        return ((np.asarray(Z) - self.offset) / self.scale) @ self.axes + self.mean


class Torn(Plane):
    """A line cut into pieces that lie in another order: the same plain error, another map."""

    PIECES = np.random.default_rng(5).permutation(200)

    def __init__(self, X):
        coordinates = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0))[2][0]
        self.low, self.high = coordinates.min() - 1.0, coordinates.max() + 1.0
        super().__init__(X, q=1)

    def _moved(self, Z, order):
        width = (self.high - self.low) / len(order)
        piece = np.clip((Z[:, 0] - self.low) // width, 0, len(order) - 1).astype(int)
        return Z + width * (order[piece] - piece)[:, None]

    def transform(self, X):
        return self._moved(super().transform(X), self.PIECES)

    def inverse_transform(self, Z):
        return super().inverse_transform(self._moved(np.asarray(Z), np.argsort(self.PIECES)))


def sheet(n=300, seed=0, d=5):
    """Return a noisy plane (n, d)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ np.eye(2, d) * 3.0 + 0.1 * rng.normal(size=(n, d))
