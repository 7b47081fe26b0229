"""Rivals with other interfaces, each behind ``fit``, ``transform`` and ``inverse_transform``.

A model that cannot encode or decode sets that method to None, and the tables say "none".
``embedding_`` holds the latents of the training rows. Packages are imported inside, so that each
job imports only its own rival.
"""

import time

import numpy as np


class Tsne:
    """openTSNE: encodes by optimizing new points in a fixed map; does not decode.

    Its ``transform`` shifts the map in place and returns points of the shifted map. They are
    shifted back: otherwise a decoder that was fitted before would be lost.
    """

    inverse_transform = None

    def __init__(self, seed, threads):
        import openTSNE

        self.model = openTSNE.TSNE(n_jobs=threads, random_state=seed)

    def fit(self, X):
        self._fitted = self.model.fit(X)
        self.embedding_ = np.array(self._fitted)
        return self

    def transform(self, X):
        found = np.array(self._fitted.transform(X))
        return found - (np.asarray(self._fitted) - self.embedding_).mean(axis=0)


class Pacmap:
    """PaCMAP: encodes with the training rows at hand; does not decode."""

    inverse_transform = None

    def __init__(self, seed):
        import pacmap

        self.model = pacmap.PaCMAP(random_state=seed)

    def fit(self, X):
        self._basis = X
        self.embedding_ = self.model.fit_transform(X)
        return self

    def transform(self, X):
        return self.model.transform(X, basis=self._basis)


class Phate:
    """PHATE: encodes by interpolation, with a warning of the package; does not decode."""

    inverse_transform = None

    def __init__(self, seed, threads):
        import phate

        self.model = phate.PHATE(n_jobs=threads, random_state=seed, verbose=0)

    def fit(self, X):
        self.embedding_ = self.model.fit_transform(X)
        return self

    def transform(self, X):
        return self.model.transform(X)


class Gtm:
    """ugtm: encodes to posterior means; decodes to the surface of the GTM at that place.

    The package's own ``inverse_transform`` starts from all 256 responsibilities, not from two
    latents.
    """

    def __init__(self, seed):
        import ugtm

        self.model = ugtm.ugtm_sklearn.eIGTM(random_state=seed)

    def fit(self, X):
        self.embedding_ = self.model.fit_transform(X)
        return self

    def transform(self, X):
        return self.model.transform(X)

    def inverse_transform(self, Z):
        start = self.model.initialModel
        sqdist = np.square(Z[:, np.newaxis] - start.matM).sum(axis=2)
        features = np.exp(-sqdist / (2 * start.rbfWidth))
        return np.column_stack([features, np.ones(len(Z))]) @ self.model.optimizedModel.matW.T


class Gplvm:
    """GPy's GPLVM from PCA: encodes by optimizing latents, decodes to the posterior mean.

    The fit runs in rounds until the iterations or the seconds are used up. Without the limit on
    the seconds it would end at the job's limit and have no result for some sets.
    """

    ITERATIONS = 1_000
    """The default of its optimizer."""
    ROUND, SECONDS = 50, 60.0

    def __init__(self):
        import GPy

        self._make = GPy.models.GPLVM

    def fit(self, X):
        self.model = self._make(X, 2)
        began = time.monotonic()
        for _ in range(self.ITERATIONS // self.ROUND):
            before = self.model.log_likelihood()
            self.model.optimize(max_iters=self.ROUND)
            converged = self.model.log_likelihood() - before < 1e-6 * abs(before)
            if converged or time.monotonic() - began > self.SECONDS:
                break
        self.embedding_ = np.array(self.model.X)
        return self

    def transform(self, X):
        latents, _ = self.model.infer_newX(X)
        return np.array(latents)

    def inverse_transform(self, Z):
        return self.model.predict(Z)[0]
