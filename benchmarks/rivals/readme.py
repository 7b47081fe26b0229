"""Write the verdicts of a run into the README and the documentation's start page, between marks."""

from benchmarks.harness import sections
from benchmarks.rivals import goal
from benchmarks.rivals.page import commands, verdict_table

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
    cores = "core" if machine["cores"] == 1 else "cores"
    return "\n".join(
        [
            f"{commands(about)} on {machine['cores']} {cores} ({machine['processor']}):",
            "",
            verdict_table([v for v in verdicts if v.kind != goal.ALONE]),
            "",
            goal.count(verdicts),
        ]
    )
