"""Projection onto a Nadaraya-Watson manifold, compiled by numba: one row after the other.

The steps are those of `GaussNewton` and `NewtonPolish`, their NumPy twins, which serve every
decoder: for a few rows the overhead of their array operations is most of the time. Latents are in
units of the decoder's kernel. ``decoder`` and ``density`` are pairs of sources and kernel as in
`twofold.numerics.sums._local_loops`; the density has its own unit, and a bound on its log sum.
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.sums._local_loops import (
    mean_of_values,
    new_lists,
    normal_products,
    reach,
    serial,
    squared_residual,
)
from twofold.optimize._progress import EPS
from twofold.optimize.gauss_newton import (
    DAMPING_IF_CUT,
    DAMPING_IF_STUCK,
    MAX_DAMPING,
    SUFFICIENT,
)
from twofold.optimize.newton import AS_LOW, DEFINITE, DIFFERENCE


@serial
def _dot(a, b):  # type: ignore[no-untyped-def]
    """Return the inner product of two vectors; array expressions would take long to compile."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@serial
def _trace(A):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(A)):
        total += A[k, k]
    return total


@serial
def _copy(source, target):  # type: ignore[no-untyped-def]
    for k in range(len(source)):
        target[k] = source[k]


@serial
def _move(z, fraction, step, moved):  # type: ignore[no-untyped-def]
    for k in range(len(z)):
        moved[k] = z[k] + fraction * step[k]


@serial
def _solve(A, b, x):  # type: ignore[no-untyped-def]
    """Solve ``A x = b`` of q unknowns by elimination; ``A`` (q, q) is overwritten.

    Unknowns whose pivot is zero to rounding are 0. Return the smallest pivot.
    """
    q = len(b)
    smallest = np.inf
    for k in range(q):
        x[k] = b[k]
    for k in range(q):
        pivot = A[k, k]
        smallest = min(smallest, pivot)
        A[k, k] = 1.0 / pivot if pivot > q * EPS else 0.0
        for row in range(k + 1, q):
            factor = A[row, k] * A[k, k]
            for column in range(k + 1, q):
                A[row, column] -= factor * A[k, column]
            x[row] -= factor * x[k]
    for k in range(q - 1, -1, -1):
        for column in range(k + 1, q):
            x[k] -= A[k, column] * x[column]
        x[k] *= A[k, k]
    return smallest


@serial
def _damped_step(JTJ, JTr, damping, A, step):  # type: ignore[no-untyped-def]
    """Write the damped step; return the decrease it promises, -1 if it is not finite."""
    q = len(JTr)
    trace = _trace(JTJ)
    size = trace if trace > 0.0 else 1.0
    for row in range(q):
        for column in range(q):
            A[row, column] = JTJ[row, column] / size
        A[row, row] += damping / q
    _solve(A, JTr, step)
    for d in range(q):
        step[d] /= size
    promise = _dot(JTr, step)
    return promise if np.isfinite(promise) else -1.0


@serial
def _image(z, x, decoder, values, lists, mean):  # type: ignore[no-untyped-def]
    """List the sources of a latent, write its image; return number, mass, shift and residual."""
    sources, kernel = decoder
    count, mass, shift = reach(z, sources, kernel, lists)
    if count == 0:
        return count, mass, shift, np.inf
    mean_of_values(count, mass, sources[1], lists, values, mean)
    return count, mass, shift, squared_residual(x, mean)


@serial
def _is_inside(z, mass, shift, density, lists):  # type: ignore[no-untyped-def]
    """Return whether a latent with this kernel sum of the decoder is in the domain."""
    own, sources, kernel, unit, bound = density
    if bound == -np.inf:
        return True
    if own:
        _, mass, shift = reach(z * unit, sources, kernel, lists)
    return mass > 0.0 and shift + np.log(mass) >= bound


@serial
def _gauss_newton(  # type: ignore[no-untyped-def]
    x, z, decoder, values, floor, density, settings, room
):
    """Move a latent ``z`` to a minimum of ``|x - f(z)|^2 + floor``; return that loss."""
    max_iter, tol, least_damping, max_halvings = settings
    lists, others, mean, along, JTJ, JTr, A, step, full, trial = room
    count, mass, shift, residual = _image(z, x, decoder, values, lists, mean)
    loss = residual + floor
    if not np.isfinite(loss):
        return np.inf
    normal_products(z, count, mass, decoder[0], lists, values, x, mean, along, JTJ, JTr)
    rounding = EPS * loss
    damping = least_damping
    for _ in range(max_iter):
        promise = _damped_step(JTJ, JTr, least_damping, A, full)
        if promise < 0.0:
            break
        short = np.sqrt(_dot(full, full)) <= tol * np.sqrt(_dot(z, z))
        is_last = short or promise <= max(tol * loss, rounding)
        _copy(full, step)
        if damping > least_damping:
            promise = _damped_step(JTJ, JTr, damping, A, step)
        fraction, taken = 1.0, 0.0
        for _ in range(max_halvings + 1 if _dot(step, step) > 0.0 else 0):
            _move(z, fraction, step, trial)
            count, mass, shift, residual = _image(trial, x, decoder, values, lists, mean)
            found = residual + floor
            lower = found < loss and found <= loss - 2.0 * SUFFICIENT * fraction * promise
            if lower and _is_inside(trial, mass, shift, density, others):
                taken = fraction
                break
            if is_last:
                break
            fraction *= 0.5
        if taken > 0.0:
            _copy(trial, z)
            loss = found
        if is_last or (taken == 0.0 and damping >= MAX_DAMPING):
            break
        if taken > 0.0:  # the lists are those of the trial
            normal_products(z, count, mass, decoder[0], lists, values, x, mean, along, JTJ, JTr)
        if taken == 1.0:
            damping = max(0.1 * damping, least_damping)
        else:
            least = DAMPING_IF_STUCK if taken == 0.0 else DAMPING_IF_CUT
            damping = min(max(10.0 * damping, least), MAX_DAMPING)
    return loss


@serial
def _terms(z, x, decoder, values, floor, room):  # type: ignore[no-untyped-def]
    """Write ``J^T J`` and ``J^T r`` at a latent; return loss, mass and shift."""
    lists, _, mean, along, JTJ, JTr, _, _, _, _ = room
    count, mass, shift, residual = _image(z, x, decoder, values, lists, mean)
    if count > 0:
        normal_products(z, count, mass, decoder[0], lists, values, x, mean, along, JTJ, JTr)
    return residual + floor, mass, shift


@serial
def _polish(x, z, decoder, values, floor, density, limits, room):  # type: ignore[no-untyped-def]
    """Move a latent that is close to its minimum by Newton steps."""
    max_iter, tol = limits
    _, others, _, _, JTJ, JTr, A, step, descent, trial = room
    q = len(z)
    loss, _, _ = _terms(z, x, decoder, values, floor, room)
    length = np.sqrt(loss / max(_trace(JTJ), 1e-300))
    h = DIFFERENCE * length
    if not (h > 0.0 and np.isfinite(h)):
        return
    _copy(JTr, descent)
    hessian = np.zeros((q, q))
    for column in range(q):
        for sign in (-1.0, 1.0):
            _copy(z, trial)
            trial[column] += sign * h
            _terms(trial, x, decoder, values, floor, room)
            for row in range(q):
                hessian[row, column] -= 0.25 * sign * JTr[row] / h
                hessian[column, row] -= 0.25 * sign * JTr[row] / h
    largest = 0.0
    for row in range(q):
        for column in range(q):
            largest = max(largest, abs(hessian[row, column]))
    if not (largest > 0.0 and np.isfinite(largest)):
        return
    for _ in range(max_iter):
        for row in range(q):
            for column in range(q):
                A[row, column] = hessian[row, column] / largest
        if _solve(A, descent, step) <= DEFINITE:
            return
        size = 0.0
        for d in range(q):
            step[d] /= largest
            size = max(size, abs(step[d]))
        if not tol * length < size < length:
            return
        _move(z, 1.0, step, trial)
        found, mass, shift = _terms(trial, x, decoder, values, floor, room)
        smaller = _dot(JTr, JTr) < _dot(descent, descent)
        if not (smaller and found <= loss * AS_LOW):
            return
        if not _is_inside(trial, mass, shift, density, others):
            return
        _copy(trial, z)
        _copy(JTr, descent)
        loss = found


@serial
def project(  # type: ignore[no-untyped-def]
    rows, data, starts, decoder, values, floor, density, settings, limits, tie, latents
):
    """Write the latents (n, q) of some rows of data from their starts (n, k, q).

    Of starts that end equally low, up to a share ``tie`` of the loss, the first counts. A row whose
    losses are not finite gets NaN.
    """
    n_starts, q = starts.shape[1:]
    n_columns = values.shape[1]
    room = (
        new_lists(decoder[0]),
        new_lists(density[1]),
        np.empty(n_columns),
        np.empty((q, n_columns)),
        np.empty((q, q)),
        np.empty(q),
        np.empty((q, q)),
        np.empty(q),
        np.empty(q),
        np.empty(q),
    )
    ends, losses = np.empty((n_starts, q)), np.empty(n_starts)
    for row in rows:
        x = data[row]
        lowest = np.inf
        for number in range(n_starts):
            _copy(starts[row, number], ends[number])
            losses[number] = _gauss_newton(
                x, ends[number], decoder, values, floor, density, settings, room
            )
            lowest = min(lowest, losses[number])
        if not np.isfinite(lowest):
            latents[row] = np.nan
            continue
        best = 0
        while best < n_starts - 1 and losses[best] > lowest * (1.0 + tie):
            best += 1
        _copy(ends[best], latents[row])
        _polish(x, latents[row], decoder, values, floor, density, limits, room)
