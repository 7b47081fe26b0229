"""Kinds of the columns of a table: numbers, text, free text, names of rows, and gaps in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from twofold.cli.messages import Messages
from twofold.cli.tables.reading import Table

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MISSING: Final = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"})
"""Cells of text that stand for a missing value, in lower case."""

ROW_NAMES: Final = re.compile(
    r"(row)?_?(id|index|names?|nr|no|number)|.*[_ ]id|unnamed: 0", re.IGNORECASE
)
FEWEST_NAMES: Final = 10
"""Rows from which on text that differs in every row is taken for their names."""

MOST_LEVELS: Final = 20
FREE_SHARE: Final = 0.5
"""Text is free text if it has more levels than this, and more than this share of the rows."""

VARIABLES: Final = re.compile(
    r"(gene|symbol|ensembl|feature|probe|transcript|protein|peptide|metabolite|otu|taxon|marker)"
    r"(s|_?ids?|_?names?|_?symbols?)?",
    re.IGNORECASE,
)
GENES: Final = re.compile(r"ENS[A-Z]*[GTP]\d{6,}(\.\d+)?")


def is_text(table: Table, name: str) -> bool:
    """Tell whether a column holds text."""
    from pandas.api.types import is_object_dtype, is_string_dtype

    column = table.frame[name]
    return bool(is_object_dtype(column) or is_string_dtype(column.dtype))


def is_number(table: Table, name: str) -> bool:
    """Tell whether a column holds numbers; truth values are a kind of their own."""
    from pandas.api.types import is_bool_dtype

    return name in table.numeric and not is_bool_dtype(table.frame[name])


def is_free_text(table: Table, name: str) -> bool:
    """Tell whether a column holds text with too many different values for a category."""
    cells = _observed(table.frame[name])
    n_levels = cells.nunique()
    return bool(n_levels > MOST_LEVELS and n_levels > FREE_SHARE * len(cells))


def row_names_among(table: Table, names: list[str]) -> str | None:
    """Return the column that names the rows, if there is one.

    It has a different text in every row, or no name or the name of a number of rows and
    consecutive integers.
    """
    for name in names:
        column = table.frame[name]
        if len(column) < 2 or column.isna().any() or not column.is_unique:
            continue
        if is_text(table, name):
            if len(column) >= FEWEST_NAMES:
                return name
        elif name in table.nameless or ROW_NAMES.fullmatch(name):
            values = column.to_numpy()
            if values.dtype.kind in "iu" and (np.diff(np.sort(values)) == 1).all():
                return name
    return None


def warn_if_transposed(table: Table, names: str, others: list[str], messages: Messages) -> None:
    """Warn if the rows of a table seem to be variables, such as genes, and its columns samples."""
    column = table.frame[names].astype(str)
    variables = VARIABLES.fullmatch(names) or column.map(GENES.fullmatch).astype(bool).mean() > 0.5
    if variables and all(name in table.numeric for name in others):
        messages.warning(
            f"{table.name} looks transposed: {names} names variables, but rows must be samples; "
            "turn it around, in Python by pandas.read_csv(FILE, index_col=0).T.to_csv(TURNED)"
        )


def with_gaps(frame: DataFrame) -> DataFrame:
    """Return a frame in which cells of text such as NA are missing."""
    from pandas.api.types import is_object_dtype, is_string_dtype

    changed = frame.copy(deep=False)
    for name in frame.columns:
        column = frame[name]
        if is_object_dtype(column) or is_string_dtype(column.dtype):
            changed[name] = column.mask(_is_missing(column))
    return changed


def _observed(column: Series) -> Series:
    return column[~_is_missing(column)]


def _is_missing(column: Series) -> Series:
    marks = column.astype(str).str.strip().str.lower().isin(MISSING)
    return column.isna() | marks
