r"""Unsupervised kernel regression of very many rows, tile by tile of the latent space.

At the leave-one-out optimum a latent feels only the neighbours within its kernel's reach ``r``. So the latent space is cut into
boxes of about as many rows each, and every box is refined on its own: its rows move, the rows within ``2 r`` of it, its *halo*, stand still. Rows
up to ``r`` away are those whose errors the moving ones change, and up to ``2 r`` lies all that enters these errors: for its own rows the
gradient of a tile is that of all rows, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.threads import single_threaded_blas, using_threads
from twofold.optimize import LBFGS
from twofold.protocols import Array, IntArray, RadialKernel
from twofold.ukr.regression import KernelRegression

__all__ = ["Refined", "Refinement", "Tile", "tiles_of"]

FEWEST_MASS = 1e-12


@dataclass(frozen=True)
class Tile:
    """Rows of a tile.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        The numbers of its own rows and of its halo's, ascending.
    own : ndarray of bool, shape (m,)
        Which of them are its own.
    """

    rows: IntArray
    own: Any


def tiles_of(latents: Array, most: int, reach: float) -> list[Tile]:
    """Cut rows into tiles by their latents: halves along the longest side, until a tile has at most so many rows.

    Parameters
    ----------
    latents : ndarray of shape (n, q)
        All latents.
    most : int
        Rows of a tile.
    reach : float
        How far halos go.
    """
    everyone = np.arange(len(latents))
    waiting, tiles = [(everyone, everyone)], []
    while waiting:
        rows, near = waiting.pop()
        inside, around = latents[rows], latents[near]
        low, high = inside.min(axis=0), inside.max(axis=0)
        # The halo of a half lies within that of the whole.
        near = near[((around >= low - reach) & (around <= high + reach)).all(axis=1)]
        lengths = high - low
        if len(rows) <= most or not lengths.max() > 0.0:
            tiles.append(Tile(near, np.isin(near, rows, assume_unique=True)))
            continue
        order = np.argsort(inside[:, int(lengths.argmax())], kind="stable")
        half = len(rows) // 2
        waiting += [(np.sort(rows[part]), near) for part in (order[:half], order[half:])]
    return tiles


@dataclass(frozen=True)
class Refined:
    """New latents of a tile's own rows, and the sums of their leave-one-out errors before."""

    latents: Array
    error_before: float


@dataclass(frozen=True)
class Refinement:
    """What is done in a tile.

    Parameters
    ----------
    kernel : RadialKernel
        The latent kernel, of unit width.
    pseudo_count : float
        Observations at the mean in each prediction.
    n_iter : int
        Iterations of L-BFGS; 0 measures errors alone.
    tol : float
        Relative decrease of the error at which they end.
    """

    kernel: RadialKernel
    pseudo_count: float
    n_iter: int
    tol: float

    def __call__(self, data: Array, latents: Array, own: Any) -> Refined:
        """Refine the own rows of a tile (m, D)."""
        with using_threads(1), single_threaded_blas():
            scheme = KernelRegression.of(data, self.kernel, pseudo_count=self.pseudo_count)
            before = float(self._errors(scheme, latents)[own].sum())
            if not self.n_iter or len(data) < 2:
                return Refined(latents[own], before)
            objective = _HeldHalo(scheme.objective(), latents, own)
            minimizer = LBFGS(max_iter=self.n_iter, tol=self.tol)
            return Refined(minimizer.minimize(objective, latents[own]).Z, before)

    def _errors(self, scheme: KernelRegression, latents: Array) -> Array:
        mass, sums = scheme._plain(latents).mass_and_apply(scheme.data)
        images = sums / np.maximum(mass + self.pseudo_count, FEWEST_MASS)[:, None]
        errors: Array = np.square(scheme.data - images).sum(axis=1, dtype=np.float64)
        return errors


@dataclass(frozen=True)
class _HeldHalo:
    """The error of all rows of a tile as a function of its own rows' latents."""

    objective: Any
    latents: Array
    own: Any

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        everyone = self.latents.copy()
        everyone[self.own] = Z
        value, gradient = self.objective.value_and_grad(everyone)
        return float(value), np.ascontiguousarray(gradient[self.own])
