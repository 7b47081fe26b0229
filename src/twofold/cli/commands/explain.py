"""``twofold explain``: which features move rows on the map, change along a path, or differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from twofold.cli.inputs import InputTable, Model, load_model
from twofold.cli.messages import Messages, did_you_mean, listed
from twofold.cli.options import (
    RealRange,
    command,
    message_options,
    model_argument,
    output_options,
    table_input,
)
from twofold.cli.tables.columns import Selection
from twofold.cli.tables.writing import Output, ResultTable
from twofold.explaining.printing import MOST_PRINTED, shown
from twofold.explaining.reference import SCALE

PLACES = 50
"""Places of a path."""


@command(
    "twofold explain flowers.twofold flowers.csv",
    "twofold explain flowers.twofold new.csv --top 2 -o explained.csv",
    "twofold explain flowers.twofold flowers.csv --difference setosa virginica",
    "twofold explain flowers.twofold flowers.csv --path 0 100",
)
@model_argument
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=3,
    help="Features of each row in the table of -o.",
)
@click.option(
    "--scale",
    type=RealRange(min=0.0),
    default=SCALE,
    help="Width of the neighborhood, in standard deviations of the map; 0 is a single place.",
)
@click.option(
    "--difference",
    nargs=2,
    metavar="A B",
    help="Explain how rows of label A differ from those of label B; 'rest' is all other rows.",
)
@click.option(
    "--path",
    nargs=2,
    type=click.IntRange(min=0),
    metavar="FROM TO",
    help="Explain the straight path on the map between two rows, numbered from 0.",
)
@output_options("Table to write: the strongest features of each row, or one line a feature.", None)
@table_input()
@message_options
def explain(
    model: Path,
    table: InputTable,
    output: Output | None,
    messages: Messages,
    top: int,
    scale: float,
    difference: tuple[str, str] | None,
    path: tuple[int, int] | None,
) -> None:
    """Find the features that make places of the map different.

    Effects are in standard deviations of the map for one standard deviation of the feature, and
    features are sorted by them.
    """
    if difference is not None and path is not None:
        raise click.UsageError("--difference and --path exclude each other; use one of them")
    on_stdout = output is not None and output.is_standard
    if on_stdout and messages.as_json:
        raise click.UsageError("--json and -o - both use standard output; name a file for -o")
    loaded = load_model(model)
    selection = table.select_for(loaded, messages)
    estimator = loaded.estimator
    if difference is not None:
        found = _difference(loaded, selection, difference)
        result = _of_features(found)
    elif path is not None:
        found = _path(loaded, selection, path, scale)
        result = _of_features(found)
    else:
        found = estimator.explain(selection.features, scale=scale)
        frame = found.per_row(top)
        result = ResultTable.of(list(frame.columns), frame, selection)
    if output is not None:
        output.write(result, messages)
    rows = found.to_frame()
    document = {
        "rows": len(selection.rows),
        "features": rows.to_dict("records"),
        "written": None if output is None else output.target,
    }
    lines = [("table", output.target)] if output is not None and not on_stdout else []
    messages.result(document, lines, err=on_stdout, table=_printed(rows))


def _of_features(found: Any) -> ResultTable:
    """Return the table of features to write."""
    frame = found.to_frame()
    return ResultTable([str(name) for name in frame.columns], frame)


def _printed(frame: Any) -> list[list[str]]:
    """Return the first rows of a table of features as text, with a header."""
    rows = frame.head(MOST_PRINTED).itertuples(index=False)
    header = [str(name).replace("_", " ") for name in frame.columns]
    return [header, *([shown(value) for value in row] for row in rows)]


def _path(model: Model, selection: Selection, ends: tuple[int, int], scale: float) -> Any:
    """Explain the path between two rows."""
    n_rows = len(selection.rows)
    for end in ends:
        if end >= n_rows:
            raise click.UsageError(f"--path: there is no row {end}; rows are 0 to {n_rows - 1}")
    features = selection.features
    few = features.iloc[list(ends)] if hasattr(features, "iloc") else features[list(ends)]
    start, end = np.asarray(model.estimator.transform(few), dtype=np.float64)
    return model.estimator.explain_path(np.linspace(start, end, PLACES), scale=scale)


def _difference(model: Model, selection: Selection, named: tuple[str, str]) -> Any:
    """Explain the difference between the rows of two labels."""
    if selection.labels is None:
        raise click.UsageError("--difference compares the rows of labels; name them by --label COL")
    labels = np.array([str(label) for label in selection.labels], dtype=object)
    known = list(dict.fromkeys(labels.tolist()))
    chosen = []
    for name, other in (named, named[::-1]):
        rows = labels != other if name == "rest" and name not in known else labels == name
        if not rows.any():
            raise click.UsageError(
                f"--difference: no row has the label {name!r}; {did_you_mean(name, known)}"
            )
        if rows.sum() < 2:
            enough = listed(one for one in known if (labels == one).sum() > 1)
            raise click.UsageError(
                f"--difference: {name!r} has 1 row; labels with two rows or more are "
                f"{enough or 'missing'}"
            )
        chosen.append(rows)
    features = selection.features
    pair = [features[rows] for rows in chosen]
    return model.estimator.explain_difference(*pair)
