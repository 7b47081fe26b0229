"""``twofold info``: describe a model file."""

from __future__ import annotations

from pathlib import Path

import click

from twofold.cli.inputs import load_model
from twofold.cli.messages import Messages, listed, table_size
from twofold.cli.methods import METHODS
from twofold.cli.options import examples, message_options, model_argument

__all__ = ["info"]


@click.command(epilog=examples("twofold info flowers.twofold"))
@model_argument
@message_options
def info(model: Path, messages: Messages) -> None:
    """Describe a model file.

    The file is read completely: a damaged file is an error.
    """
    from twofold.export.model_files import describe

    estimator = load_model(model)
    about = describe(model)
    name, names, size = about["class"], about["feature_names"], model.stat().st_size
    methods = (key for key, one in METHODS.items() if one.class_name == name)
    method = next(methods, name)
    rows, n_components = estimator.embedding_.shape
    document = {
        "file": str(model),
        "bytes": size,
        "method": method,
        "class": name,
        "rows": rows,
        "columns": about["n_features"],
        "feature_names": names,
        "latents": n_components,
        "parameters": about["parameters"],
        "versions": about["versions"],
    }
    defaults = {key: repr(one) for key, one in type(estimator)().get_params(deep=False).items()}
    changed = [
        f"{key}={value}" for key, value in about["parameters"].items() if value != defaults.get(key)
    ]
    parameters = f"{listed(changed)}, others by default" if changed else "all by default"
    versions = (f"{package} {number}" for package, number in about["versions"].items())
    lines = [
        ("model", f"{name} (-m {method}), {size / 1e6:.2f} MB"),
        ("fitted to", table_size((rows, about["n_features"]))),
        ("latents", str(n_components)),
        ("columns", "without names" if names is None else listed(names)),
        ("parameters", parameters),
        ("written by", listed(versions)),
    ]
    messages.result(document, lines)
