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
        table, _, method = name.rpartition(", ")
        rows[f"{table}, {runs[0]['rows']:,} rows, `{method}`"] = {
            "error": _spread(runs, "error"),
            "one fit": _spread(runs, "error_once"),
            "ratio": _spread(runs, "ratio"),
            "shift, %": _spread(runs, "median_shift", 100.0),
            "of first rows, %": _spread(runs, "shift_of_first", 100.0),
            "cost": _spread(runs, "share_of_refit"),
            "largest cost": _spread(runs, "largest_share_of_refit"),
            "off": _spread(runs, "off_known"),
            "off, new regions": _spread(runs, "off_late"),
            "seeds": len(runs),
        }
    return "\n\n".join([said, ABOUT, figures_table("table, method", rows)])


def _command(name, record):
    runs, (table, _, method) = record["figures"]["runs"], name.rpartition(", ")
    seeds = " ".join(str(one["seed"]) for one in runs)
    return (
        f'python -m benchmarks.growing --tables "{table}" --rows {runs[0]["rows"]} '
        f"--methods {method} --seeds {seeds}"
    )


def _spread(runs, name, factor=1.0):
    values = [factor * one[name] for one in runs if one[name] is not None]
    if not values:
        return None
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{median(values):.3g} ({min(values):.3g}, {max(values):.3g})"
