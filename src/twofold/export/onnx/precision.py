"""The precision of a graph, chosen by measuring.

A graph in single precision is the fastest, and often exact enough. It is not where weights are
large and cancel (kernel ridge regression with a small ridge), or where a row lies many bandwidths
away, so that the logarithms of its weights are large numbers with small differences. So each
precision is tried: ONNX's reference evaluator runs the graph near the training latents or rows and
at three times their range, and its results are compared with the model's. The first of three
precisions that deviates by at most a fifth of the tolerance is taken; the margin is for runtimes,
which sum in another order.

Deviations are relative to the spread of the model's outputs near the data, or to an output's own
distance from their mean if that is larger. They are measured before outputs are rounded to the
graph's type. Columns with units of their own are divided by them first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.base.estimator import TwoWayEstimator
from twofold.export.onnx.graph import FLOAT32, FLOAT64
from twofold.export.onnx.translation import Precision
from twofold.export.programs.exported import Exported
from twofold.export.programs.steps import RadialMedians
from twofold.export.programs.translation import ClosedForm
from twofold.protocols import Array
from twofold.tables.layout import TableLayout

if TYPE_CHECKING:
    from onnx import ModelProto

SINGLE = Precision("float32", FLOAT32, FLOAT32)
MIXED = Precision("float64, except the last product in float32", FLOAT64, FLOAT32)
DOUBLE = Precision("float64", FLOAT64, FLOAT64)

SAFETY = 5.0
"""Ratio of the tolerance to the deviation that the reference evaluator may have."""

MOST_PROBES = 600
MOST_NUMBERS = 10**7
"""Entries of a matrix of probes and centers."""

FLAT = 1e-6
"""Share of the training data's spread below which outputs count as equal."""

N_SINGLY = 20
FAR = 3.0
"""Distance of the far inputs, in ranges of the data."""


@dataclass(frozen=True)
class Probes:
    """Inputs (m, n_inputs) at which graphs are compared with a model.

    ``outputs`` (m, n_outputs) are the model's, ``unit`` (m, n_outputs or 1) is what deviations are
    divided by.
    """

    inputs: Any
    outputs: Array
    unit: Array

    @classmethod
    def of(
        cls,
        near: Any,
        others: Any,
        outputs: Callable[[Array], Array],
        least: float,
        columns: Array | float = 1.0,
    ) -> Probes:
        """Evaluate a model near its data, which sets the unit, and at other inputs.

        Outputs are compared in units of their ``columns`` (n_outputs,).
        """
        inputs = np.concatenate([near, others])
        images = outputs(inputs.astype(np.float64))
        offsets = np.abs(images - images[: len(near)].mean(axis=0)) / columns
        offsets = offsets.max(axis=1, keepdims=True)
        unit = np.maximum(offsets, max(float(offsets[: len(near)].max()), least))
        return cls(inputs, images, unit * columns)

    def deviation(self, model: ModelProto) -> float:
        """Return the largest deviation of a graph from the model, by ONNX's reference evaluator.

        Some inputs are also given one by one: a product of one row sums in another order.
        """
        from onnx.reference import ReferenceEvaluator

        evaluator: Any = ReferenceEvaluator(model)
        name = model.graph.input[0].name
        singly = np.linspace(0, len(self.inputs) - 1, N_SINGLY).astype(np.intp)
        batches = [np.arange(len(self.inputs)), *singly[:, None]]
        with np.errstate(all="ignore"):
            found = [evaluator.run(None, {name: self.inputs[rows]})[0] for rows in batches]
        if not all(np.isfinite(one).all() for one in found):
            return float("inf")
        return max(
            float((np.abs(one - self.outputs[rows]) / self.unit[rows]).max())
            for one, rows in zip(found, batches, strict=True)
        )


def probes_of(
    found: Exported,
    form: ClosedForm,
    map: str,
    reference: Callable[[Array], Array],
    dtype: Any,
) -> Probes:
    """Return inputs of a type to compare at, and the values of ``reference`` there.

    A third lie at the data, a third (for encoders) around the manifold, the rest far away.
    """
    estimator = found.model
    rng = np.random.default_rng(0)
    widest = max(len(getattr(step, "centers", ())) for step in form.steps)
    n = int(np.clip(MOST_NUMBERS // max(1, widest), 20, MOST_PROBES)) // 3
    latents = _latents_near(estimator, n, rng)
    near = latents if map == "up" else _rows_near(estimator, latents, 0.0, rng)
    around = near[:0] if map == "up" else _rows_near(estimator, latents, 1.0, rng)
    reach = FAR * np.ptp(near, axis=0)
    far = near.mean(axis=0) + reach * rng.uniform(-1.0, 1.0, size=(n, near.shape[1]))
    others = np.concatenate([around, far])
    units = estimator._data_units if map == "up" else estimator._latent_units
    least = FLAT * 2.0**units.exponent
    columns: Array | float = units.column_factors() if map == "up" else 1.0
    if map == "down":
        near, others = found.show(near), found.show(others)
    elif found.layout is not None:
        columns, least = _units_of(found.layout, reference(near)), FLAT
    return Probes.of(near.astype(dtype), others.astype(dtype), reference, least, columns)


def _units_of(layout: TableLayout, images: Array) -> Array:
    """Return the ranges of a table's numbers at latents near the data, and 1 for probabilities."""
    ranges = np.maximum(np.ptp(images, axis=0), FLAT * layout.scale)
    return np.where(layout.group < 0, ranges, 1.0)


def _latents_near(estimator: TwoWayEstimator, n: int, rng: np.random.Generator) -> Array:
    """Return training latents, if kept, and others drawn from their density."""
    known = estimator.embedding_
    known = known[rng.permutation(len(known))[: n // 2]]
    drawn = estimator.density_.sample(n - len(known), random_state=rng)
    return np.concatenate([known, estimator._latent_units.back(drawn)])


def _rows_near(
    estimator: TwoWayEstimator, latents: Array, distance: float, rng: np.random.Generator
) -> Array:
    """Return the images of latents, moved by up to the data's spread."""
    units = estimator._data_units
    try:
        inside = units.into(estimator._decode(latents))
    except NotImplementedError:  # a feature space without a decoder
        inside = rng.standard_normal((len(latents), int(units.varying.sum())))
        inside /= np.sqrt(inside.shape[1])
    noise = rng.standard_normal(inside.shape) / np.sqrt(inside.shape[1])
    moved = inside + distance * rng.uniform(0.0, 1.0, size=(len(inside), 1)) * noise
    rows: Array = units.back(moved)
    return rows


def precisions_of(form: ClosedForm, dtype: Any) -> list[Precision]:
    """Return the precisions to try, fastest first."""
    # The last digit of a weight can change a median.
    if dtype == FLOAT64 or any(isinstance(step, RadialMedians) for step in form.steps):
        return [DOUBLE]
    return [SINGLE, MIXED, DOUBLE]


def chosen_precision(
    precisions: list[Precision],
    build: Callable[[Precision], ModelProto],
    probes: Probes,
    tol: float,
) -> tuple[ModelProto, Precision, float]:
    """Return the first graph that is exact enough, or the last, its precision and deviation."""
    for precision in precisions:
        model = build(precision)
        deviation = probes.deviation(model)
        if deviation <= tol / SAFETY:
            break
    return model, precision, deviation
