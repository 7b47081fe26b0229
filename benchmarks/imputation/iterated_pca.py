"""Regularized iterated PCA: fill the gaps with the principal components of the filled table.

It alternates between the components of the filled table and the gaps that they predict. Singular
values are shrunk by the variance of the rest, as in missMDA (Josse & Husson 2012); SoftImpute
shrinks them by a constant (Mazumder et al. 2010). To choose the rank, some rows lose the cells that
other rows lack, so that hidden cells lie as gaps do; the rank with the lowest error on them is used
for the table.
"""

import numpy as np

RANKS = (1, 2, 3, 5, 8, 12, 20, 32, 50)
CHOOSING = 0.3
"""The share of rows with hidden cells."""
PATIENCE = 2
"""Ranks above the best one that are tried before the search ends."""
MOST_TURNS, TOL = 200, 1e-4
SPARE = 5
"""Directions beyond the rank in the search for the leading components."""


def impute(X):
    """Return a table with its NaN filled, and the rank."""
    rng = np.random.default_rng(0)
    hidden = hidden_cells(np.isnan(X), rng)
    errors, filled = {}, None
    for rank in (one for one in RANKS if one < min(X.shape)):
        filled = _filled(np.where(hidden, np.nan, X), rank, filled, rng)
        errors[rank] = float(np.square(filled - X)[hidden].mean())
        best = min(errors, key=errors.get)
        if sum(one > best for one in errors) >= PATIENCE:
            break
    filled = None
    for rank in (one for one in RANKS if one <= best):
        filled = _filled(X, rank, filled, rng)  # each from the one before
    return filled, best


def hidden_cells(gaps, rng):
    """Return observed cells (n, D) to hide: in some rows those that another row lacks."""
    hidden = gaps[rng.permutation(len(gaps))] & ~gaps
    hidden &= (rng.random(len(gaps)) < CHOOSING)[:, None]
    hidden &= ~(gaps | hidden).all(axis=1)[:, None]
    return hidden & ~(gaps | hidden).all(axis=0)


def _filled(X, rank, start, rng):
    """Return a table filled with ``rank`` components."""
    gaps = np.isnan(X)
    filled = np.where(gaps, np.nanmean(X, axis=0) if start is None else start, X)
    axes = rng.standard_normal((X.shape[1], min(rank + SPARE, *X.shape)))
    for _ in range(MOST_TURNS):
        before, mean = filled[gaps], filled.mean(axis=0)
        centered = filled - mean
        axes, variances = _leading(centered, axes)
        rest = float(np.square(centered).sum() / len(X) - variances[:rank].sum())
        noise = max(0.0, rest) / (min(X.shape) - rank)
        main, kept = axes[:, :rank], variances[:rank]
        shrunk = np.maximum(kept - noise, 0.0) / np.where(kept > 0.0, kept, 1.0)
        filled = np.where(gaps, (centered @ main * shrunk) @ main.T + mean, X)
        if np.linalg.norm(filled[gaps] - before) <= TOL * (np.linalg.norm(before) or 1.0):
            break
    return filled


def _leading(centered, axes):
    """Return axes (D, k) nearer to the leading ones, and their variances: a step of iteration."""
    basis, _ = np.linalg.qr(centered.T @ (centered @ axes))
    _, singular, turned = np.linalg.svd(centered @ basis, full_matrices=False)
    return basis @ turned.T, np.square(singular) / len(centered)
