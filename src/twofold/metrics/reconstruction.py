"""Errors of reconstruction and of the round trip through the data space.

``sum_i |x_i - xhat_i|^2 / (n V)`` with ``V`` the total variance: 0 is exact, and 1 is the error of
the mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from twofold.metrics._checks import centered, check, exponent_of
from twofold.metrics._judged_model import TwoWayMap


def relative_reconstruction_error(
    X: ArrayLike, X_reconstructed: ArrayLike, *, reference: ArrayLike | None = None
) -> float:
    """Return the mean squared error of a reconstruction in units of the total variance.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    X_reconstructed : array-like of shape (n_samples, n_features)
        Their reconstructions.
    reference : array-like of shape (n_reference, n_features), default=None
        The data whose variance is the unit, such as the training data if ``X`` is held out; None
        means ``X``.

    Returns
    -------
    float
        0 for an exact reconstruction, 1 for reconstruction by the mean of ``X``. If the reference
        is constant, 0 for an exact reconstruction and infinity for any other.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import relative_reconstruction_error
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> relative_reconstruction_error(X, X), relative_reconstruction_error(X, np.full((3, 1), 2.0))
    (0.0, 1.0)
    """
    data = check("X", X)
    rebuilt = check("X_reconstructed", X_reconstructed)
    unit = data if reference is None else check("reference", reference)
    if rebuilt.shape != data.shape:
        raise ValueError(
            f"X_reconstructed has shape {rebuilt.shape}, but X has shape {data.shape}: pass one "
            "reconstruction for each sample."
        )
    if unit.shape[1] != data.shape[1]:
        raise ValueError(
            f"reference has {unit.shape[1]} features, but X has {data.shape[1]}: pass samples "
            "from the same space."
        )
    exponent = exponent_of(data, rebuilt, unit)
    residual = np.ldexp(data, -exponent) - np.ldexp(rebuilt, -exponent)
    error = float(np.vdot(residual, residual)) / len(data)
    deviation = centered(unit, exponent)
    variance = float(np.vdot(deviation, deviation)) / len(unit)
    if variance == 0:
        return np.inf if error > 0 else 0.0
    return error / variance


def round_trip_error(estimator: TwoWayMap, Z: ArrayLike) -> float:
    """Return the error of decoding latents and encoding the result.

    Parameters
    ----------
    estimator : object with ``transform`` and ``inverse_transform``
        A fitted two-way model.
    Z : array-like of shape (n_samples, n_components)
        Latents.

    Returns
    -------
    float
        The error of ``transform(inverse_transform(Z))`` in units of the variance of ``Z``, see
        :func:`relative_reconstruction_error`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from twofold.metrics import round_trip_error
    >>> model = PCA(2).fit(np.random.default_rng(0).normal(size=(50, 4)))
    >>> round_trip_error(model, [[0.0, 1.0], [1.0, 0.0]]) < 1e-12
    True
    """
    latents = check("Z", Z)
    returned = estimator.transform(np.asarray(estimator.inverse_transform(latents)))
    return relative_reconstruction_error(latents, returned)
