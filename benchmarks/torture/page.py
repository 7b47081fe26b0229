"""The generated section of docs/guide/reliability.md."""

from benchmarks.torture.recorder import ONCE
from benchmarks.torture.rows import ROWS

PASSED, EXPECTED, FAILED, ELSEWHERE = "✓", "✗", "FAILED", ""


def section(outcomes, estimators, source):
    """Return the section: what was run, the estimators by rows, and the rows with their reasons.

    Parameters
    ----------
    outcomes : dict
        By row and estimator, as the recorder writes them.
    estimators : iterable of str
        The registered names.
    source : str
        A sentence about the run.
    """
    legend = (
        f"{source} {PASSED}: the tests of the row pass; {EXPECTED}: an expected failure, and the "
        "run fails if it passes; –: the row does not apply; empty: tested for some estimators "
        "that stand for all. Rows that do not depend on the estimator are tested once for all."
    )
    return "\n\n".join(
        [
            legend,
            _matrix(outcomes, estimators),
            _rows(outcomes),
            "Expected failures, and rows that do not apply:",
            _reasons(outcomes, estimators),
        ]
    )


def _matrix(outcomes, estimators):
    numbers = [number for number in ROWS if set(outcomes.get(str(number), {})) - {ONCE}]
    lines = [
        f"| | {' | '.join(map(str, numbers))} |",
        "|---" * (len(numbers) + 1) + "|",
    ]
    for name in estimators:
        cells = [_cell(outcomes[str(number)].get(name)) for number in numbers]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(entry):
    if not entry:
        return ELSEWHERE
    for outcome, mark in (("failed", FAILED), ("expected failures", EXPECTED), ("passed", PASSED)):
        if entry.get(outcome):
            return mark
    return "–"


def _rows(outcomes):
    lines = [
        "| row | input or fault | tests of each estimator | tests once for all |",
        "|---|---|---|---|",
    ]
    for number, row in ROWS.items():
        found = outcomes.get(str(number), {})
        each = [entry for name, entry in found.items() if name != ONCE]
        lines.append(
            f"| {number} | {row.name} | {_count(each)} | {_count([found.get(ONCE, {})])} |"
        )
    return "\n".join(lines)


def _count(entries):
    """Return how many tests passed, and how many did not."""
    counts = {
        outcome: sum(entry.get(outcome, 0) for entry in entries)
        for outcome in ("passed", "expected failures", "skipped", "failed")
    }
    text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return text.replace(" 1 expected failures", " 1 expected failure")


def _reasons(outcomes, estimators):
    """Return one line for each reason: the row, the estimators and what keeps them."""
    found = {}
    for number in ROWS:
        for name in [*estimators, ONCE]:
            for reason in outcomes.get(str(number), {}).get(name, {}).get("reasons", ()):
                found.setdefault((number, reason), []).append(name)
    return "\n".join(
        f"* {number}, {', '.join('tests once for all' if n == ONCE else f'`{n}`' for n in names)}: "
        f"{reason}."
        for (number, reason), names in found.items()
    )
