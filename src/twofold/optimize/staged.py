r"""Spectral guidance for any minimizer: a change of variables, stage by stage.

Along ``Z = Z_s + S U`` the gradient with respect to ``U`` is ``S^T G``, so a step of steepest
descent in ``U`` moves ``Z`` along ``-S S^T G``. With ``S = M^{nu/2}`` that is the guided direction
``-M^nu G`` of Memisevic & Hinton (2005), Eqs. (16)-(17); with ``S = V_l`` it is the truncated one
of Eq. (15). The paper's rule for gradients becomes a choice of variables, in which *any* minimizer
can run: ``S S^T`` is the inverse of its metric, a symmetric positive (semi-)definite
preconditioner.

**Curvature stays valid.** Quasi-Newton pairs ``(s, y)``, conjugate directions and the step sizes of
RPROP belong to one set of variables. So the operator is constant within a stage. Each stage starts
from ``U = 0`` at the latents ``Z_s`` that the last one found, and nothing else is carried over. The
last stage has ``S = I``: it is the plain minimizer on the plain objective. A stage lasts ``hold``
iterations of the guidance, or until it converges in its own variables. The recorded values are
always those of the plain objective.

**Scale.** ``U`` is measured in units of the spread of ``Z_s``: it starts at zero and has no spread
of its own to scale the first step.

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005; quasi-Newton methods are its section 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from twofold.optimize._progress import spread
from twofold.optimize.gradient_descent import GradientDescent, with_guided_end
from twofold.optimize.guidance import Change, Guide
from twofold.protocols import Array, Callback, Minimizer, MinimizeResult, Objective


def guided_minimizer(minimizer: Minimizer, guide: Guide | None) -> Minimizer:
    """Add guidance to a minimizer: to gradient descent as in the paper, to others by stages.

    Parameters
    ----------
    minimizer : Minimizer
        The minimizer to guide.
    guide : Guide or None
        The guidance; None returns the minimizer unchanged.

    Returns
    -------
    Minimizer

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.optimize import LBFGS, SpectralGuidance, guided_minimizer
    >>> guide = SpectralGuidance(bandwidth=0.05).prepare(np.linspace(0.0, 1.0, 20)[:, None])
    >>> guided_minimizer(LBFGS(max_iter=100), guide)
    Staged(minimizer=LBFGS(max_iter=100, tol=1e-06, memory=10))
    """
    if guide is None:
        return minimizer
    if isinstance(minimizer, GradientDescent):
        return replace(minimizer, guide=guide)
    return Staged(minimizer, guide)


@dataclass(frozen=True)
class Staged:
    """Run a minimizer in variables given by a guide, stage by stage.

    Parameters
    ----------
    minimizer : Minimizer
        The minimizer to run. Its ``max_iter``, if it has one, counts the iterations of all stages.
    guide : Guide
        The operators and how long each is kept. Its form must not be "deflated", which is not a
        linear operator.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.optimize import LBFGS, SpectralGuidance
    >>> line = np.linspace(0.0, 1.0, 20)[:, None]
    >>> class Bowl:
    ...     def value_and_grad(self, Z):
    ...         return float(np.sum((Z - line) ** 2)), 2.0 * (Z - line)
    >>> guide = SpectralGuidance(bandwidth=0.05).prepare(line)
    >>> result = Staged(LBFGS(), guide).minimize(Bowl(), np.zeros((20, 1)))
    >>> result.converged, round(result.value, 12)
    (True, 0.0)
    """

    minimizer: Minimizer
    guide: Guide = field(repr=False)

    def __post_init__(self) -> None:
        self.guide.check_linear(type(self.minimizer).__name__)

    def minimize(
        self, objective: Objective, Z0: Array, *, callback: Callback | None = None
    ) -> MinimizeResult:
        """Minimize from the start ``Z0`` (n, q), which is left unchanged.

        The callback counts the iterations of all stages. Values in ``history`` are those of the
        plain objective.
        """
        stages: list[MinimizeResult] = []
        guided = False
        most = getattr(self.minimizer, "max_iter", np.inf)
        Z, done = np.array(Z0, dtype=np.float64), 0
        for change, n_iterations in self.guide.stages():
            guided = change is not None
            view = _View(objective, Z, change)
            stop = _StageEnd(callback, view, done, min(n_iterations, most - done))
            result = self.minimizer.minimize(view, view.start, callback=stop)
            Z, done = view.latents(result.Z), done + result.n_iter
            stages.append(replace(result, Z=Z))
            if stop.asked or done >= most:
                break
        joined = _joined(stages, ran_out=done >= most and not stop.asked)
        return with_guided_end(joined, self.guide) if guided else joined


class _View:
    """The objective in the variables of a stage."""

    def __init__(self, objective: Objective, Z: Array, change: Change | None) -> None:
        self._objective = objective
        self._origin = Z
        self._change = change
        self._unit = spread(Z)
        self.start = Z if change is None else np.zeros((change.n_variables, *Z.shape[1:]))
        self._last: tuple[Array, Array] = (self.start.copy(), Z)

    def latents(self, variables: Array) -> Array:
        """Return ``Z_s + S U``; the last result is kept, since callbacks ask for it again."""
        if self._change is None:
            return variables
        if not np.array_equal(variables, self._last[0]):
            Z = self._origin + self._unit * self._change.apply(variables)
            self._last = (variables.copy(), Z)
        return self._last[1]

    def value_and_grad(self, variables: Array) -> tuple[float, Array]:
        """Return the value, and ``S^T G``."""
        value, gradient = self._objective.value_and_grad(self.latents(variables))
        if self._change is None:
            return value, gradient
        return value, self._unit * self._change.adjoint(gradient)


class _StageEnd:
    """Ends a stage after its iterations, or the run if the callback asks for it."""

    def __init__(
        self, callback: Callback | None, view: _View, done: int, n_iterations: float
    ) -> None:
        self._callback = callback
        self._view = view
        self._done = done
        self._n_iterations = n_iterations
        self.asked = False

    def __call__(self, n_iter: int, value: float, variables: Array) -> bool:
        if self._callback is not None:
            Z = self._view.latents(variables)
            self.asked = bool(self._callback(self._done + n_iter, value, Z))
        return self.asked or n_iter >= self._n_iterations


def _joined(stages: list[MinimizeResult], *, ran_out: bool) -> MinimizeResult:
    """Join the records of all stages; the outcome is that of the last."""
    last = stages[-1]
    best = min(stages, key=lambda stage: stage.value)
    history = [stages[0].history, *(stage.history[1:] for stage in stages[1:])]
    n_iter = sum(stage.n_iter for stage in stages)
    status, converged = last.status, last.converged
    if ran_out and "callback" in status:
        status, converged = f"The iterations ran out (max_iter={n_iter}).", False
    return replace(
        last,
        Z=best.Z,
        value=best.value,
        n_iter=n_iter,
        n_evaluations=sum(stage.n_evaluations for stage in stages),
        converged=converged,
        status=status,
        history=np.concatenate(history),
    )
