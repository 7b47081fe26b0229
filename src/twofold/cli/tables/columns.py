"""Select the features, the label and the names of the rows of a table.

No column or row is left out silently: what is guessed is printed, and what cannot be guessed is an
error that names the column and the option that decides about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.messages import Messages, counted, did_you_mean, listed
from twofold.cli.tables.guessing import guess, is_text, parse_kinds, warn_if_transposed, with_gaps
from twofold.cli.tables.reading import Table, frame_of
from twofold.cli.tables.text_cells import check_signs, check_text, text_message
from twofold.export.roles import Roles
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
    ``id`` name two of them. ``rows`` has the indices of the selected rows in the table. ``kinds``
    are those that the user has given, ``left_out`` has the reason for each column that is no
    feature and has no role. ``n_gaps`` counts the missing cells of the features.
    """

    features: Any
    beside: dict[str, AnyArray]
    label: str | None
    id: str | None
    rows: AnyArray
    kinds: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    n_gaps: int = 0

    @property
    def labels(self) -> AnyArray | None:
        """The labels, shape (n_rows,)."""
        return None if self.label is None else self.beside[self.label]

    @property
    def names(self) -> list[str] | None:
        """The names of the features."""
        return list(self.features.columns) if hasattr(self.features, "columns") else None

    @property
    def roles(self) -> Roles:
        """What a model file has to remember of the table."""
        return Roles(self.label, self.id, tuple(self.left_out))

    @property
    def all_numbers(self) -> bool:
        """Whether all features are numbers, perhaps with gaps, and no kinds are given."""
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        if self.kinds:
            return False
        if not hasattr(self.features, "dtypes"):
            return True
        return all(
            is_numeric_dtype(kind) and not is_bool_dtype(kind) for kind in self.features.dtypes
        )

    def as_numbers(self) -> Selection:
        """Return the same with features of one type of floats, NaN in gaps."""
        if self.names is None:
            return self
        return replace(self, features=frame_of(_as_numbers(self.features), self.names))

    def take(self, rows: AnyArray) -> Any:
        """Return the features of some rows."""
        X = self.features
        return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


@dataclass(frozen=True)
class Columns:
    """The user's options for columns.

    ``label``, ``id`` and ``keep`` name columns to keep beside the features, ``drop`` columns to
    leave out. ``kinds`` are texts ``NAME=KIND``. ``roles`` are those of a model file.
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    roles: Roles = field(default_factory=Roles)

    def choose(self, table: Table, messages: Messages) -> Selection:
        """Select the features and labels to fit a model to."""
        warn_if_transposed(table, messages)
        kinds = parse_kinds(self.kinds, table)
        label, id_, names = self._roles(table, kinds, messages)
        left_out = dict.fromkeys(self.drop, "--drop")
        left_out |= {name: "--kind" for name, kind in kinds.items() if kind == "drop"}
        features: dict[str, Series] = {}
        for name in names:
            if name in left_out:
                continue
            column = with_gaps(table.frame[name])
            if name in kinds:
                features[name] = column
                continue
            check_text(table, name, column)
            found = guess(table, name, column)
            if found.role != "feature" and is_text(column):
                check_signs(table, name, column)
            if found.role == "id":
                if id_ is None:
                    id_ = name
                    messages.note(f"{table.name}: {name} names the rows, and is not a feature")
                else:
                    left_out[name] = "it names rows"
            elif found.role == "left out":
                left_out[name] = found.why
            elif name in table.nameless:
                raise click.ClickException(
                    f"{table.name}: column {table.names.index(name) + 1} has no name in the "
                    f"header; leave it out with --drop {quote(name)}, or name it"
                )
            else:
                features[name] = column
        if not features:
            why = f"; left out: {_reasons(left_out)}" if left_out else ""
            raise click.ClickException(f"{table.name} has no column left to use{why}")
        import pandas as pd

        frame = pd.DataFrame(features, table.frame.index, copy=False)
        given = {name: kind for name, kind in kinds.items() if kind != "drop"}
        chosen = self._selection(table, frame, table.named, label, id_, messages)
        return replace(chosen, kinds=given, left_out=left_out)

    def choose_for(
        self,
        table: Table,
        needed: list[str] | None,
        n_needed: int,
        owner: str,
        messages: Messages,
        natives: Mapping[str, str] | None = None,
    ) -> Selection:
        """Select the columns that a model needs, in its order.

        ``needed`` is None for a model without feature names; ``owner`` names the model in messages.
        ``natives`` has the natural kind of each column, if columns are of several kinds.
        """
        import pandas as pd

        label, id_, names = self._roles(table, {}, messages)
        if needed is not None and table.named:
            # A label that the model needs was a feature of its fit, and stays one: plots may be
            # colored by it.
            names += [name for name in {label, id_} if name is not None and name in needed]
            self._match(table, names, needed, owner, messages)
            kinds = natives or {}
            features = {name: _as_before(table, name, kinds.get(name, "number")) for name in needed}
            frame = pd.DataFrame(features, table.frame.index, needed, copy=False)
            return self._selection(table, frame, True, label, id_, messages)
        numbers = [name for name in names if name in table.numeric]
        if len(numbers) != n_needed:
            raise click.ClickException(
                f"{table.name} has {len(numbers)} columns of numbers, {owner} needs {n_needed}; "
                "--label, --id and --drop take columns away"
            )
        if text := [name for name in names if name not in table.numeric]:
            messages.note(f"{table.name}: left out, not numbers: {listed(text)}")
        if needed is not None or table.named:
            who = table.name if needed is not None else owner
            messages.note(f"{who} has no column names: columns are matched by their order")
        frame = table.frame[numbers]
        if needed is not None:
            frame = frame.set_axis(needed, axis=1)
        return self._selection(table, frame, needed is not None, label, id_, messages)

    def _roles(
        self, table: Table, kinds: Iterable[str], messages: Messages
    ) -> tuple[str | None, str | None, list[str]]:
        """Return the label, the id and the other columns; raise an error for unknown names."""
        known = [*table.names, *table.aside]
        label, id_ = self.label, self.id
        if label is None and LABELS in table.aside and LABELS not in self.drop:
            label = LABELS
            messages.note(f"{table.name}: labels are in the array y (--drop y ignores them)")
        if label is None and self.roles.label in known:
            label = self.roles.label
        if id_ is None:
            id_ = self.roles.id if self.roles.id in known else table.id
        named = [("--label", label), ("--id", id_)]
        named += [("--drop", name) for name in self.drop]
        named += [("--kind", name) for name in kinds]
        named += [("--color", name) for name in self.keep]
        for option, name in named:
            if name is not None and name not in known:
                hint = did_you_mean(name, known)
                raise click.ClickException(
                    f"{option} {name}: {table.name} has no such column; {hint}"
                )
        label = None if label in self.drop else label
        id_ = None if id_ in self.drop else id_
        taken = {label, id_, *self.drop}
        return label, id_, [name for name in table.names if name not in taken]

    def _match(
        self, table: Table, names: list[str], needed: list[str], owner: str, messages: Messages
    ) -> None:
        """Raise an error if columns are missing; print which columns are not used."""
        known, before = set(names), set(self.roles.left_out)
        missing = [name for name in needed if name not in known]
        if dropped := [name for name in missing if name in table.names]:
            raise click.ClickException(
                f"{owner} needs the column {listed(dropped)} of {table.name}, which --drop removes"
            )
        if missing:
            raise click.ClickException(
                f"{table.name} lacks {len(missing)} of the {len(needed)} columns that {owner} "
                f"needs: {listed(missing)}; it has {listed(names)}"
            )
        expected = {*needed, *self.keep}
        extra = [name for name in names if name not in expected]
        if left_out := [name for name in extra if name in before]:
            messages.note(f"{table.name}: left out, as in the fit: {listed(left_out)}")
        if unknown := [name for name in extra if name not in before]:
            messages.note(f"{table.name}: ignored, {owner} does not know them: {listed(unknown)}")

    def _selection(
        self,
        table: Table,
        frame: DataFrame,
        named: bool,
        label: str | None,
        id_: str | None,
        messages: Messages,
    ) -> Selection:
        """Select the rows of features that have a value."""
        for name in frame.columns:
            _check_finite(table, str(name), frame[name])
        missing = frame.isna().to_numpy()
        bare = missing.all(axis=1)
        if bare.all():
            raise click.ClickException(f"{table.name}: no row has a value")
        rows = np.flatnonzero(~bare)
        if bare.any():
            share = f"{int(bare.sum())} of {len(bare)} rows"
            messages.note(f"{table.name}: {share} have no value and are left out")
            frame, missing = frame.iloc[rows].reset_index(drop=True), missing[rows]
        beside = {
            name: _as_labels(table.aside.get(name, table.frame.get(name)))[rows]
            for name in (id_, label, *self.keep)
            if name
        }
        found = Selection(frame, beside, label, id_, rows, n_gaps=int(missing.sum()))
        if not named and found.all_numbers:
            return replace(found, features=_as_numbers(frame))
        return found.as_numbers() if found.all_numbers and not found.n_gaps else found


def _as_before(table: Table, name: str, native: str) -> Series:
    """Return a column that a model needs, as the cells of the fit were."""
    column = with_gaps(table.frame[name])
    if native in ("number", "boolean", "duration") and is_text(column):
        raise click.ClickException(text_message(table, name, column))
    if native == "text" and name in table.numeric and column.notna().any():
        return column.map(str, na_action="ignore").astype(object)
    return column


def _check_finite(table: Table, name: str, column: Series) -> None:
    from pandas.api.types import is_float_dtype

    if not is_float_dtype(column.dtype):
        return
    infinite = np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if infinite.any():
        raise click.ClickException(
            f"{table.name}: column {name} is infinite in {table.place(int(infinite.argmax()))}; "
            "all cells must be finite, or empty"
        )


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
    return as_texts(series)


def as_texts(column: Series) -> AnyArray:
    """Return a column as texts, with empty ones for gaps."""
    texts: AnyArray = column.astype(object).map(str).mask(column.isna(), "").to_numpy(dtype=object)
    return texts


MOST_COLORS: Final = 12


def color_column(chosen: Selection, messages: Messages) -> str | None:
    """Return the first category with few levels to color a picture by, and print it."""
    counts: dict[str, int] = {}
    for name in chosen.names or []:
        column = chosen.features[name]
        if is_text(column) or str(column.dtype) in ("bool", "boolean"):
            counts[name] = column.nunique()
    few = {name: count for name, count in counts.items() if 2 <= count <= MOST_COLORS}
    if not few:
        return None
    found = next(iter(few))
    messages.note(f"no label: colored by {found}, {few[found]} levels (--label names a column)")
    return found


def _reasons(left_out: Mapping[str, str]) -> str:
    """Return columns that are left out, with the reasons."""
    return listed(f"{name} ({why})" for name, why in left_out.items())


def about_selection(table_name: str, chosen: Selection, kinds: Mapping[str, str]) -> list[str]:
    """Return lines about what the columns of a table were taken for."""
    n_rows, n_columns = chosen.features.shape
    shape = f"{counted(n_rows, 'row')} of {counted(n_columns, 'feature')}"
    lines = [
        f"{table_name}: {shape}, {counted(chosen.n_gaps, 'gap') if chosen.n_gaps else 'no gaps'}"
    ]
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        by_kind.setdefault(kind, []).append(name)
    rows = [(kind, listed(names)) for kind, names in by_kind.items()]
    rows += [("label", chosen.label)] if chosen.label is not None else []
    rows += [("id", chosen.id)] if chosen.id is not None else []
    rows += [("left out", _reasons(chosen.left_out))] if chosen.left_out else []
    width = max((len(name) for name, _ in rows), default=0)
    return lines + [f"  {name:<{width}}  {text}" for name, text in rows]
