"""Fuzzing: hostile input made at random, for which only documented outcomes are allowed.

    python -m benchmarks.fuzz NAME [OPTIONS]

Each fuzzer is a module with ``main(arguments)``, which returns an exit code: 0 if every outcome was
allowed. ``files`` forges saved models and uses what loads, in child processes; ``guided`` fuzzes
the reader of model files guided by coverage; ``fits`` fits every estimator to random data;
``tables`` runs the command line on hostile tables, and ``interrupts`` interrupts it.
"""
