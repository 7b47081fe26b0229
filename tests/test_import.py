"""What `import twofold` brings with it, seen from a fresh process."""

import json
import subprocess
import sys

SCRIPT = """
import json, sys, time
import sklearn.base
before = set(sys.modules)  # scikit-learn itself may bring pandas along
start = time.perf_counter()
import twofold
seconds = time.perf_counter() - start
names = ("numba", "matplotlib", "dask", "pandas", "click")
heavy = [name for name in names if name in set(sys.modules) - before]
print(json.dumps({"seconds": seconds, "heavy": heavy, "version": twofold.__version__}))
"""


def fresh_import():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_import_is_light():
    runs = [fresh_import() for _ in range(3)]
    assert runs[0]["heavy"] == []
    # 0.3 s is the promise on an idle machine; the suite keeps both cores busy.
    assert min(run["seconds"] for run in runs) < 0.9


def test_version():
    assert fresh_import()["version"].startswith("0.")
