"""The command line.

Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 1 failed, 2
wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from twofold import UKR, __version__

__all__ = ["main"]

try:
    import click
    from rich.console import Console
    from rich.table import Table
except ImportError as error:  # pragma: no cover - an installation without the extra
    sys.exit(f'twofold: {error}. The command line needs: pip install "twofold[cli]"')


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="twofold")
def cli() -> None:
    """Two-way manifold learning: latent coordinates and both maps."""


@cli.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("twofold-demo"),
    show_default=True,
    help="Folder for the pictures.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def demo(output: Path, seed: int, quiet: bool) -> None:
    """Map the handwritten digits to a plane and back.

    Fits UKR to the digits that come with scikit-learn, a tenth held out; prints how well held-out digits are
    rebuilt from two numbers each; draws the map and the digits decoded over it.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error

    try:
        import matplotlib as mpl  # noqa: F401 - asked for before the fit, not after it

        output.mkdir(parents=True, exist_ok=True)
    except ImportError as error:
        raise click.ClickException(
            f'{error}; the demo needs: pip install "twofold[plot]"'
        ) from error
    except OSError as error:
        raise click.ClickException(f"cannot write to {output}: {error}") from error
    from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, save_figure

    console = Console(stderr=True, quiet=quiet)
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    model = UKR(init="tsne", random_state=seed)
    with console.status(f"fitting {len(X)} digits of {X.shape[1]} pixels ..."):
        start = time.perf_counter()
        model.fit(X)
        fit_seconds = time.perf_counter() - start
    console.print(f"fitted {len(X)} digits in {model.n_iter_} iterations")
    with console.status(f"mapping {len(X_test)} held-out digits down and up ..."):
        start = time.perf_counter()
        Z_test = model.transform(X_test)
        rebuilt = model.inverse_transform(Z_test)
        map_seconds = time.perf_counter() - start
    with console.status("drawing ..."):
        drawn = {
            output / "latent-map.png": LatentMapDisplay.from_estimator(model, labels=y),
            output / "decoded-digits.png": DecodedGridDisplay.from_estimator(
                model, image_shape=(8, 8)
            ),
        }
        try:
            pictures = [save_figure(display, path) for path, display in drawn.items()]
        except OSError as error:
            raise click.ClickException(f"cannot write to {output}: {error}") from error
    table = Table("measure", "value", title="8x8 digits in two dimensions, held out")
    table.columns[1].justify = "right"
    lost = relative_reconstruction_error(X_test, rebuilt)
    accuracy = nearest_neighbor_accuracy(model.embedding_, y, Z_test, y_test)
    table.add_row("reconstruction error (share of variance)", f"{lost:.3f}")
    table.add_row("1-NN accuracy in the latent space", f"{accuracy:.3f}")
    table.add_row("seconds to fit", f"{fit_seconds:.1f}")
    table.add_row(f"seconds to map {len(X_test)} digits down and up", f"{map_seconds:.2f}")
    Console().print(table)
    for picture in pictures:
        click.echo(picture)


def main() -> None:
    """Run the command line, and turn Ctrl-C into exit code 130."""
    try:
        code = cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except OSError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
