"""Objects of plain data and arrays that need not be trusted: see `twofold.export.object_graph`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from twofold.export.contents import CONTENTS, Checked, UnfitError, checked
from twofold.export.errors import ModelFileError
from twofold.export.object_graph import CLASSES
from twofold.export.special_values import (
    Unsaved,
    float_of,
    generator_of,
    list_of,
    matrix_of,
    pairs_of,
    scalar_of,
    strings_of,
    text_of,
)
from twofold.export.upgrades import DERIVED, UPGRADES
from twofold.protocols import AnyArray

DEEPEST: Final = 60
MOST_USES: Final = 16
"""How often a file may use the bytes of its arrays, on average."""

MOST_SHARED: Final = 10_000
"""Objects of a file may count more often than they are there by this number.

An object counts as often as it is used. A chain of objects that each use the next one twice would
take for ever to print.
"""

FREE_BYTES: Final = 2**20
"""Bytes of arrays that may be used any number of times."""


class Decoder:
    """Makes the objects of nodes, which need not be trusted, with the upgrades of their format."""

    def __init__(self, nodes: Any, arrays: list[AnyArray], format_number: int) -> None:
        if not isinstance(nodes, list) or not nodes:
            raise ModelFileError("there are no objects in it")
        self._nodes = nodes
        self._arrays = arrays
        self._upgrades = UPGRADES[format_number]
        self._derived = DERIVED[format_number]
        self._made: dict[int, Any] = {}
        self._checked: dict[int, Checked] = {}
        self._unfinished: set[int] = set()
        self._counts: dict[int, int] = {}
        self._count = 0
        self._bytes_left = FREE_BYTES + MOST_USES * sum(one.nbytes for one in arrays)

    def get(self, number: int = 0, depth: int = 0) -> Any:
        """Return the object of a node."""
        node = self._at(self._nodes, number, "object")
        if number in self._made:
            self._count += self._counts[number]
            if self._count > MOST_SHARED + len(self._nodes):
                raise ModelFileError("its objects are used too often")
            return self._made[number]
        if number in self._unfinished or depth > DEEPEST:
            raise ModelFileError("its objects are nested too deeply, or in themselves")
        if not isinstance(node, dict) or not isinstance(node.get("state"), dict):
            raise ModelFileError(f"object {number} has no class and state")
        name = node.get("class")
        if not isinstance(name, str) or name not in CLASSES.keys() | self._upgrades.keys():
            raise ModelFileError(f"object {number} is of the unknown class {str(name)[:80]!r}")
        self._unfinished.add(number)
        before, self._count = self._count, 1
        state = {}
        for key, value in node["state"].items():
            if not key.isidentifier() or key.startswith("__"):
                raise ModelFileError(f"object {number} has an attribute called {key[:80]!r}")
            if key not in self._derived.get(name, ()):
                state[key] = self._value(value, depth + 1)
        self._unfinished.remove(number)
        self._counts[number] = self._count
        self._count += before
        try:
            self._made[number] = self._make(name, state)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            text = f"it {error}" if isinstance(error, UnfitError) else repr(error)
            raise ModelFileError(f"object {number} ({name}) is damaged: {text}") from None
        return self._made[number]

    def _make(self, name: str, state: dict[str, Any]) -> Any:
        """Return a checked object of a class, made without calling it."""
        if name in self._upgrades:
            made = self._upgrades[name](state)
        else:
            made = object.__new__(getattr(import_module(CLASSES[name]), name))
            made.__dict__.update(state)
        if hasattr(made, "_upgrade"):  # an estimator with other parameters today
            made._upgrade()
        self._of(made)
        return made

    def _of(self, thing: Any) -> Checked:
        """Check an object, unless that is done; return its sizes."""
        if id(thing) not in self._checked:
            contents = CONTENTS[type(thing).__name__]
            found = checked(thing, thing.__dict__, contents, self._of)
            if hasattr(thing, "__post_init__"):
                thing.__post_init__()
            self._checked[id(thing)] = found
        return self._checked[id(thing)]

    @staticmethod
    def _at(things: list[Any], number: Any, what: str) -> Any:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(things):
            raise ModelFileError(f"there is no {what} {str(number)[:40]!r} in it")
        return things[number]

    def _array(self, number: Any) -> AnyArray:
        """Return an array; what is used too often would take more memory than the file."""
        array: AnyArray = self._at(self._arrays, number, "array")
        self._bytes_left -= array.nbytes
        if self._bytes_left < 0:
            raise ModelFileError("its arrays are used too often")
        return array

    def _value(self, value: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise ModelFileError("its values are nested too deeply")
        if isinstance(value, list):
            return [self._value(one, depth + 1) for one in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and next(iter(value)).startswith("$"):
            ((kind, content),) = value.items()
            try:
                return self._special(kind, content, depth + 1)
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                if isinstance(error, ModelFileError):
                    raise
                raise ModelFileError(f"a value of kind {kind[:40]!r} is damaged: {error}") from None
        return {key: self._value(one, depth + 1) for key, one in value.items()}

    def _special(self, kind: str, content: Any, depth: int) -> Any:
        if kind == "$object":
            return self.get(content, depth)
        if kind == "$array":
            return self._array(content)
        if kind == "$scalar":
            return scalar_of(self._array(content))
        if kind == "$float":
            return float_of(content)
        if kind == "$tuple":
            return tuple(self._value(list_of(content), depth))
        if kind == "$items":
            return {self._value(k, depth): self._value(v, depth) for k, v in pairs_of(content)}
        if kind == "$strings":
            return strings_of(content)
        if kind == "$csr":
            *parts, shape = list_of(content)
            return matrix_of([self._array(part) for part in parts], shape)
        if kind == "$rng":
            return generator_of(self._value(content, depth))
        if kind == "$unsaved":
            return Unsaved(text_of(content))
        raise ModelFileError(f"a value is of the unknown kind {kind[:40]!r}")
