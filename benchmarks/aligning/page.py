"""The tables of the page, from the records."""

from benchmarks.harness.kept import figures_table, origin

NOTHING = "No figures have been published yet."
TITLES = {
    "rows": "**The same things, measured twice** (`shared` has 70 % of the rows of the fits):",
    "features": "**Other rows, the same features** (no row in common, nothing declared):",
    "moments": "**Two moments of one table** (70 % of the rows in common, all of them declared):",
}
ABOUT = (
    "Medians over seeds, with the range of the ratio. Distances are percent of the map: of the "
    "root of the mean squared distance between two rows of the old map. *Shared* are the declared "
    "rows, median and 90th percentile; *held out* are things that no fit has seen, placed by "
    "`transform` in both maps; *moved* are the same after `align` without tables. *Ratio* is the "
    "held-out error of the aligned fit over that of a fit of the second table alone. *Cross* is "
    "the error of held-out rows of the first table that are decoded as rows of the second, as a "
    "share of the variance: through the aligned map, and by regressions from all columns of the "
    "first table to the second (scikit-learn), which have no map."
)


def section(parts):
    """Return the tables of all cases."""
    if not parts:
        return NOTHING
    said = [" ".join(origin(command_of(case), record) for case, record in parts.items()), ABOUT]
    for case, record in parts.items():
        rows = {f"{one['set']}, {one['method']}": cells(one) for one in record["figures"]}
        said += [TITLES[case], figures_table("tables, method", rows)]
    return "\n\n".join(said)


def command_of(case):
    """Return the command that measures a case."""
    return f"python -m benchmarks.aligning --cases {case}"


def cells(one):
    """Return the figures of a line in percent and ratios."""
    median = one["median"]

    def percent(*names):
        return " / ".join(f"{100 * median[name]:.1f}" for name in names)

    low, high = one["ratios"]
    found = {
        "shared %": percent("shared", "shared_90"),
        "held out %": percent("held_out", "held_out_90"),
        "moved %": percent("moved"),
        "error alone": f"{median['error_alone']:.3g}",
        "ratio": f"{median['ratio']:.2f} ({low:.2f} to {high:.2f})",
        "cross": f"{median['cross']:.3f}",
    }
    for name in ("ridge", "5 neighbors"):
        if name in median:
            found[name] = f"{median[name]:.3f}"
    return found
