"""``twofold fit``: fit a model to a table, hold out rows, and score the fit."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.inputs import InputTable, latent_names
from twofold.cli.messages import Messages, counted, table_size
from twofold.cli.methods import METHODS, complete_setting, parse_settings
from twofold.cli.options import command, message_options, seed_option, table_input
from twofold.cli.progress import in_blocks, shown_progress
from twofold.cli.tables.columns import Selection
from twofold.cli.tables.reading import FORMATS
from twofold.cli.tables.writing import Output, ResultTable, check_writable
from twofold.numerics.files import whole_file
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

DOMINANT: Final = 0.9
"""A column with more than this share of the variance dominates the map."""

SCORED_ROWS: Final = 2_000
"""The score uses at most this many training rows if no rows are held out."""


@dataclass(frozen=True)
class Fitted:
    """A model, with the indices of the rows of its fit and of the held-out rows."""

    model: TwoWayEstimator
    selection: Selection
    training: AnyArray
    held_out: AnyArray
    seconds: float

    def latents(self, messages: Messages) -> Array:
        """Return the latents of all rows: those of the fit, and encoded held-out rows."""
        features, embedding = self.selection.features, self.model.embedding_
        if len(embedding) != len(self.training):  # the model does not keep its embedding
            return in_blocks(self.model.transform, features, "latents", messages)
        Z = np.empty((len(features), embedding.shape[1]))
        Z[self.training] = embedding
        if len(self.held_out):
            rows = self.selection.take(self.held_out)
            Z[self.held_out] = in_blocks(self.model.transform, rows, "latents", messages)
        return Z

    @property
    def has_classes(self) -> bool:
        """Whether held-out rows have labels that are classes; labels with fractions are not."""
        labels = self.selection.labels
        if labels is None or not len(self.held_out):
            return False
        return labels.dtype.kind != "f" or bool((labels == np.floor(labels)).all())

    def summary(self, latents: Array | None) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Score held-out rows, or else training rows; return a JSON document and lines."""
        rows, of = self.held_out, "held-out rows"
        if not len(rows):
            step = -(-len(self.training) // SCORED_ROWS)
            rows, of = self.training[::step], "training rows"
        score, accuracy = self.model.score(self.selection.take(rows)), None
        if latents is not None and self.has_classes:
            from twofold.metrics import nearest_neighbor_accuracy

            labels = np.asarray(self.selection.labels)
            known = latents[self.training], labels[self.training]
            accuracy = nearest_neighbor_accuracy(*known, latents[rows], labels[rows])
        shape = len(self.training), self.selection.features.shape[1]
        n_latents = int(self.model.embedding_.shape[1])
        document: dict[str, Any] = {
            "rows": shape[0],
            "held_out_rows": len(self.held_out),
            "columns": shape[1],
            "latents": n_latents,
            "score": score,
            "score_of": of,
            "nearest_neighbor_accuracy": accuracy,
            "n_iter": getattr(self.model, "n_iter_", None),
            "seconds": self.seconds,
        }
        size = f"{table_size(shape)} to {counted(n_latents, 'latent')}"
        lines = [
            (type(self.model).__name__, f"{size} in {self.seconds:.1f} s"),
            ("score", f"{score:.4f} of the variance kept ({len(rows)} {of})"),
        ]
        if accuracy is not None:
            about = f"{accuracy:.4f} of the {of} have the label of their nearest latent"
            lines.append(("1-NN", about))
        return document, lines


def fit_rows(
    model: TwoWayEstimator, selection: Selection, hold_out: float, seed: int, messages: Messages
) -> Fitted:
    """Fit a model to all rows except a random share ``hold_out`` of them, in [0, 1)."""
    n_rows = len(selection.features)
    order = np.random.default_rng(seed).permutation(n_rows)
    n_held_out = round(hold_out * n_rows)
    if hold_out and not 0 < n_held_out < n_rows - 1:
        raise click.UsageError(
            f"--hold-out {hold_out} of {n_rows} rows holds out {n_held_out} and leaves "
            f"{n_rows - n_held_out} to fit"
        )
    held_out, training = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    X = selection.take(training) if n_held_out else selection.features
    labels = None if selection.labels is None else selection.labels[training]
    start = time.perf_counter()
    with shown_progress(messages), messages.warnings_as_lines():
        model.fit(X, labels)
    return Fitted(model, selection, training, held_out, time.perf_counter() - start)


def _number_of_dimensions(_: click.Context, __: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} must be an integer >= 1, or 'auto' for isomap.")
    return int(value)


@command(
    "twofold fit flowers.csv --label species -o flowers.twofold",
    "twofold fit flowers.csv --label species -m isomap -q 3 --embedding latents.csv",
    "twofold fit digits.npz --hold-out 0.1 --set init=tsne -o digits.twofold",
)
@click.option("-m", "--method", type=click.Choice(list(METHODS)), default="ukr", help="Method.")
@click.option(
    "-q",
    "--dimensions",
    metavar="N",
    callback=_number_of_dimensions,
    default="2",
    help="Number of latent dimensions.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    shell_complete=complete_setting,
    help="A parameter of the method, in JSON or as text; may be repeated.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Model to write."
)
@click.option("--embedding", metavar="FILE", help="Table of latents to write, or '-'.")
@click.option(
    "--hold-out",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=0.0,
    help="Share of the rows to hold out and score, such as 0.1.",
)
@seed_option
@table_input(others="--text-columns")
@message_options
def fit(
    table: InputTable,
    method: str,
    dimensions: int | str,
    settings: tuple[str, ...],
    output: Path | None,
    embedding: str | None,
    hold_out: float,
    seed: int,
    messages: Messages,
) -> None:
    """Fit a model to a table.

    The model has latents for the rows of the table, an encoder from data to latents, and a decoder
    from latents to data.

    DATA is CSV, TSV, Parquet, NPY or NPZ, or '-' for standard input. Columns are features, rows are
    samples.
    """
    if output is None and embedding is None:
        raise click.UsageError(
            "nothing to write: use -o model.twofold for the model, --embedding latents.csv for the "
            "latents"
        )
    model = METHODS[method].make(dimensions, seed, parse_settings(method, settings))
    latents_out = None if embedding is None else Output.of(embedding, None, table.data)
    on_stdout = latents_out is not None and latents_out.is_standard
    if on_stdout and messages.as_json:
        raise click.UsageError(
            "--json and --embedding - both use standard output; name a file for the latents"
        )
    if output is not None:
        _check_model_file(output, table.data)
    selection = table.select(messages)
    _check_labels(selection, method)
    _note_dominant_column(selection, messages)
    fitted = fit_rows(model, selection, hold_out, seed, messages)
    needs_latents = latents_out is not None or fitted.has_classes
    latents = fitted.latents(messages) if needs_latents else None
    document, lines = fitted.summary(latents)
    document |= {"method": method, "model": output and str(output), "embedding": embedding}
    with ExitStack() as files:
        if output is not None:
            model.save(files.enter_context(whole_file(output)))
            lines.append(("model", str(output)))
        if latents_out is not None and latents is not None:
            latents_out.write(ResultTable.of(latent_names(model), latents, selection), messages)
            lines += [] if on_stdout else [("latents", latents_out.target)]
    messages.result(document, lines, err=on_stdout)


def _check_model_file(path: Path, data: str) -> None:
    if str(path) == "-":
        raise click.UsageError("a model needs a file: -o model.twofold")
    if path.suffix.lower() in FORMATS:
        raise click.UsageError(
            f"-o {path} is the model; write the table of latents with --embedding {path}"
        )
    check_writable(path, data)


def _check_labels(selection: Selection, method: str) -> None:
    """Raise an error if a supervised method has rows without a label."""
    if not METHODS[method].needs_labels:
        return
    if selection.labels is None:
        raise click.UsageError(
            f"{method} learns from labels: name their column with --label, or use -m isomap"
        )
    missing = [row for row, label in enumerate(selection.labels) if label == ""]
    if missing:
        raise click.ClickException(
            f"{counted(len(missing), 'row')} without a label in {selection.label}, the first is "
            f"row {selection.rows[missing[0]] + 1}; label or remove these rows"
        )


def _note_dominant_column(selection: Selection, messages: Messages) -> None:
    """Print a note if one column has nearly all of the variance."""
    n_rows = len(selection.rows)
    some = selection.take(np.arange(0, n_rows, -(-n_rows // SCORED_ROWS)))
    values = np.asarray(some, dtype=np.float64)
    with np.errstate(all="ignore"):
        spreads = values.std(axis=0)
        shares = np.square(spreads / spreads.max())
    if values.shape[1] > 1 and shares.max() > DOMINANT * shares.sum():
        column = int(shares.argmax())
        name = f"column {column + 1}" if selection.names is None else selection.names[column]
        messages.note(
            f"{name} has {100 * shares.max() / shares.sum():.1f} % of the variance and dominates "
            "the map; if units differ, 'twofold standardize' puts all columns on one scale"
        )
