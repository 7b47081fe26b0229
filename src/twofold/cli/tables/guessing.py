"""Guess what columns are: names of rows, free text, or features; and whether a table is transposed.

Every guess is printed, and an option overrides it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.messages import Messages
from twofold.cli.tables.delimited import GAPS
from twofold.cli.tables.reading import Table

if TYPE_CHECKING:
    from pandas import Series

ROW_NUMBERS: Final = re.compile(r"(id|_id|index|row|rowid|row_?id|row_?names?|unnamed: \d+)")
"""Names of columns in which consecutive integers number the rows."""

LONGEST_ID: Final = 60
"""Names of rows are shorter than this; longer texts are prose."""

VARIABLE: Final = re.compile(
    r"(gene|probe|probeset|transcript|protein|ensembl|feature|variable|metabolite|otu|taxon|cpg|snp)"
    r"s?([ _.-]?(id|ids|name|names|symbol|symbols))?|symbol|id_ref|hgnc(_symbol)?"
)
"""Names of a first column that lists variables: the table is transposed."""

GENE: Final = re.compile(
    r"ENS[A-Z]{0,4}[GT]\d{6,}(\.\d+)?|cg\d{8}|rs\d{3,}|\d+(_[a-z])?_at|LOC\d{4,}"
)
"""Identifiers of genes, of sites of methylation and of probes."""

SAMPLE: Final = re.compile(
    r"(sample|subject|patient|donor|individual|cell)[ _.-]?\d+|GSM\d{4,}|[SED]RR\d{5,}|"
    r"TCGA-\w\w-\w{4}.*|[ACGT]{12,}([-_.].*)?",
    re.IGNORECASE,
)
"""Names of samples and cells, which belong in rows."""

DATE: Final = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")

SHARE_OF_NAMES: Final = 0.8
FEWEST_SAMPLES: Final = 3


@dataclass(frozen=True)
class Guess:
    """What a column is: "feature", "id", or "left out", for which ``why`` is the reason."""

    role: str
    why: str = ""


def is_text(column: Series) -> bool:
    """Whether cells are text or categories, not numbers, truth values or dates."""
    from pandas.api.types import infer_dtype, is_string_dtype

    if column.dtype == object:
        return infer_dtype(column, skipna=True) in ("string", "mixed", "mixed-integer")
    return bool(is_string_dtype(column.dtype)) or str(column.dtype) == "category"


def with_gaps(column: Series) -> Series:
    """Return a column of text in which the usual marks for missing values are gaps."""
    if str(column.dtype) == "category" or not is_text(column):
        return column
    marks = column.map(lambda cell: isinstance(cell, str) and cell.strip() in GAPS)
    marked = marks.fillna(False).to_numpy(dtype=bool)
    return column.astype(object).mask(marked, None) if marked.any() else column


def guess(table: Table, name: str, column: Series) -> Guess:
    """Return the role of a column that has none by an option; ``column`` has its gaps."""
    from twofold.tables.kinds import FEW_LEVELS, MOST_LEVELS

    n_rows = len(column)
    if name in table.numeric:
        if name in table.nameless:  # as R and pandas write the numbers of rows, perhaps of some
            return Guess("id") if _are_places(column) else Guess("feature")
        numbers_rows = ROW_NUMBERS.fullmatch(name.strip().lower())
        return Guess("id") if numbers_rows and _is_consecutive(column) else Guess("feature")
    if not is_text(column):
        return Guess("feature")
    observed = column.dropna().map(str)
    n_levels, n_observed = observed.nunique(), len(observed)
    unique = n_levels == n_observed == n_rows
    if n_levels > FEW_LEVELS and observed.map(lambda cell: bool(DATE.fullmatch(cell))).all():
        return Guess("left out", "dates that are not written as 2024-12-31")
    if unique and n_rows > 2 and observed.str.len().max() <= LONGEST_ID:
        return Guess("id")
    if str(column.dtype) == "category":
        many = n_levels > MOST_LEVELS
    else:
        many = n_levels > min(MOST_LEVELS, max(FEW_LEVELS, n_observed / 2))
    if many:
        return Guess("left out", f"{n_levels} different texts in {n_observed} rows")
    return Guess("feature")


def _is_consecutive(column: Series) -> bool:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return len(values) > 1 and bool((np.diff(values) == 1.0).all())


def _are_places(column: Series) -> bool:
    """Whether cells are different whole numbers from 0."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    whole = bool(((values >= 0.0) & (values == np.floor(values))).all())
    return whole and len(np.unique(values)) == len(values) > 1


def warn_if_transposed(table: Table, messages: Messages) -> None:
    """Print a warning if rows seem to be variables, such as genes, and columns samples."""
    names = table.names
    if not table.named or len(names) < FEWEST_SAMPLES + 1:
        return
    first, rest = names[0], names[1:]
    column: Any = table.frame[first]
    if not all(name in table.numeric for name in rest) or first in table.numeric:
        return
    if not is_text(column) or column.nunique() != len(column):
        return
    cells = column.map(str)
    genes = float(cells.map(lambda cell: bool(GENE.fullmatch(cell))).mean())
    samples = float(np.mean([bool(SAMPLE.fullmatch(name.strip())) for name in rest]))
    if not (
        VARIABLE.fullmatch(first.strip().lower())
        or genes >= SHARE_OF_NAMES
        or samples >= SHARE_OF_NAMES
    ):
        return
    command = (
        f"pandas.read_csv({table.name!r}, index_col=0).T.to_csv('transposed.csv', index_label='id')"
    )
    messages.warning(
        f"{table.name} looks transposed: its rows seem to be variables ({cells.iloc[0]}, "
        f"{cells.iloc[1]}, ...) and its columns samples ({rest[0]}, {rest[1]}, ...). Rows are "
        f"mapped, so samples belong in rows; in Python: {command}"
    )


def parse_kinds(texts: tuple[str, ...], table: Table) -> dict[str, Any]:
    """Return kinds of columns by name, from texts ``NAME=KIND``."""
    from twofold.tables.kinds import KINDS

    found: dict[str, Any] = {}
    for text in texts:
        name, _, kind = text.rpartition("=")
        levels = [level.strip() for level in kind.split(",")]
        if len(levels) > 1:
            found[name] = [_as_number(one) for one in levels] if name in table.numeric else levels
        elif kind in KINDS:
            found[name] = kind
        else:
            raise click.UsageError(
                f"--kind {text}: {kind!r} must be one of {', '.join(KINDS)}, or levels in their "
                f"order, such as --kind {name or 'size'}=low,middle,high"
            )
    return found


def _as_number(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number
