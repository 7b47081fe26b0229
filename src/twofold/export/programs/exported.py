"""Models that can be exported, and the steps between their columns and the caller's.

Exports know two-way estimators, which map rows of numbers to latents and back. `exported` finds the
estimator inside other models and returns what surrounds it: steps from the caller's columns to the
estimator's, and back. To export another kind of model, add a function to `_KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.base.estimator import TwoWayEstimator
from twofold.base.gaps import imputed
from twofold.export.programs.steps import Encoded, Flat, Step
from twofold.numerics.validation import check_data
from twofold.pipelines import model_of
from twofold.protocols import Array
from twofold.tables import TableMap
from twofold.tables.layout import TableLayout


@dataclass(frozen=True)
class Exported:
    """A two-way estimator and the columns that callers see.

    Attributes
    ----------
    name : str
        The name of the caller's model.
    model : TwoWayEstimator
        The fitted estimator.
    read : callable
        Turns the caller's rows into rows (n, D) for the estimator; gaps are NaN.
    names : list of str or None
        Names of the columns that ``back`` returns.
    into, back : tuple of Step
        From the caller's columns (n, D') to the estimator's (n, D), and back.
    layout : TableLayout or None
        The columns of a table.
    """

    name: str
    model: TwoWayEstimator
    read: Callable[[Any], Array]
    names: list[str] | None = None
    into: tuple[Step, ...] = ()
    back: tuple[Step, ...] = ()
    layout: TableLayout | None = None

    @property
    def n_columns(self) -> int:
        """Return the number of the caller's columns."""
        return self.model.n_features_in_ if self.names is None else len(self.names)

    def encode(self, rows: Array, **options: Any) -> Array:
        """Return the latents of rows in the caller's columns."""
        return self.model._encode(_applied(self.into, rows), **options)

    def decode(self, latents: Array) -> Array:
        """Return the caller's columns of latents."""
        return self.show(self.model._decode(latents))

    def latents(self, rows: Array) -> Array:
        """Return the latents of rows of the estimator's columns, which may have gaps."""
        return self.model._encode(rows)

    def complete(self, rows: Array) -> Array:
        """Return rows of the estimator's columns with their gaps filled."""
        return imputed(self.model, rows)[0] if np.isnan(rows).any() else rows

    def show(self, rows: Array) -> Array:
        """Return the caller's columns of rows in the estimator's."""
        return _applied(self.back, rows)


def exported(model: Any) -> Exported:
    """Return the estimator inside a fitted model, and the columns around it.

    Parameters
    ----------
    model : object
        A fitted two-way estimator, `twofold.TableMap`, or pipeline that `twofold.from_pipeline`
        takes.

    Raises
    ------
    TypeError
        If the model is neither.
    """
    model = model_of(model)
    for kind, found in _KINDS.items():
        if isinstance(model, kind):
            check_is_fitted(model)
            return found(model)
    raise TypeError(
        f"{type(model).__name__} is not a two-way estimator of twofold: exports need a fitted "
        "model with both maps, such as UKR, DRUR or TableMap. Wrap other embeddings in "
        "twofold.TwoWay."
    )


def _applied(steps: tuple[Step, ...], rows: Array) -> Array:
    return reduce(lambda some, step: step(some), steps, rows)


def _estimator(model: TwoWayEstimator) -> Exported:
    inner = model._unwrapped
    names = getattr(inner, "feature_names_in_", None)
    return Exported(
        type(inner).__name__,
        inner,
        lambda X: check_data(inner, X, reset=False, gaps=True)[0],
        None if names is None else [str(name) for name in names],
    )


def _table(model: TableMap) -> Exported:
    layout = model.layout_
    # Other columns have no logarithm, and a floor that changes nothing.
    floors = layout._each(lambda column: getattr(column, "floor", 1.0) or 1.0)
    arrays = (layout.scale, layout.center, layout.offset, floors, layout.log, layout.group)
    return Exported(
        type(model).__name__,
        model.model_._unwrapped,
        model._encoded,
        list(layout.flat_names),
        (Encoded(*arrays),),
        (Flat(*arrays),),
        layout,
    )


_KINDS: dict[type, Callable[[Any], Exported]] = {TwoWayEstimator: _estimator, TableMap: _table}
