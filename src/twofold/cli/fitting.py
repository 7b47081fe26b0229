"""Fit a model to the rows of a table, hold out rows, and score the fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.inputs import InputTable, Model
from twofold.cli.messages import Messages, counted, table_size
from twofold.cli.methods import AUTO, METHODS
from twofold.cli.progress import in_blocks, shown_progress
from twofold.cli.tables.columns import Selection, about_selection
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from twofold.auto import RaceReport
    from twofold.base.estimator import TwoWayEstimator
    from twofold.tables import TableMap

SCORED_ROWS: Final = 2_000
"""The score uses at most this many training rows if no rows are held out."""


@dataclass(frozen=True)
class Fitted:
    """A model, with the indices of the rows of its fit and of the held-out rows."""

    model: Model
    selection: Selection
    training: AnyArray
    held_out: AnyArray
    seconds: float

    def latents(self, messages: Messages) -> Array:
        """Return the latents of all rows: those of the fit, and encoded held-out rows."""
        features, embedding = self.selection.features, self.model.core.embedding_
        transform = self.model.estimator.transform
        if len(embedding) != len(self.training):  # the model does not keep its embedding
            return np.asarray(in_blocks(transform, features, "latents", messages))
        Z = np.empty((len(features), embedding.shape[1]))
        Z[self.training] = embedding
        if len(self.held_out):
            rows = self.selection.take(self.held_out)
            Z[self.held_out] = in_blocks(transform, rows, "latents", messages)
        return Z

    @property
    def report(self) -> RaceReport | None:
        """The methods that were compared, the winner first, if the model has compared methods."""
        return getattr(self.model.core, "report_", None)

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
        score, accuracy = self.model.estimator.score(self.selection.take(rows)), None
        if latents is not None and self.has_classes:
            from twofold.metrics import nearest_neighbor_accuracy

            labels = np.asarray(self.selection.labels)
            known = latents[self.training], labels[self.training]
            accuracy = nearest_neighbor_accuracy(*known, latents[rows], labels[rows])
        part = getattr(self.model.core, "fitted_rows_", None)  # if seconds did not suffice for all
        n_fitted = len(self.training if part is None else part)
        shape = n_fitted, self.selection.features.shape[1]
        n_latents = int(self.model.core.embedding_.shape[1])
        document: dict[str, Any] = {
            "rows": shape[0],
            "held_out_rows": len(self.held_out),
            "columns": shape[1],
            "latents": n_latents,
            "score": score,
            "score_of": of,
            "nearest_neighbor_accuracy": accuracy,
            "gaps": self.selection.n_gaps,
            "kinds": self.model.kinds,
            "scale": self.model.core.scale,
            **self.model.roles.facts(),
            "n_iter": getattr(self.model.core, "n_iter_", None),
            "seconds": self.seconds,
        }
        size = f"{table_size(shape)} to {counted(n_latents, 'latent')}"
        lines = [(type(self.model.core).__name__, f"{size} in {self.seconds:.1f} s")]
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
    estimator: TwoWayEstimator | TableMap,
    selection: Selection,
    hold_out: float,
    seed: int,
    messages: Messages,
) -> Fitted:
    """Fit an estimator to all rows except a random share ``hold_out`` of them, in [0, 1)."""
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
    with shown_progress(messages):
        estimator.fit(X, labels)
    model = Model(estimator, selection.roles)
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
    scale: str,
    messages: Messages,
    keep: tuple[str, ...] = (),
) -> Fitted:
    """Fit the best method to a table; ``keep`` names columns to keep beside the features."""
    selection = table.select(messages, keep)
    parameters = {} if effort is None else {"effort": effort}
    model = METHODS[AUTO].make(2, 0, parameters)
    estimator, selection = prepared(model, table.data, selection, scale, messages)
    return fit_rows(estimator, selection, 0.0, 0, messages)


def prepared(
    model: TwoWayEstimator, name: str, selection: Selection, scale: str, messages: Messages
) -> tuple[TwoWayEstimator | TableMap, Selection]:
    """Return the estimator for a table, and its features; print what the columns are taken for.

    A complete table of numbers is fitted as it is, in the units of ``scale``. All others are
    encoded by a `TableMap`, in which each column has the same weight.
    """
    if selection.all_numbers and (not selection.n_gaps or scale != "auto"):
        selection = selection.as_numbers()
        names = selection.names
        _print(messages, name, selection, {} if names is None else dict.fromkeys(names, "number"))
        model.set_params(scale=_scale(name, selection, scale, messages))
        return model, selection
    if scale != "auto":
        what = "has columns that are not numbers" if not selection.kinds else "is given kinds"
        raise click.UsageError(
            f"--scale {scale} is for tables of numbers; {name} {what}, and is encoded with the "
            "same weight for each column"
        )
    from twofold.tables import TableMap
    from twofold.tables.frames import as_frame
    from twofold.tables.measuring import measure

    layout = measure(as_frame(selection.features), selection.kinds or None)
    _print(messages, name, selection, layout.kinds)
    n_left = sum(column.width for column in layout.columns)
    wanted = model.get_params(deep=False)["n_components"]
    if isinstance(wanted, int) and wanted > n_left:
        raise click.ClickException(
            f"-q {wanted} is too many: {name} has {counted(n_left, 'column')} after encoding"
        )
    messages.note("  each column has the same weight, whatever its unit")
    return TableMap(model, kinds=selection.kinds or None), selection


def _print(messages: Messages, name: str, selection: Selection, kinds: dict[str, str]) -> None:
    for line in about_selection(name, selection, kinds):
        messages.note(line)


def _scale(name: str, selection: Selection, scale: str, messages: Messages) -> str | None:
    """Return the scale of columns; "auto" is "standard" if one column has nearly all variance."""
    if scale != "auto":
        return None if scale == "none" else scale
    from twofold.auto.worth import DOMINANT

    n_rows = len(selection.rows)
    some = selection.take(np.arange(0, n_rows, -(-n_rows // SCORED_ROWS)))
    values = np.asarray(some, dtype=np.float64)
    with np.errstate(all="ignore"):
        spreads = values.std(axis=0)
        shares = np.square(spreads / spreads.max())
    if values.shape[1] > 1 and shares.max() > DOMINANT * shares.sum():
        column = int(shares.argmax())
        which = f"column {column + 1}" if selection.names is None else selection.names[column]
        messages.note(
            f"{name}: {which} has {100 * shares.max() / shares.sum():.1f} % of the variance, so "
            "columns are scaled to standard deviation 1 (--scale none keeps their units)"
        )
        return "standard"
    return None
