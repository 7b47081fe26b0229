r"""Dimensionality reduction by unsupervised regression: both maps and the latents, in turn.

Minimizes over latents ``Z`` and maps ``f``, ``F`` (Carreira-Perpinan & Lu 2010, Eqs. 1-3)

.. math:: E = \sum_n |x_n - f(z_n)|^2 + |z_n - F(x_n)|^2 + \lambda_f R(f) + \lambda_F R(F)

by turns, as in their Fig. 1: *projection* moves each latent on its own (Gauss-Newton with
backtracking, Eqs. 7-12), *adaptation* is two regressions (Eqs. 13-20).

**Scale.** The first term does not depend on the units of the latents, since f adapts to them; the
second shrinks with them. So the scale of the latents is the weight of the second term, and is fixed:
their total variance is ``down_weight`` times that of the data. While centers and bandwidths of f are
placed anew, each turn rescales the latents to that variance. Once they are kept, they hold the scale
themselves, and every turn lowers the energy.

**Held-out energy.** Some rows take no part in the regressions. Their energy under the maps of a
turn, ``min_z |x - f(z)|^2 + |z - F(x)|^2``, shows when further turns only fit noise: it then still
falls, but slowly. The result has the maps of the last turn in which it fell by more than the
tolerance.

**Cost.** A projection works in the space that the weights of f span (`in_row_space`), which has at
most as many columns as f has centers. No array of size n D q is formed.

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

from twofold.drur.adaptation import Adapter, MapAdapter, RadialAdapter
from twofold.drur.nonparametric import JointDescent
from twofold.drur.radial_regression import ALPHAS
from twofold.drur.settings import DRURSettings
from twofold.maps import MLP
from twofold.maps.projection import NearestImage
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.turns import Callback, falls, never_stop, run_turns
from twofold.optimize import GaussNewton, Pull
from twofold.protocols import Array, IntArray, Map

__all__ = [
    "Alternation",
    "Moves",
    "TurnState",
    "Turns",
    "alternate",
    "moves_of",
    "project_rows",
    "scaled",
]

PATIENCE = 2
UNSETTLED_TURNS = 4
"""While centers are placed anew, idle turns before this one do not end the run."""

PROJECTION_STEPS = 2
"""Gauss-Newton steps of a row in a turn. On Swiss rolls, and on starts with noise of 10 to 60, one
to five steps led to the same R^2."""

PROJECTION_TOL = 1e-3
HIDDEN_ITERATIONS = 100
DECAY = 1e-6


@dataclass(frozen=True)
class Turns:
    """The result of an alternation.

    Attributes
    ----------
    up, down : Map
        The maps of the best turn.
    latents : ndarray of shape (n, q)
        The latents of that turn.
    energies : ndarray of shape (n_turns,)
        The energy with its penalties after each projection, per row that takes part.
    held_out : ndarray of shape (n_turns,)
        Mean energy of the held-out rows, without penalties; nan if there are none.
    """

    up: Map
    down: Map
    latents: Array
    energies: Array
    held_out: Array


@dataclass
class TurnState:
    """The state of an alternation between two turns.

    Attributes
    ----------
    latents, others : ndarray of shape (m, q)
        Latents of the rows that take part and of the held-out rows.
    turn : int
        Turns taken.
    moves : object
        The state of the `Moves`.
    energies, judged : list of float
        Energies after each turn: of the rows that take part, of the held-out rows.
    idle : int
        Idle turns in a row.
    best : tuple
        Value, maps, latents and latents of held-out rows of the best turn.
    """

    latents: Array
    others: Array
    turn: int = 0
    moves: Any = None
    energies: list[float] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)
    idle: int = 0
    best: tuple[float, Map, Map, Array, Array] | None = None

    @property
    def value(self) -> float:
        """The energy that decides when to stop: that of held-out rows where there are any."""
        return (self.judged or self.energies or [np.inf])[-1]


class Moves(Protocol):
    """One way to lower the energy in a turn."""

    def move(self, data: Array, latents: Array, *, anew: bool) -> tuple[Map, Map, Array, float]:
        """Return the maps up and down, the new latents, and the energy per row."""
        ...

    def rescale(self, shift: Array, factor: float) -> None:
        """Follow latents that are shifted, then multiplied."""
        ...

    def state(self) -> Any:
        """Return what further turns depend on, as plain data, arrays and maps."""
        ...

    def restore(self, state: Any) -> None:
        """Continue from such a state."""
        ...


@dataclass(frozen=True)
class Alternation:
    """Adaptation of both maps, then projection of the rows."""

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
        """Move the centers of f with the latents."""
        self.up.rescale(shift, factor)

    def state(self) -> Any:
        """Return the states of both adapters."""
        return [self.up.state(), self.down.state()]

    def restore(self, state: Any) -> None:
        """Restore both adapters."""
        self.up.restore(state[0])
        self.down.restore(state[1])


def moves_of(
    settings: DRURSettings,
    n_centers: tuple[int, int],
    rng: np.random.Generator,
    share: float = 1.0,
) -> Moves:
    """Return what a turn does.

    Parameters
    ----------
    settings : DRURSettings
        The settings.
    n_centers : tuple of int
        Centers or hidden units, up and down; (0, 0) means one at every point.
    rng : Generator
        Seeds k-means and perceptrons.
    share : float, default=1.0
        Share of the rows that takes part; ridges are stated for all rows.
    """
    ridges = [ALPHAS if alpha is None else (alpha * share,) for alpha in settings.alphas]
    if n_centers == (0, 0):
        return JointDescent(ridges[0], ridges[1])
    seed = int(rng.integers(2**31))

    def adapter(kind: str | Map, size: int, alphas: tuple[float, ...], *, fixed: bool) -> Adapter:
        if not isinstance(kind, str):
            return MapAdapter(kind)
        if kind == "rbf":
            return RadialAdapter(size, alphas, fixed, seed)
        alpha = alphas[0] if len(alphas) == 1 else DECAY
        return MapAdapter(
            MLP(
                size,
                alpha=alpha,
                max_iter=HIDDEN_ITERATIONS,
                warm_start=True,
                random_state=seed,
            )
        )

    return Alternation(
        adapter(settings.up, n_centers[0], ridges[0], fixed=False),
        adapter(settings.down, n_centers[1], ridges[1], fixed=True),
    )


def alternate(
    moves: Moves,
    settings: DRURSettings,
    data: Array,
    latents: Array,
    held_out: IntArray,
    callback: Callback = never_stop,
    *,
    state: TurnState | None = None,
    note: Callable[[TurnState], None] | None = None,
) -> Turns:
    """Lower the energy turn by turn until it, or that of held-out rows, hardly falls.

    Parameters
    ----------
    moves : Moves
        What a turn does.
    settings : DRURSettings
        ``down_weight``, ``max_iter``, ``tol`` and ``recenter``.
    data : ndarray of shape (n, D)
        Centered data.
    latents : ndarray of shape (n, q)
        First latents, in any units.
    held_out : ndarray of int
        Rows that take no part in the regressions; may be empty.
    callback, note
        As in `twofold.numerics.turns.run_turns`.
    state : TurnState, default=None
        The state to resume from; None means to start.
    """
    mask = np.zeros(len(data), dtype=bool)
    mask[held_out] = True
    seen, others = (np.ascontiguousarray(data[rows]) for rows in (~mask, mask))
    weight = settings.down_weight * float(row_norms_sq(data).mean())
    latents = scaled(latents, weight)
    if state is not None:
        moves.restore(state.moves)

    def take_turn(now: TurnState) -> bool:
        return _take_turn(now, moves, settings, seen, others, weight)

    def note_moves(now: TurnState) -> None:
        if note is not None:
            now.moves = moves.state()
            note(now)

    now = run_turns(
        state or TurnState(latents[~mask], latents[mask]),
        take_turn,
        max_iter=settings.max_iter,
        callback=callback,
        note=note_moves,
    )
    assert now.best is not None
    _, up, down, latents[~mask], latents[mask] = now.best
    judged = np.array(now.judged) if now.judged else np.full(len(now.energies), np.nan)
    return Turns(up, down, latents, np.array(now.energies), judged)


def _take_turn(
    now: TurnState,
    moves: Moves,
    settings: DRURSettings,
    seen: Array,
    others: Array,
    weight: float,
) -> bool:
    """Take one turn, and return whether it is the last."""
    Z, Z_others, before = now.latents, now.others, now.value
    anew = now.turn <= max(settings.recenter, 1)
    if anew and now.turn > 1:
        shift, factor = _to_scale(Z, weight)
        Z, Z_others = (Z + shift) * factor, (Z_others + shift) * factor
        moves.rescale(shift, factor)
    up, down, Z, energy = moves.move(seen, Z, anew=anew)
    now.energies.append(energy)
    if len(others):
        Z_others, found = project_rows(up, others, down.predict(others), Z_others)
        now.judged.append(float(found.mean()))
    lower = falls(before, now.value, settings.tol)
    if now.best is None or (lower and now.value < now.best[0]):
        now.best = (now.value, up, down, Z, Z_others)
    now.idle = 0 if lower else now.idle + 1
    now.latents, now.others = Z, Z_others
    return now.idle >= PATIENCE and now.turn >= min(settings.recenter, UNSETTLED_TURNS)


def scaled(latents: Array, variance: float) -> Array:
    """Return latents centered, with this total variance."""
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
    """Lower ``|x - f(z)|^2 + |z - c|^2`` for each row, by Gauss-Newton steps from its latent.

    Parameters
    ----------
    up : Map
        f.
    data : ndarray of shape (n, D)
        x.
    pulls : ndarray of shape (n, q)
        c, the values of F.
    latents : ndarray of shape (n, q)
        The first latents.
    max_iter, tol
        Limits of the Gauss-Newton iteration.

    Returns
    -------
    latents : ndarray of shape (n, q)
        The new latents.
    energies : ndarray of shape (n,)
        Their energies.
    """
    small, basis = _in_row_space(up)
    offset = getattr(up, "intercept_", 0.0) if basis is not None else 0.0
    solver = GaussNewton(max_iter=max_iter, tol=tol)
    Z, energies = np.empty(latents.shape), np.empty(len(latents))

    def work(rows: slice) -> None:
        targets = data[rows] - offset
        across: Array | float = 0.0
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


def _in_row_space(up: Any) -> tuple[Map, Array | None]:
    """Return an equivalent map to the span of its weights, and that basis, if it has few centers."""
    if not hasattr(up, "in_row_space") or up.weights_.shape[0] >= up.weights_.shape[1]:
        return up, None
    small, basis = up.in_row_space()
    return small, basis
