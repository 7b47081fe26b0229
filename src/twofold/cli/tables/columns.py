"""Which columns are features, which is the label, and which rows can be used.

Nothing is left out without being told: a column of text or a missing cell is an error that names it and the option
that says what to do with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import click
import numpy as np

from twofold.cli.tables.table import Table, frame_of
from twofold.cli.talk import Talk
from twofold.cli.words import counted, did_you_mean, listed
from twofold.protocols import AnyArray, Array

__all__ = ["Chosen", "Columns"]

LABELS = "y"
"""The array of an NPZ that holds labels."""


@dataclass(frozen=True)
class Chosen:
    """The part of a table that a model sees, and what stands beside it.

    Parameters
    ----------
    features : DataFrame or ndarray of shape (n_rows, n_features)
        Numbers; a frame where columns have names.
    beside : dict of str to ndarray of shape (n_rows,)
        Columns that are kept and are no features, by name.
    label, id : str or None
        Which of these is the label, and which names the rows.
    rows : ndarray of int of shape (n_rows,)
        Their numbers in the table, from 0.
    """

    features: Any
    beside: dict[str, AnyArray]
    label: str | None
    id: str | None
    rows: AnyArray

    @property
    def labels(self) -> AnyArray | None:
        """The label of each row, where there is one."""
        return None if self.label is None else self.beside[self.label]

    @property
    def names(self) -> list[str] | None:
        """The names of the features, where they have some."""
        return list(self.features.columns) if hasattr(self.features, "columns") else None


@dataclass(frozen=True)
class Columns:
    """What the user said of the columns.

    Parameters
    ----------
    label, id : str or None
        The column with the labels, and the one that names the rows: kept, and no features.
    drop : tuple of str
        Columns to leave out.
    others : {"error", "drop"}
        What to do with columns that cannot be features: those of text or, where a model says which it needs, those
        that it does not know.
    missing : {"error", "drop"}
        What to do with rows that have missing cells.
    keep : tuple of str
        Further columns to keep beside the features; they may be features too.
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    others: str = "error"
    missing: str = "error"
    keep: tuple[str, ...] = ()

    def choose(self, table: Table, talk: Talk) -> Chosen:
        """Return the features and labels of a table to fit a model to."""
        label = self._label(table, talk)
        names = self._candidates(table, label)
        _refuse_nameless(table, names)
        text = [name for name in names if name not in table.numeric]
        if text and self.others != "drop":
            raise click.ClickException(_text_message(table, text))
        if text:
            talk.note(f"{table.name}: left out, since not numbers: {listed(text)}")
        names = [name for name in names if name in table.numeric]
        if not names:
            raise click.ClickException(f"{table.name} has no column of numbers left to use")
        return self._finished(table, names, label, talk, named=table.named)

    def choose_for(
        self, table: Table, needed: Sequence[str] | None, n_needed: int, owner: str, talk: Talk
    ) -> Chosen:
        """Return the columns that a model needs, in its order.

        Parameters
        ----------
        table : Table
            The table.
        needed : sequence of str or None
            Their names, or None for a model without names.
        n_needed : int
            Their number.
        owner : str
            Who needs them, for messages.
        talk : Talk
            Where to tell what was left out.
        """
        label = self._label(table, talk)
        names = self._candidates(table, label)
        if needed is not None and table.named:
            # A label that the model needs was a feature of its fit, and stays one: rows may be coloured by it.
            names += [name for name in {label, self.id} if name is not None and name in needed]
            self._check_needed(table, names, needed, owner)
            known = {*needed, *self.keep}
            extra = [name for name in names if name not in known]
            self._leave_out(table, extra, owner, talk)
            return self._finished(table, list(needed), label, talk, named=True, called=needed)
        text = [name for name in names if name not in table.numeric]
        names = [name for name in names if name in table.numeric]
        if len(names) != n_needed:
            raise click.ClickException(
                f"{table.name} has {len(names)} columns of numbers, {owner} needs {n_needed}; --label, --id and "
                "--drop take columns away"
            )
        if text:
            talk.note(f"{table.name}: left out, since not numbers: {listed(text)}")
        if needed is not None or table.named:
            who = table.name if needed is not None else owner
            talk.note(f"{who} has no names of columns: they are taken in their order")
        return self._finished(table, names, label, talk, named=needed is not None, called=needed)

    def _label(self, table: Table, talk: Talk) -> str | None:
        if self.label is None and LABELS in table.aside and LABELS not in self.drop:
            talk.note(
                f"{table.name}: labels are in the array {LABELS} (--drop {LABELS} to do without)"
            )
            return LABELS
        return self.label

    def _candidates(self, table: Table, label: str | None) -> list[str]:
        """Return the columns that were given no other role, after a look at whether all that were named exist."""
        for option, name in (("--label", label), ("--id", self.id)):
            if name is not None and name not in table.aside:
                self._found(table, name, option)
        for option, names in (("--drop", self.drop), ("--colour", self.keep)):
            for name in names:
                if name not in table.aside:
                    self._found(table, name, option)
        taken = {label, self.id, *self.drop}
        return [name for name in table.names if name not in taken]

    @staticmethod
    def _found(table: Table, name: str, option: str) -> str:
        known = table.names + list(table.aside)
        if name not in known:
            raise click.ClickException(
                f"{option} {name}: {table.name} has no such column; {did_you_mean(name, known)}"
            )
        return name

    def _check_needed(
        self, table: Table, names: list[str], needed: Sequence[str], owner: str
    ) -> None:
        there = set(names)
        missing = [name for name in needed if name not in there]
        if not missing:
            return
        taken = [name for name in missing if name in table.names]
        if taken:
            raise click.ClickException(
                f"{owner} needs the column {listed(taken)} of {table.name}, which --drop takes away"
            )
        raise click.ClickException(
            f"{table.name} lacks {len(missing)} of the {len(needed)} columns that {owner} needs: {listed(missing)}; "
            f"it has {listed(names)}"
        )

    def _leave_out(self, table: Table, extra: list[str], owner: str, talk: Talk) -> None:
        """Leave out columns that a model does not know: text without asking, numbers when asked."""
        numbers = [name for name in extra if name in table.numeric]
        if numbers and self.others != "drop":
            raise click.ClickException(
                f"{table.name} has columns that {owner} does not know: {listed(numbers)}; leave them out with "
                f"{_drops(numbers)} or --extra-columns drop"
            )
        if extra:
            talk.note(f"{table.name}: left out, since {owner} does not know them: {listed(extra)}")

    def _finished(
        self,
        table: Table,
        names: list[str],
        label: str | None,
        talk: Talk,
        *,
        named: bool,
        called: Sequence[str] | None = None,
    ) -> Chosen:
        """Return the columns as numbers, without the rows that have missing cells."""
        if text := [name for name in names if name not in table.numeric]:
            raise click.ClickException(_text_message(table, text[:1]))
        values = as_numbers(table.frame[names])
        beside = {name: self._beside(table, name) for name in (self.id, label, *self.keep) if name}
        rows = np.arange(len(values))
        bad = np.isnan(values)
        if bad.any():
            rows = self._complete_rows(table, names, bad, talk)
            values = values[rows]
            beside = {name: column[rows] for name, column in beside.items()}
        _refuse_infinity(table, names, values, rows)
        features = frame_of(values, list(called or names)) if named else values
        return Chosen(features, beside, label, self.id, rows)

    def _beside(self, table: Table, name: str) -> AnyArray:
        return as_labels(table.aside[name] if name in table.aside else table.frame[name])

    def _complete_rows(self, table: Table, names: list[str], bad: AnyArray, talk: Talk) -> AnyArray:
        row, column = np.argwhere(bad)[0]
        incomplete = bad.any(axis=1)
        n_bad = int(incomplete.sum())
        if self.missing != "drop":
            more = f" (and {counted(n_bad - 1, 'more row')})" if n_bad > 1 else ""
            raise click.ClickException(
                f"{table.name}: column {names[column]} has no value in {table.place(int(row))}{more}; fill the missing cells, "
                "or leave such rows out with --missing drop"
            )
        if incomplete.all():
            raise click.ClickException(f"{table.name}: every row has missing cells")
        talk.note(
            f"{table.name}: {n_bad} of {len(bad)} rows are left out, since they have missing cells"
        )
        return np.flatnonzero(~incomplete)


def as_numbers(frame: Any) -> Array:
    """Return columns of numbers as one array, float32 where all are, with NaN for missing cells."""
    kinds = {str(kind).lower() for kind in frame.dtypes}
    dtype = np.float32 if kinds <= {"float32", "float16"} else np.float64
    values: Array = frame.to_numpy(dtype=dtype, na_value=np.nan)
    return values


def as_labels(column: Any) -> AnyArray:
    """Return a column as an array of numbers or of strings; missing text is the empty string."""
    import pandas as pd

    series = pd.Series(column)
    if series.dtype == bool or (pd.api.types.is_numeric_dtype(series) and series.notna().all()):
        values = series.to_numpy()
        return values if values.dtype.kind in "biuf" else np.asarray(values, dtype=np.float64)
    texts: AnyArray = series.astype(object).map(str).mask(series.isna(), "").to_numpy(dtype=object)
    return texts


def _refuse_nameless(table: Table, names: list[str]) -> None:
    first = next((name for name in names if name in table.nameless), None)
    if first is not None:
        number = first.removeprefix("column")
        raise click.ClickException(
            f"{table.name}: column {number} has no name in the header (row numbers?); leave it out with --drop {first}, keep it "
            f"beside with --id {first}, or name it"
        )


def _refuse_infinity(table: Table, names: list[str], values: Array, rows: AnyArray) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise click.ClickException(
            f"{table.name}: column {names[column]} is infinite in {table.place(int(rows[row]))}; every cell needs a finite number"
        )


def _text_message(table: Table, names: list[str]) -> str:
    """Return what to say of columns that are no numbers: which cell it is, where most are."""
    column = table.frame[names[0]]
    cells = [(row, str(cell)) for row, cell in enumerate(column) if not _reads_as_number(cell)]
    row, cell = cells[0] if cells else (0, str(column.iloc[0]))
    shown = repr(cell if len(cell) <= 30 else cell[:27] + "...")
    example = f"column {names[0]} has {shown} in {table.place(row)}"
    if "," in cell and _reads_as_number(cell.replace(",", ".")):
        return f"{table.name}: {example}; if that is a decimal comma, say --decimal ,"
    if len(table.names) == 1 and " " in cell.strip():
        return f"{table.name}: {example}; if cells are separated by spaces, say --delimiter ' '"
    if len(names) == 1 and 2 * len(cells) < len(column):
        return (
            f"{table.name}: {example}, which is no number; mend it, empty the cell if the value is missing, or leave the "
            f"column out with {_drops(names)}"
        )
    if len(names) == 1:
        return (
            f"{table.name}: column {names[0]} has text, not numbers ({shown} in {table.place(row)}); use --label {quote(names[0])} if it is "
            f"the label, or {_drops(names)} to leave it out"
        )
    return (
        f"{table.name}: {len(names)} columns are not numbers: {listed(names)} ({example}); use --label for the label, and "
        f"{_drops(names)} or --text-columns drop to leave out the others"
    )


def _reads_as_number(cell: Any) -> bool:
    """Tell whether a cell is a number, or missing."""
    if isinstance(cell, str):
        if cell.strip().lower() in ("", "na", "n/a", "null"):
            return True
        if "_" in cell:  # Python reads 1_000, other programs do not
            return False
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _drops(names: list[str]) -> str:
    """Return the options that leave columns out, where they fit on a line."""
    return (
        " ".join(f"--drop {quote(name)}" for name in names)
        if len(names) <= 3
        else "--drop for each"
    )
