"""Unusual rows of a table: those of the model of its encoded columns, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.base.estimator import TwoWayEstimator
from twofold.protocols import AnyArray, Array
from twofold.tables.layout import TableLayout


class TableTrustMixin:
    """Adds ``outlier_scores`` and ``predict_outlier`` to a map of a table."""

    model_: TwoWayEstimator
    layout_: TableLayout

    if TYPE_CHECKING:

        def _encoded(self, X: Any) -> Array: ...

    def outlier_scores(self, X: Any) -> Array:
        """Return how unusual rows are: ``-log10`` of a p-value, higher for stranger rows.

        See `TwoWayEstimator.outlier_scores`. Missing values do not count, nor levels that the fit
        has not seen.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> usual, strange = table.outlier_scores(pd.DataFrame({"a": [5, 35], "b": "low"}))
        >>> bool(usual < strange)
        True
        """
        return self.model_.outlier_scores(self._encoded(X))

    def predict_outlier(self, X: Any, level: float = 0.05) -> AnyArray:
        """Flag rows whose p-value is at most a level.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.
        level : float, default=0.05
            The share of false alarms among rows like those of the fit.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True for outliers.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.predict_outlier(pd.DataFrame({"a": [5, 35], "b": "low"}))
        array([False,  True])
        """
        return self.model_.predict_outlier(self._encoded(X), level)

    def _strangeness(self, X: Any) -> tuple[list[str], Array]:
        """Return the columns' names, and how far each cell is off the manifold (n, n_columns).

        In usual deviations; of categories the largest one of their indicators.
        """
        whitened = np.abs(self.model_._whitened(self._encoded(X)))
        found = [
            (column.name, block.max(axis=1))
            for column, block in self.layout_.blocks(whitened)
            if column.width
        ]
        return [name for name, _ in found], np.column_stack([values for _, values in found])
