"""Optional rivals: the time of umap-learn, and an autoencoder in PyTorch."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.machine import is_installed
from twofold.protocols import Array

N_WARM = 5_000
"""Beyond 4,096 rows umap-learn searches neighbors by other code, which compiles for long."""
EPOCHS = 1_000
"""L-BFGS iterations of each stage, as in Carreira-Perpinan & Lu (2010)."""


@dataclass(frozen=True)
class Rival:
    """The result of a rival.

    Attributes
    ----------
    seconds : float or None
        None where it did not run.
    said : str
        The same for readers, or why it did not run.
    """

    seconds: float | None
    said: str


def umap_seconds(X: Array, *, quick: bool) -> Rival:
    """Time umap-learn after its code is compiled; quick runs skip it, as it is slow."""
    if not is_installed("umap"):
        return Rival(None, "umap-learn is not installed")
    if quick:
        return Rival(None, "umap-learn: in full runs alone")
    import umap

    umap.UMAP().fit(X[:N_WARM])
    began = time.perf_counter()
    umap.UMAP(n_components=2).fit(X)
    seconds = time.perf_counter() - began
    return Rival(seconds, f"umap-learn {seconds:.0f} s")


def autoencoded(X: Array, start: Array, n_hidden: int, seed: int, *, epochs: int = EPOCHS) -> Array:
    """Return the latents of an autoencoder with one hidden layer on either side.

    Its maps are first fitted to given latents, as Carreira-Perpinan & Lu (2010), section 3 do it,
    then trained together. PyTorch has to be installed.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    start : ndarray of shape (n, q)
        First latents.
    n_hidden : int
        Sigmoid units of each hidden layer.
    seed : int
        Of the weights.
    epochs : int
        L-BFGS iterations of each stage.
    """
    import torch

    torch.manual_seed(seed)
    data, Z = (torch.tensor((A - A.mean(axis=0)) / A.std()) for A in (X, start))

    def network(inputs: int, outputs: int) -> Any:
        layers = [
            torch.nn.Linear(inputs, n_hidden),
            torch.nn.Sigmoid(),
            torch.nn.Linear(n_hidden, outputs),
        ]
        return torch.nn.Sequential(*layers).double()

    down = network(X.shape[1], start.shape[1])
    up = network(start.shape[1], X.shape[1])

    def train(parameters: Any, loss: Any) -> None:
        optimizer = torch.optim.LBFGS(parameters, max_iter=epochs, line_search_fn="strong_wolfe")

        def closure() -> Any:
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        optimizer.step(closure)

    train(down.parameters(), lambda: (Z - down(data)).square().mean())
    train(up.parameters(), lambda: (data - up(Z)).square().mean())
    train([*down.parameters(), *up.parameters()], lambda: (data - up(down(data))).square().mean())
    return np.asarray(down(data).detach().numpy())
