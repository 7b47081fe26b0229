"""The inputs of commands: model files, and tables with the user's options for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from twofold.cli.messages import Messages
from twofold.cli.tables.columns import Columns, Selection
from twofold.cli.tables.reading import Reading, Table, read_table

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


def load_model(path: Path) -> TwoWayEstimator:
    """Load the model of a file."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder; name a model file in it")
    if not path.exists():
        raise click.ClickException(f"{path}: no such file; 'twofold fit DATA -o {path}' writes one")
    from twofold import load
    from twofold.base.estimator import TwoWayEstimator

    model = load(path)
    if not isinstance(model, TwoWayEstimator):
        raise click.ClickException(
            f"{path} holds a {type(model).__name__}, which the command line does not support; "
            "use twofold.load in Python"
        )
    return model


def latent_names(model: TwoWayEstimator) -> list[str]:
    """Return the names of the latents, such as ukr0 and ukr1."""
    return [str(name) for name in model.get_feature_names_out()]


def feature_names(model: TwoWayEstimator) -> list[str]:
    """Return the names of the features, or x0, x1, ... if the model has no names."""
    return _known_names(model) or [f"x{number}" for number in range(model.n_features_in_)]


def _known_names(model: TwoWayEstimator) -> list[str] | None:
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
        self, model: TwoWayEstimator, messages: Messages, keep: tuple[str, ...] = ()
    ) -> Selection:
        """Read the table and select the features of a model, in its order."""
        columns = replace(self.columns, keep=keep)
        names, n_needed = _known_names(model), model.n_features_in_
        return columns.choose_for(self.read(messages), names, n_needed, "the model", messages)

    def select_latents(self, model: TwoWayEstimator, messages: Messages) -> Selection:
        """Read the table and select the columns that are latents of a model."""
        names = latent_names(model)
        owner = "the model's latent space"
        return self.columns.choose_for(self.read(messages), names, len(names), owner, messages)
