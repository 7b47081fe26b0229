"""Agreement of a map with class labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from twofold.metrics._checks import check, exponent_of
from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.neighbors import nearest


def nearest_neighbor_accuracy(
    Z_train: ArrayLike, y_train: ArrayLike, Z_test: ArrayLike, y_test: ArrayLike
) -> float:
    """Return the share of test samples whose nearest training sample has their label.

    Parameters
    ----------
    Z_train : array-like of shape (n_train, n_components)
        Latents (or data) with known labels.
    y_train : array-like of shape (n_train,)
        Their labels.
    Z_test : array-like of shape (n_test, n_components)
        Latents to classify.
    y_test : array-like of shape (n_test,)
        Their true labels.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from twofold.metrics import nearest_neighbor_accuracy
    >>> Z, y = [[0.0], [1.0], [5.0]], ["a", "a", "b"]
    >>> nearest_neighbor_accuracy(Z, y, [[0.4], [4.0], [2.0], [9.0]], ["a", "b", "b", "b"])
    0.75
    """
    train, test = check("Z_train", Z_train), check("Z_test", Z_test)
    known = np.asarray(as_numpy(y_train, "y_train"))
    true = np.asarray(as_numpy(y_test, "y_test"))
    check_consistent_length(train, known)
    check_consistent_length(test, true)
    exponent = exponent_of(train, test)
    shift = np.median(np.ldexp(train, -exponent), axis=0)
    train, test = (np.ldexp(points, -exponent) - shift for points in (train, test))
    found, _ = nearest(train, test, 1)
    return float(np.mean(known[found[:, 0]] == true))
