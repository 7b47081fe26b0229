"""Run the tests of a peer in a process of its own, with an adapter in the place of its class."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.peers.adapters import COLUMNS


def run(name, only=None):
    """Return the records of all tests of a column; ``only`` is an expression of pytest's ``-k``."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder, "records.json")
        environment = os.environ | {
            "PEERS_COLUMN": name,
            "PEERS_RECORDS": str(records),
            "SKLEARN_RUN_FLOAT32_TESTS": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *sys.path[1:]]),
        }
        command = [sys.executable, "-m", "pytest", "--pyargs", COLUMNS[name].module]
        command += ["-p", "benchmarks.peers.plugin", "-p", "no:cacheprovider", "-q"]
        command += ["-c", os.devnull, "--rootdir", folder, "-k", only or ""]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if not records.is_file():
            raise RuntimeError(f"pytest did not run:\n{done.stdout}\n{done.stderr}")
        return json.loads(records.read_text(encoding="utf-8"))
