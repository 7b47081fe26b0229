"""Write the verdicts of a run into the README and the documentation's start page, between marks."""

from benchmarks.harness import sections
from benchmarks.rivals import goal
from benchmarks.rivals.page import commands, paragraph, verdict_table

BEGIN = "<!-- rivals: written by python -m benchmarks.rivals --publish; do not edit -->"
END = "<!-- rivals: end -->"
FEW_COMMANDS = 2
"""More commands of a run are listed on its page only."""

COLUMNS = (
    "Errors are shares of the variance of held-out rows, encoded to two latents and decoded. For "
    "the codebook error, latents are first replaced by the nearest of 64 codewords (16 for sets "
    "under 256 rows), which a torn or folded map does not survive. The best rival has the lowest "
    "error of all rivals that encode and decode; our best, of all our estimators."
)


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
    said = commands(about)
    if len(about.get("commands", [])) > FEW_COMMANDS:
        said = f"`{about['commands'][0]}`, extended by more calls,"
    origin = f"{said} on {machine['cores']} {cores} ({machine['processor']}):"
    table = verdict_table([v for v in verdicts if v.kind != goal.ALONE])
    return "\n\n".join(
        [paragraph(origin), table, paragraph(COLUMNS), paragraph(goal.count(verdicts))]
    )
