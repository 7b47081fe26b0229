"""Parts of a benchmark that are kept in the repository, and the section written from them.

A file holds one record for each part: time, commit, versions and machine of its run, and the
figures. A part that was measured again replaces its former record.
"""

import json

from benchmarks.harness.records import described, write_json
from benchmarks.harness.sections import write_section


def recorded(figures, *packages):
    """Return the record of a part that was measured now."""
    return described(*packages) | {"figures": figures}


def read(path):
    """Return the parts that are kept."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def publish(path, measured, order, page, marks, section):
    """Keep the parts that were measured, and write a page's section from all that are kept."""
    known = read(path) | measured
    write_json(path, {part: known[part] for part in order if part in known})
    write_section(page, *marks, section(read(path)))


def origin(command, record):
    """Return the command, commit and date of a part, in Markdown."""
    return f"`{command}`, commit {record['commit']}, {record['started'][:10]}."


def figures_table(first, rows):
    """Return a table in Markdown: a line for each row, a column for each figure of any row."""
    columns = list(dict.fromkeys(key for figures in rows.values() for key in figures))
    lines = [f"| {first} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for label, figures in rows.items():
        cells = " | ".join(_cell(figures.get(column)) for column in columns)
        lines.append(f"| {label} | {cells} |")
    return "\n".join(lines)


def _cell(value):
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
