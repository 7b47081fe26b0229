"""Latents of training rows, each predicted by the map of the other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from scipy.sparse import issparse

from twofold.base.gaps import without_gaps
from twofold.base.sparse_inputs import in_subspace
from twofold.base.weighted_fit import of_fitted_rows
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


class _LeaveOneOut(Protocol):
    """A map that predicts each training row without it."""

    def leave_one_out(self, inputs: Array, targets: Array) -> Array: ...


def left_out_latents(model: TwoWayEstimator, data: Any, sample_weight: Any) -> Array:
    """Return the latents (n, q) of the checked training rows, dense or sparse."""
    if issparse(data):
        model, data = in_subspace(model, data)
    encoder, complete = cast(_LeaveOneOut, model.encoder_), without_gaps(model, data)

    def left_out(rows: IntArray | slice) -> Array:
        inputs = model._data_units.into(complete[rows])
        targets = model._latent_units.into(model.embedding_[rows])
        with model._threads():
            return model._latent_units.back(encoder.leave_one_out(inputs, targets))

    return of_fitted_rows(model, complete, sample_weight, left_out)
