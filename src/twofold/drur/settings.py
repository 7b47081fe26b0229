"""The settings of `DRUR`, checked once at the start of a fit, and its limits on rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from twofold.numerics.threads import drawn_rows, n_threads
from twofold.numerics.validation import (
    check_bool,
    check_choice,
    check_int,
    check_methods,
    check_not_negative,
    check_real,
)
from twofold.optimize import GaussNewton, RowDescent, RowProblem, RowsResult
from twofold.protocols import Array, IntArray, Map

if TYPE_CHECKING:
    from twofold.drur.estimator import DRUR

MOST_WEIGHT = 1e6


class RowMinimizer(Protocol):
    """Anything that minimizes rows, as `twofold.optimize.GaussNewton` and `RowDescent` do."""

    def minimize_rows(self, problem: RowProblem, Z0: Array, /) -> RowsResult:
        """Minimize every row from its start."""
        ...


CENTERS = (15, 30, 60, 120, 250, 500)
"""Numbers of centers that "auto" compares."""

N_TURNED, TURNED_PER_CENTER = 10_000, 10
"""Rows that take part in the turns: at most the larger of the first and the second per center.
Swiss rolls were found as well from fewer rows as from all; MNIST with 2,000 centers lost 0.273,
0.275 and 0.281 of its variance with 60,000, 40,000 and 20,000 rows in the turns."""

N_TRIED = 4_000
"""Rows on which starts and numbers of centers are compared."""

MOST_JOINT = 10_000
"""Rows up to which ``n_centers="all"`` is possible."""


MAPS = ("rbf", "mlp", "linear")

SHORT_PROJECTION = GaussNewton(max_iter=2, tol=1e-3)
"""Projection of a turn. On Swiss rolls, and on starts with noise of 10 to 60, one to five steps of
a row led to the same R^2."""

PROJECTIONS: dict[str, RowMinimizer] = {
    "gauss_newton": GaussNewton(max_iter=50, tol=1e-4, damping=0.0, max_damping=0.0),
    "gradient": RowDescent(max_iter=300, tol=1e-4),
    "fixed_point": RowDescent(max_iter=100, tol=1e-4, step=0.5),
}
"""The three minimizers of the paper's section 2.1, to its relative error of 1e-4."""


@dataclass(frozen=True)
class DRURSettings:
    """Checked settings.

    ``n_centers`` is "auto", "all" or (up, down); ``alphas`` are ridges (up, down), None to choose
    one; ``recenter`` has numbers of turns (up, down); ``projection`` minimizes the rows' energies.
    The others are those of the estimator.
    """

    up: str | Map
    down: str | Map
    n_centers: str | tuple[int, int]
    alphas: tuple[float | None, float | None]
    down_weight: float | None
    init: object
    max_iter: int
    tol: float | None
    recenter: tuple[int, int]
    projection: RowMinimizer
    exact: bool
    store_embedding: bool

    @classmethod
    def of(cls, model: DRUR) -> DRURSettings:
        """Check the parameters of an estimator; an error names the first invalid one."""
        n_threads(model.n_jobs)
        max_iter = check_int("max_iter", model.max_iter)
        check_bool("store_embedding", model.store_embedding)
        exact = check_bool("exact", model.exact)
        _check_map("up", model.up, ("fit", "predict", "normal_terms"))  # the last for projections
        _check_map("down", model.down, ("fit", "predict"))
        return cls(
            up=model.up,
            down=model.down,
            n_centers=_centers_of(model),
            alphas=_alphas_of(model.alpha),
            down_weight=_weight_of(model.down_weight),
            init=model.init,
            max_iter=max_iter,
            tol=None if model.tol is None else check_real("tol", model.tol, low=0.0, also="None"),
            recenter=_recenter_of(model.recenter, max_iter),
            projection=_projection_of(model.optimizer, exact=exact),
            exact=exact,
            store_embedding=model.store_embedding,
        )

    @property
    def are_networks(self) -> tuple[bool, bool]:
        """Whether the maps up and down are radial networks, which sums over rows determine."""
        return self.up == "rbf", self.down == "rbf"

    @property
    def most_rows_of_turns(self) -> int:
        """How many rows determine the networks well enough for the turns."""
        sizes = CENTERS if isinstance(self.n_centers, str) else self.n_centers
        return max(N_TURNED, TURNED_PER_CENTER * max(sizes))


def rows_of_turns(
    settings: DRURSettings, n: int, rng: np.random.Generator, *, in_memory: bool
) -> IntArray:
    """Return the rows that take part in the turns: all, or a sample of very many.

    Maps of the caller see all rows where these are in memory.
    """
    most = settings.most_rows_of_turns
    joint = settings.n_centers == "all"
    if joint and n > MOST_JOINT:
        raise MemoryError(
            f"n_centers='all' needs {4 * 8 * n * n / 1e9:.1f} GB for its kernel matrices of {n} "
            f"rows, and time that grows with the cube of n. It accepts at most {MOST_JOINT} rows. "
            "Use n_centers='auto'."
        )
    own = not (isinstance(settings.up, str) and isinstance(settings.down, str))
    if ((own or settings.exact) and in_memory) or joint or n <= most:
        return np.arange(n)
    return drawn_rows(n, most, rng)


def _check_map(name: str, value: object, methods: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        check_methods(name, value, methods, also=", ".join(map(repr, MAPS)))
    elif value not in MAPS:
        raise ValueError(f"{name}={value!r} must be 'rbf', 'mlp', 'linear' or a map.")


def _weight_of(value: Any) -> float | None:
    if value is None:
        return None
    weight = check_real("down_weight", value, also="None")
    if not 1.0 / MOST_WEIGHT <= weight <= MOST_WEIGHT:
        raise ValueError(
            f"down_weight={value!r} must lie between {1.0 / MOST_WEIGHT:g} and "
            f"{MOST_WEIGHT:g}: otherwise one of the two errors is negligible."
        )
    return weight


def _recenter_of(value: Any, max_iter: int) -> tuple[int, int]:
    def checked(one: Any) -> int:
        if isinstance(one, bool | np.bool_):
            return max_iter if one else 0
        if not isinstance(one, Integral):
            raise TypeError(f"recenter={value!r} must be a bool, an int or a pair (up, down).")
        return check_int("recenter", one, low=0)

    up, down = _pair_of(value, "recenter")
    return checked(up), checked(down)


def _projection_of(value: Any, *, exact: bool) -> RowMinimizer:
    if not isinstance(value, str):
        check_methods(
            "optimizer", value, ("minimize_rows",), also=", ".join(map(repr, PROJECTIONS))
        )
        minimizer: RowMinimizer = value
        return minimizer
    check_choice("optimizer", value, tuple(PROJECTIONS))
    if value == "gauss_newton" and not exact:
        return SHORT_PROJECTION
    return PROJECTIONS[value]


def _centers_of(model: DRUR) -> str | tuple[int, int]:
    n_centers = model.n_centers
    if not isinstance(n_centers, str):
        up, down = _pair_of(n_centers, "n_centers")
        return check_int("n_centers", up), check_int("n_centers", down)
    if n_centers not in ("auto", "all"):
        raise ValueError(f"n_centers={n_centers!r} must be 'auto', 'all', a number or (up, down).")
    if n_centers == "all" and not (model.up == model.down == "rbf"):
        raise ValueError(
            f"n_centers='all' needs radial networks, not up={model.up!r}, down={model.down!r}."
        )
    return n_centers


def _alphas_of(alpha: Any) -> tuple[float | None, float | None]:
    def checked(one: Any) -> float | None:
        if not isinstance(one, str):
            return check_not_negative("alpha", one)
        if one != "auto":
            raise ValueError(f"alpha={alpha!r} must be 'auto', a number or (up, down).")
        return None

    up, down = _pair_of(alpha, "alpha")
    return checked(up), checked(down)


def _pair_of(value: Any, name: str) -> tuple[Any, Any]:
    """Return a parameter for both maps, (up, down)."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise ValueError(f"{name}={value!r} must be one value, or two: (up, down).")
        return value[0], value[1]
    return value, value
