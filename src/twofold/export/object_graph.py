"""A graph of our objects as plain data and arrays, and back.

`Encoder` turns an object into *nodes* ``{"class": name, "state": {...}}``. The attributes in the
state are plain JSON, except for mappings with one key that starts with ``$``:

====================  ===========================================
``{"$object": 3}``    the node of that number
``{"$array": 5}``     the array of that number
``{"$float": "nan"}`` a float that JSON does not have
``{"$tuple": [...]}`` a tuple
``{"$items": [...]}`` a mapping, as pairs
``{"$strings": ...}`` an array of text, as a nested list
``{"$scalar": 5}``    a NumPy scalar, as an array without dimensions
``{"$csr": [...]}``   a sparse matrix: values, columns, pointers, shape
``{"$tree": 5}``      a search tree, as its points
``{"$rng": ...}``     a random generator: its kind and its state
``{"$unsaved": "…"}`` a parameter that is not data, as text
====================  ===========================================

`Decoder` makes objects without calling their classes, and only those of a list.
"""

from __future__ import annotations

import math
from functools import cached_property
from importlib import import_module
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial import cKDTree

from twofold.export.upgrades import UPGRADES
from twofold.protocols import AnyArray

DEEPEST: Final = 60
KINDS: Final = "biufcUS"
"""Kinds of arrays that a file may hold."""

GENERATORS: Final = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")

CLASSES: Final[dict[str, str]] = {
    name: module
    for module, names in {
        "twofold.anndata.gene_map": "AnnDataMap",
        "twofold.auto.estimator": "AutoTwoWay",
        "twofold.auto.report": "RaceReport",
        "twofold.counts.log_counts": "LogCounts",
        "twofold.dask._checkpoint": "Checkpoint",
        "twofold.drur.alternation": "TurnState Turns",
        "twofold.drur.estimator": "DRUR",
        "twofold.drur.maps": "FinalMaps",
        "twofold.isomap.agglomerative": "AgglomerativeIsomap",
        "twofold.isomap.supervised": "SupervisedIsomap",
        "twofold.kernels": "Compact Gaussian StudentT",
        "twofold.losses": "Huber L1 Norm Squared",
        "twofold.maps.affine": "Affine Chain Inverse",
        "twofold.maps.kernel_ridge": "KernelRidgeMap",
        "twofold.maps.linear": "LinearMap",
        "twofold.maps.mlp": "MLP",
        "twofold.maps.nadaraya_watson": "GRNN NadarayaWatson",
        "twofold.maps.projection": "Projection",
        "twofold.maps.rbf_network": "RBFNetwork",
        "twofold.model_selection.dimension": "DimensionChoice",
        "twofold.model_selection.structure": "Structure",
        "twofold.numerics.affine_units": "AffineUnits",
        "twofold.numerics.completion": "Donors Errors GapFilling",
        "twofold.numerics.density": "LatentDensity",
        "twofold.numerics.factor_model": "FactorModel",
        "twofold.numerics.neighbors": "CellIndex",
        "twofold.numerics.sums.neighbors": "LocalMeans Neighbors",
        "twofold.numerics.units": "CenteredUnits",
        "twofold.optimize.gauss_newton": "GaussNewton",
        "twofold.optimize.guidance": "SpectralGuidance",
        "twofold.optimize.row_descent": "RowDescent",
        "twofold.principal_manifold.alpha_path": "AlphaChoice",
        "twofold.principal_manifold.circle_kernels": "FourierKernel WrappedKernel",
        "twofold.principal_manifold.descent": "DescentSettings Fitted",
        "twofold.principal_manifold.domains": "Domain Points",
        "twofold.principal_manifold.estimator": "PrincipalManifold",
        "twofold.principal_manifold.functional": "DescentState",
        "twofold.principal_manifold.k_planes": "KPlanes Planes",
        "twofold.principal_manifold.limit": "PenaltyLimit",
        "twofold.principal_manifold.maps": "DomainDensity ManifoldDecoder ManifoldEncoder",
        "twofold.principal_manifold.metric": "Mahalanobis",
        "twofold.principal_manifold.node_kernels": "DampedKernel DeltaKernel GaussianKernel "
        "LinearKernel PeriodicKernel SplineKernel",
        "twofold.principal_manifold.node_layout": "Layout",
        "twofold.principal_manifold.nodes": "NodeExpansion",
        "twofold.principal_manifold.projection": "DomainProjection",
        "twofold.principal_manifold.settings": "CrossValidation",
        "twofold.principal_manifold.soft": "SoftState",
        "twofold.sne.estimator": "SNE",
        "twofold.tables.cells": "Storage",
        "twofold.tables.columns": "CategoryColumn FixedColumn NumberColumn OrderedColumn",
        "twofold.tables.estimator": "TableMap",
        "twofold.tables.layout": "TableLayout",
        "twofold.two_way": "TwoWay",
        "twofold.ukr.estimator": "UKR",
        "twofold.ukr.feature_space": "FeatureEncoder FeatureSpace PreimageDecoder",
        "twofold.ukr.homotopy": "Homotopy",
    }.items()
    for name in names.split()
}
"""Classes that a file may name, with their modules."""

ESTIMATORS: Final = frozenset(
    {
        "AgglomerativeIsomap",
        "AutoTwoWay",
        "DRUR",
        "KPlanes",
        "PrincipalManifold",
        "SNE",
        "SupervisedIsomap",
        "TableMap",
        "TwoWay",
        "UKR",
    }
)
"""The classes that are whole models."""


class ModelFileError(ValueError):
    """Raised for a file that is not a readable model, or a model that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import twofold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "letter.twofold")
    ...     _ = path.write_text("Dear reader")
    ...     try:
    ...         twofold.load(path)
    ...     except twofold.ModelFileError as error:
    ...         print("letter.twofold" in str(error))
    True
    """


class Unsaved:
    """Stands for a parameter that is not data, such as a function, and is not in the file."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<not in the model file: {self.description}>"

    def __array__(self, *args: Any, **kwargs: Any) -> AnyArray:
        """Refuse conversion to an array, which fitting again would ask for."""
        raise ValueError(f"{self!r}: set this parameter before fitting again.")


class Encoder:
    """Collects the nodes and arrays of objects; the first object added is node 0."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.arrays: list[AnyArray] = []
        self._known: dict[int, dict[str, int]] = {}
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
        for key, value in thing.__dict__.items():
            if isinstance(getattr(type(thing), key, None), cached_property):
                continue  # computed again when needed
            try:
                node["state"][key] = self._value(value)
            except ModelFileError:
                if key not in loose:
                    raise
                node["state"][key] = {"$unsaved": repr(value)[:200]}
        return reference

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
        if isinstance(value, cKDTree):
            return {"$tree": self._array(np.asarray(value.data))}
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


class Decoder:
    """Makes the objects of nodes, which need not be trusted, with the upgrades of their format."""

    def __init__(self, nodes: Any, arrays: list[AnyArray], format_number: int) -> None:
        if not isinstance(nodes, list) or not nodes:
            raise ModelFileError("there are no objects in it")
        self._nodes = nodes
        self._arrays = arrays
        self._upgrades = UPGRADES[format_number]
        self._made: dict[int, Any] = {}

    def get(self, number: int = 0, depth: int = 0) -> Any:
        """Return the object of a node."""
        if number in self._made:
            return self._made[number]
        if depth > DEEPEST:
            raise ModelFileError("its objects are nested too deeply")
        node = self._at(self._nodes, number, "object")
        if not isinstance(node, dict) or not isinstance(node.get("state"), dict):
            raise ModelFileError(f"object {number} has no class and state")
        name = node.get("class")
        if isinstance(name, str) and name in self._upgrades:
            state: dict[str, Any] = {}
            self._fill(state, node["state"], number, depth)
            try:
                self._made[number] = self._upgrades[name](state)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise ModelFileError(f"object {number} ({name}) is damaged: {error!r}") from None
            return self._made[number]
        if not isinstance(name, str) or name not in CLASSES:
            raise ModelFileError(f"object {number} is of the unknown class {str(name)[:80]!r}")
        made = object.__new__(getattr(import_module(CLASSES[name]), name))
        self._made[number] = made
        self._fill(made.__dict__, node["state"], number, depth)
        if hasattr(made, "_upgrade"):  # an estimator with other parameters today
            made._upgrade()
        return made

    def _fill(
        self, attributes: dict[str, Any], state: dict[str, Any], number: int, depth: int
    ) -> None:
        for key, value in state.items():
            if not key.isidentifier() or key.startswith("__"):
                raise ModelFileError(f"object {number} has an attribute called {key[:80]!r}")
            attributes[key] = self._value(value, depth + 1)

    @staticmethod
    def _at(things: list[Any], number: Any, what: str) -> Any:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(things):
            raise ModelFileError(f"there is no {what} {number!r} in it")
        return things[number]

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
            return self._at(self._arrays, content, "array")
        if kind == "$scalar":
            return self._at(self._arrays, content, "array")[()]
        if kind == "$float":
            return float(content)
        if kind == "$tuple":
            return tuple(self._value(content, depth))
        if kind == "$items":
            return {self._value(k, depth): self._value(v, depth) for k, v in content}
        if kind == "$strings":
            return np.array(content, dtype=object)
        if kind == "$csr":
            *parts, shape = content
            values = [self._at(self._arrays, part, "array") for part in parts]
            return csr_array(tuple(values), shape=tuple(shape))
        if kind == "$tree":
            return cKDTree(self._at(self._arrays, content, "array"))
        if kind == "$rng":
            return _generator(self._value(content, depth))
        if kind == "$unsaved":
            return Unsaved(str(content))
        raise ModelFileError(f"a value is of the unknown kind {kind[:40]!r}")


def _numbers(state: Any) -> Any:
    """Return a generator's state with integers in place of the text of format 1."""
    if isinstance(state, dict):
        if set(state) == {"$int"}:
            return int(state["$int"])
        return {key: _numbers(one) for key, one in state.items()}
    return state


def _generator(state: dict[str, Any]) -> Any:
    state = _numbers(state)
    if "legacy" in state:
        legacy = np.random.RandomState()
        legacy.set_state(state["legacy"])
        return legacy
    name = state.get("bit_generator")
    if name not in GENERATORS:
        raise ModelFileError(f"a random generator is of the unknown kind {str(name)[:40]!r}")
    generator = np.random.Generator(getattr(np.random, name)())
    generator.bit_generator.state = state
    return generator
