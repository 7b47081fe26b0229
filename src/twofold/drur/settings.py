"""The settings of `DRUR`, checked once at the start of a fit, and its limits on rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.numerics.threads import drawn_rows, n_threads
from twofold.numerics.validation import (
    check_bool,
    check_int,
    check_methods,
    check_not_negative,
    check_real,
)
from twofold.protocols import IntArray, Map

if TYPE_CHECKING:
    from twofold.drur.estimator import DRUR

MOST_WEIGHT = 1e6

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


@dataclass(frozen=True)
class DRURSettings:
    """Checked settings.

    ``n_centers`` is "auto", "all" or (up, down); ``alphas`` are ridges (up, down), None to choose
    one; ``recenter`` is a number of turns. The others are those of the estimator.
    """

    up: str | Map
    down: str | Map
    n_centers: str | tuple[int, int]
    alphas: tuple[float | None, float | None]
    down_weight: float
    init: object
    max_iter: int
    tol: float
    recenter: int
    store_embedding: bool

    @classmethod
    def of(cls, model: DRUR) -> DRURSettings:
        """Check the parameters of an estimator; an error names the first invalid one."""
        n_threads(model.n_jobs)
        max_iter = check_int("max_iter", model.max_iter)
        check_bool("store_embedding", model.store_embedding)
        weight = check_real("down_weight", model.down_weight)
        if not 1.0 / MOST_WEIGHT <= weight <= MOST_WEIGHT:
            raise ValueError(
                f"down_weight={model.down_weight!r} must lie between {1.0 / MOST_WEIGHT:g} and "
                f"{MOST_WEIGHT:g}: otherwise one of the two errors is negligible."
            )
        if not isinstance(model.recenter, bool):
            check_int("recenter", model.recenter, low=0)
        _check_map("up", model.up, ("fit", "predict", "normal_terms"))  # the last for projections
        _check_map("down", model.down, ("fit", "predict"))
        return cls(
            up=model.up,
            down=model.down,
            n_centers=_centers_of(model),
            alphas=_alphas_of(model.alpha),
            down_weight=weight,
            init=model.init,
            max_iter=max_iter,
            tol=check_not_negative("tol", model.tol),
            recenter=max_iter if model.recenter is True else int(model.recenter),
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
    if (own and in_memory) or joint or n <= most:
        return np.arange(n)
    return drawn_rows(n, most, rng)


def _check_map(name: str, value: object, methods: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        check_methods(name, value, methods, also="'rbf', 'mlp'")
    elif value not in ("rbf", "mlp"):
        raise ValueError(f"{name}={value!r} must be 'rbf', 'mlp' or a map.")


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
