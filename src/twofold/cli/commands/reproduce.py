"""``twofold reproduce``: the papers' experiments."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from twofold.cli.errors import needing, one_line
from twofold.cli.options import examples, talk_options
from twofold.cli.progress import shown_progress
from twofold.cli.talk import Talk
from twofold.cli.words import did_you_mean

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
@talk_options
def reproduce(names: tuple[str, ...], quick: bool, output: Path, talk: Talk) -> None:
    """Run the experiments of the papers.

    The report has the papers' own numbers beside those that were found.
    """
    with needing("plot"):
        from twofold.reproduce import NAMES, main
    known = list(NAMES)
    for name in names:
        if name.partition(":")[0] not in (ALL, *known):  # "paper" or "paper:experiment"
            raise click.UsageError(
                f"there is no experiment {name}; {did_you_mean(name, [ALL, *known])}"
            )
    wanted = known if ALL in names else list(dict.fromkeys(names))
    output.mkdir(parents=True, exist_ok=True)
    with shown_progress(talk, phases=False), talk.warnings_as_lines(), needing("plot"):
        try:
            report = main(wanted, quick=quick, folder=output)
        except RuntimeError as error:  # some experiments failed; the report says why
            raise click.ClickException(one_line(error)) from error
    talk.result({"experiments": wanted, "report": str(report)}, [("report", str(report))])
