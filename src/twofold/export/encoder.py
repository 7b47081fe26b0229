"""Objects as plain data and arrays: see `twofold.export.object_graph`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array, issparse

from twofold.export.contents import CONTENTS, Checked, UnfitError, checked
from twofold.export.documents import KINDS
from twofold.export.errors import ModelFileError
from twofold.export.object_graph import CLASSES, ESTIMATORS
from twofold.export.special_values import Unsaved
from twofold.protocols import AnyArray

ROUNDED: Final = {
    "GRNN": ("targets_",),
    "NadarayaWatson": ("targets_",),
    "Projection": ("images_",),
}
"""Attributes that may be kept in single precision: means of them round no worse than they do."""


class Encoder:
    """Collects the nodes and arrays of objects; the first object added is node 0.

    With ``single``, the attributes in `ROUNDED` are rounded to single precision.
    """

    def __init__(self, *, single: bool = False) -> None:
        self._rounded = ROUNDED if single else {}
        self.nodes: list[dict[str, Any]] = []
        self.arrays: list[AnyArray] = []
        self._known: dict[int, dict[str, int]] = {}
        self._checked: dict[int, Checked] = {}
        self._kept: list[Any] = []  # references, so that no identity is used twice

    def add(self, thing: Any, loose: frozenset[str] = frozenset()) -> dict[str, int]:
        """Add an object and return the reference to its node.

        Attributes named in ``loose`` may be other than data; they become `Unsaved`.
        """
        name = type(thing).__name__
        if CLASSES.get(name) != type(thing).__module__:
            raise ModelFileError(
                f"{thing!r} of type {type(thing).__module__}.{name} cannot be written to a model "
                "file, which holds data and no code. Save such a model with joblib or pickle."
            )
        reference = {"$object": len(self.nodes)}
        node: dict[str, Any] = {"class": name, "state": {}}
        self._remember(thing, reference)
        self.nodes.append(node)
        state = dict(thing.__dict__)
        for key, value in thing.__dict__.items():
            if isinstance(getattr(type(thing), key, None), cached_property):
                del state[key]  # computed again when needed
                continue
            before = len(self.nodes), len(self.arrays)
            try:
                node["state"][key] = self._value(
                    _in_single(value) if key in self._rounded.get(name, ()) else value
                )
            except ModelFileError:
                if key not in loose:
                    raise
                self._forget(*before)
                state[key] = Unsaved(repr(value)[:200])
                node["state"][key] = {"$unsaved": state[key].description}
        try:
            self._checked[id(thing)] = checked(thing, state, CONTENTS[name], self._of)
        except UnfitError as error:
            raise ModelFileError(
                f"{name} cannot be written to a model file: it {error}. Save such a model with "
                "joblib or pickle."
            ) from None
        return reference

    def _forget(self, n_nodes: int, n_arrays: int) -> None:
        """Remove what was added after so many nodes and arrays."""
        del self.nodes[n_nodes:], self.arrays[n_arrays:]
        most = {"$object": n_nodes, "$array": n_arrays}
        self._known = {
            key: one
            for key, one in self._known.items()
            if all(number < most[kind] for kind, number in one.items())
        }

    def _of(self, thing: Any) -> Checked:
        if id(thing) not in self._checked:
            raise UnfitError("is a part of itself")
        return self._checked[id(thing)]

    def _remember(self, thing: Any, reference: dict[str, int]) -> None:
        self._known[id(thing)] = reference
        self._kept.append(thing)

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str | Unsaved):
            return {"$unsaved": value.description} if isinstance(value, Unsaved) else value
        if isinstance(value, np.generic):
            return {"$scalar": self._array(np.asarray(value))}
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if id(value) in self._known:
            return self._known[id(value)]
        if isinstance(value, np.ndarray):
            return self._of_array(value)
        if issparse(value):
            any_sparse: Any = value
            matrix = csr_array(any_sparse)
            parts = [self._array(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
            return {"$csr": [*parts, list(matrix.shape)]}
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, tuple):
            return {"$tuple": [self._value(one) for one in value]}
        if isinstance(value, dict):
            if all(isinstance(key, str) and not key.startswith("$") for key in value):
                return {key: self._value(one) for key, one in value.items()}
            return {"$items": [[self._value(k), self._value(v)] for k, v in value.items()]}
        if isinstance(value, np.random.Generator):
            return {"$rng": self._value(value.bit_generator.state)}
        if isinstance(value, np.random.RandomState):
            return {"$rng": self._value({"legacy": value.get_state(legacy=False)})}
        known = type(value).__name__ in ESTIMATORS
        return self.add(value, frozenset(value.get_params(deep=False) if known else ()))

    def _of_array(self, array: AnyArray) -> Any:
        if array.dtype.kind in KINDS:
            reference = {"$array": self._array(array)}
            self._remember(array, reference)
            return reference
        if array.dtype == object and all(isinstance(one, str) for one in array.ravel()):
            return {"$strings": array.tolist()}
        raise ModelFileError(
            f"an array of type {array.dtype} cannot be written to a model file; use numbers or "
            "text."
        )

    def _array(self, array: AnyArray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1


def _in_single(array: AnyArray) -> AnyArray:
    """Return the values rounded to single precision, in the type that the maps take."""
    rounded: AnyArray = array.astype(np.float32).astype(array.dtype)
    return rounded
