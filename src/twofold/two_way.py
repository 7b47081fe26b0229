r"""Both maps for any embedding.

Given coordinates ``Z`` of the data from any method (t-SNE, UMAP, a spectral method, an array), two
regressions make them two-way: the up-map ``f: Z -> X`` decodes, and the down-map ``F: X -> Z``
encodes. ``F`` is a regression as well, or the projection onto the manifold of ``f``. The best pair
differs between embeddings, so by default it is chosen by the error of ``f(F(x))`` on held-out rows,
and among pairs of about equal error by the score of the map.

The choice matters: for the digits under t-SNE, a kernel ridge down-map loses 0.66 of the variance,
Nadaraya-Watson 0.33, and projection onto the up-map 0.22.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.dimensions import check_n_components, constant_model
from twofold.base.estimator import TwoWayEstimator
from twofold.base.maps_for_latents import MapSettings, learn_maps
from twofold.base.problem import Learned, Problem
from twofold.maps.projection import Projection
from twofold.numerics.validation import RandomLike, check_int
from twofold.protocols import Array, Map
from twofold.starts.named import embedded, named_initializer, unit_variance

OF_PAIRS = ("metric", "kernel", "affinity", "dissimilarity")
"""Parameters of embeddings whose value "precomputed" means that X holds pairs of rows."""


class TwoWay(TwoWayEstimator):
    """Give an embedding both maps, a score and a density.

    Parameters
    ----------
    embedding : str, estimator, array-like or callable, default="tsne"
        The source of the latents: a name ("tsne", "isomap", "lle", "laplacian_eigenmaps",
        "kernel_pca", "pca", "random"), with a number of neighbors for the methods with a graph
        ("isomap:12"), an estimator with ``fit_transform``, latents of shape (n_samples,
        n_components), or a function of ``(X, n_components, rng)``. Named methods get the data
        centered and scaled to a total variance of one, so latents do not depend on the data's
        units. A clone of an estimator is fitted to the data as float64 in their own units. If its
        ``metric`` (or ``kernel``, ``affinity``, ``dissimilarity``) is "precomputed", X holds a
        dense matrix of all pairs of rows, `transform` takes new rows against the training rows,
        and `inverse_transform` returns such rows.
    down : {"auto", "projection", "krr", "rbf", "nw"}, Map or Projection, default="auto"
        The map from data to latents: projection onto the manifold of the up-map, kernel ridge
        regression, a radial basis network, Nadaraya-Watson, or a map of your own. "auto" compares
        held-out reconstruction errors. Among pairs within 3 % of the lowest error, the highest
        score of the map decides. Pairs whose latents are farther from the embedding than its mean
        come last.
    up : {"auto", "krr", "rbf", "nw"} or Map, default="auto"
        The map from latents to data, chosen in the same way.
    n_centers : int or "auto", default="auto"
        Number of centers of "krr" and "rbf", at most the number of rows. "auto" means 500 rows for
        "krr", and for "rbf" a fifth of the rows, at most 300, placed by k-means.
    n_components : int, default=None
        Latent dimensions of named embeddings and functions; None means 2. Estimators and arrays
        have their own number, and another one here is an error.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state : int, RandomState, Generator or None, default=None
        Seeds named embeddings, k-means and the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads; None means all cores. An estimator as ``embedding`` keeps its own.
    verbose : int, default=0
        1 logs the phases of a fit and, every few seconds, its progress; 2 logs every iteration.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The latents.
    up_, down_ : str
        The maps in use.
    candidates_ : list of dict
        The pairs that were compared, best first, each with its "up", "down", held-out "error" (the
        lost share of the variance), "map_score" (minus the mean log of that error and of those with
        latents rounded to 16, 64, 256 and 1,024 codewords, as far as there are four rows for each)
        and "latent_error" (the distance of the down-map's latents to the embedding, in units of its
        spread). Empty if only one pair was possible.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(200, random_state=0)
    >>> model = TwoWay("isomap", random_state=0).fit(X)
    >>> Z = model.transform(X)
    >>> Z.shape, model.inverse_transform(Z).shape
    ((200, 2), (200, 3))
    >>> model.score(X) > 0.9
    True
    """

    candidates_: list[dict[str, Any]]

    def __init__(
        self,
        embedding: Any = "tsne",
        *,
        down: str | Map | Projection = "auto",
        up: str | Map = "auto",
        n_centers: int | str = "auto",
        n_components: int | None = None,
        scale: Any = None,
        random_state: RandomLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.embedding = embedding
        self.down = down
        self.up = up
        self.n_centers = n_centers
        self.n_components = n_components
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _requested_components(self, data: Array) -> int:
        asked = None if self.n_components is None else check_int("n_components", self.n_components)
        if isinstance(self.embedding, str):
            named_initializer(self.embedding, "embedding")
        width = None
        if hasattr(self.embedding, "fit_transform"):
            width = getattr(self.embedding, "n_components", None)
        elif not isinstance(self.embedding, str) and not callable(self.embedding):
            width = np.atleast_2d(np.transpose(self.embedding)).shape[0]
        own = isinstance(width, int | np.integer)
        if own and asked not in (None, width):
            raise ValueError(
                f"n_components={asked} contradicts the embedding, which has n_components={width}. "
                "Leave n_components=None, or change the embedding."
            )
        if own:
            return check_n_components(width, *data.shape)
        if hasattr(self.embedding, "fit_transform"):
            return 1 if asked is None else asked  # checked against the result
        return check_n_components(2 if asked is None else asked, *data.shape)

    def _learn(self, problem: Problem) -> Learned:
        settings = MapSettings(self.up, self.down, self.n_centers)
        with problem.progress.phase("embedding"):
            latents = self._embed(problem)
        return learn_maps(settings, problem, latents)

    def _learn_constant(self, problem: Problem) -> Learned:
        attributes = MapSettings(self.up, self.down, self.n_centers).first
        learned = super()._learn_constant(problem)
        if not isinstance(self.embedding, str):
            learned = constant_model(self._embed(problem), problem.data)
        return replace(learned, attributes=attributes)

    def _embed(self, problem: Problem) -> Array:
        """Return the latents (n, q) of the embedding."""
        unit = unit_variance(problem.data)
        latents = embedded(self.embedding, unit, problem, name="embedding")
        width = check_n_components(latents.shape[1], *problem.original.shape)
        if self.n_components not in (None, width):
            raise ValueError(
                f"n_components={self.n_components} contradicts the embedding, which gives {width} "
                "columns. Leave n_components=None, or change the embedding."
            )
        return latents

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that data of a precomputed embedding are pairs of rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = any(
            isinstance(value, str) and value == "precomputed"
            for value in (getattr(self.embedding, name, None) for name in OF_PAIRS)
        )
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _known_score(self) -> tuple[float, str] | None:
        if not self.candidates_:
            return None
        return 1.0 - self.candidates_[0]["error"], "held-out rows"
