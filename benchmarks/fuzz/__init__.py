"""Fuzzing: hostile input made at random, for which only documented outcomes are allowed.

    python -m benchmarks.fuzz NAME [OPTIONS]

Each module of this package without a leading underscore is one fuzzer, and has ``main(arguments)``,
which returns an exit code: 0 if every outcome was allowed.
"""
