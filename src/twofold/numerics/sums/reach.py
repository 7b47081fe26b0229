"""How far a kernel reaches, and its values there."""

from __future__ import annotations

import numpy as np

from twofold.numerics.linalg import NEGLIGIBLE, sqdist
from twofold.numerics.threads import some_rows
from twofold.protocols import Array, RadialKernel

SAMPLE = 48


def kernel_radius(kernel: RadialKernel, tolerance: float) -> float:
    """Return the distance beyond which a kernel stays below a share of its value at zero.

    For a compact kernel that is the end of its support, whatever the share. The kernel must not
    increase with distance.
    """
    ends = np.isneginf(kernel.log_profile(np.array([1e200]))[0])
    floor = -np.inf if ends else float(np.log(tolerance))

    def reaches(distance: float) -> bool:
        return float(kernel.log_profile(np.array([distance**2]))[0]) > floor

    low, high = 0.0, 1.0
    while reaches(high):
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return high


def share_in_reach(points: Array, radius: float) -> float:
    """Estimate the share of pairs of points (n, q) within a radius, from a few rows."""
    some = points[some_rows(len(points), SAMPLE)]
    return float((sqdist(some, points) < radius * radius).mean())


def profile_and_slope(kernel: RadialKernel, sqdist: Array) -> tuple[Array, Array]:
    """Return ``k`` and ``dk / dr^2`` at squared distances.

    A kernel may define ``profile_and_slope`` to compute both without logarithms.
    """
    direct = getattr(kernel, "profile_and_slope", None)
    if direct is not None:
        k, slope = direct(sqdist)
        return k, slope
    k = profile(kernel, sqdist)
    return k, k * kernel.dlog_profile(sqdist)


def profile(kernel: RadialKernel, sqdist: Array) -> Array:
    """Return ``k`` at squared distances; zero where it is below ``exp(-40)``."""
    log_k = kernel.log_profile(sqdist)
    k = np.zeros_like(log_k)
    np.exp(log_k, out=k, where=log_k > NEGLIGIBLE)
    return k
