"""Do the tests notice a change of the code? Mutants of the numerical core, one at a time.

    python -m benchmarks.mutation [FILE ...] [--most 25] [--seed 0] [--seconds 7200]
                                  [--json out.json] [--again] [--publish]

A FILE is one of `targets.TARGETS`, such as ``numerics/linalg.py``. Its mutants are drawn by the
seed. Each is written to a temporary copy of the source, never here, and the file's own tests run on
it. ``--publish`` keeps the results of these files in ``results.json`` beside this one and writes
the table of docs/guide/reliability.md; with ``--seconds 0`` it writes the table alone. Survivors
that change no result are listed with the reason in ``examined.toml``; ``--again`` runs the other
kept survivors once more, after tests were added.
"""

import argparse
import json
import os
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before a library reads them: children are forked

from benchmarks.harness import ROOT
from benchmarks.mutation import forked, record
from benchmarks.mutation.mutants import drawn
from benchmarks.mutation.targets import TARGETS


def measured(files, most, seed, ends, former):
    """Return the figures of each file; stop at a time of the monotonic clock.

    Of files with figures of a former run, the survivors that were not examined run again.
    """
    found, known = {}, record.reasons()
    forked.inherit()
    with forked.copied(ROOT) as folder:
        for file in files:
            path, before = Path("src", "twofold", file), former.get(file)
            text = (ROOT / path).read_text(encoding="utf-8")
            if before is None:
                mutants = drawn(text, most, f"{seed} {file}")
            else:
                open_keys = {key for key in record.keys(before) if (file, *key) not in known}
                mutants = drawn(text, before["mutants"], f"{before['seed']} {file}")
                mutants = [one for one in mutants if one.key in open_keys]
            if not mutants or time.monotonic() > ends:
                continue
            tests, outcomes = forked.Tests(folder, "twofold", TARGETS[file]), []
            print(f"{file}: {len(mutants)} mutants, {tests.cpu:.1f} s for each that survives")
            for mutant in mutants:
                if time.monotonic() > ends:
                    break
                outcomes.append((mutant, tests.outcome(path, mutant.source)))
                if outcomes[-1][1] != "killed":
                    change = f"{mutant.before} -> {mutant.after}"
                    print(f"  {outcomes[-1][1]}: {mutant.line}: {mutant.code}  [{change}]")
            now = {"seed": seed} | record.summarized(outcomes)
            found[file] = now if before is None else record.merged(before, outcomes)
            print(told({file: found[file]}))
    return found


def told(files):
    """Return the counts of files in a line."""
    known = record.reasons()
    counts = "{} mutants, {} killed, {} equivalent, {} not noticed".format(
        *record.counted(files, known)
    )
    return f"{counts}: {100.0 * record.share(files, known):.1f} % killed of those that matter"


def main(arguments=None):
    """Read the command line, run, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="below src/twofold; all if none")
    parser.add_argument("--most", type=int, default=25, help="mutants of a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=7200.0, help="no new mutant after these")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", action="store_true", help="kept survivors alone")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.files) - set(TARGETS)
    if unknown:
        parser.error(f"unknown files {sorted(unknown)}; choose among {', '.join(TARGETS)}")
    files, former = options.files or list(TARGETS), {}
    if options.again:
        kept = json.loads(record.KEPT.read_text(encoding="utf-8"))
        former = {file: part["figures"] for file, part in kept.items()}
        files = [file for file in files if file in former]
    ends = time.monotonic() + options.seconds
    found = measured(files, options.most, options.seed, ends, former)
    print(told(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.publish:
        from benchmarks.harness.kept import publish, recorded  # they import twofold: not before

        parts = {file: recorded(figures) for file, figures in found.items()}
        publish(record.KEPT, parts, list(TARGETS), record.PAGE, record.MARKS, record.section)


if __name__ == "__main__":
    main()
