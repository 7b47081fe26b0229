"""Write the verdicts of a run into the README and the documentation's start page, between marks."""

from benchmarks.harness import sections
from benchmarks.rivals import goal
from benchmarks.rivals.page import verdict_cells

BEGIN = "<!-- rivals: written by python -m benchmarks.rivals --publish; do not edit -->"
END = "<!-- rivals: end -->"


def write_section(path, verdicts, results):
    """Write the table between the marks of a Markdown file.

    Parameters
    ----------
    path : Path
        The file; it must have both marks, once each.
    verdicts : sequence of Verdict
        One for each set.
    results : dict
        The content of ``results.json``, for the machine.
    """
    sections.write_section(path, BEGIN, END, section(verdicts, results))


def section(verdicts, results):
    """Return the table, with the command above it and the count below."""
    about = results["about"]
    machine = about["conditions"]["machine"]
    head = (
        "| set | our best | error | seconds | best rival with a decoder | error | seconds | we "
        "are |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    lines = [
        "| " + " | ".join([v.data, *verdict_cells(v), v.kind]) + " |"
        for v in verdicts
        if v.kind != goal.ALONE
    ]
    return "\n".join(
        [
            f"`{about['command']}` on {machine['cores']} cores ({machine['processor']}):",
            "",
            head,
            *lines,
            "",
            goal.count(verdicts),
        ]
    )
