"""Agreement with a known truth, up to a similarity.

After the best shift, rotation or reflection, and scale of the embedding onto the truth,
``R^2 = 1 - residual / total``. With both centered, ``c = |T^T E|_* / (|T| |E|)`` their cosine
(nuclear norm over Frobenius norms) and ``rho = |E| / |T|``, the best rotation leaves
``R^2 = 2 c rho - rho^2``, and the best scale besides, ``c / rho``, leaves ``R^2 = c^2``.

References
----------
* P. H. Schönemann and R. M. Carroll. Fitting one matrix to another under choice of a central
  dilation and a rigid motion. *Psychometrika* 35(2), 1970.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from twofold.metrics._checks import centered, check, exponent_of


def procrustes_r2(truth: ArrayLike, embedding: ArrayLike, *, scaling: bool = True) -> float:
    """Return the share of the truth's variance that an embedding explains, up to a similarity.

    Parameters
    ----------
    truth : array-like of shape (n_samples, n_parameters)
        True parameters.
    embedding : array-like of shape (n_samples, n_components)
        Latents. If the widths differ, the narrower array is padded with columns of zeros.
    scaling : bool, default=True
        Whether the alignment may scale the embedding, besides shifting, rotating and reflecting.

    Returns
    -------
    float
        At most 1, which means equal up to the alignment; at least 0 with ``scaling``. A constant
        truth gives 1 if the aligned embedding is equal to it and minus infinity otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import procrustes_r2
    >>> truth = np.random.default_rng(0).uniform(size=(100, 2))
    >>> [round(procrustes_r2(truth, Z), 1) for Z in (3.0 - 5.0 * truth, truth[:, :1])]
    [1.0, 0.5]
    """
    target, source = check("truth", truth), check("embedding", embedding)
    check_consistent_length(target, source)
    # Without scaling the two must keep their common unit.
    exponent = None if scaling else exponent_of(target, source)
    target = centered(target, exponent_of(target) if exponent is None else exponent)
    source = centered(source, exponent_of(source) if exponent is None else exponent)
    total, spread = float(np.linalg.norm(target)), float(np.linalg.norm(source))
    if total == 0:
        return 1.0 if scaling or spread == 0 else -np.inf
    if spread == 0:
        return 0.0
    # Schönemann & Carroll (1970): the best rotation makes the cross product the nuclear norm.
    overlap = np.linalg.svd((target / total).T @ (source / spread), compute_uv=False).sum()
    cosine = min(float(overlap), 1.0)
    ratio = spread / total
    return cosine**2 if scaling else ratio * (2 * cosine - ratio)
