"""The tables of kernels, losses, units, densities and the filling of gaps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from twofold.export.contents.checking import Contents
from twofold.export.contents.fields import (
    FAR,
    NARROWEST,
    Field,
    Scope,
    UnfitError,
    a,
    either,
    flags,
    floats,
    integers,
    number,
    optional,
    positive,
    text,
    values,
    whole,
)
from twofold.kernels import KERNELS

LARGEST_EXPONENT: Final = 2_200
MOST_POWER: Final = 1e6
"""Of a compact kernel."""

MOST_PRODUCTS: Final = 10**8
"""Products of two factors of a column, which take memory when gaps are filled."""

jobs: Final = optional(whole(-(2**31), 2**31))
radial: Final[Field] = either(text(*KERNELS), a("Gaussian", "Compact", "StudentT"))
with_density: Final[Field] = either(
    text("gaussian", "quartic", "triweight"), a("Gaussian", "Compact")
)
LOSSES: Final = ("Huber", "L1", "Norm", "Squared")
UNITS: Final = ("AffineUnits", "CenteredUnits")


def _kept_columns(units: Any, scope: Scope) -> None:
    scope.agree("kept", int(units.varying.sum()))


def _units_of(columns: str) -> dict[str, Field]:
    """Return the fields of centered units of so many columns."""
    return {
        "center": values(columns),
        "exponent": whole(-LARGEST_EXPONENT, LARGEST_EXPONENT),
        "varying": flags(columns),
        "constants": values(columns),
        "factors": optional(values(columns, above=0.0)),
        "lowest": optional(floats(columns, nan=True)),
        "highest": optional(floats(columns, nan=True)),
    }


def _points_in_widths(density: Any, scope: Scope) -> None:
    """Check that squares of distances in widths are finite."""
    if float(np.abs(density.points_).max()) > FAR * density.bandwidth_:
        raise UnfitError("has points too many bandwidths away")


def _few_factors(model: Any, scope: Scope) -> None:
    n_columns, n_factors = model.loadings.shape
    if n_factors > 1 and n_columns * n_factors**2 > MOST_PRODUCTS:
        raise UnfitError(f"has {n_factors} factors of {n_columns} columns")


def _gaps_of_all(donors: Any, scope: Scope) -> None:
    if len(donors.gaps) not in (0, len(donors.rows)):
        raise UnfitError("has gaps of other rows")


TABLES: Final[dict[str, Contents]] = {
    "Gaussian": Contents(),
    "Compact": Contents({"power": number(low=2.0, high=MOST_POWER)}),
    "StudentT": Contents({"df": positive}),
    "L1": Contents(),
    "Norm": Contents(),
    "Squared": Contents(),
    "Huber": Contents({"scale": positive}),
    "CenteredUnits": Contents(_units_of("features"), agree=_kept_columns),
    "AffineUnits": Contents(
        {
            **_units_of("images"),
            "shift": values("features"),
            "matrix": values("features", "images"),
            "bias": values("images"),
            "inverse": values("images", "features"),
            "offset": values("features"),
            "column_units": values("features", above=0.0),
        },
        agree=_kept_columns,
    ),
    "LatentDensity": Contents(
        parameters={"kernel": with_density, "n_jobs": jobs},
        learned={
            "bandwidth_": number(low=NARROWEST, high=FAR),  # its square is finite
            "points_": floats("points", "latents"),
            "log_densities_": floats("points"),
        },
        agree=_points_in_widths,
    ),
    "Donors": Contents(
        {
            "rows": floats("donors", "columns"),
            "gaps": flags("donors with gaps?", "columns"),
            "numbers": integers("donors"),
            "width": positive,
        },
        agree=_gaps_of_all,
    ),
    "Errors": Contents({name: number(low=0.0) for name in ("trust", "spread", "conditional")}),
    "FactorModel": Contents(
        {
            "mean": floats("columns"),
            "loadings": floats("columns", "factors"),
            "noise": floats("columns", above=0.0),
        },
        agree=_few_factors,
    ),
    "GapFilling": Contents(
        {
            "donors": a("Donors", columns="columns"),
            "errors": optional(a("Errors")),
            "model": optional(a("FactorModel", columns="columns")),
        }
    ),
}
