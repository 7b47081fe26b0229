r"""Fitted maps without some of their training rows, at fixed bandwidths, ridges and latents.

* A Nadaraya-Watson regression forgets rows by dropping them.
* A map that is linear in features, ``f(z) = phi(z) W + b``, solves a ridge regression with the
  matrix :math:`A = \Phi^T \Phi + \alpha G`. Without the rows S its weights are

  .. math:: W_{-S} = W - A^{-1} \Phi_S^T (I - H_{SS})^{-1} R_S,
            \qquad H = \Phi A^{-1} \Phi^T, \quad R = Y - \Phi W

  (Sherman, Morrison and Woodbury). If only m of n training rows are known, their
  :math:`\Phi^T \Phi` counts n / m times.
* A projection projects onto the map that has forgotten the rows.

Maps that are made of others forget rows by a method ``without_fold(maps, fold)`` of their own.
Other maps stay as they are: their residuals are those of training rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from twofold.maps import NadarayaWatson
from twofold.maps.affine import Affine, Chain, Predictor
from twofold.maps.features import LinearInFeatures
from twofold.maps.projection import Projection
from twofold.maps.ridge import SMALLEST_REST, RidgePath
from twofold.numerics.factor_model import BoolArray
from twofold.protocols import Array, IntArray

SAME = 1e-6
"""Distance below which inputs are the same, as a share of the largest: rows are kept in single
precision."""

COMPUTED = ("_neighbors", "_local", "_index", "_centered_images")
"""What maps compute at first use."""


@dataclass(frozen=True)
class KnownRows:
    """Training rows that are known, and their latents.

    Attributes
    ----------
    data : ndarray of shape (m, D)
        The rows, in centered units.
    latents : ndarray of shape (m, q)
        Their latents, in the units of the maps.
    folds : ndarray of shape (n,)
        The fold of each training row, known or not.
    numbers : ndarray of shape (m,)
        The numbers of the known rows among the training rows.
    """

    data: Array
    latents: Array
    folds: IntArray
    numbers: IntArray

    @property
    def own_folds(self) -> IntArray:
        """The folds (m,) of the known rows."""
        found: IntArray = self.folds[self.numbers]
        return found

    @property
    def in_order(self) -> bool:
        """Whether each number stands for one row of the fit: not after a fit with weights."""
        return bool((np.diff(self.numbers) > 0).all())

    @property
    def share(self) -> float:
        """The share of the training rows that is known."""
        return min(1.0, len(self.numbers) / len(self.folds))


class ForgetfulMaps:
    """The maps of a model, which can be had without the rows of a fold."""

    def __init__(self, encoder: Any, decoder: Any, known: KnownRows) -> None:
        self.encoder, self.decoder, self.known = encoder, decoder, known
        self._paths: dict[int, RidgePath] = {}

    def without(self, fold: int) -> tuple[Predictor, Predictor]:
        """Return encoder and decoder without the rows of a fold."""
        known = self.known
        encoder: Predictor = self._encoder(self.encoder, known.data, fold)
        if hasattr(self.decoder, "without_fold"):
            decoder: Predictor = self.decoder.without_fold(self, fold)
            return encoder, decoder
        return encoder, self.lowered(self.decoder, known.latents, known.data, fold)

    def _encoder(self, encoder: Any, data: Array, fold: int) -> Any:
        if isinstance(encoder, Chain):
            first, *others = encoder.maps
            if isinstance(first, Affine) and len(others) == 1:
                return Chain((first, self._encoder(others[0], first.into(data), fold)))
            return encoder
        if isinstance(encoder, Projection):
            return self.projection(encoder, data, fold)
        if hasattr(encoder, "without_fold"):
            return encoder.without_fold(self, fold)
        return self.lowered(encoder, data, self.known.latents, fold)

    def projection(self, projection: Projection, data: Array, fold: int) -> Projection:
        """Return a projection onto the map without the rows of a fold."""
        known = self.known
        made: Projection = _emptied(projection)
        made.decoder = self.lowered(projection.decoder, known.latents, data, fold)
        if projection.guess is not None:
            made.guess = self.lowered(projection.guess, data, known.latents, fold)
        kept = _apart(projection.latents_, known.latents[known.own_folds == fold])
        if kept.any() and not kept.all():
            made.latents_, made.images_ = projection.latents_[kept], projection.images_[kept]
        return made

    def lowered(self, one: Any, inputs: Array, targets: Array, fold: int) -> Any:
        """Return a map from inputs (m, p) to targets (m, r) without the rows of a fold."""
        if isinstance(one, NadarayaWatson):
            kept = self.kept(one.inputs_, inputs, fold)
            if kept.all() or not kept.any():
                return one
            shorter: NadarayaWatson = _emptied(one)
            shorter.inputs_, shorter.targets_ = one.inputs_[kept], one.targets_[kept]
            return shorter
        if isinstance(one, LinearInFeatures):
            return self._with_other_weights(one, inputs, targets, fold)
        return one

    def kept(self, stored: Array, inputs: Array, fold: int) -> BoolArray:
        """Return which of the inputs that a regression has stored (n, p) are not of a fold.

        They are in the order of the training rows, except after a fit with weights, which repeats
        rows. Then they are found by their values.
        """
        known = self.known
        if known.in_order and len(stored) == len(known.folds):
            other: BoolArray = known.folds != fold
            return other
        return _apart(stored, inputs[known.own_folds == fold])

    def _with_other_weights(self, one: Any, inputs: Array, targets: Array, fold: int) -> Any:
        """Return a map linear in features with the weights of the other rows."""
        share, rows = self.known.share, np.flatnonzero(self.known.own_folds == fold)
        path = self._path(one, inputs)
        if hasattr(one, "ridge"):
            alpha = share * float(one.ridge(len(self.known.folds)))
        else:
            alpha = share * float(getattr(one, "alpha_", getattr(one, "alpha", 0.0)))
        shrink = share / (path.spectrum + path.floored(alpha) + np.finfo(np.float64).tiny)
        scores = path.scores[rows]
        hat = (scores * shrink) @ scores.T
        if path.intercept:
            hat += share / len(inputs)
        residuals = targets[rows] - one.predict(inputs[rows])
        values, vectors = np.linalg.eigh(np.eye(len(rows)) - hat)
        rest = vectors @ ((vectors.T @ residuals) / np.maximum(values, SMALLEST_REST)[:, None])
        change = path.to_weights @ (shrink[:, None] * (scores.T @ rest))
        made = copy(one)
        made.weights_ = one.weights_ - change
        if path.intercept:
            moved = share / len(inputs) * rest.sum(axis=0)
            made.intercept_ = one.intercept_ - moved + path.feature_mean @ change
        return made

    def _path(self, one: Any, inputs: Array) -> RidgePath:
        """Return the factors of a map's ridge regression; they do not depend on the targets."""
        if id(one) not in self._paths:
            features, centers = one.features(inputs), getattr(one, "centers_", None)
            if hasattr(one, "gram"):
                gram = one.gram()
            else:
                gram = np.eye(features.shape[1]) if centers is None else one.features(centers)
            self._paths[id(one)] = RidgePath.of(
                features, np.zeros((len(inputs), 1)), gram, intercept=bool(np.any(one.intercept_))
            )
        return self._paths[id(one)]


def _apart(stored: Array, own: Array) -> BoolArray:
    """Return which of the inputs that a map has stored (n, p) are none of some others (m, p).

    Latents that were moved into another frame and back are the same up to rounding.
    """
    if not len(own):
        return np.ones(len(stored), dtype=np.bool_)
    distances, _ = cKDTree(own).query(stored)
    scale = float(np.abs(stored).max(initial=0.0))
    apart: BoolArray = distances > SAME * scale
    return apart


def _emptied(one: Any) -> Any:
    """Return a copy without what it computed at first use."""
    made = copy(one)
    for name in COMPUTED:
        made.__dict__.pop(name, None)
    return made
