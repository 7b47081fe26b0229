"""Rivals with other interfaces, each behind ``fit``, ``transform`` and ``inverse_transform``.

A model that cannot encode or decode sets that method to None, and the tables say "none".
``embedding_`` holds the latents of the training rows. Packages are imported inside, so that each
job imports only its own rival.
"""

from itertools import pairwise

import numpy as np


class Tsne:
    """openTSNE: encodes by optimizing new points in a fixed map; does not decode."""

    inverse_transform = None

    def __init__(self, seed, threads):
        import openTSNE

        self.model = openTSNE.TSNE(n_jobs=threads, random_state=seed)

    def fit(self, X):
        self._fitted = self.model.fit(X)
        self.embedding_ = np.asarray(self._fitted)
        return self

    def transform(self, X):
        return np.asarray(self._fitted.transform(X))


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
    """GPy's GPLVM from PCA: encodes by optimizing latents, decodes to the posterior mean."""

    ITERATIONS = 1_000
    """The default of its optimizer. 200 take 37 s on digits and 16 s on oil flow, on two cores."""

    def __init__(self):
        import GPy

        self._make = GPy.models.GPLVM

    def fit(self, X):
        self.model = self._make(X, 2)
        self.model.optimize(max_iters=self.ITERATIONS)
        self.embedding_ = np.array(self.model.X)
        return self

    def transform(self, X):
        latents, _ = self.model.infer_newX(X)
        return np.array(latents)

    def inverse_transform(self, Z):
        return self.model.predict(Z)[0]


class Autoencoder:
    """D-128-128-q-128-128-D in PyTorch, ReLU, Adam, batches of 256, fifty epochs within bounds.

    Fifty epochs are too few steps for few rows, and too long a wait for a million rows.
    """

    EPOCHS, BATCH, FEWEST_STEPS, MOST_STEPS = 50, 256, 3_000, 20_000

    def __init__(self, seed, threads, n_components=2):
        import torch

        self.n_components = n_components
        torch.set_num_threads(threads)
        torch.manual_seed(seed)

    def fit(self, X):
        import torch

        widths = (X.shape[1], 128, 128, self.n_components)
        self.down, self.up = _network(widths), _network(widths[::-1])
        both = torch.nn.Sequential(self.down, self.up)
        adam = torch.optim.Adam(both.parameters(), 1e-3)
        rows = torch.tensor(X, dtype=torch.float32)
        size = min(self.BATCH, len(rows))
        per_epoch = -(-len(rows) // size)
        left = int(np.clip(self.EPOCHS * per_epoch, self.FEWEST_STEPS, self.MOST_STEPS))
        while left > 0:
            for batch in torch.randperm(len(rows)).split(size)[:left]:
                adam.zero_grad()
                torch.nn.functional.mse_loss(both(rows[batch]), rows[batch]).backward()
                adam.step()
            left -= per_epoch
        self.embedding_ = self.transform(X)
        return self

    def transform(self, X):
        return _through(self.down, X)

    def inverse_transform(self, Z):
        return _through(self.up, Z)


def _network(widths):
    from torch import nn

    layers = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _through(network, values):
    import torch

    with torch.no_grad():
        return network(torch.tensor(values, dtype=torch.float32)).numpy().astype(np.float64)
