"""What a run found: counts for each file, survivors, and why some of them cannot be noticed."""

import tomllib

from benchmarks.harness import ROOT

KEPT = ROOT / "benchmarks" / "mutation" / "results.json"
EXAMINED = ROOT / "benchmarks" / "mutation" / "examined.toml"
PAGE = ROOT / "docs" / "guide" / "reliability.md"
MARKS = (
    "<!-- mutation: written by python -m benchmarks.mutation --publish; do not edit -->",
    "<!-- mutation: end -->",
)


def reasons(path=EXAMINED):
    """Return ``{(file, code, before, after): reason}`` of mutants that change no result."""
    if not path.is_file():
        return {}
    found = tomllib.loads(path.read_text(encoding="utf-8"))["equivalent"]
    return {(one["file"], one["code"], one["before"], one["after"]): one["why"] for one in found}


def summarized(outcomes):
    """Return the figures of one file from pairs of a mutant and its outcome."""
    counts = [outcome for _, outcome in outcomes]
    return {
        "mutants": len(outcomes),
        "killed": counts.count("killed"),
        "timed_out": counts.count("timed out"),
        "survivors": [
            {"line": one.line, "code": one.code, "before": one.before, "after": one.after}
            for one, outcome in outcomes
            if outcome == "survived"
        ],
    }


def keys(figures):
    """Return the text of the line, what stood there and what stands there, of each survivor."""
    return [(one["code"], one["before"], one["after"]) for one in figures["survivors"]]


def merged(former, outcomes):
    """Return the figures of a file after some of its survivors ran again."""
    survived = {mutant.key for mutant, outcome in outcomes if outcome == "survived"}
    killed = {mutant.key for mutant, _ in outcomes} - survived
    left = [
        one for one, key in zip(former["survivors"], keys(former), strict=True) if key not in killed
    ]
    n_killed = len(former["survivors"]) - len(left)
    return former | {"killed": former["killed"] + n_killed, "survivors": left}


def counted(files, known):
    """Return how many mutants of files there are, were killed, are equivalent, and are neither."""
    survivors = [(file, *key) for file, found in files.items() for key in keys(found)]
    n_equivalent = sum(one in known for one in survivors)
    n_mutants = sum(found["mutants"] for found in files.values())
    return n_mutants, n_mutants - len(survivors), n_equivalent, len(survivors) - n_equivalent


def share(files, known):
    """Return the share of killed mutants among those that change a result."""
    n_mutants, n_killed, n_equivalent, _ = counted(files, known)
    return n_killed / max(1, n_mutants - n_equivalent)


def section(parts):
    """Return the section of the guide from the records that are kept."""
    files, known = {name: part["figures"] for name, part in parts.items()}, reasons()
    lines = [
        "| file | mutants | killed | no change of a result | not noticed | killed of the others |",
        "|---|---|---|---|---|---|",
    ]
    for name, some in [
        *((f"`{name}`", {name: one}) for name, one in files.items()),
        ("all", files),
    ]:
        cells = " | ".join(str(count) for count in counted(some, known))
        lines.append(f"| {name} | {cells} | {100.0 * share(some, known):.0f} % |")
    return "\n".join(lines)
