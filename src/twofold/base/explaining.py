"""Fitted models explain rows, paths and differences of rows by their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask
from twofold.base.gaps import without_gaps
from twofold.base.sparse_inputs import check_result
from twofold.explaining.differences import Selection, difference_explanation
from twofold.explaining.paths import path_explanation, smoothed_images
from twofold.explaining.reference import SCALE, FeatureColumns, Reference, in_own_units
from twofold.explaining.results import DifferenceExplanation, Explanation, PathExplanation
from twofold.explaining.slopes import exact_moves_and_effects, moves_and_effects
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.validation import check_latents, check_real
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

FEWEST_PLACES = 2


class ExplainMixin:
    """Adds `explain`, `explain_path` and `explain_difference` to fitted models."""

    def explain(self, X: Any, *, scale: float = SCALE) -> Explanation:
        r"""Find the features that move each row's position on the map.

        The *move* of a feature is where a row is expected to go on the map if all that is known is
        that the feature is one spread (standard deviation over the training rows) higher. Its
        *effect* is the length of the move, in standard deviations of the map, so features of
        different units compare. With the slopes :math:`B` of the decoder around the row's latent,
        the covariance :math:`\Sigma` of the training latents, and the spread :math:`s_j` and share
        of the variance :math:`\rho_j` that the map explains of feature j,

        .. math:: e_j = \rho_j |B_j \Sigma^{1/2}| / s_j .

        The slopes are those of a least-squares fit to the images of the training latents :math:`z`
        with weights :math:`1 / (1 + |z - z_0|^2 / h^2)`. The derivative of the encoder at a row
        itself, ``scale=0``, follows the noise of the map: in clusters, nuisance features come
        first. See the guide for the measurements.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to explain.
        scale : float, default=0.25
            The width ``h`` of the neighborhood, in root mean square deviations of a latent
            coordinate. With 0 the move is the exact derivative of ``transform`` by the feature,
            times its spread.

        Returns
        -------
        Explanation
            It prints as a table sorted by effect, and has ``to_frame()``, ``strongest()`` and
            ``per_row()``.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from twofold import TwoWay
        >>> X = load_wine(as_frame=True).data
        >>> model = TwoWay("pca", up="nw", down="nw", scale="standard").fit(X)
        >>> found = model.explain(X)
        >>> found.feature_names[found.order[0]], found.effects.shape
        ('flavanoids', (178, 13))
        """
        model = _fitted(self)
        scale = check_real("scale", scale, low=0.0)
        _refuse_dask("explain", X)
        return explained_rows(model, model._rows(X)[0], scale, feature_names(model))

    def explain_path(self, Z: Any, *, scale: float = SCALE) -> PathExplanation:
        """Find the features that change along a path on the map.

        Parameters
        ----------
        Z : array-like of shape (n_points, n_components)
            The places of the path in order, at least two.
        scale : float, default=0.25
            Decoded values are smoothed over the training latents by a Gaussian of this width, in
            root mean square deviations of a latent coordinate. 0 takes them as they are, with the
            noise of the map.

        Returns
        -------
        PathExplanation
            It prints as a table sorted by effect: the largest change between two places, in spreads
            (standard deviations over the training rows), times the share of the feature's variance
            that the map explains. ``to_frame()`` has all features.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from twofold import TwoWay
        >>> X = load_wine(as_frame=True).data
        >>> model = TwoWay("pca", up="nw", down="nw", scale="standard").fit(X)
        >>> path = np.linspace(model.embedding_[0], model.embedding_[-1], 30)
        >>> found = model.explain_path(path)
        >>> found.feature_names[found.order[0]]
        'flavanoids'
        """
        model = _fitted(self)
        scale = check_real("scale", scale, low=0.0)
        return explained_path(model, Z, scale, feature_names(model))

    def explain_difference(self, A: Any, B: Any, *, level: float = 0.95) -> DifferenceExplanation:
        """Find the features that separate two selections of rows on the manifold.

        The difference of a feature is that of the means of the reconstructions, in spreads
        (standard deviations over the training rows). Its effect is the size of the difference times
        the share of the feature's variance that the map explains. Intervals are Welch's, from the
        variances of the reconstructions and the residuals, for each feature on its own.

        Parameters
        ----------
        A, B : array-like of shape (n_samples_a, n_features) and (n_samples_b, n_features)
            The rows of the selections, at least two each.
        level : float, default=0.95
            The level of the intervals, between 0 and 1.

        Returns
        -------
        DifferenceExplanation
            It prints as a table sorted by effect; ``to_frame()`` has all features.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from twofold import TwoWay
        >>> X, y = load_wine(as_frame=True, return_X_y=True)
        >>> model = TwoWay("pca", up="nw", down="nw", scale="standard").fit(X)
        >>> found = model.explain_difference(X[y == 0], X[y == 1])
        >>> found.feature_names[found.order[0]]
        'proline'
        """
        model = _fitted(self)
        level = check_real("level", level, below=1.0)
        for given in (A, B):
            _refuse_dask("explain_difference", given)
        pair = (model._rows(A)[0], model._rows(B)[0])
        for name, rows in zip("AB", pair, strict=True):
            check_enough(name, rows)
        return explained_difference(model, pair, level, feature_names(model))


def _fitted(model: Any) -> TwoWayEstimator:
    check_is_fitted(model)
    found: TwoWayEstimator = model
    return found


def _refuse_dask(method: str, X: Any) -> None:
    if is_dask(X):
        raise TypeError(
            f"{method} takes rows in memory, not Dask collections: pass X.compute(), or "
            "X.blocks[0].compute() for a part of them."
        )


def check_enough(name: str, rows: Any) -> None:
    """Raise an error for a selection of a single row."""
    if rows.shape[0] == 1:
        raise ValueError(
            f"{name} has 1 row: an interval of a difference needs at least 2 rows of each "
            "selection. Use inverse_transform to compare single rows."
        )


def feature_names(model: Any) -> tuple[str, ...]:
    """Return the names of a model's features, or x0, x1, ... if it has no names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{number}" for number in range(model.n_features_in_))
    return tuple(str(name) for name in names)


def explained_rows(
    model: TwoWayEstimator,
    rows: Any,
    scale: float,
    names: tuple[str, ...],
    features: IntArray | None = None,
) -> Explanation:
    """Explain checked rows (n, D); ``features`` (D,) are the features of columns, None for each."""
    reference = Reference.of(model, features)
    columns = reference.columns
    check_result(rows.shape[0], columns.n_features * (model._n_features_out + 1))
    if scale == 0.0:
        complete = without_gaps(model, _dense(rows))
        Z = model._encode(complete)
        own, effects = exact_moves_and_effects(model, reference, complete)
    else:
        Z = model._on_rows("transform", rows, model._encode)
        own, effects = moves_and_effects(reference, Z, scale)
    spreads = np.zeros(columns.n_features)
    spreads[columns.features] = _in_own_units(columns, reference.spreads[columns.features])
    return Explanation(
        feature_names=names,
        effects=effects,
        moves=_moves_of_features(columns, own),
        latents=Z,
        spreads=spreads,
        explained=reference.explained,
    )


def explained_path(
    model: TwoWayEstimator,
    Z: Any,
    scale: float,
    names: tuple[str, ...],
    features: IntArray | None = None,
    decode: Any = None,
) -> PathExplanation:
    """Explain a path of latents (n, q); ``decode`` turns latents into what users see."""
    latents, _ = check_latents(Z, model._n_features_out, owner=type(model).__name__)
    if len(latents) < FEWEST_PLACES:
        raise ValueError(
            f"Z has {len(latents)} row: a path needs at least {FEWEST_PLACES} places. Use explain "
            "for single places."
        )
    decoded = (model._decode_all if decode is None else decode)(latents)
    reference = Reference.of(model, features)
    if scale == 0.0:
        images = reference.columns.images(model, latents)
    else:
        images = smoothed_images(reference, latents, scale)
    return path_explanation(reference, images, latents, decoded, names)


def explained_difference(
    model: TwoWayEstimator,
    pair: tuple[Any, Any],
    level: float,
    names: tuple[str, ...],
    features: IntArray | None = None,
    shown: Any = None,
) -> DifferenceExplanation:
    """Explain the difference of checked rows; ``shown`` turns mean encoded rows into values."""
    reference = Reference.of(model, features)
    columns = reference.columns

    def selection(rows: Any) -> Selection:
        complete = without_gaps(model, _dense(rows))
        images = columns.images(model, model._encode(complete))
        return Selection(columns.rows(complete), images)

    def values(mean: Array) -> Any:
        data = _as_data(columns, mean)
        return data if shown is None else shown(data)

    A, B = selection(pair[0]), selection(pair[1])
    return difference_explanation(reference, A, B, names, level, values)


def _dense(rows: Any) -> Array:
    """Return rows as an array, if it fits into memory."""
    if not issparse(rows):
        return np.asarray(rows)
    check_result(*rows.shape)
    dense: Array = rows.toarray()
    return dense


def _in_own_units(columns: FeatureColumns, values: Array) -> Array:
    """Return lengths (k,) in centered units as lengths in the data's own units."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(values * columns.factors)


def _as_data(columns: FeatureColumns, centered: Array) -> Array:
    """Return one row (k,) in centered units as a row of the data."""
    units = columns.units
    if not isinstance(units, AffineUnits):
        plain: Array = units.back(centered[None])[0]
        return plain
    with np.errstate(over="ignore"):
        data: Array = in_own_units(centered, units.exponent) * units.column_units + units.offset
        return data


def _moves_of_features(columns: FeatureColumns, moves: Array) -> Array:
    """Return the moves (n, n_features, q) of features: those of their columns that move most."""
    n, _, q = moves.shape
    found = np.zeros((n, columns.n_features, q))
    if columns.is_plain:
        return moves
    everyone = np.arange(n)
    for feature in np.unique(columns.features):
        own = moves[:, columns.features == feature]
        longest = np.square(own).sum(axis=2).argmax(axis=1)
        found[:, feature] = own[everyone, longest]
    return found
