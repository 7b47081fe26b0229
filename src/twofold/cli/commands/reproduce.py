"""``twofold reproduce``: the papers' experiments."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from twofold.cli.errors import needing, one_line
from twofold.cli.messages import Messages
from twofold.cli.options import examples, message_options
from twofold.cli.progress import shown_progress

__all__ = ["reproduce"]

ALL = "all"


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from twofold.reproduce import NAMES

    names = [ALL, *NAMES]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command(
    epilog=examples("twofold reproduce all --quick", "twofold reproduce ukr2005 -o papers")
)
@click.argument("names", metavar="NAME|all...", nargs=-1, required=True, shell_complete=_complete)
@click.option("--quick", is_flag=True, help="Small versions, to see whether they run.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("twofold-papers"),
    show_default=True,
    help="Folder for the report and its pictures.",
)
@message_options
def reproduce(names: tuple[str, ...], quick: bool, output: Path, messages: Messages) -> None:
    """Run the experiments of the papers.

    The report has the papers' own numbers beside those that were found.
    """
    with needing("plot"):
        from twofold.reproduce import main, papers_of
    try:
        papers_of(names)
    except ValueError as error:
        raise click.UsageError(one_line(error)) from error
    output.mkdir(parents=True, exist_ok=True)
    with shown_progress(messages, phases=False), messages.warnings_as_lines(), needing("plot"):
        try:
            report = main(names, quick=quick, folder=output)
        except RuntimeError as error:  # some experiments failed; the report says why
            raise click.ClickException(one_line(error)) from error
    messages.result({"experiments": list(names), "report": str(report)}, [("report", str(report))])
