"""Columns of polars in plain form, and back with the same data type."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from twofold.tables.cells import (
    WITH_LEVELS,
    Cells,
    Storage,
    from_codes,
    from_days,
    original_level,
    text_cells,
    to_codes,
    to_days,
    to_decimals,
    to_floats,
    to_integers,
)

PARAMETERS = {"time_unit", "time_zone", "precision", "scale"}


def read(column: Any) -> Cells:
    """Return a polars Series in plain form.

    Raises
    ------
    TypeError
        If the type of its values is not supported.
    """
    import polars as pl

    dtype = column.dtype
    storage = Storage("polars", str(dtype))
    if dtype == pl.Null:
        return Cells("empty", np.full(len(column), np.nan), storage)
    if dtype == pl.Enum:
        levels = tuple(dtype.categories.to_list())
        codes = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return Cells("category", from_codes(codes), Storage("polars", "Enum", levels), levels)
    if dtype == pl.Categorical:
        cells = text_cells(column.cast(pl.String).to_list(), Storage("polars", "Categorical"))
        return Cells("category", cells.plain, cells.storage, cells.levels)
    if dtype == pl.String:
        return text_cells(column.to_list(), storage)
    if dtype == pl.Boolean or dtype.is_numeric():
        kind = "boolean" if dtype == pl.Boolean else "number"
        return Cells(kind, column.cast(pl.Float64).to_numpy().astype(np.float64), storage)
    if dtype in (pl.Date, pl.Datetime, pl.Duration):
        kind = "duration" if dtype == pl.Duration else "date"
        return Cells(kind, to_days(column.to_numpy()), storage)
    raise TypeError(f"its type {dtype} is not supported")


def write(cells: Cells) -> Any:
    """Return cells as a polars Series of the type in their storage."""
    import polars as pl

    dtype = _dtype(cells.storage)
    gaps = cells.missing
    if cells.kind == "empty" or gaps.all():
        return pl.Series([None] * len(gaps), dtype=dtype)
    if cells.kind in WITH_LEVELS:
        levels = [original_level(level) for level in cells.levels]
        texts = [None if code < 0 else levels[code] for code in to_codes(cells.plain)]
        return pl.Series(texts, dtype=dtype)
    if dtype == pl.Decimal:
        return pl.Series(to_decimals(cells.plain, dtype.scale or 0), dtype=dtype)
    if cells.kind in ("date", "duration"):
        unit = getattr(dtype, "time_unit", "ms")
        numpy_kind = "timedelta64" if cells.kind == "duration" else "datetime64"
        made = pl.Series(from_days(cells.plain, f"{numpy_kind}[{unit}]"))
        zone = getattr(dtype, "time_zone", None)
        if zone is not None:
            made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return made.cast(dtype)
    if dtype == pl.Boolean:
        made = pl.Series(np.nan_to_num(cells.plain) > 0.5)
    elif dtype.is_integer():
        name = str(dtype).lower()
        made = pl.Series(to_integers(cells.plain, "int64" if name == "int128" else name))
    else:
        name = str(dtype).lower()
        made = pl.Series(to_floats(cells.plain, name if name in ("float32",) else "float64"))
    made = made.cast(dtype)
    if not gaps.any():
        return made
    return made.zip_with(pl.Series(~gaps), pl.Series([None] * len(gaps), dtype=dtype))


def _dtype(storage: Storage) -> Any:
    """Return the type that a text names; only names of types and literals are understood."""
    import polars as pl

    if storage.dtype == "Enum":
        return pl.Enum(list(storage.levels))
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", storage.dtype)
    made = getattr(pl, found[1], None) if found else None
    if found is None or not (isinstance(made, type) and issubclass(made, pl.DataType)):
        raise ValueError(f"polars has no type {storage.dtype!r}.")
    if not found[2]:
        return made()
    call = ast.parse(f"f({found[2]})", mode="eval").body
    given = call.keywords if isinstance(call, ast.Call) else []
    options = {one.arg: ast.literal_eval(one.value) for one in given if one.arg in PARAMETERS}
    return made(**options)
