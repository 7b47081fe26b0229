r"""Stochastic neighbor embedding with spectral guidance and both maps.

Each row chooses the others as its neighbor with probabilities ``P_ij`` given by distances in the
data, and ``Q_ij`` given by distances of latents. The latents minimize the mean Kullback-Leibler
divergence over the rows (Memisevic & Hinton 2005, Eqs. 1-4). By default a perplexity sets the
bandwidth of each row; ``bandwidth`` is the paper's single one. No row is its own neighbor;
``include_self`` sums over all rows as the equations are printed.

By default distances in the data are lengths of paths along the data, and classical scaling of the
same paths is the start (`twofold.sne.along`). The paper has Euclidean distances, whose
neighborhoods reach from one sheet of a roll to the next.

From another start, early steps are *guided*: affinities of the data make neighbors move together,
which untangles a poor start (`twofold.optimize.guidance`). With gradient descent this is the
paper's method; other minimizers change variables by stages (`twofold.optimize.staged`). The last
steps minimize the plain divergence, and ``history_`` records the plain divergence throughout.

Both maps are learned for the latents as in `TwoWay`, chosen by held-out error.

Up to 500 rows all pairs count (2,000 with a given bandwidth). Beyond, each row sees its nearest
neighbors, three times the perplexity, and the normalizers of Eq. (2) are sums over cells or a grid:
time and memory are linear in the number of rows.

Notation
--------
==================  ==========================
Memisevic & Hinton  here
==================  ==========================
``y_i``             rows of data
``x_i``             ``embedding_``
``h``               ``bandwidth``
``E``               ``kl_divergence_``
==================  ==========================

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005.
G. Hinton, S. Roweis. Stochastic neighbor embedding. NIPS 15, 2003.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.convergence import warn_if_cut_short
from twofold.base.estimator import TwoWayEstimator
from twofold.base.guidance import check_guidance, prepare_guide
from twofold.base.maps_for_latents import MapSettings, learn_maps
from twofold.base.problem import Learned, Problem
from twofold.kernels import Gaussian
from twofold.maps.projection import Projection
from twofold.numerics.linalg import sqdist
from twofold.numerics.neighbors import nearest_neighbors
from twofold.numerics.probabilities import neighbor_matrix, probabilities_of, sparse_probabilities
from twofold.numerics.sums.cells import sorted_into_columns
from twofold.numerics.sums.grid import GridWeights, weigh_many
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.sums.weights import SelfWeights
from twofold.numerics.threads import single_threaded_blas
from twofold.numerics.units import bandwidth_in_units
from twofold.numerics.validation import (
    RandomLike,
    check_bool,
    check_choice,
    check_int,
    check_real,
    is_auto,
)
from twofold.optimize import SpectralGuidance, guided_minimizer, resolve_minimizer
from twofold.protocols import Array, IntArray, Map, Minimizer, Objective
from twofold.sne.along import Paths
from twofold.sne.divergence import NeighborEmbedding, SparseNeighborEmbedding
from twofold.starts.named import latents_of, unit_variance

MOST_DENSE, MOST_EXACT = 500, 2_000
"""Rows up to which all pairs count: by default, and with the paper's single bandwidth."""

NEIGHBORS_OF_FIXED = 90
"""Neighbors of each of many rows if the bandwidth is given."""

LEFT_OUT = 5e-5
"""Kernel values below this are left out if there are many rows."""

LEAST_PERPLEXITY = 1.5
EVALUATIONS_BETWEEN_CHOICES = 20


class _Weigher:
    """Gaussian weights by cells or on a grid; which costs less is found every 20 evaluations.

    It is found again if the latents spread, since a grid has nodes between them too.
    """

    def __init__(self, radius: float) -> None:
        self._radius = radius
        self._calls = 0
        self._most_nodes = 0

    def __call__(self, Z: Array) -> SelfWeights:
        self._calls += 1
        grid = GridWeights(Z)
        if self._calls % EVALUATIONS_BETWEEN_CHOICES != 1 and grid.n_nodes <= self._most_nodes:
            return grid
        weights = weigh_many(Z, Gaussian(), self._radius, masses_alone=True)
        self._most_nodes = 2 * grid.n_nodes if isinstance(weights, GridWeights) else 0
        return weights


def _with_self(neighbors: IntArray) -> IntArray:
    """Return neighbors (n, k) with the row itself before them, (n, k + 1)."""
    return np.column_stack([np.arange(len(neighbors), dtype=neighbors.dtype), neighbors])


class SNE(TwoWayEstimator):
    """Stochastic neighbor embedding with spectral guidance and both maps.

    Parameters
    ----------
    n_components : int, default=2
        Number of latent dimensions.
    perplexity : float, default=30.0
        Effective number of neighbors of a row, which sets its bandwidth. At most a third of the
        other rows is used, see ``perplexity_``.
    bandwidth : float, default=None
        One bandwidth ``h`` for all rows instead, in squared units of the data: ``P_ij`` is
        proportional to ``exp(-|x_i - x_j|^2 / h)``.
    distances : {"geodesic", "euclidean"}, default="geodesic"
        Distances of rows: lengths of shortest paths in a graph of 20 mutual neighbors, or the
        Euclidean distances of the paper.
    include_self : bool, default=False
        Whether a row counts among its own neighbors, as Eqs. (1) and (2) are printed. With True the
        perplexity counts the row too.
    guidance : "auto", None or SpectralGuidance, default="auto"
        Guides the first steps. "auto" is ``SpectralGuidance()``, or none from the geodesic start,
        which needs none; None is plain minimization.
    optimizer : {"lbfgs", "rprop", "gd", "cg"} or Minimizer, default="lbfgs"
        Minimizes the divergence; "gd" is the paper's.
    max_iter : int, default=300
        Maximum number of iterations, including guided ones.
    tol : float, default=3e-5
        Relative decrease of the divergence below which the run ends.
    init : str, array-like, callable or estimator, default="auto"
        The initial latents: the name of an initializer ("pca", "random", "isomap",
        "laplacian_eigenmaps", ...), latents of shape (n_samples, n_components), a function of
        ``(X, n_components, rng)`` or an estimator with ``fit_transform``. "auto" embeds geodesic
        distances by classical scaling; with Euclidean distances it is "pca". Named initializations
        are scaled to unit variance, arrays are not: latent kernels have the width ``1 / sqrt(2)``.
    up, down, n_centers
        The maps, as in `TwoWay`.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the initialization, the neighbor search and the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads; None means all cores.
    verbose : int, default=0
        1 logs the phases of a fit and, every few seconds, its progress; 2 logs every iteration.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The latents.
    kl_divergence_ : float
        Final mean divergence of a row, Eq. (3).
    history_ : ndarray of shape (n_iter_ + 1,)
        The divergence at the start and after each iteration, guided or not.
    perplexity_ : float
        The perplexity in use; NaN if the bandwidth was given.
    guidance_bandwidth_ : float
        The bandwidth of the guiding affinities, in squared units of the data; NaN without guidance
        or with a given matrix.
    n_iter_ : int
        Number of iterations, including guided ones.
    up_, down_, candidates_
        The maps in use and the pairs that were compared, as in `TwoWay`.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    See Also
    --------
    TwoWay : Both maps for other embeddings, including t-SNE.

    Examples
    --------
    >>> from twofold import SNE
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(200, random_state=0)
    >>> model = SNE(perplexity=15, random_state=0).fit(X)
    >>> model.transform(X).shape, model.score(X) > 0.95
    ((200, 2), True)
    """

    distances = "euclidean"  # of models in files that are older than the parameter
    include_self = False

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        bandwidth: float | None = None,
        distances: str = "geodesic",
        include_self: bool = False,
        guidance: str | SpectralGuidance | None = "auto",
        optimizer: str | Minimizer = "lbfgs",
        max_iter: int = 300,
        tol: float = 3e-5,
        init: Any = "auto",
        up: str | Map = "auto",
        down: str | Map | Projection = "auto",
        n_centers: int | str = "auto",
        scale: Any = None,
        random_state: RandomLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.bandwidth = bandwidth
        self.distances = distances
        self.include_self = include_self
        self.guidance = guidance
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.up = up
        self.down = down
        self.n_centers = n_centers
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, problem: Problem) -> Learned:
        settings = self._checked_maps()
        unit = problem.units.unit(2)
        with problem.progress.phase("neighbors"):
            paths = self._paths(problem)
            perplexity = self._perplexity(len(problem.data))
            neighbors, objective = self._objective(problem, perplexity, paths)
        with problem.progress.phase("start"):
            start = self._start(problem, paths)
            guide = prepare_guide(self._guidance(), problem.data, unit, neighbors)
            order = np.arange(len(start))
            if isinstance(objective, SparseNeighborEmbedding):  # neighbors close in memory
                order, _ = sorted_into_columns(start)
                objective = objective.take(order)
                guide = None if guide is None else guide.take(order)
        minimizer = resolve_minimizer(self.optimizer, max_iter=int(self.max_iter), tol=self.tol)
        most = int(getattr(minimizer, "max_iter", self.max_iter))
        with problem.progress.phase("minimization", max_iter=None, at_most=most) as callback:

            def on_iteration(number: int, value: float, Z: Array) -> bool:
                return callback(number, value, Z) or number >= most

            guided = guided_minimizer(minimizer, guide)
            with single_threaded_blas():  # products with a few columns
                result = guided.minimize(objective, start[order], callback=on_iteration)
        warn_if_cut_short(result, most, "divergence")
        Z = np.empty_like(result.Z)
        Z[order] = result.Z
        attributes = {
            "kl_divergence_": max(0.0, result.value),  # rounding may give less than 0
            "history_": result.history,
            "perplexity_": perplexity,
            "guidance_bandwidth_": np.nan if guide is None else guide.bandwidth * unit,
            "n_iter_": max(1, result.n_iter),
        }
        return learn_maps(settings, problem, Z - Z.mean(axis=0), attributes)

    def _checked_maps(self) -> MapSettings:
        """Check all settings and return those of the maps."""
        check_real("perplexity", self.perplexity, above=1.0)
        if self.bandwidth is not None:
            check_real("bandwidth", self.bandwidth, above=0.0)
        check_choice("distances", self.distances, ("geodesic", "euclidean"))
        check_bool("include_self", self.include_self)
        check_guidance(self.guidance, self.optimizer, words=("auto",))
        check_int("max_iter", self.max_iter)
        resolve_minimizer(self.optimizer, max_iter=1, tol=self.tol)
        return MapSettings(self.up, self.down, self.n_centers)

    def _paths(self, problem: Problem) -> Paths | None:
        """Return the paths along the data, None if distances are Euclidean."""
        if self.distances == "euclidean":
            return None
        return Paths.of(problem.data, problem.rng, few=self._is_dense(len(problem.data)))

    def _guidance(self) -> SpectralGuidance | None:
        """Return the guidance of the first steps."""
        if not isinstance(self.guidance, str):
            return self.guidance
        from_paths = is_auto(self.init) and self.distances == "geodesic"
        return None if from_paths else SpectralGuidance()

    def _start(self, problem: Problem, paths: Paths | None) -> Array:
        """Return the first latents (n, q)."""
        if is_auto(self.init) and paths is not None:
            Z = paths.start(problem.n_components, problem.rng)
        else:
            init = "pca" if is_auto(self.init) else self.init
            Z = latents_of(init, unit_variance(problem.data), problem)
        if not isinstance(self.init, str):
            if not np.ptp(Z, axis=0).any():
                raise ValueError(
                    "init has all latents in one place, where no gradient separates them. Give "
                    "latents that vary."
                )
            return Z
        Z = Z - Z.mean(axis=0)
        unit: Array = Z / (float(np.sqrt(np.square(Z).mean())) or 1.0)
        return unit

    def _perplexity(self, n: int) -> float:
        """Return the perplexity in use; NaN if the bandwidth is given."""
        if self.bandwidth is not None:
            return np.nan
        return min(float(self.perplexity), max((n - 1) / 3.0, LEAST_PERPLEXITY))

    def _is_dense(self, n: int) -> bool:
        """Tell whether all pairs of rows count."""
        return n <= (MOST_DENSE if self.bandwidth is None else MOST_EXACT)

    def _objective(
        self, problem: Problem, perplexity: float, paths: Paths | None
    ) -> tuple[IntArray | None, Objective]:
        """Return the neighbors (n, k) that many rows see, None for few rows, and the divergence."""
        data, width = problem.data, {"perplexity": perplexity}
        if self.bandwidth is not None:
            fixed = bandwidth_in_units(float(self.bandwidth), problem.units.unit(2))
            width = {"bandwidth": fixed}
        if self._is_dense(len(data)):
            given = None if paths is None else paths.squares
            squares = sqdist(data, data) if given is None else given
            P = probabilities_of(squares, **width, include_self=bool(self.include_self))
            return None, NeighborEmbedding(P, bool(self.include_self))
        k = NEIGHBORS_OF_FIXED if np.isnan(perplexity) else int(np.ceil(3.0 * perplexity))
        k = min(k, len(data) - 1)
        if paths is None:
            neighbors = nearest_neighbors(data, k, problem.rng)
            seen = _with_self(neighbors) if self.include_self else neighbors
            sparse = neighbor_matrix(data, seen, **width)
        else:
            neighbors, squares = paths.nearest(k)
            seen = _with_self(neighbors) if self.include_self else neighbors
            squares = np.pad(squares, ((0, 0), (seen.shape[1] - neighbors.shape[1], 0)))
            sparse = sparse_probabilities(squares, seen, **width)
        weigher = _Weigher(kernel_radius(Gaussian(), LEFT_OUT))
        return neighbors, SparseNeighborEmbedding(sparse, weigher, bool(self.include_self))

    def _learn_constant(self, problem: Problem) -> Learned:
        learned = super()._learn_constant(problem)
        attributes = {
            "kl_divergence_": 0.0,
            "history_": np.zeros(1),
            "perplexity_": np.nan,
            "guidance_bandwidth_": np.nan,
            "n_iter_": 1,
            **MapSettings(self.up, self.down, self.n_centers).first,
        }
        return replace(learned, attributes=attributes)
