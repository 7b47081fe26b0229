"""A fit of the command line: which rows it sees, how well it does, and what to say of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

import click
import numpy as np

from twofold.cli.progress import in_blocks, shown_progress
from twofold.cli.tables import Chosen
from twofold.cli.talk import Talk
from twofold.cli.words import counted, table_size
from twofold.protocols import AnyArray, Array

__all__ = ["JUDGED_ROWS", "Fitted", "Judged", "fit_rows", "summary", "take"]

JUDGED_ROWS: Final = 2_000
"""Training rows that the score is taken of, where no rows are held out."""


@dataclass(frozen=True)
class Fitted:
    """A model with the rows it was fitted to and those held out."""

    model: Any
    chosen: Chosen
    training: AnyArray
    held_out: AnyArray
    seconds: float

    def latents(self, talk: Talk) -> Array:
        """Return the latents of all rows: those that the fit found, and those of rows held out."""
        features = self.chosen.features
        if len(self.model.embedding_) != len(self.training):  # a model that does not keep them
            return in_blocks(self.model.transform, features, "latents", talk)
        Z = np.empty((len(features), self.model.embedding_.shape[1]))
        Z[self.training] = self.model.embedding_
        if len(self.held_out):
            rows = take(features, self.held_out)
            Z[self.held_out] = in_blocks(self.model.transform, rows, "latents", talk)
        return Z

    @property
    def is_classified(self) -> bool:
        """Tell whether rows that were held out have labels that are classes: fractions are measured values."""
        labels = self.chosen.labels
        if labels is None or not len(self.held_out):
            return False
        return labels.dtype.kind != "f" or bool((labels == np.floor(labels)).all())

    def judged(self, latents: Array | None) -> Judged:
        """Return how well rows are rebuilt: those held out, or some of the training rows."""
        rows, of = self.held_out, "held-out rows"
        if not len(rows):
            step = -(-len(self.training) // JUDGED_ROWS)
            rows, of = self.training[::step], "training rows"
        score = self.model.score(take(self.chosen.features, rows))
        if latents is None or not self.is_classified:
            return Judged(score, len(rows), of)
        from twofold.metrics import nearest_neighbor_accuracy

        labels = np.asarray(self.chosen.labels)
        known = latents[self.training], labels[self.training]
        return Judged(
            score, len(rows), of, nearest_neighbor_accuracy(*known, latents[rows], labels[rows])
        )


@dataclass(frozen=True)
class Judged:
    """How well rows are rebuilt and, where it says something, how often the nearest latent has their label."""

    score: float
    n_rows: int
    of: str
    accuracy: float | None = None


def fit_rows(model: Any, chosen: Chosen, hold_out: float, seed: int, talk: Talk) -> Fitted:
    """Fit a model to the rows that are not held out.

    Parameters
    ----------
    model : TwoWayEstimator
        What to fit.
    chosen : Chosen
        The table.
    hold_out : float
        Share of the rows to hold out, in [0, 1).
    seed : int
        Draws them.
    talk : Talk
        Where progress and warnings go.
    """
    n_rows = len(chosen.features)
    order = np.random.default_rng(seed).permutation(n_rows)
    n_held_out = round(hold_out * n_rows)
    if hold_out and not 0 < n_held_out < n_rows - 1:
        raise click.UsageError(
            f"--hold-out {hold_out} of {n_rows} rows holds out {n_held_out} and leaves {n_rows - n_held_out} to fit"
        )
    held_out, training = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    X = take(chosen.features, training) if n_held_out else chosen.features
    labels = None if chosen.labels is None else chosen.labels[training]
    start = time.perf_counter()
    with shown_progress(talk), talk.warnings_as_lines():
        model.fit(X, labels)
    return Fitted(model, chosen, training, held_out, time.perf_counter() - start)


def summary(fitted: Fitted, judged: Judged) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return what was fitted and how well, for programs and for people."""
    model = fitted.model
    n_rows, n_columns = len(fitted.training), fitted.chosen.features.shape[1]
    n_latents = int(model.embedding_.shape[1])
    document: dict[str, Any] = {
        "rows": n_rows,
        "held_out_rows": len(fitted.held_out),
        "columns": n_columns,
        "latents": n_latents,
        "score": judged.score,
        "score_of": judged.of,
        "nearest_neighbor_accuracy": judged.accuracy,
        "n_iter": getattr(model, "n_iter_", None),
        "seconds": fitted.seconds,
    }
    shape = f"{table_size((n_rows, n_columns))} to {counted(n_latents, 'latent')} in {fitted.seconds:.1f} s"
    lines = [
        (type(model).__name__, shape),
        ("score", f"{judged.score:.4f} of the variance kept ({judged.n_rows} {judged.of})"),
    ]
    if judged.accuracy is not None:
        lines.append(
            ("1-NN", f"{judged.accuracy:.4f} of the {judged.of} have their nearest latent's label")
        )
    return document, lines


def take(features: Any, rows: AnyArray) -> Any:
    """Return some rows of features."""
    return features.iloc[rows] if hasattr(features, "iloc") else features[rows]
