"""Select the features, the label and the usable rows of a table.

No column or row is left out silently: a column of text or a missing cell is an error that names it
and the option that decides about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from twofold.cli.messages import Messages, counted, did_you_mean, listed
from twofold.cli.tables.reading import Table, frame_of
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from pandas import DataFrame, Series

LABELS: Final = "y"
"""The array of an NPZ file that holds labels."""


@dataclass(frozen=True)
class Selection:
    """The features of a table, and the columns beside them.

    ``features`` of shape (n_rows, n_features) is a frame if columns have names, else an array.
    ``beside`` has columns of shape (n_rows,) that are kept but are not features; ``label`` and
    ``id`` name two of them. ``rows`` has the indices of the selected rows in the table.
    """

    features: DataFrame | Array
    beside: dict[str, AnyArray]
    label: str | None
    id: str | None
    rows: AnyArray

    @property
    def labels(self) -> AnyArray | None:
        """The labels, shape (n_rows,)."""
        return None if self.label is None else self.beside[self.label]

    @property
    def names(self) -> list[str] | None:
        """The names of the features."""
        return list(self.features.columns) if hasattr(self.features, "columns") else None

    def take(self, rows: AnyArray) -> DataFrame | Array:
        """Return the features of some rows."""
        X = self.features
        return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


@dataclass(frozen=True)
class Columns:
    """The user's options for columns.

    ``label``, ``id`` and ``keep`` name columns to keep beside the features, ``drop`` columns to
    leave out. ``others`` ("error" or "drop") decides about columns that cannot be features: text,
    or columns that a model does not know. ``missing`` decides about rows with missing cells.
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    others: str = "error"
    missing: str = "error"
    keep: tuple[str, ...] = ()

    def choose(self, table: Table, messages: Messages) -> Selection:
        """Select the features and labels to fit a model to."""
        label, names = self._roles(table, messages)
        if nameless := next((name for name in names if name in table.nameless), None):
            raise click.ClickException(
                f"{table.name}: column {nameless.removeprefix('column')} has no name in the header "
                f"(row numbers?); leave it out with --drop {nameless}, keep it beside the features "
                f"with --id {nameless}, or name it"
            )
        names = [name for name in names if name in table.numeric or name not in self.keep]
        text = [name for name in names if name not in table.numeric]
        if text and self.others != "drop":
            raise click.ClickException(_text_message(table, text))
        names = _numeric_columns(table, names, messages)
        if not names:
            raise click.ClickException(f"{table.name} has no column of numbers left to use")
        return self._selection(table, names, names if table.named else None, label, messages)

    def choose_for(
        self, table: Table, needed: list[str] | None, n_needed: int, owner: str, messages: Messages
    ) -> Selection:
        """Select the columns that a model needs, in its order.

        ``needed`` is None for a model without feature names; ``owner`` names the model in messages.
        """
        label, names = self._roles(table, messages)
        if needed is not None and table.named:
            # A label that the model needs was a feature of its fit, and stays one: plots may be
            # colored by it.
            names += [name for name in {label, self.id} if name is not None and name in needed]
            self._match(table, names, needed, owner, messages)
            return self._selection(table, needed, needed, label, messages)
        n_numbers = sum(name in table.numeric for name in names)
        if n_numbers != n_needed:
            raise click.ClickException(
                f"{table.name} has {n_numbers} columns of numbers, {owner} needs {n_needed}; "
                "--label, --id and --drop take columns away"
            )
        names = _numeric_columns(table, names, messages)
        if needed is not None or table.named:
            who = table.name if needed is not None else owner
            messages.note(f"{who} has no column names: columns are matched by their order")
        return self._selection(table, names, needed, label, messages)

    def _roles(self, table: Table, messages: Messages) -> tuple[str | None, list[str]]:
        """Return the label and the columns without a role; raise an error for unknown names."""
        label = self.label
        if label is None and LABELS in table.aside and LABELS not in self.drop:
            label = LABELS
            messages.note(f"{table.name}: labels are in the array y (--drop y ignores them)")
        known = [*table.names, *table.aside]
        named = [("--label", label), ("--id", self.id)]
        named += [("--drop", name) for name in self.drop]
        named += [("--color", name) for name in self.keep]
        for option, name in named:
            if name is not None and name not in known:
                hint = did_you_mean(name, known)
                raise click.ClickException(
                    f"{option} {name}: {table.name} has no such column; {hint}"
                )
        taken = {label, self.id, *self.drop}
        return label, [name for name in table.names if name not in taken]

    def _match(
        self, table: Table, names: list[str], needed: list[str], owner: str, messages: Messages
    ) -> None:
        """Raise an error if columns are missing, or unknown numbers without ``others="drop"``."""
        missing = [name for name in needed if name not in set(names)]
        if dropped := [name for name in missing if name in table.names]:
            raise click.ClickException(
                f"{owner} needs the column {listed(dropped)} of {table.name}, which --drop removes"
            )
        if missing:
            raise click.ClickException(
                f"{table.name} lacks {len(missing)} of the {len(needed)} columns that {owner} "
                f"needs: {listed(missing)}; it has {listed(names)}"
            )
        extra = [name for name in names if name not in {*needed, *self.keep}]
        numbers = [name for name in extra if name in table.numeric]
        if numbers and self.others != "drop":
            raise click.ClickException(
                f"{table.name} has columns that {owner} does not know: {listed(numbers)}; leave "
                f"them out with {_drops(numbers)} or --extra-columns drop"
            )
        if extra:
            messages.note(f"{table.name}: left out, {owner} does not know them: {listed(extra)}")

    def _selection(
        self,
        table: Table,
        names: list[str],
        called: list[str] | None,
        label: str | None,
        messages: Messages,
    ) -> Selection:
        """Select columns of numbers, renamed to ``called``, and rows without missing cells."""
        if text := [name for name in names if name not in table.numeric]:
            raise click.ClickException(_text_message(table, text[:1]))
        values = _as_numbers(table.frame[names])
        rows = self._complete_rows(table, names, np.isnan(values), messages)
        if len(rows) < len(values):
            values = values[rows]
        infinite = np.isinf(values)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise click.ClickException(
                f"{table.name}: column {names[column]} is infinite in "
                f"{table.place(int(rows[row]))}; all cells must be finite"
            )
        beside = {
            name: _as_labels(table.aside.get(name, table.frame.get(name)))[rows]
            for name in (self.id, label, *self.keep)
            if name
        }
        features = values if called is None else frame_of(values, called)
        return Selection(features, beside, label, self.id, rows)

    def _complete_rows(
        self, table: Table, names: list[str], missing: AnyArray, messages: Messages
    ) -> AnyArray:
        """Return the indices of the rows without missing cells, or raise an error."""
        incomplete = missing.any(axis=1)
        n_incomplete = int(incomplete.sum())
        if n_incomplete and self.missing != "drop":
            row, column = np.argwhere(missing)[0]
            more = f" (and {counted(n_incomplete - 1, 'more row')})" if n_incomplete > 1 else ""
            raise click.ClickException(
                f"{table.name}: column {names[column]} has no value in {table.place(int(row))}"
                f"{more}; fill the missing cells, or leave such rows out with --missing drop"
            )
        if n_incomplete == len(missing):
            raise click.ClickException(f"{table.name}: every row has missing cells")
        if n_incomplete:
            share = f"{n_incomplete} of {len(missing)} rows"
            messages.note(f"{table.name}: {share} are left out, they have missing cells")
        return np.flatnonzero(~incomplete)


def _numeric_columns(table: Table, names: list[str], messages: Messages) -> list[str]:
    """Leave out columns of text, with a note."""
    if text := [name for name in names if name not in table.numeric]:
        messages.note(f"{table.name}: left out, not numbers: {listed(text)}")
    return [name for name in names if name in table.numeric]


def _as_numbers(frame: DataFrame) -> Array:
    """Convert columns to one array, float32 if all columns are, with NaN for missing cells."""
    kinds = {str(kind).lower() for kind in frame.dtypes}
    dtype = np.float32 if kinds <= {"float32", "float16"} else np.float64
    values: Array = frame.to_numpy(dtype=dtype, na_value=np.nan)
    return values


def _as_labels(column: Series | AnyArray) -> AnyArray:
    """Convert a column to numbers or strings; missing text is the empty string."""
    import pandas as pd

    series = pd.Series(column)
    if series.dtype == bool or (pd.api.types.is_numeric_dtype(series) and series.notna().all()):
        values = series.to_numpy()
        return values if values.dtype.kind in "biuf" else np.asarray(values, dtype=np.float64)
    texts: AnyArray = series.astype(object).map(str).mask(series.isna(), "").to_numpy(dtype=object)
    return texts


def _text_message(table: Table, names: list[str]) -> str:
    """Return the error for columns of text, with the first cell that is not a number."""
    column = table.frame[names[0]]
    cells = [(row, str(cell)) for row, cell in enumerate(column) if not _reads_as_number(cell)]
    row, cell = cells[0] if cells else (0, str(column.iloc[0]))
    shown = repr(cell if len(cell) <= 30 else cell[:27] + "...")
    place = table.place(row)
    example = f"column {names[0]} has {shown} in {place}"
    if "," in cell and _reads_as_number(cell.replace(",", ".")):
        remedy = f"{example}; use --decimal , if that is a decimal comma"
    elif len(table.names) == 1 and " " in cell.strip():
        remedy = f"{example}; use --delimiter ' ' if cells are separated by spaces"
    elif len(names) > 1:
        remedy = (
            f"{len(names)} columns are not numbers: {listed(names)} ({example}); use --label for "
            f"the label, and {_drops(names)} or --text-columns drop to leave out the others"
        )
    elif 2 * len(cells) < len(column):
        remedy = (
            f"{example}, which is not a number; correct it, empty the cell if the value is "
            f"missing, or leave the column out with {_drops(names)}"
        )
    else:
        remedy = (
            f"column {names[0]} has text, not numbers ({shown} in {place}); use --label "
            f"{quote(names[0])} if it is the label, or {_drops(names)} to leave it out"
        )
    return f"{table.name}: {remedy}"


def _reads_as_number(cell: object) -> bool:
    """Whether a cell is a number or missing."""
    if isinstance(cell, str):
        if cell.strip().lower() in ("", "na", "n/a", "null"):
            return True
        if "_" in cell:  # Python reads 1_000, other programs do not
            return False
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _drops(names: list[str]) -> str:
    """Return the options that leave columns out."""
    if len(names) > 3:
        return "--drop for each"
    return " ".join(f"--drop {quote(name)}" for name in names)
