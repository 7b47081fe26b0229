"""What the benchmarks of the papers share: options, versions, one file of results."""

import argparse
import json
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("twofold", "numpy", "scipy", "scikit-learn", "numba", "umap-learn", "ugtm", "torch")


def run(experiments, folder, doc):
    """Run the experiments named on the command line, print each result and write all to ``results.json``.

    Parameters
    ----------
    experiments : dict of str to callable
        Each takes the folder for pictures and returns what can be written as JSON.
    folder : str
        Where to write by default.
    doc : str
        The benchmark's own words.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=experiments, default=list(experiments))
    parser.add_argument("--folder", type=Path, default=Path(folder))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {"versions": _versions(), "commit": _commit(), "machine": platform.platform()}
    for name in options.only:
        began = time.perf_counter()
        results[name] = experiments[name](options.folder)
        results[name]["seconds"] = time.perf_counter() - began
        shown = {key: value for key, value in results[name].items() if key != "runs"}
        print(f"{name}: {json.dumps(shown, indent=1)}", flush=True)
        (options.folder / "results.json").write_text(json.dumps(results, indent=1))


def _versions():
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _commit():
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
