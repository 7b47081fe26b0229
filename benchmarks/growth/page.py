"""The tables in Markdown, and the section of the documentation, from the records alone."""

import textwrap

from benchmarks.growth import busy
from benchmarks.growth.first import COLUMNS as FIRST_COLUMNS
from benchmarks.growth.first import STATES
from benchmarks.growth.measure import NEW_ROWS
from benchmarks.growth.records import curves, median
from benchmarks.rivals.page import number

BEGIN = "<!-- growth: written by python -m benchmarks.growth plot; do not edit -->"
END = "<!-- growth: end -->"
STEPS = {
    "fit": "`fit`",
    "transform": f"`transform` of {NEW_ROWS:,} rows",
    "transform_one": "`transform` of one row",
    "inverse_transform": f"`inverse_transform` of {NEW_ROWS:,} latents",
}


def section(content, picture):
    """Return the section of the documentation: the picture, all fits, first calls, busy machine."""
    parts = [
        _head(content),
        f"![Wall and CPU seconds of a fit over the number of rows]({picture})",
        *(_fits(columns, methods) for columns, methods in curves(content).items()),
        _first(content),
        _busy(content),
    ]
    return "\n\n".join(part for part in parts if part)


def tables(content):
    """Return every table: time and memory of all steps, first calls, busy machine."""
    parts = ["# Growth of cost", _head(content)]
    for columns, methods in curves(content).items():
        parts.append(f"## {columns:,} columns")
        for step, title in STEPS.items():
            parts.append(f"{title}, wall seconds / CPU seconds:")
            parts.append(_table(methods, lambda record, step=step: _outcome(record, step)))
            parts.append(f"{title}, peak memory in MB above the memory in use before:")
            parts.append(_table(methods, lambda record, step=step: _megabytes(record, step)))
    parts += [_first(content), _busy(content)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(content):
    about = content["about"]
    machine = about["machine"]
    memory = f", {machine['memory_gb']:g} GB" if "memory_gb" in machine else ""
    listed = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return _paragraph(
        f"Machine: {machine['processor']}, {_counted(machine['cores'], 'core')}{memory}, "
        f"{machine['system']}; {_counted(about['threads'], 'thread')}. Commit `{about['commit']}`; "
        f"{listed}. Started {about['started']}."
    )


def _counted(count, word):
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _paragraph(text):
    """Wrap text to the width of the documentation's source."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _fits(columns, methods):
    title = f"`fit` with {columns:,} columns, wall seconds / CPU seconds, by the number of rows:"
    return f"{title}\n\n{_table(methods, lambda record: _outcome(record, 'fit'))}"


def _table(methods, cell):
    """Return a table with a row for each method and a column for each size."""
    sizes = sorted({record["rows"] for records in methods.values() for record in records})
    lines = [f"| | {' | '.join(f'{size:,}' for size in sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    for name, records in methods.items():
        by_size = {record["rows"]: cell(record) for record in records}
        shown = f"`{name}`" if records[0]["ours"] else name
        lines.append(f"| {shown} | {' | '.join(by_size.get(size, '') for size in sizes)} |")
    return "\n".join(lines)


def _times(record, step):
    """Return wall and CPU seconds of a step, medians; "" if it was not measured."""
    seconds = median(record, step)
    if seconds is None:
        return ""
    return f"{number(seconds)} / {number(median(record, step, 'cpu_seconds'))}"


def _outcome(record, step):
    """Return the times of a step, or why there are none."""
    if "failed" in record["figures"].get(step, {}):
        return "failed"
    if record["status"] != "ok" and step in ("fit", record.get("step")):
        words = {"time": f"over {record['budget']:g}", "memory": "memory", "skipped": "not run"}
        reason = words.get(record["status"], record["status"])
    else:
        reason = "not run" if step in record["left_out"] else ""
    return _times(record, step) or reason


def _megabytes(record, step):
    most = record["figures"].get(step, {}).get("extra_bytes")
    return f"{max(most) / 2**20:,.0f}" if most else ""


def _first(content):
    """Return the table of imports and first fits."""
    records = content["first"]
    if not records:
        return ""
    about = (
        "First calls in fresh processes, wall seconds / CPU seconds. The cache holds compiled "
        "code. The estimator is imported after `import twofold`, and fits follow both imports."
    )
    lines = [
        _paragraph(about),
        "",
        "| | empty cache | full cache |\n|---|---|---|",
    ]
    if "import" in records:
        for name, step in (("import twofold", "twofold"), ("from twofold import UKR", "estimator")):
            lines.append(f"| `{name}` | | {_times(records['import'], step)} |")
    for rows in sorted({record["rows"] for record in records.values() if record["rows"]}):
        cells = [_times(records[f"fit|{rows}|{state}"], "fit") for state in STATES]
        lines.append(f"| `UKR().fit`, {rows:,} x {FIRST_COLUMNS} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _busy(content):
    """Return the table of a fit on a busy machine."""
    records = sorted(content["busy"].values(), key=lambda record: record["processes"])
    if not records:
        return ""
    about = (
        f"`UKR().fit` of {busy.ROWS:,} x {busy.COLUMNS} beside processes that keep a core busy, "
        "wall seconds / CPU seconds:"
    )
    lines = [
        _paragraph(about),
        "",
        f"| busy processes | {' | '.join(str(record['processes']) for record in records)} |",
        "|---" * (len(records) + 1) + "|",
        f"| `fit` | {' | '.join(_times(record, 'fit') for record in records)} |",
    ]
    return "\n".join(lines)
