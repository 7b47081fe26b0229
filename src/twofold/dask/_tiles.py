r"""Unsupervised kernel regression of very many rows, in tiles of the latent space.

At the leave-one-out optimum, a latent depends only on the neighbors within its kernel's reach
``r``. So the latent space is cut into boxes with about the same number of rows, and each box is
refined on its own: its rows move, while the rows within ``2 r`` of it, its *halo*, stay fixed. The
moving rows change the errors of rows up to ``r`` away, and all that enters these errors lies within
``2 r``: for its own rows, the gradient of a tile equals that of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.optimize import LBFGS
from twofold.protocols import Array, IntArray, Objective, RadialKernel
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import MANY_ROWS, MOST_EXACT, is_many

FEWEST_MASS = 1e-12


@dataclass(frozen=True)
class Tile:
    """The ascending numbers of a tile's rows and its halo's (m,), and which are its own (m,)."""

    rows: IntArray
    own: NDArray[np.bool_]


def tiles_of(latents: Array, most: int, reach: float) -> list[Tile]:
    """Halve all rows by their latents (n, q) along the longest side, down to ``most`` rows a tile.

    Halos extend by ``reach``.
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
    """New latents of a tile's own rows, and the sum of their leave-one-out errors before."""

    latents: Array
    error_before: float


@dataclass(frozen=True)
class Refinement:
    """Refines a tile by iterations of L-BFGS; 0 iterations only measure the errors.

    The kernel has unit width; ``pseudo_count`` and ``tol`` are those of the estimator.
    """

    kernel: RadialKernel
    pseudo_count: float
    n_iter: int
    tol: float

    def __call__(self, data: Array, latents: Array, own: NDArray[np.bool_]) -> Refined:
        """Refine the own rows of a tile (m, D)."""
        many = is_many(len(data), self.kernel, MANY_ROWS if self.pseudo_count else MOST_EXACT)
        scheme = KernelRegression.of(data, self.kernel, many=many, pseudo_count=self.pseudo_count)
        before = float(self._errors(scheme, latents)[own].sum())
        if not self.n_iter or len(data) < 2:
            return Refined(latents[own], before)
        objective = _FixedHalo(scheme.objective(), latents, own)
        minimizer = LBFGS(max_iter=self.n_iter, tol=self.tol)
        return Refined(minimizer.minimize(objective, latents[own]).Z, before)

    def _errors(self, scheme: KernelRegression, latents: Array) -> Array:
        mass, sums = scheme.weigh_plain(latents).mass_and_apply(scheme.data)
        images = sums / np.maximum(mass + self.pseudo_count, FEWEST_MASS)[:, None]
        errors: Array = np.square(scheme.data - images).sum(axis=1, dtype=np.float64)
        return errors


@dataclass(frozen=True)
class _FixedHalo:
    """The error of all rows of a tile as a function of its own rows' latents."""

    objective: Objective
    latents: Array
    own: NDArray[np.bool_]

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        everyone = self.latents.copy()
        everyone[self.own] = Z
        value, gradient = self.objective.value_and_grad(everyone)
        return float(value), np.ascontiguousarray(gradient[self.own])
