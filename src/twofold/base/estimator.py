"""Everything that all two-way estimators share.

A fitted model is latent coordinates ``embedding_`` and two maps: ``encoder_`` maps data to latents,
``decoder_`` maps latents to data. All public methods follow from that pair. A subclass adds one
method, ``_learn``, that finds it.

The maps work in centered units on both sides (`twofold.numerics.units`), so a model does not depend
on the unit of the data or on their distance from the origin. Callers see their own units only.

The methods of a fitted model also take Dask arrays and frames and return lazy ones.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from twofold.base.aligning import OldMap, learned_of
from twofold.base.alignment import Alignment
from twofold.base.compressing import CompressMixin
from twofold.base.dask_inputs import is_dask, lazily
from twofold.base.dimensions import check_n_components, constant_model, warn_of_rank
from twofold.base.explaining import ExplainMixin
from twofold.base.exploring import ExploreMixin
from twofold.base.gaps import (
    completed,
    filling_of,
    has_gaps,
    imputed,
    observed_distances,
    without_gaps,
)
from twofold.base.geometry import GeometryMixin
from twofold.base.growing import GrowMixin
from twofold.base.latent_density import LatentDensityMixin
from twofold.base.other_units import warn_of_other_units
from twofold.base.problem import Learned, Problem
from twofold.base.progress import CallbackSupportMixin, FitProgress, with_callbacks
from twofold.base.sparse_inputs import (
    check_features,
    check_result,
    decoded_columns,
    on_sparse,
    stays_sparse,
)
from twofold.base.summary import SummaryMixin
from twofold.base.trust import TrustMixin, decoded_with_deviations
from twofold.base.weighted_fit import fitted_state, largest_and_mean_square, refuse_dask
from twofold.export.model_files import save
from twofold.maps.affine import Predictor
from twofold.numerics.column_factors import factors_of_rows
from twofold.numerics.completion import GapFilling
from twofold.numerics.linalg import rank_up_to, row_norms_sq
from twofold.numerics.sparse_rows import check_sparse
from twofold.numerics.threads import n_threads, repeatable_threads, using_threads
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import (
    RandomLike,
    cast_back,
    check_data,
    check_int,
    check_latents,
    check_rng,
)
from twofold.protocols import Array

FEW_ROWS, FEW_VALUES = 1_000, 10**6
"""Tables up to this size are fitted in one thread, unless ``n_jobs`` asks for more."""


class TwoWayEstimator(
    SummaryMixin,
    ExploreMixin,
    CompressMixin,
    ExplainMixin,
    GrowMixin,
    LatentDensityMixin,
    TrustMixin,
    GeometryMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    ABC,
):
    """Base of all two-way estimators.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data.
    encoder_, decoder_ : objects with ``predict``
        The two maps, between centered units. Use ``transform`` and ``inverse_transform``.
    alignment_ : Alignment
        How near shared rows are to their places in the old map. Only of fits with ``align_to``.
    density_ : object with ``log_density`` and ``sample``
        The density of the latents, in centered units. Use ``log_density``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    An estimator has both maps, a score and a density:

    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
    >>> model.embedding_.shape, model.n_features_in_
    ((150, 2), 4)
    """

    n_components: Any
    random_state: RandomLike
    verbose: int
    n_jobs: int | None = None
    """All cores, for estimators without that parameter and for old model files that lack it."""

    scale: Any = None
    """Columns as they are, for estimators without that parameter and for old model files."""

    _aligns_itself = False
    """Whether `_learn` puts the latents into the frame of the anchors."""

    _pulls_rows = False
    """Whether `_learn` starts at the anchors and pulls rows, without help by ``init``."""

    alignment_: Alignment
    embedding_: Array
    encoder_: Predictor
    decoder_: Predictor
    _data_units: CenteredUnits
    _latent_units: CenteredUnits
    _variance: float
    _gap_filling: GapFilling

    @abstractmethod
    def _learn(self, problem: Problem) -> Learned:
        """Find latents and maps."""

    def _learn_constant(self, problem: Problem) -> Learned:
        """Return the model of data whose rows are all equal: every latent decodes to that row."""
        return constant_model(np.zeros((len(problem.data), problem.n_components)), problem.data)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        align_to: Any = None,
        shared: Any = None,
    ) -> Self:
        """Learn latents and both maps.

        An interrupted or failed fit leaves the model unchanged.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data. Large sparse tables are reduced to their leading principal subspace and never made
            dense.
        y : array-like of shape (n_samples,), default=None
            Labels, used by supervised estimators only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0. The fit is that of repeated rows, and only ratios
            matter: whole numbers without a common divisor are the numbers of copies, other weights
            are rounded to as many copies as there are rows with a positive weight. Equal weights,
            like None, take each row once. Rows of weight 0 are left out, and ``embedding_`` has
            what ``transform`` returns for them.
        align_to : fitted model, default=None
            Another model, in whose latent space this one is placed: latents of one decode by the
            other. ``alignment_`` has the distances of shared rows.
        shared : array-like of int, shape (m, 2), or tuple of two arrays, default=None
            Pairs of a row of X and the row of ``align_to.embedding_`` for the same thing. None
            means that the features are shared: then the old model places all rows.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw")
        >>> model.fit(load_iris().data) is model
        True
        """
        before = dict(self.__dict__)
        try:
            n_threads(self.n_jobs)
            with self._threads(), repeatable_threads():
                frame = OldMap.of(X, align_to, shared)
                state = fitted_state(self, X, y, sample_weight, frame)
        except BaseException:
            # The validation has set n_features_in_ and feature_names_in_.
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
                if name in before:
                    self.__dict__[name] = before[name]
            raise
        self._take(state)
        return self

    def _take(self, state: dict[str, Any]) -> None:
        """Replace the learned attributes by those of a finished fit."""
        for name in getattr(self, "_learned_names", ()):
            self.__dict__.pop(name, None)
        self.__dict__.update(state, _learned_names=tuple(state))

    def _fit(self, X: Any, y: Any, frame: OldMap | None = None) -> dict[str, Any]:
        data, _ = check_data(self, X, reset=True, gaps=self._allows_gaps)
        y = self._labels(data, y)
        rng = check_rng(self.random_state)
        gaps = np.isnan(data) if has_gaps(data) else None
        filled = None
        if gaps is not None:
            data, filled = completed(data, self.scale)
        n_components = self._requested_components(data)
        progress = FitProgress(self, verbose=check_int("verbose", self.verbose, low=0))
        alone = self.n_jobs is None and len(data) <= FEW_ROWS and data.size <= FEW_VALUES
        with progress.fit(), using_threads(1) if alone else nullcontext():
            units = self._measure_units(data)
            centered = units.into(data)
            rank = rank_up_to(centered, n_components)
            warn_of_rank(rank, n_components)
            problem = Problem(centered, units, data, y, n_components, rng, progress)
            problem = problem if frame is None else frame.anchors(self, problem)
            learned = self._learn_constant(problem) if rank == 0 else learned_of(self, problem)
        variance = learned.variance
        if variance is None:
            variance = float(row_norms_sq(centered).mean())
        state = self._state(learned, units, variance)
        return state | {"_gap_filling": filling_of(centered, units, gaps, filled)}

    @property
    def _allows_gaps(self) -> bool:
        """Whether X may have missing values: not if its columns are rows too."""
        return not self.__sklearn_tags__().input_tags.pairwise

    @staticmethod
    def _state(learned: Learned, units: CenteredUnits, variance: float) -> dict[str, Any]:
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

    def _in_units(self, units: CenteredUnits, variance: float | None) -> Self:
        """Return a copy for data in other units, whose total variance is known or the same."""
        made = copy(self)
        made._data_units = units
        made._variance = self._variance if variance is None else variance
        if units.factors is not None and type(units) is CenteredUnits:
            made.scale = units.factors
        return made

    def _labels(self, data: Array, y: Any) -> Any:
        """Return the labels, checked; only supervised estimators use them."""
        if y is not None:
            check_consistent_length(data, y)
        return y

    def _measure_units(self, data: Array) -> CenteredUnits:
        """Return the units in which the maps will see the data."""
        return CenteredUnits.of(data, factors=factors_of_rows(self.scale, data))

    def _requested_components(self, data: Array) -> int:
        """Return the number of latent dimensions, checked against the data."""
        return check_n_components(self.n_components, *data.shape)

    def save(self, path: str | os.PathLike[str], *, precision: str = "exact") -> None:
        """Write the fitted model to a file of plain data; `twofold.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually with the suffix ``.twofold``.
        precision : {"exact", "single"}, default="exact"
            "exact" keeps every bit. "single" rounds the training rows in the maps to single
            precision, see `twofold.save`.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn.datasets import load_iris
        >>> import twofold
        >>> model = twofold.TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "iris.twofold"))
        ...     twofold.load(os.path.join(folder, "iris.twofold")).embedding_.shape
        (150, 2)
        """
        save(self, path, precision=precision)

    def transform(self, X: Any, *, return_std: bool = False) -> Any:
        """Encode data: map each row to the latent space.

        A row's latents do not depend on the other rows. Training data get latents close to
        ``embedding_`` but not equal to it, since those latents were optimized together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        return_std : bool, default=False
            Whether to return how far positions are determined, too.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Latents.
        Z_std : ndarray of shape (n_samples, n_components)
            Standard deviations of the latents if the row is disturbed by errors that are usual at
            its place of the map. Rows between two branches of the manifold have large ones. Only if
            ``return_std`` is True.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> model.transform([[5.0, 3.0, 2.0, 0.5]]).shape
        (1, 2)
        >>> Z, std = model.transform([[5.0, 3.0, 2.0, 0.5]], return_std=True)
        >>> std.shape
        (1, 2)
        """
        latents = self._apply("transform", X, self._encode)
        return self._with_position_deviations(X, latents, self._encode) if return_std else latents

    def inverse_transform(self, Z: Any, features: Any = None, *, return_std: bool = False) -> Any:
        """Decode latents: map each row to the data space.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        features : list of int or str, slice or mask of shape (n_features,), default=None
            Columns to return, by number or name; None means all. Of models of large sparse tables
            only these are computed.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features) or (n_samples, len(features))
            Decoded rows.
        X_std : ndarray of the same shape
            Standard deviations of decoded values: about 90 % of the cells of new rows lie within
            1.645 of them around ``inverse_transform(transform(X))``. They grow where there are no
            training latents, up to those of the columns. Only if ``return_std`` is True.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> model.inverse_transform([[-1.0, 0.0], [1.0, 0.0]]).shape
        (2, 4)
        >>> model.inverse_transform([[-1.0, 0.0], [1.0, 0.0]], features=[2]).shape
        (2, 1)
        >>> X, std = model.inverse_transform(model.embedding_, return_std=True)
        >>> far = model.inverse_transform([[50.0, 50.0]], return_std=True)[1]
        >>> bool((std.mean(axis=0) < far).all())
        True
        """
        check_is_fitted(self)
        if return_std:
            return decoded_with_deviations(self, Z, features)
        if features is None:
            return self._apply("inverse_transform", Z, self._decode_all, latents=True)
        columns = check_features(self, features)
        if is_dask(Z):
            lazy: Array = lazily(self, "inverse_transform", Z, features=columns)
            return lazy
        return self._apply(
            "inverse_transform",
            Z,
            lambda latents: decoded_columns(self, latents, columns),
            latents=True,
        )

    def _decode_all(self, latents: Array) -> Array:
        check_result(len(latents), self.n_features_in_)
        return self._decode(latents)

    def reconstruct(self, X: Any) -> Array:
        """Encode and decode: return the point of the manifold for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(200, random_state=0)
        >>> TwoWay("isomap", n_components=1, random_state=0).fit(X).reconstruct(X).shape
        (200, 2)
        """
        return self._apply("reconstruct", X, lambda data: self._decode(self._encode(data)))

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill the gaps of rows and leave all other cells as they are.

        A gap is filled from the training rows that are nearest over the observed cells, from the
        cells that vary together with it, and from the point of the manifold. Rows do not depend on
        each other. `reconstruct` returns the point of the manifold alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data; missing cells are NaN.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features)
            The data without gaps.
        X_std : ndarray of shape (n_samples, n_features)
            Standard deviations of the filled cells, 0 for the others, in units of the data. About
            90 % of the true values lie within 1.645 of them. Only if ``return_std`` is True.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> X = load_iris().data.copy()
        >>> X[::7, 2] = np.nan
        >>> model = TwoWay("pca", up="nw", down="nw").fit(X)
        >>> filled, std = model.impute(X, return_std=True)
        >>> bool(np.abs(filled - load_iris().data).max() < 2.0), bool((std[::7, 2] > 0.0).all())
        (True, True)
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "impute", X, return_std=return_std)
        rows, dtype = check_data(self, X, reset=False, gaps=self._allows_gaps)
        warn_of_other_units(self, rows)
        filled, deviations = (cast_back(part, dtype) for part in imputed(self, rows))
        return (filled, deviations) if return_std else filled

    def reconstruction_error(self, X: Any) -> Array:
        """Return the distance of each row to its reconstruction, in the units of the data.

        A large distance means that the row lies off the manifold. With ``scale``, differences are
        divided by the units of the columns first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> on, off = model.reconstruction_error([[5.0, 3.4, 1.5, 0.2], [5.0, 9.0, 1.5, 0.2]])
        >>> bool(on < 0.5 < off)
        True
        """
        return self._apply("reconstruction_error", X, self._distances)

    def score(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        sample_weight: Any = None,
    ) -> float:
        """Return the share of the variance that reconstruction keeps; 1 is perfect.

        This is one minus the mean squared reconstruction error over the total variance of the
        training data. ``GridSearchCV`` maximizes it on held-out data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean squared error, at least 0.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> X = load_iris().data
        >>> 0.9 < TwoWay("pca", up="nw", down="nw").fit(X[::2]).score(X[1::2]) < 1.0
        True
        """
        check_is_fitted(self)
        refuse_dask(X, sample_weight)
        if is_dask(X):
            return lazily(self, "score", X)  # type: ignore[no-any-return]
        distances = self._on_rows("score", self._rows(X)[0], self._unit_distances)
        largest, mean = largest_and_mean_square(distances, sample_weight)
        if largest == 0.0:
            return 1.0
        with np.errstate(over="ignore", divide="ignore"):
            error = np.float64(mean) * largest * largest / self._variance
        # The lowest float stands for errors that overflow and for training data without variance.
        return float(max(1.0 - error, -np.finfo(np.float64).max))

    def _apply(
        self, name: str, X: Any, function: Callable[[Array], Array], *, latents: bool = False
    ) -> Array:
        """Apply a function to checked data or latents, in the input's type; lazily to Dask's."""
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, name, X)  # type: ignore[no-any-return]
        if latents:
            rows, dtype = check_latents(X, self._n_features_out, owner=type(self).__name__)
        else:
            rows, dtype = self._rows(X)
            return cast_back(self._on_rows(name, rows, function), dtype)
        return cast_back(function(rows), dtype)

    def _rows(self, X: Any) -> tuple[Any, np.dtype[Any]]:
        """Return new rows, checked, dense or sparse, and the type that results should have."""
        if stays_sparse(self, X):
            rows = check_sparse(self, X, reset=False)
            dtype = rows.dtype
        else:
            rows, dtype = check_data(self, X, reset=False, gaps=self._allows_gaps)
        warn_of_other_units(self, rows)
        return rows, dtype

    def _on_rows(self, name: str, rows: Any, function: Callable[[Array], Array]) -> Array:
        """Apply a method to checked rows, dense or sparse."""
        return on_sparse(self, name, rows, function) if issparse(rows) else function(rows)

    def _threads(self) -> AbstractContextManager[None]:
        """Limit everything inside to ``n_jobs`` threads."""
        return using_threads(self.n_jobs)

    def _encode(self, data: Array) -> Array:
        complete = without_gaps(self, data)
        with self._threads():
            return self._latent_units.back(self.encoder_.predict(self._data_units.into(complete)))

    def _decode(self, latents: Array) -> Array:
        with self._threads():
            return self._data_units.back(self.decoder_.predict(self._latent_units.into(latents)))

    def _unit_distances(self, data: Array) -> Array:
        """Return the distances to the reconstructions, in centered units."""
        with np.errstate(over="ignore"):  # far rows, in the units of tiny data
            distances = np.ldexp(self._distances(data), -self._data_units.exponent)
        return np.minimum(distances, np.finfo(np.float64).max)

    def _distances(self, data: Array) -> Array:
        images = self._decode(self._encode(data))
        if has_gaps(data):
            return observed_distances(self._data_units, data, images)
        return self._data_units.distances(data, images)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has finished; attributes set by validation do not count."""
        return hasattr(self, "decoder_")

    def __sklearn_tags__(self) -> Any:
        """Declare that X may be sparse and have gaps, and that float32 is preserved."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = True
        return tags
