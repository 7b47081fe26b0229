"""A graph of ONNX nodes under construction, and arithmetic in one float type on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from twofold.protocols import AnyArray

FLOAT32: np.dtype[Any] = np.dtype(np.float32)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)

MOST_BYTES = 2 * 10**9
"""Most bytes of constants: an ONNX file is one protobuf message of at most 2 GiB."""

Operand = str | float | AnyArray
"""The name of a value, or a constant."""


class Value(NamedTuple):
    """A matrix of floats in a graph: its name and type."""

    name: str
    dtype: np.dtype[Any]


@dataclass
class Graph:
    """Nodes and constants of ONNX, in the order of addition.

    The prefix starts the names of nodes: those of a graph inside another must differ.
    """

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    prefix: str = ""
    _scalars: dict[tuple[str, Any], str] = field(default_factory=dict)

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        name = f"{self.prefix}{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, array: AnyArray) -> str:
        """Add a constant of the array's type and return its name; equal numbers are shared."""
        from onnx import numpy_helper

        key = (array.dtype.str, array.item()) if array.ndim == 0 else None
        if key is not None and key in self._scalars:
            return self._scalars[key]
        total = array.nbytes + sum(one.ByteSize() for one in self.constants)
        if total > MOST_BYTES:
            raise ValueError(
                f"The map has more than {MOST_BYTES / 1e9:.3g} GB of numbers, the most that an "
                "ONNX file can hold. Use dtype='float32' if this is 'float64', or a map whose size "
                "does not depend on the rows: DRUR, or TwoWay with up='rbf' and down='rbf'."
            )
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        if key is not None:
            self._scalars[key] = name
        return name

    def cast(self, value: str, dtype: Any) -> str:
        """Return a value in another type."""
        from onnx import helper

        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def loop(
        self,
        write: Callable[[Graph, list[str]], str],
        n_turns: int,
        sequences: list[AnyArray | Value],
        result: np.dtype[Any],
        start: Value | None = None,
    ) -> str:
        """Add a loop over the first axes of sequences, and return its result.

        ``write`` adds the body to a graph, given the names of this turn's elements, and returns the
        name of the turn's result; it may use values of this graph. Without a start the results of
        all turns are stacked along a new first axis. With one, each turn gets the result of the
        turn before in front of its elements, and the last result is returned.
        """
        from onnx import helper

        names = [one.name if isinstance(one, Value) else self.constant(one) for one in sequences]
        body = Graph([], self.constants, f"{self.prefix}turn_{len(self.nodes)}_", self._scalars)
        number, goes_on, state = (f"{body.prefix}{name}" for name in ("number", "goes_on", "state"))
        elements = [body.node("Gather", name, number, axis=0) for name in names]
        states = [] if start is None else [start]
        output = write(body, [state, *elements] if states else elements)
        inputs = [_described(number, np.int64, []), _described(goes_on, np.bool_, [])]
        inputs += [_described(state, one.dtype) for one in states]
        outputs = [
            _described(body.node("Identity", goes_on), np.bool_, []),
            _described(output, result),
        ]
        turn = helper.make_graph(body.nodes, f"{body.prefix}body", inputs, outputs)
        # The condition is optional, but ONNX's reference evaluator does not start without it.
        limits = [self.constant(np.array(n_turns)), self.constant(np.array(True))]
        return self.node("Loop", *limits, *(one.name for one in states), body=turn)


def _described(name: str, dtype: Any, shape: list[int] | None = None) -> Any:
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape)


@dataclass(frozen=True)
class Arithmetic:
    """Writes nodes that compute in one float type.

    Names are used as they are; `read` converts a value to this type.
    """

    graph: Graph
    dtype: np.dtype[Any]

    def read(self, value: Value) -> str:
        """Return the name of a value in this type."""
        return value.name if value.dtype == self.dtype else self.graph.cast(value.name, self.dtype)

    def __call__(self, operator: str, *operands: Operand, **attributes: Any) -> str:
        """Add a node; float operands become constants of the type, integers stay integers."""
        return self.graph.node(operator, *map(self._name, operands), **attributes)

    def _name(self, operand: Operand) -> str:
        if isinstance(operand, str):
            return operand
        array = np.asarray(operand)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):  # measuring the graph reveals an overflow
                array = array.astype(self.dtype)
        return self.graph.constant(array)

    def along_rows(self, operator: str, value: str) -> str:
        """Reduce each row to one number, shape (n, 1)."""
        return self(operator, value, np.array([1]), keepdims=1)

    def column(self, value: str, number: int) -> str:
        """Return one column, shape (n, 1)."""
        return self("Gather", value, np.array([number]), axis=1)

    def value(self, name: str) -> Value:
        """Return a name as a value of this type."""
        return Value(name, self.dtype)
