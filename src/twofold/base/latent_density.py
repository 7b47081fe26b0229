"""The density of a model's latents: where data lie on the map, and new rows drawn from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask, lazily
from twofold.base.problem import Density
from twofold.manifold_geometry.metric import centered_metric, log_area
from twofold.maps.affine import Predictor
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import RandomLike, check_choice, check_int
from twofold.protocols import Array

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


class LatentDensityMixin:
    """Adds ``log_density`` and ``sample`` to an estimator with ``density_`` and units."""

    density_: Density

    decoder_: Predictor
    _data_units: CenteredUnits
    _latent_units: CenteredUnits

    if TYPE_CHECKING:
        _apply: Callable[..., Array]
        _threads: Callable[[], AbstractContextManager[None]]

    def log_density(self, Z: Any, per: str = "latent") -> Array:
        """Return the log density of the training latents at each point of the latent space.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        per : {"latent", "manifold"}, default="latent"
            Whether the density is per unit of the map or per unit of area (length, volume) on the
            manifold. The latter does not depend on how the map is stretched: the density per unit
            of the map is divided by the area that one unit has in the data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Finite at any distance. Per unit of the manifold, singular values of the decoder's
            derivative below 1e-3 (of the spread of the data over that of the latents) count as
            that: many decoders are flat far from the data.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> near, far = model.log_density([model.embedding_[0], [99.0, 99.0]])
        >>> bool(near > far)
        True

        Per unit of area on the manifold:

        >>> model.log_density(model.embedding_[:1], per="manifold").shape
        (1,)
        """
        if check_choice("per", per, ("latent", "manifold")) == "latent":
            return self._apply("log_density", Z, self._log_densities, latents=True)
        check_is_fitted(self)
        if is_dask(Z):
            model = cast("TwoWayEstimator", self)
            return lazily(model, "log_density", Z, per=per)  # type: ignore[no-any-return]
        return self._apply("log_density", Z, self._log_densities_of_areas, latents=True)

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
        return densities - units.log_volume

    def _log_densities_of_areas(self, latents: Array) -> Array:
        """Return the log densities (n,) per unit of the manifold, in the caller's units."""
        units, n_varying = self._latent_units, int(self._latent_units.varying.sum())
        inside = units.into(latents)
        with self._threads():
            densities = self.density_.log_density(inside)
        areas = log_area(centered_metric(self, inside))
        log_unit = n_varying * self._data_units.exponent * math.log(2.0)
        found: Array = densities - areas - log_unit
        return found
