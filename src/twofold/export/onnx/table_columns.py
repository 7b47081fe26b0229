"""Columns of tables as nodes: own units, logarithms, probabilities of categories."""

from __future__ import annotations

import numpy as np

from twofold.export.onnx.graph import Arithmetic, Value
from twofold.export.programs.steps import Encoded, Flat
from twofold.tables.columns import LARGEST_LOG


def write_flat(step: Flat, x: Value, exact: Arithmetic) -> Value:
    """Write flat values of encoded columns, in double precision: offsets lose digits."""
    values = exact("Add", exact("Mul", exact.read(x), step.scale), step.center)
    if step.log.any():
        exponents = exact("Clip", values, -LARGEST_LOG, LARGEST_LOG)
        powers = exact("Max", exact("Sub", exact("Exp", exponents), step.offset), 0.0)
        values = exact("Where", step.log[None], powers, values)
    if (step.group >= 0).any():
        values = _with_probabilities(step, values, exact)
    return exact.value(values)


def _with_probabilities(step: Flat, values: str, exact: Arithmetic) -> str:
    """Write the shares of levels in the sum over their category."""
    levels = step.group >= 0
    groups = np.where(levels, step.group, 0).astype(np.int64)
    clipped = exact("Max", values, 0.0)
    sums = exact("Gather", exact("MatMul", clipped, step.members), groups, axis=1)
    some = exact("Greater", sums, 0.0)
    shares = exact("Div", clipped, exact("Where", some, sums, np.ones((1, 1))))
    shares = exact("Where", some, shares, step.center[None])
    return exact("Where", levels[None], shares, values)


def write_encoded(step: Encoded, x: Value, exact: Arithmetic) -> Value:
    """Write the encoding of flat values, in double precision."""
    values = exact.read(x)
    if step.log.any():
        shifted = exact("Max", exact("Add", values, step.offset), step.floor)
        values = exact("Where", step.log[None], exact("Log", shifted), values)
    centered = exact("Sub", values, step.center)
    return exact.value(exact("Div", centered, step.scale))
