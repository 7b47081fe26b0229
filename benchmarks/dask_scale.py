"""DRUR on a Dask cluster of one machine: memory at ten million rows, speed and faults.

    python -m benchmarks.dask_scale [--only memory speed faults] [--rows 10000000]
                                    [--speed-rows 2000000] [--folder dask_scale]

"memory" writes a lifted Swiss roll (20 columns, float64) as zarr into the folder, fits it with two
workers of 1.5 GB each, writes the latents as zarr, and reports the peak memory of each process.
"speed" fits an .npy file with one and two workers, and rows in memory with the local fit on one and
two threads; all times are those of one run. "faults" kills a worker by SIGKILL in each phase and
compares bits, kills all workers and waits for the error, interrupts a fit after its second turn and
resumes it. Writes ``results.json``, prints which requirements are met, and exits with 1 if one is
not.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "2"  # for this process; workers have one thread each

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import twofold
import twofold.dask
from benchmarks.harness.memory import peak_bytes
from benchmarks.harness.records import described, write_json
from twofold.dask._checkpoint import FileJournal
from twofold.dask._cluster import Cluster
from twofold.metrics import procrustes_r2

N_COLUMNS = 20
CHUNK_ROWS = 250_000
NOISE = 0.05
SETTING = {"n_centers": 100, "init": "isomap:15", "random_state": 0}
WORKER_LIMIT = "1.5GB"


def block_of_roll(number, n_rows):
    """Return some rows of a Swiss roll lifted to 20 columns, and their positions on the sheet."""
    rng = np.random.default_rng([7, number])
    turn = 1.5 * np.pi * (1.0 + 2.0 * rng.uniform(size=n_rows))
    height = 21.0 * rng.uniform(size=n_rows)
    roll = np.column_stack([turn * np.cos(turn), height, turn * np.sin(turn)])
    axes, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((N_COLUMNS, 3)))
    length = 0.5 * (turn * np.sqrt(1.0 + turn**2) + np.arcsinh(turn))
    noise = NOISE * rng.standard_normal((n_rows, N_COLUMNS))
    return roll @ axes.T + noise, np.column_stack([length, height])


def sizes_of(n_rows):
    return [min(CHUNK_ROWS, n_rows - start) for start in range(0, n_rows, CHUNK_ROWS)]


def written_roll(path, n_rows):
    """Write the roll as zarr, block by block, unless the file exists."""
    if path.exists():
        stored = zarr.open_array(path, mode="r")
        if stored.shape == (n_rows, N_COLUMNS):
            return
    stored = zarr.create_array(
        path, shape=(n_rows, N_COLUMNS), chunks=(CHUNK_ROWS, N_COLUMNS), dtype="f8", overwrite=True
    )
    for number, size in enumerate(sizes_of(n_rows)):
        start = number * CHUNK_ROWS
        stored[start : start + size] = block_of_roll(number, size)[0]


def cluster_of(n_workers, memory_limit="auto"):
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit=memory_limit,
        dashboard_address=":0",
        silence_logs=50,
    )


def memory(n_rows, folder):
    """Fit and transform more rows than both workers could hold."""
    source, target = folder / f"roll-{n_rows}.zarr", folder / f"latents-{n_rows}.zarr"
    written_roll(source, n_rows)
    with cluster_of(2, WORKER_LIMIT) as cluster, Client(cluster) as client:
        at_first = set(client.scheduler_info()["workers"])
        began = time.perf_counter()
        model = twofold.dask.fit(twofold.DRUR(n_jobs=2, **SETTING), source)
        fitted = time.perf_counter()
        rows = da.from_zarr(str(source))
        model.transform(rows, method="map").to_zarr(str(target), overwrite=True)
        done = time.perf_counter()
        peaks = client.run(peak_bytes)
        at_last = set(client.scheduler_info()["workers"])
    latents = zarr.open_array(target, mode="r")
    sizes = sizes_of(n_rows)
    some = [0, len(sizes) // 2, len(sizes) - 1]
    places = np.concatenate([block_of_roll(number, sizes[number])[1] for number in some])
    found = np.concatenate([latents[n * CHUNK_ROWS : n * CHUNK_ROWS + sizes[n]] for n in some])
    return {
        "rows": n_rows,
        "fit_seconds": fitted - began,
        "transform_seconds": done - fitted,
        "r2": procrustes_r2(places, found),
        "worker_peak_gb": [peak / 1e9 for peak in peaks.values()],
        "client_peak_gb": peak_bytes() / 1e9,
        "worker_limit": WORKER_LIMIT,
        # A worker beyond its limit is killed and replaced, and its peak is lost.
        "workers_lost": len(at_first - at_last),
    }


def speed(n_rows):
    """Time fits with one and two workers, and local fits with one and two threads."""
    X = np.concatenate(
        [block_of_roll(number, size)[0] for number, size in enumerate(sizes_of(n_rows))]
    )
    times = {}
    for n_threads in (1, 2):
        began = time.perf_counter()
        model = twofold.DRUR(n_jobs=n_threads, store_embedding=False, **SETTING).fit(X)
        times[f"local, {n_threads} threads"] = time.perf_counter() - began
    path = Path("rows.npy").resolve()
    np.save(path, X)
    for n_workers in (1, 2):
        with cluster_of(n_workers) as cluster, Client(cluster) as client:
            client.run(lambda: __import__("twofold.dask"))  # imports do not count
            began = time.perf_counter()
            fitted = twofold.dask.fit(twofold.DRUR(n_jobs=n_workers, **SETTING), path)
            times[f"dask, {n_workers} workers"] = time.perf_counter() - began
            same = np.array_equal(fitted.decoder_.weights_, model.decoder_.weights_)
    path.unlink()
    return {
        "rows": n_rows,
        "seconds": times,
        "two_workers_against_one": times["dask, 1 workers"] / times["dask, 2 workers"],
        "overhead_one_core": times["dask, 1 workers"] / times["local, 1 threads"] - 1.0,
        "overhead_two_cores": times["dask, 2 workers"] / times["local, 2 threads"] - 1.0,
        "same_bits_as_local": bool(same),
    }


def deadly_once(array, flag):
    """Return blocks whose next reader dies as soon as a file exists."""

    def read(block):
        try:
            os.unlink(flag)  # noqa: PTH108 - pickled without imports
        except FileNotFoundError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    return array.map_blocks(read, dtype=array.dtype, meta=np.empty((0, 0)))


def faults(n_rows, folder):
    """Kill a worker in each phase; compare the bits and the time of the fits."""
    sizes = sizes_of(n_rows)
    X = np.concatenate([block_of_roll(number, size)[0] for number, size in enumerate(sizes)])
    flag = str((folder / "die").resolve())
    rows = deadly_once(da.from_array(X, chunks=(max(1, n_rows // 16), N_COLUMNS)), flag)
    found = {}
    original = Cluster.run
    with cluster_of(2) as cluster, Client(cluster):
        reference = None
        for phase in ("nothing", "first look", "moments", "sample", "adaptation"):

            def run(self, watched, wanted, now, *rest, phase=phase):
                if now == phase:
                    Path(flag).touch()
                return original(self, watched, wanted, now, *rest)

            Cluster.run = run
            began = time.perf_counter()
            model = twofold.dask.fit(twofold.DRUR(**SETTING), rows)
            seconds = time.perf_counter() - began
            weights = model.decoder_.weights_
            reference = weights if reference is None else reference
            found[phase] = {
                "seconds": seconds,
                "same_bits": bool(np.array_equal(weights, reference)),
            }
        Cluster.run = original
        found["interrupted and resumed"] = resumed(rows, folder, reference)
    found["all workers gone"] = all_gone(X)
    return found


def resumed(rows, folder, reference):
    """Interrupt a fit after its second turn and resume it with a new model."""
    path = folder / "checkpoint.twofold"
    note = FileJournal.note

    def interrupted(self, name, state):
        note(self, name, state)
        if name == "turns" and state.turn == 2:
            raise KeyboardInterrupt

    FileJournal.note = interrupted
    try:
        twofold.dask.fit(twofold.DRUR(**SETTING), rows, checkpoint=path)
    except KeyboardInterrupt:
        pass
    finally:
        FileJournal.note = note
    model = twofold.dask.fit(twofold.DRUR(**SETTING), rows, checkpoint=path, resume=True)
    return {"same_bits": bool(np.array_equal(model.decoder_.weights_, reference))}


def all_gone(X):
    """Kill all workers of a cluster that nobody restarts; measure the time until the error."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1"]
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        address = cluster.scheduler_address
        workers = [
            subprocess.Popen([*command, address], stderr=subprocess.DEVNULL) for _ in range(2)
        ]
        client.wait_for_workers(2, timeout=60)
        rows = da.from_array(X, chunks=(len(X) // 16, N_COLUMNS)).map_blocks(slowly_read)
        died = []

        def kill():
            died.append(time.perf_counter())
            for worker in workers:
                worker.kill()

        threading.Timer(2.0, kill).start()
        try:
            twofold.dask.fit(twofold.DRUR(**SETTING), rows)
        except twofold.dask.DistributedFitError as error:
            return {"seconds": time.perf_counter() - died[0], "error": str(error)}
        return {"error": None}


def slowly_read(block):
    time.sleep(0.5)
    return block


ASKED = {
    "memory": {
        "R^2 at least 0.98": lambda found: found["r2"] >= 0.98,
        "peaks below 1.5 GB": lambda found: max(found["worker_peak_gb"]) < 1.5,
        "no worker lost": lambda found: not found["workers_lost"],
    },
    "speed": {
        "two workers at least 1.6 times as fast": lambda found: (
            found["two_workers_against_one"] >= 1.6
        ),
        "at most 30 % more time on one core": lambda found: found["overhead_one_core"] <= 0.3,
        "at most 30 % more time on two": lambda found: found["overhead_two_cores"] <= 0.3,
        "the same bits": lambda found: found["same_bits_as_local"],
    },
    "faults": {
        "the same bits after each": lambda found: all(
            one.get("same_bits", True) for one in found.values()
        ),
        "an error within 60 s": lambda found: found["all workers gone"].get("seconds", 99.0) < 60.0,
    },
}
"""The requirements of each part."""


def judged(name, found):
    """Print which requirements are met; return whether all are."""
    verdicts = {words: bool(test(found)) for words, test in ASKED[name].items()}
    for words, met in verdicts.items():
        print(f"{name}: {words}: {'met' if met else 'NOT MET'}")
    return all(verdicts.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=("memory", "speed", "faults"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--speed-rows", type=int, default=2_000_000)
    parser.add_argument("--fault-rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path("dask_scale"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results |= described("dask", "distributed", "zarr")
    parts = {
        "memory": lambda: memory(given.rows, given.folder),
        "speed": lambda: speed(given.speed_rows),
        "faults": lambda: faults(given.fault_rows, given.folder),
    }
    all_met = True
    for name, part in parts.items():
        if given.only and name not in given.only:
            continue
        results[name] = part()
        print(json.dumps({name: results[name]}, indent=1))
        write_json(path, results)
        all_met &= judged(name, results[name])
    sys.exit(0 if all_met else 1)


if __name__ == "__main__":
    main()
