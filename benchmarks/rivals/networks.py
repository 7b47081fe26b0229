"""Rivals in PyTorch: an autoencoder, a variational one, and a decoder of given coordinates.

All have three hidden layers of 256 units on each side and the same training: AdamW, one cycle of
the learning rate with a cosine, and the weights with the lowest error on a tenth of the training
rows, which stops the training early. On MNIST the autoencoder's two latents reach a test error
below the published one in less than two minutes on one core.
"""

import copy
from itertools import pairwise

import numpy as np

HIDDEN = (256, 256, 256)
EPOCHS, FEWEST_STEPS, MOST_STEPS = 25, 5_000, 10_000
BATCH, LARGE_BATCH, MANY_ROWS = 64, 256, 10_000
"""Rows of a batch, more of them from many rows on."""
RATE, DECAY, WARM_UP = 2e-3, 1e-2, 0.1
VALIDATION_SHARE = 0.1
CHECKS = 60
"""How often the validation error is measured during the training."""
PATIENCE = 20
"""Checks without a lower error that end the training."""
KL_WEIGHT = 1e-3
"""Weight of the divergence beside the squared error of a row: small, as decoding is the task."""


class Autoencoder:
    """D-256-256-256-q-256-256-256-D, fitted to the squared error."""

    def __init__(self, seed, threads, n_components=2):
        _prepare_torch(seed, threads)
        self.seed, self.n_components = seed, n_components

    def fit(self, X):
        import torch

        widths = (X.shape[1], *HIDDEN, self.n_components)
        self.down, self.up = _network(widths), _network(widths[::-1])
        both = torch.nn.Sequential(self.down, self.up)
        _train(both, X, X, self.seed, _squared_error)
        self.embedding_ = self.transform(X)
        return self

    def transform(self, X):
        return _through(self.down, X)

    def inverse_transform(self, Z):
        return _through(self.up, Z)


class VariationalAutoencoder(Autoencoder):
    """The same networks; the encoder gives means and log variances. The latents are the means."""

    def fit(self, X):
        import torch

        q = self.n_components
        self._both_down = _network((X.shape[1], *HIDDEN, 2 * q))
        self.up = _network((q, *HIDDEN[::-1], X.shape[1]))

        class Both(torch.nn.Module):
            def __init__(self, down, up):
                super().__init__()
                self.down, self.up = down, up

            def forward(self, rows):
                mean, log_variance = self.down(rows).split(q, dim=1)
                if not self.training:
                    return self.up(mean)
                log_variance = log_variance.clamp(-10.0, 10.0)
                drawn = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
                excess = mean.square() + log_variance.exp() - 1.0 - log_variance
                self.divergence = 0.5 * excess.sum(dim=1).mean()
                return self.up(drawn)

        def loss(model, rebuilt, rows):
            return _squared_error(model, rebuilt, rows) + KL_WEIGHT * model.divergence

        _train(Both(self._both_down, self.up), X, X, self.seed, loss)
        self.embedding_ = self.transform(X)
        return self

    def transform(self, X):
        return _through(self._both_down, X)[:, : self.n_components]


class Decoder:
    """q-256-256-256-D from given latents, which are standardized first."""

    def __init__(self, seed, threads):
        _prepare_torch(seed, threads)
        self.seed = seed

    def fit(self, Z, X):
        self._mean, self._scale = Z.mean(axis=0), Z.std(axis=0).max() or 1.0
        self.up = _network((Z.shape[1], *HIDDEN, X.shape[1]))
        _train(self.up, (Z - self._mean) / self._scale, X, self.seed, _squared_error)
        return self

    def predict(self, Z):
        return _through(self.up, (Z - self._mean) / self._scale)


def _prepare_torch(seed, threads):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(seed)


def _network(widths):
    from torch import nn

    layers = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.GELU()]
    return nn.Sequential(*layers[:-1])


def _squared_error(model, rebuilt, rows):  # noqa: ARG001 - the signature of a loss
    return (rebuilt - rows).square().mean()


def _train(model, inputs, targets, seed, loss_of):
    """Fit a network; leave it with the weights of the lowest validation error."""
    import torch

    inputs, targets = (torch.tensor(a, dtype=torch.float32) for a in (inputs, targets))
    order = torch.tensor(np.random.default_rng(seed).permutation(len(inputs)))
    n_checked = max(1, round(VALIDATION_SHARE * len(inputs)))
    checked, fitted = order[:n_checked], order[n_checked:]
    size = min(LARGE_BATCH if len(inputs) >= MANY_ROWS else BATCH, len(fitted))
    per_epoch = len(fitted) // size
    steps = int(np.clip(EPOCHS * per_epoch, FEWEST_STEPS, MOST_STEPS))
    adam = torch.optim.AdamW(model.parameters(), RATE, weight_decay=DECAY)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        adam, RATE, total_steps=steps + 1, pct_start=WARM_UP
    )
    check_every = -(-steps // CHECKS)
    lowest, best, since = np.inf, None, 0
    batches = iter(())
    for step in range(1, steps + 1):
        batch = next(batches, None)
        if batch is None:
            mixed = fitted[torch.randperm(len(fitted))]
            batches = iter(mixed[: per_epoch * size].split(size))
            batch = next(batches)
        adam.zero_grad()
        loss_of(model, model(inputs[batch]), targets[batch]).backward()
        adam.step()
        cycle.step()
        if step % check_every == 0 or step == steps:
            model.eval()
            with torch.no_grad():
                error = float(_squared_error(model, model(inputs[checked]), targets[checked]))
            model.train()
            if error < lowest:
                lowest, best, since = error, copy.deepcopy(model.state_dict()), 0
            else:
                since += 1
            if since == PATIENCE:
                break
    if best is not None:
        model.load_state_dict(best)
    model.eval()


def _through(network, values):
    import torch

    with torch.no_grad():
        return network(torch.tensor(values, dtype=torch.float32)).numpy().astype(np.float64)
