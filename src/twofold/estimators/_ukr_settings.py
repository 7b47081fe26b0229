"""The settings of unsupervised kernel regression, checked once at the start of a fit."""

from __future__ import annotations

from typing import Any

from twofold._validation import check_choice, check_int, check_real

__all__ = ["check_settings"]


def check_settings(model: Any) -> None:
    """Raise an error that names the first setting of a `UKR` that makes no sense."""
    check_int("max_iter", model.max_iter)
    check_int("leave_out", model.leave_out)
    check_choice("objective", model.objective, ("leave_one_out", "reconstruction"))
    if not (isinstance(model.homotopy, bool) or model.homotopy == "auto"):
        raise ValueError(f"homotopy={model.homotopy!r} must be 'auto', True or False.")
    if model.pseudo_count != 0:
        check_real("pseudo_count", model.pseudo_count)
    if model.validation_fraction is not None and not 0.0 < model.validation_fraction < 1.0:
        raise ValueError(
            f"validation_fraction={model.validation_fraction!r} must lie between 0 and 1, or be None."
        )
    given = model.density_threshold != "auto"
    if given and not 0.0 < check_real("density_threshold", model.density_threshold) < 1.0:
        raise ValueError(
            f"density_threshold={model.density_threshold!r} must be 'auto' or lie between 0 and 1."
        )
    if model.objective == "reconstruction" and not given:
        raise ValueError(
            "objective='reconstruction' needs a density_threshold between 0 and 1: without one the "
            "latents drift apart until every point is rebuilt by itmodel."
        )
