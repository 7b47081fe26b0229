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

from twofold._units import CentredUnits
from twofold._validation import check_choice, check_int
from twofold.density import LatentDensity
from twofold.encoders import Projection
from twofold.estimators.base import Learned, Problem, TwoWayEstimator, constant_model
from twofold.initializers import INITIALIZERS, resolve_init
from twofold.maps import KernelExpansion, NadarayaWatson, RBFNetwork
from twofold.protocols import Array, Map
from twofold.selection import choose_pair, fit_pair

__all__ = ["TwoWay"]

UP = ("nw", "krr", "rbf")
DOWN = ("projection", "nw", "krr", "rbf")
MAX_KRR_CENTERS = 500
MAX_RBF_CENTERS = 300


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
    twofold.initializers : The named embeddings.

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
        if self.n_centers != "auto":
            check_int("n_centers", self.n_centers)
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
        ups = self._maps("up", self.up, UP)
        downs = self._maps("down", self.down, DOWN)
        with problem.progress.phase("embedding"):
            latents = self._embed(problem)
        units = CentredUnits.of(latents, name="the embedding")
        Z = units.into(latents)
        with problem.progress.phase("choosing the maps"):
            pair = choose_pair(
                {name: self._build(name, map_, Z, problem.rng) for name, map_ in ups.items()},
                {
                    name: self._build(name, map_, problem.data, problem.rng)
                    for name, map_ in downs.items()
                },
                problem.data,
                Z,
                problem.rng,
            )
        with problem.progress.phase("fitting the maps"):
            density = LatentDensity().fit(Z)
            decoder, encoder = fit_pair(pair.up_map, pair.down_map, problem.data, Z, density)
        attributes = {"up_": pair.up, "down_": pair.down, "candidates_": pair.table}
        return Learned(latents, units, encoder, decoder, density, attributes=attributes)

    def _learn_constant(self, problem: Problem) -> Learned:
        up, down = (
            next(iter(self._maps("up", self.up, UP))),
            next(iter(self._maps("down", self.down, DOWN))),
        )
        learned = super()._learn_constant(problem)
        if not isinstance(self.embedding, str):
            learned = constant_model(self._embed(problem), problem.data)
        return replace(learned, attributes={"up_": up, "down_": down, "candidates_": []})

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

    @staticmethod
    def _maps(name: str, value: Any, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the maps that a parameter stands for: names to be built, or a map as it is."""
        if isinstance(value, Map | Projection) and not isinstance(value, type):
            return {type(value).__name__: value}
        if not isinstance(value, str):
            raise TypeError(
                f"{name}={value!r} must be one of {sorted(('auto', *names))}, or a map: an estimator "
                "with fit, predict, jacobian and normal_terms."
            )
        check_choice(name, value, ("auto", *names))
        return {choice: choice for choice in (names if value == "auto" else (value,))}

    def _build(self, name: str, value: Any, inputs: Array, rng: np.random.Generator) -> Any:
        """Return the unfitted map of a name."""
        if not isinstance(value, str):
            return value
        if name == "projection":
            return Projection()
        if name == "nw":
            return NadarayaWatson()
        n, auto = len(inputs), self.n_centers == "auto"
        if name == "rbf":
            n_centers = max(1, min(n // 5, MAX_RBF_CENTERS)) if auto else int(self.n_centers)
            return RBFNetwork(n_centers, random_state=int(rng.integers(2**31)))
        n_centers = MAX_KRR_CENTERS if auto else int(self.n_centers)
        if n_centers >= n:
            return KernelExpansion()
        rows = np.sort(rng.choice(n, size=n_centers, replace=False))
        return KernelExpansion(centers=inputs[rows])


def _unit_variance(centred: Array) -> Array:
    return centred / float(np.sqrt(np.square(centred).sum(axis=1).mean()))
