"""Kernel sums ``sum_j k(|z_i - s_j|^2) v_j`` and their gradients: the heart of speed.

Every kernel method here is built on one pair of operations, `KernelSums`. Each way of computing it
has the same signature and is tested against the others; only `DenseSums` exists so far.
"""

from twofold.sums.base import KernelSums, Sums
from twofold.sums.dense import DenseSums

__all__ = ["DenseSums", "KernelSums", "Sums"]
