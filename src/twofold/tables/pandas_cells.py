"""Columns of pandas in plain form, and back with the same data type."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import numpy as np

from twofold.protocols import AnyArray
from twofold.tables.cells import (
    WITH_LEVELS,
    Cells,
    Storage,
    from_codes,
    from_days,
    original_level,
    plain_level,
    text_cells,
    to_codes,
    to_days,
    to_decimals,
    to_floats,
    to_integers,
)

OBJECTS = {
    "string": "text",
    "boolean": "boolean",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "datetime": "date",
    "datetime64": "date",
    "date": "date",
    "timedelta": "duration",
    "timedelta64": "duration",
    "empty": "empty",
    "mixed": "text",
    "mixed-integer": "text",
}
"""The natural kinds of columns of objects, by the types of their values."""


def read(column: Any) -> Cells:
    """Return a pandas Series in plain form.

    Raises
    ------
    TypeError
        If the type of its values is not supported.
    """
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        return replace(read(column.sparse.to_dense()), storage=Storage("pandas", str(dtype)))
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_category(column)
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("dictionary"):
        return read(column.astype(object).astype("category"))
    if isinstance(dtype, pd.PeriodDtype):
        days = to_days(column.dt.to_timestamp().to_numpy())
        return Cells("date", days, Storage("pandas", str(dtype)))
    if dtype == object:
        return _read_objects(column)
    storage = Storage("pandas", _name_of(dtype))
    if pd.api.types.is_bool_dtype(dtype) or (
        pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"
    ):
        kind = "boolean" if dtype.kind == "b" else "number"
        return Cells(kind, column.to_numpy(dtype=np.float64, na_value=np.nan), storage)
    if dtype.kind in "mM":
        return Cells("duration" if dtype.kind == "m" else "date", _days_of(column), storage)
    if pd.api.types.is_string_dtype(dtype):
        return text_cells(_values(column), storage)
    raise TypeError(f"its type {dtype} is not supported")


def write(cells: Cells) -> Any:
    """Return cells as a pandas Series of the type in their storage."""
    import pandas as pd

    storage = cells.storage
    if storage.dtype == "category":
        index = pd.Index(
            [original_level(level) for level in storage.levels], dtype=storage.levels_dtype or None
        )
        dtype = pd.CategoricalDtype(index, ordered=storage.ordered)
        codes = to_codes(cells.plain)
        if cells.levels != storage.levels:
            codes = _moved(codes, cells.levels, storage.levels)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))
    if storage.dtype.startswith("object"):
        return pd.Series(_objects(cells), dtype=object)
    if storage.dtype.startswith("arrow:"):
        return _write_arrow(cells)
    if storage.dtype.startswith("period"):
        stamps = pd.Series(from_days(cells.plain, "datetime64[ns]"))
        return stamps.dt.to_period(re.findall(r"\[(.*)\]", storage.dtype)[0])
    if cells.kind in WITH_LEVELS:
        return pd.Series(_texts(cells), dtype=object).astype(storage.dtype)
    dtype = pd.api.types.pandas_dtype(storage.dtype)
    if isinstance(dtype, pd.SparseDtype):
        return _write_numbers(cells, dtype.subtype).astype(dtype)
    if dtype.kind == "M":
        timezone = getattr(dtype, "tz", None)
        times = pd.Series(from_days(cells.plain, f"datetime64[{_unit(dtype)}]"))
        if timezone is None:
            return times
        return times.dt.tz_localize("UTC").dt.tz_convert(timezone)
    if dtype.kind == "m":
        return pd.Series(from_days(cells.plain, f"timedelta64[{_unit(dtype)}]"))
    return _write_numbers(cells, dtype)


def _write_numbers(cells: Cells, dtype: Any) -> Any:
    import pandas as pd

    if dtype.kind == "f":
        floats = to_floats(cells.plain, getattr(dtype, "numpy_dtype", dtype))
        return pd.Series(floats).astype(dtype)
    if dtype.kind == "b":
        integers: AnyArray = np.nan_to_num(cells.plain) > 0.5
    else:
        integers = to_integers(cells.plain, getattr(dtype, "numpy_dtype", dtype))
    made = pd.Series(integers)
    if not cells.missing.any():
        return made.astype(dtype)
    if isinstance(dtype, np.dtype):  # which has no value for gaps
        return made.astype(object if dtype.kind == "b" else np.float64).mask(cells.missing)
    return made.astype(dtype).mask(cells.missing)


def _write_arrow(cells: Cells) -> Any:
    import pandas as pd
    import pyarrow as pa

    kind = _arrow_type(cells.storage.dtype.removeprefix("arrow:"))
    gaps = cells.missing
    values: Any
    if cells.kind in WITH_LEVELS:
        values = pa.array(_texts(cells), type=kind)
    elif pa.types.is_decimal(kind):
        values = pa.array(to_decimals(cells.plain, kind.scale), type=kind)
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        unit = kind.unit if pa.types.is_timestamp(kind) else "s"
        times = pa.array(from_days(cells.plain, f"datetime64[{unit}]"))
        values = (times if pa.types.is_timestamp(kind) else times.cast(pa.date32())).cast(kind)
    elif pa.types.is_duration(kind):
        values = pa.array(from_days(cells.plain, f"timedelta64[{kind.unit}]")).cast(kind)
    elif pa.types.is_integer(kind):
        values = pa.array(to_integers(cells.plain, str(kind)), mask=gaps)
    elif pa.types.is_boolean(kind):
        values = pa.array(np.nan_to_num(cells.plain) > 0.5, mask=gaps)
    else:
        values = pa.array(to_floats(cells.plain, kind.to_pandas_dtype()), mask=gaps)
    return pd.Series(pd.array(values, dtype=pd.ArrowDtype(kind)))


def _arrow_type(text: str) -> Any:
    import pyarrow as pa

    if found := re.fullmatch(r"decimal(32|64|128|256)\((\d+), (-?\d+)\)", text):
        make = getattr(pa, f"decimal{found[1]}")
        return make(int(found[2]), int(found[3]))
    if found := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", text):
        return pa.timestamp(found[1], found[2])
    return pa.type_for_alias(text)


def _read_category(column: Any) -> Cells:
    categories = column.cat.categories
    levels = tuple(plain_level(level) for level in categories)
    ordered = bool(column.cat.ordered)
    # Intervals tell their type by themselves.
    dtype = "" if any(isinstance(level, tuple) for level in levels) else _name_of(categories.dtype)
    storage = Storage("pandas", "category", levels, dtype, ordered)
    kind = "ordered" if ordered else "category"
    return Cells(kind, from_codes(column.cat.codes.to_numpy()), storage, levels)


def _read_objects(column: Any) -> Cells:
    import pandas as pd

    inferred = pd.api.types.infer_dtype(column, skipna=True)
    kind = OBJECTS.get(inferred)
    storage = Storage("pandas", f"object:{inferred}")
    if kind is None:
        raise TypeError(f"it holds objects of the type {inferred!r}, which is not supported")
    if kind == "empty":
        return Cells("empty", np.full(len(column), np.nan), storage)
    if kind == "text":
        return text_cells(_values(column), storage)
    if kind == "date":
        times = _times(column)
        first = column[column.notna()].iloc[0]
        zone = getattr(first, "tzinfo", None)
        return Cells("date", to_days(times), storage if zone is None else _zoned(zone))
    if kind == "duration":
        return Cells("duration", to_days(pd.to_timedelta(column).to_numpy()), storage)
    if inferred == "decimal":
        places = [-one.as_tuple().exponent for one in column.dropna() if one.is_finite()]
        storage = Storage("pandas", f"object:decimal:{max(places, default=0)}")
    return Cells(kind, column.to_numpy(dtype=np.float64, na_value=np.nan), storage)


def _times(column: Any) -> AnyArray:
    """Return dates and times among objects as numbers of NumPy, in UTC."""
    import pandas as pd

    try:
        found: AnyArray = pd.to_datetime(column, utc=True).dt.tz_localize(None).to_numpy()
    except pd.errors.OutOfBoundsDatetime:  # pandas 2 counts nanoseconds, from 1677 to 2262
        times = [_in_utc(one) for one in _values(column)]
        found = np.array(times, dtype="datetime64[us]")
    return found


def _in_utc(one: Any) -> Any:
    zoned = getattr(one, "tzinfo", None) is not None
    return one.astimezone(dt.UTC).replace(tzinfo=None) if zoned else one


def _zoned(zone: Any) -> Storage:
    return Storage("pandas", f"object:datetime:{zone}")


def _objects(cells: Cells) -> list[Any]:
    """Return cells as Python objects, with None for gaps."""
    import pandas as pd

    _, what, *rest = [*cells.storage.dtype.split(":", 2), ""]
    if cells.kind in WITH_LEVELS:
        return _texts(cells)
    if what == "decimal":
        return list(to_decimals(cells.plain, int(rest[0])))
    if what in ("datetime", "datetime64", "date"):
        stamps = pd.Series(from_days(cells.plain, "datetime64[us]"))
        if rest[0]:
            stamps = stamps.dt.tz_localize("UTC").dt.tz_convert(rest[0])
        return [None if pd.isna(s) else (s.date() if what == "date" else s) for s in stamps]
    if what in ("timedelta", "timedelta64"):
        spans = pd.Series(from_days(cells.plain, "timedelta64[us]"))
        return [None if pd.isna(one) else one for one in spans]
    makers: dict[str, Any] = {"boolean": lambda one: one > 0.5, "integer": round}
    make = makers.get(what, float)
    return [None if np.isnan(one) else make(float(one)) for one in cells.plain]


def _texts(cells: Cells) -> list[Any]:
    levels = [original_level(level) for level in cells.levels]
    return [None if code < 0 else levels[code] for code in to_codes(cells.plain)]


def _values(column: Any) -> list[Any]:
    gaps = column.isna().to_numpy()
    return [None if gap else one for one, gap in zip(column.tolist(), gaps, strict=True)]


def _days_of(column: Any) -> Any:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        kind = dtype.pyarrow_dtype
        if pa.types.is_date(kind):
            column = column.astype("datetime64[s]")
        else:
            plain = pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind
            return to_days(pa.array(column).cast(plain).to_numpy(zero_copy_only=False))
    elif getattr(dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return to_days(column.to_numpy())


def _name_of(dtype: Any) -> str:
    """Return the name of a type, from which pandas makes the same type."""
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype):
        return f"arrow:{dtype.pyarrow_dtype}"
    if isinstance(dtype, pd.StringDtype) and str(dtype) == "string":
        return f"string[{dtype.storage}]"
    return str(dtype)


def _unit(dtype: Any) -> str:
    return str(getattr(dtype, "unit", None) or np.datetime_data(dtype)[0])


def _moved(codes: AnyArray, levels: Any, to: Any) -> AnyArray:
    """Return the positions of levels among others, with -1 for those that are not there."""
    place = {level: number for number, level in enumerate(to)}
    table = np.array([place.get(level, -1) for level in levels] + [-1])
    moved: AnyArray = table[codes]
    return moved
