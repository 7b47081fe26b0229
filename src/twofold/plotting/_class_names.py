"""Names of classes: on the map if they can be read there, else in a legend."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.plotting._figures import Display, plain
from twofold.plotting._labels import COLORS, Classes, class_color, dark_enough
from twofold.plotting._marks import class_handles, points_across
from twofold.protocols import Array, IntArray

PLACES = ("auto", "map", "legend", "both", "none")
LONGEST_ON_MAP = 14
MOST_ON_MAP = 60
MOST_IN_LEGEND = 40
FEWEST_ON_MAP = 50  # with fewer points a name would cover those of its class
MOST_COVERED = 0.3  # share of the names on a map that may overlap if there are many classes
FONT_SIZE = 12.0


def name_classes(
    display: Display, points: Array, classes: Classes, where: str
) -> tuple[list[Any], Any]:
    """Write the names of the classes of points (n, 2 or 3); return the texts and the legend.

    The axes must have their limits. "auto" is the map if names are short and do not overlap, else
    a legend; a single class gets no name.
    """
    numbers, places = _class_places(points, classes)
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
        shown += [-1] * bool((classes.codes < 0).any())
        names = [classes.name(number) for number in shown]
        legend = display._show_legend(class_handles(shown), names, len(points))
    return texts, legend


def _class_places(points: Array, classes: Classes) -> tuple[IntArray, Array]:
    """Return the classes by size, and the member of each that is nearest to its median.

    The median itself may lie where the class has no members.
    """
    counts = np.bincount(classes.codes[classes.codes >= 0], minlength=len(classes.names))
    numbers = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    places = []
    for number in numbers:
        members = points[classes.codes == number]
        distances = np.square(members - np.median(members, axis=0)).sum(axis=1)
        places.append(members[distances.argmin()])
    return numbers, np.array(places).reshape(len(numbers), points.shape[1])


def _best_place(display: Display, names: list[str], places: Array, n_points: int) -> str:
    if len(names) < 2:
        return "none"
    short = max(len(name) for name in names) <= LONGEST_ON_MAP and len(names) <= MOST_ON_MAP
    # If colors repeat, names on the map are useful even if some overlap.
    bearable = 0.0 if len(names) <= len(COLORS) else MOST_COVERED
    has_room = places.shape[1] == 3 or _share_covered(display, names, places) <= bearable
    if short and has_room and n_points >= FEWEST_ON_MAP:
        return "map"
    return "legend" if len(names) <= MOST_IN_LEGEND else "map"


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

    style = {"ha": "center", "va": "center", "fontsize": FONT_SIZE, "weight": "bold"}
    outline = [withStroke(linewidth=3.5, foreground="white")]
    # In space matplotlib sorts by depth; the order 1,000 is above all others.
    order = {"zorder": 1_000, "clip_on": True, "parse_math": False, "path_effects": outline}
    return ax.text(*place, plain(name, LONGEST_ON_MAP), color=dark_enough(color), **style, **order)
