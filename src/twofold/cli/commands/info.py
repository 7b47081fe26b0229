"""``twofold info``: what a model file holds."""

from __future__ import annotations

from pathlib import Path

import click

from twofold.cli.methods import METHODS
from twofold.cli.models import load_model
from twofold.cli.options import examples, model_argument, talk_options
from twofold.cli.talk import Talk
from twofold.cli.words import listed, table_size

__all__ = ["info"]


@click.command(epilog=examples("twofold info flowers.twofold"))
@model_argument
@talk_options
def info(model: Path, talk: Talk) -> None:
    """Say what a model file holds.

    The file is read as a whole: one that is damaged is an error.
    """
    from twofold.export.model_files import describe

    estimator = load_model(model)
    about = describe(model)
    method = next(
        (name for name, one in METHODS.items() if one.class_name == type(estimator).__name__),
        about["class"],
    )
    rows, n_components = estimator.embedding_.shape
    document = {
        "file": str(model),
        "bytes": model.stat().st_size,
        "method": method,
        "class": about["class"],
        "rows": rows,
        "columns": about["n_features"],
        "feature_names": about["feature_names"],
        "latents": n_components,
        "parameters": about["parameters"],
        "versions": about["versions"],
    }
    defaults = {
        name: repr(value) for name, value in type(estimator)().get_params(deep=False).items()
    }
    changed = [
        f"{name}={value}"
        for name, value in about["parameters"].items()
        if value != defaults.get(name)
    ]
    names = about["feature_names"]
    lines = [
        ("model", f"{about['class']} (-m {method}), {document['bytes'] / 1e6:.2f} MB"),
        ("fitted to", table_size((rows, about["n_features"]))),
        ("latents", str(n_components)),
        ("columns", "without names" if names is None else listed(names)),
        (
            "parameters",
            (listed(changed) or "as they are by default")
            + ("" if not changed else ", others by default"),
        ),
        (
            "written by",
            listed(f"{package} {number}" for package, number in about["versions"].items()),
        ),
    ]
    talk.result(document, lines)
