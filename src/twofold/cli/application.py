"""The program: its commands, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from twofold import __version__
from twofold.cli.commands.bench import bench
from twofold.cli.commands.demo import demo
from twofold.cli.commands.fit import fit
from twofold.cli.commands.info import info
from twofold.cli.commands.maps import reconstruct, sample, score, transform
from twofold.cli.commands.show import explore, export, plot
from twofold.cli.commands.standardize import standardize
from twofold.cli.errors import Interrupted, translated
from twofold.cli.options import examples

__all__ = ["cli"]


class CommandLine(click.Group):
    """A group of commands whose errors are one line each."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order in which they are used, not of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it raises becomes an error of the command line."""
        try:
            with translated():
                return super().invoke(ctx)
        except BrokenPipeError:
            _write_to_nobody()
            ctx.exit(1)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program and leave it with an exit code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.ClickException as error:
            _show(error)
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):  # while arguments were read
            _show(Interrupted())
            code = Interrupted.exit_code
        sys.exit(code if isinstance(code, int) else 0)


def _show(error: click.ClickException) -> None:
    """Print an error on one line, with a pointer to the help where the usage was wrong."""
    if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2; its message is the help
        error.show()
        return
    if isinstance(error, Interrupted):
        click.echo(error.message, err=True)
        return
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        message = f"{message.rstrip('.')} ('{error.ctx.command_path} -h' says more)"
    click.echo(f"Error: {message}", err=True)


def _write_to_nobody() -> None:
    """Let what is still to be written go nowhere: whoever read it has left, as ``head`` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=CommandLine,
    epilog=examples(
        "twofold fit flowers.csv --label species -o flowers.twofold",
        "twofold plot flowers.twofold flowers.csv --label species -o map.png",
        "twofold explore flowers.twofold flowers.csv --label species -o page.html",
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="twofold")
def cli() -> None:
    """Two-way manifold learning: a map of your table, down to it and back up."""


for command in (
    fit, transform, reconstruct, sample, score, info, plot, explore, export, standardize, bench, demo,
):  # fmt: skip
    cli.add_command(command)
