r"""Fits in the frame of another model: where rows begin, what pulls them, and what is left over.

Rows that both tables have are *shared*: their places in the old model's latent space are known. If
the tables have the same features, the old model places every row, and the rows that it reconstructs
well count as shared.

1. **Start.** Shared rows begin at their places. Other rows begin where the old model puts them or,
   if it does not know the features, at the geometric median of the places of their nearest shared
   rows in the new table, with a little jitter.
2. **Fit.** The method starts there. Kernel regression also pulls shared rows that leave a radius of
   ``FREE_SHARE`` of the map (`twofold.optimize.row_pull`).
3. **Registration.** An affine map takes the latents of shared rows to their places: that of least
   squares, scaled to the spread of the places. It becomes part of the latent units, so both maps,
   and all errors, stay as they are.

Distances are shares of the map: of the root of the mean squared distance between two rows of the
old model's ``embedding_``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils.validation import _num_samples, check_is_fitted

from twofold.base.alignment import Alignment, alignment_of
from twofold.base.dask_inputs import is_dask
from twofold.base.dimensions import check_n_components
from twofold.base.problem import Anchors, Learned, Problem
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.quiet import quiet
from twofold.numerics.validation import is_auto, warn_user
from twofold.protocols import Array, IntArray
from twofold.starts.coarse_map import JITTER, middles

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

N_NEAREST = 5
"""Shared rows whose places give that of another row."""

KNOWN = 3.0
"""Rows with up to this many times the median reconstruction error are known to the old model."""

SAME_FEATURES = 0.2
"""The old model knows the features if it puts shared rows this near to their places, in shares of
the map."""

LEAST_COMMON = 0.5
"""Share of the old model's columns that a frame must have for the old model to place its rows."""

FAR_APART = 0.05
"""Median distance of shared rows, as a share of the map, above which a warning is given."""

ROWS_PER_NUMBER = 4
"""Shared rows for each number of an affine map; fewer determine a similarity only."""

LEAST_STRETCH = 0.05
"""An affine map that shrinks a direction to less, relative to another one, is not used."""


LOG_DENSITY = "log_density_threshold_"
"""A learned attribute that is a value of `log_density`."""


@dataclass(frozen=True)
class OldMap:
    """The old model as an aligned fit sees it.

    ``extent`` is the size of its map, ``rows`` (m,) are the numbers of the shared rows of X,
    ``latents`` (m, q) their places. ``places`` (n, q) are those of all rows by the old model, if it
    knows the features.
    """

    extent: float
    rows: IntArray
    latents: Array
    places: Array | None

    @classmethod
    def of(cls, X: Any, align_to: Any, shared: Any) -> OldMap | None:
        """Check the arguments of a fit, and ask the old model for the places of rows."""
        if align_to is None:
            if shared is not None:
                raise ValueError("shared is given without align_to: pass the old model, too.")
            return None
        if isinstance(align_to, OldMap):
            return align_to
        if is_dask(X):
            raise TypeError(
                "align_to is not supported for Dask collections. Fit arrays in memory: X.compute()."
            )
        embedding = latents_of_model("align_to", align_to, of_rows=shared is not None)
        if shared is None:
            return cls._of_shared_features(X, align_to, embedding)
        pairs = check_pairs(shared, _num_samples(X), *embedding.shape)
        rows, latents = pairs[:, 0], embedding[pairs[:, 1]]
        places = _places_by(align_to, X)
        if places is not None:
            gaps = np.sqrt(row_norms_sq(places[rows] - latents))
            if not np.median(gaps) <= SAME_FEATURES * extent_of(embedding):
                places = None
        return cls(extent_of(embedding), rows, latents, places)

    @classmethod
    def _of_shared_features(cls, X: Any, model: Any, embedding: Array) -> OldMap:
        places = _places_by(model, X, must=True)
        assert places is not None
        with quiet():
            found = model.reconstruction_error(known_columns(model, X))
        errors = np.asarray(found, dtype=np.float64)
        rows = np.flatnonzero(errors <= KNOWN * np.median(errors))
        if len(rows) < embedding.shape[1] + 1:
            raise ValueError(
                f"align_to knows only {len(rows)} rows of X; a map of {embedding.shape[1]} latent "
                f"dimensions needs {embedding.shape[1] + 1}. Pass more rows."
            )
        return cls(extent_of(embedding), rows, places[rows], places)

    def anchors(self, model: TwoWayEstimator, problem: Problem) -> Problem:
        """Return the problem with the start and the places of its rows."""
        q, asked = self.latents.shape[1], getattr(model, "n_components", None)
        if asked is None or is_auto(asked):
            problem = replace(problem, n_components=check_n_components(q, *problem.original.shape))
        if problem.n_components != q:
            raise ValueError(
                f"n_components={problem.n_components}, but align_to has {q} latent dimensions. Use "
                f"n_components={q}."
            )
        start = self.places
        if start is None:
            start = placed(problem.data, self.rows, self.latents, problem.rng)
        start = np.array(start)
        start[self.rows] = self.latents
        return replace(problem, anchors=Anchors(start, self.rows, self.latents, self.extent))

    @classmethod
    def known(cls, anchors: Anchors) -> OldMap:
        """Return the frame of anchors that have been found."""
        return cls(anchors.extent, anchors.rows, anchors.latents, anchors.start)


def latents_of_model(name: str, model: Any, *, of_rows: bool = False) -> Array:
    """Return the latents (n, q) of a fitted model, or raise an error that names the argument.

    Those of a compressed model are not ``of_rows``.
    """
    if not (hasattr(model, "transform") and hasattr(model, "inverse_transform")):
        raise TypeError(f"{name}={model!r} must be a fitted model of twofold.")
    check_is_fitted(model)
    embedding = np.asarray(model.embedding_, dtype=np.float64)
    if of_rows and hasattr(model, "compression_"):
        raise ValueError(
            f"{name} is compressed: its embedding_ has prototypes, so shared cannot name its rows. "
            "Use the model that was compressed."
        )
    if not len(embedding):
        raise ValueError(f"{name} keeps no latents of its rows. Fit it with store_embedding=True.")
    if not extent_of(embedding) > 0.0:
        raise ValueError(f"{name} has all its rows in one place: there is no map to align to.")
    return embedding


def check_pairs(shared: Any, n_new: int, n_old: int, n_components: int) -> IntArray:
    """Return pairs of row numbers (m, 2), of the new and of the old table."""
    wanted = "an array of pairs (row of X, row of the old model's embedding_), of shape (m, 2)"
    try:
        pairs = np.stack(shared, axis=1) if isinstance(shared, tuple) else np.asarray(shared)
    except (TypeError, ValueError) as error:
        raise ValueError(f"shared must be {wanted}, or a tuple of two arrays.") from error
    if pairs.ndim != 2 or pairs.shape[1] != 2 or (pairs.size and pairs.dtype.kind not in "iu"):
        raise ValueError(
            f"shared must be {wanted}; it has shape {pairs.shape} and type {pairs.dtype}."
        )
    for column, n, name in ((0, n_new, "X"), (1, n_old, "the old model's embedding_")):
        outside = (pairs[:, column] < 0) | (pairs[:, column] >= n)
        if outside.any():
            raise ValueError(
                f"shared: {int(pairs[outside, column][0])} is not a row of {name}, which has {n} "
                "rows."
            )
        numbers, counts = np.unique(pairs[:, column], return_counts=True)
        if (counts > 1).any():
            raise ValueError(
                f"shared: row {int(numbers[counts > 1][0])} of {name} is in more than one pair. "
                "Keep one of them."
            )
    if len(pairs) < n_components + 1:
        raise ValueError(
            f"shared has {len(pairs)} pairs of rows; a map of {n_components} latent dimensions "
            f"needs at least {n_components + 1}."
        )
    return pairs.astype(np.intp)


def extent_of(embedding: Array) -> float:
    """Return the root of the mean squared distance between two rows of a map (n, q)."""
    return float(np.sqrt(2.0 * row_norms_sq(embedding - embedding.mean(axis=0)).mean()))


def _places_by(model: Any, X: Any, *, must: bool = False) -> Array | None:
    """Return the places (n, q) of rows by the old model; None if it does not know the features."""
    try:
        with quiet():
            return np.asarray(model.transform(known_columns(model, X)), dtype=np.float64)
    except (ValueError, TypeError, KeyError) as error:
        if not must:
            return None
        raise ValueError(
            f"shared=None needs the features of align_to, which cannot place the rows of X: "
            f"{error} If rows are shared instead, pass their numbers as shared."
        ) from error


def known_columns(model: Any, X: Any) -> Any:
    """Return a pandas frame with the columns of the old model; those that X lacks are gaps.

    Frames with less than half of the columns, and other inputs, stay as they are.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None or not hasattr(X, "reindex"):
        return X
    n_common = len(set(names) & set(X.columns))
    if list(X.columns) == list(names) or n_common < LEAST_COMMON * len(names):
        return X
    return X.reindex(columns=list(names))


def placed(data: Array, rows: IntArray, latents: Array, rng: np.random.Generator) -> Array:
    """Place rows (n, D) by the places (m, q) of the shared ``rows`` (m,) nearest to them."""
    k = min(N_NEAREST, len(rows))
    near, _ = nearest(data[rows], data, k, rng=rng)
    places = middles(latents[near])
    distances = np.asarray(cKDTree(latents).query(latents, k=2)[0])[:, 1]
    spacing = float(np.median(distances[np.isfinite(distances)]))
    jittered: Array = places + JITTER * spacing * rng.standard_normal(places.shape)
    return jittered


def learned_of(model: TwoWayEstimator, problem: Problem) -> Learned:
    """Return what a model learns, in the frame of the anchors if there are some."""
    anchors = problem.anchors
    if anchors is None or model._aligns_itself:
        return model._learn(problem)
    made, parameters = copy(model), model.get_params(deep=False)
    for name in ("init", "embedding"):
        if name in parameters and not model._pulls_rows:
            setattr(made, name, anchors.start)
    if is_auto(parameters.get("n_components", 0)):
        made.n_components = problem.n_components
    learned = made._learn(problem)
    latents = learned.latents
    if len(latents):
        known = latents[anchors.rows]
    else:
        known = learned.units.back(learned.encoder.predict(problem.data[anchors.rows]))
    moved = Move.between(known, anchors.latents)
    alignment = moved.report(known, anchors.latents, anchors.extent)
    if alignment.median > FAR_APART:
        warn_user(
            f"align_to: {alignment}. The tables put them in different places, or "
            f"{type(model).__name__} cannot follow the old map; UKR follows it most closely.",
            UserWarning,
        )
    attributes = moved.attributes(learned.attributes) | {"alignment_": alignment}
    return replace(
        learned,
        latents=moved(latents) if len(latents) else latents,
        units=moved.units(learned.units),
        attributes=attributes,
    )


@dataclass(frozen=True)
class Move:
    """An affine map ``z A + b`` of latents into another frame."""

    matrix: Array
    offset: Array

    @classmethod
    def between(cls, before: Array, after: Array) -> Move:
        """Return the map of least squares from latents (m, q) to their places (m, q).

        It is scaled to the spread of the places: least squares shrink what agrees badly.
        """
        q = before.shape[1]
        middle, center = before.mean(axis=0), after.mean(axis=0)
        inside, outside = before - middle, after - center
        left, stretch, right = np.linalg.svd(inside.T @ outside)
        spread = float(np.square(inside).sum())
        scale = float(stretch.sum()) / spread if spread > 0.0 else 0.0
        size = float(np.linalg.norm(outside))
        if not scale > 0.0:
            raise ValueError(
                "align_to: the latents of the shared rows are all in one place. Pass more shared "
                "rows, or rows that differ."
            )
        matrix = scale * (left @ right)
        if len(before) >= ROWS_PER_NUMBER * (q + 1):
            affine = np.linalg.lstsq(inside, outside, rcond=None)[0]
            values = np.linalg.svd(affine, compute_uv=False)
            if values[-1] > LEAST_STRETCH * values[0]:
                matrix = affine
        matrix = matrix * (size / float(np.linalg.norm(inside @ matrix)))
        return cls(matrix, center - middle @ matrix)

    def __call__(self, latents: Array) -> Array:
        """Return the places (n, q) of latents (n, q)."""
        moved: Array = latents @ self.matrix + self.offset
        return moved

    def report(self, before: Array, after: Array, extent: float) -> Alignment:
        """Return how near latents (m, q) get to their places (m, q) in a map of this extent."""
        return alignment_of(np.sqrt(row_norms_sq(self(before) - after)) / extent)

    def attributes(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the learned attributes of a model whose latents are moved."""
        if LOG_DENSITY not in found:
            return found
        log_volume = float(np.linalg.slogdet(self.matrix)[1])
        return found | {LOG_DENSITY: found[LOG_DENSITY] - log_volume}

    def units(self, units: Any) -> AffineUnits:
        """Return the units of moved latents, given those of the latents before."""
        back: Array = np.linalg.inv(self.matrix).astype(np.float64)
        return AffineUnits.behind(units, self.offset, back, self.matrix, self.offset)


def moved_model(
    model: TwoWayEstimator, move: Move, before: Array, after: Array, extent: float
) -> TwoWayEstimator:
    """Return a copy of a fitted model whose latents are moved; the maps inside are shared."""
    made = copy(model)
    state = {
        "embedding_": move(model.embedding_),
        "_latent_units": move.units(model._latent_units),
        "alignment_": move.report(before, after, extent),
    }
    moved = move.attributes(dict(vars(model))) | state
    names = dict.fromkeys(getattr(model, "_learned_names", ())) | state
    made.__dict__.update(moved, _learned_names=tuple(names))
    if model._unwrapped is not model:
        made.best_estimator_ = moved_model(model._unwrapped, move, before, after, extent)
    return made


def domain_of(model: Any) -> Any:
    """Return the domain of a model's latents in their own units; None if latents were moved."""
    if isinstance(getattr(model, "_latent_units", None), AffineUnits):
        return None
    return getattr(model.decoder_, "domain", None)
