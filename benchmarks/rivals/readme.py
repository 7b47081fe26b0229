"""Write the verdicts of a run between marks: all into the README, the largest on the start page."""

from benchmarks.harness import sections
from benchmarks.rivals import goal
from benchmarks.rivals.page import commands, number, paragraph, verdict_table

BEGIN = "<!-- rivals: written by python -m benchmarks.rivals --publish; do not edit -->"
END = "<!-- rivals: end -->"
FEW_COMMANDS = 2
"""More commands of a run are listed on its page only."""

N_LARGEST = 6
"""Sets on the start page: those with the most rows, whoever wins."""

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


def write_start(path, verdicts, results):
    """Write the largest sets, and the count of all, between the marks of the start page."""
    sections.write_section(path, BEGIN, END, start_section(verdicts, results))


def start_section(verdicts, results):
    """Return the count of all sets and a short table of the largest."""
    rows = {entry["name"]: entry["rows"] for entry in results["sets"]}
    judged = [v for v in verdicts if v.kind != goal.ALONE and v.ours.is_two_way]
    largest = sorted(judged, key=lambda v: -rows[v.data])[:N_LARGEST]
    lines = [
        "| set | rows | `AutoTwoWay()` | seconds | best rival | its error | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for v in largest:
        ours, theirs = number(v.ours.error), number(v.rival.error)
        ours, theirs = (
            (f"**{ours}**", theirs) if v.ours.error < v.rival.error else (ours, f"**{theirs}**")
        )
        cells = (v.data, f"{rows[v.data]:,}", ours, number(v.ours.seconds), v.rival.method)
        cells += (theirs, number(v.rival.seconds))
        lines.append("| " + " | ".join(cells) + " |")
    said = (
        "Held-out error with two latent dimensions, as a share of the variance, with default "
        f"settings, on the {len(largest)} largest sets. {goal.count(verdicts)}"
    )
    return "\n".join(lines) + "\n\n" + paragraph(said)
