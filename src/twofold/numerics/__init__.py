"""Shared numerical code: linear algebra, threads, kernel sums, units, validation."""
