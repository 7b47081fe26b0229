"""Objects of older model files, made anew with today's classes.

A file names the classes of its objects. When a class is renamed, merged or gets other attributes,
the format's number rises, and the table of the format before says how to make the new object from
the old state. So files of all formats load.

========  ===========================================================================
format 1  the first; `FROM_FORMAT_1` lists its classes
format 2  one `KernelRidgeMap`, one `Affine` and one `Chain` in place of eight classes;
          American spelling
format 3  units with factors and ranges of the columns, and `AffineUnits`
format 4  nothing that objects compute from their other attributes
format 5  deflated entries, and the forms of arrays of `twofold.export.array_forms`
========  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from twofold.maps.affine import Affine, Chain, Inverse
from twofold.maps.kernel_ridge import KernelRidgeMap
from twofold.maps.nadaraya_watson import GRNN, NadarayaWatson
from twofold.maps.rbf_network import RBFNetwork
from twofold.numerics.density import LatentDensity
from twofold.numerics.units import CenteredUnits

State = dict[str, Any]


def _kernel_ridge(state: State) -> KernelRidgeMap:
    """Make a map with either a bandwidth or a gamma of a state that has one of them."""
    made = KernelRidgeMap()
    state["error_"] = state.pop("loo_error_", state.get("error_", np.nan))
    made.__dict__.update({"bandwidth_": np.nan, "gamma_": np.nan} | state)
    return made


def _rbf_network(state: State) -> RBFNetwork:
    made = RBFNetwork()
    state["error_"] = state.pop("loo_error_", np.nan)
    made.__dict__.update(state)
    return made


def _respelled(cls: type) -> Callable[[State], Any]:
    """Return a function that makes an object of a class whose names had British spelling."""

    def make(state: State) -> Any:
        made: Any = object.__new__(cls)
        made.__dict__.update({key.replace("neighbours", "neighbors"): state[key] for key in state})
        return made

    return make


def _orthonormal(axes: Any, unit: float = 1.0) -> Affine:
    rank, n_columns = axes.shape
    return Affine(unit=unit) if rank == n_columns else Affine(axes.T, unit=unit)


FROM_FORMAT_1: Final[dict[str, Callable[[State], Any]]] = {
    "KernelExpansion": _kernel_ridge,
    "KernelRidgeMap": _kernel_ridge,
    "RBFNetwork": _rbf_network,
    "LeadingSubspace": lambda state: _orthonormal(state["axes"]),
    "SubspaceEncoder": lambda state: Chain((state["subspace"], state["projection"])),
    "Coordinates": lambda state: _orthonormal(state["axes"], state["spread"]),
    "FromCoordinates": lambda state: Chain((state["coordinates"], state["way"])),
    "ToCoordinates": lambda state: Chain((state["up"], Inverse(state["coordinates"]))),
    "Frame": lambda state: Affine(state["forth"], state["back"]),
    "CentredUnits": _respelled(CenteredUnits),
    "GRNN": _respelled(GRNN),
    "LatentDensity": _respelled(LatentDensity),
    "NadarayaWatson": _respelled(NadarayaWatson),
}
"""Former classes, and functions that make the new object from their attributes."""

UPGRADES: Final[dict[int, dict[str, Callable[[State], Any]]]] = {
    1: FROM_FORMAT_1,
    2: {},
    3: {},
    4: {},
    5: {},
}
"""The table of each format that can be read; the last one is written."""

COMPUTED: Final = {
    "GRNN": ("_neighbors", "_neighbours"),
    "LatentDensity": ("_neighbors", "_neighbours"),
    "NadarayaWatson": ("_neighbors", "_neighbours"),
    "NodeExpansion": ("_basis", "_gram", "_grid", "_places"),
    "Projection": ("_index",),
}
"""Attributes up to format 3 that objects compute now. They hold indices for compiled loops, so they
are not read."""

DERIVED: Final[dict[int, dict[str, tuple[str, ...]]]] = {
    1: COMPUTED,
    2: COMPUTED,
    3: COMPUTED,
    4: {},
    5: {},
}
"""The attributes that are left out of each format."""

PLAIN_FORMATS: Final = frozenset({1, 2, 3, 4})
"""Formats whose arrays are in NumPy's own format and not deflated."""
