"""The tables of maps between latents and data.

A map has the sizes ``inputs`` and ``outputs``. An `Affine` that only scales has none: it takes rows
of any width.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS

from twofold.export.contents.checking import Contents
from twofold.export.contents.fields import (
    LARGEST,
    Field,
    Scope,
    UnfitError,
    a,
    anything,
    either,
    factor,
    figure,
    floats,
    keyed,
    number,
    optional,
    positive,
    several,
    text,
    tupled,
    values,
    whole,
    width,
)
from twofold.export.contents.parts import jobs, radial
from twofold.kernels import KERNELS
from twofold.maps.kernel_ridge import POLYNOMIALS
from twofold.maps.sklearn_kernels import has_gamma

REGRESSIONS: Final = ("GRNN", "KernelRidgeMap", "LinearMap", "MLP", "NadarayaWatson", "RBFNetwork")
ENCODERS: Final = (*REGRESSIONS, "Chain", "FeatureEncoder", "ManifoldEncoder", "Projection")
DECODERS: Final = (*REGRESSIONS, "Chain", "ManifoldDecoder", "PreimageDecoder")
STEPS: Final = (*REGRESSIONS, "Affine", "Inverse", "Projection")
"""Maps that a chain may hold."""

MOST_STARTS: Final = 1_000
METRICS: Final = ("l1", "precomputed", *PAIRWISE_KERNEL_FUNCTIONS)

_nearest_means: Final[dict[str, Field]] = {
    "inputs_": floats("rows", "inputs"),
    "targets_": floats("rows", "outputs"),
    "bandwidth_": width,
}
_linear_in_features: Final[dict[str, Field]] = {
    "weights_": floats("features", "outputs"),
    "intercept_": floats("outputs"),
}


def _own_scale(ridge: Any, scope: Scope) -> None:
    """Check that a kernel has the scale that it reads: a bandwidth or a gamma."""
    name = "bandwidth_" if ridge._is_radial else "gamma_"
    scale = getattr(ridge, name)
    if (ridge._is_radial or has_gamma(ridge.kernel)) and not 0.0 < scale < np.inf:
        raise UnfitError(f"{name} is {scale}")
    if ridge.kernel in POLYNOMIALS and not float(ridge.degree).is_integer():
        raise UnfitError("has a degree that is not whole")


def _whole_chain(chain: Any, scope: Scope) -> None:
    """Check that the outputs of each map are the inputs of the next; steps may take any width."""
    width = None
    for one in chain.maps:
        sizes = scope.of(one).sizes
        if "inputs" in sizes:
            if width not in (None, sizes["inputs"]):
                raise UnfitError(f"a map takes {sizes['inputs']} columns, but {width} come to it")
            if width is None:
                scope.agree("inputs", sizes["inputs"])
            width = sizes["outputs"]
    if width is not None:
        scope.agree("outputs", width)


def _same_form(affine: Any, scope: Scope) -> None:
    back = affine.backward
    if back is not None and isinstance(affine.forth, np.ndarray) != isinstance(back, np.ndarray):
        raise UnfitError("has a matrix one way and a factor the other way")


def _own_parameters(space: Any, scope: Scope) -> None:
    """Check that the parameters are those of a named kernel."""
    if not set(space.params) <= set(KERNEL_PARAMS.get(space.metric, ())):
        raise UnfitError(f"has other parameters than metric={space.metric!r}")
    if space.metric == "precomputed" and space.data.shape[0] != space.data.shape[1]:
        raise UnfitError("has a Gram matrix that is not square")


TABLES: Final[dict[str, Contents]] = {
    "NadarayaWatson": Contents(
        parameters={"kernel": radial, "n_jobs": jobs},
        learned=_nearest_means,
        sometimes={"error_": figure},
    ),
    "GRNN": Contents(
        parameters={"n_jobs": jobs}, learned=_nearest_means, sometimes={"error_": figure}
    ),
    "RBFNetwork": Contents(
        parameters={"kernel": radial},
        learned={
            "centers_": floats("features", "inputs"),
            **_linear_in_features,
            "bandwidth_": width,
            "alpha_": number(low=0.0),
            "error_": figure,
        },
    ),
    "KernelRidgeMap": Contents(
        parameters={
            "kernel": either(text(*KERNELS, *KERNEL_PARAMS), radial),
            "degree": number(),
            "coef0": number(),
            "kernel_params": anything,
        },
        learned={
            "centers_": floats("features", "inputs"),
            **_linear_in_features,
            "bandwidth_": figure,
            "gamma_": figure,
            "alpha_": number(low=0.0),
            "error_": figure,
        },
        sometimes={"leverage_": floats("rows")},
        agree=_own_scale,
    ),
    "LinearMap": Contents(
        learned={
            "weights_": floats("inputs", "outputs"),
            "intercept_": floats("outputs"),
            "alpha_": number(low=0.0),
        }
    ),
    "MLP": Contents(
        learned={
            **_linear_in_features,
            "hidden_weights_": floats("inputs", "features"),
            "hidden_intercept_": floats("features"),
            "alpha_": figure,
        },
        sometimes={
            "_penalty": figure,
            "_layers": several(
                floats("inputs", "features"),
                floats("features"),
                floats("features", "outputs"),
                floats("outputs"),
            ),
        },
    ),
    "Affine": Contents(
        {
            "forth": either(factor, floats("inputs", "outputs")),
            "backward": optional(either(factor, floats("outputs", "inputs"))),
            "unit": positive,
        },
        agree=_same_form,
    ),
    "Inverse": Contents({"affine": a("Affine", inputs="outputs", outputs="inputs")}),
    "Chain": Contents({"maps": tupled(a(*STEPS), "maps")}, agree=_whole_chain),
    "Projection": Contents(
        parameters={
            "decoder": a(*REGRESSIONS, inputs="outputs", outputs="inputs"),
            "n_starts": whole(1, MOST_STARTS),
            "density": optional(a("LatentDensity", latents="outputs")),
            "log_threshold": optional(number()),
            "max_iter": whole(1),
            "tol": number(low=0.0),
            "guess": optional(a(*REGRESSIONS, inputs="inputs", outputs="outputs")),
        },
        learned={
            "latents_": floats("points", "outputs"),
            "images_": floats("points", "inputs"),
            "_floor": number(low=0.0, high=LARGEST),
        },
    ),
    "FeatureSpace": Contents(
        {
            "metric": text(*METRICS),
            "params": keyed(
                {"gamma": optional(number()), "coef0": number(), "degree": number()},
                all_keys=False,
            ),
            "data": floats("rows", "inputs"),
            "coordinates": floats("rows", "coordinates"),
            "to_coordinates": floats("rows", "coordinates"),
            "column_means": values("rows"),
        },
        agree=_own_parameters,
    ),
    "FeatureEncoder": Contents(
        {
            "space": a("FeatureSpace", inputs="inputs", coordinates="coordinates", rows="rows"),
            "regression": a("NadarayaWatson", inputs="outputs", outputs="coordinates", rows="rows"),
            "projection": a("Projection", inputs="coordinates", outputs="outputs"),
        }
    ),
    "PreimageDecoder": Contents(
        {
            "space": a("FeatureSpace", inputs="outputs", rows="rows"),
            "regression": a("NadarayaWatson", inputs="inputs", rows="rows"),
        }
    ),
}
