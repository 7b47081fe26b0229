"""Checks of data and parameters at the public boundary: one set, one form of messages."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.sparse_rows import FLOATS, dense_if_few_cells
from twofold.protocols import Array

RandomLike = int | np.random.Generator | np.random.RandomState | None
"""The values of a parameter ``random_state``."""


def check_data(
    estimator: BaseEstimator, X: Any, *, reset: bool, gaps: bool = False
) -> tuple[Array, np.dtype[Any]]:
    """Validate data (n, D) and return it as float64, with the type that results should have.

    Sets the feature names and count of the estimator if ``reset``, else compares with them. With
    ``gaps``, cells may be missing (NaN, masked), as long as each row has some left.
    """
    if issparse(X) and estimator.__sklearn_tags__().input_tags.pairwise:
        raise TypeError("X is a sparse matrix of pairs of rows: pass a dense one, X.toarray().")
    X = dense_if_few_cells(as_numpy(X, "X"))
    refuse_text(X, "X")
    if gaps and hasattr(X, "notna") and any(kind == object for kind in np.ravel(X.dtypes)):
        X = X.where(X.notna(), np.nan)  # pandas.NA and None among objects
    if gaps and np.ma.is_masked(X) and X.dtype.kind in "biuf":
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if np.ma.is_masked(X):
        raise ValueError(
            "X has masked values: missing values are not supported. Remove those rows, or fill "
            "them with sklearn.impute first."
        )
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=FLOATS,
            order="C",  # sums run in one order whatever the layout of the input
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except (TypeError, ValueError):
        refuse_cells(X)
        raise
    if gaps:
        check_observed(checked, "X")
    else:
        check_finite(checked, "X")
    return checked.astype(np.float64, copy=False), checked.dtype


def refuse_text(X: Any, name: str) -> None:
    """Raise an error for an array, or a frame with a column, of text, dates or records."""
    if getattr(getattr(X, "dtype", None), "kind", "f") in "USMm":
        raise ValueError(
            f"{name} has type {X.dtype}: could not convert to numbers without guessing. Convert it "
            "first."
        )
    if getattr(getattr(X, "dtype", None), "kind", "f") == "V":
        raise ValueError(
            f"{name} has type {X.dtype}, which is not one of NumPy's types of numbers. Pass an "
            "array of float32 or float64; a record array becomes a table by pandas.DataFrame."
        )
    if hasattr(X, "columns") and (
        _names_repeat(X) or not all(map(_holds_numbers, list(getattr(X, "dtypes", ()))))
    ):
        refuse_cells(X)


def _names_repeat(X: Any) -> bool:
    names = list(X.columns)
    try:
        return len(set(names)) < len(names)
    except TypeError:  # Arrow's tables list the columns themselves
        return False


def _holds_numbers(dtype: Any) -> bool:
    """Tell whether a column of a frame, of pandas or another library, surely holds numbers."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biufc"
    is_numeric = getattr(dtype, "is_numeric", None)
    return bool(is_numeric()) if callable(is_numeric) else False


def refuse_cells(X: Any) -> None:
    """Raise an error that names the first cell of a table that is not a number."""
    frame = hasattr(X, "columns")
    if not frame:
        try:
            X = np.asarray(X)
        except ValueError:  # a list whose rows differ in length has no columns
            return
    names = list(X.columns) if frame else range(X.shape[1] if X.ndim == 2 else 0)
    remedy = "Leave it out, or map the table with TableMap, which takes columns of all kinds."
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(
            f"X has {names.count(twice[0])} columns called {str(twice[0])[:80]!r}: names of "
            "columns must be unique. Rename them."
        )
    for name in names:
        cells = np.asarray(X[name] if frame else X[:, name])
        called = f"Column {str(name)[:80]!r} of X"
        if cells.dtype.kind in "Mm":
            raise ValueError(f"{called} has dates or times ({cells.dtype}). {remedy}")
        if cells.dtype.kind not in "OUS":
            continue
        for row, cell in enumerate(cells.tolist()):
            if isinstance(cell, str | bytes) and not _is_number(cell):
                raise ValueError(
                    f"{called} has {str(cell)[:40]!r} in row {row}, which could not convert to a "
                    f"number. {remedy}"
                )


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_no_missing(labels: Any) -> None:
    """Raise an error with the first row whose label is missing."""
    missing = [row for row, label in enumerate(np.asarray(labels, object)) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"Input y contains NaN, infinity or another missing label, first in row "
            f"{missing[0]} ({len(missing)} in all): every row needs a label. Remove those rows."
        )


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, infinite, or a missing value of pandas."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, Real) and not math.isfinite(label)


def check_observed(A: Array, name: str) -> None:
    """Raise an error if a value is infinite or a row has nothing but gaps (NaN)."""
    if np.isfinite(A).all():
        return
    if np.isinf(A).any():
        check_finite(np.where(np.isnan(A), 0.0, A), name)
    empty = np.flatnonzero(np.isnan(A).all(axis=1))
    if len(empty):
        raise ValueError(
            f"Row {empty[0]} of {name} has only missing values (NaN), {len(empty)} such rows in "
            "all: nothing tells where they lie. Remove them."
        )


def check_latents(
    Z: Any, n_components: int, *, owner: str, fitted_with: str = ""
) -> tuple[Array, np.dtype[Any]]:
    """Validate latents and return them as float64, with the type that results should have.

    ``fitted_with`` explains the number of columns if it is not the parameter ``n_components``.
    """
    Z = as_numpy(Z, "Z")
    checked = check_array(Z, dtype=FLOATS, ensure_all_finite=False, input_name="Z")
    check_finite(checked, "Z")
    if checked.shape[1] != n_components:
        raise ValueError(
            f"Z has {checked.shape[1]} columns, but {owner} was fitted with "
            f"{fitted_with or f'n_components={n_components}'}. Pass latents here, not data."
        )
    return checked.astype(np.float64, copy=False), checked.dtype


def check_finite(A: Array, name: str) -> None:
    """Raise an error with the place of the first NaN or infinity, if there is one."""
    finite = np.isfinite(A)
    if finite.all():
        return
    row, column = np.argwhere(~finite)[0]
    kind = "NaN" if np.isnan(A[row, column]) else "infinity"
    remedy = "fill them with sklearn.impute" if kind == "NaN" else "replace the values"
    raise ValueError(
        f"Input {name} contains {kind}, first in row {row}, column {column}. "
        f"{'Missing' if kind == 'NaN' else 'Infinite'} values are not supported here: remove those "
        f"rows, or {remedy} first."
    )


def check_int(
    name: str,
    value: Any,
    *,
    low: int = 1,
    high: int | None = None,
    also: str = "",
    owner: str = "",
) -> int:
    """Return an integer parameter within its bounds.

    Messages name what else is allowed (``also``) and the class of the parameter (``owner``).
    """
    given, otherwise = _given(name, value, owner), f", or {also}" if also else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{given} must be an integer{otherwise}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        bound = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{given} must be {bound}{otherwise}.")
    return number


def check_real(
    name: str,
    value: Any,
    *,
    above: float = 0.0,
    low: float | None = None,
    below: float = np.inf,
    also: str = "",
    owner: str = "",
) -> float:
    """Return a finite number ``above`` one bound, or of at least ``low``, and ``below`` another.

    Messages name what else is allowed (``also``) and the class of the parameter (``owner``).
    """
    given, otherwise = _given(name, value, owner), f", or {also}" if also else ""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{given} must be a number{otherwise}.")
    number = float(value)
    reached = number > above if low is None else number >= low
    if not (np.isfinite(number) and reached and number < below):
        bound = f"greater than {above:g}" if low is None else f"at least {low:g}"
        bound += f" and less than {below:g}" if below < np.inf else ""
        raise ValueError(f"{given} must be finite and {bound}{otherwise}.")
    return number


def _given(name: str, value: Any, owner: str) -> str:
    return f"{owner}({name}={value!r}): {name}" if owner else f"{name}={value!r}"


def check_not_negative(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    return check_real(name, value, low=0.0)


def check_bool(name: str, value: Any, *, also: str = "") -> bool:
    """Return a parameter that is True or False; ``also`` names what else the caller takes."""
    if not isinstance(value, bool | np.bool_):
        more = f", or {also}" if also else ""
        raise TypeError(f"{name}={value!r} must be True or False{more}.")
    return bool(value)


def is_auto(value: object) -> bool:
    """Return whether a parameter is the word "auto"."""
    return isinstance(value, str) and value == "auto"


def check_choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return a parameter that is one of the allowed names."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name}={value!r} must be one of {sorted(allowed)}.")
    return value


def check_methods(name: str, value: object, methods: tuple[str, ...], *, also: str = "") -> None:
    """Raise an error unless a parameter is an instance with these methods.

    The message names those that are missing, and what else is allowed (``also``).
    """
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing or isinstance(value, type):
        allowed = f"{also}, or an object" if also else "an object"
        lacks = f"it lacks {', '.join(missing)}" if missing else "it is a class, not an instance"
        raise TypeError(
            f"{name}={value!r} must be {allowed} with the methods {', '.join(methods)}: {lacks}."
        )


def check_training_rows(inputs: Array, n_rows: int) -> None:
    """Raise an error unless the inputs have as many rows as the map was fitted to."""
    if len(inputs) != n_rows:
        raise ValueError(
            f"inputs has {len(inputs)} rows, but the map was fitted to {n_rows}: pass the training "
            "inputs."
        )


def check_rng(random_state: Any) -> np.random.Generator:
    """Return a generator from an int, a RandomState, a Generator, or None for fresh entropy.

    The global random state is never touched.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state={random_state!r} must be a nonnegative integer, a RandomState, a Generator, "
        "or None."
    )


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's line, skipping the frames of this library and of scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_library(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] in ("twofold", "sklearn", "contextlib")


def cast_back(A: Array, dtype: np.dtype[Any]) -> Array:
    """Return results in the type of the input; large numbers do not become infinite."""
    if A.dtype == dtype:
        return A
    limit = np.finfo(dtype).max
    return np.clip(A, -limit, limit).astype(dtype)
