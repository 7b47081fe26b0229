"""Sparse tables in the methods of an estimator.

A fit to a large sparse table is a fit to its coordinates in the leading subspace. The model then
gets the units of the table itself (`twofold.numerics.affine_units`): they take sparse rows to
coordinates, and coordinates back to all columns or to chosen ones. Distances between sparse rows
and decoded ones come from products in the subspace, so nothing of the size of the table is dense.

Models of dense tables take sparse rows in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.column_factors import check_scale
from twofold.numerics.memory import check_memory_for
from twofold.numerics.row_weights import repeated_rows
from twofold.numerics.sparse_rows import check_sparse, is_large_sparse, sparse_blocks
from twofold.numerics.sparse_subspace import SparseSubspace
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

FEWEST_AXES = 10
"""Axes of the subspace at least, if the table has as many."""

MUCH_MEMORY = 2**30
"""Results of more bytes are compared with the available memory first."""


def fitted_in_subspace(
    model: TwoWayEstimator,
    X: Any,
    sample_weight: Any,
    fit: Callable[[TwoWayEstimator, Array], dict[str, Any]],
) -> dict[str, Any]:
    """Return the learned attributes of a fit to a large sparse table (n, D).

    ``fit`` returns those of a model that is fitted to the table's coordinates (n, r).
    """
    rows = check_sparse(model, X, reset=True)
    _check_distances(model)
    scale = check_scale(model.scale, rows.shape[1])
    if isinstance(scale, str) and scale == "robust":
        raise ValueError(
            "scale='robust' is not supported for large sparse tables, where most quartiles are 0. "
            "Use scale='standard', an array, or None."
        )
    least = int(model.n_components) if isinstance(model.n_components, Integral) else 0
    some = _repeated(rows, sample_weight)
    subspace = SparseSubspace.of(some, scale, max(FEWEST_AXES, least))
    inside = copy(model)
    inside.scale = None
    state = fit(inside, subspace.coordinates(rows))
    state.pop("_gap_filling", None)
    inside._take(state)
    units = subspace.units(inside._data_units)
    variance = float(np.ldexp(subspace.variance, -2 * units.exponent))
    made = inside._in_units(units, variance)
    made._unwrapped.n_features_in_ = model.n_features_in_
    return {name: getattr(made, name) for name in state}


def _repeated(rows: Any, sample_weight: Any) -> Any:
    """Return the rows, repeated by their weights."""
    if sample_weight is None:
        return rows
    values_of_row = 1 + int(1.5 * rows.nnz / rows.shape[0])
    numbers = repeated_rows(sample_weight, rows.shape[0], values_of_row)
    return rows if numbers is None else rows[numbers]


def _check_distances(model: TwoWayEstimator) -> None:
    """Raise an error if a model needs other than Euclidean distances, which a subspace keeps."""
    metric = getattr(model, "metric", "euclidean")
    if not (isinstance(metric, str) and metric == "euclidean"):
        raise ValueError(
            f"metric={metric!r} is not supported for large sparse tables, which are reduced to "
            "their leading subspace. Use metric='euclidean', or fewer rows or columns."
        )


def stays_sparse(model: TwoWayEstimator, X: Any) -> bool:
    """Tell whether a fitted model takes X as a sparse table."""
    if not issparse(X):
        return False
    return is_large_sparse(X) or isinstance(model._data_units, AffineUnits)


def on_sparse(
    model: TwoWayEstimator, name: str, rows: Any, function: Callable[[Array], Array]
) -> Array:
    """Apply a method of a model to a CSR matrix (n, D); ``function`` is its form for arrays."""
    units = model._data_units
    if name == "reconstruct":
        check_result(rows.shape[0], rows.shape[1])
    if not isinstance(units, AffineUnits):
        return np.concatenate([function(rows[block].toarray()) for block in sparse_blocks(rows)])
    latents = encoded(model, rows)
    if name == "transform":
        return latents
    if name == "reconstruct":
        return model._decode(latents)
    images = model._in_units(units.inside, None)._decode(latents)
    distances = units.sparse_distances(rows, images)
    return np.ldexp(distances, -units.exponent) if name == "score" else distances


def encoded(model: TwoWayEstimator, rows: Any, **options: Any) -> Array:
    """Return the latents of a CSR matrix, in blocks if the model works with all columns."""
    units = model._data_units
    if isinstance(units, AffineUnits):
        inside, images = in_subspace(model, rows)
        return inside._encode(images, **options)
    blocks = sparse_blocks(rows)
    return np.concatenate([model._encode(rows[block].toarray(), **options) for block in blocks])


def decoded_columns(model: TwoWayEstimator, latents: Array, columns: IntArray) -> Array:
    """Return chosen columns (n, k) of decoded latents."""
    units = model._data_units
    if isinstance(units, AffineUnits):
        return units.of_images(model._in_units(units.inside, None)._decode(latents), columns)
    return model._decode(latents)[:, columns]


def in_subspace(model: TwoWayEstimator, rows: Any) -> tuple[TwoWayEstimator, Array]:
    """Return the model of images of the data, to which it was fitted, and the images of rows."""
    units = model._data_units
    assert isinstance(units, AffineUnits)
    return model._in_units(units.inside, None), units.images(rows)


def check_result(n_rows: int, n_columns: int) -> None:
    """Raise a MemoryError if a dense result (n, D) does not fit into memory."""
    needed = 8.0 * n_rows * n_columns
    if needed > MUCH_MEMORY:
        check_memory_for(
            "the result",
            2.0 * needed,
            f"{n_rows} rows of {n_columns} columns",
            "Decode fewer rows at a time, or chosen columns: inverse_transform(Z, features=[...]).",
        )


def check_features(model: TwoWayEstimator, features: Any) -> IntArray:
    """Return the numbers of columns, given by number, by name, as slice or as mask (D,)."""
    n_features = model.n_features_in_
    everything: IntArray = np.arange(n_features)
    if isinstance(features, slice):
        return everything[features]
    wanted = np.atleast_1d(np.asarray(features))
    if wanted.ndim == 1 and wanted.dtype == np.bool_ and len(wanted) == n_features:
        return np.flatnonzero(wanted)
    if wanted.ndim == 1 and wanted.dtype.kind in "iu" and len(wanted):
        outside = wanted[(wanted < -n_features) | (wanted >= n_features)]
        if len(outside):
            raise ValueError(f"features: {outside[0]} is not a column; X has {n_features} columns.")
        return everything.take(wanted)
    if wanted.ndim == 1 and wanted.dtype.kind in "UOT" and len(wanted):
        return _named(model, [str(name) for name in wanted])
    raise ValueError(
        f"features={features!r} must be a list of column numbers or names, a slice, or a mask with "
        f"{n_features} entries."
    )


def _named(model: TwoWayEstimator, names: list[str]) -> IntArray:
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        raise ValueError(
            f"features={names!r}: the model was fitted without names of columns. Use numbers."
        )
    places = {str(name): number for number, name in enumerate(known)}
    unknown = [name for name in names if name not in places]
    if unknown:
        raise ValueError(f"features: {unknown[0]!r} is not a column of the fit.")
    return np.array([places[name] for name in names], dtype=np.intp)
