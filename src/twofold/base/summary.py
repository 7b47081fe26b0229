"""What a fitted model says about itself: method, rows, columns, latents and score, and a map."""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

from twofold.base.small_map import map_of
from twofold.numerics.affine_units import AffineUnits


class SummaryMixin:
    """Adds a line about the fit, and a small map in HTML, to a fitted two-way estimator."""

    @property
    def _unwrapped(self) -> Any:
        """The estimator that has the maps: an estimator that chooses others returns the chosen."""
        return self

    def _known_score(self) -> tuple[float, str] | None:
        """Return the share of the variance that the fit knows to be kept, and of which rows."""
        return None

    def _reported_score(self) -> tuple[float, str] | None:
        """Return the known score, unless the fit has not seen all of the variance.

        What a fit knows about images of the data, such as their leading subspace, says nothing
        about what these leave out.
        """
        inside = isinstance(getattr(self._unwrapped, "_data_units", None), AffineUnits)
        return None if inside else self._known_score()

    def _summary(self) -> str:
        """Return one line about a fitted model."""
        model: Any = self
        rows, columns, latents = len(model.embedding_), model.n_features_in_, model._n_features_out
        method = self._unwrapped
        compression = getattr(method, "compression_", None)
        rows = rows if compression is None else compression.n_rows
        what = "" if method is self else f"{type(method).__name__}, "
        size = f"{rows:,} rows of " if rows else ""  # rows beyond memory have no embedding
        text = f"fitted: {what}{size}{_counted(columns, 'column')} to {_counted(latents, 'latent')}"
        if compression is not None:
            return f"{text}, compressed to {_counted(compression.n_prototypes, 'prototype')}"
        known = self._reported_score()
        return text if known is None else f"{text}, score {known[0]:.6g} ({known[1]})"

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        model: Any = super()
        text: str = model.__repr__(N_CHAR_MAX)
        return f"{text}\n  {self._summary()}" if self._has_been_fitted() else text

    def _repr_html_inner(self) -> str:
        diagram: str = estimator_html_repr(self)
        if not self._has_been_fitted():
            return diagram
        summary = f'<div class="twofold-summary">{escape(self._summary())}</div>'
        return f"{summary}{map_of(self)}{diagram}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:  # noqa: ARG002 - IPython's
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _has_been_fitted(self) -> bool:
        model: Any = self
        return bool(model.__sklearn_is_fitted__())


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
