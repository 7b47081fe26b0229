"""``twofold plot``, ``explore`` and ``export``: draw and convert a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.errors import needing
from twofold.cli.fitting import Fitted, fit_table
from twofold.cli.inputs import InputTable, Model, load_model
from twofold.cli.messages import Messages
from twofold.cli.options import (
    Shown,
    command,
    file_option,
    image_shape_option,
    message_options,
    model_argument,
    model_or_table_input,
    table_input,
)
from twofold.cli.serving import check_serve_options, page_server, serve_options
from twofold.cli.tables.columns import Selection, as_texts, color_column
from twofold.cli.tables.reading import STANDARD
from twofold.cli.tables.writing import check_writable
from twofold.numerics.files import whole_file
from twofold.protocols import AnyArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


@dataclass(frozen=True)
class Kind:
    """A kind of plot: the class of `twofold.plotting` that draws it, and its arguments.

    ``takes`` names optional arguments ("data", "labels", "image_shape").
    """

    display: str
    about: str
    needs_data: bool = False
    takes: tuple[str, ...] = ()


KINDS: Final = {
    "map": Kind("LatentMapDisplay", "the latents over their density", takes=("data", "labels")),
    "decoded": Kind("DecodedGridDisplay", "decoded points of the map", takes=("image_shape",)),
    "error": Kind("ReconstructionErrorDisplay", "the reconstruction error", needs_data=True),
    "manifold": Kind("ManifoldDisplay", "the curve or surface among the data", takes=("data",)),
    "candidates": Kind("CandidatesDisplay", "the initializations that were compared"),
    "learning-curve": Kind("LearningCurveDisplay", "the objective over the iterations"),
}


def draw(
    kind: str,
    model: TwoWayEstimator,
    X: Any = None,
    labels: AnyArray | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> Any:
    """Return the display of a plot; arguments that the kind does not take are ignored."""
    wanted = KINDS[kind]
    with needing("plot"):
        from twofold import plotting

        given = {"labels": labels, "image_shape": image_shape}
        options = {name: given[name] for name in wanted.takes if given.get(name) is not None}
        data = [X] if X is not None and (wanted.needs_data or "data" in wanted.takes) else []
        return getattr(plotting, wanted.display).from_estimator(model, *data, **options)


kinds_help = "; ".join(f"{name}: {kind.about}" for name, kind in KINDS.items())


@command(
    "twofold plot flowers.csv --label species -o map.png",
    "twofold plot flowers.twofold flowers.csv -o map.png",
    "twofold plot digits.twofold --kind decoded --image-shape 8x8 -o digits.png",
)
@click.option(
    "--kind", type=click.Choice(list(KINDS)), default="map", help=kinds_help.capitalize() + "."
)
@image_shape_option
@file_option("Picture to write.", ".png", ".pdf", ".svg", ".jpg")
@model_or_table_input
@message_options
def plot(
    shown: Shown,
    kind: str,
    image_shape: tuple[int, ...] | None,
    output: Path,
    messages: Messages,
) -> None:
    """Plot a model, or a table.

    A table without a MODEL is fitted first, by the method that is best on held-out rows. With a
    MODEL, DATA is needed for labels and for --kind error. A map shows the latents of DATA if they
    are not the rows of the fit.
    """
    if shown.table is None and KINDS[kind].needs_data:
        raise click.UsageError(
            f"--kind {kind} shows DATA, which is missing: "
            f"twofold plot {shown.model} DATA --kind {kind} -o {output}"
        )
    with needing("plot"):
        from twofold.plotting import save_figure
    model, chosen, fitted = _shown(shown, messages)
    X, labels = None, None
    if chosen is not None:
        X = _for_pictures(model, chosen, kind)
        labels = chosen.labels
        if labels is None and "labels" in KINDS[kind].takes:
            color = color_column(chosen, messages)
            labels = None if color is None else as_texts(chosen.features[color])
        labels = _with_gaps_as(labels, "missing")
    display = draw(kind, model.core, X, labels, image_shape)
    with needing("plot"), whole_file(output) as path:
        save_figure(display, path)
    _tell({"picture": str(output), "kind": kind}, ("picture", str(output)), fitted, messages)


def _shown(
    shown: Shown, messages: Messages, keep: tuple[str, ...] = ()
) -> tuple[Model, Selection | None, Fitted | None]:
    """Return the model to show, the rows, and the fit if the model is fitted here."""
    if shown.model is None:
        assert shown.table is not None
        fitted = fit_table(shown.table, shown.effort, shown.scale, messages, keep)
        return fitted.model, fitted.selection, fitted
    model, table = load_model(shown.model), shown.table
    return model, None if table is None else table.select_for(model, messages, keep), None


def _with_gaps_as(labels: AnyArray | None, gap: str | None) -> Any:
    """Return labels in which missing texts are replaced."""
    if labels is None or labels.dtype != object:
        return labels
    return np.array([gap if label == "" else label for label in labels], dtype=object)


def _for_pictures(model: Model, chosen: Selection, kind: str) -> Any:
    """Return rows as the model of numbers takes them, without gaps where a picture shows data."""
    X = model.encoded(chosen.features)
    if kind in ("error", "manifold") and chosen.n_gaps:
        X = model.core.impute(X)
    return X


def _tell(
    document: dict[str, Any], line: tuple[str, str], fitted: Fitted | None, messages: Messages
) -> None:
    """Print what was written, after the summary of a fit if there was one."""
    if fitted is None:
        messages.result(document, [line])
        return
    about, lines = fitted.summary(None)
    messages.result({**document, "fit": about}, [*lines, line], table=fitted.race_table())


@command(
    "twofold explore flowers.csv --label species",
    "twofold explore flowers.twofold flowers.csv -o flowers.html",
    "twofold explore digits.twofold digits.npz --image-shape 8x8 -o digits.html",
    "twofold explore large.twofold large.parquet --serve",
)
@click.option("--title", help="Title of the page [default: the name of the model or table].")
@click.option(
    "--color",
    "color",
    metavar="COL",
    multiple=True,
    help="Another column to color by; may be repeated.",
)
@click.option(
    "--kind",
    type=click.Choice(["auto", "image", "curve", "table"]),
    default="auto",
    help="How a row is shown.",
)
@image_shape_option
@click.option(
    "--max-points",
    type=click.IntRange(min=1),
    default=1_000_000,
    help="Largest number of rows on the page; of more than 100,000 their values are left out.",
)
@serve_options
@file_option(
    "Page to write [default: the name of the model or table, with .html].",
    ".html",
    ".htm",
    required=False,
)
@model_or_table_input
@message_options
def explore(
    shown: Shown,
    title: str | None,
    color: tuple[str, ...],
    kind: str,
    image_shape: tuple[int, ...] | None,
    max_points: int,
    serve: bool,
    port: int,
    output: Path | None,
    messages: Messages,
) -> None:
    """Write a web page to explore a model, or a table.

    The page is one file and needs no network. A table without a MODEL is fitted first, by the
    method that is best on held-out rows; 'twofold fit' does the same and keeps the model.

    With --serve the page is not written but served to browsers on this computer, until Ctrl-C. It
    stays small, because rows and model stay here, and the model maps new rows.
    """
    from twofold.export.explorer import write

    check_serve_options(serve, port, output)
    if shown.table is None:
        raise click.UsageError(
            f"DATA is missing, the rows to show: twofold explore {shown.model} DATA"
        )
    if not serve:
        output = _own_page(shown) if output is None else output
    model, chosen, fitted = _shown(shown, messages, keep=color)
    assert chosen is not None
    colored = [name for name in (chosen.label, *color) if name is not None]
    columns = {name: chosen.beside[name] for name in colored}
    if not columns and (found := color_column(chosen, messages)) is not None:
        columns = {found: as_texts(chosen.features[found])}
    columns = {name: _with_gaps_as(values, None) for name, values in columns.items()}
    options: dict[str, Any] = {
        "title": shown.stem if title is None else title,
        "feature_names": chosen.names,
        "row_names": _row_names(chosen),
        "kind": kind,
        "image_shape": image_shape,
        "max_points": max_points,
        # The label is the first of these columns, so that the page shows its name.
        "columns": columns,
    }
    if output is None:
        with page_server(model, shown.table, chosen.features, options, port) as server:
            document = {"address": server.address, "rows": len(chosen.rows)}
            _tell(document, ("page", f"{server.address} (Ctrl-C ends it)"), fitted, messages)
            server.serve_forever()
        return
    with whole_file(output) as path:
        write(model.estimator, chosen.features, path=path, **options)
        size = path.stat().st_size
    n_rows = len(chosen.rows)
    n_shown = min(n_rows, max_points)
    document = {"page": str(output), "bytes": size, "rows": n_rows, "shown": n_shown}
    some = "" if n_shown == n_rows else f", with {n_shown:,} of {n_rows:,} rows"
    line = ("page", f"{output} ({size / 1e6:.2f} MB{some}); open it in a browser")
    _tell(document, line, fitted, messages)


def _own_page(shown: Shown) -> Path:
    """Return the page to write if none is named; files of other programs are not replaced."""
    if shown.model is None and shown.table is not None and shown.table.data == STANDARD:
        raise click.UsageError("standard input has no name: name the page with -o page.html")
    page = Path(f"{shown.stem}.html")
    check_writable(page)
    if page.exists() and MARK not in page.read_bytes()[:2_000]:
        raise click.UsageError(f"{page} exists and was not written by twofold: name a page with -o")
    return page


MARK: Final = b'name="generator" content="twofold"'
"""What the first lines of each page contain."""


def _row_names(chosen: Selection) -> list[str]:
    """Return the names of rows on the page: their id, or their number in the table from 0."""
    if chosen.id is not None:
        return [str(name) for name in chosen.beside[chosen.id]]
    return [f"row {row}" for row in chosen.rows]


@command(
    "twofold export flowers.twofold --map up -o up.onnx",
    "twofold export flowers.twofold flowers.csv -o down.onnx",
)
@model_argument
@click.option(
    "--map",
    "direction",
    type=click.Choice(["up", "down"]),
    default="down",
    help="Down encodes data, up decodes latents.",
)
@click.option(
    "--distill/--no-distill",
    default=None,
    help="If the encoder is a search, write a regression that approximates it (default), or fail.",
)
@file_option("ONNX file to write.", ".onnx")
@table_input(required=False)
@message_options
def export(
    model: Path,
    table: InputTable | None,
    direction: str,
    distill: bool | None,
    output: Path,
    messages: Messages,
) -> None:
    """Write the encoder or the decoder as ONNX.

    Such a file runs without Python. An encoder that is a search is replaced by a regression, and
    its error on held-out rows is printed. DATA are rows to learn it from, best new ones; without
    them the rows that the model keeps serve.
    """
    from twofold.export.onnx import export as write
    from twofold.export.programs.translation import NoClosedForm

    if distill and direction == "up":
        raise click.UsageError("--distill is for --map down; the decoder is a formula")
    loaded = load_model(model)
    chosen = None if table is None else table.select_for(loaded, messages)
    rows = None if chosen is None else chosen.features
    with whole_file(output) as path, needing("onnx"):
        way = "auto" if distill is None else distill
        try:
            report = write(loaded.estimator, path, map=direction, distill=way, X=rows)
        except NoClosedForm as error:
            if distill is not False:
                raise
            raise click.ClickException(
                "the encoder of this model is a search, not a formula; without --no-distill a "
                "formula is written that approximates it"
            ) from error
    document = {"onnx": str(output), "map": direction, "bytes": report.n_bytes}
    lines = [(f"map {direction}", f"{output} ({report.n_bytes / 1e6:.2f} MB)")]
    if report.distillation is not None:
        told = report.distillation
        document["deviation"] = told.relative_deviation
        document |= {"error": told.error, "distilled_error": told.distilled_error}
        text = f"held-out latents deviate by {told.relative_deviation:.3f} of their spread"
        if told.error is not None and told.distilled_error is not None:
            text += f", the error is {told.distilled_error:.3f} instead of {told.error:.3f}"
        lines.append(("distilled", text))
    messages.result(document, lines)
