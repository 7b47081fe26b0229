"""What the papers' experiments and the comparison with rivals share.

``machine`` describes machine, versions and commit, ``memory`` reads a process's memory, ``jobs``
runs a function alone in a process with limits (``worker`` is that process), ``parallel`` runs many
tasks at once, and ``records`` writes results as JSON.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
