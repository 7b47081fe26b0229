"""Ways back for maps that have none: a regression from the latents to the data.

The map is fitted first, and encodes by itself. Its training latents and rows then fit one of:

* scikit-learn's ``KNeighborsRegressor``: the three lines that any user could write.
* a network in PyTorch, see `benchmarks.rivals.networks.Decoder`.
* NNinv and RBF of the package inverse-projections.
"""

import contextlib
import io

import numpy as np

NEIGHBORS = (3, 5, 10)
VALIDATION_SHARE = 0.2


class WithDecoder:
    """A map with a decoder from its latents.

    Parameters
    ----------
    embedding : object
        With ``fit`` and ``transform``; ``embedding_`` after the fit.
    decoder : object
        With ``fit(Z, X)`` and ``predict(Z)``.
    """

    def __init__(self, embedding, decoder):
        self.embedding, self.decoder = embedding, decoder

    def fit(self, X):
        self.embedding.fit(X)
        self.embedding_ = np.asarray(self.embedding.embedding_, dtype=np.float64)
        self.decoder.fit(self.embedding_, X)
        return self

    def transform(self, X):
        return self.embedding.transform(X)

    def inverse_transform(self, Z):
        return self.decoder.predict(np.asarray(Z, dtype=np.float64))


class Neighbors:
    """Mean of the nearest training rows, weighted by distance.

    The number of neighbors is the best of 3, 5 and 10 for a fifth of the training rows, held out.
    """

    def __init__(self, seed, threads):
        self.seed, self.threads = seed, threads

    def fit(self, Z, X):
        order = np.random.default_rng(self.seed).permutation(len(Z))
        n_checked = max(1, round(VALIDATION_SHARE * len(Z)))
        checked, fitted = order[:n_checked], order[n_checked:]
        errors = {}
        for k in NEIGHBORS:
            if k <= len(fitted):
                found = self._regressor(k).fit(Z[fitted], X[fitted]).predict(Z[checked])
                errors[k] = float(np.square(found - X[checked]).mean())
        self.n_neighbors_ = min(errors, key=errors.get)
        self._fitted = self._regressor(self.n_neighbors_).fit(Z, X)
        return self

    def predict(self, Z):
        return self._fitted.predict(Z)

    def _regressor(self, k):
        from sklearn.neighbors import KNeighborsRegressor

        return KNeighborsRegressor(k, weights="distance", n_jobs=self.threads)


class NNinv:
    """NNinv of inverse-projections. Its outputs lie in [0, 1], so the rows are scaled to that."""

    def __init__(self, seed, threads):
        import torch
        from inverse_projections import NNinv as Inverse

        torch.set_num_threads(threads)
        torch.manual_seed(seed)
        with contextlib.redirect_stdout(io.StringIO()):
            self.model = Inverse()

    def fit(self, Z, X):
        self._low, high = X.min(), X.max()
        self._range = (high - self._low) or 1.0
        self.model.fit(Z, (X - self._low) / self._range, verbose=False)
        return self

    def predict(self, Z):
        return self.model.transform(Z).astype(np.float64) * self._range + self._low


class Rbf:
    """RBFinv of inverse-projections."""

    def __init__(self):
        from inverse_projections import RBFinv

        self.model = RBFinv()

    def fit(self, Z, X):
        self.model.fit(Z, X)
        return self

    def predict(self, Z):
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
            return self.model.transform(Z)
