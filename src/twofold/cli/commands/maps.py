"""``twofold transform``, ``reconstruct``, ``impute``, ``sample`` and ``score``: apply a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from twofold.cli.inputs import InputTable, Model, complete_rows, load_model
from twofold.cli.measurement import MapQuality, judge_map, training_latents
from twofold.cli.messages import Messages, counted
from twofold.cli.options import (
    command,
    message_options,
    model_argument,
    output_options,
    seed_option,
    table_input,
)
from twofold.cli.progress import in_blocks
from twofold.cli.tables.writing import Output, ResultTable
from twofold.metrics import relative_reconstruction_error
from twofold.protocols import Array


@command(
    "twofold transform flowers.twofold new.csv -o latents.csv",
    "cat new.csv | twofold transform flowers.twofold - > latents.csv",
)
@model_argument
@output_options()
@table_input()
@message_options
def transform(model: Path, table: InputTable, output: Output, messages: Messages) -> None:
    """Encode rows: compute their latents.

    Columns are matched to those of the fit by name, in any order.
    """
    loaded = load_model(model)
    selection = table.select_for(loaded, messages)
    Z = in_blocks(loaded.estimator.transform, selection.features, "transform", messages)
    output.write_result(ResultTable.of(loaded.latent_names, Z, selection), messages)


@command(
    "twofold reconstruct flowers.twofold new.csv -o rebuilt.csv",
    "twofold reconstruct flowers.twofold latents.csv --from-latents -o rebuilt.csv",
)
@model_argument
@click.option(
    "--from-latents",
    is_flag=True,
    help="DATA holds latents, as transform writes them: decode them.",
)
@output_options()
@table_input()
@message_options
def reconstruct(
    model: Path, table: InputTable, from_latents: bool, output: Output, messages: Messages
) -> None:
    """Reconstruct rows from their latents.

    Each row is encoded and decoded, which removes noise.
    """
    loaded = load_model(model)
    select = table.select_latents if from_latents else table.select_for
    selection = select(loaded, messages)
    estimator = loaded.estimator
    call = estimator.inverse_transform if from_latents else estimator.reconstruct
    X = in_blocks(call, selection.features, "reconstruct", messages)
    output.write_result(ResultTable.of(_names(loaded, X), X, selection), messages)


def _names(model: Model, X: Any) -> list[str]:
    """Return the names of the columns of decoded rows."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else model.feature_names


@command(
    "twofold impute penguins.twofold penguins.csv -o filled.csv",
    "twofold impute penguins.twofold penguins.csv --std -o filled.csv",
)
@model_argument
@click.option(
    "--std",
    is_flag=True,
    help="Add the uncertainty of each column with gaps, as NAME_std: a standard deviation, for "
    "categories one minus the probability, 0 for observed cells.",
)
@output_options()
@table_input()
@message_options
def impute(model: Path, table: InputTable, std: bool, output: Output, messages: Messages) -> None:
    """Fill missing cells with the values of the model.

    Observed cells, other columns and the order of columns stay as they are.
    """
    import pandas as pd

    loaded = load_model(model)
    content = table.read(messages)
    selection = table.select_in(content, loaded, messages)
    features = selection.features
    filled, spread = loaded.estimator.impute(features, return_std=True)
    if not hasattr(filled, "columns"):
        filled = pd.DataFrame(filled, columns=selection.names or content.names)
        spread = pd.DataFrame(spread, columns=filled.columns)
    whole = content.frame.iloc[selection.rows].reset_index(drop=True)
    gaps = pd.DataFrame(features).isna().to_numpy()
    for number, name in enumerate(filled.columns):
        if gaps[:, number].any():
            whole[name] = filled[name].to_numpy()
    if std:
        for name in [str(name) for name in spread.columns]:
            if gaps[:, list(filled.columns).index(name)].any():
                whole[f"{name}_std"] = spread[name].to_numpy()
    messages.note(f"{content.name}: {counted(int(gaps.sum()), 'gap')} filled")
    output.write_result(ResultTable([str(name) for name in whole.columns], whole), messages)


@command("twofold sample flowers.twofold -n 100 -o new-flowers.csv")
@model_argument
@click.option("-n", "--rows", type=click.IntRange(min=1), default=1, help="Number of rows.")
@seed_option
@output_options()
@message_options
def sample(model: Path, rows: int, seed: int, output: Output, messages: Messages) -> None:
    """Draw new rows from the model.

    Latents are drawn from their density and decoded.
    """
    loaded = load_model(model)
    X = loaded.estimator.sample(rows, random_state=seed)
    output.write_result(ResultTable(_names(loaded, X), X), messages)


@command(
    "twofold score flowers.twofold held-out.csv",
    "twofold score flowers.twofold new.csv --id flower -o scores.csv",
)
@model_argument
@output_options("Table to write, with the reconstruction error and log density of each row.", None)
@table_input()
@message_options
def score(model: Path, table: InputTable, output: Output | None, messages: Messages) -> None:
    """Measure how well a model fits rows.

    The score is the share of the variance that the model keeps: 1 is perfect, 0 is no better than
    the mean. Codebook errors are the shares that are lost if latents are rounded to a few codewords
    first: they are high if the map is rough, torn or folded. The map score sees all of them; higher
    is better. Compare it between models on the same rows.
    """
    on_stdout = output is not None and output.is_standard
    if on_stdout and messages.as_json:
        raise click.UsageError("--json and -o - both use standard output; name a file for -o")
    loaded = load_model(model)
    estimator = loaded.estimator
    selection = table.select_for(loaded, messages)
    kept = float(estimator.score(selection.features))
    distances = in_blocks(estimator.reconstruction_error, selection.features, "distances", messages)
    Z = in_blocks(estimator.transform, selection.features, "latents", messages)
    quality = _quality(loaded, selection.features, Z, messages)
    if output is not None:
        density = in_blocks(estimator.log_density, Z, "densities", messages)
        values = np.column_stack([distances, density])
        names = ["reconstruction_error", "log_density"]
        output.write(ResultTable.of(names, values, selection), messages)
    median, high, largest = np.quantile(distances, [0.5, 0.9, 1.0])
    document: dict[str, Any] = {
        "rows": len(distances),
        "score": kept,
        "map_score": None if quality is None else quality.map_score,
        "codebook_errors": None if quality is None else quality.codebook_errors,
        "reconstruction_error": {"median": median, "quantile_90": high, "largest": largest},
        "written": None if output is None else output.target,
    }
    lines = [
        ("score", f"{kept:.4f} of the variance kept ({len(distances)} rows)"),
        ("error", f"median {median:.4g}, 90 % quantile {high:.4g}, largest {largest:.4g}"),
    ]
    if quality is not None and np.isfinite(quality.map_score):
        errors = quality.codebook_errors.items()
        listed = ", ".join(f"{error:.4f} at {size}" for size, error in errors)
        lines += [("codebook", f"{listed} codewords, of the variance lost")] if listed else []
        lines += [("map score", f"{quality.map_score:.4f}, higher is better")]
    lines += [("table", output.target)] if output is not None and not on_stdout else []
    messages.result(document, lines, err=on_stdout)


def _quality(model: Model, X: Any, Z: Array, messages: Messages) -> MapQuality | None:
    """Return the quality of the map for rows with latents Z (m, q), if it can be judged.

    Rows with gaps do not count. Columns of several kinds are judged as they are encoded.
    """
    core = model.core
    latents = training_latents(core)
    data = model.encoded(X)
    complete = complete_rows(data)
    if latents is None or not complete.any():
        return None
    if not complete.all():
        messages.note(f"codebook errors and the map score are of {complete.sum()} complete rows")
        data, Z = np.asarray(data, dtype=np.float64)[complete], Z[complete]
    rebuilt = in_blocks(core.inverse_transform, Z, "reconstructions", messages)
    return judge_map(core, latents, data, Z, relative_reconstruction_error(data, rebuilt))
