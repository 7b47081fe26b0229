r"""How unusual rows are: four views, each with its p-value, combined into one score.

With the residual r of a row x at its latent z, and ``u = r / sigma(z)`` in usual deviations at that
place of the map (`twofold.calibration.spread`):

=========  =====================================================================================
residual   the Mahalanobis distance of u under a factor model of such residuals: what the
           manifold leaves out varies together too, and a combination that breaks this is unusual
cell       the largest ``|u_d|``, in units of what 99 % of the rows have in that column
support    the latent density at z
near       the mean distance to the five nearest training rows, over the same mean of those rows
=========  =====================================================================================

Each is compared with that of training rows under maps that do not know them, and becomes
``s = -log10`` of a p-value (`twofold.calibration.tails`). Their combination

.. math:: s_{residual} + s_{near} + \max(s_{residual}, s_{cell}, s_{support}, s_{near})

is compared once more in the same way: the p-values depend on each other, so the distribution of a
sum is not that of independent ones.

Weights and parts were chosen on classes of MNIST, optdigits, segment and vehicle, and on tables
with planted errors, by the area under the ROC curve and the ranks of the errors. The residual and
the near rows separate classes best (0.930 on average; with all four in the maximum 0.925, the
largest of all four alone 0.907, the sum of all four 0.92). The cell and the density find single
wrong cells and rows that networks encode far outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from twofold.calibration.cross_fit import N_FOLDS
from twofold.calibration.spread import Spread
from twofold.calibration.tails import Tail
from twofold.numerics.factor_model import BoolArray, FactorModel
from twofold.numerics.linalg import k_smallest, row_norms_sq
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray

VIEWS: Final = ("residual", "cell", "support", "near")

N_NEAR = 5
CELL_QUANTILE = 0.99
LEAST_CELL = 0.3
"""Deviations that a cell's unit has at least, for columns that hardly ever leave the manifold."""

LEAST_DISTANCE = 0.01
"""The smallest distance to near rows, as a share of the mean one: tables with repeated rows."""

LARGEST, LARGEST_SINGLE = 1e150, 1e38


@dataclass(frozen=True)
class Rows:
    """Rows as the views see them, in centered units.

    ``data`` (n, D) has its gaps filled, ``observed`` (n, D) marks the others; ``latents`` (n, q),
    ``residuals`` (n, D) and ``log_densities`` (n,) belong to them.
    """

    data: Array
    observed: BoolArray
    latents: Array
    residuals: Array
    log_densities: Array


@dataclass(frozen=True)
class Unusual:
    """Scores of rows beside training rows.

    Attributes
    ----------
    known : Rows
        Training rows, with the residuals of maps that do not know them.
    spread : Spread
        Deviations of such residuals.
    """

    known: Rows
    spread: Spread

    @cached_property
    def _whitened(self) -> Array:
        """Residuals of the training rows in usual deviations (m, D)."""
        return self.known.residuals / self.spread.own

    @cached_property
    def _factors(self) -> FactorModel:
        return FactorModel.fit(self._whitened, self.known.observed, n_iter=0)

    @cached_property
    def _cell_units(self) -> Array:
        """What 99 % of the rows have at most, of each column (D,)."""
        cells = np.where(self.known.observed, np.abs(self._whitened), np.nan)
        some = self.known.observed.any(axis=0)
        units = np.ones(cells.shape[1])
        units[some] = np.nanquantile(cells[:, some], CELL_QUANTILE, axis=0)
        return units + LEAST_CELL

    @cached_property
    def _known_distances(self) -> Array:
        """The mean distances (m,) of the training rows to their nearest others."""
        return self._distances(self.known.data, itself=True)[0]

    @cached_property
    def _least_distance(self) -> float:
        return LEAST_DISTANCE * float(self._known_distances.mean()) + 1e-150

    @cached_property
    def _known_views(self) -> dict[str, Array]:
        """The views of the training rows, each by factors of the other folds."""
        folds, whitened, observed = self.spread.found.folds, self._whitened, self.known.observed
        residual = np.empty(len(whitened))
        for fold in range(N_FOLDS):
            own, others = folds == fold, folds != fold
            if own.any():
                model = self._factors
                if others.any():
                    model = FactorModel.fit(whitened[others], observed[others], n_iter=0)
                residual[own] = _mahalanobis(model, whitened[own], observed[own])
        near = self._relative(*self._distances(self.known.data, itself=True))
        return {
            "residual": residual,
            "cell": self._largest_cell(whitened, observed),
            "support": self._lack_of_support(self.known.log_densities),
            "near": near,
        }

    @cached_property
    def _tails(self) -> dict[str, Tail]:
        return {name: Tail(values) for name, values in self._known_views.items()}

    @cached_property
    def known_scores(self) -> Array:
        """The combined scores of the training rows (m,), before they are compared once more."""
        return _combined({name: self._tails[name].own_log_p for name in VIEWS})

    @cached_property
    def _tail(self) -> Tail:
        return Tail(self.known_scores)

    def scores(self, rows: Rows, changes: Array) -> Array:
        """Return ``-log10`` of the p-values (n,) of rows.

        ``changes`` (n,) are those of columns that are constant in the training rows. A training row
        gets the score of the maps that do not know it.
        """
        whitened = self.whitened(rows)
        views = {
            "residual": _mahalanobis(self._factors, whitened, rows.observed),
            "cell": self._largest_cell(whitened, rows.observed),
            "support": self._lack_of_support(rows.log_densities),
            "near": self._relative(*self._distances(rows.data)),
        }
        combined = _combined({name: self._tails[name].log_p(views[name]) for name in VIEWS})
        largest = float(self.known_scores.max())
        moved = largest + self._tail.scale * (3.0 + np.log1p(np.minimum(changes, LARGEST)))
        combined = np.where(changes > 0.0, np.maximum(combined, moved), combined)
        places = self._places_among_known(rows)
        known = (places >= 0) & ~(changes > 0.0)
        return np.where(known, self._tail.own_log_p[places], self._tail.log_p(combined))

    def whitened(self, rows: Rows) -> Array:
        """Return residuals in usual deviations (n, D), 0 in gaps; known ones for training rows."""
        whitened = np.where(rows.observed, rows.residuals, 0.0) / self.spread.usual(rows.latents)
        whitened = np.clip(whitened, -LARGEST, LARGEST)
        places = self._places_among_known(rows)
        own = places >= 0
        whitened[own] = self._whitened[places[own]]
        return whitened

    def _places_among_known(self, rows: Rows) -> IntArray:
        """Return the places (n,) of rows among the training rows, or -1 for new rows."""
        known = self._known_places
        places = np.full(len(rows.data), -1, dtype=np.intp)
        single = np.clip(rows.data, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32)
        for number, row in enumerate(single):
            places[number] = known.get(row.tobytes() + rows.observed[number].tobytes(), -1)
        return places

    @cached_property
    def _known_places(self) -> dict[bytes, int]:
        """The places of the training rows; of equal rows the one of the lowest score."""
        single = self.known.data.astype(np.float32)
        order = np.argsort(-self.known_scores, kind="stable")
        return {
            single[place].tobytes() + self.known.observed[place].tobytes(): int(place)
            for place in order
        }

    def _largest_cell(self, whitened: Array, observed: BoolArray) -> Array:
        largest = np.where(observed, np.abs(whitened) / self._cell_units, 0.0).max(axis=1)
        logs: Array = np.log(largest + 1e-3)
        return logs

    def _lack_of_support(self, log_densities: Array) -> Array:
        """Return how far densities (n,) lie below the highest one, in deviations of a normal."""
        below = np.maximum(float(self.known.log_densities.max()) - log_densities, 0.0)
        return np.log(np.sqrt(2.0 * below) + 1e-3)

    def _distances(self, data: Array, *, itself: bool = False) -> tuple[Array, IntArray]:
        """Return mean distances (n,) of rows to the nearest training rows, and their places."""
        known = self.known.data
        n_near = max(1, min(N_NEAR, len(known) - itself))
        norms = row_norms_sq(known)
        distances = np.empty(len(data))
        places = np.empty((len(data), n_near), dtype=np.intp)
        reach = np.clip(data, -LARGEST, LARGEST)

        def work(rows: slice) -> None:
            ranks = norms - 2.0 * row_product(reach[rows], known.T)
            if itself:
                ranks[np.arange(len(ranks)), np.arange(rows.start, rows.stop)] = np.inf
            places[rows] = k_smallest(ranks, n_near)
            offsets = reach[rows][:, None] - known[places[rows]]
            with np.errstate(over="ignore"):
                squares = np.einsum("nkd,nkd->nk", offsets, offsets)
            distances[rows] = np.sqrt(np.minimum(squares, LARGEST**2)).mean(axis=1)

        map_blocks(work, row_blocks(len(data), 8 * (2 * len(known) + 2 * n_near * data.shape[1])))
        return distances, places

    def _relative(self, distances: Array, places: IntArray) -> Array:
        """Return log distances (n,) relative to those of the nearest training rows."""
        usual = np.log(self._known_distances + self._least_distance)[places].mean(axis=1)
        relative: Array = np.log(distances + self._least_distance) - usual
        return relative


def _combined(parts: dict[str, Array]) -> Array:
    """Return the combined scores (n,) of the scores of all views."""
    largest = np.max([parts[name] for name in VIEWS], axis=0)
    combined: Array = parts["residual"] + parts["near"] + largest
    return combined


def _mahalanobis(model: FactorModel, whitened: Array, observed: BoolArray) -> Array:
    """Return the log of mean squared Mahalanobis distances (n,) over the observed cells."""
    largest = 1e100
    cells = np.where(observed, np.clip(whitened, -largest, largest) - model.mean, 0.0)
    noise = np.maximum(model.noise, 1.0 / largest)
    effects = row_product(cells, model.loadings / noise[:, None])
    squares = row_product(np.square(cells), (1.0 / noise)[:, None])[:, 0]
    complete, rank = observed.all(axis=1), model.loadings.shape[1]
    explained = np.empty(len(cells))
    system = np.eye(rank) + (model.loadings.T / noise) @ model.loadings
    explained[complete] = _quadratic(
        effects[complete], np.asarray(np.linalg.inv(system), dtype=np.float64)
    )
    with_gaps = np.flatnonzero(~complete)
    if len(with_gaps):
        flags = observed[with_gaps]
        _, covariances = model._factors(cells[with_gaps], flags, model._products())
        each = np.matmul(covariances, effects[with_gaps][:, :, None])[:, :, 0]
        explained[with_gaps] = (each * effects[with_gaps]).sum(axis=1)
    distances = np.maximum(squares - explained, 1e-9 * squares) / observed.sum(axis=1)
    logs: Array = np.log(distances + 1e-6)
    return logs


def _quadratic(rows: Array, matrix: Array) -> Array:
    found: Array = (row_product(rows, matrix) * rows).sum(axis=1)
    return found
