"""The picture: seconds and CPU seconds of a fit over the rows, one panel for each width of table.

Ours are in the color-blind safe palette of Okabe and Ito, rivals are gray and dashed. A cross marks
the last size before a method exceeded its budget or the memory.
"""

from benchmarks.growth.records import curves, median

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B0A000")
GRAYS = ("#555555", "#888888", "#555555", "#888888")
MARKERS = "osD^vP*X"
DASHES = ("--", "--", ":", "-.")
MEASURES = {"seconds": "wall seconds", "cpu_seconds": "CPU seconds"}


def draw(content, path):
    """Draw all curves into a file, SVG or what its name says; return its path."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = curves(content)
    styles = _styles(panels)
    figure = Figure(figsize=(2.4 + 4.4 * len(panels), 8.0), layout="constrained")
    axes = figure.subplots(len(MEASURES), len(panels), sharex=True, sharey=True, squeeze=False)
    for row, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        for ax, (columns, methods) in zip(row, panels.items(), strict=True):
            _panel(ax, methods, measure, styles)
            ax.set_title(f"{columns:,} columns: {title} of fit", fontsize=11)
        row[0].set_ylabel(title)
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    handles = {}
    for ax in axes.flat:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = [name for name in styles if name in handles]
    figure.legend([handles[name] for name in order], order, loc="outside right upper")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date and with fixed names inside, the same records give the same file.
    with mpl.rc_context({"svg.hashsalt": "twofold"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path


def _styles(panels):
    """Return ``{method: style of its line}``, ours first."""
    known = {}
    for methods in panels.values():
        known |= {name: records[0] for name, records in methods.items()}
    ours = [name for name, record in known.items() if record["ours"]]
    theirs = [name for name in known if name not in ours]
    styles = {}
    for place, name in enumerate(ours):
        style = {"color": COLORS[place % len(COLORS)], "linestyle": "-", "linewidth": 1.8}
        styles[name] = style | {"marker": MARKERS[place % len(MARKERS)], "markersize": 4.5}
    for place, name in enumerate(theirs):
        style = {"color": GRAYS[place % len(GRAYS)], "linestyle": DASHES[place % len(DASHES)]}
        style |= {"linewidth": 1.4, "marker": MARKERS[place % len(MARKERS)], "markersize": 4.5}
        styles[name] = style | {"markerfacecolor": "white", "zorder": 1.5}
    return styles


def _panel(ax, methods, measure, styles):
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for name, records in methods.items():
        points = [(record["rows"], median(record, "fit", measure)) for record in records]
        points = [point for point in points if point[1]]
        if not points:
            continue
        style = styles[name]
        ax.plot(*zip(*points, strict=True), label=name, **style)
        if records[-1]["rows"] > points[-1][0]:
            ax.plot(*points[-1], marker="x", markersize=11, color=style["color"], linestyle="")
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(labelbottom=True, labelleft=True)
    ax.grid(visible=True, alpha=0.25)
