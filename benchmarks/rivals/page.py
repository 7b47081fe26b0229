"""The page for readers, ``docs/rivals.md``, written from ``results.json`` alone."""

import textwrap

from benchmarks.rivals import goal
from benchmarks.rivals.summary import first_calls, rows_of
from twofold.numerics.codebooks import N_CODES

BIT = 0.0
SAME = 1e-6
"""Latents that differ by less than this, in standard deviations, count as equal."""


def write_page(results, path, picture=None):
    """Write the page; return the verdicts.

    Parameters
    ----------
    results : dict
        The content of ``results.json``.
    path : Path
        Where to.
    picture : str, default=None
        The combined picture, relative to the page.
    """
    table = rows_of(results)
    verdicts = [goal.verdict(name, rows) for name, rows in table.items()]
    parts = [
        _head(results),
        _goal(verdicts),
        f"![Held-out error against time]({picture})" if picture else "",
        *(_set(data, table[data["name"]]) for data in results["sets"]),
        _promises(results, table),
        _not_there(results),
        _how(results),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return verdicts


def _head(results):
    about = results["about"]
    machine = about["conditions"]["machine"]
    versions = about["conditions"]["versions"]
    listed = ", ".join(f"{name} {value or 'not installed'}" for name, value in versions.items())
    quick = results["settings"]["mode"] == "quick"
    small = (
        "\n\n**This is a quick run with reduced sizes and one seed. Do not quote its figures.**"
        if quick
        else ""
    )
    memory = f", {machine['memory_gb']:g} GB" if "memory_gb" in machine else ""
    generated = _paragraph(
        f"`{about['command']}` generated this page: do not edit it. "
        "[The README](../benchmarks/rivals/README.md) says how to run it, what is measured, and "
        "how to add data and methods of your own."
    )
    facts = _paragraph(
        f"Machine: {machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}. "
        f"All methods use {results['settings']['threads']} threads. "
        f"twofold at commit `{about['commit']}`; {listed}. "
        f"Run from {about['started']} to {about['finished']}."
    )
    return f"# Beside the rivals\n\n{generated}{small}\n\n{facts}"


def _paragraph(text, indent=""):
    """Wrap text to the width of the documentation's source."""
    return textwrap.fill(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _list(verdicts):
    return "\n".join(_paragraph(f"* {goal.sentence(v)}.", "  ") for v in verdicts)


def _goal(verdicts):
    lines = [
        "## The goal",
        _paragraph(
            "On every set no rival is both faster and better on held-out reconstruction than our "
            "best estimator, and on most sets we are ahead of the best rival on both. The best "
            "method is the one with the lowest error on held-out rows, among our eight and among "
            "all rivals. The time covers the fit, and encoding and decoding the held-out rows."
        ),
        _paragraph(f"**{goal.count(verdicts)}**"),
        "| set | verdict | our best | error | seconds | best rival | error | seconds | also ahead "
        "of it on both |\n"
        "|---|---|---|---|---|---|---|---|---|\n" + "\n".join(_verdict_line(v) for v in verdicts),
    ]
    behind = [v for v in verdicts if not v.holds]
    if behind:
        lines.append("Where we are behind:\n\n" + _list(behind))
    slower = [v for v in verdicts if v.kind == goal.ERROR]
    if slower:
        title = "Where our best has the lowest error but the best rival is faster:\n\n"
        lines.append(title + _list(slower))
    return "\n\n".join(lines)


def _verdict_line(v):
    also = ", ".join(_code(row) for row in v.also)
    return "| " + " | ".join([v.data, f"**{v.kind}**", *verdict_cells(v), also]) + " |"


def verdict_cells(v):
    """Return name, error and seconds of our best and of the best rival, as cells of a table."""
    cells = []
    for row in (v.ours, v.rival):
        cells += (
            ["", "", ""] if row is None else [_code(row), number(row.error), number(row.seconds)]
        )
    return cells


SOMETIMES = {"map_score", *(f"codebook_error_{size}" for size in N_CODES)}
"""Columns that are shown if some method has them: few rows support few codewords, and older runs
have none.
"""
COLUMNS = {
    "held-out error": "error",
    "map score": "map_score",
    **{f"K = {size}": f"codebook_error_{size}" for size in N_CODES},
    "1-NN accuracy": "accuracy",
    "trust": "trustworthiness",
    "continuity": "continuity",
    "R²": "procrustes_r2",
    "fit, s": "fit_seconds",
    "down, s": "transform_seconds",
    "up, s": "inverse_seconds",
    "memory, MB": "extra_bytes",
}
HIGHER = {"map_score", "accuracy", "trustworthiness", "continuity", "procrustes_r2"}


def _set(data, rows):
    about = f"{data['rows']:,} rows of {data['features']} features, {data['held_out']:,} held out"
    if data["classes"]:
        about += f", {data['classes']} classes"
    columns = {title: name for title, name in COLUMNS.items() if _is_shown(name, data, rows)}
    best = {name: _best(rows, name) for name in columns.values()}
    lines = [f"| method | {' | '.join(columns)} | |", "|---" * (len(columns) + 2) + "|"]
    for row in sorted(rows, key=_order):
        cells = [_cell(row, name, best[name]) for name in columns.values()]
        lines.append(f"| {_code(row)} | {' | '.join(cells)} | {_plain(row.note)} |")
    return f"## {data['name']}\n\n{about}.\n\n" + "\n".join(lines)


def _is_shown(name, data, rows):
    if name in SOMETIMES:
        return any(name in row.figures for row in rows)
    return bool({"accuracy": data["classes"], "procrustes_r2": data["truth"]}.get(name, True))


def _order(row):
    """Sort by error, then methods that cannot decode, then methods that did not run."""
    return (row.error is None, row.error or 0.0, "fit_seconds" not in row.figures, not row.ours)


def _best(rows, name):
    values = [row.figures[name] for row in rows if name in row.figures]
    if not values:
        return None
    return max(values) if name in HIGHER else min(values)


def _cell(row, name, best):
    value = row.figures.get(name)
    if value is None:
        needs_inverse = name in SOMETIMES or name in ("error", "inverse_seconds")
        none = (needs_inverse and row.figures.get("no_inverse")) or (
            name != "fit_seconds" and row.figures.get("no_transform")
        )
        return "none" if none else ""
    text = f"{value / 2**20:,.0f}" if name.endswith("bytes") else number(value)
    return f"**{text}**" if value == best else text


def _promises(results, table):
    """Return the table of what holds for a method on all sets: the worst value of each."""
    first = first_calls(results)
    lines = [
        "## Promises and first calls",
        _paragraph(
            "Batch: whether the latents of a row depend on the other rows of the call (largest "
            "change on any set, in standard deviations of the latents). Repeatable: whether a "
            "second fit with the same seed gives the same latents; blank if no fit was fast "
            "enough to be repeated. First call: seconds from the start of a fresh process to its "
            "first transformed rows, 200 x 10, with an empty cache of compiled code and with a "
            "full one."
        ),
        "| method | batch | repeatable | first call, empty cache | full cache |\n"
        + "|---" * 5
        + "|",
    ]
    body = []
    for method in results["methods"]:
        mine = [row for rows in table.values() for row in rows if row.method == method["name"]]
        batch = [row.figures["batch_gap"] for row in mine if "batch_gap" in row.figures]
        repeat = [row.figures["repeat_gap"] for row in mine if "repeat_gap" in row.figures]
        times = first.get(method["name"], {})
        name = f"`{method['name']}`" if method["ours"] else method["name"]
        alone = any(row.figures.get("fails_alone") for row in mine)
        cells = [name, _promise(batch) + (", fails for one row alone" if alone else "")]
        cells.append(_promise(repeat))
        cells += [number(times.get(state)) for state in ("empty", "full")]
        body.append("| " + " | ".join(cells) + " |")
    lines[-1] += "\n" + "\n".join(body)
    return "\n\n".join(lines)


def _promise(gaps):
    if not gaps:
        return ""
    worst = max(gaps)
    if worst == BIT:
        return "same, bit for bit"
    return f"same (to {worst:.0e})" if worst <= SAME else f"no ({worst:.2g})"


def _not_there(results):
    lines = [f"* {entry['name']}: {entry['reason']}" for entry in results["missing_sets"]]
    if lines:
        return "## Missing sets\n\n" + "\n".join(lines)
    return ""


ABOUT_MAPS = (
    "K = 16, 64, 256 and 1024 are codebook errors: latents are replaced by the nearest of K "
    "codewords, the k-means centers of the training latents, and decoded; they are measured where "
    "a codeword has at least four training rows. The map score is the negative mean of the "
    "logarithms of these errors and the held-out error; higher is better. "
)


def _how(results):
    settings = results["settings"]
    about_maps = ABOUT_MAPS if any("map_score" in job["figures"] for job in results["jobs"]) else ""
    lines = [
        f"| {'`' + m['name'] + '`' if m['ours'] else m['name']} | {m['settings']} |"
        for m in results["methods"]
    ]
    text = (
        "Each job, a method on a set with a seed, runs in its own process, one after the other, on "
        f"the same number of cores. It may take {settings['seconds']:g} s (twice that from half a "
        f"million rows on) and {settings['most_bytes'] / 2**30:.3g} GB. "
        f"{_seeds(settings['seeds'])} Code that is compiled at first use is compiled before the "
        "clock starts. The error is the squared reconstruction error of the held-out rows, encoded "
        f"to two latents and decoded, as a share of their variance. {about_maps}Trustworthiness "
        "and continuity "
        "are those of the held-out rows, with 5 neighbors. The accuracy is that of the nearest "
        "training latent. R² is the share of the true parameters' variance that the latents "
        "explain after shift, rotation and scaling. Memory is the peak above that of the process "
        "with the data loaded. All sets are shifted and scaled by one number."
    )
    head = "| method | settings |\n|---|---|\n"
    return f"## How\n\n{_paragraph(text)}\n\n{head}" + "\n".join(lines)


def _code(row):
    return f"`{row.method}`" if row.ours else row.method


def _seeds(seeds):
    if len(seeds) == 1:
        return f"Seed: {seeds[0]}."
    listed = ", ".join(map(str, seeds))
    return (
        f"Seeds: {listed} up to 2,000 rows, with medians shown; only the first for more rows and "
        "for methods that do not depend on a seed."
    )


def _plain(text):
    """Return text that does not break a table."""
    text = text.replace("|", "/").replace("<", "(").replace(">", ")")
    return text if len(text) <= 160 else text[:157] + "..."


def number(value):
    """Return a figure with three significant digits; large ones keep all integer digits."""
    if value is None:
        return ""
    if value == 0 or 0.1 <= abs(value) < 1000:
        digits = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
        return f"{value:.{digits}f}"
    return f"{value:#.3g}" if abs(value) < 1 else f"{value:,.0f}"
