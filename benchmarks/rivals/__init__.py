"""twofold beside its rivals: the same data, the same run, quality and cost.

``python -m benchmarks.rivals --help`` from the root of a clone. Running and reporting are separate: the run
writes ``results.json``, the report reads nothing else.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
