"""Checks of the minimizers' settings: one message form for all of them."""

from __future__ import annotations

import math
from numbers import Integral, Real

__all__ = ["check_count", "check_number"]


def check_count(owner: str, name: str, value: object, *, least: int) -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        msg = (
            f"{owner}({name}={value!r}): {name} must be an integer, "
            f"not {type(value).__name__}; pass for example {name}={max(least, 10)}."
        )
        raise TypeError(msg)
    if value < least:
        msg = f"{owner}({name}={value!r}): {name} must be at least {least}; raise it."
        raise ValueError(msg)


def check_number(
    owner: str,
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    word: str | None = None,
) -> None:
    """Raise unless ``value`` is a finite number in the allowed range, or the given word."""
    if word is not None and value == word:
        return
    allowed = f"a finite number{'' if word is None else f' or {word!r}'}"
    if isinstance(value, bool) or not isinstance(value, Real):
        msg = (
            f"{owner}({name}={value!r}): {name} must be {allowed}, not {type(value).__name__}; "
            "leave it out for the default."
        )
        raise TypeError(msg)
    number = float(value)
    if not (math.isfinite(number) and number >= least and above < number < below):
        bounds = [f"above {above:g}"] * (above > -math.inf)
        bounds += [f"at least {least:g}"] * (least > -math.inf)
        bounds += [f"below {below:g}"] * (below < math.inf)
        msg = (
            f"{owner}({name}={value!r}): {name} must be {allowed}, {' and '.join(bounds)}; "
            "leave it out for the default."
        )
        raise ValueError(msg)
