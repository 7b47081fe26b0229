r"""Spectral guidance: early steps that move neighbors together.

A gradient ``G`` (n, q) of an objective of latents is replaced by ``A G``. The operator ``A`` comes
from an affinity matrix ``M`` of the data, so that neighbors in the data move alike (Memisevic &
Hinton 2005). It has three forms:

* *truncated*: ``A = V_l V_l^T`` with the ``l`` leading eigenvectors, where ``l`` grows with every
  iteration (Eqs. 14-15, section 3.3);
* *power*: ``A = M^nu / tr(M^nu)`` with decreasing ``nu`` (Eqs. 16-17), by repeated products and
  without eigenvectors; the trace only scales, and so does the largest eigenvalue
  (`twofold.optimize._affinity`). Any ``nu >= 0`` will do: between 0 and 1 it flattens the spectrum
  (`twofold.optimize._spectrum`);
* *deflated*: the same for one latent dimension after the other, each without the directions of
  those before (Eqs. 18-20), until ``nu`` gets small (section 5.1).

The minimum that guided steps lead to is not that of the objective. So the schedule ends, and the
run continues with the plain gradient.

Choices that the paper leaves open
----------------------------------
The first eigenvector of the clustering matrix is nearly constant, and moving all rows alike changes
nothing: the truncated form leaves it out. In Eq. (19) the row must have length one.

Notation
--------
====================  =============================
Memisevic & Hinton    here
====================  =============================
``G``, in columns     ``gradient``, in rows
``nu``, ``l``         ``level``
``h``                 ``bandwidth``
====================  =============================

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from twofold.numerics.validation import check_choice, check_int, check_real
from twofold.optimize._affinity import dense_affinity, own_affinity, sparse_affinity, taken
from twofold.optimize._bandwidth import bandwidth_within_gaps
from twofold.optimize._spectrum import MOST_DENSE, Spectrum
from twofold.protocols import Array, IntArray

FORMS = ("power", "truncated", "deflated")
AFFINITIES = ("clustering", "kpca")
FIRST_POWER = 10
N_NEIGHBORS = 10
MOST_EIGENVECTORS = 300
HOLD_IN_STAGES = 5
MOST_LEVELS = 4_000
"""Levels of a schedule that are used; the last one is kept for the rest of a run."""


@dataclass(frozen=True, eq=False)
class SpectralGuidance:
    """Settings of spectral guidance; `prepare` builds the guide for some data.

    Parameters
    ----------
    affinity : {"clustering", "kpca"} or array of shape (n, n), default="clustering"
        M, dense or sparse. A user-supplied matrix must be symmetric; it is scaled to a largest
        eigenvalue of one.
    bandwidth : float or "auto", default="auto"
        h, in squared units of the data. "auto" is the widest bandwidth that does not reach across
        the gaps between the turns of a manifold.
    form : {"power", "truncated", "deflated"}, default="power"
        The powers of M, its leading eigenvectors, or powers for one latent dimension at a time.
    schedule : "auto", (float, float) or callable, default="auto"
        The sequence of levels: powers of M, or numbers of eigenvectors. A pair steps by one from
        the first to the second number, downwards for powers (0 is plain) and upwards for the
        truncated form (all eigenvectors are plain). A function maps the number of completed levels
        to the next level. Powers may be any real numbers: those below 1 flatten the spectrum.
        Numbers of eigenvectors are whole. "auto" is (10, 0) for powers; for the truncated form it
        doubles from 1. A schedule with another end keeps its last level: all further steps are
        guided, the plain objective is not minimized, and estimators warn.
    hold : int or "auto", default="auto"
        Iterations for which a level is kept. "auto" is one for gradient descent, as in the paper,
        and five for other minimizers, which must learn the curvature again at every level.
    n_neighbors : int, default=10
        Links of a row if there are more than 2,000 rows.
    deflate_above : float, default=0.0
        For ``form="deflated"``: directions are projected out while the power is above this number.
        Later levels, at which M has no dominant direction, act on all latent dimensions alike. The
        paper stops at 0. Powers above this number must be whole.
    n_eigenvectors : int, default=300
        For ``form="truncated"`` and more than 2,000 rows: the number of eigenvectors at which the
        guidance ends. Up to 2,000 rows it ends with all of them, as in the paper.

    Examples
    --------
    The gradient of noise is smoothed along the data:

    >>> import numpy as np
    >>> from twofold.optimize import SpectralGuidance
    >>> line = np.linspace(0, 1, 50)[:, None]
    >>> guide = SpectralGuidance(bandwidth=0.01).prepare(line)
    >>> noise = np.random.default_rng(0).standard_normal((50, 1))
    >>> rough = lambda values: np.square(np.diff(values, axis=0)).sum() / np.square(values).sum()
    >>> bool(rough(guide.guided(noise, 0)) < 0.1 * rough(noise))
    True

    Powers that end below one, where the spectrum is flatter than that of the affinity:

    >>> flat = SpectralGuidance(bandwidth=0.01, schedule=lambda done: max(0.0, 2.0 - 0.25 * done))
    >>> [flat.prepare(line).level(done) for done in (0, 1, 6, 8)]
    [2, 1.75, 0.5, 0]
    """

    affinity: Any = "clustering"
    bandwidth: float | str = "auto"
    form: str = "power"
    schedule: str | tuple[float, float] | Callable[[int], float] = "auto"
    hold: int | str = "auto"
    n_neighbors: int = N_NEIGHBORS
    deflate_above: float = 0.0
    n_eigenvectors: int = MOST_EIGENVECTORS

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_choice("form", self.form, FORMS)
        if isinstance(self.affinity, str):
            check_choice("affinity", self.affinity, AFFINITIES)
        if self.bandwidth != "auto":
            check_real("bandwidth", self.bandwidth, above=0.0, also="'auto'", owner=owner)
        check_real("deflate_above", self.deflate_above, low=0.0, owner=owner)
        check_int("n_eigenvectors", self.n_eigenvectors, owner=owner)
        self._check_schedule()
        if self.hold != "auto":
            check_int("hold", self.hold, owner=owner)
        check_int("n_neighbors", self.n_neighbors, owner=owner)

    def _check_schedule(self) -> None:
        schedule = self.schedule
        if callable(schedule) or (isinstance(schedule, str) and schedule == "auto"):
            return
        if not isinstance(schedule, tuple | list) or len(schedule) != 2:
            raise TypeError(
                f"schedule={schedule!r} must be 'auto', a pair of numbers such as (10, 0), or a "
                "function."
            )
        truncated = self.form == "truncated"
        first, last = (self._checked_level(level) for level in schedule)
        if max(schedule) > MOST_LEVELS:
            raise ValueError(
                f"schedule={schedule!r} has a level of {max(schedule):g}; at most {MOST_LEVELS} is "
                "supported."
            )
        if first > last if truncated else first < last:
            way = "rise" if truncated else "fall"
            raise ValueError(
                f"schedule={schedule!r} must {way} for form={self.form!r}. Use "
                f"{(schedule[1], schedule[0])!r}."
            )

    def _checked_level(self, level: Any) -> float:
        """Return a level, an int if it is whole."""
        owner = type(self).__name__
        if self.form == "truncated":
            return check_int("schedule", level, owner=owner)
        number = check_real("schedule", level, low=0.0, owner=owner)
        if number == int(number):
            return int(number)
        if self.form == "deflated" and number > self.deflate_above:
            raise ValueError(
                f"schedule has the level {number!r}; form='deflated' projects out directions by "
                f"repeated products and needs whole powers above deflate_above="
                f"{self.deflate_above!r}. Use whole levels there, or form='power'."
            )
        return number

    def prepare(self, X: Array, neighbors: IntArray | None = None) -> Guide:
        """Return the guide for data X (n, D).

        ``neighbors`` (n, k) holds the row numbers of the nearest other rows, nearest first, if they
        are known already.
        """
        X = np.asarray(X)
        if X.ndim != 2 or len(X) < 2:
            raise ValueError(
                f"X has shape {X.shape}; guidance needs two rows or more, shape (n, D)."
            )
        matrix, bandwidth = self._matrix(X, neighbors)
        hold = None if isinstance(self.hold, str) else self.hold
        return Guide(
            matrix, self.form, self._level, bandwidth, hold, self.deflate_above, self.n_eigenvectors
        )

    def _level(self, number: int) -> float:
        truncated = self.form == "truncated"
        if callable(self.schedule):
            return self._checked_level(self.schedule(number))
        if isinstance(self.schedule, str):
            return 2 ** min(number, 60) if truncated else max(FIRST_POWER - number, 0)
        first, last = self.schedule
        level = min(first + number, last) if truncated else max(first - number, last)
        return self._checked_level(level)

    def _matrix(self, X: Array, neighbors: IntArray | None) -> tuple[Any, float]:
        if not isinstance(self.affinity, str):
            return own_affinity(self.affinity, len(X)), np.nan
        bandwidth = self.bandwidth
        if isinstance(bandwidth, str):
            bandwidth = bandwidth_within_gaps(X)
        centered = self.affinity == "kpca"
        if len(X) <= MOST_DENSE:
            return dense_affinity(X, bandwidth, centered=centered), bandwidth
        matrix = sparse_affinity(X, bandwidth, self.n_neighbors, neighbors, centered=centered)
        return matrix, bandwidth


@dataclass(frozen=True)
class Change:
    """A change of variables ``Z = Z_s + S U`` with ``U`` (n_variables, q).

    ``apply`` maps ``U`` to ``S U`` (n, q), ``adjoint`` maps ``G`` (n, q) to ``S^T G``.
    """

    apply: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]
    n_variables: int


@dataclass
class Guide:
    """An operator on gradients that fades out.

    Attributes
    ----------
    matrix : array of shape (n, n)
        M.
    form : str
        How M is used.
    level : callable
        The level for the number of levels done.
    bandwidth : float
        h, NaN for a user-supplied matrix.
    hold : int or None
        Iterations for which a level is kept; None is one, in stages five.
    deflate_above : float
        The power down to which the deflated form projects out directions.
    n_eigenvectors : int
        The level at which the truncated form ends if there are more than 2,000 rows.

    Examples
    --------
    A guide by powers starts at the tenth power and decreases by one in every iteration.

    >>> import numpy as np
    >>> from twofold.optimize import SpectralGuidance
    >>> line = np.linspace(0, 1, 50)[:, None]
    >>> guide = SpectralGuidance(bandwidth=0.01).prepare(line)
    >>> [guide.level(n_done) for n_done in (0, 1, 9, 10)]
    [10, 9, 1, 0]
    >>> guide.is_plain(0), guide.is_plain(10), guide.fades
    (False, True, True)
    >>> gradient = np.random.default_rng(0).standard_normal((50, 1))
    >>> bool(np.allclose(guide.guided(gradient, 0), guide.power(gradient, 10)))
    True

    Its eigenvectors, the guide of some of the rows, and the stages for other minimizers:

    >>> guide.vectors().shape, guide.take(np.arange(10)).matrix.shape
    ((50, 50), (10, 10))
    >>> guide.check_linear("lbfgs")
    >>> change, n_iter = next(guide.stages())
    >>> change.apply(gradient).shape, n_iter
    ((50, 1), 10.0)
    """

    matrix: Any
    form: str
    level: Callable[[int], float]
    bandwidth: float = np.nan
    hold: int | None = None
    deflate_above: float = 0.0
    n_eigenvectors: int = MOST_EIGENVECTORS

    def is_plain(self, n_iter: int) -> bool:
        """Return whether this iteration uses the plain gradient."""
        return self._is_plain(self._level_at(n_iter))

    def _level_at(self, n_iter: int) -> float:
        return self.level(n_iter // (self.hold or 1))

    def _is_plain(self, level: float) -> bool:
        return level >= self._most if self.form == "truncated" else level == 0

    def take(self, rows: IntArray) -> Guide:
        """Return the guide of some rows, in the given order."""
        return replace(self, matrix=taken(self.matrix, rows))

    @property
    def fades(self) -> bool:
        """Whether the guidance ends, however late."""
        return self._is_plain(self.level(MOST_LEVELS))

    def check_linear(self, minimizer: str) -> None:
        """Raise an error if the form is not linear, which a change of variables must be."""
        if self.form == "deflated":
            raise ValueError(
                f"form='deflated' depends on the gradient and is not a change of variables for "
                f"{minimizer}; use form='power' or 'truncated', or the optimizer 'gd'."
            )

    def stages(self) -> Iterator[tuple[Change | None, float]]:
        """Yield changes of variables, each with the number of iterations for which it is kept.

        ``S = M^ceil(nu / 2)`` for whole nu, so that ``S S^T`` is ``M^nu`` (``M^(nu + 1)`` for odd
        nu); ``M^(nu / 2)`` for other powers; or ``V_l``. None stands for the identity, at which the
        guidance has ended. The last change is kept forever.
        """
        hold = self.hold or HOLD_IN_STAGES
        levels = [self.level(number) for number in range(MOST_LEVELS)]
        roots = [level if self.form == "truncated" else _root(level) for level in levels]
        stages = [(root, len(list(equal))) for root, equal in groupby(roots)]
        for number, (root, n_levels) in enumerate(stages):
            change = None if self._is_plain(root) else self._change(root)
            is_last = change is None or number == len(stages) - 1
            yield change, np.inf if is_last else float(hold * n_levels)
            if is_last:
                return

    def _change(self, root: float) -> Change:
        if self.form == "truncated":
            leading = self._leading(int(root))
            return Change(
                lambda variables: np.asarray(leading @ variables),
                lambda gradient: np.asarray(leading.T @ gradient),
                leading.shape[1],
            )

        def power(values: Array) -> Array:
            return self.power(values, root)

        return Change(power, power, self.matrix.shape[0])

    def _leading(self, level: int) -> Array:
        """Return leading eigenvectors, without a first one of constant sign.

        It would move all rows alike.
        """
        first = self.vectors()[:, 0]
        skipped = int((first >= 0.0).all() or (first <= 0.0).all())
        return self.vectors()[:, skipped : skipped + level]

    @property
    def _most(self) -> int:
        """The level at which the truncated form is the identity."""
        n: int = self.matrix.shape[0]
        return n - 1 if n <= MOST_DENSE else min(self.n_eigenvectors, n - 1)

    def guided(self, gradient: Array, n_iter: int) -> Array:
        """Return ``A G`` for the gradient of an iteration."""
        level = self._level_at(n_iter)
        if self._is_plain(level):
            return gradient
        if self.form == "truncated":
            leading = self._leading(int(level))
            projected: Array = leading @ (leading.T @ gradient)
            return projected
        if self.form == "deflated" and level > self.deflate_above:
            return self._deflated(gradient, int(level))
        return self.power(gradient, level)

    def power(self, gradient: Array, level: float) -> Array:
        """Return ``M^level G``, for whole levels by repeated products."""
        return self._spectrum.power(gradient, level)

    def _deflated(self, gradient: Array, level: int) -> Array:
        """Guide the columns in turn, each without the directions of the last, Eqs. (18)-(20)."""
        found: list[tuple[float, Array]] = []

        def product(column: Array) -> Array:
            known = sum(value * one * float(one @ column) for value, one in found)
            left: Array = self.matrix @ column - known
            return left

        columns = []
        for column in gradient.T:
            for _ in range(level):
                column = product(column)  # noqa: PLW2901 - powers of one column
            columns.append(column)
            length = float(np.linalg.norm(column))
            if length > 0.0:
                direction = column / length
                found.append((float(direction @ product(direction)), direction))
        return np.stack(columns, axis=1)

    def vectors(self) -> Array:
        """Return eigenvectors of M (n, k), leading first; of large matrices ``n_eigenvectors``."""
        return self._spectrum.vectors(self.n_eigenvectors + 1)  # the first may be constant

    @cached_property
    def _spectrum(self) -> Spectrum:
        return Spectrum(self.matrix)


def _root(level: float) -> float:
    """Return half a power, rounded up if the power is whole."""
    return (int(level) + 1) // 2 if level == int(level) else 0.5 * level
