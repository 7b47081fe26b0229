"""The torture table: bad input and faults, and what the tests say about each estimator.

``rows`` names the rows and their tests, ``recorder`` is a pytest plugin that records outcomes by
row and estimator, ``page`` writes the table of docs/guide/reliability.md.
"""
