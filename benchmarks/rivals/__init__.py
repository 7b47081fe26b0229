"""twofold beside its rivals: the same data, the same run, quality and cost.

``python -m benchmarks.rivals --help`` from the root of a clone. Running and reporting are separate:
the run writes ``results.json``, and the report reads only that file.
"""
