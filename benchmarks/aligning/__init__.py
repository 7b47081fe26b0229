"""Maps of several tables in one frame: see `benchmarks.aligning.__main__`."""
