"""``twofold compress``: a smaller model file."""

from __future__ import annotations

from pathlib import Path

import click

from twofold.cli.inputs import load_model
from twofold.cli.messages import Messages
from twofold.cli.options import command, file_option, message_options, model_argument
from twofold.numerics.files import whole_file
from twofold.numerics.validation import check_real


@command(
    "twofold compress flowers.twofold -o small.twofold",
    "twofold compress flowers.twofold --prototypes 500 -o small.twofold",
)
@model_argument
@file_option("Model to write.", ".twofold")
@click.option(
    "--prototypes",
    type=click.IntRange(min=1),
    help="Number of prototypes [default: the fewest tried that keep --max-error].",
)
@click.option(
    "--max-error",
    type=float,
    default=1.05,
    help="How many times the held-out error may be that of the model.",
)
@message_options
def compress(
    model: Path, output: Path, prototypes: int | None, max_error: float, messages: Messages
) -> None:
    """Write a smaller model: prototypes in place of rows.

    For models that keep their rows: UKR, and others with a Nadaraya-Watson decoder. The error that
    it costs is measured on training rows that are left out, and printed.
    """
    from twofold.export.model_files import save_with_roles

    try:
        check_real("--max-error", max_error, above=1.0)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    loaded = load_model(model)
    number = "auto" if prototypes is None else prototypes
    small = loaded.estimator.compress(number, max_error_ratio=max_error)
    with whole_file(output) as path:
        save_with_roles(small, path, loaded.roles)
    found, before, after = small.compression_, model.stat().st_size, output.stat().st_size
    document = {
        "model": str(output),
        "bytes": after,
        "bytes_before": before,
        "prototypes": found.n_prototypes,
        "rows": found.n_rows,
        "error": found.error,
        "error_before": found.error_before,
        "held_out": found.n_held_out,
    }
    cost = (
        f"{found.error:.4g} of the variance instead of {found.error_before:.4g}, on "
        f"{found.n_held_out:,} held-out rows"
    )
    lines = [
        ("model", f"{output} ({after / 1e6:.2f} MB instead of {before / 1e6:.2f})"),
        ("prototypes", f"{found.n_prototypes:,} for {found.n_rows:,} rows"),
        ("error", cost),
    ]
    messages.result(document, lines)
