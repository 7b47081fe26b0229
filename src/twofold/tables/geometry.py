"""The geometry of a table's map: that of the model of its encoded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from twofold.base.estimator import TwoWayEstimator
from twofold.manifold_geometry import Stretch
from twofold.protocols import Array


class TableGeometryMixin:
    """Adds ``metric_tensor``, ``stretch`` and ``geodesic`` to a map of a table."""

    model_: TwoWayEstimator

    if TYPE_CHECKING:

        def _encoded(self, X: Any) -> Array: ...

    def metric_tensor(self, Z: Any) -> Array:
        """Return the metric of the manifold at points of the latent space.

        See `TwoWayEstimator.metric_tensor`. One unit of the data is the spread of one column.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        ndarray of shape (n_samples, n_components, n_components)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.metric_tensor(table.embedding_).shape
        (40, 1, 1)
        """
        check_is_fitted(self)
        return self.model_.metric_tensor(Z)

    def stretch(self, Z: Any, X: Any = None) -> Stretch:
        """Return how much the map is stretched, and where it is torn or folded.

        See `TwoWayEstimator.stretch`. One unit of the data is the spread of one column.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        X : data frame or array-like of shape (n_samples, n_features), default=None
            The rows whose latents these are.

        Returns
        -------
        Stretch

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.stretch(table.embedding_, frame).overlap.shape
        (40,)
        """
        check_is_fitted(self)
        return self.model_.stretch(Z, None if X is None else self._encoded(X))

    def geodesic(self, Za: Any, Zb: Any, n_points: int = 20) -> Array:
        """Return shortest paths on the manifold between latents.

        See `TwoWayEstimator.geodesic`. ``inverse_transform`` of a path is a table.

        Parameters
        ----------
        Za, Zb : array-like of shape (n_paths, n_components)
            Latents where the paths begin and end. One of them may have a single row.
        n_points : int, default=20
            Points of each path, with both ends.

        Returns
        -------
        ndarray of shape (n_paths, n_points, n_components)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> path = table.geodesic(table.embedding_[:1], table.embedding_[-1:], n_points=3)
        >>> table.inverse_transform(path[0]).b.tolist()[::2]
        ['low', 'top']
        """
        check_is_fitted(self)
        return self.model_.geodesic(Za, Zb, n_points)
