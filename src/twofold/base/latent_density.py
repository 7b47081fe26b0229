"""The density of a model's latents: where data lie on the map, and new rows drawn from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.base.problem import Density
from twofold.maps.affine import Predictor
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import RandomLike, check_int
from twofold.protocols import Array


class LatentDensityMixin:
    """Adds ``log_density`` and ``sample`` to an estimator with ``density_`` and units."""

    density_: Density

    decoder_: Predictor
    _data_units: CenteredUnits
    _latent_units: CenteredUnits

    if TYPE_CHECKING:
        _apply: Callable[..., Array]
        _threads: Callable[[], AbstractContextManager[None]]

    def log_density(self, Z: Any) -> Array:
        """Return the log density of the training latents at each point of the latent space.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        ndarray of shape (n_samples,)
            Per unit of latent volume; finite at any distance.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> near, far = model.log_density([model.embedding_[0], [99.0, 99.0]])
        >>> bool(near > far)
        True
        """
        return self._apply("log_density", Z, self._log_densities, latents=True)

    def sample(self, n_samples: int = 1, *, random_state: RandomLike = None) -> Array:
        """Draw latents from their density and decode them.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> model.sample(5, random_state=0).shape
        (5, 4)
        """
        check_is_fitted(self)
        n_samples = check_int("n_samples", n_samples)
        latents = self.density_.sample(n_samples, random_state)
        with self._threads():
            return self._data_units.back(self.decoder_.predict(latents))

    def _log_densities(self, latents: Array) -> Array:
        units = self._latent_units
        with self._threads():
            densities = self.density_.log_density(units.into(latents))
        log_volume = int(units.varying.sum()) * units.exponent * math.log(2.0)
        if units.factors is not None:
            log_volume += float(np.log(units.factors[units.varying]).sum())
        return densities - log_volume
