"""Compiled descents of the projection step; `DomainProjection` has the NumPy twin.

They are for the squared loss and Gaussian kernels on a box. The map is ``f(z) = b + W phi(z)`` with
``W`` (D, M). ``axes`` describes ``phi``: the distinct places of nodes along each dimension (q, k),
padded, how many there are (q,), which of them each node has (q, M), and the bandwidths (q,).
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.compiled_loops import compiled

serial = compiled(fastmath={"reassoc", "contract"})

EPS = float(np.finfo(np.float64).eps)


@serial
def _features(z, axes, factors, phi):  # type: ignore[no-untyped-def]
    """Write the features (M,) at a place (q,); ``factors`` (q, k) is scratch memory."""
    places, counts, numbers, widths = axes
    for d in range(len(z)):
        for j in range(counts[d]):
            t = (z[d] - places[d, j]) / widths[d]
            factors[d, j] = np.exp(-0.5 * t * t)
    for m in range(len(phi)):
        phi[m] = factors[0, numbers[0, m]]
    for d in range(1, len(z)):
        for m in range(len(phi)):
            phi[m] *= factors[d, numbers[d, m]]


@serial
def _loss(x, W, b, phi, residuals):  # type: ignore[no-untyped-def]
    """Write the residuals (D,) of a row (D,) at its image, and return the sum of their squares."""
    total = 0.0
    for c in range(len(x)):
        image = b[c]
        for m in range(len(phi)):
            image += W[c, m] * phi[m]
        residuals[c] = x[c] - image
        total += residuals[c] ** 2
    return total


@serial
def _terms(residuals, z, W, axes, phi, scratch, curvature, descent):  # type: ignore[no-untyped-def]
    """Write ``J^T J`` (q, q) and ``J^T r`` (q,); ``scratch`` has arrays (q, M) and (q,)."""
    places, _, numbers, widths = axes
    slopes, column = scratch
    q = len(z)
    for d in range(q):
        per_square = 1.0 / widths[d] ** 2
        for m in range(len(phi)):
            slopes[d, m] = phi[m] * (places[d, numbers[d, m]] - z[d]) * per_square
    curvature[:] = 0.0
    descent[:] = 0.0
    for c in range(len(residuals)):
        for d in range(q):
            slope = 0.0
            for m in range(len(phi)):
                slope += W[c, m] * slopes[d, m]
            column[d] = slope
            descent[d] += slope * residuals[c]
            for e in range(d + 1):
                curvature[d, e] += slope * column[e]
    for d in range(q):
        for e in range(d):
            curvature[e, d] = curvature[d, e]


@serial
def _hold(z, ends, curvature, descent, held):  # type: ignore[no-untyped-def]
    """Write which coordinates push against the box (q,), and remove their rows and columns."""
    for d in range(len(z)):
        outward = descent[d] > 0.0 if z[d] > 0.0 else descent[d] < 0.0
        held[d] = outward and abs(z[d]) >= ends[d]
        if held[d]:
            descent[d] = 0.0
            curvature[d, :] = 0.0
            curvature[:, d] = 0.0


@serial
def _solve(curvature, descent, damping, A, step):  # type: ignore[no-untyped-def]
    """Write the step (q,) of `damped_steps`; ``A`` (q, q) is scratch memory."""
    q = len(step)
    size = 0.0
    for d in range(q):
        size += curvature[d, d]
    size = size if size > 0.0 else 1.0
    for d in range(q):
        step[d] = descent[d] / size
        for e in range(q):
            A[d, e] = curvature[d, e] / size
        A[d, d] += damping / q
    for k in range(q):
        for i in range(k + 1, q):
            factor = A[i, k] / A[k, k] if A[k, k] > q * EPS else 0.0
            for j in range(k + 1, q):
                A[i, j] -= factor * A[k, j]
            step[i] -= factor * step[k]
    for k in range(q - 1, -1, -1):
        for j in range(k + 1, q):
            step[k] -= A[k, j] * step[j]
        step[k] = step[k] / A[k, k] if A[k, k] > q * EPS else 0.0


@serial
def descend(data, Z, losses, up, ends, n_steps, dampings, least):  # type: ignore[no-untyped-def]
    """Overwrite latents ``Z`` (n, q) of rows (n, D) with better ones, and write their losses (n,).

    ``up`` is the map: W, b and axes. ``ends`` (q,) are those of the box. The dampings of a step are
    tried in turn. A row ends if its loss falls by a share below ``least``.
    """
    W, b, axes = up
    q, n_nodes = Z.shape[1], W.shape[1]
    factors, phi = np.empty(axes[0].shape), np.empty(n_nodes)
    scratch = np.empty((q, n_nodes)), np.empty(q)
    A, curvature = np.empty((q, q)), np.empty((q, q))
    descent, step, trial = np.empty(q), np.empty(q), np.empty(q)
    residuals = np.empty(data.shape[1])
    held = np.empty(q, dtype=np.bool_)
    for row in range(len(data)):
        x, z = data[row], Z[row]
        _features(z, axes, factors, phi)
        losses[row] = _loss(x, W, b, phi, residuals)
        for _ in range(n_steps):
            _terms(residuals, z, W, axes, phi, scratch, curvature, descent)
            _hold(z, ends, curvature, descent, held)
            gained = 0.0
            for number in range(len(dampings)):
                _solve(curvature, descent, dampings[number], A, step)
                if number == 0:
                    promised = 0.0
                    for d in range(q):
                        promised += step[d] * descent[d]
                    if not promised > least * losses[row]:
                        break
                for d in range(q):
                    moved = z[d] if held[d] else z[d] + step[d]
                    trial[d] = min(max(moved, -ends[d]), ends[d])
                _features(trial, axes, factors, phi)
                lower = _loss(x, W, b, phi, residuals)
                if lower < losses[row]:
                    gained = 1.0 - lower / losses[row]
                    losses[row] = lower
                    z[:] = trial
                    break
            if not gained > least:
                break
