"""Figures without pyplot, and what all displays have in common.

A figure of pyplot lives until it is closed, and may open a window. Ours belong to their display: they go when it goes, and show
themselves at the end of a notebook's cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.numerics.files import whole_file
from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Display",
    "is_three_d",
    "new_figure",
    "plain",
    "rasterize",
    "readable_log",
    "save_figure",
    "show_legend",
    "size_for",
    "without_frame",
]

LONGEST_NAME = 40
"""Letters of a name; longer ones end in an ellipsis."""

LABELS = (0.75, 0.6)
"""Inches that labels take beside and below axes."""

COLOR_BAR = 0.9
"""Inches that a colour bar takes."""

IN_A_COLUMN = 25
LETTER, LINE = 0.085, 0.22
"""Names in a column of a legend, and inches that a letter and a line take."""

MOST_SLENDER = 1.5
"""Height over width of a figure."""

MANY_MARKS = 2_000
"""Marks beyond which matplotlib's search for a legend's best place takes long."""


class Display:
    """What all displays have: axes, a figure, and a picture for notebooks.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture was drawn.
    figure_ : matplotlib Figure
        The figure of these axes.
    """

    ax_: Any
    figure_: Any
    _has_own_figure = False
    _legend_height = 0.0

    def _open(self, ax: Axes | None, size: tuple[float, float], *, three_d: bool = False) -> Any:
        """Return the axes to draw on: those given, or those of a new figure of a size in inches."""
        self._has_own_figure, self._legend_height = ax is None, 0.0
        if ax is None:
            ax = new_figure(size).add_subplot(projection="3d" if three_d else None)
        elif is_three_d(ax) != three_d:
            found, wanted = (3, 2) if is_three_d(ax) else (2, 3)
            remedy = (
                "make it with projection='3d'" if three_d else "make it without projection='3d'"
            )
            raise ValueError(
                f"ax has {found} dimensions and the picture {wanted}: {remedy}, or leave ax=None."
            )
        self.ax_, self.figure_ = ax, _root_figure(ax)
        return ax

    def _settle(self) -> None:
        """Give a figure of ours the height that its axes need to keep their proportions.

        Left to themselves, axes of fixed proportions shrink within the room that the layout has given them, and labels are cut.
        """
        ax, figure = self.ax_, self.figure_
        if not self._has_own_figure or is_three_d(ax) or ax.get_aspect() == "auto":
            return
        engine = figure.get_layout_engine()
        ratio = np.ptp(ax.get_ylim()) / np.ptp(ax.get_xlim())
        ax.set_aspect("auto")
        for _ in range(2):  # numbers along the axes may change with the first
            engine.execute(figure)
            width, height = figure.get_size_inches()
            box = ax.get_position().size * (width, height)
            wanted = height - box[1] + ratio * box[0]
            highest = MOST_SLENDER * width
            figure.set_size_inches(
                width, float(np.clip(wanted, min(self._legend_height, highest), highest))
            )
        engine.execute(figure)
        _fill(ax, ax.get_position().size * figure.get_size_inches())
        ax.set_aspect("equal")

    def _widen(self, inches: float) -> None:
        """Make a figure of ours so much wider: what stands beside the axes must not take their room."""
        if self._has_own_figure:
            width, height = self.figure_.get_size_inches()
            self.figure_.set_size_inches(width + inches, height)

    def _explain(self, scale: Any, name: str | None) -> Any:
        """Draw a colour bar and return it."""
        self._widen(COLOR_BAR)
        pad = {"pad": 0.12} if is_three_d(self.ax_) else {}
        bar = self.figure_.colorbar(scale, ax=self.ax_, label=name, shrink=0.8, **pad)
        bar.ax.yaxis.label.set_parse_math(False)
        return bar

    def _repr_png_(self) -> bytes | None:
        """Return the picture, as notebooks ask for it; None before it is drawn."""
        figure = getattr(self, "figure_", None)
        return None if figure is None else _png_of(figure)


def size_for(width: float, slender: float) -> tuple[float, float]:
    """Return the size in inches of a figure so wide whose axes have some proportion of height to width."""
    return width, (width - LABELS[0]) * slender + LABELS[1]


def new_figure(size: tuple[float, float]) -> Any:
    """Return a figure of a size in inches that pyplot does not know of."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "twofold[plot]".') from error
    figure: Any = Figure(figsize=size, layout="constrained")
    # A notebook draws the figures of pyplot; others it asks for their picture.
    figure._repr_png_ = partial(_png_of, figure)
    return figure


def is_three_d(ax: Axes) -> bool:
    """Tell whether axes have depth."""
    return getattr(ax, "name", "") == "3d"


def plain(text: Any, most: int = LONGEST_NAME) -> str:
    """Return a name as one short line: without line breaks, and cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def readable_log(axis: Any) -> None:
    """Let a logarithmic axis show plain numbers, 1, 2 and 5 of each decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def rasterize(artist: Any) -> None:
    """Let a file of vectors hold an artist as pixels, where matplotlib can (contours since 3.11)."""
    if getattr(artist.draw, "_supports_rasterization", False):
        artist.set_rasterized(True)


def without_frame(ax: Axes) -> None:
    """Leave out the upper and the right line around a chart."""
    ax.spines[["top", "right"]].set_visible(False)


def show_legend(
    display: Display, handles: Iterable[Any], names: Iterable[str], *, n_marks: int = 0
) -> Any:
    """Draw a legend: beside the axes of a figure of ours, within axes of yours.

    Names are shown as they are, dollars and leading underscores included.

    Parameters
    ----------
    display : Display
        Which has opened its axes.
    handles, names : iterables
        What is explained, and how.
    n_marks : int, default=0
        Marks of the picture: among many the best place for a legend is not searched.
    """
    handles, names = list(handles), [plain(name) for name in names]
    # matplotlib leaves out names with an underscore in front, and reads dollars as formulas.
    labels = ["name"] * len(names)
    if display._has_own_figure:
        columns = 1 + (len(names) - 1) // IN_A_COLUMN
        place = {"loc": "outside right upper", "ncols": columns}
        legend = display.figure_.legend(handles, labels, frameon=False, **place)
        display._legend_height = LINE * min(len(names), IN_A_COLUMN) + 0.2
        display._widen(columns * (0.5 + LETTER * max(len(name) for name in names)))
    else:
        loc = "best" if n_marks <= MANY_MARKS else "upper right"
        legend = display.ax_.legend(handles, labels, framealpha=0.8, edgecolor="none", loc=loc)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
        text.set_parse_math(False)
    return legend


def save_figure(picture: Any, path: str | PathLike[str], *, dpi: float = 150) -> Path:
    """Write a picture to a file, in the format of its suffix, and return its path.

    The file is complete or not there: it is written beside and then moved.

    Parameters
    ----------
    picture : Display, matplotlib Figure or Axes
        What to write.
    path : str or path-like
        Where to; without a suffix a PNG is written.
    dpi : float, default=150
        Pixels per inch, of a vector format those of its rasterised parts.

    Returns
    -------
    Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from twofold.plotting import CandidatesDisplay, save_figure
    >>> display = CandidatesDisplay(names=["pca", "tsne"], errors=[0.5, 0.3]).plot()
    >>> with TemporaryDirectory() as folder:
    ...     save_figure(display, f"{folder}/starts.pdf").name
    'starts.pdf'
    """
    path = Path(path)
    save = _saver(picture)
    with whole_file(path) as unfinished:
        save(unfinished, dpi=dpi, format=path.suffix.lstrip(".") or "png")
    return path


def _saver(picture: Any) -> Callable[..., Any]:
    """Return the ``savefig`` of whatever is or has a figure."""
    figure = picture
    if isinstance(picture, Display):
        figure = getattr(picture, "figure_", None)
        if figure is None:
            raise ValueError(f"The {type(picture).__name__} is not drawn yet: call plot() first.")
    elif hasattr(picture, "figure"):
        figure = _root_figure(picture)
    save = getattr(figure, "savefig", None)
    if save is None:
        raise TypeError(
            f"picture={type(picture).__name__} cannot be written: give a display, a Figure or Axes."
        )
    found: Callable[..., Any] = save
    return found


def _fill(ax: Any, box: Array) -> None:
    """Widen the limits of axes in one direction, so that both have the same scale in a box of some size."""
    sides = np.array([ax.get_xlim(), ax.get_ylim()])
    spans = sides[:, 1] - sides[:, 0]
    scale = float((spans / box).max())
    middle, half = sides.mean(axis=1), 0.5 * scale * box
    (left, bottom), (right, top) = middle - half, middle + half
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _root_figure(artist: Any) -> Any:
    """Return the figure that axes or a subfigure belong to."""
    return artist.figure.figure


def _png_of(figure: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
