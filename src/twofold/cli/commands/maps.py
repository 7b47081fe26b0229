"""``twofold transform``, ``reconstruct``, ``sample`` and ``score``: what a fitted model does with rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from twofold.cli.giving import give
from twofold.cli.models import data_for, feature_names, latent_names, latents_for, load_model
from twofold.cli.options import (
    TO_STANDARD_OUTPUT,
    column_options,
    data_argument,
    examples,
    model_argument,
    output_options,
    seed_option,
    table_options,
    talk_options,
)
from twofold.cli.progress import in_blocks
from twofold.cli.tables import Columns, Output, Reading, Rows
from twofold.cli.talk import Talk

__all__ = ["reconstruct", "sample", "score", "transform"]

to_known_columns = column_options(others="--extra-columns")


@click.command(
    epilog=examples(
        "twofold transform flowers.twofold new.csv -o places.csv",
        "cat new.csv | twofold transform flowers.twofold - > places.csv",
    )
)
@model_argument
@data_argument
@output_options(TO_STANDARD_OUTPUT)
@to_known_columns
@table_options
@talk_options
def transform(
    model: Path,
    data: str,
    target: str,
    output_format: str | None,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Take rows down to their latents.

    Columns are matched to those of the fit by name, in any order.
    """
    output = Output.of(target, output_format, str(model), data)
    estimator = load_model(model)
    chosen = data_for(estimator, data, reading, columns, talk)
    with talk.warnings_as_lines():
        Z = in_blocks(estimator.transform, chosen.features, "transform", talk)
    give(Rows.of(latent_names(estimator), Z, chosen), output, talk)


@click.command(
    epilog=examples(
        "twofold reconstruct flowers.twofold new.csv -o rebuilt.csv",
        "twofold reconstruct flowers.twofold places.csv --from-latents -o rebuilt.csv",
    )
)
@model_argument
@data_argument
@click.option(
    "--from-latents",
    is_flag=True,
    help="DATA holds latents, as transform writes them: take them up.",
)
@output_options(TO_STANDARD_OUTPUT)
@to_known_columns
@table_options
@talk_options
def reconstruct(
    model: Path,
    data: str,
    from_latents: bool,
    target: str,
    output_format: str | None,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Rebuild rows from their latents.

    The result is the model's version of each row, without noise.
    """
    output = Output.of(target, output_format, str(model), data)
    estimator = load_model(model)
    rows_for = latents_for if from_latents else data_for
    chosen = rows_for(estimator, data, reading, columns, talk)
    call = estimator.inverse_transform if from_latents else estimator.reconstruct
    with talk.warnings_as_lines():
        X = in_blocks(call, chosen.features, "reconstruct", talk)
    give(Rows.of(feature_names(estimator), X, chosen), output, talk)


@click.command(epilog=examples("twofold sample flowers.twofold -n 100 -o new-flowers.csv"))
@model_argument
@click.option(
    "-n", "--rows", type=click.IntRange(min=1), default=1, show_default=True, help="How many."
)
@seed_option
@output_options(TO_STANDARD_OUTPUT)
@talk_options
def sample(
    model: Path, rows: int, seed: int, target: str, output_format: str | None, talk: Talk
) -> None:
    """Draw new rows from the map.

    Places are drawn where the map is dense, and taken up.
    """
    output = Output.of(target, output_format, str(model))
    estimator = load_model(model)
    with talk.warnings_as_lines():
        X = estimator.sample(rows, random_state=seed)
    give(Rows(feature_names(estimator), X), output, talk)


@click.command(
    epilog=examples(
        "twofold score flowers.twofold held-out.csv",
        "twofold score flowers.twofold new.csv --id flower -o judged.csv",
    )
)
@model_argument
@data_argument
@output_options(
    "Table to write: of each row, how far it is off the manifold and how dense its place is.", None
)
@to_known_columns
@table_options
@talk_options
def score(
    model: Path,
    data: str,
    target: str | None,
    output_format: str | None,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Judge how well a model fits rows.

    The score is the share of their variance that the model keeps: 1 is perfect, 0 is no better than the mean.
    """
    output = None if target is None else Output.of(target, output_format, str(model), data)
    if output is not None and output.is_standard and talk.as_json:
        raise click.UsageError("--json and -o - both want standard output; name a file for one")
    estimator = load_model(model)
    chosen = data_for(estimator, data, reading, columns, talk)
    with talk.warnings_as_lines():
        kept = float(estimator.score(chosen.features))
        distances = in_blocks(estimator.reconstruction_error, chosen.features, "distances", talk)
    if output is not None:
        Z = in_blocks(estimator.transform, chosen.features, "latents", talk)
        density = in_blocks(estimator.log_density, Z, "densities", talk)
        values = np.column_stack([distances, density])
        output.write(Rows.of(["reconstruction_error", "log_density"], values, chosen), talk)
    middle, high, most = np.quantile(distances, [0.5, 0.9, 1.0])
    document: dict[str, Any] = {
        "rows": len(distances),
        "score": kept,
        "reconstruction_error": {"median": middle, "quantile_90": high, "largest": most},
        "written": target,
    }
    lines = [
        ("score", f"{kept:.4f} of the variance kept ({len(distances)} rows)"),
        (
            "off the manifold",
            f"{middle:.4g} in the median, {high:.4g} for one row in ten, {most:.4g} at most",
        ),
    ]
    lines += [("judged rows", str(target))] if output is not None and not output.is_standard else []
    talk.result(document, lines, err=output is not None and output.is_standard)
