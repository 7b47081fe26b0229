"""Fit a model, hold out rows, and measure the fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.messages import Messages, counted, table_size
from twofold.cli.progress import in_blocks, shown_progress
from twofold.cli.tables import Selection
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

__all__ = ["SCORED_ROWS", "Fitted", "Scores", "fit_rows", "summary"]

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

    def scores(self, latents: Array | None) -> Scores:
        """Score the held-out rows, or else some of the training rows."""
        rows, of = self.held_out, "held-out rows"
        if not len(rows):
            step = -(-len(self.training) // SCORED_ROWS)
            rows, of = self.training[::step], "training rows"
        score = self.model.score(self.selection.take(rows))
        if latents is None or not self.has_classes:
            return Scores(score, len(rows), of)
        from twofold.metrics import nearest_neighbor_accuracy

        labels = np.asarray(self.selection.labels)
        known = latents[self.training], labels[self.training]
        accuracy = nearest_neighbor_accuracy(*known, latents[rows], labels[rows])
        return Scores(score, len(rows), of, accuracy)


@dataclass(frozen=True)
class Scores:
    """The share of variance kept and, for labelled classes, the nearest-neighbour accuracy."""

    score: float
    n_rows: int
    of: str
    accuracy: float | None = None


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


def summary(fitted: Fitted, scores: Scores) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the fit and its scores, as a JSON document and as lines."""
    model = fitted.model
    shape = len(fitted.training), fitted.selection.features.shape[1]
    n_latents = int(model.embedding_.shape[1])
    document: dict[str, Any] = {
        "rows": shape[0],
        "held_out_rows": len(fitted.held_out),
        "columns": shape[1],
        "latents": n_latents,
        "score": scores.score,
        "score_of": scores.of,
        "nearest_neighbor_accuracy": scores.accuracy,
        "n_iter": getattr(model, "n_iter_", None),
        "seconds": fitted.seconds,
    }
    size = f"{table_size(shape)} to {counted(n_latents, 'latent')}"
    lines = [
        (type(model).__name__, f"{size} in {fitted.seconds:.1f} s"),
        ("score", f"{scores.score:.4f} of the variance kept ({scores.n_rows} {scores.of})"),
    ]
    if scores.accuracy is not None:
        about = f"of the {scores.of} have the label of their nearest latent"
        lines.append(("1-NN", f"{scores.accuracy:.4f} {about}"))
    return document, lines
