"""What a deployed model costs: files, held-out errors, seconds to load, and the first row.

    python -m benchmarks.deployment [--rows 60000]        # writes deployment.json
    python -m benchmarks.deployment publish deployment.json

A `UKR` model of MNIST is written in several forms: arrays as they are (as files up to format 4
were), without loss, and with prototypes. The error is that of the 10,000 test
rows, as a share of the variance. A fresh process imports the library, loads the file, encodes one
row, and then more rows one by one. Times are processor time, the least of `N_PROCESSES`: a machine
with other work to do waits longer. ONNX files are those of the last model. ``publish`` keeps the
record beside this file, and writes the table of docs/guide/deploy.md from it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import twofold
from benchmarks.harness import ROOT
from benchmarks.harness.records import described, write_json
from benchmarks.harness.sections import write_section
from twofold import UKR
from twofold.datasets import load_mnist
from twofold.export.encoder import Encoder
from twofold.export.model_files import MARK, _write_file
from twofold.export.onnx import export

KEPT = ROOT / "benchmarks" / "deployment.json"
PAGE = ROOT / "docs" / "guide" / "deploy.md"
MARKS = (
    "<!-- deployment: written by python -m benchmarks.deployment; do not edit -->",
    "<!-- deployment: end -->",
)
N_PROCESSES = 2
N_SINGLE = 50
"""Rows that are encoded one by one."""

FRESH = """
import json, sys, time
import numpy as np
times = [time.process_time()]
def lap():
    times.append(time.process_time())
{library}
lap()
{load}
lap()
rows = np.load(sys.argv[2])
lap()
for row in rows:
    {encode}
    lap()
steps = np.diff(times)
print(json.dumps({{
    "import": steps[0], "load": steps[1], "first": steps[3], "next": float(np.median(steps[4:])),
}}))
"""
LIBRARY = FRESH.format(
    library="from twofold import UKR, load",
    load="model = load(sys.argv[1])",
    encode="model.transform(row[None])",
)
RUNTIME = FRESH.format(
    library="import onnxruntime",
    load="model = onnxruntime.InferenceSession(sys.argv[1])",
    encode='model.run(None, {"X": row[None].astype("float32")})',
)


def in_a_fresh_process(code, path, rows, folder):
    """Return the seconds of processes that have just begun, the least of each."""
    np.save(folder / "rows.npy", rows)
    command = [sys.executable, "-c", code, str(path), str(folder / "rows.npy")]
    told = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(N_PROCESSES)
    ]
    return {key: min(one[key] for one in told) for key in told[0]}


def uncompressed(model, path):
    """Write a model with its arrays as they are."""
    encoder = Encoder()
    encoder.add(model, loose=frozenset(model.get_params(deep=False)))
    facts = {
        "class": type(model).__name__,
        "parameters": {},
        "feature_names": None,
        "n_features": int(model.n_features_in_),
        "n_components": int(model.embedding_.shape[1]),
    }
    _write_file(path, MARK, facts, encoder, compact=False)


def files_of(X, number, ratio, folder):
    """Write the model files that are missing in a folder: arrays as they are, exact, and small."""
    plain, exact, small = (folder / f"{name}.twofold" for name in ("plain", "exact", "small"))
    if not exact.exists():
        UKR(random_state=0).fit(X).save(exact)
    if not plain.exists():
        uncompressed(twofold.load(exact), plain)
    if not small.exists():
        twofold.load(exact).compress(number, max_error_ratio=ratio).save(small)
    return plain, exact, small


def of_files(plain, exact, small, X_test, folder):
    """Return the results of the model files, and of the last one as ONNX."""
    rows, results, latents = X_test[:N_SINGLE], [], None
    for path, name in ((plain, "arrays as they are"), (exact, "`save`"), (small, "`compress()`")):
        model = twofold.load(path)
        if path == exact:  # the same bits as before
            np.testing.assert_array_equal(model.transform(rows), latents)
            error = results[0]["error"]
        else:
            latents, error = model.transform(rows), 1.0 - model.score(X_test)
        found = {"form": name, "bytes": path.stat().st_size, "error": error}
        report = getattr(model, "compression_", None)
        if report is not None:
            found |= {"prototypes": report.n_prototypes, "estimated_ratio": report.ratio}
        results.append(found | in_a_fresh_process(LIBRARY, path, rows, folder))
        print(results[-1], flush=True)
    return results, of_onnx(model, X_test, folder)


def of_onnx(model, X_test, folder):
    """Return sizes and latencies of both maps of a model as ONNX files."""
    down, up = (export(model, folder / f"{name}.onnx", map=name) for name in ("down", "up"))
    found = in_a_fresh_process(RUNTIME, down.path, X_test[:N_SINGLE], folder)
    told = down.distillation
    return {
        "down_bytes": down.n_bytes,
        "up_bytes": up.n_bytes,
        "kind": told.kind,
        "error": told.error,
        "distilled_error": told.distilled_error,
        **found,
    }


def table(record):
    """Return the record as Markdown."""
    n_rows, n_columns = record["shape"]
    results = record["results"]
    exact = results[0]["error"]
    head = (
        f"`{record['command']}`, commit {record['commit']}, {record['started'][:10]}, "
        f"{record['machine']['cores']} cores. `UKR()` of MNIST, {n_rows:,} x {n_columns}. Errors "
        f"are those of {record['n_test']:,} test rows. Times are processor time in a fresh "
        f"process; the import of the library before them takes {results[1]['import']:.1f} s."
    )
    names = ["form", "prototypes", "file, MB", "error", "ratio", "load, s", "first row, ms"]
    names += ["next rows, ms"]
    lines = [head, "", "| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for one in results:
        number = f"{one['prototypes']:,}" if "prototypes" in one else ""
        lines.append(
            f"| {one['form']} | {number} | {one['bytes'] / 1e6:.1f} | {one['error']:.4f} | "
            f"{one['error'] / exact:.3f} | {one['load']:.2f} | {1e3 * one['first']:.0f} | "
            f"{1e3 * one['next']:.1f} |"
        )
    onnx = record["onnx"]
    last = (
        f"The last of these as ONNX: {onnx['down_bytes'] / 1e6:.1f} MB down (distilled by "
        f'"{onnx["kind"]}": an error of {onnx["distilled_error"]:.3f} instead of '
        f"{onnx['error']:.3f} on held-out training rows) and {onnx['up_bytes'] / 1e6:.1f} MB up; "
        f"loaded in {onnx['load']:.2f} s, {1e3 * onnx['first']:.0f} ms for the first row, "
        f"{1e3 * onnx['next']:.1f} ms for each of the next."
    )
    return "\n".join([*lines, "", last])


def publish(path):
    """Keep a record, and write the table of the guide from it."""
    record = json.loads(Path(path).read_text(encoding="utf-8"))
    write_json(KEPT, record)
    write_section(PAGE, *MARKS, table(record))


def main(arguments=None):
    """Measure, print and write a record; or publish one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["run", "publish"], default="run")
    parser.add_argument("record", nargs="?", default="deployment.json", help="the record")
    parser.add_argument("--rows", type=int, default=60_000, help="rows to fit [60000]")
    parser.add_argument("--ratio", type=float, default=1.05, help="of errors, for auto [1.05]")
    parser.add_argument("--prototypes", type=int, help="their number [auto]")
    parser.add_argument("--folder", help="keeps the model files; those in it are not made again")
    options = parser.parse_args(arguments)
    if options.what == "publish":
        publish(options.record)
        return
    mnist = load_mnist()
    X, X_test = mnist.X_train[: options.rows], mnist.X_test[: max(100, options.rows // 6)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.folder or scratch)
        files = files_of(X, options.prototypes or "auto", options.ratio, folder)
        results, onnx = of_files(*files, X_test, Path(scratch))
    record = described("onnx", "onnxruntime") | {
        "command": f"python -m benchmarks.deployment --rows {options.rows}",
        "shape": list(X.shape),
        "n_test": len(X_test),
        "results": results,
        "onnx": onnx,
    }
    print(table(record))
    write_json(Path(options.record), record)


if __name__ == "__main__":
    main()
