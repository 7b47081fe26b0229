"""What the papers' experiments, the comparison with rivals and the growth of costs share.

``machine`` describes machine, versions and code, ``memory`` reads a process's memory, ``jobs``
runs a function alone in a process with limits (``worker`` is that process), ``parallel`` runs many
tasks at once, ``records`` writes results as JSON, and ``sections`` writes generated sections of
pages.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
