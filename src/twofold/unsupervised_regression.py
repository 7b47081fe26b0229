r"""Dimensionality reduction by unsupervised regression: both maps and the latents, in turn.

Minimises over latents ``Z`` and maps ``f``, ``F`` (Carreira-Perpinan & Lu 2010, Eqs. 1-3)

.. math:: E = \sum_n |x_n - f(z_n)|^2 + |z_n - F(x_n)|^2 + \lambda_f R(f) + \lambda_F R(F)

by turns, as in their Fig. 1: *projection* moves each latent on its own (Gauss-Newton with backtracking, Eqs. 7-12),
*adaptation* is two regressions (Eqs. 13-20).

**Scale.** The first term does not care in which units latents are, as long as f follows; the second shrinks with them. So
the scale of the latents is the weight of the second term, and is stated: their total variance is ``down_weight``
times that of the data. As long as centres and widths of f are placed anew, latents are brought back to it in
each turn. When they are kept, they hold the scale themselves, and every turn lowers the energy.

**Held-out energy.** Some rows take no part in the regressions. The energy that they find with the maps of a turn,
``min_z |x - f(z)|^2 + |z - F(x)|^2``, tells when further turns only fit noise: it then still falls, but slowly. The maps of
the last turn in which it fell by more than the tolerance are returned.

**Cost.** A projection works in the space that f's weights span (`in_row_space`), at most as many columns as it has
centres. Nothing of size n D q is formed.

Notation
--------
=======================  ==========================
Carreira-Perpinan & Lu   here
=======================  ==========================
``Y``, ``X`` (columns)   ``data``, ``latents`` (rows)
``f``, ``F``             ``up``, ``down``
``lambda``               ``alpha``
=======================  ==========================

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from twofold._blocks import map_blocks, row_blocks, some_rows
from twofold._linalg import row_norms_sq
from twofold.encoders import NearestImage
from twofold.maps import MLP
from twofold.maps.radial_regression import RadialRegression
from twofold.maps.rbf_network import kmeans_centers
from twofold.optimize import GaussNewton, Pull
from twofold.protocols import Array, IntArray, Map

__all__ = [
    "Adapter",
    "Alternation",
    "MapAdapter",
    "RadialAdapter",
    "Turns",
    "project_rows",
    "scaled",
]

N_CLUSTERED = 20_000
PATIENCE = 2
PROJECTION_STEPS = 5
PROJECTION_TOL = 1e-3


class Adapter(Protocol):
    """Learns one of the maps again and again."""

    def adapt(self, inputs: Array, targets: Array, *, anew: bool) -> Map:
        """Return the map for targets; with ``anew`` its centres and widths may change."""
        ...

    def predict(self, learned: Map, inputs: Array) -> Array:
        """Return a map's values at the inputs of the last fit."""
        ...

    def rescale(self, shift: Array, factor: float) -> None:
        """Follow inputs that were shifted, then multiplied."""
        ...


@dataclass
class RadialAdapter:
    """Adaptation of radial basis networks.

    Parameters
    ----------
    n_centers : int
        Centres, M.
    alphas : tuple of float
        Ridges to choose from; one where it is given.
    fixed : bool
        Whether inputs stay the same; then centres, features and factors are computed once.
    seed : int
        Seeds k-means.
    """

    n_centers: int
    alphas: tuple[float, ...]
    fixed: bool
    seed: int
    width: float = 0.0
    alpha: float = 0.0
    centers: Array | None = None
    _regression: RadialRegression | None = field(default=None, repr=False)

    def adapt(self, inputs: Array, targets: Array, *, anew: bool) -> Map:
        """Return the network for targets."""
        first = self.centers is None
        if first or (anew and not self.fixed):
            some = inputs[some_rows(len(inputs), N_CLUSTERED)]
            self.centers = kmeans_centers(
                some, self.n_centers, init=self.centers, random_state=self.seed
            )
        if first or not self.fixed or self._regression is None:
            assert self.centers is not None
            self._regression = RadialRegression(inputs, self.centers)
        regression = self._regression
        if first or anew:
            self.width, self.alpha = regression.choose(targets, self.alphas)
        if self.fixed:
            regression.keep_features(self.width)
        return regression.fit(targets, self.width, self.alpha)

    def predict(self, learned: Any, inputs: Array) -> Array:
        """Return a network's values at the inputs of the last fit."""
        assert self._regression is not None
        return self._regression.predict(learned) if self.fixed else learned.predict(inputs)

    def rescale(self, shift: Array, factor: float) -> None:
        """Move the centres with the inputs."""
        if self.centers is not None and not self.fixed:
            self.centers = (self.centers + shift) * factor
            self.width *= factor


@dataclass
class MapAdapter:
    """Adaptation of any map: fitted afresh each time, perceptrons from where they were.

    Parameters
    ----------
    prototype : Map
        An unfitted map.
    """

    prototype: Any
    learned: Any = None

    def adapt(self, inputs: Array, targets: Array, *, anew: bool) -> Map:  # noqa: ARG002 - a protocol
        """Return the fitted map."""
        if self.learned is None or not isinstance(self.prototype, MLP):
            self.learned = clone(self.prototype)
        learned: Map = deepcopy(self.learned.fit(inputs, targets))  # the next turn changes it
        return learned

    def predict(self, learned: Map, inputs: Array) -> Array:
        """Return the map's values."""
        return learned.predict(inputs)

    def rescale(self, shift: Array, factor: float) -> None:
        """Do nothing: the next fit sees the inputs as they are."""


@dataclass(frozen=True)
class Turns:
    """What an alternation found.

    Attributes
    ----------
    up, down : Map
        The maps of the best turn.
    latents : ndarray of shape (n, q)
        The latents there.
    energies : ndarray of shape (n_turns,)
        Mean energy of a row that took part, after each projection, in units of the data's variance.
    held_out : ndarray of shape (n_turns,)
        The same for rows that did not; nan without them.
    best : int
        The turn whose maps are returned.
    """

    up: Map
    down: Map
    latents: Array
    energies: Array
    held_out: Array
    best: int


@dataclass(frozen=True)
class Alternation:
    """Alternating projection and adaptation.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Centred data.
    up, down : Adapter
        Learn the maps.
    down_weight : float
        Total variance of the latents in units of that of the data: the weight of the down-map's error.
    max_iter : int
        Turns at most.
    tol : float
        Relative decrease of the energy in a turn below which it is idle; two idle turns in a row end the run.
    recenter : int
        Turns in which centres and widths are placed anew.
    held_out : ndarray of int
        Rows that take no part in the regressions; may be empty.
    """

    data: Array
    up: Adapter
    down: Adapter
    down_weight: float
    max_iter: int
    tol: float
    recenter: int
    held_out: IntArray

    def run(self, latents: Array, callback: Callable[[int, float, Array], bool]) -> Turns:
        """Alternate from first latents (n, q) in any units."""
        mask = np.zeros(len(self.data), dtype=bool)
        mask[self.held_out] = True
        seen, unseen = np.flatnonzero(~mask), np.flatnonzero(mask)
        data = np.ascontiguousarray(self.data[seen])
        others = np.ascontiguousarray(self.data[unseen])
        variance = float(row_norms_sq(self.data).mean())
        all_latents = scaled(latents, self.down_weight * variance)
        Z, Z_others = all_latents[seen], all_latents[unseen]
        energies: list[float] = []
        judged: list[float] = []
        best: tuple[float, Map, Map, Array, Array, int] | None = None
        idle, before = 0, np.inf
        for turn in range(self.max_iter):
            anew = turn < self.recenter or turn == 0
            if anew and turn:
                shift, factor = _to_scale(Z, self.down_weight * variance)
                Z, Z_others = (Z + shift) * factor, (Z_others + shift) * factor
                self.up.rescale(shift, factor)
            down = self.down.adapt(data, Z, anew=anew)
            up = self.up.adapt(Z, data, anew=anew)
            Z, energy = project_rows(up, data, self.down.predict(down, data), Z)
            energies.append(float(energy.mean()) / variance)
            if len(others):
                Z_others, energy = project_rows(up, others, down.predict(others), Z_others)
                judged.append(float(energy.mean()) / variance)
            now = judged[-1] if judged else energies[-1]
            falls = now < (1.0 - self.tol) * before
            if best is None or (falls and now < best[0]):
                best = (now, up, down, Z, Z_others, turn)
            idle, before = (0 if falls else idle + 1), now
            if callback(turn + 1, now, Z) or (idle >= PATIENCE and turn + 1 >= self.recenter):
                break
        assert best is not None
        _, up, down, Z, Z_others, turn = best
        latents = np.empty((len(self.data), Z.shape[1]))
        latents[seen], latents[unseen] = Z, Z_others
        held_out = np.array(judged) if judged else np.full(len(energies), np.nan)
        return Turns(up, down, latents, np.array(energies), held_out, turn)


def scaled(latents: Array, variance: float) -> Array:
    """Return latents centred, with this total variance."""
    shift, factor = _to_scale(latents, variance)
    return (latents + shift) * factor


def _to_scale(latents: Array, variance: float) -> tuple[Array, float]:
    shift = -latents.mean(axis=0)
    spread = float(row_norms_sq(latents + shift).mean())
    return shift, float(np.sqrt(variance / spread)) if spread > 0.0 else 1.0


def project_rows(
    up: Map,
    data: Array,
    pulls: Array | None,
    latents: Array,
    *,
    max_iter: int = PROJECTION_STEPS,
    tol: float = PROJECTION_TOL,
) -> tuple[Array, Array]:
    """Move each latent to lower ``|x - f(z)|^2 + |z - c|^2`` from where it is.

    Parameters
    ----------
    up : Map
        f.
    data : ndarray of shape (n, D)
        x.
    pulls : ndarray of shape (n, q) or None
        c, the values of F; None leaves the second term out.
    latents : ndarray of shape (n, q)
        Where to start.
    max_iter, tol
        Of the Gauss-Newton iteration.

    Returns
    -------
    latents : ndarray of shape (n, q)
        Where the rows are then.
    energies : ndarray of shape (n,)
        Their energies.
    """
    small, basis = in_row_space(up)
    offset = getattr(up, "intercept_", 0.0) if basis is not None else 0.0
    solver = GaussNewton(max_iter=max_iter, tol=tol)
    Z, energies = np.empty(latents.shape), np.empty(len(latents))

    def work(rows: slice) -> None:
        targets = data[rows] - offset
        across: Any = 0.0
        if basis is not None:
            inside = targets @ basis
            across = np.maximum(row_norms_sq(targets) - row_norms_sq(inside), 0.0)
            targets = inside
        problem: Any = NearestImage(small, targets, 1, 0.0)
        if pulls is not None:
            problem = Pull(problem, pulls[rows])
        result = solver.minimize_rows(problem, latents[rows])
        Z[rows], energies[rows] = result.Z, result.losses + across

    n_columns = data.shape[1] + getattr(small, "weights_", data).shape[0]
    map_blocks(work, row_blocks(len(data), 4 * 8 * min(n_columns, 1_000)))
    return Z, energies


def in_row_space(up: Any) -> tuple[Map, Array | None]:
    """Return a map with fewer outputs that is as good for projections, and its basis, where there is one."""
    if not hasattr(up, "in_row_space") or up.weights_.shape[0] >= up.weights_.shape[1]:
        return up, None
    small, basis = up.in_row_space()
    return small, basis
