"""Isomap on a connected graph, with both maps.

A-Isomap (Orsenigo & Vercellis 2012, section 2.1): link each row to its nearest neighbors; while the
graph has several components, join the two closest at their closest points; take shortest paths as
geodesic distances; find coordinates by classical scaling. Few neighbors then suffice, and no fold
is short-cut to make the graph connected. That graph is ``graph="knn"``.

Noise between two folds still makes short circuits in it. By default the graph has mutual neighbors
and the minimum spanning tree instead (`twofold.geodesics.graph.mutual_graph`), of which the joining
of components is a special case.

The method itself embeds its training rows only. Here multi-output kernel ridge regression or a
general regression network, which the paper compares, encodes new rows, and a second map of one of
these kinds decodes latents. Ridge regression suits smooth sheets; the network suits rows of many
features in clusters, such as images. By default leave-one-out errors choose for each direction.

Distances are measured in units of the data's total standard deviation. With ``graph="knn"``, if it
is connected, ``embedding_`` is that of scikit-learn's ``Isomap`` for data divided by it.

Notation
--------
===========================  ===================================================
Orsenigo & Vercellis         here
===========================  ===================================================
``Q``                        distances, or ``X`` with ``dissimilarity="precomputed"``
``d``, ``h``                 ``n_components``, ``n_neighbors``
``z_i``                      ``embedding_[i]``
residual variances           ``residual_variance_``
===========================  ===================================================

References
----------
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
* J. Tenenbaum, V. de Silva and J. Langford. A global geometric framework for nonlinear
  dimensionality reduction. *Science* 290, 2000.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from twofold.base.dimensions import check_n_components
from twofold.base.estimator import TwoWayEstimator
from twofold.base.maps_for_latents import MAP_METHODS
from twofold.base.problem import Learned, Problem
from twofold.geodesics.dissimilarities import (
    Dissimilarities,
    Euclidean,
    Precomputed,
    check_distances,
)
from twofold.geodesics.graph import (
    connect_components,
    default_mutual_neighbors,
    graph_of_neighbors,
    mutual_graph,
)
from twofold.geodesics.scaling import (
    classical_scaling,
    elbow,
    landmark_scaling,
    residual_variances,
    squared_geodesics,
)
from twofold.isomap.cross_fit import left_out_latents
from twofold.isomap.out_of_sample import (
    centers_among,
    decoder_for,
    fitted_density,
    fitted_ridge,
    ridge_or_network,
)
from twofold.maps import GRNN
from twofold.maps.affine import Predictor
from twofold.maps.kernel_ridge import BYTES_PER_PAIR
from twofold.numerics.linalg import rank_up_to, row_norms_sq
from twofold.numerics.memory import check_memory_for
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import (
    RandomLike,
    cast_back,
    check_bool,
    check_choice,
    check_int,
    check_methods,
    is_auto,
    warn_user,
)
from twofold.protocols import Array, IntArray, Map
from twofold.starts.initializers import choose_landmarks

DEFAULT_NEIGHBORS = 10
"""Neighbors in the paper's graph by default."""

MOST_DIMENSIONS = 10
"""Number of coordinates whose residual variances ``n_components="auto"`` compares."""

MOST_IN_DOUBLE = 4_000
"""Rows up to which geodesic distances are stored in double precision."""

BYTES_PER_GIVEN = 48.0
"""Per given distance, which is also data: centered, scaled, and compared by the kernels."""

AUTO = '"auto"'

EMBEDDING = "embedding"
"""Value of ``cross_fit`` for the exact latents of the training rows."""


class AgglomerativeIsomap(TwoWayEstimator):
    """Isomap with a connected graph and both maps.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of latent dimensions. "auto" takes the elbow of the residual variances of ten
        coordinates.
    n_neighbors : int or "auto", default="auto"
        Neighbors of each row in the graph. "auto" means 20 for the graph "mutual" (of fewer than
        160 rows an eighth, at least 10) and 10 for "knn", or all others if there are fewer. On
        images in clusters, 10 mutual neighbors separate the classes better.
    graph : {"mutual", "knn"}, default="mutual"
        Which neighbors share an edge. "mutual" takes pairs that are neighbors of each other and
        already close along the graph of fewer neighbors, and the minimum spanning tree: no short
        circuits between folds, also with noise. "knn" takes every row and its neighbors, as in the
        paper.
    dissimilarity : {"euclidean", "precomputed"}, default="euclidean"
        With "precomputed", ``X`` holds the symmetric distances between rows. The maps then work on
        rows of distances to the training rows: ``transform`` takes them and ``inverse_transform``
        returns them.
    out_of_sample : {"auto", "krr", "grnn"} or Map, default="auto"
        The map from data to latents: kernel ridge regression with a Gaussian kernel, a general
        regression network, or a map of your own such as
        ``KernelRidgeMap(kernel="polynomial", cv=5)``. "auto" fits both of the first, for the map
        from latents to data as well, and takes those with the lower leave-one-out error; beyond
        20,000 rows it is ridge regression. Without "auto" latents are decoded by ridge regression.
    n_landmarks : int or None, default=None
        None is the exact method, whose memory grows with the square of the rows: 0.4 GB for 10,000.
        Landmarks, more than ``n_components``, need 4 bytes per landmark and row (8 up to 4,000
        rows) and 24 per pair of landmarks, and less time. The maps need memory of their own, see
        ``n_centers``.
    n_centers : int or "auto", default="auto"
        Number of rows that are centers of the kernel ridge regressions. "auto" means all up to
        1,000, then fewer, 500 from 4,000 rows on. Each regression needs about 32 bytes per row and
        center, more than the geodesic distances of few landmarks: 1.6 GB for 100,000 rows.
    cross_fit : bool or "embedding", default=False
        What ``fit_transform`` returns. True: for each row the prediction of the encoder without it
        (in closed form), for a model that is to be trained on the latents. False: ``transform(X)``.
        "embedding": ``embedding_`` itself, on which the paper trains classifiers. ``embedding_`` is
        exact in any case.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state : int, RandomState, Generator or None, default=None
        Draws landmarks and centers; small problems need none.
    n_jobs : int or None, default=None
        Number of threads; None means all cores.
    verbose : int, default=0
        1 logs the phases of a fit.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents, in units of the data's total standard deviation.
    residual_variance_ : ndarray of shape (n_dimensions,)
        One minus the squared correlation of geodesic and embedded distances for the first 1, 2, ...
        coordinates: ``n_components`` of them, or all that "auto" compared. Beyond 1,000 rows from a
        sample of the pairs.
    n_pieces_ : int
        Components of the neighborhood graph before they were joined.
    landmarks_ : ndarray of int, shape (n_landmarks,), or None
        Row numbers of the landmarks.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator; the types of ``encoder_`` and ``decoder_`` show which maps
        "auto" chose.

    See Also
    --------
    SupervisedIsomap : The same with dissimilarities that labels change.

    Examples
    --------
    >>> from twofold import AgglomerativeIsomap
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> model = AgglomerativeIsomap(n_components="auto").fit(X)
    >>> model.embedding_.shape, model.score(X) > 0.95
    ((400, 2), True)
    """

    graph = "knn"  # of models in files that are older than the parameter
    _graphs: tuple[str, ...] = ("mutual", "knn")

    residual_variance_: Array
    n_pieces_: int
    landmarks_: IntArray | None

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        n_neighbors: int | str = "auto",
        graph: str = "mutual",
        dissimilarity: str = "euclidean",
        out_of_sample: str | Map = "auto",
        n_landmarks: int | None = None,
        n_centers: int | str = "auto",
        cross_fit: bool | str = False,
        scale: Any = None,
        random_state: RandomLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.dissimilarity = dissimilarity
        self.out_of_sample = out_of_sample
        self.n_landmarks = n_landmarks
        self.n_centers = n_centers
        self.cross_fit = cross_fit
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit the model and return latents of the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,), default=None
            Labels, for supervised estimators.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            With ``cross_fit=True`` the prediction of each row by the others, among them its
            further copies if its weight is greater than that of others, with
            ``cross_fit="embedding"`` the embedding, else ``transform(X)``.

        Examples
        --------
        >>> from twofold import AgglomerativeIsomap
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> AgglomerativeIsomap(cross_fit=True).fit_transform(X).shape
        (100, 2)
        """
        self._check_out_of_sample()
        crossed, map_ = self._checked_cross_fit(), self.out_of_sample
        if crossed is True and not isinstance(map_, str) and not hasattr(map_, "leave_one_out"):
            raise TypeError(
                f"out_of_sample={map_!r} has no leave_one_out, which cross_fit=True needs. Use "
                "KernelRidgeMap, GRNN or NadarayaWatson, or cross_fit=False."
            )
        self.fit(X, y, sample_weight=sample_weight)
        if self._variance == 0.0 or crossed is False:
            latents: Array = self.transform(X)
            return latents
        data, dtype = self._rows(X)
        if crossed == EMBEDDING:
            return cast_back(self.embedding_.copy(), dtype)
        return cast_back(left_out_latents(self, data, sample_weight), dtype)

    def _requested_components(self, data: Array) -> int:
        self._check_settings(data)
        if not is_auto(self.n_components):
            return check_n_components(self.n_components, *data.shape)
        most = min(data.shape[1], self._most_dimensions(len(data)))
        return max(1, rank_up_to(self._measure_units(data).into(data), most))

    def _most_dimensions(self, n: int) -> int:
        """Return how many coordinates "auto" compares: m landmarks span m - 1 dimensions."""
        return min(MOST_DIMENSIONS, n - 1, (self.n_landmarks or n) - 1)

    def _learn(self, problem: Problem) -> Learned:
        n = len(problem.data)
        progress, n_components = problem.progress, problem.n_components
        if is_auto(self.n_components):  # an elbow needs coordinates beyond it
            n_components = self._most_dimensions(n)
        with progress.phase("neighborhood graph"):
            dissimilarities, attributes = self._dissimilarities(problem)
            neighbors = self._linked_rows(dissimilarities, self._n_neighbors(n))
            if self.graph == "mutual":
                graph, n_pieces = mutual_graph(dissimilarities, neighbors)
            else:
                linked = graph_of_neighbors(dissimilarities, neighbors)
                graph, n_pieces = connect_components(linked, dissimilarities)
            if n_pieces > 1:
                in_pieces = graph_of_neighbors(dissimilarities, neighbors)
                self._warn_of_pieces(n_pieces, in_pieces, problem)
        with progress.phase("geodesic distances"):
            landmarks = self._landmarks(n, problem.rng)
            dtype = np.float64 if n <= MOST_IN_DOUBLE else np.float32
            squares = squared_geodesics(graph, landmarks, dtype)
        with progress.phase("scaling"):
            if landmarks is None:
                latents = classical_scaling(squares, n_components)
            else:
                latents = landmark_scaling(squares, landmarks, n_components)
            variances = residual_variances(squares, landmarks, latents)
            del squares
            if is_auto(self.n_components):
                latents = latents[:, : min(elbow(variances), problem.n_components)]
        with progress.phase("maps"):
            units = CenteredUnits.of(latents, name="the embedding")
            Z = units.into(latents)
            encoder = self._fitted_encoder(problem, Z)
            best = ridge_or_network if is_auto(self.out_of_sample) else fitted_ridge
            decoder = decoder_for(
                encoder,
                lambda codes, data: best(codes, data, self.n_centers, problem.rng),
                Z,
                problem.data,
            )
            density = fitted_density(Z)
        attributes |= {
            "residual_variance_": variances,
            "n_pieces_": n_pieces,
            "landmarks_": landmarks,
        }
        return Learned(latents, units, encoder, decoder, density, attributes=attributes)

    def _learn_constant(self, problem: Problem) -> Learned:
        nothing = np.zeros(problem.n_components)
        attributes = {"residual_variance_": nothing, "n_pieces_": 1, "landmarks_": None}
        return replace(super()._learn_constant(problem), attributes=attributes)

    def _check_settings(self, data: Array) -> None:
        """Check every parameter before anything is computed."""
        n = len(data)
        self._checked_cross_fit()
        check_choice("dissimilarity", self.dissimilarity, ("euclidean", "precomputed"))
        check_choice("graph", self.graph, self._graphs)
        self._check_out_of_sample()
        self._n_neighbors(n)
        if not is_auto(self.n_components):
            check_int("n_components", self.n_components, also=AUTO)
        if not is_auto(self.n_centers):
            check_int("n_centers", self.n_centers, also=AUTO)
        if self.n_landmarks is not None:
            check_int("n_landmarks", self.n_landmarks, low=2, also="None for the exact method")
            fewest = 1 if is_auto(self.n_components) else int(self.n_components)
            if self.n_landmarks <= fewest:
                raise ValueError(
                    f"n_landmarks={self.n_landmarks} must be more than n_components={fewest}: "
                    "landmarks span one dimension less than their number. Use more landmarks, or "
                    "fewer components."
                )
        self._check_memory(n)
        if self.dissimilarity == "precomputed":
            if self.scale is not None:
                raise ValueError(
                    f"scale={self.scale!r} is not for dissimilarity='precomputed', where X holds "
                    "distances. Use scale=None, and scale the data before measuring distances."
                )
            check_distances(data)

    def _checked_cross_fit(self) -> bool | str:
        if isinstance(self.cross_fit, str) and self.cross_fit == EMBEDDING:
            return EMBEDDING
        return check_bool("cross_fit", self.cross_fit, also=f'"{EMBEDDING}"')

    def _check_out_of_sample(self) -> None:
        if isinstance(self.out_of_sample, str):
            check_choice("out_of_sample", self.out_of_sample, ("krr", "grnn", "auto"))
        else:
            also = "'krr', 'grnn' or 'auto'"
            check_methods("out_of_sample", self.out_of_sample, MAP_METHODS, also=also)

    def _check_memory(self, n: int) -> None:
        """Raise an error if geodesics, maps or copies of given distances exceed the memory."""
        n_sources, n_centers = min(n, self.n_landmarks or n), centers_among(n, self.n_centers)
        geodesics = n_sources * n * (8.0 if n <= MOST_IN_DOUBLE else 4.0)
        of, remedy = "of all pairs", "Use landmarks: n_landmarks=1000."
        if n_sources < n:
            geodesics += 24.0 * n_sources**2  # their own block, its symmetric form and eigenvectors
            of, remedy = f"from n_landmarks={n_sources}", "Use fewer landmarks."
        needed, what = geodesics, f"the geodesic distances {of}"
        maps = BYTES_PER_PAIR * n * n_centers
        if maps > needed:
            needed, what = maps, f"the kernels of {n_centers} centers"
            remedy = "Use fewer centers: n_centers=500, or less."
        given = BYTES_PER_GIVEN * n * n if self.dissimilarity == "precomputed" else 0.0
        if given > needed:
            what = "copies of the given distances"
            remedy = "Fit fewer rows, and transform the others."
        who = f"{type(self).__name__} of n_samples={n}"
        check_memory_for(who, needed + given, what, remedy)

    def _n_neighbors(self, n: int) -> int:
        if is_auto(self.n_neighbors):
            mutual = self.graph == "mutual"
            return default_mutual_neighbors(n) if mutual else min(DEFAULT_NEIGHBORS, n - 1)
        return check_int("n_neighbors", self.n_neighbors, high=n - 1, also=AUTO)

    def _landmarks(self, n: int, rng: np.random.Generator) -> IntArray | None:
        if self.n_landmarks is None or self.n_landmarks >= n:
            return None
        return choose_landmarks(n, self.n_landmarks, rng)

    def _base_distances(self, problem: Problem) -> tuple[Euclidean | Precomputed, float]:
        """Return the distances in total standard deviations, and one in the caller's units."""
        if self.dissimilarity == "euclidean":
            spread = float(np.sqrt(row_norms_sq(problem.data).mean()))
            caller = float(np.ldexp(spread, problem.units.exponent))
            return Euclidean(problem.data / spread), caller
        largest = float(problem.original.max())
        D = problem.original / largest
        spread = float(np.sqrt(0.5 * np.vdot(D, D) / D.size))
        D /= spread
        return Precomputed(D), spread * largest

    def _dissimilarities(self, problem: Problem) -> tuple[Dissimilarities, dict[str, Any]]:
        """Return the dissimilarities, and learned attributes that a subclass adds."""
        return self._base_distances(problem)[0], {}

    def _linked_rows(self, dissimilarities: Dissimilarities, n_neighbors: int) -> IntArray:
        """Return the rows that each row is linked to, shape (n, at least n_neighbors)."""
        return dissimilarities.neighbors(n_neighbors, self.n_jobs)

    def _warn_of_pieces(
        self,
        n_pieces: int,
        graph: csr_array,  # noqa: ARG002
        problem: Problem,  # noqa: ARG002
    ) -> None:
        """Warn that the graph, before joining, had several components."""
        warn_user(
            f"The neighborhood graph had {n_pieces} connected components, which were joined at "
            "their closest points. More neighbors (n_neighbors) would connect it.",
            UserWarning,
        )

    def _fitted_encoder(self, problem: Problem, Z: Array) -> Predictor:
        if not isinstance(self.out_of_sample, str):
            own: Map = clone(self.out_of_sample)
            return own.fit(problem.data, Z)
        if self.out_of_sample == "grnn":
            return GRNN(n_jobs=self.n_jobs).fit(problem.data, Z)
        if self.out_of_sample == "krr":
            return fitted_ridge(problem.data, Z, self.n_centers, problem.rng)
        return self._best_encoder(problem, Z)

    def _best_encoder(self, problem: Problem, Z: Array) -> Predictor:
        """Return the encoder that "auto" means."""
        return ridge_or_network(problem.data, Z, self.n_centers, problem.rng, self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        """Declare that precomputed distances are split in rows and columns."""
        tags = super().__sklearn_tags__()
        given: object = self.dissimilarity  # in a model file it may be of any type
        tags.input_tags.pairwise = isinstance(given, str) and given == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags
