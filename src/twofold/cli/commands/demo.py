"""``twofold demo``: fit, score and plot the handwritten digits of scikit-learn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from twofold.cli.commands.show import draw
from twofold.cli.errors import needing
from twofold.cli.messages import Messages
from twofold.cli.options import effort_option, message_options, seed_option
from twofold.cli.progress import shown_progress
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

PICTURES: Final = {
    "map": "latent-map.png",
    "decoded": "decoded-digits.png",
    "error": "reconstruction-error.png",
}
PAGE: Final = "explorer.html"
IMAGE_SHAPE: Final = (8, 8)
DPI: Final = 110


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("twofold-demo"),
    help="Folder for the pictures and the page.",
)
@effort_option
@seed_option
@message_options
def demo(output: Path, effort: str | float | None, seed: int, messages: Messages) -> None:
    """Map the handwritten digits to a plane and back.

    Compares the methods on the digits that come with scikit-learn, fits the best, and holds out a
    tenth of the digits. Prints the reconstruction error of the held-out digits, draws the map,
    decoded digits and the error, and writes a page to explore the map.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from twofold import AutoTwoWay
    from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error

    with needing("plot"):
        import matplotlib as mpl  # noqa: F401 - fail before the fit, not after it
    output.mkdir(parents=True, exist_ok=True)
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    model = AutoTwoWay(effort=effort or "balanced", random_state=seed)
    messages.note(f"fitting {len(X)} digits of {X.shape[1]} pixels")
    start = time.perf_counter()
    with shown_progress(messages):
        model.fit(X)
    fitted = time.perf_counter()
    Z_test = model.transform(X_test)
    rebuilt = model.inverse_transform(Z_test)
    fit_seconds, map_seconds = fitted - start, time.perf_counter() - fitted
    error = relative_reconstruction_error(X_test, rebuilt)
    if model.fitted_rows_ is not None:  # the seconds sufficed for these
        X, y = X[model.fitted_rows_], y[model.fitted_rows_]
    accuracy = nearest_neighbor_accuracy(model.embedding_, y, Z_test, y_test)
    messages.note("drawing")
    written = _show(model, X, y, output)
    document = {
        "winner": model.method_,
        "race": list(model.report_),
        "error": error,
        "accuracy": accuracy,
        "fit_seconds": fit_seconds,
        "map_seconds": map_seconds,
        "files": [str(path) for path in written],
    }
    share = f"{error:.3f} of the variance of {len(X_test)} held-out digits"
    seconds = f"{fit_seconds:.1f} to fit, {map_seconds:.2f} to encode and decode held-out digits"
    lines = [
        ("winner", f"{model.method_}, of {len(model.report_)} methods"),
        ("reconstruction error", share),
        ("1-NN accuracy", f"{accuracy:.3f} in the latent space"),
        ("seconds", seconds),
        *((path.suffix[1:], str(path)) for path in written),
    ]
    messages.result(document, lines)


def _show(model: TwoWayEstimator, X: Array, y: AnyArray, folder: Path) -> list[Path]:
    """Write the pictures and the page, and return their paths."""
    from twofold.export.explorer import write
    from twofold.plotting import save_figure

    written = [
        save_figure(draw(kind, model, X, y, IMAGE_SHAPE), folder / name, dpi=DPI)
        for kind, name in PICTURES.items()
    ]
    title = "Handwritten digits"
    page = write(model, X, y, path=folder / PAGE, title=title, image_shape=IMAGE_SHAPE)
    return [*written, page]
