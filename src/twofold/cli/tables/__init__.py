"""Tables in and out: CSV, TSV, Parquet, NPY and NPZ, files and pipes."""

from twofold.cli.tables.columns import Chosen, Columns
from twofold.cli.tables.table import Reading, Table, read_table
from twofold.cli.tables.writing import Output, Rows, check_writable, finished_file

__all__ = [
    "Chosen",
    "Columns",
    "Output",
    "Reading",
    "Rows",
    "Table",
    "check_writable",
    "finished_file",
    "read_table",
]
