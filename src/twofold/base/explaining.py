"""Fitted models explain rows, paths and differences of rows by their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask
from twofold.base.gaps import without_gaps
from twofold.base.sparse_inputs import check_result
from twofold.explaining.differences import FEWEST_ROWS, Selection, difference_explanation
from twofold.explaining.paths import path_explanation
from twofold.explaining.reference import FeatureColumns, Reference, in_own_units
from twofold.explaining.results import DifferenceExplanation, Explanation, PathExplanation
from twofold.explaining.slopes import SCALE, exact_moves_and_effects, moves_and_effects
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

    def explain_path(self, Z: Any) -> PathExplanation:
        """Find the features that change along a path on the map.

        Parameters
        ----------
        Z : array-like of shape (n_points, n_components)
            The places of the path in order, at least two.

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
        return explained_path(model, Z, feature_names(model))

    def explain_difference(self, A: Any, B: Any, *, level: float = 0.95) -> DifferenceExplanation:
        """Find the features that separate two selections of rows on the manifold.

        The difference of a feature is that of the means of the reconstructions, in spreads
        (standard deviations over the training rows). Intervals are Welch's, from the variances of
        the reconstructions and the residuals, for each feature on its own.

        Parameters
        ----------
        A, B : array-like of shape (n_samples_a, n_features) and (n_samples_b, n_features)
            The rows of the selections, at least two each.
        level : float, default=0.95
            The level of the intervals, between 0 and 1.

        Returns
        -------
        DifferenceExplanation
            It prints as a table sorted by the size of the difference; ``to_frame()`` has all
            features.

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
        parts = []
        for name, rows in (("A", A), ("B", B)):
            _refuse_dask("explain_difference", rows)
            parts.append(model._rows(rows)[0])
            check_enough(name, parts[-1].shape[0])
        return explained_difference(model, *parts, level, feature_names(model))


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


def check_enough(name: str, n_rows: int) -> None:
    """Raise an error for a selection of a single row."""
    if n_rows < FEWEST_ROWS:
        raise ValueError(
            f"{name} has {n_rows} row: an interval of a difference needs at least {FEWEST_ROWS} "
            "rows of each selection. Use inverse_transform to compare single rows."
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
    spreads = reference.spreads
    if features is None:
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
    images = reference.columns.images(model, latents)
    return path_explanation(reference, images, latents, decoded, names)


def explained_difference(
    model: TwoWayEstimator,
    A: Any,
    B: Any,
    level: float,
    names: tuple[str, ...],
    features: IntArray | None = None,
    shown: Any = None,
) -> DifferenceExplanation:
    """Explain the difference of checked rows; ``shown`` turns mean encoded rows into values."""
    reference = Reference.of(model, features)
    columns = reference.columns
    parts = []
    for rows in (A, B):
        complete = without_gaps(model, _dense(rows))
        images = columns.images(model, model._encode(complete))
        parts.append(Selection(columns.rows(complete), images))

    def values(mean: Array) -> Any:
        data = _as_data(columns, mean)
        return data if shown is None else shown(data)

    return difference_explanation(reference, *parts, names, level, values)


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
        return units.back(centered[None])[0]
    with np.errstate(over="ignore"):
        return in_own_units(centered, units.exponent) * units.column_units + units.offset


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
