"""The explorer in a notebook: as a widget, or as a static page if anywidget is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from twofold.export.explorer._write import MadePage, made_page
from twofold.numerics.row_weights import take_rows
from twofold.numerics.validation import check_int
from twofold.protocols import IntArray

HEIGHT = 640
SANDBOX = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
"""What the frame may do: run the page, save files, and open links of rows in other windows."""

MISSING_WIDGET = 'install the extra "widget" (pip install "twofold[widget]") for a live widget'


def show(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    labels: Any = None,
    table: Any = None,
    height: int = HEIGHT,
    **options: Any,
) -> Any:
    """Show the explorer of a fitted model in a notebook.

    With `anywidget <https://anywidget.dev>`_ (extra ``widget``) the result is a widget for
    notebooks, tried in JupyterLab and Marimo. What happens on the page sets its traits, and setting
    a trait changes the page:

    ``selected``
        Numbers of the selected rows of X, a list. A truth value for each row may be assigned, too.
    ``latent``
        The decoded place, a tuple of numbers.
    ``color``
        The name of the column or feature that colors the rows.
    ``tool``
        The tool of the pointer: "walk", "pan", "turn", "path", "box", and others of the page.

    ``widget.selection()`` returns the selected rows, and ``widget.observe(function, "selected")``
    calls a function whenever they change.

    Without anywidget the result shows the same page, which then cannot talk to Python.

    Parameters
    ----------
    estimator : TwoWayEstimator, TableMap or Pipeline
        A fitted model, as for `write`.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to show.
    y : array-like of shape (n_samples,), default=None
        Their labels or values, which set the initial colors.
    labels : array-like of shape (n_samples,) or str, default=None
        The same by another name, or the name of a column of ``table`` or X, which the page then
        shows.
    table : data frame of shape (n_samples, n_columns), default=None
        The rows that ``selection()`` returns; None means X.
    height : int, default=640
        Height in pixels.
    **options
        Further parameters of `write`, such as ``title``, ``columns``, ``image_shape`` and
        ``max_points``. Names in a list of ``columns`` are columns of ``table`` or X.

    Returns
    -------
    anywidget.AnyWidget, or an object with ``_repr_html_``

    Notes
    -----
    The page stays what `write` makes: one document with its own policy. It lies in a frame without
    an origin (``<iframe sandbox srcdoc>``) and exchanges messages with the widget over a channel.
    Mounted directly, its style and its names would mix with those of the notebook, and the policy
    of the notebook, which allows requests, would hold instead of its own.

    The widget contains the rows: who gets a notebook that was saved with the state of its widgets
    can read them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import DRUR
    >>> from twofold.export import explorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DRUR(n_centers=15, init="pca", random_state=0).fit(X)
    >>> widget = explorer.show(model, X, y, title="Irises")
    >>> widget.title
    'Irises'
    """
    check_int("height", height, low=100)
    frame = X if table is None else table
    if y is not None and labels is not None:
        raise ValueError("y and labels are the same: give one of them.")
    columns = _columns(options.pop("columns", None), frame)
    if isinstance(labels, str):
        columns = {labels: _column(frame, labels, "labels")} | columns
    elif labels is not None:
        y = labels
    widget = widget_class()
    host = None if widget is None else "widget"
    made = made_page(estimator, X, y, columns=columns, host=host, **options)
    if table is not None and _n_rows(table) != made.n_rows:
        raise ValueError(f"table has {_n_rows(table)} rows; X has {made.n_rows}.")
    given = Given(made, X, table)
    return StaticExplorer(given, height) if widget is None else widget(given, height=height)


def widget_class() -> type[Any] | None:
    """Return the class of the widget, or None if anywidget is not installed."""
    from twofold.export.explorer import _widget

    return _widget.explorer_class()


@dataclass(frozen=True)
class Given:
    """What a widget is made of: the page, the rows behind it and the table to select from."""

    made: MadePage
    X: Any
    table: Any

    def taken(self, rows: IntArray) -> Any:
        """Return rows as ``selection()`` does."""
        if self.table is not None:
            return take_rows(self.table, rows)
        found = take_rows(self.X, rows)
        return found if hasattr(self.X, "columns") else (rows, found)

    def on_page(self, rows: list[int]) -> list[int]:
        """Return where rows are on the page; those that are not shown are left out."""
        return list(np.flatnonzero(np.isin(self.made.chosen, rows)).tolist())

    def of_page(self, places: list[int]) -> list[int]:
        """Return the rows at places of the page."""
        return list(self.made.chosen[np.asarray(places, dtype=np.intp)].tolist())


class StaticExplorer:
    """The page in a frame, for notebooks without anywidget: it cannot talk to Python."""

    def __init__(self, given: Given, height: int) -> None:
        self.title = given.made.title
        self.height = height
        self._page = given.made.text

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="{SANDBOX}" '
            f'style="display: block; width: 100%; height: {self.height}px; '
            f'box-sizing: border-box; border: 1px solid #8884; border-radius: 6px" '
            f'srcdoc="{escape(self._page)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<page {self.title!r}; {MISSING_WIDGET}>"

    def selection(self) -> Any:
        """Raise an error: a static page cannot tell what is selected."""
        raise RuntimeError(f"A static page cannot tell its selection: {MISSING_WIDGET}.")


def _columns(columns: Any, frame: Any) -> dict[str, Any]:
    """Return columns by name; a list of names takes them from a frame."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return dict(columns)
    return {str(name): _column(frame, name, "columns") for name in columns}


def _column(frame: Any, name: Any, what: str) -> Any:
    names = list(getattr(frame, "columns", ()))
    if name not in names:
        raise ValueError(f"{what}={name!r} is not a column of the table, which has {names}.")
    return frame[name]


def _n_rows(table: Any) -> int:
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)
