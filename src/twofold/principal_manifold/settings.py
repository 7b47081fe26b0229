"""The settings of principal manifolds, checked once at the start of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.losses import LOSSES
from twofold.numerics.threads import n_threads
from twofold.numerics.validation import check_choice, check_int, check_not_negative, check_real
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.node_kernels import NODE_KERNELS

__all__ = ["check_settings"]

MOST_NODES = 3_000


def check_settings(model: Any, domain: Domain | Points) -> None:
    """Raise an error that names the first setting of a `PrincipalManifold` that makes no sense."""
    n_threads(model.n_jobs)
    for name, least in (("max_iter", 1), ("n_init", 1), ("cv", 2)):
        check_int(name, getattr(model, name), low=least)
    for name in ("tol", "latent_noise"):
        check_not_negative(name, getattr(model, name))
    check_real("width", model.width)
    check_choice("penalty", model.penalty, ("rkhs", "l2", "l1"))
    check_choice("assignment", model.assignment, ("hard", "soft"))
    check_choice("alpha_rule", model.alpha_rule, ("min", "one_se"))
    if isinstance(model.alpha, str):
        check_choice("alpha", model.alpha, ("cv",))
    else:
        check_not_negative("alpha", model.alpha)
    if model.refit_alpha is not None:
        check_not_negative("refit_alpha", model.refit_alpha)
        if model.penalty != "l1":
            raise ValueError(
                f"refit_alpha={model.refit_alpha!r} is for penalty='l1', not penalty={model.penalty!r}."
            )
    if isinstance(model.loss, str):
        check_choice("loss", model.loss, (*LOSSES, "mahalanobis"))
    elif isinstance(model.loss, type) or not (
        hasattr(model.loss, "values") and hasattr(model.loss, "weights")
    ):
        raise TypeError(
            f"loss={model.loss!r} is no loss: it has no values and weights, or is a class."
        )
    if np.ndim(model.init) == 0 and not (
        isinstance(model.init, str) or callable(model.init) or hasattr(model.init, "fit_transform")
    ):
        raise TypeError(
            f"init={model.init!r} must be a name, latents of shape (n_samples, n_components), a function of (X, n_components, "
            "rng), or an estimator with fit_transform."
        )
    if domain.is_discrete and not isinstance(model.n_nodes, str):
        raise ValueError(
            f"n_nodes={model.n_nodes!r}: a domain of points has a node at each; leave it 'auto'."
        )
    _check_nodes(model.n_nodes, domain)
    _check_kernel(model.kernel, domain)


def _check_nodes(n_nodes: Any, domain: Domain | Points) -> None:
    if isinstance(domain, Points) and domain.n_points > MOST_NODES:
        raise ValueError(f"domain={domain!r} has more than {MOST_NODES} points.")
    if isinstance(n_nodes, str):
        check_choice("n_nodes", n_nodes, ("auto",))
        return
    counts = n_nodes if isinstance(n_nodes, tuple | list | np.ndarray) else (n_nodes,)
    if counts is n_nodes and len(counts) != domain.n_components:
        raise ValueError(
            f"n_nodes={n_nodes!r} has {len(counts)} entries; one number, or one for each of "
            f"{domain.n_components} dimensions is needed."
        )
    total = 1
    for count in counts:
        total *= check_int("n_nodes", count)
    if total > MOST_NODES:
        raise ValueError(
            f"n_nodes={n_nodes!r} makes {total} nodes, more than {MOST_NODES}: matrices of that size are solved in every "
            "turn. Use fewer nodes along each dimension."
        )


def _check_kernel(kernel: Any, domain: Domain | Points) -> None:
    if not isinstance(kernel, str):
        if isinstance(kernel, type) or not (
            hasattr(kernel, "values") and hasattr(kernel, "slopes")
        ):
            raise TypeError(
                f"kernel={kernel!r} is no kernel: it has no values and slopes, or is a class."
            )
        ours = [name for name, one in NODE_KERNELS.items() if type(one) is type(kernel)]
        if not ours:
            return
        kernel = ours[0]
    check_choice("kernel", kernel, tuple(NODE_KERNELS))
    if kernel == "delta" and not isinstance(domain, Points):
        raise ValueError("kernel='delta' needs a domain of points, such as domain=Points(8).")
    if any(domain.wrapped) and kernel not in ("gaussian", "periodic"):
        raise ValueError(
            f"kernel={kernel!r} does not close around the circles of domain={domain!r}. Use 'periodic'."
        )
    if kernel == "periodic" and not any(domain.wrapped):
        raise ValueError("kernel='periodic' needs a domain with circles, such as domain='circle'.")
    if kernel == "spline" and (domain.n_components > 1 or isinstance(domain, Points)):
        raise ValueError(
            "kernel='spline' is for curves on an interval: n_components=1, domain='box'."
        )
