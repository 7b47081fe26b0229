"""The inputs of commands: model files, and tables with the user's options for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from twofold.cli.messages import Messages
from twofold.cli.tables.columns import Columns, Selection
from twofold.cli.tables.reading import Reading, Table, read_table
from twofold.export.roles import Roles
from twofold.protocols import AnyArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


@dataclass(frozen=True)
class Model:
    """A fitted `TwoWayEstimator` or `TableMap`, and the roles of columns beside its features."""

    estimator: Any
    roles: Roles = field(default_factory=Roles)

    @property
    def core(self) -> TwoWayEstimator:
        """The model of numbers."""
        inner: TwoWayEstimator = self.estimator.model_ if self.is_table else self.estimator
        return inner

    @property
    def is_table(self) -> bool:
        """Whether columns are encoded before the model."""
        return hasattr(self.estimator, "layout_")

    @property
    def kinds(self) -> dict[str, str] | None:
        """The kind of each column, if they are encoded."""
        return dict(self.estimator.kinds_) if self.is_table else None

    @property
    def latent_names(self) -> list[str]:
        """The names of the latents, such as ukr0 and ukr1."""
        return [str(name) for name in self.core.get_feature_names_out()]

    @property
    def known_names(self) -> list[str] | None:
        """The names of the features, if the model has them."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, or x0, x1, ... if the model has no names."""
        return self.known_names or [f"x{number}" for number in range(self.estimator.n_features_in_)]

    def encoded(self, X: Any) -> Any:
        """Return rows as the model of numbers takes them."""
        return self.estimator.layout_.into(X) if self.is_table else X


def load_model(path: Path) -> Model:
    """Load the model of a file."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder; name a model file in it")
    if not path.exists():
        raise click.ClickException(f"{path}: no such file; 'twofold fit DATA -o {path}' writes one")
    from twofold.base.estimator import TwoWayEstimator
    from twofold.export.model_files import load_with_roles
    from twofold.tables import TableMap

    model, roles = load_with_roles(path)
    if not isinstance(model, TwoWayEstimator | TableMap):
        raise click.ClickException(
            f"{path} holds a {type(model).__name__}, which the command line does not support; "
            "use twofold.load in Python"
        )
    return Model(model, roles)


def complete_rows(X: Any) -> AnyArray:
    """Return whether each row of numbers has no gap."""
    missing: AnyArray = np.isnan(np.asarray(X, dtype=np.float64))
    return np.asarray(~missing.any(axis=1))


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

    def select_for(self, model: Model, messages: Messages, keep: tuple[str, ...] = ()) -> Selection:
        """Read the table and select the features of a model, in its order."""
        return self.select_in(self.read(messages), model, messages, keep)

    def select_in(
        self, table: Table, model: Model, messages: Messages, keep: tuple[str, ...] = ()
    ) -> Selection:
        """Select the features of a model in a table that is read already."""
        columns = replace(self.columns, keep=keep, roles=model.roles)
        natives = None
        needed = model.known_names
        if model.is_table:
            layout = model.estimator.layout_
            natives = {
                name: "" if getattr(column, "in_text", False) else column.native
                for column in layout.columns
                for name in (column.members or (column.name,))
            }
            if needed is not None:
                needed = [name for name in needed if name not in layout.dropped]
        chosen = columns.choose_for(
            table, needed, model.estimator.n_features_in_, "the model", messages, natives
        )
        return chosen if model.is_table else chosen.as_numbers()

    def select_latents(self, model: Model, messages: Messages) -> Selection:
        """Read the table and select the columns that are latents of a model."""
        names, owner = model.latent_names, "the model's latent space"
        columns = replace(self.columns, roles=model.roles)
        table = self.read(messages)
        quiet = Messages(quiet=True)  # columns beside the latents are no features, as expected
        chosen = columns.choose_for(table, names, len(names), owner, quiet)
        return chosen.as_numbers()
