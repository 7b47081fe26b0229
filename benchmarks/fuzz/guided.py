"""The reader of model files, fuzzed guided by coverage. It needs atheris.

    python -m benchmarks.fuzz guided [--seconds 600] [--folder FOLDER]

The first byte of an input says what the others are: the document of a file, whose arrays and
digests fit, one of its arrays, or the whole file. The second byte chooses the model. Any outcome
that is not documented ends the run.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

MISSING = "guided: skipped, because atheris is not installed (pip install atheris)"
NAMES = ("first", "drur-axes", "two_way-rbf_network", "kplanes", "points", "twister")
"""Models whose documents are short."""

LONGEST = 40_000
SECONDS_OF_AN_INPUT, MEGABYTES = 30, 4_096


def run(seconds, folder):
    """Fuzz for some seconds; inputs of bad outcomes are kept in the folder."""
    if atheris is None:
        print(MISSING)
        return
    with atheris.instrument_imports(include=["twofold.export"]):
        from benchmarks.fuzz import _models
        from benchmarks.fuzz._forging import Forged
        from benchmarks.fuzz._outcomes import loaded
        from twofold.export.object_graph import CLASSES

    folder = Path(folder)
    saved, corpus = folder / "models", folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    _models.save_all(saved, NAMES)
    paths = sorted(saved.glob("*.twofold"))
    for number, path in enumerate(paths):
        forged = Forged(path.read_bytes())
        parts = [json.dumps(forged.document).encode(), forged.payloads[0], path.read_bytes()]
        for way, part in enumerate(parts):
            (corpus / f"{path.stem}-{way}").write_bytes(bytes([way, number]) + part)
    words = [*CLASSES, *(f"${one}" for one in ("object", "array", "tuple", "items", "csr", "rng"))]
    dictionary = folder / "words.txt"
    dictionary.write_text("".join(f'"{word}"\n' for word in words))
    scratch = folder / "input.twofold"

    def one_input(data):
        if len(data) < 2:
            return
        path, rest = paths[data[1] % len(paths)], data[2:]
        forged = Forged(path.read_bytes())
        if data[0] % 3 == 0:
            content = forged.signed(rest)
        elif data[0] % 3 == 1:
            forged.payloads[0] = rest
            content = forged.signed()
        else:
            content = rest
        scratch.write_bytes(content)
        loaded(scratch)

    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-dict={dictionary}"]
    options += ["-len_control=0", f"-timeout={SECONDS_OF_AN_INPUT}", f"-rss_limit_mb={MEGABYTES}"]
    options += [f"-artifact_prefix={folder}/bad-", str(corpus)]
    atheris.Setup([sys.argv[0], *options], one_input)
    atheris.Fuzz()


def main(arguments):
    """Fuzz for some time, if atheris is there; it ends the process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz guided")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--folder", type=Path, help="keeps inputs of bad outcomes")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        run(options.seconds, options.folder or scratch)
    return 0
