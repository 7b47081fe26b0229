r"""Radial steps as nodes: distances to centers, kernels of them, weighted means and medians.

Squared distances need no array of all differences: they are summed column by column where columns
are few, else computed as ``|a|^2 + |b|^2 - 2 a.b``, both shifted to the centers' mean. So a batch
of n rows and M centers takes a few matrices (n, M), whatever the number of columns.

Gaussian weights need no distances at all. Since ``|z|^2`` is the same for all centers,

.. math:: \frac{e^{-|z - c_m|^2 / 2 h^2}}{\sum_l e^{-|z - c_l|^2 / 2 h^2}}
          = \operatorname{softmax}_m \frac{z \cdot c_m - |c_m|^2 / 2}{h^2} .
"""

from __future__ import annotations

import numpy as np

from twofold.export.onnx.graph import Arithmetic, Graph, Value
from twofold.export.programs.steps import RadialFeatures, RadialMeans, RadialMedians, RadialWeights
from twofold.kernels import Compact, Gaussian, StudentT
from twofold.numerics.linalg import FEW_COLUMNS, row_norms_sq
from twofold.protocols import AnyArray, Array


def write_features(step: RadialFeatures, x: Value, inside: Arithmetic) -> Value:
    """Write ``k(|x - c_m|^2 / h^2)``."""
    squares = _squared_distances(inside, inside.read(x), step.centers)
    kernel = step.kernel
    if isinstance(kernel, Gaussian):
        return inside.value(inside("Exp", inside("Mul", squares, -0.5 / step.width**2)))
    if isinstance(kernel, StudentT):
        power = -0.5 * (kernel.df + 1.0)
        return inside.value(inside("Pow", _student_base(inside, squares, step), power))
    rest = _rest(inside, squares, step.width)
    return inside.value(inside("Pow", rest, kernel.power))


def write_means(step: RadialMeans, x: Value, inside: Arithmetic, product: Arithmetic) -> Value:
    """Write the weighted means of the targets."""
    weights = product.read(inside.value(_weights(step, inside.read(x), inside)))
    if product.dtype == np.float64:
        return product.value(product("MatMul", weights, step.targets))
    # Centered, single precision loses a share of the targets' spread, not of their offset.
    center = step.targets.mean(axis=0)
    offsets = product.value(product("MatMul", weights, step.targets - center))
    exact = Arithmetic(product.graph, np.dtype(np.float64))
    return exact.value(exact("Add", exact.read(offsets), center))


def write_medians(step: RadialMedians, x: Value, exact: Arithmetic) -> Value:
    """Write the weighted medians, one column of the targets in each turn of a loop.

    The median is where the weights, summed in the order of the column's values, reach one half. The
    last digit of a weight can change it, so this is always in double precision.
    """
    # A row for each target: rows are gathered and summed much faster than columns.
    weights = exact("Transpose", _weights(step, exact.read(x), exact), perm=[1, 0])
    order = np.argsort(step.targets, axis=0, kind="stable")
    values = np.take_along_axis(step.targets, order, axis=0)

    def column(body: Graph, elements: list[str]) -> str:
        inner = Arithmetic(body, exact.dtype)
        by_value, ascending = elements
        reached = inner("CumSum", inner("Gather", weights, by_value, axis=0), np.array(0))
        total = inner("Gather", reached, np.array(len(values) - 1), axis=0)
        below = inner("Less", reached, inner("Mul", total, 0.5 * (1.0 - 1e-12)))
        n_below = inner("ReduceSum", body.cast(below, inner.dtype), np.array([0]), keepdims=0)
        return inner("Gather", ascending, body.cast(n_below, np.int64), axis=0)

    sequences: list[AnyArray | Value] = [order.T.astype(np.int32), values.T]
    medians = exact.graph.loop(column, values.shape[1], sequences, exact.dtype)
    return exact.value(exact("Transpose", medians, perm=[1, 0]))


def _weights(step: RadialWeights, x: str, arithmetic: Arithmetic) -> str:
    """Write the weights (n, M), whose rows sum to one."""
    kernel = step.kernel
    if isinstance(kernel, Gaussian):
        return arithmetic("Softmax", _gaussian_logits(arithmetic, x, step), axis=1)
    squares = _squared_distances(arithmetic, x, step.centers)
    if isinstance(kernel, StudentT):
        logs = arithmetic("Log", _student_base(arithmetic, squares, step))
        return arithmetic("Softmax", arithmetic("Mul", logs, -0.5 * (kernel.df + 1.0)), axis=1)
    return _compact_weights(arithmetic, squares, step, kernel)


def _compact_weights(
    arithmetic: Arithmetic, squares: str, step: RadialWeights, kernel: Compact
) -> str:
    rest = _rest(arithmetic, squares, step.width)
    largest = arithmetic.along_rows("ReduceMax", rest)
    reached = arithmetic("Greater", largest, 0.0)
    # Relative to the row's largest, so that a point at the edge of reach is not 0/0.
    beside = arithmetic("Div", rest, arithmetic("Where", reached, largest, 1.0))
    weights = arithmetic("Pow", beside, kernel.power)
    total = arithmetic.along_rows("ReduceSum", weights)
    weights = arithmetic("Div", weights, arithmetic("Where", reached, total, 1.0))
    nearest = arithmetic("ArgMin", squares, axis=1, keepdims=1)
    is_nearest = arithmetic("Equal", nearest, np.arange(len(step.centers))[None])
    alone = arithmetic.graph.cast(is_nearest, arithmetic.dtype)
    return arithmetic("Where", reached, weights, alone)


def _gaussian_logits(arithmetic: Arithmetic, x: str, step: RadialWeights) -> str:
    shift = step.centers.mean(axis=0)
    centers = step.centers - shift
    precision = 1.0 / step.width**2
    products = arithmetic("MatMul", arithmetic("Sub", x, shift), precision * centers.T)
    return arithmetic("Sub", products, 0.5 * precision * row_norms_sq(centers))


def _squared_distances(arithmetic: Arithmetic, x: str, centers: Array) -> str:
    """Write ``|x - c_m|^2``, shape (n, M)."""
    if centers.shape[1] <= FEW_COLUMNS:
        squares = ""
        for number, column in enumerate(centers.T):
            difference = arithmetic("Sub", arithmetic.column(x, number), column[None])
            square = arithmetic("Mul", difference, difference)
            squares = arithmetic("Add", squares, square) if squares else square
        return squares
    shift = centers.mean(axis=0)
    offsets = arithmetic("Sub", x, shift)
    products = arithmetic("MatMul", offsets, -2.0 * (centers - shift).T)
    own = arithmetic.along_rows("ReduceSumSquare", offsets)
    squares = arithmetic("Add", products, row_norms_sq(centers - shift))
    return arithmetic("Relu", arithmetic("Add", squares, own))


def _student_base(
    arithmetic: Arithmetic, squares: str, step: RadialFeatures | RadialWeights
) -> str:
    assert isinstance(step.kernel, StudentT)
    scaled = arithmetic("Mul", squares, 1.0 / (step.kernel.df * step.width**2))
    return arithmetic("Add", scaled, 1.0)


def _rest(arithmetic: Arithmetic, squares: str, width: float) -> str:
    """Write ``[1 - |x - c|^2 / h^2]_+``."""
    scaled = arithmetic("Mul", squares, 1.0 / width**2)
    return arithmetic("Relu", arithmetic("Sub", 1.0, scaled))
