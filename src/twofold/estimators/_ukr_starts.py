"""First latents for unsupervised kernel regression, by name (Meinicke et al. 2005, section 2.3, step 1)."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any

import numpy as np

from twofold._linalg import row_norms_sq
from twofold.estimators.base import Problem
from twofold.initializers import INITIALIZERS, resolve_init
from twofold.protocols import Array

__all__ = ["AUTO", "first_latents", "is_list_of_inits", "latents_of"]

AUTO = (
    "pca",
    "lle:8",
    "lle:12",
    "lle:16",
    "isomap:4",
    "isomap:6",
    "isomap:8",
    "isomap:15",
    "laplacian_eigenmaps:8",
    "laplacian_eigenmaps:15",
    "tsne",
)


def first_latents(init: Any, data: Array, problem: Problem) -> dict[str, Array]:
    """Return the latents of each start; of the automatic ones, those that succeed.

    Parameters
    ----------
    init : object
        The parameter of the estimator.
    data : ndarray of shape (n, D)
        Centred data, or coordinates in feature space: what named methods see, at unit variance.
    problem : Problem
        The rest of what they need; estimators and functions see its original data.
    """
    auto = isinstance(init, str) and init == "auto"
    inits = AUTO if auto else init if is_list_of_inits(init) else [init]
    if init is None or (isinstance(init, list | tuple) and not len(init)):
        raise ValueError(f"init={init!r} gives no start; use 'auto' or name one.")
    unit = data / (float(np.sqrt(row_norms_sq(data).mean())) or 1.0)
    starts: dict[str, Array] = {}
    with warnings.catch_warnings():
        if (
            auto
        ):  # a candidate that warns (a graph in pieces) is judged by its error like the others
            warnings.simplefilter("ignore")
        for number, one in enumerate(inits):
            named = isinstance(one, str)
            name = one if named else f"{type(one).__name__}-{number}"
            try:
                starts[name] = latents_of(one, unit if named else problem.original.copy(), problem)
            except (ValueError, RuntimeError, np.linalg.LinAlgError):
                if not auto:
                    raise
    return starts


def latents_of(init: Any, data: Array, problem: Problem) -> Array:
    """Return the latents (n, n_components) of one start."""
    name, _, neighbours = init.partition(":") if isinstance(init, str) else ("", "", "")
    q, rng = problem.n_components, problem.rng
    if neighbours.isdigit() and name in INITIALIZERS:
        if "n_neighbors" not in signature(INITIALIZERS[name]).parameters:
            raise ValueError(f"init={init!r}: {name!r} takes no number of neighbours.")
        Z = INITIALIZERS[name](data, q, rng, n_neighbors=int(neighbours))
    else:
        Z = resolve_init(init, data, q, rng, y=problem.y)
    if Z.shape[1] != q:
        raise ValueError(f"init gives {Z.shape[1]} columns; n_components={q} are needed.")
    return Z


def is_list_of_inits(init: Any) -> bool:
    """Tell a list of starts from an array of latents written as a list."""
    return isinstance(init, list | tuple) and any(
        isinstance(one, str) or callable(one) or hasattr(one, "fit_transform") or np.ndim(one) == 2
        for one in init
    )
