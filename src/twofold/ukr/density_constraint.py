r"""Minimization within a density constraint, and its stepwise relaxation: homotopy.

The constraint keeps every latent where the density is at least a share ``eta`` of the kernel's
maximum, Meinicke et al. (2005), Eq. (7). A logarithmic barrier realizes it,

.. math:: R(Z) - \mu \frac1n \sum_i \log\bigl(p(z_i) / K(0) - \eta\bigr),

and the weight :math:`\mu` decreases in stages. The minimum for a weight lies about :math:`\mu`
above that of the constrained problem, Eq. (9), so only the last and smallest weight matters for the
result. The first and largest weights keep the latents away from the wall while they still move far.

The homotopy (section 2.3, step 4) solves the constrained problem for a decreasing sequence of
thresholds, from latents that are all close together: the complexity of the model grows step by
step. The sequence and the first variance are those of section 4.3. The paper does not describe its
barrier.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array, Callback, Minimizer, MinimizeResult
from twofold.starts.candidates import whitened
from twofold.ukr.homotopy import Homotopy
from twofold.ukr.objective import Barrier
from twofold.ukr.regression import KernelRegression

MinimizerOf = Callable[[int, float], Minimizer]
"""Returns the minimizer for a number of iterations and a tolerance."""


def relaxed(
    scheme: KernelRegression,
    Z: Array,
    homotopy: Homotopy,
    minimizer: MinimizerOf,
    *,
    until: float = 0.0,
    leave_one_out: bool = True,
    callback: Callback | None = None,
) -> Array:
    """Relax the constraint step by step, over the thresholds above ``until`` (step 4)."""
    white = whitened(Z)
    Z = white * np.sqrt(homotopy.variance / max(1, white.shape[1]))
    for threshold in homotopy.thresholds:
        if threshold <= until:
            break
        Z = constrained(
            scheme,
            Z,
            threshold,
            homotopy,
            lambda n_steps: minimizer(n_steps, homotopy.tol),
            homotopy.max_iter,
            leave_one_out=leave_one_out,
            callback=callback,
        ).Z
    return Z


def constrained(
    scheme: KernelRegression,
    Z: Array,
    threshold: float,
    homotopy: Homotopy,
    minimizer: Callable[[int], Minimizer],
    max_iter: int,
    *,
    leave_one_out: bool,
    callback: Callback | None = None,
) -> MinimizeResult:
    """Minimize the error within the density constraint, Eq. (9), by a barrier of falling weight.

    Latents that violate the constraint are first contracted until they meet it. Groups are not left
    out: the constraint counts all points. The history has the error itself, without the barrier.
    """
    scheme = replace(scheme, groups=None)
    while (1.0 + scheme.weigh(Z).mass.min()) / len(Z) <= threshold:
        Z = 0.7 * (Z - Z.mean(axis=0))
    variance = float(row_norms_sq(scheme.data).mean())
    error = scheme.objective(leave_one_out=leave_one_out).value
    history, result, stopped = [error(Z)], None, False
    for weight, n_steps in _stages(homotopy.barrier, max_iter):
        taken = len(history) - 1

        def on_iteration(
            number: int, value: float, Z: Array, *, taken: int = taken, n_steps: int = n_steps
        ) -> bool:
            nonlocal stopped
            history.append(error(Z))
            stopped = callback is not None and bool(callback(taken + number, value, Z))
            return stopped or number >= n_steps

        barrier = Barrier(threshold, weight * variance)
        objective = scheme.objective(barrier=barrier, leave_one_out=leave_one_out)
        result = minimizer(n_steps).minimize(objective, Z, callback=on_iteration)
        Z = result.Z
        if stopped:
            break
    assert result is not None
    return replace(result, value=error(Z), n_iter=len(history) - 1, history=np.array(history))


def _stages(weights: Sequence[float], max_iter: int) -> list[tuple[float, int]]:
    """Return the weights of the barrier, each with its share of the iterations.

    With fewer iterations than weights, only the last weights are used.
    """
    used = list(weights)[-max_iter:]
    ends = [max_iter * (number + 1) // len(used) for number in range(len(used))]
    return [(weight, int(n)) for weight, n in zip(used, np.diff([0, *ends]), strict=True)]
