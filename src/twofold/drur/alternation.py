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
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from twofold.drur.adaptation import Adapter
from twofold.maps.projection import NearestImage
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.optimize import GaussNewton, Pull
from twofold.protocols import Array, IntArray, Map

__all__ = [
    "Alternation",
    "Moves",
    "Settings",
    "TurnState",
    "Turns",
    "project_rows",
    "run_turns",
    "scaled",
]

PATIENCE = 2
UNSETTLED_TURNS = 4
"""While centres are placed anew the first turns may be idle without being the last."""

PROJECTION_STEPS = 2
"""Gauss-Newton steps of a row in a turn. On rolls, latents with noise of 10 to 60, one to five led to the same R^2."""

PROJECTION_TOL = 1e-3


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
        The energy with its penalties after each projection, over the number of rows that took part.
    held_out : ndarray of shape (n_turns,)
        Mean energy of the rows that did not, which has no penalties; nan without them.
    best : int
        The turn whose maps are returned.
    """

    up: Map
    down: Map
    latents: Array
    energies: Array
    held_out: Array
    best: int


@dataclass
class TurnState:
    """Where an alternation is between two turns: all that the next one needs.

    Attributes
    ----------
    turn : int
        Turns made.
    latents, others : ndarray of shape (m, q)
        Of the rows that take part and of those held out.
    moves : object
        What the moves remember.
    energies, judged : list of float
        After each turn.
    before : float
        The last energy to judge by.
    idle : int
        Idle turns in a row.
    best : tuple, default=None
        Energy, maps, latents and number of the best turn.
    """

    turn: int
    latents: Array
    others: Array
    moves: Any
    energies: list[float] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)
    before: float = np.inf
    idle: int = 0
    best: tuple[float, Map, Map, Array, Array, int] | None = None


class Moves(Protocol):
    """One way of lowering the energy: what `run_turns` repeats."""

    def move(self, data: Array, latents: Array, *, anew: bool) -> tuple[Map, Map, Array, float]:
        """Return the maps up and down, the latents they lead to, and the energy there over the number of rows."""
        ...

    def rescale(self, shift: Array, factor: float) -> None:
        """Follow latents that were shifted, then multiplied."""
        ...

    def state(self) -> Any:
        """Return what further turns depend on, as plain data, arrays and maps."""
        ...

    def restore(self, state: Any) -> None:
        """Go on from such a state."""
        ...


@dataclass(frozen=True)
class Alternation:
    """A turn of adaptation and projection.

    Parameters
    ----------
    up, down : Adapter
        Learn the maps.
    """

    up: Adapter
    down: Adapter

    def move(self, data: Array, latents: Array, *, anew: bool) -> tuple[Map, Map, Array, float]:
        """Learn both maps, then move each latent on its own."""
        down = self.down.adapt(data, latents, anew=anew)
        up = self.up.adapt(latents, data, anew=anew)
        Z, energies = project_rows(up, data, self.down.predict(down, data), latents)
        energy = float(energies.sum()) + self.up.penalty(up) + self.down.penalty(down)
        return up, down, Z, energy / len(data)

    def rescale(self, shift: Array, factor: float) -> None:
        """Move the centres of f with the latents."""
        self.up.rescale(shift, factor)

    def state(self) -> Any:
        """Return what both adapters remember."""
        return [self.up.state(), self.down.state()]

    def restore(self, state: Any) -> None:
        """Let both adapters go on from there."""
        self.up.restore(state[0])
        self.down.restore(state[1])


@dataclass(frozen=True)
class Settings:
    """How turns go.

    Parameters
    ----------
    down_weight : float
        Total variance of the latents in units of that of the data: the weight of the down-map's error.
    max_iter : int
        Turns at most.
    tol : float
        Relative decrease of the energy in a turn below which it is idle; two idle turns in a row end the run.
    recenter : int
        Turns in which centres and widths are placed anew.
    """

    down_weight: float
    max_iter: int
    tol: float
    recenter: int


def run_turns(
    moves: Moves,
    settings: Settings,
    data: Array,
    latents: Array,
    held_out: IntArray,
    callback: Callable[[int, float, Array], bool],
    *,
    state: TurnState | None = None,
    note: Callable[[TurnState], None] | None = None,
) -> Turns:
    """Lower the energy turn by turn until it, or that of held-out rows, hardly falls.

    Parameters
    ----------
    moves : Moves
        What a turn does.
    settings : Settings
        How turns go.
    data : ndarray of shape (n, D)
        Centred data.
    latents : ndarray of shape (n, q)
        First latents, in any units.
    held_out : ndarray of int
        Rows that take no part in the regressions; may be empty.
    callback : callable
        Called after each turn; True ends the run.
    state : TurnState, default=None
        Where to go on from; None means the beginning.
    note : callable, default=None
        Told the state after each turn that others may follow.
    """
    mask = np.zeros(len(data), dtype=bool)
    mask[held_out] = True
    seen, others = (np.ascontiguousarray(data[rows]) for rows in (~mask, mask))
    variance = float(row_norms_sq(data).mean())
    weight = settings.down_weight * variance
    latents = scaled(latents, weight)
    now = state or TurnState(0, latents[~mask], latents[mask], None)
    if state is not None:
        moves.restore(state.moves)
    while now.turn < settings.max_iter:
        ended = _turn(now, moves, settings, seen, others, weight)
        stop = callback(now.turn, now.before, now.latents)
        if stop or ended:
            break
        if note is not None:
            now.moves = moves.state()
            note(now)
    assert now.best is not None
    _, up, down, Z, Z_others, best = now.best
    latents[~mask], latents[mask] = Z, Z_others
    unjudged = np.full(len(now.energies), np.nan)
    judged = np.array(now.judged) if now.judged else unjudged
    return Turns(up, down, latents, np.array(now.energies), judged, best)


def _turn(
    now: TurnState, moves: Moves, settings: Settings, seen: Array, others: Array, weight: float
) -> bool:
    """Make one turn, and return whether it is the last."""
    Z, Z_others = now.latents, now.others
    anew = now.turn < settings.recenter or now.turn == 0
    if anew and now.turn:
        shift, factor = _to_scale(Z, weight)
        Z, Z_others = (Z + shift) * factor, (Z_others + shift) * factor
        moves.rescale(shift, factor)
    up, down, Z, energy = moves.move(seen, Z, anew=anew)
    now.energies.append(energy)
    if len(others):
        Z_others, found = project_rows(up, others, down.predict(others), Z_others)
        now.judged.append(float(found.mean()))
    value = now.judged[-1] if now.judged else energy
    falls = value < (1.0 - settings.tol) * now.before
    if now.best is None or (falls and value < now.best[0]):
        now.best = (value, up, down, Z, Z_others, now.turn)
    now.idle, now.before = (0 if falls else now.idle + 1), value
    now.latents, now.others = Z, Z_others
    now.turn += 1
    early = now.turn < min(settings.recenter, UNSETTLED_TURNS)
    return now.idle >= PATIENCE and not early


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
    pulls: Array,
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
    pulls : ndarray of shape (n, q)
        c, the values of F.
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
        problem = Pull(NearestImage(small, targets, 1, 0.0), pulls[rows])
        result = solver.minimize_rows(problem, latents[rows])
        Z[rows], energies[rows] = result.Z, result.losses + across

    n_columns = data.shape[1] + getattr(small, "weights_", data).shape[0]
    map_blocks(work, row_blocks(len(data), 8 * min(n_columns, 1_000)))
    return Z, energies


def in_row_space(up: Any) -> tuple[Map, Array | None]:
    """Return a map with fewer outputs that is as good for projections, and its basis, where there is one."""
    if not hasattr(up, "in_row_space") or up.weights_.shape[0] >= up.weights_.shape[1]:
        return up, None
    small, basis = up.in_row_space()
    return small, basis
