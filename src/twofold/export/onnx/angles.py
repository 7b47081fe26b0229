r"""A step of distilled maps: places around circles from points of the plane.

A regression onto a place in ``[-1, 1]``, where 1 equals -1, would have to jump; its cosine and sine
do not. The inverse is ``atan2``, which ONNX lacks, and runtimes have ``atan`` in single precision
only. With ``r`` the length of ``(c, s)``,

.. math:: \theta = 2 \arctan \frac{s}{r + c} \quad (c \ge 0), \qquad
          \theta = \pm \pi - 2 \arctan \frac{s}{r - c} \quad (c < 0),

and one step, ``(s cos t - c sin t) / r``, refines that value to double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.export.onnx.graph import FLOAT32, Arithmetic, Value
from twofold.export.programs.steps import Step
from twofold.principal_manifold.domains import PERIOD
from twofold.protocols import Array

TURN = 2.0 * np.pi / PERIOD


def on_circles(latents: Array, wrapped: tuple[bool, ...]) -> Array:
    """Return latents (n, q) with wrapped columns as cosines, and their sines in further columns."""
    angles = TURN * latents[:, list(wrapped)]
    flat = latents.copy()
    flat[:, list(wrapped)] = np.cos(angles)
    return np.hstack([flat, np.sin(angles)])


@dataclass(frozen=True)
class Angles(Step):
    """The inverse of `on_circles`: each wrapped column, in [-1, 1], from its cosine and sine."""

    wrapped: tuple[bool, ...]

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows (n, q + number of circles)."""
        q = len(self.wrapped)
        latents = np.array(x[:, :q])
        columns = np.flatnonzero(self.wrapped)
        latents[:, columns] = np.arctan2(x[:, q:], x[:, columns]) / TURN
        return latents


def write_angles(step: Angles, x: Value, exact: Arithmetic) -> Value:
    """Write the places."""
    name = exact.read(x)
    q, columns = len(step.wrapped), np.flatnonzero(step.wrapped)
    cosines = exact("Gather", name, columns, axis=1)
    sines = exact("Gather", name, np.arange(q, q + len(columns)), axis=1)
    places = exact("Mul", _atan2(exact, sines, cosines), 1.0 / TURN)
    # The places follow all columns; each wrapped column is taken from there.
    both = exact("Concat", exact("Gather", name, np.arange(q), axis=1), places, axis=1)
    sources = np.arange(q)
    sources[columns] = q + np.arange(len(columns))
    return exact.value(exact("Gather", both, sources, axis=1))


def _atan2(exact: Arithmetic, sines: str, cosines: str) -> str:
    squares = exact("Add", exact("Mul", sines, sines), exact("Mul", cosines, cosines))
    length = exact("Sqrt", squares)
    length = exact("Where", exact("Greater", length, 0.0), length, 1.0)
    ratio = exact("Div", sines, exact("Add", length, exact("Abs", cosines)))
    single = exact.graph.node("Atan", exact.graph.cast(ratio, FLOAT32))
    right = exact("Mul", exact.read(Value(single, FLOAT32)), 2.0)
    half_turn = exact("Where", exact("Less", sines, 0.0), -np.pi, np.pi)
    is_left = exact("Less", cosines, 0.0)
    rough = exact("Where", is_left, exact("Sub", half_turn, right), right)
    sine, cosine = exact("Sin", rough), exact("Sin", exact("Add", rough, 0.5 * np.pi))
    step = exact("Sub", exact("Mul", sines, cosine), exact("Mul", cosines, sine))
    return exact("Add", rough, exact("Div", step, length))
