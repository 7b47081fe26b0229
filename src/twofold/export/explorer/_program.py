"""The decoder as the page evaluates it: the steps of its closed form with packed arrays."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from twofold.export.explorer._packing import Packer
from twofold.export.programs.steps import (
    IntoDomain,
    NodeProducts,
    PairKernel,
    RadialFeatures,
    RadialMeans,
    RadialMedians,
    Step,
    TableColumns,
)
from twofold.export.programs.translation import ClosedForm
from twofold.kernels import Compact, StudentT
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.domains import Domain
from twofold.principal_manifold.node_kernels import (
    DampedKernel,
    DeltaKernel,
    GaussianKernel,
    LinearKernel,
    NodeKernel,
    PeriodicKernel,
)
from twofold.protocols import Array, RadialKernel

CLOSE = 1e-6
"""Arrays stay float64 if float32 changes the images by more than this share of their scale."""

MOST_PAIRS = 4 * 10**6  # pairs of a latent and a center for which precision is measured

NODE_KERNELS: dict[type, str] = {
    GaussianKernel: "gaussian",
    PeriodicKernel: "periodic",
    DampedKernel: "damped",
    LinearKernel: "linear",
    DeltaKernel: "delta",
}


def program(form: ClosedForm, latents: Array, packer: Packer) -> list[dict[str, Any]]:
    """Return a closed form as plain data; its precision is measured at latents (n, q)."""
    exact = needs_doubles(form, latents)
    return [plain(step, packer, exact) for step in form.steps]


def needs_doubles(form: ClosedForm, latents: Array) -> bool:
    """Return whether float32 arrays would change some column visibly.

    Large weights that cancel lose digits.
    """
    widest = max(len(getattr(step, "centers", ())) for step in form.steps)
    some = latents[some_rows(len(latents), max(5, min(200, MOST_PAIRS // max(1, widest))))]
    images = form(some)
    steps = tuple(_rounded(step) for step in form.steps)
    off = np.abs(replace(form, steps=steps)(some) - images).max(axis=0)
    extent = np.ptp(images, axis=0)
    scale = np.where(extent > 0.0, extent, np.abs(images).max(axis=0))
    return not (off <= CLOSE * scale).all()


def _rounded(step: Step) -> Step:
    if isinstance(step, TableColumns):  # short arrays, always packed as float64
        return step
    # Targets are packed by column, with their own offsets, and factors as text: both lose nothing.
    arrays: dict[str, Any] = {
        field.name: value.astype(np.float32).astype(np.float64)
        for field in fields(step)
        if isinstance(value := getattr(step, field.name), np.ndarray)
        and value.dtype.kind == "f"
        and field.name not in ("targets", "factor")
    }
    return replace(step, **arrays)


def plain(step: Step, packer: Packer, exact: bool) -> dict[str, Any]:
    """Return a step as plain data with packed arrays; in double precision if ``exact``."""
    if isinstance(step, IntoDomain):
        if isinstance(step.domain, Domain):
            wrapped = [bool(flag) for flag in step.domain.wrapped]
            return {"kind": "IntoDomain", "wrapped": wrapped, "ends": step.domain.ends.tolist()}
        return {"kind": "IntoDomain", "n_points": step.domain.n_points}
    found: dict[str, Any] = {"kind": type(step).__name__}
    exact = exact or isinstance(step, TableColumns)
    for field in fields(step):
        value = getattr(step, field.name)
        if field.name == "factor" and isinstance(value, np.ndarray):
            value = value.tolist()  # all digits: columns may have very different units
        if isinstance(value, np.ndarray):
            value = packer.pack(value, exact=exact, by_column=field.name == "targets")
        found[field.name] = value
    if isinstance(step, RadialFeatures | RadialMeans | RadialMedians):
        found["kernel"] = _radial_kernel(step.kernel)
    if isinstance(step, NodeProducts):
        found["kernels"] = [_node_kernel(kernel) for kernel in step.kernels]
    if isinstance(step, PairKernel):  # nan where the kernel has no such parameter
        found["gamma"] = step.gamma if np.isfinite(step.gamma) else None
    return found


def _radial_kernel(kernel: RadialKernel) -> dict[str, Any]:
    if isinstance(kernel, Compact):
        return {"name": "compact", "power": kernel.power}
    if isinstance(kernel, StudentT):
        return {"name": "student", "df": kernel.df}
    return {"name": "gaussian"}


def _node_kernel(kernel: NodeKernel) -> dict[str, Any]:
    name = NODE_KERNELS.get(type(kernel), "spline")
    return {"name": name, "period": getattr(kernel, "period", None)}
