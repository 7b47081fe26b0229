"""The widget class; it exists only where anywidget is installed."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from twofold.export.explorer._notebook import Given


@cache
def explorer_class() -> type[Any] | None:
    """Return the class of the widget, or None if anywidget is not installed."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        return None

    class ExplorerWidget(anywidget.AnyWidget):
        """An explorer page in a notebook; see `twofold.export.explorer.show`.

        ``_rows`` are the selected rows of the page, which may show a sample of all. ``selected``
        are those of the caller and may have rows that are not shown.
        """

        _esm = _static("widget.js")
        _page = traitlets.Unicode().tag(sync=True)
        _title = traitlets.Unicode().tag(sync=True)
        _rows = traitlets.List().tag(sync=True)
        height = traitlets.Int(640).tag(sync=True)
        latent = traitlets.Any(None, allow_none=True).tag(sync=True)
        color = traitlets.Unicode().tag(sync=True)
        tool = traitlets.Unicode("walk").tag(sync=True)
        selected = traitlets.Any()

        def __init__(self, given: Given, **traits: Any) -> None:
            self._given = given
            made = given.made
            super().__init__(
                _page=made.text, _title=made.title, selected=[], color=made.color, **traits
            )

        @property
        def title(self) -> str:
            """The title of the page."""
            return self._given.made.title

        def selection(self) -> Any:
            """Return the selected rows.

            Returns
            -------
            data frame
                Rows of ``table``, or of X if that is a frame.
            (rows, data) : ndarrays of shape (n_selected,) and (n_selected, n_features)
                Their numbers and data, if there is no frame.
            """
            return self._given.taken(np.asarray(self.selected, dtype=np.intp))

        @traitlets.validate("selected")
        def _check_selected(self, proposal: Any) -> list[int]:
            return row_numbers(proposal["value"], self._given.made.n_rows)

        @traitlets.validate("latent")
        def _check_latent(self, proposal: Any) -> tuple[float, ...] | None:
            n_components = self._given.made.found.model._n_features_out
            return latent_numbers(proposal["value"], n_components)

        @traitlets.validate("color")
        def _check_color(self, proposal: Any) -> str:
            return one_of("color", proposal["value"], self._given.made.colors)

        @traitlets.validate("tool")
        def _check_tool(self, proposal: Any) -> str:
            return one_of("tool", proposal["value"], tools())

        @traitlets.observe("selected")
        def _show_selected(self, change: Any) -> None:
            if change["new"] != self._given.of_page(self._rows):
                self._rows = self._given.on_page(change["new"])

        @traitlets.observe("_rows")
        def _take_rows(self, change: Any) -> None:
            # A selection of Python that the page confirms keeps rows which the page does not show.
            if change["new"] != self._given.on_page(self.selected):
                self.selected = self._given.of_page(change["new"])

    return ExplorerWidget


def row_numbers(value: Any, n_rows: int) -> list[int]:
    """Return sorted row numbers of a list of them, or of a truth value for each row."""
    array = np.asarray(value)
    if array.ndim == 1 and array.dtype == bool and len(array) == n_rows:
        return list(np.flatnonzero(array).tolist())
    if array.size == 0:
        return []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"selected must be row numbers, or {n_rows} truth values; got an array of shape "
            f"{array.shape} and type {array.dtype}."
        )
    if array.min() < 0 or array.max() >= n_rows:
        raise ValueError(
            f"selected has row numbers from {array.min()} to {array.max()}; the rows have numbers "
            f"from 0 to {n_rows - 1}."
        )
    return list(np.unique(array).tolist())


def latent_numbers(value: Any, n_components: int) -> tuple[float, ...] | None:
    """Return a latent as a tuple."""
    if value is None:
        return None
    latent = tuple(float(number) for number in np.asarray(value, dtype=np.float64).ravel())
    if len(latent) != n_components or not all(map(math.isfinite, latent)):
        raise ValueError(f"latent={value!r} must be {n_components} finite numbers.")
    return latent


def one_of(name: str, value: str, known: list[str]) -> str:
    """Return a name that the page knows."""
    if value not in known:
        some = ", ".join(map(repr, known[:20]))
        raise ValueError(f"{name}={value!r} is not on the page; there are {some}.")
    return value


def tools() -> list[str]:
    """Return the tools that the page has."""
    return re.findall(r'data-tool="([\w-]+)"', _static("explorer.html"))


def _static(name: str) -> str:
    return (files("twofold.export.explorer") / "static" / name).read_text(encoding="utf-8")
