"""Fit a model to the rows of a table, hold out rows, and score the fit."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.inputs import InputTable
from twofold.cli.messages import Messages, counted, table_size
from twofold.cli.methods import AUTO, METHODS
from twofold.cli.progress import in_blocks, shown_progress
from twofold.cli.tables.columns import Selection
from twofold.cli.tables.reading import frame_of
from twofold.cli.tables.scaling import in_deviations
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from twofold.auto import RaceReport
    from twofold.base.estimator import TwoWayEstimator

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
    def report(self) -> RaceReport | None:
        """The methods that were compared, the winner first, if the model has compared methods."""
        return getattr(self.model, "report_", None)

    def race_table(self) -> list[list[str]]:
        """Return the table of the race, with its header; nothing if there was none."""
        if self.report is None or len(self.report) < 2:
            return []
        figures = ("score", "error", "codebook_error")
        return [["method", "score", "error", "codebook error", "seconds", "verdict"]] + [
            [
                row["method"],
                *("" if row[name] is None else f"{row[name]:.4g}" for name in figures),
                "" if row["seconds"] is None else f"{row['seconds']:.2f}",
                row["verdict"],
            ]
            for row in self.report
        ]

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
        part = getattr(self.model, "fitted_rows_", None)  # if seconds did not suffice for all
        n_fitted = len(self.training if part is None else part)
        shape = n_fitted, self.selection.features.shape[1]
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
        lines = [(type(self.model).__name__, f"{size} in {self.seconds:.1f} s")]
        if self.report is not None:
            winner = self.report[0]["method"]
            document |= {"winner": winner, "race": list(self.report)}
            lines.append(("winner", _about_winner(self.report)))
        lines += [
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


def _about_winner(report: RaceReport) -> str:
    """Return which method won, and its held-out error."""
    first = report[0]
    error = first.get("error")
    if error is None:
        return f"{first['method']}, without a race"
    return f"{first['method']}, which kept {1.0 - error:.4f} of the variance of held-out rows"


def fit_table(
    table: InputTable,
    effort: str | float | None,
    scaled: bool,
    messages: Messages,
    keep: tuple[str, ...] = (),
) -> Fitted:
    """Fit the best method to a table, with ``scaled`` to its standardized columns.

    ``keep`` names further columns to keep beside the features.
    """
    selection = table.select(messages, keep)
    if scaled:
        selection = standardized(selection)
    parameters = {} if effort is None else {"effort": effort}
    model = METHODS[AUTO].make(2, 0, parameters)
    return fit_rows(model, selection, 0.0, 0, messages)


def standardized(selection: Selection) -> Selection:
    """Return a selection whose features have mean 0 and standard deviation 1."""
    values = np.asarray(selection.features, dtype=np.float64)
    scaled = in_deviations(values, values)
    names = selection.names
    return replace(selection, features=scaled if names is None else frame_of(scaled, names))


def note_dominant_column(selection: Selection, messages: Messages) -> None:
    """Print a note if one column has nearly all of the variance."""
    from twofold.auto.worth import DOMINANT

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
