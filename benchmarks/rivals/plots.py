"""Plots of held-out error against time, one for each set.

Colors are from the color-blind safe palette of Okabe and Ito; ours and theirs differ in shape
too. The line joins the methods that no other beats on both.
"""

from pathlib import Path

import numpy as np

OURS, THEIRS, LINE = "#0072B2", "#D55E00", "#999999"
MOST_BYTES = 300_000


def draw_all(rows_of_set, folder):
    """Draw every set that has a held-out error; return the paths."""
    from matplotlib.figure import Figure

    from benchmarks.rivals.data import slug

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shown = {name: [row for row in rows if row.is_two_way] for name, rows in rows_of_set.items()}
    shown = {name: rows for name, rows in shown.items() if rows}
    paths = []
    for name, rows in shown.items():
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        ax = figure.subplots()
        pareto(ax, rows, name, size=8.5)
        _legend(figure, ax)
        figure.draw_without_rendering()
        label_points(ax, rows, size=8.5)
        paths.append(folder / f"rivals-{slug(name)}.png")
        save(figure, paths[-1])
    return paths


def pareto(ax, rows, title, size):
    """Draw the error of methods against their time into axes."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for ours, color, marker, label in (
        (True, OURS, "o", "twofold"),
        (False, THEIRS, "s", "rivals"),
    ):
        some = [row for row in rows if row.ours == ours]
        ax.scatter(
            [row.seconds for row in some],
            [row.error for row in some],
            color=color,
            marker=marker,
            s=size * 3,
            label=label,
            zorder=3,
        )
    front = frontier(rows)
    ax.plot(
        [row.seconds for row in front],
        [row.error for row in front],
        color=LINE,
        linewidth=1,
        zorder=1,
    )
    ax.set(xscale="log", yscale="log", title=title)
    for axis in (ax.xaxis, ax.yaxis):  # 0.1, not 10^-1
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    errors = [row.error for row in rows]
    if max(errors) < 100 * min(errors):  # few powers of ten to read from
        ax.yaxis.set_minor_formatter(FuncFormatter(_if_two_or_five))
    ax.set_xlabel("seconds: fit, encode and decode held-out rows", fontsize=size)
    ax.set_ylabel("held-out error", fontsize=size)
    ax.title.set_fontsize(size + 2)
    ax.tick_params(which="both", labelsize=size)
    ax.margins(0.18, 0.14)
    ax.grid(visible=True, alpha=0.25)


def _legend(figure, ax):
    """Add one legend outside the axes."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper right", ncols=2, fontsize=8)


def _if_two_or_five(value, _):
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def frontier(rows):
    """Return the rows that no other beats on both, the fastest first."""
    front = []
    for row in sorted(rows, key=lambda row: (row.seconds, row.error)):
        if not front or row.error < front[-1].error:
            front.append(row)
    return front


def label_points(ax, rows, size):
    """Write each name beside its point where it covers least; the figure must be laid out."""
    from matplotlib.transforms import Bbox

    points = ax.transData.transform([(row.seconds, row.error) for row in rows])
    point_size = size * ax.figure.dpi / 72.0
    frame = ax.get_window_extent()
    taken = [Bbox.from_bounds(x - 3, y - 3, 6, 6) for x, y in points]
    for row, (x, y) in sorted(zip(rows, points, strict=True), key=lambda pair: pair[1][1]):
        width, height = 0.58 * point_size * len(row.label), 1.05 * point_size
        best, least, distance = None, np.inf, 0.0
        for far in (1.0, 2.0, 3.2, 4.6):
            for across, along in _DIRECTIONS:
                left = x + across * (5 + 5 * far) - width * (1 - across) / 2
                low = y + along * (3 + height * 0.7 * far) - height / 2
                box = Bbox.from_bounds(left, low, width, height)
                cost = 4.0 * far + sum(_overlap(box, other) for other in taken)
                cost += 3.0 * (width * height - _overlap(box, frame))
                if cost < least:
                    best, least, distance = box, cost, far
        taken.append(best)
        center = ((best.x0 + best.x1) / 2, (best.y0 + best.y1) / 2)
        written = ax.annotate(
            row.label,
            xy=(row.seconds, row.error),
            xytext=ax.transData.inverted().transform(center),
            ha="center",
            va="center",
            fontsize=size,
            color=OURS if row.ours else THEIRS,
            # A line leads from a name to its point only where they are apart.
            arrowprops={"arrowstyle": "-", "color": LINE, "linewidth": 0.5}
            if distance > 1
            else None,
            annotation_clip=False,
            zorder=4,
        )
        written.set_in_layout(False)  # or the axes would shrink and the places be others


_DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)]


def _overlap(one, other):
    """Return the common area of two boxes."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(width, 0.0) * max(height, 0.0)


def save(figure, path):
    """Save a picture, with fewer pixels if the file would be too large."""
    for dpi in (110, 90, 70):
        figure.savefig(path, dpi=dpi)
        if path.stat().st_size <= MOST_BYTES:
            return
