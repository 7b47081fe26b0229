"""Data frames of pandas and polars, and plain arrays, behind one small interface.

Frames of other libraries are converted to pandas, by Arrow's PyCapsule interface or by the
dataframe interchange protocol.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from twofold.base.dask_inputs import is_dask
from twofold.numerics.foreign_arrays import as_numpy
from twofold.protocols import AnyArray
from twofold.tables import pandas_cells, polars_cells
from twofold.tables.cells import Cells, Storage


@dataclass(frozen=True)
class Frame:
    """A table with named columns.

    Attributes
    ----------
    library : {"pandas", "polars", "numpy"}
        The library that the table belongs to.
    table : DataFrame or ndarray of shape (n_samples, n_features)
        The table itself.
    """

    library: str
    table: Any

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.table)

    @property
    def given_names(self) -> list[Any]:
        """The names of the columns, as the frame has them."""
        if self.library == "numpy":
            return [f"x{number}" for number in range(self.table.shape[1])]
        return list(self.table.columns)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, as text."""
        return [str(name) for name in self.given_names]

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each column, by name."""
        return {name: place for place, name in enumerate(self.names)}

    def column(self, name: str) -> Any:
        """Return a column as the library has it."""
        place = self.places[name]
        if self.library == "numpy":
            return self.table[:, place]
        if self.library == "pandas":
            return self.table.iloc[:, place]
        return self.table.to_series(place)

    def cells(self, name: str) -> Cells:
        """Return a column in plain form; infinite numbers are an error."""
        column = self.column(name)
        try:
            if self.library == "pandas":
                cells = pandas_cells.read(column)
            elif self.library == "polars":
                cells = polars_cells.read(column)
            else:
                storage = Storage("numpy", str(column.dtype))
                cells = Cells("number", column.astype(np.float64), storage)
        except TypeError as error:
            raise ValueError(
                f"Column {name!r} cannot be read: {error}. Convert it to numbers, text or dates, "
                f"or leave it out with kinds={{{name!r}: 'drop'}}."
            ) from error
        infinite = np.flatnonzero(np.isinf(cells.plain))
        if len(infinite):
            raise ValueError(
                f"Input X contains infinity in column {name!r}, first in row {infinite[0]}. "
                "Replace it by a finite number, or by a missing value."
            )
        return cells


def as_frame(X: Any) -> Frame:
    """Return data as a frame; raise an error if it is none, or if names are not unique."""
    frame = _as_frame(X)
    counts = Counter(frame.names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(
            f"X has {counts[twice[0]]} columns called {twice[0]!r}: names of columns must be "
            "unique. Rename them."
        )
    if not counts:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({frame.n_rows}, 0)) while a minimum of 1 is "
            "required."
        )
    return frame


def _as_frame(X: Any) -> Frame:
    library = type(X).__module__.split(".", 1)[0]
    if library == "narwhals" and hasattr(X, "to_native"):
        return _as_frame(X.to_native())
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection: TableMap takes tables in memory. Call X.compute()."
        )
    if library in ("pandas", "polars") and type(X).__name__ == "DataFrame":
        return Frame(library, X)
    if library == "polars" and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame: TableMap takes tables in memory. Call X.collect().")
    if library not in ("pandas", "polars"):
        if hasattr(X, "__arrow_c_stream__"):
            return Frame("pandas", _from_arrow(X))
        if hasattr(X, "__dataframe__"):
            return Frame("pandas", _from_interchange(X))
    return Frame("numpy", _array(as_numpy(X, "X")))


def _from_interchange(X: Any) -> Any:
    import pandas as pd

    with warnings.catch_warnings():
        # pandas 3 prefers Arrow's interface, which was tried before.
        warnings.filterwarnings("ignore", message=".*interchange protocol", category=Warning)
        return pd.api.interchange.from_dataframe(X)


def _from_arrow(X: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    def types(kind: Any) -> Any:
        return None if pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)

    # Before version 22, Arrow crashes on its own string views if they pass through its interface.
    table = X if isinstance(X, pa.Table) else pa.table(X)
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):  # pandas does not know them
            texts = pa.array(table.column(place).to_pylist(), pa.large_string())
            table = table.set_column(place, field.name, texts)
    return table.to_pandas(types_mapper=types)


def _array(X: Any) -> AnyArray:
    try:
        array: AnyArray = check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
        )
        if array.dtype.kind not in "biuf":
            if array.dtype.kind not in "OUST":
                raise TypeError(f"its type is {array.dtype}")
            array = check_array(
                X,
                dtype=np.float64,
                ensure_all_finite=False,
                ensure_min_samples=0,
                ensure_min_features=0,
            )
    except (TypeError, ValueError) as error:
        raise type(error)(
            "X must be a data frame, or an array of numbers with two dimensions: "
            f"{str(error).rstrip('.')}. Put columns of several kinds into a data frame of pandas "
            "or polars."
        ) from error
    return array


def native(cells: Cells) -> Any:
    """Return cells as a column of the library in their storage."""
    if cells.storage.library == "pandas":
        return pandas_cells.write(cells)
    if cells.storage.library == "polars":
        return polars_cells.write(cells)
    return cells.plain


def joined(library: str, columns: Mapping[Any, Any], n_rows: int, index: Any = None) -> Any:
    """Return a frame of native columns, by name; an index is for pandas."""
    if library == "polars":
        import polars as pl

        return pl.DataFrame({str(name): column for name, column in columns.items()})
    if library == "numpy":
        return np.column_stack(list(columns.values())) if columns else np.empty((n_rows, 0))
    import pandas as pd

    index = pd.RangeIndex(n_rows) if index is None else index
    made = [column.set_axis(index) for column in map(pd.Series, columns.values())]
    if not made:
        return pd.DataFrame(index=index)
    frame = pd.concat(made, axis=1)
    frame.columns = pd.Index(list(columns), tupleize_cols=all_tuples(columns))
    return frame


def all_tuples(names: Mapping[Any, Any]) -> bool:
    """Return whether all names are tuples, which pandas makes a hierarchy of names."""
    return all(isinstance(name, tuple) for name in names)


def filled(frame: Frame, columns: Mapping[str, tuple[AnyArray, Cells]]) -> Any:
    """Return a copy of a frame in which some cells are replaced.

    ``columns`` has, for each column with gaps, where they are and the cells to take there.
    """
    if frame.library == "numpy":
        table = frame.table.astype(np.result_type(frame.table, np.float32), copy=True)
        for name, (gaps, cells) in columns.items():
            table[gaps, frame.places[name]] = cells.plain[gaps]
        return table
    made = {name: frame.column(name) for name in frame.names}
    for name, (gaps, cells) in columns.items():
        made[name] = _replaced(made[name], gaps, native(cells))
    if frame.library == "polars":
        return joined("polars", made, frame.n_rows)
    by_given_name = dict(zip(frame.given_names, made.values(), strict=True))
    return joined("pandas", by_given_name, frame.n_rows, frame.table.index)


def _replaced(column: Any, gaps: AnyArray, values: Any) -> Any:
    if type(column).__module__.startswith("polars"):
        import polars as pl

        kept = column if column.dtype == values.dtype else column.cast(values.dtype)
        return kept.zip_with(pl.Series(~gaps), values)
    values = values.set_axis(column.index)
    if gaps.all():
        return values
    if column.dtype != values.dtype:
        column = column.astype(values.dtype)
    return column.mask(gaps, values)
