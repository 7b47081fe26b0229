"""The tables of the page, from the records."""

from statistics import median

from benchmarks.harness.kept import figures_table, origin

NOTHING = "No figures have been published yet."
ABOUT = (
    "A model is fitted to the first batch and updated by the others; another one is fitted to all "
    "rows at once. Errors are those of 1,000 held-out rows of all kinds, as shares of variance. "
    "*Ratio* is the first error over the second. *Shift* is the median shift of old rows in an "
    "update, in percent of the diagonal of the map, and *of first rows* that of the first batch "
    "over all updates; for both the largest of a run. *Cost* is the processor time of an update as "
    "a share of that of the fit to all rows: the median of the updates, and the largest. *Off* is "
    "the share of rows off the manifold, in batches without and with new regions. Medians over "
    "seeds; in parentheses the lowest and the highest. Default settings, one thread."
)


def section(parts):
    """Return all tables."""
    if not parts:
        return NOTHING
    said = " ".join(origin(_command(name, record), record) for name, record in parts.items())
    rows = {}
    for name, record in parts.items():
        runs = record["figures"]["runs"]
        for method in dict.fromkeys(one["method"] for one in runs):
            chosen = [one for one in runs if one["method"] == method]
            label = f"{name}, {chosen[0]['rows']:,} rows, `{method}`"
            rows[label] = {
                "error": _spread(chosen, "error"),
                "one fit": _spread(chosen, "error_once"),
                "ratio": _spread(chosen, "ratio"),
                "shift, %": _spread(chosen, "median_shift", 100.0),
                "of first rows, %": _spread(chosen, "shift_of_first", 100.0),
                "cost": _spread(chosen, "share_of_refit"),
                "largest cost": _spread(chosen, "largest_share_of_refit"),
                "off": _spread(chosen, "off_known"),
                "off, new regions": _spread(chosen, "off_late"),
                "seeds": len(chosen),
            }
    return "\n\n".join([said, ABOUT, figures_table("table, method", rows)])


def _command(name, record):
    runs = record["figures"]["runs"]
    methods = " ".join(dict.fromkeys(one["method"] for one in runs))
    seeds = " ".join(dict.fromkeys(str(one["seed"]) for one in runs))
    return (
        f'python -m benchmarks.growing --tables "{name}" --rows {runs[0]["rows"]} '
        f"--methods {methods} --seeds {seeds}"
    )


def _spread(runs, name, factor=1.0):
    values = [factor * one[name] for one in runs if one[name] is not None]
    if not values:
        return None
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{median(values):.3g} ({min(values):.3g}, {max(values):.3g})"
