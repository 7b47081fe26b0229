r"""Dimensionality reduction by unsupervised regression: both maps and the latents, in turn.

Minimizes over latents ``Z`` and maps ``f``, ``F`` (Carreira-Perpinan & Lu 2010, Eqs. 1-3)

.. math:: E = \sum_n |x_n - f(z_n)|^2 + |z_n - F(x_n)|^2 + \lambda_f R(f) + \lambda_F R(F)

by turns, as in their Fig. 1: *projection* moves each latent on its own (Gauss-Newton with
backtracking, Eqs. 7-12), *adaptation* is two regressions (Eqs. 13-20).

**Scale.** The first term does not depend on the units of the latents, since f adapts to them; the
second shrinks with them. So the scale of the latents is the weight of the second term, and is
fixed: their total variance is ``down_weight`` times that of the data. While centers and bandwidths
of f are placed anew, each turn rescales the latents to that variance. Once they are kept, they hold
the scale themselves, and every turn lowers the energy.

**Held-out energy.** Some rows take no part in the regressions. Their energy under the maps of a
turn, ``min_z |x - f(z)|^2 + |z - F(x)|^2``, shows when further turns only fit noise: it then still
falls, but slowly. The result has the maps of the last turn in which it fell by more than the
tolerance.

**The paper's loop** has none of this: latents and data keep their own units (``down_weight`` is
None), no rows are held out, and the last of a fixed number of turns gives the result (``tol`` is
None). A last adaptation then follows, as in their Fig. 1.

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
from typing import Any

import numpy as np

from twofold.drur.adaptation import Adapter, MapAdapter, RadialAdapter
from twofold.drur.nonparametric import JointDescent
from twofold.drur.radial_regression import ALPHAS
from twofold.drur.settings import SHORT_PROJECTION, DRURSettings, RowMinimizer
from twofold.maps import MLP, LinearMap
from twofold.maps.features import LinearInFeatures
from twofold.maps.projection import NearestImage
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.turns import State, TurnOptions, falls, never_stop, run_turns
from twofold.optimize import Pull
from twofold.protocols import Array, Callback, IntArray, Map

PATIENCE = 2
UNSETTLED_TURNS = 4
"""While centers are placed anew, idle turns before this one do not end the run."""

HIDDEN_ITERATIONS = 100
DECAY = 1e-6

Anew = tuple[bool, bool]
"""Whether centers and bandwidths are placed anew, up and down."""


@dataclass(frozen=True)
class Turns:
    """The maps and latents (n, q) of the best turn, and the energies per row after each turn.

    ``energies`` are those of the rows that take part, with penalties; ``held_out`` those of the
    others, without penalties, or nan if there are none.
    """

    up: Map
    down: Map
    latents: Array
    energies: Array
    held_out: Array


@dataclass(kw_only=True)
class TurnState(State):
    """The state of an alternation between two turns.

    ``latents`` and ``others`` (m, q) belong to the rows that take part and to the held-out rows,
    ``history`` and ``judged`` are their energies after each turn. ``moves`` is the state of the
    `Moves`, ``idle`` the number of idle turns in a row, and ``best`` has the value, the maps and
    both sets of latents of the best turn.
    """

    others: Array
    history: list[float] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)
    moves: Any = None
    idle: int = 0
    best: tuple[float, Map, Map, Array, Array] | None = None

    @property
    def value(self) -> float:
        """The energy of held-out rows, or that of all rows if there are none."""
        return (self.judged or self.history or [np.inf])[-1]


@dataclass(frozen=True)
class Alternation:
    """Adaptation of both maps, then projection of the rows."""

    up: Adapter
    down: Adapter
    projection: RowMinimizer = SHORT_PROJECTION

    def adapt(self, data: Array, latents: Array, *, anew: Anew) -> tuple[Map, Map]:
        """Learn both maps, up and down."""
        down = self.down.adapt(data, latents, anew=anew[1])
        return self.up.adapt(latents, data, anew=anew[0]), down

    def move(self, data: Array, latents: Array, *, anew: Anew) -> tuple[Map, Map, Array, float]:
        """Learn both maps, then move each latent on its own."""
        up, down = self.adapt(data, latents, anew=anew)
        pulls = self.down.predict(data)
        Z, energies = project_rows(up, data, pulls, latents, self.projection)
        energy = float(energies.sum()) + self.up.penalty() + self.down.penalty()
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


Moves = Alternation | JointDescent
"""What a turn does: `move` returns the maps up and down, the new latents and the energy per row."""


def moves_of(
    settings: DRURSettings, n_centers: tuple[int, int], rng: np.random.Generator, share: float = 1.0
) -> Moves:
    """Return what a turn does.

    ``n_centers`` has the centers or hidden units, up and down; (0, 0) means one at every point.
    ``share`` is that of the rows that take part, since ridges are stated for all rows.
    """
    ridges = [ALPHAS if alpha is None else (alpha * share,) for alpha in settings.alphas]
    if n_centers == (0, 0):
        return JointDescent(ridges[0], ridges[1])
    seed = int(rng.integers(2**31))

    def adapter(kind: str | Map, size: int, alphas: tuple[float, ...], *, fixed: bool) -> Adapter:
        if not isinstance(kind, str):
            return MapAdapter(kind)
        if kind == "rbf":
            return RadialAdapter(size, alphas, fixed, seed, settings.exact)
        if kind == "linear":
            return MapAdapter(LinearMap(alphas[0] if len(alphas) == 1 else 0.0))
        alpha = alphas[0] if len(alphas) == 1 else DECAY
        return MapAdapter(
            MLP(size, alpha=alpha, max_iter=HIDDEN_ITERATIONS, warm_start=True, random_state=seed)
        )

    return Alternation(
        adapter(settings.up, n_centers[0], ridges[0], fixed=False),
        adapter(settings.down, n_centers[1], ridges[1], fixed=True),
        settings.projection,
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
    note: Callable[[State], None] | None = None,
) -> Turns:
    """Lower the energy turn by turn until it, or that of held-out rows, hardly falls.

    ``settings`` gives ``down_weight``, ``max_iter``, ``tol`` and ``recenter``; ``latents`` (n, q)
    may have any units, those of the data if ``down_weight`` is None; rows ``held_out`` take no part
    in the regressions. ``state`` resumes an interrupted alternation, and ``note`` gets the state
    after each turn.
    """
    mask = np.zeros(len(data), dtype=bool)
    mask[held_out] = True
    seen, others = (np.ascontiguousarray(data[rows]) for rows in (~mask, mask))
    weight = None
    if settings.down_weight is not None:
        weight = settings.down_weight * float(row_norms_sq(data).mean())
    latents = latents - latents.mean(axis=0) if weight is None else scaled(latents, weight)
    if state is not None:
        moves.restore(state.moves)

    def take_turn(now: TurnState) -> bool:
        return _take_turn(now, moves, settings, seen, others, weight)

    def note_moves(now: State) -> None:
        if note is not None:
            assert isinstance(now, TurnState)
            now.moves = moves.state()
            note(now)

    now = run_turns(
        state or TurnState(latents=latents[~mask], others=latents[mask]),
        take_turn,
        TurnOptions(settings.max_iter, settings.tol or 0.0, callback, note_moves),
    )
    assert now.best is not None
    _, up, down, latents[~mask], latents[mask] = now.best
    if settings.tol is None and isinstance(moves, Alternation):
        up, down = moves.adapt(seen, now.latents, anew=_anew(settings, now.turn))
    judged = np.array(now.judged) if now.judged else np.full(len(now.history), np.nan)
    return Turns(up, down, latents, np.array(now.history), judged)


def _take_turn(
    now: TurnState,
    moves: Moves,
    settings: DRURSettings,
    seen: Array,
    others: Array,
    weight: float | None,
) -> bool:
    """Take one turn, and return whether it is the last."""
    Z, Z_others, before = now.latents, now.others, now.value
    anew = _anew(settings, now.turn)
    if anew[0] and now.turn > 1 and weight is not None:
        shift, factor = _to_scale(Z, weight)
        Z, Z_others = (Z + shift) * factor, (Z_others + shift) * factor
        moves.rescale(shift, factor)
    up, down, Z, energy = moves.move(seen, Z, anew=anew)
    now.history.append(energy)
    if len(others):
        Z_others, found = project_rows(
            up, others, down.predict(others), Z_others, settings.projection
        )
        now.judged.append(float(found.mean()))
    lower = settings.tol is None or falls(before, now.value, settings.tol)
    if now.best is None or settings.tol is None or (lower and now.value < now.best[0]):
        now.best = (now.value, up, down, Z, Z_others)
    now.idle = 0 if lower else now.idle + 1
    now.latents, now.others = Z, Z_others
    return now.idle >= PATIENCE and now.turn >= min(settings.recenter[0], UNSETTLED_TURNS)


def _anew(settings: DRURSettings, turn: int) -> Anew:
    """Return whether centers and bandwidths, up and down, are placed anew in a turn."""
    up, down = settings.recenter
    return turn <= max(up, 1), turn <= max(down, 1)


def scaled(latents: Array, variance: float) -> Array:
    """Return latents centered, with this total variance."""
    shift, factor = _to_scale(latents, variance)
    return (latents + shift) * factor


def _to_scale(latents: Array, variance: float) -> tuple[Array, float]:
    """Return the shift (q,) and then the factor that give latents this total variance."""
    shift = -latents.mean(axis=0)
    spread = float(row_norms_sq(latents + shift).mean())
    return shift, float(np.sqrt(variance / spread)) if spread > 0.0 else 1.0


def project_rows(
    up: Map,
    data: Array,
    pulls: Array,
    latents: Array,
    solver: RowMinimizer = SHORT_PROJECTION,
) -> tuple[Array, Array]:
    """Lower ``|x - f(z)|^2 + |z - c|^2`` for each row, by steps from its latent.

    The arrays are x (n, D), the values c of F (n, q) and the first latents z (n, q). Returns the
    new latents and their energies (n,).
    """
    small, basis, offset = _in_row_space(up)
    Z, energies = np.empty(latents.shape), np.empty(len(latents))

    def work(rows: slice) -> None:
        targets = data[rows] - offset
        across: Array | float = 0.0
        if basis is not None:
            inside = targets @ basis
            across = np.maximum(row_norms_sq(targets) - row_norms_sq(inside), 0.0)
            targets = inside
        problem = Pull(NearestImage(small, targets, np.arange(len(targets)), 0.0), pulls[rows])
        result = solver.minimize_rows(problem, latents[rows])
        Z[rows], energies[rows] = result.Z, result.losses + across

    n_columns = data.shape[1] + getattr(small, "weights_", data).shape[0]
    map_blocks(work, row_blocks(len(data), 8 * min(n_columns, 1_000)))
    return Z, energies


def _in_row_space(up: Map) -> tuple[Map, Array | None, Array | float]:
    """Return an equivalent map to the span of its weights, their basis, and the intercept.

    Maps with more weights than outputs stay the same, without a basis.
    """
    if not isinstance(up, LinearInFeatures) or up.weights_.shape[0] >= up.weights_.shape[1]:
        return up, None, 0.0
    return *up.in_row_space(), up.intercept_
