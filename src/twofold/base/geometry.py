"""What a fitted model tells about the geometry of its map: lengths, stretch and paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask
from twofold.base.gaps import without_gaps
from twofold.manifold_geometry.metric import metric_tensor
from twofold.manifold_geometry.paths import Roads
from twofold.manifold_geometry.stretch import Stretch, stretch_at, with_overlap
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import cast_back, check_int, check_latents
from twofold.protocols import Array

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


class GeometryMixin:
    """Adds ``metric_tensor``, ``stretch`` and ``geodesic`` to an estimator with units and maps."""

    _data_units: CenteredUnits

    if TYPE_CHECKING:
        _rows: Callable[..., Any]

        @property
        def _n_features_out(self) -> int: ...

    def metric_tensor(self, Z: Any) -> Array:
        """Return the metric of the manifold at points of the latent space.

        A small step ``dz`` on the map is ``sqrt(dz @ G @ dz)`` long in the data. ``G`` is
        ``J.T @ J``, with the derivative J of ``inverse_transform``.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        ndarray of shape (n_samples, n_components, n_components)
            In squared units of the data per squared unit of the latents. With ``scale``, columns
            are divided by their units first, as in ``reconstruction_error``.

        Examples
        --------
        A map of principal components is equally long in all directions, at all places:

        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> from twofold.maps import LinearMap
        >>> model = TwoWay("pca", up=LinearMap(), down=LinearMap()).fit(load_iris().data)
        >>> G = model.metric_tensor([[0.0, 0.0]])
        >>> abs(G / G[0, 0, 0]).round(3)
        array([[[1., 0.],
                [0., 1.]]])
        """
        latents, dtype = self._checked_latents(Z, "metric_tensor")
        return cast_back(metric_tensor(self, latents), dtype)

    def stretch(self, Z: Any, X: Any = None) -> Stretch:
        """Return how much the map is stretched, and where it is torn or folded.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        X : array-like of shape (n_samples, n_features), default=None
            The rows whose latents these are, at least eleven. With them the result also has
            ``overlap``: whether rows that are neighbors on the map are neighbors in the data.

        Returns
        -------
        Stretch
            Singular values and directions, and for each place whether the map is torn or folded
            there, with the rules that decide.

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(300, random_state=0)
        >>> model = TwoWay("isomap", random_state=0).fit(X)
        >>> found = model.stretch(model.embedding_, X)
        >>> found.singular_values.shape, bool(found.is_tear.mean() < 0.05)
        ((300, 2), True)
        """
        latents, _ = self._checked_latents(Z, "stretch")
        found = stretch_at(self, latents)
        if X is None:
            return found
        rows, _ = self._rows(X)
        _check_pairs("X", rows.shape[0], "Z", len(latents))
        units = self._data_units
        if not issparse(rows):
            rows = without_gaps(cast("TwoWayEstimator", self), rows)
        elif not isinstance(units, AffineUnits):
            rows = rows.toarray()
        return with_overlap(self, found, units.into(rows))

    def geodesic(self, Za: Any, Zb: Any, n_points: int = 20) -> Array:
        """Return shortest paths on the manifold between latents.

        A path is as short as possible in the data and stays where the training rows are: where
        they are sparser than at all but a tenth of them, a step counts as longer. Decode a path by
        ``inverse_transform`` for a morph. On circular domains paths go round the shorter way, and
        their latents may pass from 1 to -1.

        Parameters
        ----------
        Za, Zb : array-like of shape (n_paths, n_components)
            Latents where the paths begin and end. One of them may have a single row.
        n_points : int, default=20
            Points of each path, with both ends. They are equally far apart in the data.

        Returns
        -------
        ndarray of shape (n_paths, n_points, n_components)
            A path does not depend on the others.

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(200, random_state=0)
        >>> model = TwoWay("isomap", n_components=1, random_state=0).fit(X)
        >>> path = model.geodesic(model.transform(X[:1]), model.transform(X[1:2]), n_points=5)
        >>> path.shape, model.inverse_transform(path[0]).shape
        ((1, 5, 1), (5, 2))
        """
        start, dtype = self._checked_latents(Za, "geodesic", "Za")
        end, _ = self._checked_latents(Zb, "geodesic", "Zb")
        n_points = check_int("n_points", n_points, low=2)
        if 1 not in (len(start), len(end)):
            _check_pairs("Za", len(start), "Zb", len(end))
        start, end = np.broadcast_arrays(start, end)
        return cast_back(Roads.of(self).paths(start, end, n_points), dtype)

    def _checked_latents(self, Z: Any, method: str, name: str = "Z") -> tuple[Array, Any]:
        """Return latents that are in memory, checked, and the type of results."""
        check_is_fitted(self)
        if is_dask(Z):
            raise TypeError(
                f"{name} is a Dask collection, which {method} does not take: pass "
                f"{name}.compute(), or its blocks one by one."
            )
        return check_latents(Z, self._n_features_out, owner=type(self).__name__)


def _check_pairs(first: str, n_first: int, second: str, n_second: int) -> None:
    """Raise an error if two arguments have different numbers of rows."""
    if n_first != n_second:
        raise ValueError(
            f"{first} has {n_first} rows, but {second} has {n_second}: each row of {first} belongs "
            f"to the same row of {second}. Pass equally many."
        )
