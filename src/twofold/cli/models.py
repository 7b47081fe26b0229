"""Models from files, and the columns that they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twofold.cli.tables import Chosen, Columns, Reading, read_table
from twofold.cli.talk import Talk

__all__ = ["data_for", "feature_names", "latent_names", "latents_for", "load_model"]


def load_model(path: Path) -> Any:
    """Return the model in a file."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder; name a model file in it")
    if not path.exists():
        raise click.ClickException(f"{path}: no such file; 'twofold fit DATA -o {path}' makes one")
    from twofold import load

    return load(path)


def latent_names(model: Any) -> list[str]:
    """Return the names of the latents, such as ukr0 and ukr1."""
    return [str(name) for name in model.get_feature_names_out()]


def feature_names(model: Any) -> list[str]:
    """Return the names of the features, made up where the model knows none."""
    names = _known_names(model)
    return [f"x{number}" for number in range(model.n_features_in_)] if names is None else names


def _known_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def data_for(model: Any, data: str, reading: Reading, columns: Columns, talk: Talk) -> Chosen:
    """Return the columns of a table that a model needs, in its order."""
    table = read_table(data, reading, talk)
    return columns.choose_for(table, _known_names(model), model.n_features_in_, "the model", talk)


def latents_for(model: Any, data: str, reading: Reading, columns: Columns, talk: Talk) -> Chosen:
    """Return the columns of a table that are latents of a model."""
    table = read_table(data, reading, talk)
    names = latent_names(model)
    return columns.choose_for(table, names, len(names), "the model's latent space", talk)
