"""One picture of all sets: errors relative to the best rival, and seconds.

A line of the picture is a set. Colors are from the color-blind safe palette of Okabe and Ito; ours
and theirs differ in shape too. Values beyond the axis lie on its edge.
"""

import numpy as np

from benchmarks.rivals.plots import LINE, OURS, THEIRS, save

LEAST, MOST = 0.1, 10.0
"""Bounds of relative errors on the axis."""
SIZE = 8


def draw(verdicts, rows_of_set, path):
    """Draw the sets that have a rival with a held-out error; return the path, or None.

    Parameters
    ----------
    verdicts : sequence of Verdict
        One for each set.
    rows_of_set : dict
        All methods on each set, ``{set: [Row, ...]}``.
    path : Path
        Where to.
    """
    from matplotlib.figure import Figure

    shown = [v for v in verdicts if v.rival is not None]
    if not shown:
        return None
    figure = Figure(figsize=(11.0, 1.5 + 0.29 * len(shown)), layout="constrained")
    error, codebook, time = figure.subplots(1, 3, sharey=True)
    for place, v in enumerate(shown):
        rows = rows_of_set[v.data]
        _relative(error, place, v, rows, "error", v.rival.error)
        if v.map_rival is not None:
            name = f"codebook_error_{v.n_codes}"
            _relative(codebook, place, v, rows, name, v.map_rival.figures[name])
        _seconds(time, place, v)
    for ax, title in (
        (error, "held-out error / best rival's"),
        (codebook, "codebook error / best rival's"),
    ):
        ax.axvline(1.0, color=LINE, linewidth=1, zorder=1)
        ax.set(xscale="log", xlim=(LEAST / 1.2, MOST * 1.2), title=title)
        ax.set_xticks([LEAST, 0.2, 0.5, 1.0, 2.0, 5.0, MOST])
        _plain_numbers(ax)
    time.set(xscale="log", title="seconds: fit, encode, decode")
    _plain_numbers(time)
    labels = [f"{v.data}  ({v.rival.label})" for v in shown]
    error.set_yticks(range(len(shown)), labels)
    error.set_ylim(len(shown) - 0.4, -0.6)
    for ax in (error, codebook, time):
        ax.tick_params(labelsize=SIZE)
        ax.title.set_fontsize(SIZE + 1)
        ax.grid(visible=True, axis="y", alpha=0.3)
    _legend(figure)
    save(figure, path)
    return path


def _relative(ax, place, v, rows, name, unit):
    """Draw one kind of error of all methods on a set, relative to the best rival's."""

    def at(row):
        return np.clip(row.figures[name] / unit, LEAST, MOST)

    unit = unit or 1.0
    theirs = [row for row in rows if row.is_two_way and not row.ours and name in row.figures]
    ax.scatter([at(r) for r in theirs], [place] * len(theirs), **_STYLES["rivals"])
    for row, style in ((v.best, "our best"), (v.ours, "AutoTwoWay()")):
        if row is not None and name in row.figures:
            ax.scatter(at(row), place, **_STYLES[style])
    for row in rows:
        if row.reference and name != "error" and name in row.figures:
            ax.scatter(at(row), place, **_STYLES["k-means of the data"])


def _seconds(ax, place, v):
    for row, style in ((v.rival, "best rival"), (v.best, "our best"), (v.ours, "AutoTwoWay()")):
        if row is not None and row.is_two_way:
            ax.scatter(row.seconds, place, **_STYLES[style])


_STYLES = {
    "AutoTwoWay()": {"marker": "o", "color": OURS, "s": 30, "zorder": 5},
    "our best": {
        "marker": "o",
        "facecolors": "none",
        "edgecolors": OURS,
        "s": 62,
        "zorder": 4,
    },
    "rivals": {"marker": "|", "color": THEIRS, "s": 45, "zorder": 3},
    "best rival": {"marker": "s", "color": THEIRS, "s": 20, "zorder": 3},
    "k-means of the data": {"marker": "x", "color": "black", "s": 20, "zorder": 2},
}


def _legend(figure):
    handles = [figure.axes[0].scatter([], [], label=name, **s) for name, s in _STYLES.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(_STYLES), fontsize=SIZE)


def _plain_numbers(ax):
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
