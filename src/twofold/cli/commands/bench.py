"""``twofold bench``: compare the methods on this machine, on your own table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import click
import numpy as np
from rich.console import Console
from rich.table import Table as Printed
from rich.text import Text

from twofold.cli.inputs import complete_rows
from twofold.cli.messages import Messages, counted, shown, table_size
from twofold.cli.methods import METHODS
from twofold.cli.options import (
    column_options,
    examples,
    message_options,
    seed_option,
    table_options,
)
from twofold.cli.progress import shown_progress
from twofold.cli.tables.columns import Columns, Selection
from twofold.cli.tables.reading import Reading, read_table
from twofold.protocols import AnyArray, Array

HELD_OUT: Final = 0.1
FEWEST_ROWS: Final = 10
N_CODES: Final = 64
"""The number of codewords in the table; the largest possible one if rows are few."""
RIVAL_NAMES: Final = ("pca", "kernel-pca", "umap")


@click.command(
    epilog=examples(
        "twofold bench", "twofold bench flowers.csv --label species -m ukr -m pca --json"
    )
)
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "-m",
    "--method",
    "methods",
    type=click.Choice([*METHODS, *RIVAL_NAMES]),
    multiple=True,
    help="Only this one; may be repeated.",
)
@click.option(
    "-q",
    "--dimensions",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Latent dimensions.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=10),
    help="Use this many random rows; all by default.",
)
@seed_option
@column_options(kinds=True)
@table_options
@message_options
def bench(
    data: str | None,
    methods: tuple[str, ...],
    dimensions: int,
    rows: int | None,
    seed: int,
    columns: Columns,
    reading: Reading,
    messages: Messages,
) -> None:
    """Compare the methods on this machine.

    Rivals take part if they are installed. A tenth of the rows is held out. The error is the share
    of their variance that is lost when they are encoded and decoded. The codebook error is the
    share that is lost if latents are rounded to 64 codewords first: it is high if the map is rough,
    torn or folded. The map score sees both, and the table is sorted by it: higher is better. Each
    method runs once, with default settings. Without DATA: the digits that come with scikit-learn.
    """
    from twofold.cli.contest import contestants, measure, surroundings

    name, X, labels = _data(data, reading, columns, messages)
    order = np.random.default_rng(seed).permutation(len(X))[:rows]
    if len(order) < FEWEST_ROWS:
        raise click.ClickException(f"{name} has {len(order)} rows; bench needs {FEWEST_ROWS}")
    n_test = max(2, round(HELD_OUT * len(order)))
    test, train = order[:n_test], order[n_test:]
    makers = contestants(dimensions, seed, X[train], with_labels=labels is not None)
    if unable := [one for one in methods if one not in makers]:
        why = "needs --label" if METHODS.get(unable[0]) else "is not installed"
        raise click.UsageError(f"-m {unable[0]} {why}")
    known = None if labels is None else labels[train]
    measured = []
    for method in methods or makers:
        messages.note(f"{method} ...")
        with shown_progress(messages, phases=False):
            measured.append(measure(method, makers[method], X[train], known, X[test]))
    document: dict[str, Any] = {
        "data": name,
        "rows": len(train),
        "held_out_rows": len(test),
        "columns": X.shape[1],
        "latents": dimensions,
        "seed": seed,
        "results": sorted((asdict(one) for one in measured), key=_worst_last),
        **surroundings(),
    }
    shape = f"{table_size(X[train].shape)}, {len(test)} held out, {counted(dimensions, 'latent')}"
    messages.result(document, [(name, f"{shape}, {counted(document['cores'], 'core')}")])
    if not messages.as_json:
        Console(soft_wrap=True).print(_table(document["results"]))
        click.echo("sorted by map score, the best first")


def _data(
    data: str | None, reading: Reading, columns: Columns, messages: Messages
) -> tuple[str, Array, AnyArray | None]:
    """Return the name of the data, the features (n, D) and the labels (n,)."""
    if data is not None:
        chosen = columns.choose(read_table(data, reading, messages), messages)
        return data, *_encoded(data, chosen, messages)
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return "digits", X, y


def _encoded(name: str, chosen: Selection, messages: Messages) -> tuple[Array, AnyArray | None]:
    """Return complete rows of numbers, which all methods take, and their labels."""
    if chosen.all_numbers:
        X = np.asarray(chosen.as_numbers().features, dtype=np.float64)
    else:
        from twofold.tables.frames import as_frame
        from twofold.tables.measuring import measure

        X = measure(as_frame(chosen.features), chosen.kinds or None).into(chosen.features)
        messages.note(f"{name}: columns that are not numbers are encoded, as by 'twofold fit'")
    complete, labels = complete_rows(X), chosen.labels
    if not complete.all():
        share = f"{int((~complete).sum())} of {len(X)} rows"
        messages.note(f"{name}: {share} have gaps, which other methods do not take: left out")
    return X[complete], None if labels is None else labels[complete]


def _table(results: list[dict[str, Any]]) -> Printed:
    """Return the results, the highest map score first, as a table."""
    sizes = {size for one in results for size in one["codebook_errors"]}
    size = N_CODES if N_CODES in sizes else max(sizes, default=None)
    codebook = [] if size is None else [f"at {size} codes"]
    times = ("fit, s", "transform, s", "inverse, s")
    table = Printed("method", "map score", "error", *codebook, *times, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in results:
        if one["failed"]:
            table.add_row(one["method"], Text(shown(f"failed: {one['failed']}")))
            continue
        errors = [one["error"], *([] if size is None else [one["codebook_errors"][size]])]
        seconds = (one[f"{what}_seconds"] for what in ("fit", "transform", "inverse"))
        figures = [f"{one['map_score']:.3f}", *(f"{error:.4f}" for error in errors)]
        table.add_row(one["method"], *figures, *(f"{value:.2f}" for value in seconds))
    return table


def _worst_last(one: dict[str, Any]) -> float:
    score = one["map_score"]
    return np.inf if score is None else -float(score)
