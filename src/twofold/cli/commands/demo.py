"""``twofold demo``: the main job on data that come with scikit-learn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import click

from twofold.cli.errors import needing
from twofold.cli.options import seed_option, talk_options
from twofold.cli.pictures import draw
from twofold.cli.progress import shown_progress
from twofold.cli.talk import Talk

__all__ = ["demo"]

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
    show_default=True,
    help="Folder for the pictures and the page.",
)
@seed_option
@talk_options
def demo(output: Path, seed: int, talk: Talk) -> None:
    """Map the handwritten digits to a plane and back.

    Fits UKR to the digits that come with scikit-learn, a tenth held out; prints how well held-out digits are
    rebuilt from two numbers each; draws the map, the digits decoded over it and what is lost; writes a page to explore.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from twofold import UKR
    from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error

    with needing("plot"):
        import matplotlib as mpl  # noqa: F401 - asked for before the fit, not after it
    output.mkdir(parents=True, exist_ok=True)
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    model = UKR(init="tsne", random_state=seed)
    talk.note(f"fitting {len(X)} digits of {X.shape[1]} pixels")
    start = time.perf_counter()
    with shown_progress(talk), talk.warnings_as_lines():
        model.fit(X)
    fitted = time.perf_counter()
    Z_test = model.transform(X_test)
    rebuilt = model.inverse_transform(Z_test)
    mapped = time.perf_counter()
    measured = {
        "error": relative_reconstruction_error(X_test, rebuilt),
        "accuracy": nearest_neighbor_accuracy(model.embedding_, y, Z_test, y_test),
        "fit_seconds": fitted - start,
        "map_seconds": mapped - fitted,
    }
    talk.note("drawing")
    written = _show(model, X, y, output)
    lines = [
        (
            "reconstruction error",
            f"{measured['error']:.3f} of the variance of {len(X_test)} held-out digits",
        ),
        ("1-NN accuracy", f"{measured['accuracy']:.3f} in the latent space"),
        (
            "seconds",
            f"{measured['fit_seconds']:.1f} to fit, {measured['map_seconds']:.2f} to map held-out digits down and up",
        ),
        *((path.suffix[1:], str(path)) for path in written),
    ]
    talk.result({**measured, "files": [str(path) for path in written]}, lines)


def _show(model: Any, X: Any, y: Any, folder: Path) -> list[Path]:
    """Draw the pictures and write the page; return where they are."""
    from twofold.export.explorer import write
    from twofold.plotting import save_figure

    written = [
        save_figure(draw(kind, model, X, y, IMAGE_SHAPE), folder / name, dpi=DPI)
        for kind, name in PICTURES.items()
    ]
    title = "Handwritten digits"
    page = write(model, X, y, path=folder / PAGE, title=title, image_shape=IMAGE_SHAPE)
    return [*written, page]
