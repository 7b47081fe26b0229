"""The tables of principal manifolds: domains, node kernels, expansions, and steps of a fit."""

from __future__ import annotations

from typing import Any, Final

from twofold.export.contents.checking import Contents
from twofold.export.contents.fields import (
    NARROWEST,
    WIDEST,
    Field,
    Scope,
    UnfitError,
    a,
    anything,
    figure,
    flag,
    floats,
    listed,
    number,
    optional,
    positive,
    positive_amount,
    text,
    tupled,
    whole,
)
from twofold.export.contents.parts import LOSSES

DOMAINS: Final = ("Domain", "Points")
ON_LINES: Final = ("DampedKernel", "GaussianKernel", "LinearKernel", "SplineKernel")
NODE_KERNELS: Final = (
    *ON_LINES,
    "DeltaKernel",
    "FourierKernel",
    "PeriodicKernel",
    "WrappedKernel",
)
MOST_TURNS: Final = 1_000

_of_domain: Final = a(*DOMAINS, latents="inputs")
_nodes: Final[dict[str, Field]] = {
    "nodes": floats("nodes?", "inputs"),
    "kernels": tupled(a(*NODE_KERNELS), "inputs"),
    "widths": floats("inputs", low=NARROWEST, high=WIDEST),
}
_state: Final[dict[str, Field]] = {
    "latents": floats("rows", "latents"),
    "history": listed(figure),
    "turn": whole(0),
}


def _one_dimension(points: Any, scope: Scope) -> None:
    scope.agree("latents", 1)


def _all_or_none_added(expansion: Any, scope: Scope) -> None:
    """Check that no kernel is added where others are multiplied."""
    if len({getattr(one, "is_additive", False) for one in expansion.kernels}) > 1:
        raise UnfitError("adds some of its kernels and multiplies others")


TABLES: Final[dict[str, Contents]] = {
    "Domain": Contents(
        {"wrapped": tupled(flag, "latents"), "sides": optional(tupled(positive, "latents"))}
    ),
    "Points": Contents({"n_points": whole(1, 2**53)}, agree=_one_dimension),
    "GaussianKernel": Contents(),
    "DampedKernel": Contents(),
    "DeltaKernel": Contents(),
    "LinearKernel": Contents(),
    "SplineKernel": Contents(),
    "PeriodicKernel": Contents({"period": positive}),
    "FourierKernel": Contents(
        {
            "cosines": tupled(number(low=0.0), "cosines"),
            "sines": optional(tupled(number(low=0.0), "sines")),
            "period": positive,
        }
    ),
    "WrappedKernel": Contents(
        {"kernel": a(*ON_LINES), "period": positive, "n_turns": whole(1, MOST_TURNS)}
    ),
    "NodeExpansion": Contents(
        {**_nodes, "alpha": number(low=0.0)},
        learned={"weights_": floats("nodes?", "outputs"), "intercept_": floats("outputs")},
        agree=_all_or_none_added,
    ),
    "Layout": Contents({"domain": _of_domain, **_nodes, "grid": floats("places", "inputs")}),
    "DomainProjection": Contents(
        {
            "up": a("NodeExpansion", inputs="outputs", outputs="inputs"),
            "domain": a(*DOMAINS, latents="outputs"),
            "grid": floats("places", "outputs"),
            "loss": a(*LOSSES),
            "latent_noise": number(low=0.0),
            "many": flag,
        }
    ),
    "ManifoldEncoder": Contents(
        {
            "projection": a("DomainProjection", inputs="coordinates", outputs="outputs"),
            "frame": a("Affine", inputs="inputs", outputs="coordinates"),
        }
    ),
    "ManifoldDecoder": Contents(
        {
            "up": a("NodeExpansion", inputs="inputs", outputs="coordinates"),
            "frame": a("Affine", inputs="outputs", outputs="coordinates"),
            "domain": _of_domain,
        }
    ),
    "DomainDensity": Contents(
        {
            "domain": a(*DOMAINS, latents="latents"),
            "density_": a("LatentDensity", latents="latents"),
            "_log_copies": number(),
        }
    ),
    "AlphaChoice": Contents(
        {"alpha": figure, "alphas": floats("alphas?"), "errors": floats("alphas?", "folds?")}
    ),
    "DescentSettings": Contents(
        {
            "layout": a("Layout", inputs="latents"),
            "loss": a(*LOSSES),
            "penalty": text("rkhs", "l2", "l1"),
            "assignment": text("hard", "soft"),
            "latent_noise": number(low=0.0),
            "max_iter": whole(1),
            "tol": number(low=0.0),
            "limit": optional(positive_amount),
        }
    ),
    "Fitted": Contents(
        {
            "up": a("NodeExpansion", inputs="latents", outputs="columns"),
            "latents": floats("rows", "latents"),
            "history": floats("values?", nan=True),
            "n_iter": whole(0),
            "temperature": figure,
        }
    ),
    "DescentState": Contents(
        {**_state, "up": a("NodeExpansion", inputs="latents", outputs="columns"), "stalled": flag}
    ),
    "SoftState": Contents(
        {
            **_state,
            "up": a("NodeExpansion", inputs="latents", outputs="columns"),
            "temperature": positive,
        }
    ),
    "Mahalanobis": Contents({"D": floats("columns", "columns")}),
    # Parameters, which `__post_init__` checks.
    "CrossValidation": Contents(dict.fromkeys(("n_folds", "rule", "alphas"), anything)),
    "PenaltyLimit": Contents(dict.fromkeys(("limit", "length"), anything)),
}
