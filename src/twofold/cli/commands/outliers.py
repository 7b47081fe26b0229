"""``twofold outliers``: the rows of a table that are unusual for a model, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from twofold.cli.inputs import InputTable, load_model
from twofold.cli.messages import Messages, counted
from twofold.cli.options import (
    RealRange,
    command,
    message_options,
    model_argument,
    output_options,
    table_input,
)
from twofold.cli.progress import in_blocks
from twofold.cli.tables.writing import Output, ResultTable
from twofold.protocols import Array

MOST_NAMED = 3
"""Columns that are named for each flagged row."""

FEWEST_DEVIATIONS = 2.0
"""Deviations from the manifold from which on a column is named; the strangest always is."""


@command(
    "twofold outliers flowers.twofold new.csv -o strange.csv",
    "twofold outliers flowers.twofold new.csv --level 0.01 --in-order",
)
@model_argument
@click.option(
    "--level",
    type=RealRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.05,
    help="Share of usual rows that may be flagged: false alarms.",
)
@click.option("--in-order", is_flag=True, help="Keep the order of the rows.")
@output_options()
@table_input()
@message_options
def outliers(
    model: Path,
    table: InputTable,
    level: float,
    in_order: bool,
    output: Output,
    messages: Messages,
) -> None:
    """Find rows that are unusual for a model, the strangest first.

    The score is minus the decimal logarithm of the p-value: of usual rows, one in a hundred has a
    score of 2 or more. Flagged rows get the columns that are strangest given the others, with their
    distances from the manifold in usual deviations. Rows are numbered from 0, as for the --path of
    explain.
    """
    import pandas as pd

    loaded = load_model(model)
    selection = table.select_for(loaded, messages)
    estimator = loaded.estimator
    call = estimator.outlier_scores
    scores = np.asarray(in_blocks(call, selection.features, "scores", messages), dtype=np.float64)
    flagged = scores >= -np.log10(level) - 1e-6
    strangest = np.full(len(scores), "", dtype=object)
    places = np.flatnonzero(flagged)
    if len(places):
        names, distances = estimator._strangeness(selection.take(places))
        strangest[places] = [_named(names, row) for row in distances]
    values = pd.DataFrame(
        {
            "row": np.asarray(selection.rows),
            "score": scores,
            "p_value": np.power(10.0, -scores),
            "outlier": flagged,
            "strangest": strangest,
        }
    )
    order = np.arange(len(scores)) if in_order else np.argsort(-scores, kind="stable")
    values = values.iloc[order].reset_index(drop=True)
    result = ResultTable.of(list(values.columns), values, selection)
    beside: dict[str, Any] = {name: column[order] for name, column in result.beside.items()}
    result = ResultTable(result.names, values, beside, result.id, result.label)
    said = counted(int(flagged.sum()), "row")
    messages.note(f"{said} of {len(scores)} flagged at level {level:g}")
    output.write_result(result, messages)


def _named(names: list[str], distances: Array) -> str:
    """Return the strangest columns of a row with their distances, as text."""
    order = np.argsort(-distances, kind="stable")[:MOST_NAMED]
    kept = [place for place in order if distances[place] >= FEWEST_DEVIATIONS] or [order[0]]
    return ", ".join(f"{names[place]} ({_told(distances[place])})" for place in kept)


def _told(distance: float) -> str:
    """Return a distance as text; it is infinite in columns that were constant in the fit."""
    return f"{distance:.1f}" if np.isfinite(distance) else "was constant"
