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


def summarized(file, outcomes, known):
    """Return the figures of one file from pairs of a mutant and its outcome."""
    survivors = []
    for mutant, outcome in outcomes:
        if outcome == "survived":
            one = {"line": mutant.line, "code": mutant.code}
            one |= {"before": mutant.before, "after": mutant.after}
            why = known.get((file, *mutant.key))
            survivors.append(one | ({"equivalent": why} if why else {}))
    counts = [outcome for _, outcome in outcomes]
    return {
        "mutants": len(outcomes),
        "killed": counts.count("killed"),
        "timed_out": counts.count("timed out"),
        "survivors": survivors,
    }


def counted(files):
    """Return mutants, killed ones, equivalent ones and others of all files together."""
    survivors = [one for found in files.values() for one in found["survivors"]]
    n_equivalent = sum("equivalent" in one for one in survivors)
    n_mutants = sum(found["mutants"] for found in files.values())
    n_killed = n_mutants - len(survivors)
    return n_mutants, n_killed, n_equivalent, len(survivors) - n_equivalent


def share(files):
    """Return the share of killed mutants among those that change a result."""
    n_mutants, n_killed, n_equivalent, _ = counted(files)
    return n_killed / max(1, n_mutants - n_equivalent)


def section(parts):
    """Return the section of the guide from the record that is kept."""
    from benchmarks.harness.kept import origin

    record = parts["mutants"]
    files = record["figures"]["files"]
    lines = [
        "| file | mutants | killed | no change of a result | not noticed | killed of the others |",
        "|---|---|---|---|---|---|",
    ]
    for name, some in [*((name, {name: one}) for name, one in files.items()), ("all", files)]:
        shown = f"`{name}`" if name in files else "all"
        cells = " | ".join(str(count) for count in counted(some))
        lines.append(f"| {shown} | {cells} | {100.0 * share(some):.0f} % |")
    command = f"python -m benchmarks.mutation --seed {record['figures']['seed']} --publish"
    return "\n".join([*lines, "", origin(command, record)])
