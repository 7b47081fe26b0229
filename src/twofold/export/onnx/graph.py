"""A graph of ONNX nodes under construction, and arithmetic in one float type on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from twofold.protocols import AnyArray

__all__ = ["FLOAT32", "FLOAT64", "Arithmetic", "Graph", "Operand", "Value"]

FLOAT32: np.dtype[Any] = np.dtype(np.float32)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)

MOST_BYTES = 2 * 10**9
"""Of constants: a file of ONNX is one message of protobuf, which ends at 2 GiB."""

Operand = str | float | AnyArray
"""The name of a value, or a constant."""


class Value(NamedTuple):
    """A matrix of floats somewhere in a graph: its name and its type."""

    name: str
    dtype: np.dtype[Any]


@dataclass
class Graph:
    """Nodes and constants in the order in which they were added.

    Attributes
    ----------
    nodes, constants : list
        As ONNX wants them.
    prefix : str
        What names of nodes begin with: those of a graph inside another must differ.
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
        """Add a constant of the array's own type and return its name; equal numbers are shared."""
        from onnx import numpy_helper

        key = (array.dtype.str, array.item()) if array.ndim == 0 else None
        if key is not None and key in self._scalars:
            return self._scalars[key]
        total = array.nbytes + sum(one.ByteSize() for one in self.constants)
        if total > MOST_BYTES:
            raise ValueError(
                f"The map has more than {MOST_BYTES / 1e9:.3g} GB of numbers, the most that an ONNX file can hold. Use dtype='float32' if "
                "this is 'float64', or a map whose size does not depend on the rows: DRUR, or TwoWay with up='rbf' and down='rbf'."
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

    def stack(
        self,
        write: Callable[[Graph, list[str]], str],
        n_turns: int,
        sequences: list[AnyArray | Value],
        result: np.dtype[Any],
    ) -> str:
        """Add a loop and return what its turns gave, stacked along a new first axis.

        Parameters
        ----------
        write : callable
            Writes the body: given a graph and the names of this turn's elements, it returns the name of the turn's result. It
            may use values of this graph.
        n_turns : int
            How often.
        sequences : list of ndarray or Value
            What is gone through along the first axis.
        result : dtype
            Type of the results.
        """
        return self._loop(write, n_turns, [], sequences, result)

    def fold(
        self,
        write: Callable[[Graph, list[str]], str],
        n_turns: int,
        start: Value,
        sequences: list[AnyArray | Value],
    ) -> str:
        """Add a loop and return what its last turn gave.

        Parameters
        ----------
        write : callable
            As for `stack`, with what the turn before gave in front of the elements.
        n_turns : int
            How often.
        start : Value
            What the first turn is given.
        sequences : list of ndarray or Value
            What is gone through along the first axis.
        """
        return self._loop(write, n_turns, [start], sequences, start.dtype)

    def _loop(
        self,
        write: Callable[[Graph, list[str]], str],
        n_turns: int,
        start: list[Value],
        sequences: list[AnyArray | Value],
        result: np.dtype[Any],
    ) -> str:
        from onnx import helper

        names = [one.name if isinstance(one, Value) else self.constant(one) for one in sequences]
        body = Graph([], self.constants, f"{self.prefix}turn_{len(self.nodes)}_", self._scalars)
        number, goes_on, state = (f"{body.prefix}{name}" for name in ("number", "goes_on", "state"))
        elements = [body.node("Gather", name, number, axis=0) for name in names]
        output = write(body, [*([state] if start else []), *elements])
        inputs = [_described(number, np.int64, []), _described(goes_on, np.bool_, [])]
        inputs += [_described(state, one.dtype) for one in start]
        outputs = [
            _described(body.node("Identity", goes_on), np.bool_, []),
            _described(output, result),
        ]
        turn = helper.make_graph(body.nodes, f"{body.prefix}body", inputs, outputs)
        # The condition may be left out, but ONNX's reference evaluator then does not begin.
        limits = [self.constant(np.array(n_turns)), self.constant(np.array(True))]
        return self.node("Loop", *limits, *(one.name for one in start), body=turn)


def _described(name: str, dtype: Any, shape: list[int] | None = None) -> Any:
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape)


@dataclass(frozen=True)
class Arithmetic:
    """Writes nodes that compute in one float type.

    Attributes
    ----------
    graph : Graph
        Where to.
    dtype : dtype
        The type of float constants. Names are taken as they are; `read` gives those of values in the type.
    """

    graph: Graph
    dtype: np.dtype[Any]

    def read(self, value: Value) -> str:
        """Return the name of a value in this type."""
        return value.name if value.dtype == self.dtype else self.graph.cast(value.name, self.dtype)

    def __call__(self, operator: str, *operands: Operand, **attributes: Any) -> str:
        """Add a node; float operands become constants of the type, whole numbers stay as they are."""
        return self.graph.node(operator, *map(self._name, operands), **attributes)

    def _name(self, operand: Operand) -> str:
        if isinstance(operand, str):
            return operand
        array = np.asarray(operand)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):  # measuring the graph will tell
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
