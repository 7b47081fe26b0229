"""The inputs of commands: model files, and tables with the user's options for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twofold.cli.messages import Messages
from twofold.cli.tables.columns import Columns, Selection
from twofold.cli.tables.reading import Reading, Table, read_table

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator
    from twofold.tables import TableMap


@dataclass(frozen=True)
class Roles:
    """What columns were in the fit of a model: the label, the names of rows, and what was left out.

    A model file keeps them, so that later commands need no options.
    """

    label: str | None = None
    id: str | None = None
    left_out: tuple[str, ...] = ()

    @classmethod
    def of_notes(cls, notes: Any, path: Path) -> Roles:
        """Return the roles of a model file; files of Python have none."""
        if notes is None:
            return cls()
        found = notes if isinstance(notes, dict) else {}
        label, row_names, left_out = (found.get(key, 0) for key in NOTES)
        if not (
            all(one is None or isinstance(one, str) for one in (label, row_names))
            and isinstance(left_out, list)
            and all(isinstance(one, str) for one in left_out)
        ):
            from twofold import ModelFileError

            raise ModelFileError(f"{path}: its notes are not those of a command line.")
        return cls(label, row_names, tuple(left_out))

    def notes(self) -> dict[str, Any]:
        """Return the roles as plain JSON."""
        return dict(zip(NOTES, (self.label, self.id, list(self.left_out)), strict=True))

    def given(self, columns: Columns, table: Table, needed: list[str]) -> Columns:
        """Return the user's options for columns, and these roles where the user has given none."""
        known = {*table.names, *table.aside} - {*columns.drop}
        label = columns.label or (self.label if self.label in known else None)
        row_names = columns.id or (self.id if self.id in known else None)
        extra = [one for one in self.left_out if one in known and one not in {label, *needed}]
        return replace(columns, label=label, id=row_names, drop=(*columns.drop, *extra))


NOTES = ("label", "id", "left_out")


@dataclass(frozen=True)
class LoadedModel:
    """The model of a file, and the roles of columns in its fit."""

    estimator: TwoWayEstimator | TableMap
    roles: Roles

    @property
    def is_table(self) -> bool:
        """Whether the model is one of columns of all kinds."""
        return is_table_map(self.estimator)


def is_table_map(model: Any) -> bool:
    """Tell whether a model is one of columns of all kinds."""
    return hasattr(model, "layout_")


def load_model(path: Path) -> LoadedModel:
    """Load the model of a file."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder; name a model file in it")
    if not path.exists():
        raise click.ClickException(f"{path}: no such file; 'twofold fit DATA -o {path}' writes one")
    from twofold import TableMap, load
    from twofold.base.estimator import TwoWayEstimator
    from twofold.export.model_files import describe

    model = load(path)
    if not isinstance(model, TwoWayEstimator | TableMap):
        raise click.ClickException(
            f"{path} holds a {type(model).__name__}, which the command line does not support; "
            "use twofold.load in Python"
        )
    return LoadedModel(model, Roles.of_notes(describe(path).get("notes"), path))


def latent_names(model: TwoWayEstimator | TableMap) -> list[str]:
    """Return the names of the latents, such as ukr0 and ukr1."""
    return [str(name) for name in model.get_feature_names_out()]


def feature_names(model: TwoWayEstimator | TableMap) -> list[str]:
    """Return the names of the features, or x0, x1, ... if the model has no names."""
    return _known_names(model) or [f"x{number}" for number in range(model.n_features_in_)]


def _known_names(model: TwoWayEstimator | TableMap) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


@dataclass(frozen=True)
class InputTable:
    """The argument DATA, a path or ``-``, with the options for reading and for columns."""

    data: str
    reading: Reading
    columns: Columns

    def read(self, messages: Messages) -> Table:
        """Read the table."""
        return read_table(self.data, self.reading, messages)

    def select(self, messages: Messages, keep: tuple[str, ...] = ()) -> Selection:
        """Read the table and select the features to fit a model to."""
        return replace(self.columns, keep=keep).choose(self.read(messages), messages)

    def select_for(
        self, model: LoadedModel, messages: Messages, keep: tuple[str, ...] = ()
    ) -> Selection:
        """Read the table and select the features of a model, in its order."""
        table, estimator = self.read(messages), model.estimator
        names, n_needed = _known_names(estimator), estimator.n_features_in_
        columns = model.roles.given(replace(self.columns, keep=keep), table, names or [])
        if model.is_table:
            return columns.choose_for_table(table, names or [], "the model", messages)
        return columns.choose_for(table, names, n_needed, "the model", messages)

    def select_latents(self, model: LoadedModel, messages: Messages) -> Selection:
        """Read the table and select the columns that are latents of a model."""
        names = latent_names(model.estimator)
        owner, table = "the model's latent space", self.read(messages)
        columns = model.roles.given(self.columns, table, names)
        return columns.choose_for(table, names, len(names), owner, messages)
