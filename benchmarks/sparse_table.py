"""Fit a sparse table that would not fit into memory as a dense one.

    python -m benchmarks.sparse_table [--rows 100000] [--columns 20000] [--publish]

The rows are counts on a curved sheet: each has a place on a square, and its chances to have a value
in a column change smoothly over the square. About 5 % of the cells have one. ``position`` is the
share of variance of the true places of held-out rows that their latents explain (20 nearest
neighbors on the map). ``--publish`` keeps the record beside this file, and writes the table of
docs/guide/sparse.md from it.
"""

import argparse
import time

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.harness import ROOT, memory
from benchmarks.harness.records import described, write_json
from benchmarks.harness.sections import write_section
from twofold import DRUR, UKR

KEPT = ROOT / "benchmarks" / "sparse_table.json"
PAGE = ROOT / "docs" / "guide" / "sparse.md"
MARKS = (
    "<!-- sparse table: written by python -m benchmarks.sparse_table; do not edit -->",
    "<!-- sparse table: end -->",
)
SHARE = 0.05
N_BUMPS = 12
ROWS_AT_A_TIME = 2_000
N_HELD_OUT = 1_000
N_NEAREST = 20


def counts_on_a_sheet(n_rows, n_columns, seed=0):
    """Return logarithms of counts (n, D) as CSR matrix, and the places (n, 2) of the rows."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-1.0, 1.0, (n_rows, 2))
    centers = rng.uniform(-1.0, 1.0, (N_BUMPS, 2))
    chances = rng.gamma(0.5, 2.0 * SHARE, (N_BUMPS, n_columns)).clip(0.0, 1.0).astype(np.float32)
    parts = []
    for start in range(0, n_rows, ROWS_AT_A_TIME):
        some = places[start : start + ROWS_AT_A_TIME]
        bumps = np.exp(-np.square(some[:, None] - centers).sum(axis=2) / 0.3)
        wanted = (bumps / bumps.sum(axis=1, keepdims=True)).astype(np.float32) @ chances
        found = sparse.csr_array(rng.random(wanted.shape, dtype=np.float32) < wanted)
        values = np.log1p(1.0 + rng.poisson(1.0, found.nnz))
        parts.append(sparse.csr_array((values, found.indices, found.indptr), shape=found.shape))
    return sparse.vstack(parts, format="csr"), places


def measured(name, model, X, places):
    """Fit a model to all rows but some; return seconds, memory and held-out figures."""
    fitted, held_out = X[:-N_HELD_OUT], X[-N_HELD_OUT:]
    before = memory.start_counting()
    began = time.perf_counter()
    model.fit(fitted)
    fit = time.perf_counter() - began
    peak = memory.peak_bytes()
    began = time.perf_counter()
    latents = model.transform(held_out)
    encode = time.perf_counter() - began
    began = time.perf_counter()
    model.inverse_transform(latents, features=range(min(100, X.shape[1])))
    decode = time.perf_counter() - began
    nearest = KNeighborsRegressor(N_NEAREST).fit(model.embedding_, places[:-N_HELD_OUT])
    return {
        "method": name,
        "fit": fit,
        "peak_gb": peak / 2**30,
        "table_gb": before / 2**30,
        "encode": encode,
        "decode": decode,
        "score": model.score(held_out),
        "position": nearest.score(latents, places[-N_HELD_OUT:]),
    }


def table(record):
    """Return the record as Markdown."""
    n_rows, n_columns = record["shape"]
    head = (
        f"`{record['command']}`, commit {record['commit']}, {record['started'][:10]}, "
        f"{record['machine']['cores']} cores. {n_rows:,} x {n_columns:,}, "
        f"{100 * record['density']:.1f} % of the cells have a value; as a dense table "
        f"{8 * n_rows * n_columns / 2**30:.0f} GB. Seconds for the fit, for encoding 1,000 rows, "
        "and for decoding 100 columns of them; the peak of memory includes the table and Python."
    )
    lines = [
        head,
        "",
        "| method | fit, s | encode, s | decode, s | peak, GB | of these before, GB | true place |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{one['method']}` | {one['fit']:.0f} | {one['encode']:.1f} | {one['decode']:.2f} | "
        f"{one['peak_gb']:.1f} | {one['table_gb']:.1f} | {one['position']:.3f} |"
        for one in record["results"]
    ]
    return "\n".join(lines)


def main(arguments=None):
    """Measure, print, and publish if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows to fit [100000]")
    parser.add_argument("--columns", type=int, default=20_000, help="columns [20000]")
    parser.add_argument("--publish", action="store_true", help="write the record and the table")
    options = parser.parse_args(arguments)
    X, places = counts_on_a_sheet(options.rows + N_HELD_OUT, options.columns)
    models = {"UKR()": UKR(random_state=0), "DRUR()": DRUR(random_state=0)}
    command = f"python -m benchmarks.sparse_table --rows {options.rows} --columns {options.columns}"
    record = described() | {
        "command": command,
        "shape": [options.rows, options.columns],
        "density": X.nnz / np.prod(X.shape),
        "results": [measured(name, model, X, places) for name, model in models.items()],
    }
    print(table(record))
    if options.publish:
        write_json(KEPT, record)
        write_section(PAGE, *MARKS, table(record))


if __name__ == "__main__":
    main()
