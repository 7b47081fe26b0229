"""Steps of a closed form as ONNX nodes.

Three parts of a graph may differ in precision:

* the *borders*, which convert data to centered units and back and move latents into a domain, are
  always in double precision: subtracting a mean loses the digits of an offset, and costs little;
* *inside*: distances, kernels, hidden layers;
* the last *product*, of kernels with targets or weights, which is most of the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.export.onnx.angles import Angles, write_angles
from twofold.export.onnx.domains import write_into_domain, write_node_products
from twofold.export.onnx.graph import FLOAT64, Arithmetic, Graph, Value
from twofold.export.onnx.pair_kernels import write_pair_kernel
from twofold.export.onnx.radial import write_features, write_means, write_medians
from twofold.export.onnx.table_columns import write_encoded, write_flat
from twofold.export.programs.steps import (
    Encoded,
    Flat,
    IntoDomain,
    Linear,
    NodeProducts,
    PairKernel,
    Put,
    RadialFeatures,
    RadialMeans,
    RadialMedians,
    Sigmoid,
    Take,
)
from twofold.export.programs.translation import ClosedForm


@dataclass(frozen=True)
class Precision:
    """The types to compute in, inside and for the last product, with a name to print."""

    name: str
    inside: np.dtype[Any]
    product: np.dtype[Any]


@dataclass(frozen=True)
class _Pens:
    """Arithmetic for the three parts."""

    exact: Arithmetic
    inside: Arithmetic
    product: Arithmetic


def write_steps(graph: Graph, form: ClosedForm, x: Value, precision: Precision) -> Value:
    """Write a closed form of a value into a graph, and return its image."""
    exact, inside, product = (
        Arithmetic(graph, dtype) for dtype in (FLOAT64, precision.inside, precision.product)
    )
    products = [k for k, step in enumerate(form.steps) if isinstance(step, Linear | RadialMeans)]
    for number, step in enumerate(form.steps):
        is_last = products[-1:] == [number]
        pens = _Pens(exact, inside, product if is_last else inside)
        x = _WRITERS[type(step)](step, x, pens)
    return x


def _take(step: Take, x: Value, pens: _Pens) -> Value:
    exact = pens.exact
    chosen = exact("Gather", exact.read(x), step.columns.astype(np.int64), axis=1)
    return exact.value(exact("Sub", exact("Mul", chosen, step.factor), step.shift))


def _put(step: Put, u: Value, pens: _Pens) -> Value:
    exact = pens.exact
    x = exact("Mul", exact("Add", exact.read(u), step.shift), step.factor)
    width = len(step.constants)
    if len(step.columns) == width:
        return exact.value(x)
    # Constant columns gather any column, and then get their own value.
    sources = np.zeros(width, dtype=np.int64)
    sources[step.columns] = np.arange(len(step.columns))
    varies = np.isin(np.arange(width), step.columns)[None]
    spread = exact("Gather", x, sources, axis=1)
    return exact.value(exact("Where", varies, spread, step.constants[None]))


def _linear(step: Linear, x: Value, pens: _Pens) -> Value:
    product = pens.product
    image = product("MatMul", product.read(x), step.matrix)
    return product.value(product("Add", image, step.bias))


def _sigmoid(_: Sigmoid, x: Value, pens: _Pens) -> Value:
    return pens.inside.value(pens.inside("Sigmoid", pens.inside.read(x)))


_WRITERS: dict[type, Callable[[Any, Value, _Pens], Value]] = {
    Take: _take,
    Put: _put,
    Linear: _linear,
    Sigmoid: _sigmoid,
    RadialFeatures: lambda step, x, pens: write_features(step, x, pens.inside),
    RadialMeans: lambda step, x, pens: write_means(step, x, pens.inside, pens.product),
    RadialMedians: lambda step, x, pens: write_medians(step, x, pens.exact),
    PairKernel: lambda step, x, pens: write_pair_kernel(step, x, pens.inside),
    NodeProducts: lambda step, x, pens: write_node_products(step, x, pens.inside),
    IntoDomain: lambda step, x, pens: write_into_domain(step, x, pens.exact),
    Angles: lambda step, x, pens: write_angles(step, x, pens.exact),
    Encoded: lambda step, x, pens: write_encoded(step, x, pens.exact),
    Flat: lambda step, x, pens: write_flat(step, x, pens.exact),
}
