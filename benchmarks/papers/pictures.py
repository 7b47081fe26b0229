"""Draw pictures if matplotlib is installed, and shrink them for the page."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness.machine import is_installed
from benchmarks.papers.records import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDEST = 1_000
"""Largest width of a picture in the report, in pixels."""

WIDE = 1.7
"""Width over height beyond which a picture takes a whole line of the page."""

COLORS = 48
"""Colors of a picture in the report: plots have few, and a palette takes a third of the space."""


def draw(
    path: Path, caption: str, size: tuple[float, float], painter: Callable[[Figure], Any]
) -> list[Picture]:
    """Let a painter fill a figure and save it; return no picture without matplotlib.

    Parameters
    ----------
    path : Path
        Where the PNG file goes; its folder is made.
    caption : str
        What the picture shows.
    size : (float, float)
        Width and height in inches.
    painter : callable
        ``painter(figure)`` draws.
    """
    if not is_installed("matplotlib"):
        return []
    from matplotlib.figure import Figure

    from twofold.plotting import save_figure

    figure = Figure(figsize=size, layout="constrained")
    painter(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure.axes[0], path, dpi=100)
    return [Picture(path, caption)]


def as_data_uri(path: Path) -> tuple[str, bool]:
    """Return a picture as a data URI, and whether it is a wide one."""
    content, wide = as_png(path)
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}", wide


def as_png(path: Path) -> tuple[bytes, bool]:
    """Return a picture as a small PNG file of few colors, and whether it is a wide one."""
    from PIL import Image  # comes with matplotlib, which drew the picture

    with Image.open(path) as picture:
        small = picture.convert("RGB")
        wide = small.width > max(WIDE * small.height, 0.8 * WIDEST)
        if small.width > WIDEST:
            size = (WIDEST, round(small.height * WIDEST / small.width))
            small = small.resize(size, Image.Resampling.LANCZOS)
        few = small.quantize(COLORS, dither=Image.Dither.NONE)
    stream = BytesIO()
    few.save(stream, "png", optimize=True)
    return stream.getvalue(), wide
