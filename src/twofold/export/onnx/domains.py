"""Steps of principal manifolds as nodes: places of a domain, kernels along its dimensions."""

from __future__ import annotations

from functools import reduce

import numpy as np

from twofold.export.onnx.graph import Arithmetic, Value
from twofold.export.programs.steps import IntoDomain, NodeProducts
from twofold.principal_manifold.domains import PERIOD, Domain
from twofold.principal_manifold.node_kernels import (
    FEW_TERMS,
    REACH,
    DampedKernel,
    DeltaKernel,
    GaussianKernel,
    LinearKernel,
    NodeKernel,
    PeriodicKernel,
    SplineKernel,
    fourier_coefficients,
)
from twofold.protocols import Array


def write_into_domain(step: IntoDomain, z: Value, exact: Arithmetic) -> Value:
    """Write the nearest places of a domain, in double precision: many turns lose digits."""
    name = exact.read(z)
    domain = step.domain
    if not isinstance(domain, Domain):
        rounded = exact("Round", name)
        return exact.value(exact("Clip", rounded, 0.0, domain.n_points - 1.0))
    if domain.sides is None:
        inside = exact("Clip", name, -1.0, 1.0)
    else:  # Clip takes one pair of bounds for all columns
        ends = domain.ends[None]
        inside = exact("Min", exact("Max", name, -ends), ends)
    if not any(domain.wrapped):
        return exact.value(inside)
    around = exact("Sub", _modulo(exact, exact("Add", name, 1.0), PERIOD), 1.0)
    wrapped = np.array(domain.wrapped, dtype=np.bool_)[None]
    return exact.value(exact("Where", wrapped, around, inside))


def write_node_products(step: NodeProducts, z: Value, inside: Arithmetic) -> Value:
    """Write the kernels between rows and nodes."""
    name = inside.read(z)
    parts = [
        _kernel(inside, kernel, inside.column(name, column), nodes[None], float(width))
        for column, (kernel, nodes, width) in enumerate(
            zip(step.kernels, step.nodes.T, step.widths, strict=True)
        )
    ]
    operator = "Add" if step.is_sum else "Mul"
    return inside.value(reduce(lambda left, right: inside(operator, left, right), parts))


def _kernel(inside: Arithmetic, kernel: NodeKernel, z: str, nodes: Array, width: float) -> str:
    """Write a kernel between one column (n, 1) and nodes (1, M)."""
    match kernel:
        case GaussianKernel():
            return _gaussian(inside, inside("Sub", z, nodes), width)
        case PeriodicKernel() if width > kernel.period:
            return _fourier(inside, inside("Sub", z, nodes), width, kernel.period)
        case PeriodicKernel():
            return _wrapped_gaussian(inside, inside("Sub", z, nodes), width, kernel.period)
        case DampedKernel():
            t = inside("Mul", inside("Sub", z, nodes), 1.0 / width)
            return inside("Reciprocal", inside("Add", inside("Mul", t, t), 1.0))
        case SplineKernel():
            return inside("Add", inside("Min", z, nodes), 1.0)
        case LinearKernel():
            return inside("Mul", z, nodes)
        case DeltaKernel():
            return inside.graph.cast(inside("Equal", z, nodes), inside.dtype)
    raise AssertionError(f"{kernel!r} is not a kernel of a closed form.")


def _gaussian(inside: Arithmetic, difference: str, width: float) -> str:
    square = inside("Mul", difference, difference)
    return inside("Exp", inside("Mul", square, -0.5 / width**2))


def _wrapped_gaussian(inside: Arithmetic, difference: str, width: float, period: float) -> str:
    half = 0.5 * period
    around = inside("Sub", _modulo(inside, inside("Add", difference, half), period), half)
    n_turns = int(np.ceil(REACH * width / period))
    turns = [
        _gaussian(inside, inside("Add", around, turn * period), width)
        for turn in range(-n_turns, n_turns + 1)
    ]
    return reduce(lambda left, right: inside("Add", left, right), turns)


def _fourier(inside: Arithmetic, difference: str, width: float, period: float) -> str:
    frequencies, coefficients = fourier_coefficients(width, period, FEW_TERMS)
    scale = np.sqrt(2.0 * np.pi) * width / period
    total = ""
    for frequency, coefficient in zip(frequencies, coefficients, strict=True):
        # A sine: before onnxruntime 1.21 there is no cosine in double precision.
        phase = inside("Add", inside("Mul", difference, float(frequency)), 0.5 * np.pi)
        wave = inside("Mul", inside("Sin", phase), float(scale * coefficient))
        total = inside("Add", total, wave) if total else wave
    return inside("Add", total, float(scale))


def _modulo(arithmetic: Arithmetic, value: str, period: float) -> str:
    """Write ``value - period floor(value / period)``, exact if the period is a power of two."""
    turns = arithmetic("Floor", arithmetic("Mul", value, 1.0 / period))
    return arithmetic("Sub", value, arithmetic("Mul", turns, period))
