"""Fitted models show their explorer page in a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class ExploreMixin:
    """Adds `explore` to models that have an explorer page."""

    def explore(
        self, X: Any, y: Any = None, *, labels: Any = None, table: Any = None, **options: Any
    ) -> Any:
        """Show the explorer of the model in a notebook.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to show, of the training data or others.
        y : array-like of shape (n_samples,), default=None
            Their labels or values, which set the initial colors.
        labels : array-like of shape (n_samples,) or str, default=None
            The same by another name, or the name of a column of ``table`` or X.
        table : data frame of shape (n_samples, n_columns), default=None
            The rows that ``selection()`` of the widget returns; None means X.
        **options
            Further parameters of `twofold.export.explorer.show`, such as ``title``, ``columns``,
            ``image_shape``, ``max_points`` and ``height``.

        Returns
        -------
        anywidget.AnyWidget, or an object with ``_repr_html_``
            See `twofold.export.explorer.show`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import TwoWay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = TwoWay("pca", up="nw", down="nw").fit(X)
        >>> model.explore(X, labels=y, title="Irises").title
        'Irises'
        """
        # A module above this layer, imported only if it is used.
        show = import_module("twofold.export.explorer").show
        return show(self, X, y, labels=labels, table=table, **options)
