"""The tables of the page, from the records."""

from statistics import mean

from benchmarks.harness.kept import figures_table, origin
from benchmarks.imputation.methods import JUDGED, METHODS, OURS

NOTHING = "No figures have been published yet."
ABOUT = (
    "Root mean squared error of the removed cells, in units of the standard deviation of the set "
    "(penguins: of each column); mean over seeds. Cells were removed at random (the share is "
    "given), or a rectangle of about half the height and width of each image (block). All methods "
    "run with default settings in one thread. `IterativeImputer` was stopped after ten times the "
    "seconds of ours: “not finished”; after that it was not run on the other patterns of the set. "
    "COIL-20 is a sample of 720 rows, USPS and MNIST of 1,000 rows. The rank of iterated PCA is "
    "chosen on hidden cells."
)
COVERED = "Share of removed cells within the 90 % intervals of `impute(X, return_std=True)`:"
SECONDS = "Seconds:"
HELD_OUT = (
    "Error of complete held-out rows, as a share of the variance, after a fit to complete rows and "
    "after a fit to rows with 30 % gaps. The last two columns are of new rows with 30 % gaps, "
    "after the fit with gaps: the root mean squared error of their removed cells, and the share of "
    "these within the 90 % intervals:"
)


def section(parts):
    """Return all tables."""
    if not parts:
        return NOTHING
    said = [origins(parts), ABOUT, cells(parts, "rmse", METHODS)]
    said += [COVERED, cells(parts, "covered", OURS), SECONDS, cells(parts, "seconds", METHODS)]
    return "\n\n".join([*said, HELD_OUT, held_out(parts)])


def origins(parts):
    """Return commands, commits and dates of the sets."""
    return " ".join(
        origin(f'python -m benchmarks.imputation --sets "{name}"', record)
        for name, record in parts.items()
    )


def cells(parts, figure, methods):
    """Return a table of one figure: a line for each set and pattern, a column for each method."""
    rows = {}
    for name, record in parts.items():
        for one in record["figures"]["cells"]:
            row = rows.setdefault(f"{name}, {one['pattern']}", {method: [] for method in methods})
            if one["method"] in row:
                row[one["method"]].append(one.get(figure, one["status"]))
    shown = {
        label: {f"`{method}`": _shown(values) for method, values in row.items()}
        for label, row in rows.items()
    }
    return figures_table("set, removed", shown)


def held_out(parts):
    """Return the table of errors of held-out rows."""
    rows = {}
    for name, record in parts.items():
        for method in JUDGED:
            found = [one for one in record["figures"]["held_out"] if one["method"] == method]
            rows[f"{name}, `{method}`"] = {
                "complete": _shown([one.get("error_without", one["status"]) for one in found]),
                "with gaps": _shown([one.get("error_with", one["status"]) for one in found]),
                "ratio": _shown([one.get("ratio", one["status"]) for one in found]),
                "new cells": _shown([one.get("new_rmse", one["status"]) for one in found]),
                "covered": _shown([one.get("new_covered", one["status"]) for one in found]),
            }
    return figures_table("set, method", rows)


def _shown(values):
    """Return the mean of figures, or what happened instead."""
    if not values:
        return None
    words = [one for one in values if isinstance(one, str)]
    if words:
        return "not finished" if "time" in words else words[0]
    return float(mean(values))
