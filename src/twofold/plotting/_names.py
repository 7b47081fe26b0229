"""Names of classes: on the map where they can be read, else in a legend."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.plotting._colors import COLORS, class_color, dark_enough
from twofold.plotting._figures import Display, plain, show_legend
from twofold.plotting._labels import Classes
from twofold.plotting._points import class_handles, points_across
from twofold.protocols import Array, IntArray

__all__ = ["PLACES", "class_places", "name_classes"]

PLACES = ("auto", "map", "legend", "both", "none")

LONGEST_ON_MAP = 14
MOST_ON_MAP = 60
MOST_IN_LEGEND = 40
FEWEST_ON_MAP = 50
"""Points; of fewer a name would cover those it stands for."""

MOST_COVERED = 0.3
"""Share of the names on a map that may touch others, if classes are many."""

FONT_SIZE = 12.0


def class_places(points: Array, classes: Classes) -> tuple[IntArray, Array]:
    """Return the classes that have rows, largest first, and the member of each that is nearest to its median.

    The median itself may lie where the class has no members at all.
    """
    counts = np.bincount(classes.codes[classes.codes >= 0], minlength=len(classes.names))
    numbers = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    places = []
    for number in numbers:
        members = points[classes.codes == number]
        distances = np.square(members - np.median(members, axis=0)).sum(axis=1)
        places.append(members[distances.argmin()])
    return numbers, np.array(places).reshape(len(numbers), points.shape[1])


def name_classes(
    display: Display, points: Array, classes: Classes, where: str
) -> tuple[list[Any], Any]:
    """Write the names of classes; return the texts on the map, and the legend.

    Parameters
    ----------
    display : Display
        Which has opened its axes and set their limits.
    points : ndarray of shape (n, 2) or (n, 3)
        What was drawn.
    classes : Classes
        Their classes.
    where : {"auto", "map", "legend", "both", "none"}
        "auto" is the map where names are short and do not lie on top of each other, else a legend; nothing for one class.
    """
    numbers, places = class_places(points, classes)
    if where == "auto":
        where = _best_place(display, [classes.names[k] for k in numbers], places, len(points))
    texts, legend = [], None
    if where in ("map", "both"):
        texts = [
            _write(display.ax_, classes.names[number], place, class_color(number))
            for number, place in zip(numbers[:MOST_ON_MAP], places, strict=False)
        ]
    if where in ("legend", "both"):
        shown = sorted(numbers[:MOST_IN_LEGEND].tolist())
        names = [classes.names[number] for number in shown]
        if (classes.codes < 0).any():
            shown, names = [*shown, -1], [*names, "no label"]
        legend = show_legend(display, class_handles(shown), names, n_marks=len(points))
    return texts, legend


def _best_place(display: Display, names: list[str], places: Array, n_points: int) -> str:
    if len(names) < 2:
        return "none"
    short = max(len(name) for name in names) <= LONGEST_ON_MAP and len(names) <= MOST_ON_MAP
    # Where colours repeat, names on the map are worth more than that all can be read.
    bearable = 0.0 if len(names) <= len(COLORS) else MOST_COVERED
    has_room = places.shape[1] == 3 or _share_covered(display, names, places) <= bearable
    if short and has_room and n_points >= FEWEST_ON_MAP:
        return "map"
    if len(names) <= MOST_IN_LEGEND:
        return "legend"
    return "map"


def _share_covered(display: Display, names: list[str], places: Array) -> float:
    """Return the share of the names that others would cover."""
    ax = display.ax_
    span = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    points = places / span * points_across(ax)
    widths = np.array([0.7 * FONT_SIZE * len(name) + 6.0 for name in names])
    wide = 0.5 * (widths[:, None] + widths)
    gaps = np.abs(points[:, None] - points)
    covered = (gaps[:, :, 0] < wide) & (gaps[:, :, 1] < 1.6 * FONT_SIZE)
    np.fill_diagonal(covered, False)
    return float(covered.any(axis=1).mean())


def _write(ax: Any, name: str, place: Array, color: str) -> Any:
    from matplotlib.patheffects import withStroke

    return ax.text(
        *place,
        plain(name, LONGEST_ON_MAP),
        ha="center",
        va="center",
        fontsize=FONT_SIZE,
        weight="bold",
        color=dark_enough(color),
        path_effects=[withStroke(linewidth=3.5, foreground="white")],
        parse_math=False,
        zorder=1_000,  # in space, above all that matplotlib sorts by depth
        clip_on=True,
    )
