"""Errors of rows decoded at places that were not searched for them: near by, not exact.

A map whose neighborhoods are smooth decodes places beside a latent to rows much like it. A rough
one decodes only the exact places well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold.metrics._checks import check
from twofold.metrics._judged_model import JudgedModel, TwoWayMap, check_width
from twofold.numerics.neighbors import nearest
from twofold.numerics.validation import RandomLike, check_int, check_not_negative, check_rng


def neighbor_placement_error(
    model: TwoWayMap,
    X: Any,
    X_train: ArrayLike,
    n_neighbors: int = 3,
    *,
    latents: ArrayLike | None = None,
    reference: ArrayLike | None = None,
) -> float:
    """Return the relative error of rows decoded at the mean latent of their data neighbors.

    The neighbors of a held-out row are its nearest training rows in the data. Nothing is searched
    for in latent space, so a good result needs a map on which neighbors lie together. On circular
    latents the mean of angles is not an angle between them: there the error is too high.

    Parameters
    ----------
    model : object with ``transform`` and ``inverse_transform``
        A fitted two-way model, or a pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        Held-out data.
    X_train : array-like of shape (n_train, n_features)
        The training data, row by row as in ``latents``.
    n_neighbors : int, default=3
        Number of neighbors, at most ``n_train``.
    latents : array-like of shape (n_train, n_components), default=None
        Latents of the training rows; None means ``model.embedding_``.
    reference : array-like of shape (n_reference, n_features), default=None
        The data whose variance is the unit; None means ``X``.

    Returns
    -------
    float
        See `relative_reconstruction_error`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.metrics import neighbor_placement_error
    >>> X = load_iris().data
    >>> model = TwoWay("pca", up="nw", down="nw").fit(X[::2])
    >>> neighbor_placement_error(model, X[1::2], X[::2]) < 0.1
    True
    """
    judged = JudgedModel.of(model, X, latents, reference)
    train = check("X_train", X_train)
    check_width("X_train", train, judged.data)
    if len(train) != len(judged.latents):
        raise ValueError(
            f"X_train has {len(train)} rows, but the model has latents of {len(judged.latents)}: "
            "pass the rows it was fitted to, or their latents."
        )
    check_int("n_neighbors", n_neighbors, high=len(train))
    train = np.ldexp(train, -judged.data_exponent)
    shift = np.median(train, axis=0)
    found = nearest(train - shift, judged.data - shift, n_neighbors)[0]
    return judged.error_at(judged.latents[found].mean(axis=1))


def jitter_error(
    model: TwoWayMap,
    X: Any,
    *,
    scale: float = 1.0,
    n_repeats: int = 5,
    latents: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    random_state: RandomLike = 0,
) -> float:
    """Return the relative error of rows whose latents were moved by a typical spacing.

    The spacing is the median distance from a training latent to the nearest other one. Normal noise
    with ``scale`` times this standard deviation is added to each latent coordinate.

    Parameters
    ----------
    model : object with ``transform`` and ``inverse_transform``
        A fitted two-way model, or a pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        Held-out data.
    scale : float, default=1.0
        Standard deviation of the noise in spacings; 0 gives the plain error.
    n_repeats : int, default=5
        Number of draws of the noise; the errors are averaged.
    latents : array-like of shape (n_train, n_components), default=None
        Latents of at least two training rows; None means ``model.embedding_``.
    reference : array-like of shape (n_reference, n_features), default=None
        The data whose variance is the unit; None means ``X``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the noise.

    Returns
    -------
    float
        See `relative_reconstruction_error`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.metrics import jitter_error
    >>> X = load_iris().data
    >>> model = TwoWay("pca", up="nw", down="nw").fit(X[::2])
    >>> jitter_error(model, X[1::2], scale=0.0) < jitter_error(model, X[1::2])
    True
    """
    judged = JudgedModel.of(model, X, latents, reference)
    scale = check_not_negative("scale", scale)
    check_int("n_repeats", n_repeats)
    if len(judged.latents) < 2:
        raise ValueError("latents has 1 row: a spacing needs at least 2 training latents.")
    spacing = float(np.median(np.sqrt(nearest(judged.latents, None, 1)[1])))
    rng = check_rng(random_state)
    noises = (rng.standard_normal(judged.others.shape) for _ in range(n_repeats))
    errors = [judged.error_at(judged.others + scale * spacing * noise) for noise in noises]
    return float(np.mean(errors))
