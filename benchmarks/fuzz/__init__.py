"""Fuzzing: hostile input in large numbers, and nothing but documented outcomes.

``forging`` changes saved models and signs them again, ``models`` has the models, ``outcomes`` loads
and uses one file, ``worker`` is a process that takes many files in a row, and ``files`` runs such
processes and reports what they found. ``guided`` fuzzes the reader guided by coverage.
"""
