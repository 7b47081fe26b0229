"""What a map writes into an AnnData, and the model that it reads back from there.

The model is stored as the bytes of a model file, ``uns[key]["model"]``: data and no code. An
AnnData from someone else can be used without trusting it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from twofold._version import __version__
from twofold.anndata.gene_map import MARK, AnnDataMap
from twofold.base.estimator import TwoWayEstimator
from twofold.export.errors import ModelFileError
from twofold.export.model_files import from_bytes, to_bytes
from twofold.numerics.threads import some_rows
from twofold.protocols import AnyArray, Array, IntArray

MOST_ROWS = 2_000
"""Rows that decide on the statistics of genes, a sample of more."""

CELLS_OF_BLOCK = 2**22


def gene_scores(model: TwoWayEstimator, features: Any, latents: Array) -> Array:
    """Return the share (n_genes,) of each feature's variance that the decoder keeps.

    NaN stands for features without variance.
    """
    rows = some_rows(features.shape[0], MOST_ROWS)
    features, latents = features[rows], latents[rows]
    features = features.tocsr() if issparse(features) else features
    step = max(1, CELLS_OF_BLOCK // features.shape[1])
    parts = [slice(start, start + step) for start in range(0, len(rows), step)]
    n_seen = np.zeros(features.shape[1])
    sums, squares, errors = n_seen.copy(), n_seen.copy(), n_seen.copy()
    some = dense(features[parts[0]]).astype(np.float64)
    shift = np.where(np.isnan(some), 0.0, some).mean(axis=0)  # keeps the digits of the variance
    for part in parts:
        given = dense(features[part]).astype(np.float64)
        seen = ~np.isnan(given)
        given = np.where(seen, given - shift, 0.0)
        images = np.where(seen, model.inverse_transform(latents[part]) - shift, 0.0)
        n_seen += seen.sum(axis=0)
        sums += given.sum(axis=0)
        squares += np.square(given).sum(axis=0)
        errors += np.square(given - images).sum(axis=0)
    total = squares - sums**2 / np.maximum(n_seen, 1)
    varies = total > 1e-12 * np.maximum(squares, np.finfo(float).tiny)
    scores: Array = np.where(varies, 1.0 - errors / np.where(varies, total, 1.0), np.nan)
    return scores


def dense(rows: Any) -> AnyArray:
    """Return rows as an array."""
    return np.asarray(rows.toarray() if issparse(rows) else rows)


def gene_table(adata: Any, numbers: IntArray, scores: Array) -> Any:
    """Return the statistics of all genes as a data frame; NaN for those outside of the map."""
    from pandas import DataFrame

    column = np.full(adata.n_vars, np.nan)
    column[numbers] = scores
    return DataFrame({"r2": column}, index=adata.var_names)


def settings(fitted: AnnDataMap, features: Any, *, store_model: bool) -> dict[str, Any]:
    """Return what ``uns`` has: plain values, and the model."""
    model = fitted.model
    score, rows = _score(model, features)
    facts: dict[str, Any] = {
        "method": type(model._unwrapped).__name__,
        "estimator": type(model).__name__,
        "parameters": {k: repr(v)[:200] for k, v in model.get_params(deep=False).items()},
        "layer": "X" if fitted.layer is None else fitted.layer,
        "counts": fitted.log_counts is not None,
        "genes": fitted.genes.astype(str),
        "score": score,
        "score_of": rows,
        "version": __version__,
    }
    if fitted.log_counts is not None:
        facts["target_sum"] = fitted.log_counts.target_sum_
        facts["library_size"] = fitted.log_counts.library_size_
    if store_model:
        facts["model"] = np.frombuffer(to_bytes(fitted, MARK), dtype=np.uint8).copy()
    return facts


def _score(model: TwoWayEstimator, features: Any) -> tuple[float, str]:
    """Return the share of the variance that the map keeps, and of which rows."""
    known = model._reported_score()
    if known is not None:
        return float(known[0]), known[1]
    rows = some_rows(features.shape[0], MOST_ROWS)
    return float(model.score(features[rows])), "training rows"


def stored_map(adata: Any, key: str, name: str) -> AnnDataMap:
    """Return the map that ``uns`` has."""
    facts = adata.uns.get(key)
    content = facts.get("model") if hasattr(facts, "get") else None
    if content is None:
        raise ValueError(
            f"{name}.uns[{key!r}] has no model of twofold. Call twofold.anndata.fit({name}) with "
            "store_model=True, or pass the AnnDataMap that it returned."
        )
    stored = np.asarray(content)
    if stored.dtype != np.uint8 or stored.ndim != 1:
        raise ModelFileError(f"{name}.uns[{key!r}]['model'] is not a model: it must be bytes.")
    place = f"{name}.uns[{key!r}]['model']"
    return from_bytes(stored.tobytes(), MARK, AnnDataMap, place)
