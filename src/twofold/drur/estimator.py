r"""Dimensionality reduction by unsupervised regression (DRUR).

Latents and both maps are learned together, from the energy ``sum |x - f(z)|^2 + |z - F(x)|^2`` plus
penalties on the maps: f should reconstruct each row from its latent *and* F should find that
latent, so neither map can fold distant rows onto each other (Carreira-Perpinan & Lu 2010). The
mathematics is in `twofold.drur.alternation`, the steps of a fit in `twofold.drur.fitting`; this
module assembles the model.

Data are centered and scaled to a total variance of one. Data with many columns are fitted in their
leading principal subspace; the up-map is refitted to all columns at the end.

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
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from twofold.base.dask_inputs import is_dask, lazily
from twofold.base.estimator import TwoWayEstimator
from twofold.base.gaps import without_gaps
from twofold.base.growth import Growth, n_rows_of
from twofold.base.journal import Journal
from twofold.base.problem import Learned, Problem
from twofold.base.progress import FitProgress
from twofold.base.sparse_inputs import encoded
from twofold.drur.attributes import attributes_of, constant_attributes
from twofold.drur.fitting import UnsupervisedFit, fit_rows
from twofold.drur.maps import encoders_of
from twofold.drur.settings import DRURSettings, RowMinimizer
from twofold.drur.stream import RowStream, check_stream_settings, sampled_rows, warn_of_rare_columns
from twofold.drur.sweep import Sweep, SweepSums
from twofold.drur.update import updated
from twofold.maps.affine import Affine, Chain
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import map_blocks, repeatable_threads, row_blocks
from twofold.numerics.tree_sums import ArrayRows, TreeSum, in_leaves
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import cast_back, check_choice, check_int, check_rng
from twofold.protocols import Array, Map


class DRUR(TwoWayEstimator):
    """Dimensionality reduction by unsupervised regression: both maps learned together.

    This is a parametric model: the size of its maps depends on their centers, not on the number of
    rows. Encoding and decoding are closed forms, and the cost of a fit is linear in rows and
    columns. Of more than 10,000 rows (more with more than 1,000 centers) a sample takes part in the
    iterations; afterwards radial networks are solved once for all rows. Perceptrons keep the
    weights learned from the sample, and user-supplied maps are fitted to all rows in every
    iteration. `fit_blocks` reads rows that do not fit into memory.

    Parameters
    ----------
    n_components : int, default=2
        Latent dimensions.
    up : {"rbf", "mlp", "linear"} or Map, default="rbf"
        The map from latents to data: a radial basis network, a perceptron with one hidden layer, a
        linear map, or an unfitted map, of which copies are fitted. With linear maps both
        ways, ``tol=None`` and enough iterations the latents span the principal subspace.
    down : {"rbf", "mlp", "linear"} or Map, default="rbf"
        The map from data to latents, with the same choices.
    n_centers : int, (int, int), "auto" or "all", default="auto"
        Centers of the networks (hidden units of perceptrons), one number for both or (up, down).
        "auto" takes the smallest number from which more centers lower the held-out energy by less
        than 2 %. The rows of the iterations limit it; a tenth of them, at most 1,000, is held out.
        "all" puts a center at every row: the nonparametric model of 2008, whose latents descend
        together, for at most 10,000 rows, and slow for more than 2,000; it does not use
        ``optimizer`` and ``exact``.
    alpha : float, "auto" or a pair of them (up, down), default="auto"
        The ridge of the networks, the paper's lambda; "auto" takes the one of the lowest held-out
        error. For perceptrons it is the weight decay, for standardized inputs and targets; "auto"
        means 1e-6. For linear maps "auto" means 0.
    down_weight : float or None, default=1.0
        Weight of the down-map's error relative to the up-map's, both relative to variances: the
        total variance of the latents during the fit, in units of that of the data. A larger weight
        gives smoother latents. Between 1e-6 and 1e6. None keeps the units of the first latents, as
        the paper does: an array in ``init`` then has the units of the data, and its total variance
        must be between 1e-6 and 1e6 times that of the data.
    init : str, estimator, array-like, callable, list or mapping of these, or "auto", default="auto"
        The first latents; arrays have the shape (n_samples, n_components). "auto" compares PCA,
        Isomap, Laplacian eigenmaps and locally linear embedding, fitted to landmarks if there are
        many rows. Several starts are compared by the map's score of held-out rows after one
        iteration. A mapping gives names to starts, such as ``{"tsne": Z}`` for known latents; the
        names are those of ``init_`` and ``candidates_``.
    max_iter : int, default=50
        Maximum number of iterations, each a projection and an adaptation.
    tol : float or None, default=0.03
        An iteration that lowers the held-out energy by less than this share is idle. Two idle ones
        in a row end the fit, and the last iteration before them gives the result. While centers are
        placed anew there are at least four iterations. On noisy data a smaller value fits the
        noise. None makes exactly ``max_iter`` iterations with all rows, none held out, and takes
        the last one.
    recenter : int, bool or a pair of them (up, down), default=4
        Iterations in which centers and bandwidths are placed anew. Afterwards they are kept, and
        each iteration lowers the energy of radial networks. True means all iterations, False only
        the first.
    optimizer : {"gauss_newton", "gradient", "fixed_point"} or object, default="gauss_newton"
        Moves the latents of an iteration, row by row: Gauss-Newton steps with backtracking,
        gradient descent with backtracking, the fixed-point iteration of the paper's section 2.1
        (which need not converge), or an object with ``minimize_rows``. The first is best; the
        others are for comparison.
    exact : bool, default=False
        Whether to leave out the shortcuts. By default a sample of more than 10,000 rows takes part
        in the iterations, more than 50 columns are replaced by their leading principal coordinates,
        each row makes at most two Gauss-Newton steps in an iteration, and samples of rows place
        centers and choose bandwidths. With True all rows and columns take part in everything, rows
        are projected to a relative error of 1e-4, the first k-means is the best of 20, and all
        bandwidths of a grid are compared. Needs all rows in memory.
    store_embedding : bool, default=True
        Whether to keep ``embedding_``. Without it the size of a model does not depend on the number
        of rows.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state : int, RandomState, Generator or None, default=None
        Seeds starts, k-means, perceptrons and the choice of held-out rows.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        1 logs the phases of a fit and, every few seconds, its progress; 2 logs every iteration.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data; no rows with ``store_embedding=False``.
    method_ : {"map", "project"}
        The default method of ``transform``: the one of the lower held-out error.
    errors_ : dict
        The shares of variance that "map" and "project" lose on held-out rows. With more than 50
        columns, everything outside the leading principal subspace counts as lost.
    n_centers_ : tuple of int
        Centers or hidden units of the maps, up and down; 0 for user-supplied maps.
    alpha_ : tuple of float
        Their ridges, or weight decays; nan if a map has none.
    init_ : str
        The start.
    candidates_ : list of dict
        The starts compared, best first: "name", and after one iteration the "energy" and the
        "map_score" of held-out rows, the negative mean log error at several codebooks of latents
        and without one. The highest score wins; nan if there is only one start.
    history_, validation_history_ : ndarray of shape (n_iter_,)
        The energy per row after each iteration, in units of the variance of the data: with the
        penalties for the rows that took part, without them for the held-out ones (nan if there are
        none). With more than 50 columns, within the leading principal subspace.
    n_iter_ : int
        Iterations made.
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

    The paper's loop, without rescaling, held-out rows and shortcuts:

    >>> loop = DRUR(n_centers=30, alpha=1e-3, init="isomap", down_weight=None, tol=None,
    ...             recenter=(True, False), exact=True, max_iter=10, random_state=0)
    >>> loop.fit(X).score(X) > 0.95, loop.n_iter_
    (True, 10)
    """

    density_: LatentDensity
    _ways: dict[str, Chain]

    def __init__(
        self,
        n_components: int = 2,
        *,
        up: str | Map = "rbf",
        down: str | Map = "rbf",
        n_centers: int | str | tuple[int, int] = "auto",
        alpha: float | str | tuple[float, float] = "auto",
        down_weight: float | None = 1.0,
        init: object = "auto",
        max_iter: int = 50,
        tol: float | None = 0.03,
        recenter: int | bool | tuple[int, int] = 4,
        optimizer: str | RowMinimizer = "gauss_newton",
        exact: bool = False,
        store_embedding: bool = True,
        scale: Any = None,
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
        self.optimizer = optimizer
        self.exact = exact
        self.store_embedding = store_embedding
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _upgrade(self) -> None:
        """Add the parameters that early model files do not have."""
        self.__dict__.setdefault("optimizer", "gauss_newton")
        self.__dict__.setdefault("exact", False)

    def _learn(self, problem: Problem) -> Learned:
        settings = DRURSettings.of(self)
        keep = settings.store_embedding
        rows = ArrayRows(problem.data)
        found = fit_rows(settings, rows, problem, Journal(), keep_starts=keep)
        Z = found.latents
        if Z is None:
            Z = np.empty((0, problem.n_components))
            if keep:
                with problem.progress.phase("latents"):
                    Z = found.embedder.latents_of_all(problem.data, found.starts)
        return self._assemble(found, Z)

    def _assemble(self, found: UnsupervisedFit, Z: Array) -> Learned:
        """Return the maps and all attributes; latents are kept with ``store_embedding``."""
        ways = encoders_of(found.coordinates, found.maps, found.domain)
        attributes = attributes_of(found, (self.up, self.down)) | {"_ways": ways}
        return Learned(
            latents=Z if self.store_embedding else Z[:0],
            units=CenteredUnits.identity(Z.shape[1]),
            encoder=ways[attributes["method_"]],
            decoder=found.maps.decoder,
            density=found.domain,
            attributes=attributes,
        )

    def _grown(self, data: Array, rng: np.random.Generator, progress: FitProgress) -> Growth:
        return updated(self, data, n_rows_of(self), rng, progress)

    def _learn_constant(self, problem: Problem) -> Learned:
        learned = super()._learn_constant(problem)
        ways = {"map": learned.encoder, "project": learned.encoder}
        return replace(learned, attributes=constant_attributes() | {"_ways": ways})

    def _encode(self, data: Array, method: str = "auto") -> Array:
        """Encode data in blocks, whose intermediate results stay in the cache."""
        method = self.method_ if method == "auto" else method
        way = self._ways[method]
        data = without_gaps(self, data)
        latents = np.empty((len(data), self._n_features_out))

        def work(rows: slice) -> None:
            latents[rows] = self._latent_units.back(way.predict(self._data_units.into(data[rows])))

        per_row = 8 * data.shape[1] if method == "map" else 0  # a projection has its own blocks
        with self._threads():
            map_blocks(work, row_blocks(len(data), per_row))
        return latents

    def _decode(self, latents: Array) -> Array:
        """Decode latents in blocks."""
        data = np.empty((len(latents), self._data_units.n_features))

        def work(rows: slice) -> None:
            inside = self._latent_units.into(latents[rows])
            data[rows] = self._data_units.back(self.decoder_.predict(inside))

        with self._threads():
            map_blocks(work, row_blocks(len(latents), 8 * data.shape[1]))
        return data

    def _known_score(self) -> tuple[float, str] | None:
        return 1.0 - self.errors_[self.method_], "held-out rows"

    def fit_blocks(self, blocks: Any, *, n_passes: int = 1) -> Self:
        """Learn from rows that do not fit into memory.

        A first reading draws a uniform sample, which is fitted like any table. Each further reading
        projects every row and solves the regressions of radial networks for the sums over all of
        them; perceptrons and user-supplied maps stay as learned from the sample. Rows are not kept,
        so ``embedding_`` is empty: call ``transform`` block by block.

        Parameters
        ----------
        blocks : array-like of shape (n_samples, n_features), iterable of such, or callable
            A memory-mapped array (or another two-dimensional object that supports slices of rows),
            a list of blocks, or a function that returns a new iterator of blocks and is called once
            for each reading. From an iterator that can be read only once, the sample alone is
            learned; ``alpha_`` is then the ridge for the rows of the sample.
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
        settings = DRURSettings.of(self)
        check_int("n_passes", n_passes, low=0)
        check_stream_settings(settings)
        with self._threads(), repeatable_threads():
            fitted = self._fitted_to_stream(settings, RowStream.of(blocks), n_passes)
        self._take({name: vars(fitted)[name] for name in fitted._learned_names})
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if name in vars(fitted):
                self.__dict__[name] = vars(fitted)[name]
        return self

    def _fitted_to_stream(self, settings: DRURSettings, stream: RowStream, n_passes: int) -> DRUR:
        """Return a copy fitted to a sample of the stream, with maps solved for all its rows."""
        # Draw a new seed: data generated with the same seed would be sampled by their own values.
        rng = np.random.default_rng(check_rng(self.random_state).integers(2**63))
        fitted: DRUR = clone(self).set_params(store_embedding=False)
        sampled = sampled_rows(stream.checked(fitted, first=True), settings.most_rows_of_turns, rng)
        seen = {name: vars(fitted).get(name) for name in ("n_features_in_", "feature_names_in_")}
        share = len(sampled.rows) / sampled.n_rows
        alpha = tuple("auto" if one is None else share * one for one in settings.alphas)
        fitted.set_params(alpha=alpha).fit(sampled.rows)
        fitted.__dict__.update({name: value for name, value in seen.items() if value is not None})
        warn_of_rare_columns(sampled.varying, fitted._data_units.varying)
        equal_rows = not isinstance(fitted._ways["map"], Chain)
        if stream.once or equal_rows or not any(settings.are_networks):
            return fitted
        for number in range(n_passes):
            fitted._sweep(settings, stream, share if number == 0 else 1.0, sampled.n_rows)
        return fitted

    def _sweep(self, settings: DRURSettings, stream: RowStream, share: float, n_rows: int) -> None:
        """Solve the maps for the sums over all rows of a stream."""
        coordinates, projection = self._ways["project"].maps
        assert isinstance(coordinates, Affine)
        assert isinstance(projection, Projection)
        up, down = projection.decoder, projection.guess
        assert up is not None
        assert down is not None
        sweep = Sweep(coordinates, up, down, projection.latents_, settings.are_networks)
        units = self._data_units
        tree, seen = TreeSum(), 0
        for block in in_leaves(stream.checked(self, first=False)):
            tree.add_in_threads(
                lambda rows, start: sweep(units.into(rows), start), without_gaps(self, block), seen
            )
            seen += len(block)
        if seen != n_rows:
            raise ValueError(
                f"blocks gave {seen} rows in a further reading, {n_rows} in the first. A function "
                "must return a new iterator each time it is called."
            )
        sums: SweepSums = tree.total()
        maps = sweep.solved(sums, share)
        self._ways = encoders_of(coordinates, maps, self.density_)
        self.encoder_, self.decoder_ = self._ways[self.method_], maps.decoder
        self.alpha_ = tuple(float(getattr(one, "alpha_", np.nan)) for one in (maps.up, maps.down))
        self._variance = sums.squares / n_rows

    def transform(self, X: Any, *, method: str = "auto", return_std: bool = False) -> Any:
        """Encode data: map each row to the latent space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        method : {"auto", "map", "project"}, default="auto"
            "map" applies the learned down-map F, one matrix product; "project" finds the latent
            whose image is nearest, which reconstructs better where F is inaccurate; "auto" takes
            the one of the lower held-out error, ``method_``.
        return_std : bool, default=False
            Whether to return how far positions are determined, too.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Latents.
        Z_std : ndarray of shape (n_samples, n_components)
            Standard deviations of the latents under usual errors of the row; see
            `TwoWayEstimator.transform`. Only if ``return_std`` is True.

        Examples
        --------
        >>> from twofold import DRUR
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(200, random_state=0)
        >>> model = DRUR(n_centers=20, init="isomap", random_state=0).fit(X)
        >>> model.transform(X, method="map").shape, model.transform(X, method="project").shape
        ((200, 2), (200, 2))
        >>> sorted(model.errors_), model.method_ in model.errors_
        (['map', 'project'], True)
        """
        check_is_fitted(self)
        check_choice("method", method, ("auto", "map", "project"))
        if return_std:
            latents = DRUR.transform(self, X, method=method)

            def encode(data: Array) -> Array:
                return self._encode(data, method)

            return self._with_position_deviations(X, latents, encode)
        if is_dask(X):
            return lazily(self, "transform", X, method=method)
        data, dtype = self._rows(X)
        if issparse(data):
            return cast_back(encoded(self, data, method=method), dtype)
        return cast_back(self._encode(data, method), dtype)
