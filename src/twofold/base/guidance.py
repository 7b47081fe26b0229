"""Spectral guidance as a parameter of estimators."""

from __future__ import annotations

from dataclasses import replace

from twofold.numerics.units import bandwidth_in_units
from twofold.optimize import GradientDescent, Guide, SpectralGuidance
from twofold.protocols import Array, IntArray, Minimizer


def check_guidance(
    guidance: str | SpectralGuidance | None,
    optimizer: str | Minimizer,
    *,
    words: tuple[str, ...] = (),
) -> None:
    """Raise unless the setting is None, one of the words, or a guidance for the optimizer."""
    if guidance is None or (isinstance(guidance, str) and guidance in words):
        return
    if not isinstance(guidance, SpectralGuidance):
        allowed = "".join(f"{word!r}, " for word in words)
        raise TypeError(
            f"guidance={guidance!r} must be {allowed}None or a twofold.optimize.SpectralGuidance."
        )
    descends = isinstance(optimizer, GradientDescent) or optimizer == "gd"
    if guidance.form == "deflated" and not descends:
        raise ValueError(
            f"guidance with form='deflated' needs optimizer='gd', got {optimizer!r}: it is no "
            "change of variables. Use form='power' or 'truncated', or optimizer='gd'."
        )


def prepare_guide(
    guidance: SpectralGuidance | None, data: Array, unit: float, neighbors: IntArray | None = None
) -> Guide | None:
    """Return the guide of data (n, D) in centered units, or None.

    ``unit`` is one squared centered unit in the caller's units, in which ``guidance.bandwidth`` is
    given. ``neighbors`` (n, k) are the nearest other rows, if known.
    """
    if guidance is None:
        return None
    if not isinstance(guidance.bandwidth, str):
        guidance = replace(guidance, bandwidth=bandwidth_in_units(guidance.bandwidth, unit))
    return guidance.prepare(data, neighbors)
