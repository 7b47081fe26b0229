"""Figures without pyplot, and the base class of all displays.

A figure of pyplot lives until it is closed and may open a window. The figures here belong to their
display: they are deleted with it, and a notebook shows them at the end of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from twofold.numerics.files import whole_file
from twofold.numerics.plain_text import printable
from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib import axes

    Axes: TypeAlias = axes.Axes
else:
    Axes = Any  # matplotlib is imported when a picture is drawn


Extent = tuple[float, float, float, float]
"""Left, right, bottom and top."""

LONGEST_NAME = 40  # letters of a name; longer ones end in an ellipsis
LABELS = (0.75, 0.6)  # inches that labels take beside and below axes
COLOR_BAR = 0.9  # inches that a color bar takes
IN_A_COLUMN = 25
LETTER, LINE = 0.085, 0.22
"""Names in a column of a legend, and inches that a letter and a line take."""

MOST_SLENDER = 1.5  # maximum ratio of height to width of a figure
MANY_MARKS = 2_000  # with more markers matplotlib's search for the best place of a legend is slow
WIDE_RANGE = 20.0  # values whose ratio exceeds this get a logarithmic axis


class Display:
    """Base of all displays: axes, a figure, and a picture for notebooks.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture.
    figure_ : matplotlib Figure
        The figure of these axes.
    """

    ax_: Any
    figure_: Any
    _has_own_figure = False
    _legend_height = 0.0

    def _open(self, ax: Axes | None, size: tuple[float, float], *, three_d: bool = False) -> Any:
        """Return the given axes, or those of a new figure of a size in inches."""
        self._has_own_figure, self._legend_height = ax is None, 0.0
        if ax is None:
            ax = new_figure(size).add_subplot(projection="3d" if three_d else None)
        elif is_three_d(ax) != three_d:
            found, wanted, word = (2, 3, "with") if three_d else (3, 2, "without")
            raise ValueError(
                f"ax has {found} dimensions and the picture {wanted}: make it {word} "
                "projection='3d', or leave ax=None."
            )
        self.ax_, self.figure_ = ax, _root_figure(ax)
        return ax

    def _settle(self) -> None:
        """Give an own figure the height that its axes need to keep their proportions.

        Otherwise matplotlib shrinks axes of fixed proportions within the room of the layout, and
        labels are cut.
        """
        ax, figure = self.ax_, self.figure_
        if not self._has_own_figure or is_three_d(ax) or ax.get_aspect() == "auto":
            return
        engine = figure.get_layout_engine()
        ratio = np.ptp(ax.get_ylim()) / np.ptp(ax.get_xlim())
        ax.set_aspect("auto")
        for _ in range(2):  # tick labels may change after the first
            engine.execute(figure)
            width, height = figure.get_size_inches()
            box = ax.get_position().size * (width, height)
            wanted = height - box[1] + ratio * box[0]
            highest = MOST_SLENDER * width
            lowest = min(self._legend_height, highest)
            figure.set_size_inches(width, float(np.clip(wanted, lowest, highest)))
        engine.execute(figure)
        _fill(ax, ax.get_position().size * figure.get_size_inches())
        ax.set_aspect("equal")

    def _widen(self, inches: float) -> None:
        """Make an own figure wider, so that a legend or color bar leaves the axes their room."""
        if self._has_own_figure:
            width, height = self.figure_.get_size_inches()
            self.figure_.set_size_inches(width + inches, height)

    def _show_colorbar(self, scale: Any, name: str | None) -> Any:
        """Draw a color bar and return it."""
        self._widen(COLOR_BAR)
        pad = {"pad": 0.12} if is_three_d(self.ax_) else {}
        bar = self.figure_.colorbar(scale, ax=self.ax_, label=name, shrink=0.8, **pad)
        plain_texts([bar.ax.yaxis.label])
        return bar

    def _show_legend(self, handles: Iterable[Any], names: Iterable[str], n_marks: int = 0) -> Any:
        """Draw a legend: beside the axes of an own figure, within axes of the user.

        Names are shown literally, including dollars and leading underscores. Among more than 2,000
        marks the best place is not searched.
        """
        handles, names = list(handles), [plain(name) for name in names]
        # matplotlib leaves out names with an underscore in front, and reads dollars as formulas.
        labels = ["name"] * len(names)
        if self._has_own_figure:
            columns = 1 + (len(names) - 1) // IN_A_COLUMN
            place = {"loc": "outside right upper", "ncols": columns}
            legend = self.figure_.legend(handles, labels, frameon=False, **place)
            self._legend_height = LINE * min(len(names), IN_A_COLUMN) + 0.2
            self._widen(columns * (0.5 + LETTER * max(len(name) for name in names)))
        else:
            loc = "best" if n_marks <= MANY_MARKS else "upper right"
            legend = self.ax_.legend(handles, labels, framealpha=0.8, edgecolor="none", loc=loc)
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_text(name)
        plain_texts(legend.get_texts())
        return legend

    def _repr_png_(self) -> bytes | None:
        """Return the picture for notebooks; None before it is drawn."""
        figure = getattr(self, "figure_", None)
        return None if figure is None else _png_of(figure)


def new_figure(size: tuple[float, float]) -> Any:
    """Return a figure of a size in inches, unknown to pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "twofold[plot]".') from error
    figure: Any = Figure(figsize=size, layout="constrained")
    # A notebook draws the figures of pyplot; others it asks for their picture.
    figure._repr_png_ = partial(_png_of, figure)
    return figure


def is_three_d(ax: Axes) -> bool:
    """Return whether axes have three dimensions."""
    return getattr(ax, "name", "") == "3d"


def extent_of(points: Array, margin: float = 0.04) -> Extent:
    """Return the left, right, bottom and top of points, with a margin on each side."""
    some = points if len(points) else np.array([[0.0, 0.0], [1.0, 1.0]])
    low, high = some.min(axis=0), some.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    middle, half = 0.5 * low + 0.5 * high, (0.5 + margin) * size
    left, bottom = (middle - half)[:2].tolist()
    right, top = (middle + half)[:2].tolist()
    return left, right, bottom, top


def map_size(
    extent: Extent, width: float, lowest: float = 0.4, highest: float = 1.2
) -> tuple[float, float]:
    """Return the size in inches of a figure with axes in the proportions of an extent.

    The ratio of height to width is clipped to ``lowest`` and ``highest``.
    """
    left, right, bottom, top = extent
    ratio = float(np.clip((top - bottom) / (right - left), lowest, highest))
    return width, (width - LABELS[0]) * ratio + LABELS[1]


def set_extent(ax: Any, extent: Extent) -> None:
    """Set the limits of axes, with the same scale in both directions."""
    left, right, bottom, top = extent
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")


def plain(text: Any, most: int = LONGEST_NAME) -> str:
    """Return a name as one short printable line, cut if it is long."""
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def plain_texts(texts: Iterable[Any]) -> None:
    """Show texts literally, with dollars."""
    for text in texts:
        text.set_parse_math(False)


def spans_decades(values: Array) -> bool:
    """Return whether positive values differ so much that they need a logarithmic axis."""
    return bool(values.min() > 0.0 and values.max() > WIDE_RANGE * values.min())


def readable_log(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, 1, 2 and 5 of each decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def rasterize(artist: Any) -> None:
    """Store an artist as pixels in vector files, if matplotlib can (contours since 3.11)."""
    if getattr(artist.draw, "_supports_rasterization", False):
        artist.set_rasterized(True)


def without_frame(ax: Axes) -> None:
    """Remove the upper and the right spine of a chart."""
    ax.spines[["top", "right"]].set_visible(False)


def save_figure(picture: Any, path: str | PathLike[str], *, dpi: float = 150) -> Path:
    """Write a picture to a file, in the format of its suffix, and return its path.

    The file is either complete or absent: a temporary file is written and then moved.

    Parameters
    ----------
    picture : Display, matplotlib Figure or Axes
        The picture to write.
    path : str or path-like
        The file; without a suffix a PNG is written.
    dpi : float, default=150
        Pixels per inch; in vector formats those of rasterized parts.

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
    """Return the ``savefig`` of a display, figure or axes."""
    figure = picture
    if isinstance(picture, Display):
        figure = getattr(picture, "figure_", None)
        if figure is None:
            raise ValueError(f"The {type(picture).__name__} is not drawn yet: call plot() first.")
    elif hasattr(picture, "figure"):
        figure = _root_figure(picture)
    if not hasattr(figure, "savefig"):
        raise TypeError(
            f"picture={type(picture).__name__} cannot be written: give a display, a Figure or Axes."
        )
    found: Callable[..., Any] = figure.savefig
    return found


def _fill(ax: Any, box: Array) -> None:
    """Widen the limits of axes in one direction, so that both have the same scale in a box."""
    sides = np.array([ax.get_xlim(), ax.get_ylim()])
    spans = sides[:, 1] - sides[:, 0]
    scale = float((spans / box).max())
    middle, half = sides.mean(axis=1), 0.5 * scale * box
    (left, bottom), (right, top) = middle - half, middle + half
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _root_figure(artist: Any) -> Any:
    """Return the figure to which axes or a subfigure belong."""
    return artist.figure.figure


def _png_of(figure: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
