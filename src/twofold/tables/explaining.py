"""Explanations of tables in terms of the columns of the frame.

A category has one encoded column for each level; they are one feature, and their squared effects
add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.base.explaining import (
    check_enough,
    explained_difference,
    explained_path,
    explained_rows,
)
from twofold.explaining.reference import SCALE
from twofold.explaining.results import DifferenceExplanation, Explanation, PathExplanation
from twofold.numerics.validation import check_real
from twofold.protocols import AnyArray, Array, IntArray
from twofold.tables.cells import from_days
from twofold.tables.columns import CategoryColumn, OrderedColumn

if TYPE_CHECKING:
    from twofold.tables.layout import TableLayout


class ExplainTableMixin:
    """Adds `explain`, `explain_path` and `explain_difference` to `TableMap`."""

    model_: Any
    layout_: TableLayout

    if TYPE_CHECKING:

        def _encoded(self, X: Any) -> Array: ...

    def explain(self, X: Any, *, scale: float = SCALE) -> Explanation:
        """Find the columns of the frame that move each row's position on the map.

        See `TwoWayEstimator.explain`. A category is one feature. Spreads are in encoded units,
        where each column has a spread of about 1.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows to explain.
        scale : float, default=0.25
            The width of the neighborhood, see `TwoWayEstimator.explain`.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> sorted(table.explain(frame).to_frame().feature)
        ['a', 'b']
        """
        encoded = self._encoded(X)
        scale = check_real("scale", scale, low=0.0)
        names, features = _features(self.layout_)
        rows = self.model_._rows(encoded)[0]
        return explained_rows(self.model_, rows, scale, names, features)

    def explain_path(self, Z: Any, *, scale: float = SCALE) -> PathExplanation:
        """Find the columns of the frame that change along a path on the map.

        See `TwoWayEstimator.explain_path`.

        Parameters
        ----------
        Z : array-like of shape (n_points, n_components)
            The places of the path in order, at least two.
        scale : float, default=0.25
            The width of the smoothing, see `TwoWayEstimator.explain_path`.

        Returns
        -------
        PathExplanation

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> path = np.linspace(table.embedding_[0], table.embedding_[-1], 9)
        >>> table.explain_path(path).decoded.b.iloc[[0, -1]].tolist()
        ['low', 'top']
        """
        check_is_fitted(self)
        scale = check_real("scale", scale, low=0.0)
        names, features = _features(self.layout_)

        def decode(latents: Array) -> Any:
            return self.layout_.back(self.model_._decode_all(latents))

        return explained_path(self.model_, Z, scale, names, features, decode)

    def explain_difference(self, A: Any, B: Any, *, level: float = 0.95) -> DifferenceExplanation:
        """Find the columns of the frame that separate two selections of rows on the manifold.

        See `TwoWayEstimator.explain_difference`. Of a category, the difference is the length of
        that of its levels' indicators, over the spread of the category.

        Parameters
        ----------
        A, B : data frame or array-like of shape (n_samples, n_features)
            The rows of the selections, at least two each.
        level : float, default=0.95
            The level of the intervals, between 0 and 1.

        Returns
        -------
        DifferenceExplanation

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> found = table.explain_difference(frame[:20], frame[20:])
        >>> found.mean_a[1], found.mean_b[1]
        ('low', 'top')
        """
        check_is_fitted(self)
        level = check_real("level", level, below=1.0)
        pair = (self.model_._rows(self._encoded(A))[0], self.model_._rows(self._encoded(B))[0])
        for name, rows in zip("AB", pair, strict=True):
            check_enough(name, rows)
        names, features = _features(self.layout_)

        def shown(encoded: Array) -> AnyArray:
            return _values(self.layout_, encoded)

        return explained_difference(self.model_, pair, level, names, features, shown)


def _features(layout: TableLayout) -> tuple[tuple[str, ...], IntArray]:
    """Return the names of the columns that vary, in the order of the frame.

    The second result is the number of the feature of each encoded column.
    """
    places = _places(layout)
    varying = [column for column in layout.columns if column.width]
    names = sorted((column.name for column in varying), key=places.__getitem__)
    own = [names.index(column.name) for column in varying]
    features = np.repeat(own, [column.width for column in varying])
    return tuple(names), features.astype(np.intp)


def _places(layout: TableLayout) -> dict[str, int]:
    """Return the place of each column of the layout in the frame, of groups that of the first."""
    order = {str(name): place for place, name in enumerate(layout.names)}
    return {
        column.name: min(order[name] for name in column.members or (column.name,))
        for column in layout.columns
    }


def _values(layout: TableLayout, encoded: Array) -> AnyArray:
    """Return the values of the columns that vary for one encoded row (width,)."""
    found: dict[str, Any] = {}
    for column, block in layout.blocks(encoded[None]):
        if not column.width:
            continue
        decoded = float(column.decode(block)[0])
        found[column.name] = decoded
        if isinstance(column, CategoryColumn | OrderedColumn):
            place = int(np.flatnonzero(column.points == decoded)[0])
            found[column.name] = column.labels[place]
        elif column.kind == "date":
            found[column.name] = str(from_days(np.array([decoded]), "datetime64[s]")[0])[:10]
    return np.array([found[name] for name in _features(layout)[0]], dtype=object)
