"""What every two-way estimator can do, written once.

A fitted model is latent coordinates ``embedding_`` and two maps: ``encoder_`` takes data down to the
latent space, ``decoder_`` takes latents back up. Everything public follows from that pair; a subclass
adds one method, ``_learn``, that finds it.

The maps work in centred units on both sides (`twofold.numerics.units`), so the same model comes out for data
in metres or millimetres, and for data far from the origin. Everything a caller sees is in the
caller's own units.

The maps also take Dask arrays and frames, and return them: nothing is computed until it is asked for.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from twofold.base.dask_inputs import is_dask, lazily
from twofold.base.problem import Density, Learned, Predictor, Problem
from twofold.base.progress import CallbackSupportMixin, FitProgress, with_callbacks
from twofold.export.model_files import save
from twofold.maps import NadarayaWatson
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import rank_up_to, row_norms_sq
from twofold.numerics.threads import using_threads
from twofold.numerics.units import CentredUnits
from twofold.numerics.validation import (
    cast_back,
    check_data,
    check_int,
    check_latents,
    check_rng,
    warn_user,
)
from twofold.protocols import Array

__all__ = [
    "Learned",
    "Problem",
    "TwoWayEstimator",
    "check_n_components",
    "constant_model",
    "warn_of_rank",
]


class TwoWayEstimator(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Base of all two-way estimators.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data.
    encoder_, decoder_ : objects with ``predict``
        The two maps, between centred units. Use ``transform`` and ``inverse_transform``.
    density_ : object with ``log_density`` and ``sample``
        The density of the latents, in centred units. Use ``log_density``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    An estimator has both maps, a score and a density:

    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(100, random_state=0)
    >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
    >>> model.embedding_.shape, model.n_features_in_
    ((100, 2), 3)
    """

    n_components: Any
    random_state: Any
    verbose: int
    embedding_: Array
    encoder_: Predictor
    decoder_: Predictor
    density_: Density
    _data_units: CentredUnits
    _latent_units: CentredUnits
    _variance: float

    @abstractmethod
    def _learn(self, problem: Problem) -> Learned:
        """Find latents and maps."""

    def _learn_constant(self, problem: Problem) -> Learned:
        """Return the model of data whose rows are all equal: every latent is that row."""
        return constant_model(np.zeros((len(problem.data), problem.n_components)), problem.data)

    @with_callbacks  # type: ignore[untyped-decorator, unused-ignore]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn latents and both maps.

        An interrupted or failed fit leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,), default=None
            Labels, used by supervised estimators alone.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0)
        >>> model.fit(X) is model, model.embedding_.shape
        (True, (100, 2))
        """
        before = dict(self.__dict__)
        try:
            with self._threads():
                state = self._fit(X, y)
        except BaseException:
            # n_features_in_ and feature_names_in_ were set by the validation.
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
                if name in before:
                    self.__dict__[name] = before[name]
            raise
        self._take(state)
        return self

    def _take(self, state: dict[str, Any]) -> None:
        """Become the model of a fit that has ended."""
        for name in getattr(self, "_learned_names", ()):
            self.__dict__.pop(name, None)
        self.__dict__.update(state, _learned_names=tuple(state))

    def _fit(self, X: Any, y: Any) -> dict[str, Any]:
        data, _ = check_data(self, X, reset=True)
        y = self._labels(data, y)
        rng = check_rng(self.random_state)
        n_components = self._requested_components(data)
        progress = FitProgress(self, verbose=int(self.verbose))
        with progress.fit():
            units = self._measure_units(data)
            centred = units.into(data)
            rank = rank_up_to(centred, n_components)
            warn_of_rank(rank, n_components)
            problem = Problem(centred, units, data, y, n_components, rng, progress)
            learned = self._learn_constant(problem) if rank == 0 else self._learn(problem)
        variance = learned.variance
        if variance is None:
            variance = float(row_norms_sq(centred).mean())
        return self._state(learned, units, variance)

    @staticmethod
    def _state(learned: Learned, units: CentredUnits, variance: float) -> dict[str, Any]:
        """Return the attributes of a fitted model."""
        return {
            "embedding_": learned.latents,
            "encoder_": learned.encoder,
            "decoder_": learned.decoder,
            "density_": learned.density,
            **learned.attributes,
            "_data_units": units,
            "_latent_units": learned.units,
            "_variance": variance,
        }

    def _labels(self, data: Array, y: Any) -> Any:
        """Return the labels, checked; only supervised estimators use them."""
        if y is not None:
            check_consistent_length(data, y)
        return y

    def _measure_units(self, data: Array) -> CentredUnits:
        """Return the units in which the maps will see the data."""
        return CentredUnits.of(data)

    def _requested_components(self, data: Array) -> int:
        """Return the number of latent dimensions asked for, checked against the data."""
        return self._check_n_components(self.n_components, data)

    @staticmethod
    def _check_n_components(value: Any, data: Array) -> int:
        return check_n_components(value, *data.shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file without code; `twofold.load` reads it.

        Parameters
        ----------
        path : str or path-like
            Where to, usually with the ending ``.twofold``.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import twofold
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = twofold.TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "curve.twofold"))
        ...     again = twofold.load(Path(folder, "curve.twofold"))
        >>> bool((again.transform(X) == model.transform(X)).all())
        True
        """
        save(self, path)

    def transform(self, X: Any) -> Array:
        """Take data down to the latent space.

        Each row is mapped on its own. Training data get close to, not exactly, ``embedding_``,
        whose latents were optimised together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> import numpy as np
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> X_new, _ = make_s_curve(10, random_state=1)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> Z = model.transform(X_new)
        >>> Z.shape
        (10, 2)

        A row's latents do not depend on the other rows:

        >>> bool(np.allclose(model.transform(X_new[3:4]), Z[3]))
        True
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "transform", X)  # type: ignore[no-any-return]
        data, dtype = check_data(self, X, reset=False)
        return cast_back(self._encode(data), dtype)

    def inverse_transform(self, Z: Any) -> Array:
        """Take latents up to the data space.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        A walk along the first latent dimension, decoded:

        >>> import numpy as np
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> first = model.embedding_[:, 0]
        >>> walk = np.linspace(first.min(), first.max(), 7)
        >>> model.inverse_transform(np.column_stack([walk, np.zeros(7)])).shape
        (7, 3)
        """
        check_is_fitted(self)
        if is_dask(Z):
            return lazily(self, "inverse_transform", Z)  # type: ignore[no-any-return]
        latents, dtype = check_latents(Z, self._n_features_out, owner=type(self).__name__)
        return cast_back(self._decode(latents), dtype)

    def reconstruct(self, X: Any) -> Array:
        """Return the nearest the model has to each row: down and up again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        Noise across a curve is taken away:

        >>> import numpy as np
        >>> from twofold import PrincipalManifold
        >>> angle = np.linspace(0.0, 2 * np.pi, 100, endpoint=False)
        >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
        >>> noisy = circle + 0.1 * np.random.default_rng(0).standard_normal(circle.shape)
        >>> model = PrincipalManifold(domain="circle", alpha=1e-2, random_state=0).fit(noisy)
        >>> rebuilt = model.reconstruct(noisy)
        >>> bool(np.linalg.norm(rebuilt - circle) < 0.9 * np.linalg.norm(noisy - circle))
        True
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "reconstruct", X)  # type: ignore[no-any-return]
        data, dtype = check_data(self, X, reset=False)
        return cast_back(self._decode(self._encode(data)), dtype)

    def reconstruction_error(self, X: Any) -> Array:
        """Return each row's distance to its reconstruction, in the data's units.

        Large values lie off the manifold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> errors = model.reconstruction_error(X)
        >>> errors.shape
        (100,)
        >>> off_the_sheet = np.array([[0.0, 1.0, 9.0]])
        >>> bool(model.reconstruction_error(off_the_sheet)[0] > errors.max())
        True
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "reconstruction_error", X)  # type: ignore[no-any-return]
        data, dtype = check_data(self, X, reset=False)
        return cast_back(self._distances(data), dtype)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return the share of variance that reconstruction keeps; 1 is perfect.

        One minus the mean squared reconstruction error over the total variance of the training data.
        Held-out data make it fit for ``GridSearchCV``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            Not used, present for the API's consistency.

        Returns
        -------
        float

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> X_new, _ = make_s_curve(100, random_state=1)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> 0.9 < model.score(X_new) < 1.0
        True
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "score", X)  # type: ignore[no-any-return]
        data, _ = check_data(self, X, reset=False)
        distances = self._unit_distances(data)
        largest = float(distances.max())
        if largest == 0.0:
            return 1.0
        mean = float(np.square(distances / largest).mean())
        with np.errstate(over="ignore", divide="ignore"):
            error = np.float64(mean) * largest * largest / self._variance
        # Where the error is beyond floats, or the training data had no variance, the score is as
        # low as floats go.
        return float(max(1.0 - error, -np.finfo(np.float64).max))

    def log_density(self, Z: Any) -> Array:
        """Return the log density of latents: how well the training data support each place.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        ndarray of shape (n_samples,)
            Per unit of latent volume; finite however far away.

        Examples
        --------
        >>> import numpy as np
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> among, far = model.log_density(np.array([model.embedding_[0], [99.0, 99.0]]))
        >>> bool(among > far), bool(np.isfinite(far))
        (True, True)
        """
        check_is_fitted(self)
        if is_dask(Z):
            return lazily(self, "log_density", Z)  # type: ignore[no-any-return]
        latents, dtype = check_latents(Z, self._n_features_out, owner=type(self).__name__)
        units = self._latent_units
        with self._threads():
            log_density = self.density_.log_density(units.into(latents))
        volume = int(units.varying.sum()) * units.exponent * np.log(2.0)
        return cast_back(log_density - volume, dtype)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Draw latents from their density and take them up to the data space.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> model.sample(5, random_state=0).shape
        (5, 3)
        """
        check_is_fitted(self)
        n_samples = check_int("n_samples", n_samples)
        latents = self.density_.sample(n_samples, random_state)
        with self._threads():
            return self._data_units.back(self.decoder_.predict(latents))

    def _threads(self) -> AbstractContextManager[None]:
        """Hold everything inside to ``n_jobs`` threads, where the estimator has that parameter."""
        return using_threads(getattr(self, "n_jobs", None))

    def _encode(self, data: Array) -> Array:
        with self._threads():
            latents = self.encoder_.predict(self._data_units.into(data))
        return self._latent_units.back(latents)

    def _decode(self, latents: Array) -> Array:
        with self._threads():
            data = self.decoder_.predict(self._latent_units.into(latents))
        return self._data_units.back(data)

    def _unit_distances(self, data: Array) -> Array:
        """Return the distances to the reconstructions, in centred units."""
        return np.ldexp(self._distances(data), -self._data_units.exponent)

    def _distances(self, data: Array) -> Array:
        return self._data_units.distances(data, self._decode(self._encode(data)))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has ended: attributes of validation alone do not count."""
        return hasattr(self, "decoder_")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes and gives."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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


def warn_of_rank(rank: int, n_components: int) -> None:
    """Warn of data that vary in fewer directions than latents have."""
    if rank < n_components:
        warn_user(
            f"The data vary in only {rank} directions, fewer than "
            f"n_components={n_components}; some latent coordinates carry nothing.",
            UserWarning,
        )


def constant_model(latents: Array, centred: Array) -> Learned:
    """Return maps between latents and data that are all equal: up to that row, down to their mean."""
    units = CentredUnits.of(latents, name="latents")
    inside = units.into(latents)
    decoder = NadarayaWatson(bandwidth=1.0).fit(inside[:1], centred[:1])
    encoder = NadarayaWatson(bandwidth=1.0).fit(centred[:1], inside.mean(axis=0, keepdims=True))
    density = LatentDensity().fit(inside)
    return Learned(latents, units, encoder, decoder, density)
