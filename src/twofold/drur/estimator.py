r"""Dimensionality reduction by unsupervised regression (DRUR).

Latents and both maps are learned together, from the energy ``sum |x - f(z)|^2 + |z - F(x)|^2`` plus penalties on
the maps: each latent should be rebuilt by f *and* be found by F, so that neither can fold what is apart
(Carreira-Perpinan & Lu 2010). The mathematics is in `twofold.drur.alternation`; this module chooses starts,
centres and the way down, and assembles the model.

Data are centred and scaled to a total variance of one, and fitted in their leading principal subspace where they have
many columns; the up-map is refitted to all columns at the end.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
M. A. Carreira-Perpinan, Z. Lu. Dimensionality reduction by unsupervised regression. CVPR 2008.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask, lazily
from twofold.base.estimator import Learned, Problem, TwoWayEstimator
from twofold.base.journal import Journal
from twofold.drur.alternation import Turns
from twofold.drur.fitting import UnsupervisedFit, fit_rows
from twofold.drur.maps import encoders_of
from twofold.drur.row_stream import RowStream
from twofold.drur.settings import check_settings, is_rbf
from twofold.drur.stream import fitted_to_stream
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.tree_sums import ArrayRows
from twofold.numerics.units import CentredUnits
from twofold.numerics.validation import cast_back, check_choice, check_data, check_int, warn_user
from twofold.protocols import Array, Map

__all__ = ["DRUR"]

STILL_FALLING = 0.1
BLOCK_ROWS = 50_000
MOST_JOINT = 10_000
"""Rows for which a centre at every point is still an option."""


class DRUR(TwoWayEstimator):
    """Dimensionality reduction by unsupervised regression: both maps learned together.

    A parametric model: after the fit its maps depend on their centres, not on the number of rows, both ways are
    closed forms, and a fit is linear in rows and columns. Of more than 10,000 rows (more with more than 1,000 centres) a
    sample takes part in the turns; then radial networks are solved once for all rows. Perceptrons stay as the sample
    made them, and maps of your own are fitted to all rows in every turn. `fit_blocks` reads rows that do not fit
    into memory.

    Parameters
    ----------
    n_components : int, default=2
        Latent dimensions.
    up : {"rbf", "mlp"} or Map, default="rbf"
        The map from latents to data: a radial basis network, a perceptron with one hidden layer, or a map of your
        own that a copy can be fitted of.
    down : {"rbf", "mlp"} or Map, default="rbf"
        The map from data to latents, likewise.
    n_centers : int, (int, int), "auto" or "all", default="auto"
        Centres of the networks (hidden units of perceptrons), one number for both or (up, down). "auto" takes
        the fewest beyond which more centres lower the held-out energy by less than 2 %. There are no more than rows
        that take part in the turns; a tenth of the rows, at most 1,000, is held out. "all" puts one at every row: the
        nonparametric model of 2008, whose latents descend together, for at most 10,000 rows and slow beyond 2,000.
    alpha : float, "auto" or a pair of them (up, down), default="auto"
        The ridge of the networks, the paper's lambda; "auto" takes the one of the lowest held-out error. For
        perceptrons it is the weight decay, in units of standardised inputs and targets; "auto" means 1e-6.
    down_weight : float, default=1.0
        Weight of the down-map's error against the up-map's, both in units of variances: the total variance of the
        latents while fitting, in units of the data's. More weight makes smoother latents. Between 1e-6 and 1e6.
    init : str, estimator, array-like, callable, list of these, or "auto", default="auto"
        The first latents; those of your own have the shape (n_samples, n_components). "auto" compares PCA, Isomap, Laplacian eigenmaps and locally linear embedding, fitted to
        landmarks where rows are many, by the energy after one turn.
    max_iter : int, default=50
        Turns of projection and adaptation at most.
    tol : float, default=0.03
        A turn that lowers the held-out energy by less than this share is idle; two idle turns in a row end the fit, and
        the last turn before them counts. While centres are placed anew there are four turns at least. With noisy
        data more turns fit the noise.
    recenter : int or bool, default=4
        Turns in which centres and widths are placed anew. From then on they are kept, and each turn lowers the
        energy of radial networks.
        True means all turns, False only the first.
    store_embedding : bool, default=True
        Whether to keep ``embedding_``. Without it the size of a model does not depend on the number of rows.
    random_state : int, RandomState, Generator or None, default=None
        Seeds starts, k-means, perceptrons and the choice of held-out rows.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        1 logs the phases of a fit and, every few seconds, how far it is; 2 every turn.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data; no rows with ``store_embedding=False``.
    method_ : {"map", "project"}
        What ``transform`` does by default: the way of the lower error on held-out rows.
    errors_ : dict
        The shares of variance that "map" and "project" lose on held-out rows, with the maps that have not seen
        them. Of more than 50 columns, what lies outside the leading principal subspace counts as lost.
    n_centers_ : tuple of int
        Centres or hidden units of the maps, up and down; 0 for maps of your own.
    alpha_ : tuple of float
        Their ridges, or weight decays; nan where a map has none.
    init_ : str
        The start.
    candidates_ : list of dict
        The starts that were compared, each with its "name" and "energy", best first.
    history_, validation_history_ : ndarray of shape (n_turns,)
        The energy after each turn over the number of rows, in units of the data's variance: with the penalties for
        the rows that took part, without them for the held-out ones (nan where there are none). Of more than 50 columns,
        within the leading principal subspace.
    n_iter_ : int
        Turns made.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    See Also
    --------
    twofold.UKR : A nonparametric model of lower error, whose size grows with the rows.

    Examples
    --------
    >>> from twofold import DRUR
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> model = DRUR(n_centers=30, random_state=0).fit(X)
    >>> model.score(X) > 0.95
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        up: str | Map = "rbf",
        down: str | Map = "rbf",
        n_centers: int | str | tuple[int, int] = "auto",
        alpha: float | str | tuple[float, float] = "auto",
        down_weight: float = 1.0,
        init: Any = "auto",
        max_iter: int = 50,
        tol: float = 0.03,
        recenter: int | bool = 4,
        store_embedding: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.up = up
        self.down = down
        self.n_centers = n_centers
        self.alpha = alpha
        self.down_weight = down_weight
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.recenter = recenter
        self.store_embedding = store_embedding
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, problem: Problem) -> Learned:
        check_settings(self)
        self._check_memory(len(problem.data))
        found = fit_rows(
            self,
            ArrayRows(problem.data),
            problem,
            Journal(),
            keep_starts=self.store_embedding,
        )
        Z = found.latents
        if Z is None:
            Z = np.empty((0, problem.n_components))
            if self.store_embedding:
                with problem.progress.phase("latents"):
                    Z = self._latents_of_all(found, problem.data)
        return self._assemble(found, Z)

    @staticmethod
    def _latents_of_all(found: UnsupervisedFit, data: Array) -> Array:
        latents = [
            found.embedder.latents_of(
                data[start : start + BLOCK_ROWS],
                None if found.starts is None else found.starts[start : start + BLOCK_ROWS],
            )
            for start in range(0, len(data), BLOCK_ROWS)
        ]
        return np.concatenate(latents)

    @property
    def _ours(self) -> tuple[bool, bool]:
        """Whether the maps up and down are radial networks of our own making."""
        return is_rbf(self.up), is_rbf(self.down)

    def _check_memory(self, n: int) -> None:
        if self.n_centers == "all" and n > MOST_JOINT:
            raise MemoryError(
                f"n_centers='all' would need {4 * 8 * n * n / 1e9:.1f} GB for its kernel matrices of {n} rows, and time "
                f"that grows with the cube of them; at most {MOST_JOINT} rows are taken. Use n_centers='auto'."
            )

    def _warn_if_cut_short(self, turns: Turns) -> None:
        judged = turns.held_out if np.isfinite(turns.held_out).all() else turns.energies
        if len(judged) < self.max_iter:
            return
        if len(judged) == 1:
            warn_user(
                f"max_iter={self.max_iter}: one iteration cannot tell whether the energy still falls. Increase max_iter.",
                ConvergenceWarning,
            )
            return
        falling = 1.0 - judged[-1] / judged[-2]
        if falling > STILL_FALLING:
            warn_user(
                f"The energy was still falling by {100 * falling:.0f} % an iteration when "
                f"max_iter={self.max_iter} was reached. Increase max_iter.",
                ConvergenceWarning,
            )

    def _assemble(self, found: UnsupervisedFit, Z: Array) -> Learned:
        """Return the maps and all attributes; latents are kept where that is asked for."""
        self._warn_if_cut_short(found.turns)
        maps, errors = found.maps, found.errors
        both: list[Any] = list(zip((maps.up, maps.down), (self.up, self.down), strict=True))
        ways = encoders_of(found.coordinates, maps, found.domain)
        method = min(errors, key=errors.__getitem__)
        attributes = {
            "errors_": errors,
            "n_centers_": tuple(
                len(one.weights_) if isinstance(kind, str) else 0 for one, kind in both
            ),
            "alpha_": tuple(  # stated for all rows; perceptrons are those of the sample
                float(getattr(one, "alpha_", np.nan)) / (found.share if kind == "mlp" else 1.0)
                for one, kind in both
            ),
            "init_": found.candidates[0]["name"],
            "candidates_": found.candidates,
            "method_": method,
            "history_": found.turns.energies,
            "validation_history_": found.turns.held_out,
            "n_iter_": len(found.turns.energies),
            "_ways": ways,
        }
        return Learned(
            latents=Z if self.store_embedding else Z[:0],
            units=CentredUnits.identity(Z.shape[1]),
            encoder=ways[method],
            decoder=maps.decoder,
            density=found.domain,
            attributes=attributes,
        )

    def _learn_constant(self, problem: Problem) -> Learned:
        learned = super()._learn_constant(problem)
        attributes = {
            "method_": "map",
            "errors_": {"map": 0.0, "project": 0.0},
            "n_centers_": (1, 1),
            "alpha_": (np.nan, np.nan),
            "init_": "constant",
            "candidates_": [],
            "history_": np.zeros(1),
            "validation_history_": np.full(1, np.nan),
            "n_iter_": 1,
            "_ways": {"map": learned.encoder, "project": learned.encoder},
        }
        return replace(learned, attributes=attributes)

    def _encode(self, data: Array, method: str = "auto") -> Array:
        """Take data down; by the map block by block, so that what lies between stays in the cache."""
        method = self.method_ if method == "auto" else method
        way = self._ways[method]
        latents = np.empty((len(data), self._n_features_out))

        def work(rows: slice) -> None:
            latents[rows] = self._latent_units.back(way.predict(self._data_units.into(data[rows])))

        per_row = 8 * data.shape[1] if method == "map" else 0  # a projection has batches of its own
        with self._threads():
            map_blocks(work, row_blocks(len(data), per_row))
        return latents

    def _decode(self, latents: Array) -> Array:
        """Take latents up, likewise."""
        data = np.empty((len(latents), len(self._data_units.center)))

        def work(rows: slice) -> None:
            inside = self._latent_units.into(latents[rows])
            data[rows] = self._data_units.back(self.decoder_.predict(inside))

        with self._threads():
            map_blocks(work, row_blocks(len(latents), 8 * data.shape[1]))
        return data

    def fit_blocks(self, blocks: Any, *, n_passes: int = 1) -> Self:
        """Learn from rows that do not fit into memory.

        A first reading draws a uniform sample, which is fitted like any table. Each further one projects every row and
        solves the regressions of radial networks for the sums over all of them; perceptrons and maps of your own
        stay as the sample made them. Rows are not kept, so ``embedding_`` is empty: call ``transform`` block by block.

        Parameters
        ----------
        blocks : array-like of shape (n_samples, n_features), iterable of such, or callable
            A memory-mapped array (or anything else with two dimensions that gives slices of rows), a list of blocks, or a
            function that returns a new iterator of blocks, called once for each reading. From an iterator that can be
            read only once, the sample alone is learned; ``alpha_`` is then the ridge for the sample's rows.
        n_passes : int, default=1
            Readings after the first.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold import DRUR
        >>> from twofold.datasets import make_s_curve
        >>> blocks = [make_s_curve(100, random_state=seed)[0] for seed in range(4)]
        >>> model = DRUR(n_centers=20, init="isomap", random_state=0).fit_blocks(blocks)
        >>> model.transform(blocks[0]).shape, model.embedding_.shape
        ((100, 2), (0, 2))
        """
        check_settings(self)
        check_int("n_passes", n_passes, low=0)
        with self._threads():
            fitted = fitted_to_stream(self, RowStream.of(blocks), n_passes)
        names = (*fitted._learned_names, "n_features_in_", "feature_names_in_")
        for name in {*names, *getattr(self, "_learned_names", ())}:
            self.__dict__.pop(name, None)
        learned = {name: vars(fitted)[name] for name in names if name in vars(fitted)}
        self.__dict__.update(learned, _learned_names=fitted._learned_names)
        return self

    def transform(self, X: Any, *, method: str = "auto") -> Array:
        """Take data down to the latent space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        method : {"auto", "map", "project"}, default="auto"
            "map" is the learned down-map F, one matrix product; "project" finds the latent whose image is nearest,
            which rebuilds better where F cannot follow; "auto" the one of the lower held-out error,
            ``method_``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> from twofold import DRUR
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(200, random_state=0)
        >>> model = DRUR(n_centers=20, init="isomap", random_state=0).fit(X)
        >>> by_map, projected = model.transform(X, method="map"), model.transform(X, method="project")
        >>> by_map.shape, projected.shape
        ((200, 2), (200, 2))
        >>> sorted(model.errors_), model.method_ in model.errors_
        (['map', 'project'], True)
        """
        check_is_fitted(self)
        check_choice("method", method, ("auto", "map", "project"))
        if is_dask(X):
            return lazily(self, "transform", X, method=method)  # type: ignore[no-any-return]
        data, dtype = check_data(self, X, reset=False)
        return cast_back(self._encode(data, method), dtype)
