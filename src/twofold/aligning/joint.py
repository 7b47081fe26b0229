r"""Fitted models moved into one frame, or fitted again in it.

Two maps of the same things differ in position, size and direction. The affine map of least squares
takes the latents of shared rows from one to the other. It is invertible and becomes part of both
maps ``F`` and ``f``:

.. math:: F'(x) = F(x) A + b, \qquad f'(z) = f((z - b) A^{-1})

so ``f'(F'(x)) = f(F(x))``: reconstructions and errors do not change at all. What differs beyond an
affine map stays. Models that are fitted again, `fit` with ``align_to``, follow each other further
and pay with a higher error.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.base.aligning import (
    Move,
    check_pairs,
    extent_of,
    known_columns,
    latents_of_model,
    moved_model,
)
from twofold.base.estimator import TwoWayEstimator
from twofold.numerics.quiet import quiet
from twofold.protocols import Array
from twofold.tables.estimator import TableMap


def align(models: Sequence[Any], shared: Any = None, *, tables: Any = None) -> list[Any]:
    """Return models in the latent space of the first one.

    Parameters
    ----------
    models : sequence of fitted models
        At least two, with the same number of latent dimensions. They stay as they are.
    shared : array-like of int, shape (m, 2), tuple of two arrays, list of these, or None, \
default=None
        Pairs of a row of the model's ``embedding_`` and the row of the first model's for the same
        thing; for more than two models a list with the pairs of each model after the first. None
        means that the models have the same features: then the first model places what the others
        decode.
    tables : list of array-like, each of shape (n_samples, n_features), default=None
        The training data of the models after the first, arrays or frames; one table if there are
        two models. They are then fitted again, with ``align_to`` and their own parameters. None
        keeps the maps and moves them as a whole, by an affine map: errors stay the same up to
        rounding. Maps with circles cannot be moved.

    Returns
    -------
    list of models
        The first model itself, then new ones. Their ``alignment_`` tells how far shared rows are
        from each other.

    Examples
    --------
    Two years of one table, in another order:

    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay, align
    >>> X = load_iris().data
    >>> old = TwoWay("pca", up="nw", down="nw").fit(X[:120])
    >>> new = TwoWay("pca", up="nw", down="nw").fit(-X[:29:-1])
    >>> pairs = [(149 - row, row) for row in range(30, 120)]
    >>> old, moved = align([old, new], pairs)
    >>> moved.alignment_.n_shared, moved.alignment_.median < 0.05
    (90, True)
    """
    models = list(models)
    if len(models) < 2:
        raise ValueError(f"models has {len(models)} models; at least two are needed.")
    first, *others = models
    by_rows = shared is not None
    embedding = latents_of_model("models[0]", first, of_rows=by_rows)
    all_pairs = _for_each("shared", shared, others, one_alone=_is_pairs)
    all_tables = _for_each("tables", tables, others, one_alone=_is_table)
    found = [first]
    for number, (model, pairs, table) in enumerate(
        zip(others, all_pairs, all_tables, strict=True), start=1
    ):
        latents = latents_of_model(f"models[{number}]", model, of_rows=by_rows)
        if latents.shape[1] != embedding.shape[1]:
            raise ValueError(
                f"models[{number}] has {latents.shape[1]} latent dimensions, models[0] has "
                f"{embedding.shape[1]}. Fit them with the same n_components."
            )
        if table is not None:
            found.append(clone(model).fit(table, align_to=first, shared=pairs))
            continue
        before, after = _known_places(first, embedding, model, latents, pairs)
        found.append(_moved(model, before, after, extent_of(embedding)))
    return found


def _known_places(
    first: Any, embedding: Array, model: Any, latents: Array, pairs: Any
) -> tuple[Array, Array]:
    """Return latents (m, q) of a model and their places (m, q) in the first one's map."""
    if pairs is not None:
        rows = check_pairs(pairs, len(latents), *embedding.shape)
        return latents[rows[:, 0]], embedding[rows[:, 1]]
    decoded = model.inverse_transform(latents)
    try:
        with quiet():
            return latents, np.asarray(first.transform(known_columns(first, decoded)), np.float64)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"shared=None needs models of the same features: {error} If rows are shared instead, "
            "pass their numbers as shared."
        ) from error


def _moved(model: Any, before: Array, after: Array, extent: float) -> Any:
    """Return a model whose latents before (m, q) lie nearest to their places after (m, q)."""
    one = model.model_ if isinstance(model, TableMap) else model
    domain = getattr(getattr(one, "decoder_", None), "domain", None)
    if domain is not None and (domain.is_discrete or any(domain.wrapped)):
        raise ValueError(
            f"models: {domain!r} of {type(model).__name__} cannot be moved onto another map, as it "
            "has circles or points. Fit a model with an interval or a box."
        )
    move = Move.between(before, after)
    if not isinstance(model, TableMap):
        if not isinstance(model, TwoWayEstimator):
            raise TypeError(
                f"models: {type(model).__name__} cannot be moved. Pass estimators of twofold or "
                "TableMap, or tables=[...] to fit again."
            )
        return moved_model(model, move, before, after, extent)
    made: TableMap = copy(model)
    made.model_ = moved_model(model.model_, move, before, after, extent)
    return made


def _is_pairs(value: Any) -> bool:
    """Tell whether a value is one set of pairs, not a list of them."""
    if isinstance(value, tuple) or hasattr(value, "shape"):
        return True
    try:
        return np.ndim(value[0]) == 1 and np.ndim(value[0][0]) == 0
    except (TypeError, IndexError, KeyError, ValueError):
        return False


def _is_table(value: Any) -> bool:
    """Tell whether a value is one table, not a list of them."""
    return hasattr(value, "shape") or _is_pairs(value)


def _for_each(name: str, value: Any, others: list[Any], *, one_alone: Any) -> list[Any]:
    """Return one value for each model after the first."""
    if value is None:
        return [None] * len(others)
    if len(others) == 1 and one_alone(value):
        return [value]
    values = list(value)
    if len(values) != len(others):
        raise ValueError(
            f"{name} has {len(values)} entries; {len(others)} are needed, one for each model after "
            "the first."
        )
    return values
