"""Initial latents from ``init``: a name, an array, a function, an estimator, or several of these.

Several are a list, or a mapping by names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.quiet import quiet
from twofold.numerics.validation import is_auto
from twofold.protocols import Array, IntArray
from twofold.starts.initializers import INITIALIZERS, Initializer

if TYPE_CHECKING:  # twofold.base imports this module
    from twofold.base.problem import Problem


def resolve_init(
    init: Any,
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    y: Any = None,
    name: str = "init",
) -> Array:
    """Return initial latents (n, q) as float64, finite, a copy.

    Parameters
    ----------
    init : str, array-like, callable or estimator
        A name from ``INITIALIZERS``, possibly with a number of neighbors ("lle:12"); latents of
        shape (n, q); a function of ``(X, n_components, rng)``; or an object with ``fit_transform``,
        of which a clone is fitted, each ``random_state=None`` in it seeded from ``rng``.
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q, for names and functions.
    rng : Generator
        Source of randomness.
    y : array-like of shape (n,), default=None
        Labels for estimators.
    name : str, default="init"
        The parameter's name in error messages.
    """
    if isinstance(init, str):
        embed, options = named_initializer(init, name)
        Z = embed(X, n_components, rng, **options)
    elif isinstance(init, type):
        raise TypeError(f"{name}={init!r} is a class; give an instance, {init.__name__}(...).")
    elif hasattr(init, "fit_transform"):
        model = _seeded(clone(init, safe=False), rng)
        Z = model.fit_transform(X, **({} if y is None or not _takes_labels(model) else {"y": y}))
    elif callable(init):
        Z = init(X, n_components, rng)
    else:
        Z = init
    return _check_latents(Z, len(X), name)


def embedded(
    init: Any,
    data: Array,
    problem: Problem,
    rows: IntArray | slice = slice(None),
    *,
    name: str = "init",
) -> Array:
    """Return the latents (n, q) of one start, with any number of columns.

    Named methods embed ``data`` (n, D). Others see the original data of the problem, scaled if its
    columns have factors, and ``rows`` of their latents are returned.
    """
    named = isinstance(init, str)
    seen = data if named else problem.units.all_columns(problem.original).copy()
    Z = resolve_init(init, seen, problem.n_components, problem.rng, y=problem.y, name=name)
    return Z if named else Z[rows]


def latents_of(
    init: Any, data: Array, problem: Problem, rows: IntArray | slice = slice(None)
) -> Array:
    """Return the latents (n, n_components) of one ``init`` of an estimator; see `embedded`."""
    Z = embedded(init, data, problem, rows)
    if Z.shape[1] != problem.n_components:
        raise ValueError(
            f"init gives {Z.shape[1]} columns; n_components={problem.n_components} are needed."
        )
    return Z


def unit_variance(centered: Array) -> Array:
    """Return centered data scaled to a total variance of one."""
    unit: Array = centered / (float(np.sqrt(row_norms_sq(centered).mean())) or 1.0)
    return unit


def attempts(init: Any, auto: tuple[str, ...], embed: Callable[[Any], Array]) -> dict[str, Array]:
    """Return the latents of each start by name; of the automatic ones, those that succeed."""
    found = {name: attempt(embed, one, is_auto(init)) for name, one in named_inits(init, auto)}
    return {name: Z for name, Z in found.items() if Z is not None}


def named_inits(init: Any, auto: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return the requested starts with their names; a mapping gives names to arrays."""
    if isinstance(init, dict) and init:
        return [(str(name), one) for name, one in init.items()]
    if init is None or (isinstance(init, list | tuple | dict) and not len(init)):
        raise ValueError(f"init={init!r} gives no start; use 'auto' or name one.")
    inits = auto if is_auto(init) else init if is_list_of_inits(init) else [init]
    return [
        (one if isinstance(one, str) else f"{type(one).__name__}-{number}", one)
        for number, one in enumerate(inits)
    ]


def attempt(embed: Callable[[Any], Array], init: Any, auto: bool) -> Array | None:
    """Return the latents of a start; None if an automatic one fails.

    Warnings of automatic starts (a disconnected graph) are ignored: their errors are compared.
    """
    if not auto:
        return embed(init)
    with quiet():
        try:
            return embed(init)
        except (ValueError, RuntimeError, np.linalg.LinAlgError):
            return None


def is_list_of_inits(init: Any) -> bool:
    """Distinguish a list of starts from an array of latents written as a list."""
    return isinstance(init, list | tuple) and any(
        isinstance(one, str) or callable(one) or hasattr(one, "fit_transform") or np.ndim(one) == 2
        for one in init
    )


def is_pca(init: Any) -> bool:
    """Tell whether a start is PCA: by name, or scikit-learn's estimator."""
    from sklearn.decomposition import PCA, IncrementalPCA

    return init == "pca" if isinstance(init, str) else isinstance(init, PCA | IncrementalPCA)


def with_pca_by_name(init: Any, n_components: int) -> Any:
    """Return a start, or a list of starts, with scikit-learn's plain PCA replaced by its name.

    The latents are the same up to rounding and signs; by name they are the same in every digit.
    """
    from sklearn.decomposition import PCA

    if is_list_of_inits(init):
        return [with_pca_by_name(one, n_components) for one in init]
    if type(init) is not PCA:
        return init
    given = {**init.get_params(), "random_state": None, "copy": True}
    return "pca" if given == PCA(n_components).get_params() else init


def named_initializer(init: str, parameter: str) -> tuple[Initializer, dict[str, int]]:
    """Return the initializer of a name such as "lle" or "lle:12", and its options."""
    name, _, neighbors = init.partition(":")
    if init in INITIALIZERS:
        return INITIALIZERS[init], {}
    if name not in INITIALIZERS or not neighbors.isdigit():
        raise ValueError(
            f"{parameter}={init!r} is unknown. Use one of {sorted(INITIALIZERS)}, an array of "
            "shape (n_samples, n_components), a function, or an estimator with fit_transform."
        )
    if "n_neighbors" not in inspect.signature(INITIALIZERS[name]).parameters:
        raise ValueError(f"{parameter}={init!r}: {name!r} takes no number of neighbors.")
    return INITIALIZERS[name], {"n_neighbors": int(neighbors)}


def _seeded(embedder: Any, rng: np.random.Generator) -> Any:
    """Set every unset ``random_state`` of an estimator and of its parts."""
    if not hasattr(embedder, "get_params"):
        return embedder
    seeds = {
        name: int(rng.integers(2**31))
        for name, value in sorted(embedder.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return embedder.set_params(**seeds) if seeds else embedder


def _takes_labels(embedder: Any) -> bool:
    """Tell whether ``fit_transform`` accepts ``y``."""
    parameters = inspect.signature(embedder.fit_transform).parameters.values()
    return any(p.name == "y" or p.kind is p.VAR_KEYWORD for p in parameters)


def _check_latents(Z: Any, n_samples: int, name: str) -> Array:
    """Return latents as a finite array (n, q), or raise an error that names the parameter."""
    Z = as_numpy(Z, name)
    try:
        latents = np.array(Z, dtype=None if np.iscomplexobj(Z) else np.float64)
        latents = latents.astype(np.float64, casting="same_kind")  # refuses complex numbers
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} gives {type(Z).__name__}, not an array of numbers.") from error
    if latents.ndim == 1:
        latents = latents[:, None]
    if latents.ndim != 2 or len(latents) != n_samples:
        raise ValueError(
            f"{name} gives an array of shape {latents.shape}; ({n_samples}, n_components) is "
            "needed, one row for each row of X."
        )
    if not np.isfinite(latents).all():
        row = int(np.argwhere(~np.isfinite(latents))[0, 0])
        raise ValueError(f"{name} gives NaN or infinity, first in row {row}.")
    return latents
