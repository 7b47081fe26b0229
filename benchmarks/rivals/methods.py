"""The registry of methods: our estimators, the rivals, and reference lines.

``METHODS`` is the registry; ``--registry`` names another module that has one. A method has a name,
a function ``make(seed, threads)`` that imports its package and returns an unfitted model, and facts
for the report and the runner. Nothing here is chosen per data set.
"""

from benchmarks.rivals.method import Method
from benchmarks.rivals.ours import OURS, of_twofold
from benchmarks.rivals.theirs import REFERENCES, RIVALS

__all__ = ["METHODS", "Method", "of_twofold"]

METHODS = [*OURS, *RIVALS, *REFERENCES]
