"""How far a fitted model can be trusted: uncertainty of both maps, and calibrated outliers.

The computation is in `twofold.calibration`. It needs the training rows that a model keeps for gaps,
at most 2,000, and runs at the first call: a fit costs nothing more, and files hold nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask, lazily
from twofold.base.gaps import filled_with_deviations
from twofold.base.sparse_inputs import check_features
from twofold.calibration.trust import Trust
from twofold.calibration.unusual import Rows
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.threads import row_blocks
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import cast_back, check_latents, check_real
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


MOST_ROWS = 10**9
"""Training rows that a model can have; a damaged file may claim more."""


LEAST_CHANGE = 1e-9
"""Changes of constant columns up to this, in centered units, are rounding."""


class _Memo:
    """What was computed last, and the parts of the model that it was computed from."""

    def __init__(self) -> None:
        self.content: tuple[tuple[Any, ...], Trust] | None = None


class TrustMixin:
    """Adds `outlier_scores` and `predict_outlier`, and the deviations of both maps."""

    if TYPE_CHECKING:
        _data_units: CenteredUnits
        _latent_units: CenteredUnits
        _rows: Callable[[Any], tuple[Any, np.dtype[Any]]]
        _on_rows: Callable[[str, Any, Callable[[Array], Array]], Array]
        _threads: Callable[[], AbstractContextManager[None]]

        @property
        def _unwrapped(self) -> Any: ...

    def outlier_scores(self, X: Any) -> Array:
        """Return how unusual rows are: ``-log10`` of a p-value, higher for stranger rows.

        A score of 2 means that one in a hundred usual rows is as strange. Scores combine what the
        manifold leaves of a row, in units of what is usual at that place of the map, its largest
        single cell, the density of the latents there, and the distance to the nearest training
        rows. They are compared with those of training rows under maps that do not know them. Up to
        ``log10(m + 1)``, with m such rows, scores are conformal p-values; beyond, they are
        continued by an exponential tail.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data. Gaps (NaN) do not count. One of the at most 2,000 training rows that the model
            keeps gets the score of the maps that do not know it.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> usual, strange = model.outlier_scores([[5.0, 3.4, 1.5, 0.2], [5.0, 3.4, 6.0, 0.2]])
        >>> bool(usual < 1.3 < 3.0 < strange)
        True
        """
        check_is_fitted(self)
        if is_dask(X):
            lazy: Array = lazily(self, "outlier_scores", X)  # type: ignore[arg-type]
            return lazy
        rows, dtype = self._dense_rows(X)
        trust = trust_of(self._unwrapped)
        return cast_back(_scores(self._unwrapped, trust, rows), dtype)

    def predict_outlier(self, X: Any, level: float = 0.05) -> AnyArray:
        """Flag rows whose p-value is at most a level.

        Of new rows like those of the fit, about that share is flagged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        level : float, default=0.05
            The share of false alarms, between 0 and 1. Levels below 1 / (m + 1), with m training
            rows kept by the model (at most 2,000), rest on the continued tail of the scores.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True for outliers. It serves as a mask: ``X[~model.predict_outlier(X)]``. The
            ``predict`` of scikit-learn's outlier detectors returns -1 for them and 1 for the
            others.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> model = TwoWay("pca", up="nw", down="nw").fit(load_iris().data)
        >>> model.predict_outlier([[5.0, 3.4, 1.5, 0.2], [5.0, 3.4, 6.0, 0.2]])
        array([False,  True])
        """
        bound = -np.log10(check_real("level", level, below=1.0))
        if is_dask(X):
            lazy: AnyArray = lazily(self, "predict_outlier", X, level=level)  # type: ignore[arg-type]
            return lazy
        scores = np.asarray(self.outlier_scores(X), dtype=np.float64)
        return np.asarray(scores >= bound - 1e-6)

    def _dense_rows(self, X: Any) -> tuple[Array, np.dtype[Any]]:
        """Return new rows, checked and dense, and the type that results should have."""
        rows, dtype = self._rows(X)
        return (rows.toarray() if issparse(rows) else rows), dtype

    def _whitened(self, X: Any) -> Array:
        """Return what the manifold leaves of each cell (n, D), in usual deviations at its place.

        It is signed, and 0 for gaps. In columns that are constant in the training rows it is 0, or
        infinite for other values.
        """
        rows, _ = self._dense_rows(X)
        model = self._unwrapped
        trust = trust_of(model)
        units = model._data_units
        with model._threads():
            seen = _seen(model, trust, rows)
            if isinstance(units, AffineUnits):
                return _whitened_columns(units, seen.residuals, trust.found.residuals)
            inside = trust.unusual.whitened(seen) / trust.spread.factor
        with np.errstate(over="ignore"):
            changes = np.abs(rows - units.constants) / units.column_factors()
            changes = np.ldexp(changes, -units.exponent)
        whitened = np.where(changes > LEAST_CHANGE, np.inf, 0.0)
        whitened[:, units.varying] = inside
        return whitened

    def _strangeness(self, X: Any) -> tuple[list[str], Array]:
        """Return the columns' names, and how far each cell is off the manifold (n, D).

        In usual deviations at that place of the map.
        """
        n_features = self._data_units.n_features
        names = getattr(self, "feature_names_in_", [f"x{number}" for number in range(n_features)])
        return [str(name) for name in names], np.abs(self._whitened(X))

    def _with_position_deviations(
        self, X: Any, latents: Array, encode: Callable[[Array], Array]
    ) -> tuple[Any, Any]:
        """Return latents of rows (n, q) and their standard deviations; see `transform`."""
        if is_dask(X):
            _refuse_dask("transform", "X")
        rows, dtype = self._dense_rows(X)
        model = self._unwrapped
        trust = trust_of(model)
        deviations = cast_back(_position_deviations(model, trust, rows, encode), dtype)
        return latents, _wrap_data_with_container("transform", deviations, X, self)

    def _decoded_deviations(self, latents: Array) -> Array:
        """Return standard deviations (n, D) of decoded latents (n, q), in units of the data."""
        model = self._unwrapped
        units = model._data_units
        if isinstance(units, AffineUnits):
            raise ValueError(  # noqa: TRY004 - X is not to blame, the model is
                "return_std=True is not supported for models of sparse rows or principal "
                "components. Fit the model to the columns themselves."
            )
        trust = trust_of(model)
        spread = np.zeros((len(latents), units.n_features))
        with model._threads():
            inside = trust.decoded_deviations(model._latent_units.into(latents))
        with np.errstate(over="ignore"):
            inside = np.ldexp(inside, units.exponent)
            if units.factors is not None:
                inside = inside * units.factors[units.varying]
        spread[:, units.varying] = np.minimum(inside, np.finfo(np.float64).max)
        return spread

    @cached_property
    def _trust_memo(self) -> _Memo:
        return _Memo()

    def __getstate__(self) -> Any:
        """Return the state without what is computed again when it is needed."""
        state: Any = super().__getstate__()
        state = dict(state)
        state.pop("_trust_memo", None)
        return state


def decoded_with_deviations(model: TwoWayEstimator, Z: Any, features: Any) -> tuple[Array, Array]:
    """Return decoded latents and their standard deviations, of chosen columns or all."""
    if is_dask(Z):
        _refuse_dask("inverse_transform", "Z")
    decoded: Array = model.inverse_transform(Z, features)
    latents, dtype = check_latents(Z, model._n_features_out, owner=type(model).__name__)
    deviations = model._decoded_deviations(latents)
    if features is not None:
        deviations = deviations[:, check_features(model, features)]
    return decoded, cast_back(deviations, dtype)


def _refuse_dask(method: str, name: str) -> None:
    raise TypeError(
        "return_std=True is not supported for Dask collections. Pass blocks in memory: "
        f"model.{method}({name}.blocks[0].compute(), return_std=True)."
    )


def trust_of(model: TwoWayEstimator) -> Trust:
    """Return what a model knows about its errors; computed at the first call for these maps."""
    filling = getattr(model, "_gap_filling", None)
    if filling is None or model.__sklearn_tags__().input_tags.pairwise:
        raise ValueError(
            "This model keeps no training rows, from which errors are calibrated: it is of an "
            "older file, or was fitted to sparse rows, blocks of a stream or precomputed "
            "distances. Fit it again without these."
        )
    if not model._variance > 0.0:
        raise ValueError(
            "The model was fitted to equal rows, so nothing tells what is usual. Fit rows that "
            "differ."
        )
    parts = (model.encoder_, model.decoder_, model.density_, filling, model._latent_units)
    content = model._trust_memo.content
    if content is None or any(one is not other for one, other in zip(content[0], parts)):  # noqa: B905
        content = parts, _new_trust(model)
        model._trust_memo.content = content
    return content[1]


def _new_trust(model: TwoWayEstimator) -> Trust:
    donors = model._gap_filling.donors
    if not len(donors.numbers) or int(donors.numbers.max()) >= MOST_ROWS:
        raise ValueError(
            "The numbers of the training rows that the model keeps are out of range, so errors "
            "cannot be calibrated. The file may be damaged: fit the model again."
        )
    n_rows, compression = len(model.embedding_), getattr(model, "compression_", None)
    # The latents of a compressed model are those of its prototypes, not of rows.
    if compression is None and n_rows > int(donors.numbers.max()):
        latents = model._latent_units.into(model.embedding_[donors.numbers])
    else:  # the latents were not kept
        n_rows = int(donors.numbers.max()) + 1
        with model._threads():
            latents = model.encoder_.predict(donors.rows.astype(np.float64))
    maps = model.encoder_, model.decoder_, model.density_.log_density
    error = 0.0 if compression is None else compression.error * model._variance
    return Trust(*maps, donors, latents, n_rows, error)


def _seen(model: TwoWayEstimator, trust: Trust, rows: Array) -> Rows:
    """Return checked rows (n, D) as scores see them."""
    complete, _ = filled_with_deviations(model, rows)
    units = model._data_units
    data = units.into(complete)
    observed = (
        ~np.isnan(rows)[:, units.varying] if np.isnan(rows).any() else np.ones_like(data, bool)
    )
    latents = trust.encoder.predict(data)
    residuals = data - trust.decoder.predict(latents)
    return Rows(data, observed, latents, residuals, trust.log_density(latents))


def _scores(model: TwoWayEstimator, trust: Trust, rows: Array) -> Array:
    units = model._data_units
    scores = np.empty(len(rows))
    with model._threads():
        for block in row_blocks(len(rows), 8 * 8 * rows.shape[1]):
            seen = _seen(model, trust, rows[block])
            known, gaps = rows[block], np.isnan(rows[block])
            if gaps.any():
                known = np.where(gaps, units.constants, known)
            changes = units.changes(known)
            changes = np.where(changes > LEAST_CHANGE, changes, 0.0)
            scores[block] = trust.unusual.scores(seen, changes)
    return scores


def _whitened_columns(units: AffineUnits, residuals: Array, usual: Array) -> Array:
    """Return residuals of images (n, r) in all columns (n, D).

    They are in units of the root mean square of usual ones (m, r).
    """
    origin = units.back(np.zeros((1, residuals.shape[1])))
    scales = np.sqrt(np.square(units.back(usual) - origin).mean(axis=0))
    varies = scales > LEAST_CHANGE * scales.max(initial=0.0)
    columns: Array = units.back(residuals) - origin
    return np.where(varies, columns / np.where(varies, scales, 1.0), 0.0)


def _position_deviations(
    model: TwoWayEstimator, trust: Trust, rows: Array, encode: Callable[[Array], Array]
) -> Array:
    """Return the spread (n, q) of the latents of disturbed rows around those of the rows."""
    deviations = np.empty((len(rows), model._n_features_out))
    units = model._data_units

    def work(some: slice) -> None:
        given = rows[some]
        complete, doubts = filled_with_deviations(model, given)
        data = units.into(complete)
        disturbances = trust.disturbances(trust.encoder.predict(data))
        rng, moved = np.random.default_rng(0), []
        for noise in disturbances:
            draw = rng.standard_normal(rows.shape[1]) * doubts  # the same for all rows
            for sign in (1.0, -1.0):
                disturbed = units.back(data + sign * noise)
                moved.append(np.where(np.isnan(given), complete + sign * draw, disturbed))
        center, around = encode(complete), encode(np.concatenate(moved))
        squares = np.zeros_like(center)
        for one in around.reshape(len(moved), *center.shape):  # one by one: as in any other batch
            squares += np.square(one - center)
        deviations[some] = np.sqrt(squares / len(moved))

    with model._threads():
        for block in row_blocks(len(rows), 8 * 2 * rows.shape[1]):
            work(block)
    return deviations
