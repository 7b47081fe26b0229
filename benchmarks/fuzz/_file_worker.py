"""A process that takes many forged files in a row, started by `benchmarks.fuzz.files`.

    python -m benchmarks.fuzz._file_worker FOLDER SEED FIRST COUNT MEGABYTES [compiled]

It writes a line of JSON before and after each file, so that its parent knows which file ended it.
With *compiled*, loops compiled by numba are used for small models too.
"""

import gc
import json
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.fuzz._forging import forge
from benchmarks.fuzz._outcomes import Bad, outcome_of


def forged(folder, seed, number):
    """Return the name of a model, a forged file made of it, and what was changed."""
    names = sorted(Path(folder).glob("*.twofold"))
    rng = np.random.default_rng([seed, number])
    original = names[int(rng.integers(len(names)))]
    return original, *forge(original.read_bytes(), rng)


def main(folder, seed, first, count, megabytes, *rest):
    if rest:
        _compile_everything()
    limit = int(megabytes) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    say = sys.stdout.write
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(int(first), int(first) + int(count)):
            say(json.dumps({"begins": number}) + "\n")
            sys.stdout.flush()
            original, content, changed = forged(folder, int(seed), number)
            found = {"ends": number, "model": original.stem, "changed": changed}
            try:
                found["outcome"] = outcome_of(content, original, Path(scratch, "forged.twofold"))
            except (Bad, MemoryError) as error:
                found |= {"outcome": "bad", "why": str(error) or repr(error)}
                gc.collect()
            say(json.dumps(found) + "\n")
            sys.stdout.flush()


def _compile_everything():
    """Let small models take the ways of large ones."""
    import twofold.maps.projection
    import twofold.numerics.sums._compiled
    import twofold.numerics.sums.neighbors as neighbors
    import twofold.principal_manifold.projection as manifold

    neighbors.MANY_SOURCES = neighbors.FEWEST_SOURCES = 1
    neighbors.LARGEST_SHARE = 1.0
    twofold.maps.projection.MAX_COMPARED = 20
    twofold.numerics.sums._compiled.WORTH_COMPILING = 0
    manifold.WORTH_COMPILING = 0


if __name__ == "__main__":
    main(*sys.argv[1:])
