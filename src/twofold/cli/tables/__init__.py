"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, in files and pipes."""
