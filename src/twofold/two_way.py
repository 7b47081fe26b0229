r"""Both maps for any embedding.

Given someone else's coordinates ``Z`` of the data (t-SNE, UMAP, a spectral method, an array), two
regressions make them two-way: up, ``f: Z -> X``; down, ``F: X -> Z``, either a regression of its own
or the projection onto the manifold that ``f`` spans. Which pair serves best differs from embedding to
embedding, so by default it is chosen by what counts, the error of ``f(F(x))`` on held-out rows.

It matters: on the digits under t-SNE a kernel ridge down-map leaves 0.66 of the variance, Nadaraya-Watson
0.33, projection onto the up-map 0.22.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.estimator import Learned, Problem, TwoWayEstimator, constant_model
from twofold.base.pair_of_maps import check_maps, first_maps, with_maps
from twofold.numerics.validation import check_choice, check_int
from twofold.protocols import Array, Map
from twofold.starts.initializers import INITIALIZERS
from twofold.starts.named import resolve_init

__all__ = ["TwoWay"]


class TwoWay(TwoWayEstimator):
    """Give an embedding both maps, a score and a density.

    Parameters
    ----------
    embedding : str, estimator, array-like or callable, default="tsne"
        Where the latents come from: a name ("tsne", "isomap", "lle", "laplacian_eigenmaps",
        "kernel_pca", "pca", "random"), an estimator with ``fit_transform`` (a clone is fitted to the
        data as a float64 array in their own units), latents of shape (n_samples, n_components), or a function of
        ``(X, n_components, rng)``. Named methods see the data centred and scaled to a total
        variance of one, so that latents do not depend on the data's units.
    down : {"auto", "projection", "krr", "rbf", "nw"}, Map or Projection, default="auto"
        The map from data to latents: projection onto the up-map's manifold, kernel ridge
        regression, a radial basis network, Nadaraya-Watson, or a map of your own. "auto" takes the
        one of the lowest held-out reconstruction error.
    up : {"auto", "krr", "rbf", "nw"} or Map, default="auto"
        The map from latents to data, likewise.
    n_centers : int or "auto", default="auto"
        Centres of "krr" and "rbf", at most as many as there are points. "auto" means 500 points for
        "krr", and for "rbf" a fifth of the points, at most 300, by k-means.
    n_components : int, default=None
        Latent dimensions of named embeddings and functions; None means 2. Estimators and arrays bring
        their own, and a number that contradicts them is an error.
    random_state : int, RandomState, Generator or None, default=None
        Seeds named embeddings, k-means and the held-out rows.
    verbose : int, default=0
        1 logs the phases of a fit and, every few seconds, how far it is; 2 every iteration.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding's latents.
    up_, down_ : str
        The maps in use.
    candidates_ : list of dict
        The pairs that were compared, each with its "up", "down", held-out "error" (the share of the
        variance that is lost) and "latent_error" (how far the down-map lies from the embedding, in
        units of its spread); empty where nothing was to choose.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    See Also
    --------
    twofold.starts.initializers : The named embeddings.

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

    def __init__(
        self,
        embedding: Any = "tsne",
        *,
        down: str | Map = "auto",
        up: str | Map = "auto",
        n_centers: int | str = "auto",
        n_components: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.embedding = embedding
        self.down = down
        self.up = up
        self.n_centers = n_centers
        self.n_components = n_components
        self.random_state = random_state
        self.verbose = verbose

    def _requested_components(self, data: Array) -> int:
        asked = None if self.n_components is None else check_int("n_components", self.n_components)
        if isinstance(self.embedding, str):
            check_choice("embedding", self.embedding, INITIALIZERS)
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
            return self._check_n_components(width, data)
        if hasattr(self.embedding, "fit_transform"):
            return 1 if asked is None else asked  # judged by what it returns
        return self._check_n_components(2 if asked is None else asked, data)

    def _learn(self, problem: Problem) -> Learned:
        check_maps(self)
        with problem.progress.phase("embedding"):
            latents = self._embed(problem)
        return with_maps(self, problem, latents)

    def _learn_constant(self, problem: Problem) -> Learned:
        attributes = first_maps(self)
        learned = super()._learn_constant(problem)
        if not isinstance(self.embedding, str):
            learned = constant_model(self._embed(problem), problem.data)
        return replace(learned, attributes=attributes)

    def _embed(self, problem: Problem) -> Array:
        """Return the embedding's latents (n, q)."""
        named = isinstance(self.embedding, str)
        data = _unit_variance(problem.data) if named else problem.original.copy()
        latents = resolve_init(
            self.embedding, data, problem.n_components, problem.rng, y=problem.y, name="embedding"
        )
        width = self._check_n_components(latents.shape[1], problem.original)
        if self.n_components not in (None, width):
            raise ValueError(
                f"n_components={self.n_components} contradicts the embedding, which gives {width} "
                "columns. Leave n_components=None, or change the embedding."
            )
        return latents


def _unit_variance(centred: Array) -> Array:
    return centred / float(np.sqrt(np.square(centred).sum(axis=1).mean()))
