"""What an estimator is given to learn from, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from twofold.base.progress import FitProgress
from twofold.numerics.units import CentredUnits
from twofold.protocols import Array

__all__ = ["Density", "Learned", "Predictor", "Problem"]


class Density(Protocol):
    """A density of latents, as far as an estimator needs it."""

    def log_density(self, Z: Array) -> Array:
        """Return the log densities (n,)."""
        ...

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw latents (n_samples, q)."""
        ...


class Predictor(Protocol):
    """A fitted map, as far as an estimator needs it."""

    def predict(self, inputs: Array) -> Array:
        """Return the images."""
        ...


@dataclass(frozen=True)
class Problem:
    """What a subclass is given to learn from.

    Attributes
    ----------
    data : ndarray of shape (n, D')
        Data in centred units, without constant columns.
    units : CentredUnits
        These units.
    original : ndarray of shape (n, D)
        The same in the caller's units.
    y : object
        Labels, or None.
    n_components : int
        Latent dimensions asked for.
    rng : Generator
        Source of all randomness.
    progress : FitProgress
        To be told of phases and iterations.
    """

    data: Array
    units: CentredUnits
    original: Array
    y: Any
    n_components: int
    rng: np.random.Generator
    progress: FitProgress


@dataclass(frozen=True)
class Learned:
    """What a subclass returns.

    Attributes
    ----------
    latents : ndarray of shape (n, q)
        Training latents, in the caller's units.
    units : CentredUnits
        The units of latents in which the maps work.
    encoder, decoder : Predictor
        The maps between centred units of data and of latents.
    density : Density
        The density of the latents, in centred units.
    variance : float or None
        Total variance of the training data where the estimator measures errors; None means that of
        the data in centred units.
    attributes : dict
        Further learned attributes, by their names with the trailing underscore.
    """

    latents: Array
    units: CentredUnits
    encoder: Predictor
    decoder: Predictor
    density: Density
    variance: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
