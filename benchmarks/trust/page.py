"""The tables of docs/guide/trust.md, from the records."""

from statistics import mean, median

from scipy.stats import binom

from benchmarks.harness.kept import figures_table, origin
from benchmarks.trust.measure import LEVELS

NOTHING = "No figures have been published yet."
INTERVALS = (
    "Share of the cells of new rows within their 90 % intervals, mean over seeds; in brackets the "
    "rank correlation between standard deviations and errors, in units of the columns:"
)
ALARMS = (
    "Share of new rows that are flagged, of all rows of {splits} random splits, and the 95 % "
    "binomial interval of as many independent rows:"
)
CLASSES = (
    "Area under the ROC curve: fitted to rows of one class, new rows of it against rows of all "
    "others; mean over classes and seeds, and the lowest class:"
)
PLANTED = (
    "Ranks of four planted errors among all rows of the table that the model was fitted to "
    "(1 is the strangest row), median and worst over seeds:"
)


def section(parts):
    """Return all tables."""
    if not parts:
        return NOTHING
    command = "python -m benchmarks.trust --parts"
    said = [" ".join(origin(f"{command} {name}", one) for name, one in parts.items())]
    for name, about, table in (
        ("intervals", INTERVALS, _intervals),
        ("alarms", ALARMS, _alarms),
        ("classes", CLASSES, _classes),
        ("planted", PLANTED, _planted),
    ):
        if name in parts:
            found = parts[name]["figures"]["records"]
            splits = len({one["seed"] for one in found})
            said += [about.format(splits=splits), table(found)]
    return "\n\n".join(said)


def _by(records, *keys):
    groups = {}
    for one in records:
        groups.setdefault(tuple(one[key] for key in keys), []).append(one)
    return groups


def _intervals(records):
    rows = {}
    for (name, method), found in _by(records, "set", "method").items():
        covered = 100 * mean(one["covered"] for one in found)
        ranks = mean(one["rank_correlation"] for one in found)
        rows.setdefault(name, {})[method] = f"{covered:.1f} % ({ranks:.2f})"
    return figures_table("set", rows)


def _alarms(records):
    rows = {}
    for (name, method), found in _by(records, "set", "method").items():
        n_rows = sum(one["rows"] for one in found)
        row = rows.setdefault(f"{name}, {method}", {})
        for level in LEVELS:
            share = sum(one["flagged"][str(level)] for one in found) / n_rows
            low, high = (binom.ppf(q, n_rows, level) / n_rows for q in (0.025, 0.975))
            row[f"level {level}"] = f"{share:.4f} ({low:.4f} to {high:.4f})"
    return figures_table("set, method", rows)


def _classes(records):
    rows = {}
    for (name,), found in _by(records, "set").items():
        for method in found[0]["areas"]:
            by_class = [
                mean(one["areas"][method] for one in of_class)
                for of_class in _by(found, "label").values()
            ]
            rows.setdefault(method, {})[name] = f"{mean(by_class):.3f} ({min(by_class):.3f})"
    averages = {
        method: mean(
            mean(one["areas"][method] for one in of_class)
            for of_class in _by(records, "set", "label").values()
        )
        for method in records[0]["areas"]
    }
    for method, average in averages.items():
        rows[method]["all"] = f"{average:.3f}"
    return figures_table("detector", dict(sorted(rows.items(), key=lambda row: -averages[row[0]])))


def _planted(records):
    rows = {}
    for (name, method), found in _by(records, "set", "method").items():
        for by in found[0]["ranks"]:
            row = rows.setdefault(f"{name} ({found[0]['rows']} rows), {method}, {by}", {})
            for number, kind in enumerate(found[0]["kinds"]):
                ranks = [one["ranks"][by][number] for one in found]
                row[kind] = f"{median(ranks):.0f} ({max(ranks)})"
    return figures_table("table, method, by", rows)
