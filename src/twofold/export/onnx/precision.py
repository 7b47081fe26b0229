"""How exact a graph has to be inside: measured, not guessed.

A graph of single precision is the fastest, and often exact enough. It is not where weights are large and cancel (kernel ridge regression with a
small ridge) or where a place lies many kernel widths away, so that the logarithms of its weights are large numbers with small differences. So
each map is tried: at places near the training latents or rows and at places three times their range away, the graph is run by ONNX's
reference evaluator (no runtime is needed) and compared with what the model itself gives there. Of three precisions the first is
taken that deviates by a fifth of the tolerance at most; the rest is for runtimes, which add up in another order.

Deviations are relative to the spread of the model's outputs near the data, or to an output's own distance from their mean where that is
larger. They are measured before outputs are rounded to the graph's type, which no graph can help.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.export.onnx.graph import FLOAT32, FLOAT64
from twofold.export.onnx.translation import Precision
from twofold.export.programs import ClosedForm, RadialMedians
from twofold.protocols import Array

__all__ = ["Probes", "chosen_precision", "precisions_of", "probes_of"]

SINGLE = Precision("float32", FLOAT32, FLOAT32)
MIXED = Precision("float64, but for the last product in float32", FLOAT64, FLOAT32)
DOUBLE = Precision("float64", FLOAT64, FLOAT64)

SAFETY = 5.0
"""How many times closer than asked for the reference evaluator has to come."""

MOST_PROBES = 600
MOST_NUMBERS = 10**7
"""In a matrix of probes and centres."""

FLAT = 1e-6
"""Share of the training data's spread below which outputs count as all the same."""

N_SINGLY = 20
FAR = 3.0
"""Ranges of the data at which far places lie."""


@dataclass(frozen=True)
class Probes:
    """Places where graphs are compared with a model.

    Attributes
    ----------
    inputs : ndarray of shape (m, n_inputs)
        Places, of the graph's type.
    outputs : ndarray of shape (m, n_outputs)
        What the model gives there.
    unit : ndarray of shape (m, 1)
        What deviations are measured by.
    """

    inputs: Any
    outputs: Array
    unit: Array

    @classmethod
    def of(cls, near: Any, others: Any, outputs: Callable[[Array], Array], least: float) -> Probes:
        """Ask a model at places of its data, whose outputs set the unit (if it is not below the least), and at others."""
        inputs = np.concatenate([near, others])
        images = outputs(inputs.astype(np.float64))
        offsets = np.abs(images - images[: len(near)].mean(axis=0)).max(axis=1, keepdims=True)
        unit = np.maximum(offsets, max(float(offsets[: len(near)].max()), least))
        return cls(inputs, images, unit)

    def deviation(self, model: Any) -> float:
        """Return the largest deviation of a graph from the model, as ONNX's reference evaluator runs it.

        Some places are also given one by one: a product of one row adds up in another order, which shows what depends on that.
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
    estimator: Any, form: ClosedForm, map: str, reference: Callable[[Array], Array], dtype: Any
) -> Probes:
    """Return places to compare at, and the model's values there.

    A third are places of the data, a third (for the way down) lie around the manifold, the rest far away.

    Parameters
    ----------
    estimator : TwoWayEstimator
        The fitted model.
    form : ClosedForm
        The map that is exported.
    map : {"up", "down"}
        Which way it goes.
    reference : callable
        What the graph should compute.
    dtype : dtype
        Type of its inputs.
    """
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
    return Probes.of(near.astype(dtype), others.astype(dtype), reference, least)


def _latents_near(estimator: Any, n: int, rng: np.random.Generator) -> Array:
    """Return training latents, where they are kept, and others drawn from their density."""
    known = estimator.embedding_
    known = known[rng.permutation(len(known))[: n // 2]]
    drawn = estimator.density_.sample(n - len(known), random_state=rng)
    return np.concatenate([known, estimator._latent_units.back(drawn)])


def _rows_near(estimator: Any, latents: Array, distance: float, rng: np.random.Generator) -> Array:
    """Return the images of latents, moved by up to the data's spread."""
    units = estimator._data_units
    try:
        inside = units.into(estimator._decode(latents))
    except NotImplementedError:  # a feature space without a way back
        inside = rng.standard_normal((len(latents), int(units.varying.sum())))
        inside /= np.sqrt(inside.shape[1])
    noise = rng.standard_normal(inside.shape) / np.sqrt(inside.shape[1])
    moved = inside + distance * rng.uniform(0.0, 1.0, size=(len(inside), 1)) * noise
    rows: Array = units.back(moved)
    return rows


def precisions_of(form: ClosedForm, dtype: Any) -> list[Precision]:
    """Return the precisions to try, fastest first."""
    # A median jumps with the last digit of a weight.
    if dtype == FLOAT64 or any(isinstance(step, RadialMedians) for step in form.steps):
        return [DOUBLE]
    return [SINGLE, MIXED, DOUBLE]


def chosen_precision(
    precisions: list[Precision], build: Callable[[Precision], Any], probes: Probes, tol: float
) -> tuple[Any, Precision, float]:
    """Return the first graph that is exact enough, its precision, and its deviation.

    Where none is, that is the last one.

    Parameters
    ----------
    precisions : list of Precision
        What to try, in this order.
    build : callable
        Makes a model of a precision.
    probes : Probes
        Where to compare.
    tol : float
        The deviation to stay a fifth of.
    """
    for precision in precisions:
        model = build(precision)
        deviation = probes.deviation(model)
        if deviation <= tol / SAFETY:
            break
    return model, precision, deviation
