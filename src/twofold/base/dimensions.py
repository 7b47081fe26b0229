"""The latent dimensions that data allow, and the model of data without any variation."""

from __future__ import annotations

from typing import Any

from twofold.base.problem import Learned
from twofold.maps import NadarayaWatson
from twofold.numerics.density import LatentDensity
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import check_int, warn_user
from twofold.protocols import Array


def check_n_components(value: Any, n_samples: int, n_features: int) -> int:
    """Return a number of latent dimensions that data of this shape allow."""
    n_components = check_int("n_components", value)
    if n_components > n_features:
        raise ValueError(
            f"n_components={n_components} must be at most n_features={n_features}: latents have "
            "no more dimensions than the data."
        )
    if n_components >= n_samples:
        raise ValueError(
            f"n_components={n_components} must be less than n_samples={n_samples}. Use fewer "
            "components or more data."
        )
    return n_components


def warn_of_rank(rank: int, n_components: int, *, where: str = "") -> None:
    """Warn if the data vary in fewer directions, ``where`` not the data space, than the latents."""
    if rank < n_components:
        warn_user(
            f"The data vary in only {rank} directions{where}, fewer than "
            f"n_components={n_components}; some latent coordinates carry nothing.",
            UserWarning,
        )


def constant_model(latents: Array, centered: Array) -> Learned:
    """Return the maps of constant data: decode to the constant row, encode to the mean latent."""
    units = CenteredUnits.of(latents, name="latents")
    inside = units.into(latents)
    decoder = NadarayaWatson(bandwidth=1.0).fit(inside[:1], centered[:1])
    encoder = NadarayaWatson(bandwidth=1.0).fit(centered[:1], inside.mean(axis=0, keepdims=True))
    density = LatentDensity().fit(inside)
    return Learned(latents, units, encoder, decoder, density)
