"""Data to try the methods on: manifolds with known parameters, and loaders for files."""

from twofold.datasets.counts import make_branching_counts
from twofold.datasets.files import (
    UCI_NAMES,
    data_folder,
    load_coil20,
    load_mnist,
    load_oil_flow,
    load_uci,
    load_usps,
)
from twofold.datasets.synthetic import (
    make_disconnected_curves,
    make_noisy_helix,
    make_noisy_spiral,
    make_partitioned_circle,
    make_s_curve,
    make_swiss_roll,
)

__all__ = [
    "UCI_NAMES",
    "data_folder",
    "load_coil20",
    "load_mnist",
    "load_oil_flow",
    "load_uci",
    "load_usps",
    "make_branching_counts",
    "make_disconnected_curves",
    "make_noisy_helix",
    "make_noisy_spiral",
    "make_partitioned_circle",
    "make_s_curve",
    "make_swiss_roll",
]
