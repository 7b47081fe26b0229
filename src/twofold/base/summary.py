"""What a fitted model says about itself: method, rows, columns, latents and score."""

from __future__ import annotations

from html import escape
from typing import Any, Protocol

from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr


class _Fitted(Protocol):
    """What a summary needs to know of an estimator."""

    embedding_: Any
    n_features_in_: int

    @property
    def _unwrapped(self) -> BaseEstimator: ...

    @property
    def _n_features_out(self) -> int: ...

    def _known_score(self) -> tuple[float, str] | None: ...


def summary(model: _Fitted) -> str:
    """Return one line about a fitted model."""
    rows, columns, latents = len(model.embedding_), model.n_features_in_, model._n_features_out
    method = model._unwrapped
    what = "" if method is model else f"{type(method).__name__}, "
    size = f"{rows:,} rows of " if rows else ""  # rows beyond memory have no embedding
    text = f"fitted: {what}{size}{_counted(columns, 'column')} to {_counted(latents, 'latent')}"
    known = model._known_score()
    return text if known is None else f"{text}, score {known[0]:.6g} ({known[1]})"


def as_html(model: Any, *, fitted: bool) -> str:
    """Return scikit-learn's diagram, for a fitted model under a line about it."""
    diagram: str = estimator_html_repr(model)
    if not fitted:
        return diagram
    return f'<div class="twofold-summary">{escape(summary(model))}</div>{diagram}'


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
