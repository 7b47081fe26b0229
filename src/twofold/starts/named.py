"""First latents for unsupervised kernel regression, by name (Meinicke et al. 2005, section 2.3, step 1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from twofold.base.problem import Problem
from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array
from twofold.starts.initializers import INITIALIZERS, resolve_init

__all__ = [
    "AUTO",
    "attempt",
    "first_latents",
    "init_is_auto",
    "is_list_of_inits",
    "latents_of",
    "named_inits",
]

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
    auto = init_is_auto(init)
    unit = data / (float(np.sqrt(row_norms_sq(data).mean())) or 1.0)

    def embed(one: Any) -> Array:
        return latents_of(one, unit if isinstance(one, str) else problem.original.copy(), problem)

    found = {name: attempt(embed, one, auto) for name, one in named_inits(init, AUTO)}
    return {name: Z for name, Z in found.items() if Z is not None}


def init_is_auto(init: Any) -> bool:
    """Tell whether starts are ours to choose."""
    return isinstance(init, str) and init == "auto"


def named_inits(init: Any, auto: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return the starts that a parameter asks for, with their names."""
    if init is None or (isinstance(init, list | tuple) and not len(init)):
        raise ValueError(f"init={init!r} gives no start; use 'auto' or name one.")
    inits = auto if init_is_auto(init) else init if is_list_of_inits(init) else [init]
    return [
        (one if isinstance(one, str) else f"{type(one).__name__}-{number}", one)
        for number, one in enumerate(inits)
    ]


def attempt(embed: Callable[[Any], Array], init: Any, auto: bool) -> Array | None:
    """Return the latents of a start; of automatic ones None where it fails.

    What an automatic start warns of (a graph in pieces) is not passed on: it is judged by its error like the others.
    """
    if not auto:
        return embed(init)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return embed(init)
        except (ValueError, RuntimeError, np.linalg.LinAlgError):
            return None


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
