"""``twofold plot``, ``explore`` and ``export``: a model as a picture, a page or an ONNX file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from twofold.cli.errors import needing
from twofold.cli.models import data_for, load_model
from twofold.cli.options import (
    column_options,
    data_argument,
    examples,
    file_option,
    image_shape_option,
    model_argument,
    table_options,
    talk_options,
)
from twofold.cli.pictures import KINDS, draw
from twofold.cli.tables import Chosen, Columns, Reading, check_writable, finished_file
from twofold.cli.talk import Talk

__all__ = ["explore", "export", "plot"]

to_known_columns = column_options(others="--extra-columns")
kinds_help = "; ".join(f"{name}: {kind.about}" for name, kind in KINDS.items())


@click.command(
    epilog=examples(
        "twofold plot flowers.twofold flowers.csv --label species -o map.png",
        "twofold plot digits.twofold --kind decoded --image-shape 8x8 -o digits.png",
    )
)
@model_argument
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="map",
    show_default=True,
    help=kinds_help.capitalize() + ".",
)
@image_shape_option
@file_option("Picture to write.", ".png", ".pdf", ".svg", ".jpg")
@to_known_columns
@table_options
@talk_options
def plot(
    model: Path,
    data: str | None,
    kind: str,
    image_shape: tuple[int, ...] | None,
    output: Path,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Draw a model.

    DATA is needed for labels and for --kind error; a map shows other rows than those of the fit where they come down to.
    """
    check_writable(output, str(model), *([data] if data else []))
    if data is None and (columns.label is not None or KINDS[kind].needs == "data"):
        what = (
            "--label names a column of DATA"
            if columns.label is not None
            else f"--kind {kind} shows DATA"
        )
        raise click.UsageError(f"{what}, which is missing: twofold plot {model} DATA -o {output}")
    with needing("plot"):
        from twofold.plotting import save_figure
    estimator = load_model(model)
    chosen = None if data is None else data_for(estimator, data, reading, columns, talk)
    features, labels = (None, None) if chosen is None else (chosen.features, chosen.labels)
    with talk.warnings_as_lines():
        axes = draw(kind, estimator, features, labels, image_shape)
        with needing("plot"), finished_file(output) as path:
            save_figure(axes, path)
    talk.result({"picture": str(output), "kind": kind}, [("picture", str(output))])


@click.command(
    epilog=examples(
        "twofold explore flowers.twofold flowers.csv --label species -o flowers.html",
        "twofold explore digits.twofold digits.npz --image-shape 8x8 -o digits.html",
    )
)
@model_argument
@data_argument
@click.option("--title", help="Title of the page; else the name of the model's file.")
@click.option(
    "--colour",
    "--color",
    "colour",
    metavar="COL",
    multiple=True,
    help="Further column to colour by; may be repeated.",
)
@click.option(
    "--kind",
    type=click.Choice(["auto", "image", "curve", "table"]),
    default="auto",
    show_default=True,
    help="How a row is shown.",
)
@image_shape_option
@click.option(
    "--max-points",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Rows on the page at most.",
)
@file_option("Page to write.", ".html", ".htm")
@to_known_columns
@table_options
@talk_options
def explore(
    model: Path,
    data: str,
    title: str | None,
    colour: tuple[str, ...],
    kind: str,
    image_shape: tuple[int, ...] | None,
    max_points: int,
    output: Path,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Write a page to explore a model.

    The page is one file for a browser and needs no network.
    """
    check_writable(output, str(model), data)
    from twofold.export.explorer import write

    estimator = load_model(model)
    chosen = data_for(estimator, data, reading, replace(columns, keep=colour), talk)
    coloured = [name for name in (chosen.label, *colour) if name is not None]
    with talk.warnings_as_lines(), finished_file(output) as path:
        write(
            estimator,
            chosen.features,
            path=path,
            title=model.stem if title is None else title,
            feature_names=chosen.names,
            row_names=_row_names(chosen),
            kind=kind,
            image_shape=image_shape,
            max_points=max_points,
            # The label is one of them, the first, so that the page calls it by its name.
            columns={name: chosen.beside[name] for name in coloured},
        )
        size = path.stat().st_size
    lines = [("page", f"{output} ({size / 1e6:.2f} MB); open it in a browser")]
    talk.result({"page": str(output), "bytes": size, "rows": len(chosen.rows)}, lines)


def _row_names(chosen: Chosen) -> list[str]:
    """Return what rows are called on the page: by their column, or by their numbers in the table, from 1 as in every message."""
    if chosen.id is not None:
        return [str(name) for name in chosen.beside[chosen.id]]
    return [f"row {row + 1}" for row in chosen.rows]


@click.command(
    epilog=examples(
        "twofold export flowers.twofold --map up -o up.onnx",
        "twofold export flowers.twofold flowers.csv --label species --distill -o down.onnx",
    )
)
@model_argument
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--map",
    "direction",
    type=click.Choice(["up", "down"]),
    default="down",
    show_default=True,
    help="Down: data to latents. Up: latents to data.",
)
@click.option(
    "--distill",
    is_flag=True,
    help="Write a regression that learned the map, where the map itself is a search and no formula.",
)
@file_option("ONNX file to write.", ".onnx")
@to_known_columns
@table_options
@talk_options
def export(
    model: Path,
    data: str | None,
    direction: str,
    distill: bool,
    output: Path,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Write one of the maps as ONNX.

    Such a file runs without Python. DATA are rows for --distill to learn from, where the model keeps none.
    """
    check_writable(output, str(model), *([data] if data else []))
    from twofold.export.onnx import export as write
    from twofold.export.programs import NoClosedForm

    if distill and direction == "up":
        raise click.UsageError("--distill is for the way down; the way up is a formula")
    estimator = load_model(model)
    chosen = None if data is None else data_for(estimator, data, reading, columns, talk)
    rows = None if chosen is None else chosen.features
    with talk.warnings_as_lines(), finished_file(output) as path, needing("onnx"):
        try:
            report = write(estimator, path, map=direction, distill=distill, X=rows)
        except NoClosedForm as error:
            if distill or direction == "up":
                raise
            raise click.ClickException(
                "the way down of this model is a search, not a formula; --distill writes a formula that comes close, and says how close"
            ) from error
    document = {"onnx": str(output), "map": direction, "bytes": report.n_bytes}
    lines = [(f"map {direction}", f"{output} ({report.n_bytes / 1e6:.2f} MB)")]
    if report.distillation is not None:
        off = report.distillation.relative_deviation
        document["deviation"] = off
        lines.append(("distilled", f"{off:.3f} of the latents' spread off on held-out rows"))
    talk.result(document, lines)
