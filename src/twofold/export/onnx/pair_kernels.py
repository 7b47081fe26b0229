"""The kernels of scikit-learn that are not functions of the distance, as nodes."""

from __future__ import annotations

import numpy as np

from twofold.export.onnx.graph import Arithmetic, Graph, Value
from twofold.export.programs.steps import PairKernel
from twofold.protocols import AnyArray


def write_pair_kernel(step: PairKernel, x: Value, inside: Arithmetic) -> Value:
    """Write the kernel between rows and centers, shape (n, M)."""
    name = inside.read(x)
    if step.name == "laplacian":
        return inside.value(_laplacian(step, name, inside))
    if step.name == "cosine":
        norms = np.sqrt(np.square(step.centers).sum(axis=1, keepdims=True))
        centers = step.centers / np.where(norms > 0.0, norms, 1.0)
        return inside.value(inside("MatMul", _unit_rows(name, inside), centers.T))
    if step.name == "linear":
        return inside.value(inside("MatMul", name, step.centers.T))
    products = inside("MatMul", name, step.gamma * step.centers.T)
    inner = inside("Add", products, float(step.coef0))
    if step.name == "sigmoid":
        return inside.value(inside("Tanh", inner))
    return inside.value(inside("Pow", inner, float(step.degree)))


def _unit_rows(x: str, inside: Arithmetic) -> str:
    norms = inside("Sqrt", inside.along_rows("ReduceSumSquare", x))
    return inside("Div", x, inside("Where", inside("Greater", norms, 0.0), norms, 1.0))


def _laplacian(step: PairKernel, x: str, inside: Arithmetic) -> str:
    """Write ``exp(-gamma |x - c|_1)`` by a loop over columns, without all differences at once."""
    # Each turn takes a column of rows, (n, 1), and a column of centers, (1, M).
    columns = inside("Unsqueeze", inside("Transpose", x, perm=[1, 0]), np.array([2]))
    n_rows = inside("Shape", x, start=0, end=1)
    shape = inside("Concat", n_rows, np.array([len(step.centers)]), axis=0)
    start = inside("Expand", np.zeros((1, 1)), shape)

    def add(body: Graph, elements: list[str]) -> str:
        inner = Arithmetic(body, inside.dtype)
        total, own, others = elements
        return inner("Add", total, inner("Abs", inner("Sub", own, others)))

    centers = step.centers.T[:, None].astype(inside.dtype)
    sequences: list[AnyArray | Value] = [inside.value(columns), centers]
    n_turns = len(centers)
    distances = inside.graph.loop(add, n_turns, sequences, inside.dtype, inside.value(start))
    return inside("Exp", inside("Mul", distances, -step.gamma))
