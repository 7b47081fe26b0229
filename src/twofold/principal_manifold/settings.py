"""The settings of `PrincipalManifold`, checked once before a fit, and its limits on rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.losses import LOSSES, Loss, Squared, resolve_loss
from twofold.numerics.threads import n_threads, some_rows
from twofold.numerics.validation import (
    check_choice,
    check_int,
    check_methods,
    check_not_negative,
    check_real,
    is_auto,
)
from twofold.principal_manifold.circle_kernels import FourierKernel, WrappedKernel
from twofold.principal_manifold.domains import PERIOD, Domain, Points, resolve_domain
from twofold.principal_manifold.limit import PenaltyLimit
from twofold.principal_manifold.metric import Mahalanobis
from twofold.principal_manifold.node_kernels import (
    NODE_KERNELS,
    NodeKernel,
    PeriodicKernel,
    SplineKernel,
)
from twofold.protocols import IntArray

if TYPE_CHECKING:
    from twofold.principal_manifold.estimator import PrincipalManifold

MOST_NODES = 3_000

MOST_ROWS, ROWS_OF_A_NODE = 3_000, 20
"""Rows that take part in the turns: at most the larger of the first and the second per node. The
last adaptation uses all rows."""

MOST_MEASURED = 20_000
"""Rows for medians and for the places of scattered nodes."""

ROWS_OF_A_START = 1_000
"""Rows to which automatic starts are fitted."""

FOLDS = 5
"""Folds of a cross-validation, unless there are fewer rows."""

MOST_CV_ROWS = 2_000
"""Rows of a cross-validation."""

MOST_OF_DENSITY = 10_000
"""Latents of the density."""

ROBUST = ("l1", "norm", "huber")
OF_LENGTH = ("norm", "huber")
"""Losses that are functions of the length of a residual."""


def rows_of_turns(n_rows: int, n_nodes: int) -> IntArray:
    """Return the rows that take part in the turns: all, or a sample of very many."""
    return some_rows(n_rows, max(MOST_ROWS, ROWS_OF_A_NODE * n_nodes))


@dataclass(frozen=True)
class CrossValidation:
    """Choose the weight of the penalty by cross-validation.

    Parameters
    ----------
    n_folds : int or "auto", default="auto"
        Number of folds; "auto" means five, or as many as there are rows if there are fewer.
    rule : {"min", "one_se"}, default="min"
        "min" takes the weight of the lowest held-out error; "one_se" the largest weight whose error
        is within one standard error of the lowest. The lowest error of noisy curves tends to belong
        to wiggly ones, which "one_se" avoids.
    alphas : sequence of float or None, default=None
        The weights to compare; None means 10 values from 0.3 to 1e-5.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> from twofold.principal_manifold import CrossValidation
    >>> t = np.linspace(-1, 1, 60)
    >>> X = np.c_[t, t**2]
    >>> folds = CrossValidation(n_folds=2, rule="one_se", alphas=(1e-2, 1e-4))
    >>> model = PrincipalManifold(alpha=folds, init="pca", random_state=0).fit(X)
    >>> model.alphas_, model.cv_errors_.shape
    (array([0.01  , 0.0001]), (2, 2))
    """

    n_folds: int | str = "auto"
    rule: str = "min"
    alphas: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not is_auto(self.n_folds):
            check_int("n_folds", self.n_folds, low=2, also="'auto'")
        check_choice("rule", self.rule, ("min", "one_se"))
        if self.alphas is None:
            return
        if np.ndim(self.alphas) != 1 or not len(self.alphas):
            raise ValueError(f"alphas={self.alphas!r} must be a list of at least one weight.")
        alphas = tuple(check_not_negative("alphas", alpha) for alpha in self.alphas)
        object.__setattr__(self, "alphas", alphas)

    def folds_of(self, n_rows: int) -> int:
        """Return the number of folds for a number of rows.

        Examples
        --------
        >>> from twofold.principal_manifold import CrossValidation
        >>> CrossValidation().folds_of(3), CrossValidation().folds_of(1000)
        (3, 5)
        """
        if is_auto(self.n_folds):
            return min(FOLDS, n_rows)
        if int(self.n_folds) > n_rows:
            raise ValueError(
                f"n_folds={self.n_folds} must not exceed the number of rows, {n_rows}."
            )
        return int(self.n_folds)


@dataclass(frozen=True)
class ManifoldSettings:
    """Checked settings. The attributes are those of the estimator, with its domain resolved."""

    domain: Domain | Points
    kernel: str | NodeKernel
    n_nodes: str | int | Sequence[int]
    width: float
    loss: str | Loss | Mahalanobis
    penalty: str
    alpha: float | CrossValidation | PenaltyLimit
    assignment: str
    latent_noise: float
    refit_alpha: float | None
    init: object
    n_init: int
    max_iter: int
    tol: float

    @classmethod
    def of(cls, model: PrincipalManifold, n_components: int) -> ManifoldSettings:
        """Check the parameters of an estimator; an error names the first invalid one."""
        n_threads(model.n_jobs)
        values = {one.name: getattr(model, one.name) for one in fields(cls)}
        values["domain"] = domain = resolve_domain(model.domain, n_components)
        values["alpha"] = _alpha_of(model.alpha)
        for name in ("max_iter", "n_init"):
            check_int(name, values[name])
        check_not_negative("tol", model.tol)
        check_real("latent_noise", model.latent_noise, low=0.0, below=1e100)
        check_real("width", model.width)
        check_choice("penalty", model.penalty, ("rkhs", "l2", "l1"))
        check_choice("assignment", model.assignment, ("hard", "soft"))
        if model.refit_alpha is not None:
            check_not_negative("refit_alpha", model.refit_alpha)
            if model.penalty != "l1":
                raise ValueError(
                    f"refit_alpha={model.refit_alpha!r} needs penalty='l1', not {model.penalty!r}."
                )
        _check_loss(model.loss)
        _check_init(model.init)
        _check_nodes(model.n_nodes, domain)
        _check_kernel(model.kernel, domain)
        _check_limit(model)
        return cls(**values)

    @property
    def is_robust(self) -> bool:
        """Whether outliers should not influence units and starts."""
        if isinstance(self.loss, str):
            return self.loss in ROBUST
        return not isinstance(self.loss, Squared | Mahalanobis)

    def resolved_loss(self) -> Loss:
        """Return the loss; Mahalanobis's is the squared one in whitened coordinates."""
        if isinstance(self.loss, Mahalanobis) or self.loss == "mahalanobis":
            return Squared()
        return resolve_loss(self.loss)


def _alpha_of(alpha: Any) -> float | CrossValidation | PenaltyLimit:
    if isinstance(alpha, CrossValidation | PenaltyLimit):
        return alpha
    if isinstance(alpha, str):
        if alpha != "cv":
            raise ValueError(
                f"alpha={alpha!r} must be 'cv', a CrossValidation, a PenaltyLimit or a number."
            )
        return CrossValidation()
    also = "'cv', a CrossValidation or a PenaltyLimit"
    return check_real("alpha", alpha, low=0.0, also=also)


def _check_loss(loss: Any) -> None:
    if isinstance(loss, str):
        check_choice("loss", loss, (*LOSSES, "mahalanobis"))
    elif not isinstance(loss, Mahalanobis):
        check_methods("loss", loss, ("values", "weights"), also="a name")


def is_array(init: Any) -> bool:
    """Return whether ``init`` is an array of latents."""
    return np.ndim(init) > 0


def _check_init(init: Any) -> None:
    if not (isinstance(init, str) or callable(init) or is_array(init)):
        also = "a name, latents (n_samples, n_components), a function of (X, n_components, rng)"
        check_methods("init", init, ("fit_transform",), also=also)


def _check_nodes(n_nodes: Any, domain: Domain | Points) -> None:
    if isinstance(domain, Points) and domain.n_points > MOST_NODES:
        raise ValueError(f"domain={domain!r} has more than {MOST_NODES} points.")
    if domain.is_discrete and not isinstance(n_nodes, str):
        raise ValueError(
            f"n_nodes={n_nodes!r}: a domain of points has a node at each point. Use 'auto'."
        )
    if isinstance(n_nodes, str):
        check_choice("n_nodes", n_nodes, ("auto",))
        return
    counts = n_nodes if isinstance(n_nodes, tuple | list | np.ndarray) else (n_nodes,)
    if counts is n_nodes and len(counts) != domain.n_components:
        raise ValueError(
            f"n_nodes={n_nodes!r} has {len(counts)} entries. Use one number, or one for each of "
            f"{domain.n_components} dimensions."
        )
    total = 1
    for count in counts:
        total *= check_int("n_nodes", count)
    if total > MOST_NODES:
        raise ValueError(
            f"n_nodes={n_nodes!r} makes {total} nodes, more than {MOST_NODES}: every iteration "
            "solves systems of that size. Use fewer nodes along each dimension."
        )


def _check_kernel(kernel: Any, domain: Domain | Points) -> None:
    if not isinstance(kernel, str):
        check_methods("kernel", kernel, ("values", "slopes"), also="a name")
        if isinstance(kernel, PeriodicKernel | FourierKernel | WrappedKernel):
            _check_circle_kernel(kernel, domain)
        names = [name for name, one in NODE_KERNELS.items() if type(one) is type(kernel)]
        if not names:
            return
        kernel = names[0]
    check_choice("kernel", kernel, tuple(NODE_KERNELS))
    if kernel == "delta" and not isinstance(domain, Points):
        raise ValueError("kernel='delta' needs a domain of points, such as domain=Points(8).")
    if kernel == "periodic" and not any(domain.wrapped):
        raise ValueError("kernel='periodic' needs a domain with circles, such as domain='circle'.")
    if kernel == "spline" and (domain.n_components > 1 or isinstance(domain, Points)):
        raise ValueError("kernel='spline' is for curves: n_components=1, domain='box' or 'circle'.")


def _check_circle_kernel(
    kernel: PeriodicKernel | FourierKernel | WrappedKernel, domain: Domain | Points
) -> None:
    if not any(domain.wrapped):
        raise ValueError(f"kernel={kernel!r} needs a domain with circles, such as domain='circle'.")
    if isinstance(kernel, FourierKernel) and not all(domain.wrapped):
        raise ValueError(
            f"kernel={kernel!r} needs a domain of circles only, such as domain='circle' or "
            "'torus': its waves have no form on an interval."
        )
    if kernel.period != PERIOD:
        raise ValueError(
            f"kernel={kernel!r}: the circles of a domain have the circumference {PERIOD:g}. Use "
            f"period={PERIOD}."
        )


def _check_limit(model: PrincipalManifold) -> None:
    if not isinstance(model.alpha, PenaltyLimit):
        return
    if model.assignment == "soft":
        raise ValueError(f"alpha={model.alpha!r} needs assignment='hard', not 'soft'.")
    if model.refit_alpha is not None:
        raise ValueError(
            f"refit_alpha={model.refit_alpha!r} would fit the map again without the limit of "
            f"alpha={model.alpha!r}. Use refit_alpha=None, or a number as alpha."
        )
    if model.alpha.length is None:
        return
    spline = model.kernel == "spline" or isinstance(model.kernel, SplineKernel)
    if not spline or model.penalty != "rkhs":
        raise ValueError(
            f"alpha={model.alpha!r}: a length needs kernel='spline' and penalty='rkhs'. "
            "Use PenaltyLimit(limit=...) with others."
        )
    if model.loss == "mahalanobis" or isinstance(model.loss, Mahalanobis):
        raise ValueError(
            f"alpha={model.alpha!r}: a length in the units of the data needs a loss that measures "
            f"them, not {model.loss!r}. Use PenaltyLimit(limit=...)."
        )
