"""The command group, its exit codes and its error messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from twofold import __version__
from twofold.cli.commands.bench import bench
from twofold.cli.commands.compress import compress
from twofold.cli.commands.demo import demo
from twofold.cli.commands.explain import explain
from twofold.cli.commands.fit import fit
from twofold.cli.commands.info import info
from twofold.cli.commands.maps import impute, reconstruct, sample, score, transform
from twofold.cli.commands.outliers import outliers
from twofold.cli.commands.show import explore, export, plot
from twofold.cli.commands.update import update
from twofold.cli.errors import Interrupted, translated
from twofold.cli.messages import for_shells, shown
from twofold.cli.options import examples


class CommandLine(click.Group):
    """A command group that prints each error on one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of their use, not of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and convert its exceptions."""
        try:
            with translated():
                return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has left, as ``head`` does: discard the rest of the output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(1)

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run the program and exit with its code."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **options)
        try:
            code = run(*args, standalone_mode=False, **options)
        except click.ClickException as error:
            _show(error)
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):  # while arguments are parsed
            _show(Interrupted())
            code = Interrupted.exit_code
        sys.exit(code if isinstance(code, int) else 0)


def _show(error: click.ClickException) -> None:
    """Print an error on one line, with a hint at the help text for wrong usage."""
    if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2; its message is the help
        error.show()
        return
    if isinstance(error, Interrupted):
        click.echo(error.message, err=True)
        return
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        message = f"{message.rstrip('.')} (see '{error.ctx.command_path} -h')"
    click.echo(shown(f"Error: {for_shells(message)}"), err=True)


@click.group(
    cls=CommandLine,
    epilog=examples(
        "twofold explore flowers.csv --label species -o flowers.html",
        "twofold fit flowers.csv --label species -o flowers.twofold",
        "twofold plot flowers.twofold flowers.csv -o map.png",
        "twofold explore flowers.twofold flowers.csv -o page.html",
    ),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="twofold")
def cli() -> None:
    """Two-way manifold learning: encode a table into a latent space, and decode it again."""


for command in (
    fit, transform, reconstruct, impute, update, sample, score, explain, outliers, info, compress,
    plot, explore, export, bench, demo,
):  # fmt: skip
    cli.add_command(command)
