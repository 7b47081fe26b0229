"""Values in a model file that JSON does not have, made of plain data that need not be trusted.

Every function raises a ValueError or TypeError for other data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array

from twofold.protocols import AnyArray

MOST_SIDE: Final = 2**40
"""Rows or columns of a sparse matrix."""


class Unsaved:
    """Stands for a parameter that is not data, such as a function, and is not in the file."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<not in the model file: {self.description}>"

    def __array__(self, *args: Any, **kwargs: Any) -> AnyArray:
        """Refuse conversion to an array, which fitting again would ask for."""
        raise ValueError(f"{self!r}: set this parameter before fitting again.")


def list_of(content: Any) -> list[Any]:
    """Return a list."""
    if not isinstance(content, list):
        raise TypeError("it is not a list")
    return content


def text_of(content: Any) -> str:
    """Return a text."""
    if not isinstance(content, str):
        raise TypeError("it is not text")
    return content


def float_of(content: Any) -> float:
    """Return a float that JSON does not have."""
    if content not in ("nan", "inf", "-inf"):
        raise ValueError("it is not nan, inf or -inf")
    return float(content)


def scalar_of(array: AnyArray) -> Any:
    """Return the NumPy scalar of an array without dimensions."""
    if array.ndim:
        raise ValueError(f"it has {array.ndim} dimensions")
    return array[()]


def pairs_of(content: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a mapping."""
    pairs = [list_of(one) for one in list_of(content)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("it is not a list of pairs")
    return [(key, value) for key, value in pairs]


def strings_of(content: Any) -> AnyArray:
    """Return an array of text."""
    array: AnyArray = np.array(content, dtype=object)
    if not all(isinstance(one, str) for one in array.ravel().tolist()):
        raise TypeError("it is not an array of text")
    return array


def matrix_of(parts: list[AnyArray], shape: Any) -> csr_array:
    """Return a sparse matrix; its indices are checked, because SciPy's loops do not."""
    values, columns, pointers = parts
    if values.dtype.kind not in "biufc" or {columns.dtype.kind, pointers.dtype.kind} - set("iu"):
        raise TypeError("its arrays are of other types")
    sides = list_of(shape)
    if len(sides) != 2 or not all(_is_whole(side, MOST_SIDE) for side in sides):
        raise ValueError("its shape is not a pair of sizes")
    matrix = csr_array((values, columns, pointers), shape=tuple(sides))
    matrix.check_format(full_check=True)
    return matrix


def _is_whole(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _words(n_words: int, bits: int) -> Callable[[Any], bool]:
    """Return a check of an array of unsigned words."""
    dtype = np.dtype(f"u{bits // 8}")
    return lambda value: (
        isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == (n_words,)
    )


def _below(bound: int) -> Callable[[Any], bool]:
    """Return a check of a whole number."""
    return lambda value: _is_whole(value, bound - 1)


_halves: Final = {"has_uint32": _below(2), "uinteger": _below(2**32)}
_congruential: Final = {"state": {"state": _below(2**128), "inc": _below(2**128)}, **_halves}
_twister: Final = {"state": {"key": _words(624, 32), "pos": _below(625)}}

STATES: Final[dict[str, dict[str, Any]]] = {
    "PCG64": _congruential,
    "PCG64DXSM": _congruential,
    "MT19937": _twister,
    "Philox": {
        "state": {"counter": _words(4, 64), "key": _words(2, 64)},
        "buffer": _words(4, 64),
        "buffer_pos": _below(5),
        **_halves,
    },
    "SFC64": {"state": {"state": _words(4, 64)}, **_halves},
}
"""The states of generators. NumPy takes any position in a buffer, and reads there."""

LEGACY: Final = {
    **_twister,
    "has_gauss": _below(2),
    "gauss": lambda value: isinstance(value, float | int),
}


def generator_of(content: Any) -> np.random.Generator | np.random.RandomState:
    """Return a random generator of its checked state."""
    state = _numbers(content)
    legacy = isinstance(state, dict) and set(state) == {"legacy"}
    state = state["legacy"] if legacy else state
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in STATES or (legacy and name != "MT19937"):
        raise ValueError(f"a random generator is of the unknown kind {str(name)[:40]!r}")
    fields = LEGACY if legacy else STATES[name]
    if not _holds(state, {"bit_generator": lambda _: True, **fields}):
        raise ValueError(f"it is no state of {name}")
    if legacy:
        old = np.random.RandomState()
        old.set_state(state)
        return old
    generator = np.random.Generator(getattr(np.random, name)())
    generator.bit_generator.state = state
    return generator


def _holds(state: Any, fields: dict[str, Any]) -> bool:
    """Tell whether a state has these fields and no others."""
    if not isinstance(state, dict) or set(state) != set(fields):
        return False
    return all(
        _holds(state[key], one) if isinstance(one, dict) else one(state[key])
        for key, one in fields.items()
    )


def _numbers(state: Any) -> Any:
    """Return a generator's state with integers in place of the text of format 1."""
    if isinstance(state, dict):
        if set(state) == {"$int"}:
            return int(state["$int"])
        return {key: _numbers(one) for key, one in state.items()}
    return state
