"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, in files and pipes."""

from twofold.cli.tables.columns import Columns, Selection
from twofold.cli.tables.reading import Reading, Table, read_table
from twofold.cli.tables.writing import Output, ResultTable, check_writable

__all__ = [
    "Columns",
    "Output",
    "Reading",
    "ResultTable",
    "Selection",
    "Table",
    "check_writable",
    "read_table",
]
