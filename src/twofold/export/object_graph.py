"""A graph of our objects as plain data and arrays: the format, and the classes that it may name.

`twofold.export.encoder` turns an object into *nodes* ``{"class": name, "state": {...}}``. The
attributes in the state are plain JSON, except for mappings with one key that starts with ``$``:

====================  ===========================================
``{"$object": 3}``    the node of that number
``{"$array": 5}``     the array of that number
``{"$float": "nan"}`` a float that JSON does not have
``{"$tuple": [...]}`` a tuple
``{"$items": [...]}`` a mapping, as pairs
``{"$strings": ...}`` an array of text, as a nested list
``{"$scalar": 5}``    a NumPy scalar, as an array without dimensions
``{"$csr": [...]}``   a sparse matrix: values, columns, pointers, shape
``{"$rng": ...}``     a random generator: its kind and its state
``{"$unsaved": "…"}`` a parameter that is not data, as text
====================  ===========================================

What an object computes from its other attributes, its cached properties, is left out.

`twofold.export.decoder` makes objects without calling their classes, and only those of a list. Each
object is checked against the table of its class (`twofold.export.contents`) before anything uses
it; so is each object that is written.
"""

from __future__ import annotations

from typing import Any, Final

CLASSES: Final[dict[str, str]] = {
    name: module
    for module, names in {
        "twofold.anndata.gene_map": "AnnDataMap",
        "twofold.auto.estimator": "AutoTwoWay",
        "twofold.auto.report": "RaceReport",
        "twofold.base.alignment": "Alignment",
        "twofold.base.compressing": "Compression",
        "twofold.base.update_report": "UpdateReport",
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


def names_of_arrays(nodes: list[Any]) -> dict[int, str]:
    """Return the class and attribute that first name each array, such as ``UKR.embedding_``."""
    names: dict[int, str] = {}
    for node in nodes:
        state = node.get("state") if isinstance(node, dict) else None
        for key, value in (state if isinstance(state, dict) else {}).items():
            left = [value]
            while left:
                one = left.pop()
                if isinstance(one, dict):
                    number = one.get("$array", one.get("$scalar"))
                    if isinstance(number, int):
                        names.setdefault(number, f"{node.get('class')}.{key}")
                    parts = one.get("$csr")
                    if isinstance(parts, list):
                        left += [{"$array": part} for part in parts[:3]]
                    left += one.values()
                elif isinstance(one, list):
                    left += one
    return names
