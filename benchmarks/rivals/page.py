"""The page for readers, ``docs/rivals.md``, written from ``results.json`` alone."""

import textwrap

from benchmarks.rivals import goal, published
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
    verdicts = verdicts_of(results)
    parts = [
        _head(results),
        _goal(verdicts),
        f"![Errors relative to the best rival, and seconds]({picture})" if picture else "",
        _published(results),
        *(_set(data, table[data["name"]]) for data in results["sets"]),
        _promises(results, table),
        _not_there(results),
        _how(results),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return verdicts


def verdicts_of(results):
    """Return the verdict on each set."""
    table = rows_of(results)
    return [
        goal.verdict(data["name"], table[data["name"]], data["rows"]) for data in results["sets"]
    ]


def _published(results):
    found = published.mnist_table(results)
    if not found:
        return ""
    held_out = next(one["held_out"] for one in results["sets"] if one["name"] == "MNIST")
    text = paragraph(
        "Mean squared error of a pixel in [0, 1] on MNIST from two latents. The published figures "
        f"are those of all 10,000 test images ({published.SOURCE}); ours are those of "
        f"{held_out:,} of them."
    )
    return f"## Published errors on MNIST\n\n{text}\n\n{found}"


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
    generated = paragraph(
        f"{commands(about)} generated this page: do not edit it. "
        "[The README](../benchmarks/rivals/README.md) says how to run it, what is measured, and "
        "how to add data and methods of your own."
    )
    facts = paragraph(
        f"Machine: {machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}. "
        f"All methods use {results['settings']['threads']} threads. "
        f"twofold at commit `{about['commit']}`; {listed}. "
        f"Run from {about['started']} to {about['finished']}."
    )
    return f"# Beside the rivals\n\n{generated}{small}\n\n{facts}"


def commands(about):
    """Return the commands of a run as text; there are several if a run was extended."""
    return ", then ".join(f"`{one}`" for one in about.get("commands", [about["command"]]))


def paragraph(text, indent=""):
    """Wrap text to the width of the documentation's source."""
    return textwrap.fill(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _list(verdicts):
    return "\n".join(paragraph(f"* {goal.sentence(v)}.", "  ") for v in verdicts)


def _goal(verdicts):
    lines = [
        "## `AutoTwoWay()` beside the best rival",
        paragraph(
            "The best rival is the one with the lowest error on held-out rows of all rivals that "
            "encode and decode. Codebook errors are those with 64 codewords, with 16 for sets "
            "under 256 training rows. Our best is the one with the lowest error of all our "
            "estimators with default settings. The time covers the fit, and encoding and decoding "
            "the held-out rows."
        ),
        paragraph(f"**{goal.count(verdicts)}**"),
        verdict_table(verdicts),
    ]
    behind = [v for v in verdicts if not v.holds]
    if behind:
        title = "Where its held-out error is more than 5 % higher than the best rival's:"
        lines.append(f"{title}\n\n{_list(behind)}")
    return "\n\n".join(lines)


HEAD = (
    "| set | `AutoTwoWay()` chose | error | codebook | seconds | best rival | error | codebook "
    "| seconds | lowest codebook error of a rival | our best | error | `AutoTwoWay()` is |"
)


def verdict_table(verdicts):
    """Return the table of all verdicts."""
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    for v in verdicts:
        cells = [v.data, *_cells(v, v.ours, v.ours and v.ours.figures.get("chosen"))]
        cells += _cells(v, v.rival, v.rival and v.rival.method)
        cells.append(number(v.codebook_error(v.map_rival)))
        cells += ["", ""] if v.best is None else [_code(v.best), number(v.best.error)]
        lines.append("| " + " | ".join([*cells, f"**{v.kind}**"]) + " |")
    return "\n".join(lines)


def _cells(v, row, name):
    """Return name, error, codebook error and seconds of a row, as cells of a table."""
    if row is None:
        return [""] * 4
    if not row.is_two_way:
        return [_plain(row.note), "", "", ""]
    figures = (row.error, v.codebook_error(row), row.seconds)
    return [name or "", *(number(figure) for figure in figures)]


OF_DECODERS = {"map_score", *(f"codebook_error_{size}" for size in N_CODES)}
SOMETIMES = {*OF_DECODERS, "distance_correlation", "triplet_accuracy"}
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
    "distances": "distance_correlation",
    "triplets": "triplet_accuracy",
    "R²": "procrustes_r2",
    "fit, s": "fit_seconds",
    "encode, s": "transform_seconds",
    "decode, s": "inverse_seconds",
    "memory, MB": "extra_bytes",
}
HIGHER = {
    "map_score",
    "accuracy",
    "trustworthiness",
    "continuity",
    "distance_correlation",
    "triplet_accuracy",
    "procrustes_r2",
}


def _set(data, rows):
    about = f"{data['rows']:,} rows of {data['features']} features, {data['held_out']:,} held out"
    if data["classes"]:
        about += f", {data['classes']} classes"
    if data.get("unit", 1.0) is None:
        about += "; each column is standardized by the training rows"
    columns = {title: name for title, name in COLUMNS.items() if _is_shown(name, data, rows)}
    best = {name: _best(rows, name) for name in columns.values()}
    lines = [f"| method | {' | '.join(columns)} | |", "|---" * (len(columns) + 2) + "|"]
    for row in sorted(rows, key=_order):
        cells = [_cell(row, name, best[name]) for name in columns.values()]
        lines.append(f"| {_code(row)} | {' | '.join(cells)} | {_plain(_remark(row))} |")
    return f"## {data['name']}\n\n{about}.\n\n" + "\n".join(lines)


def _is_shown(name, data, rows):
    if name in SOMETIMES:
        return any(name in row.figures for row in rows)
    return bool({"accuracy": data["classes"], "procrustes_r2": data["truth"]}.get(name, True))


def _remark(row):
    if row.reference and not row.note:
        return "reference line: no latents"
    chosen = row.figures.get("chosen")
    return "; ".join(part for part in (chosen and f"chose {chosen}", row.note) if part)


def _order(row):
    """Sort by error, then methods that cannot decode, those that did not run, and references."""
    did_not_run = "fit_seconds" not in row.figures
    return (row.reference, row.error is None, row.error or 0.0, did_not_run, not row.ours)


def _best(rows, name):
    values = [row.figures[name] for row in rows if name in row.figures and not row.reference]
    if not values:
        return None
    return max(values) if name in HIGHER else min(values)


def _cell(row, name, best):
    value = row.figures.get(name)
    if value is None:
        needs_inverse = name in OF_DECODERS or name in ("error", "inverse_seconds")
        none = (needs_inverse and row.figures.get("no_inverse")) or (
            name != "fit_seconds" and row.figures.get("no_transform")
        )
        return "none" if none else ""
    text = f"{value / 2**20:,.0f}" if name.endswith("bytes") else number(value)
    return f"**{text}**" if value == best and not row.reference else text


def _promises(results, table):
    """Return the table of what holds for a method on all sets: the worst value of each."""
    first = first_calls(results)
    lines = [
        "## Promises and first calls",
        paragraph(
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
        if method.get("reference"):
            continue
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
        f"the same number of cores. It may take {settings['seconds']:g} s (twice that from 50,000 "
        f"rows on) and {settings['most_bytes'] / 2**30:.3g} GB. "
        f"{_seeds(results)} Code that is compiled at first use is compiled before the "
        "clock starts. The error is the squared reconstruction error of the held-out rows, encoded "
        f"to two latents and decoded, as a share of their variance. {about_maps}Trustworthiness "
        "and continuity "
        "are those of the held-out rows, with 5 neighbors. The accuracy is that of the nearest "
        "training latent. Distances: the rank correlation of pairwise distances in the data and in "
        "the latent space; triplets: the share of random triplets whose order of distances is "
        "kept. R² is the share of the true parameters' variance that the latents "
        "explain after shift, rotation and scaling. Memory is the peak above that of the process "
        "with the data loaded. Sets are shifted and scaled by one number, those whose columns "
        "have units of their own by one number for each column; all numbers come from the training "
        "rows, and all methods get the same arrays. Reference lines look rows up in the data space "
        "and have no latents: they are no rivals, and they take no part in the comparison."
    )
    head = "| method | settings |\n|---|---|\n"
    return f"## How\n\n{paragraph(text)}\n\n{head}" + "\n".join(lines)


def _code(row):
    return f"`{row.method}`" if row.ours else row.method


def _seeds(results):
    """Return which seeds were used, from the jobs: a method may have more than the others."""
    used = {}
    for job in results["jobs"]:
        if job["kind"] == "measure":
            used.setdefault(job["method"], set()).add(job["seed"])
    most = max(map(len, used.values()), default=1)
    if most == 1:
        return f"Seed: {results['settings']['seeds'][0]}."
    names = [one["name"] for one in results["methods"] if len(used.get(one["name"], ())) == most]
    shown = names if len(names) < len(used) else ["all methods"]
    return (
        f"Up to 2,000 rows {most} seeds for {', '.join(shown)}, with medians shown; only the first "
        "for more rows, for methods that do not depend on a seed, and for all others."
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
