r"""Unsupervised kernel regression: principal surfaces whose parameters are the latents themselves.

The manifold is the Nadaraya-Watson regression of the data on their latents (Meinicke et al. 2005,
Eq. 2). Leaving each point out of its own prediction costs nothing and regularizes: minimizing the
leave-one-out error (Eq. 10) over the latents keeps kernels overlapping. The learning scheme is that
of section 2.3:

1. candidates from linear, spectral and neighbor embeddings; 2. each at its best scale; 3. the best
of them is the start; 4. if that is PCA alone, homotopy: the error is minimized under a
density constraint that is relaxed step by step; 5. the error is minimized without constraint; 6.
the lowest density at a latent bounds the domain of the map.

Departures from the paper, and their reasons:

* L-BFGS instead of RPROP (also available). On most samples of the paper's spiral, from the same
  start and with the paper's error, 300 iterations of L-BFGS end lower than 1,000 of RPROP.
* A neighbor embedding (t-SNE) is among the candidates; on images it starts far below LLE.
* The start is the candidate whose map has the best score on held-out rows, not the one of the
  lowest error: that number does not see whether the map is in pieces.
* A pseudo-count of observations at the mean in each prediction, and at the end new places for
  points out of reach of all others: the error stays smooth and bounded, and no strays remain.
* The leave-one-out error can be driven below the noise, and the map is torn on the way. By default
  the run ends once it falls slowly; with ``validation_fraction`` when the score of the map is best.
  On the paper's spiral the leave-one-out and projection errors of ``UKR()`` are therefore higher
  than those of 1,000 RPROP steps, and its curve is nearer to the true one.
* New rows may be placed in gaps of the map. The paper's bound on the density forbids it.

The paper's setting is ``UKR(init=[...], optimizer="rprop", max_iter=500, tol=0.0, pseudo_count=0.0,
density_threshold="quantile:0")`` from the candidate of the lowest "cv_error"; from PCA also
``homotopy=Homotopy(max_iter=100, tol=0.0)``.

Notation
--------
=====================  ===========================
Meinicke et al.        here
=====================  ===========================
``y_i``, ``Y``         rows of data
``x_i``, ``X``         ``embedding_``
``R_cv``               ``cv_error_``
``eta``                ``density_threshold_``
=====================  ===========================

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.base.estimator import TwoWayEstimator
from twofold.base.gaps import without_gaps
from twofold.base.growth import Growth
from twofold.base.problem import Learned, Problem
from twofold.base.progress import FitProgress
from twofold.kernels import resolve_kernel
from twofold.maps import NadarayaWatson
from twofold.numerics.column_factors import factors_of_rows, origin_of_rows
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import sqdist
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import check_data, check_latents, check_real, warn_user
from twofold.optimize import SpectralGuidance
from twofold.protocols import Array, IntArray, Minimizer, RadialKernel
from twofold.ukr.extent import ManifoldExtent, manifold_extent
from twofold.ukr.feature_space import SHIFT_INVARIANT, FeatureEncoder
from twofold.ukr.fitting import fit_rows
from twofold.ukr.homotopy import Homotopy
from twofold.ukr.settings import UKRSettings, is_metric
from twofold.ukr.update import updated

LARGEST_VALUE = 1e75
"""Squares of the kernel values of larger data would overflow."""


class UKR(TwoWayEstimator):
    """Unsupervised kernel regression.

    Parameters
    ----------
    n_components : int, default=2
        Latent dimensions.
    kernel : {"gaussian", "quartic", "triweight", "student"} or RadialKernel, default="gaussian"
        The latent kernel. A compact kernel ("quartic", "triweight") makes all sums sparse.
    metric : str or callable, default="euclidean"
        How data are compared: "euclidean"; "l1", city-block distances; "precomputed", where X is a
        Gram matrix in `fit` and kernel rows in `transform`; a name from
        ``sklearn.metrics.pairwise.pairwise_kernels``; or a function of two data matrices that
        returns kernel values. The kernel must be positive definite, or conditionally so.
        `inverse_transform` needs a pre-image, which "euclidean", "l1", "linear", "rbf",
        "laplacian", "polynomial", "cosine", "chi2" and "additive_chi2" have; `nearest_rows` works
        for all. For "precomputed" the part of a new row outside the span of the training rows is
        unknown, and left out of errors and scores.
    metric_params : dict, default=None
        Parameters of a named kernel. The defaults are scikit-learn's: for "rbf" and others
        ``gamma = 1 / n_features``, which suits columns of unit variance.
    init : str, array-like, callable, estimator, list or mapping of these, or "auto", default="auto"
        Initial latents: the name of a method, an array of shape (n_samples, n_components), a
        function or an estimator. Of several, the one whose map has the best score on held-out rows
        wins, see `twofold.metrics.map_score`; up to 2,000 rows, the best three are compared after
        ten iterations. "auto" tries PCA, Isomap and t-SNE. Where sums are exact it also tries
        Isomap with 6 neighbors: up to 200 rows; up to 5,000 with ``pseudo_count=0``, ``leave_out``
        above one, a homotopy or ``objective="reconstruction"``; any number of rows with
        ``kernel="student"``. With other metrics than Euclidean, named methods embed the
        coordinates of the rows in feature space: "pca" is kernel PCA, and distances are those of
        the kernel. Arrays, functions and estimators see X itself. Names may include a number of
        neighbors: "lle:12". A mapping gives names to starts, such as ``{"tsne": Z}`` for known
        latents. Under the names "pca", "isomap" and "tsne" they keep their shape; under other
        names, and without a name, each dimension gets unit variance.
    optimizer : {"lbfgs", "rprop", "gd", "cg"} or Minimizer, default="lbfgs"
        The minimizer of the error.
    guidance : SpectralGuidance, default=None
        Lets the affinities of the data guide the first steps of the minimization, so that neighbors
        move together: for uninformative starts such as ``init="random"``. See
        `twofold.optimize.SpectralGuidance`.
    max_iter : int or "auto", default="auto"
        Most iterations; "auto" means 100.
    tol : float, default=7e-3
        Relative decrease of the error, over two iterations, at which the run ends. A lower value
        lowers the leave-one-out error further, and the held-out error a little, but it tears the
        map: see the user guide.
    objective : {"leave_one_out", "reconstruction"}, default="leave_one_out"
        The error of Eq. (10), or the plain one of Eq. (8), which needs a ``density_threshold`` to
        keep latents together, Eq. (9).
    leave_out : int, default=1
        If more than one, points leave out random groups of this size, which smooths more.
    pseudo_count : float or "auto", default="auto"
        Observations at the mean in each prediction while fitting. "auto" is the leave-one-out error
        of the start as a share of the variance: the more noise, the more each prediction leans on
        the mean, and the smoother the map. 0 is the paper's objective.
    homotopy : {"auto", True, False} or Homotopy, default="auto"
        Whether to relax a density constraint step by step before the free minimization; a
        `twofold.ukr.Homotopy` gives the schedule. "auto" means if the start is PCA alone, by name
        or scikit-learn's, and sums are exact: up to 200 rows by default, up to 5,000 with
        ``pseudo_count=0``.
    density_threshold : "auto", "quantile:share" or float, default="auto"
        Bounds the domain of the map: latents with a density of at least this share of the kernel's
        maximum. "quantile:0.01" is exceeded by all but 1 % of the training latents, "quantile:0" is
        the paper's bound, the lowest value at a training latent. "auto" is the same value, but
        `transform` may cross gaps in the map and leave this domain by about four kernel widths.
    smoothing : float, default=1.0
        Width of the kernel in the maps, in units of that of the fit. Wider kernels decode a place
        to the mean of more rows: the error of rows that are encoded and decoded rises by a few
        percent (of noisy rows it falls), and codebook errors fall by more. On the digits 1.25 has
        a held-out error of 0.210 instead of 0.204 and a codebook error of 0.405 instead of 0.427.
    validation_fraction : float, default=None
        Share of rows to hold out while the number of iterations is chosen whose map has the best
        score on them. The model is then fitted to all rows with this number.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state : int, RandomState, Generator or None, default=None
        Seeds candidates, groups and held-out rows.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        1 logs the phases of a fit and, every few seconds, its progress; 2 logs every iteration.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The latents, in units of the kernel's width in the maps after a fit. An update keeps the
        unit and makes kernels narrower.
    candidates_ : list of dict
        "name", "scales", "cv_error" and "map_score" of each start, best first: the leave-one-out
        error of the start, and the score of its map on held-out rows, up to 2,000 rows for the
        first three after ten iterations. The score is minus infinity for a single start, and for
        fewer than 20 rows, where the error decides. The paper's choice is the start of the lowest
        "cv_error".
    init_ : str
        The start that won.
    cv_error_ : float
        Leave-one-out error at the end, Eq. (10), in squared units of the data (or feature space).
    history_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration, in the same units; for
        ``objective="reconstruction"`` the error of Eq. (8) without the barrier, which may rise a
        little where the barrier's weight changes. Of more than 200
        rows of more than 50 columns it is that of the data in their leading principal subspace.
    validation_history_ : ndarray of shape (n_checks,)
        Scores of the map on held-out rows, every five iterations of the free minimization (or once,
        at its end, if it was shorter); empty without validation.
    pseudo_count_ : float
        The pseudo-count in use.
    density_threshold_ : float
        The threshold in use, as a share of the kernel's maximum.
    log_density_threshold_ : float
        The same as a value of `log_density`.
    n_iter_ : int
        Iterations of the free minimization.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> X, _ = make_noisy_spiral(200, random_state=0)
    >>> model = UKR(n_components=1, init="isomap", random_state=0).fit(X)
    >>> model.transform(X).shape, model.score(X) > 0.98
    ((200, 1), True)
    """

    _pulls_rows = True
    smoothing: float = 1.0  # of models in files that are older than the parameter

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str | RadialKernel = "gaussian",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "auto",
        optimizer: str | Minimizer = "lbfgs",
        guidance: SpectralGuidance | None = None,
        max_iter: int | str = "auto",
        tol: float = 7e-3,
        objective: str = "leave_one_out",
        leave_out: int = 1,
        pseudo_count: float | str = "auto",
        homotopy: str | bool | Homotopy = "auto",
        density_threshold: str | float = "auto",
        smoothing: float = 1.0,
        validation_fraction: float | None = None,
        scale: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.optimizer = optimizer
        self.guidance = guidance
        self.max_iter = max_iter
        self.tol = tol
        self.objective = objective
        self.leave_out = leave_out
        self.pseudo_count = pseudo_count
        self.homotopy = homotopy
        self.density_threshold = density_threshold
        self.smoothing = smoothing
        self.validation_fraction = validation_fraction
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _measure_units(self, data: Array) -> CenteredUnits:
        if self._is("euclidean") or self._is("l1"):
            return super()._measure_units(data)
        if self._is("precomputed") and self.scale is not None:
            raise ValueError(
                f"scale={self.scale!r} is not for metric='precomputed', where X holds kernel "
                "values. Use scale=None, and scale the data before computing the kernel."
            )
        shift = origin_of_rows(self.scale, data)
        factors = factors_of_rows(self.scale, data)
        scaled = data if factors is None else (data - shift) / factors
        if np.abs(scaled).max(initial=0.0) > LARGEST_VALUE:
            raise ValueError(
                f"The values of X are out of range for metric={self.metric!r}: the largest is "
                f"{np.abs(scaled).max():.3g} in absolute value, {LARGEST_VALUE:.0g} is supported."
            )
        if (data == data[0]).all():
            return CenteredUnits.of(data)  # the model of constant data
        # Other kernels depend on the scale, and most on the origin: both stay as given.
        units = CenteredUnits.identity(data.shape[1])
        if isinstance(self.metric, str) and self.metric in SHIFT_INVARIANT:
            units = CenteredUnits.shifted(scaled)
        if factors is not None:
            units = units.after(shift, factors)
            units = replace(units, constants=np.where(units.varying, 0.0, data[0]))
        return units if self._is("precomputed") else units.with_range(data)

    def _in_units(self, units: CenteredUnits, variance: float | None) -> Self:
        # In a feature space, errors are not distances between data.
        in_features = isinstance(self.encoder_, FeatureEncoder)
        return super()._in_units(units, None if in_features else variance)

    def _is(self, metric: str) -> bool:
        return is_metric(self.metric, metric)

    def _learn(self, problem: Problem) -> Learned:
        return fit_rows(UKRSettings.of(self, len(problem.data)), problem)

    def _grown(self, data: Array, rng: np.random.Generator, progress: FitProgress) -> Growth:
        return updated(self, data, rng, progress)

    def _learn_constant(self, problem: Problem) -> Learned:
        learned = super()._learn_constant(problem)
        assert isinstance(learned.density, LatentDensity)
        attributes = {
            "candidates_": [],
            "init_": "constant",
            "pseudo_count_": 0.0,
            "cv_error_": 0.0,
            "history_": np.zeros(1),
            "validation_history_": np.empty(0),
            "density_threshold_": 1.0,
            "log_density_threshold_": learned.density.log_threshold(),
            "n_iter_": 1,
        }
        return replace(learned, attributes=attributes)

    def kernel_inner(self, X: Any, Z: Any) -> Array:
        """Return the inner products of data with points of the manifold, Eq. (16).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Data.
        Z : array-like of shape (m, n_components)
            Latents.

        Returns
        -------
        ndarray of shape (n, m)
            ``<phi(x_i), f(z_j)>``; for the Euclidean metric the inner product with the decoded
            latents.

        Examples
        --------
        >>> import numpy as np
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> model = UKR(1, init="isomap", random_state=0).fit(X)
        >>> Z = model.embedding_[:4]
        >>> bool(np.allclose(model.kernel_inner(X, Z), X @ model.inverse_transform(Z).T))
        True
        """
        check_is_fitted(self)
        data, _ = check_data(self, X, reset=False)
        latents, _ = check_latents(Z, self._n_features_out, owner=type(self).__name__)
        if isinstance(self.encoder_, FeatureEncoder) and not self._is("linear"):
            space = self.encoder_.space
            units = self._data_units
            kept = units.all_columns(units.back(space.data))
            rows = space.kernel_rows(units.all_columns(data), kept)
            weights = self.encoder_.regression.weights(self._latent_units.into(latents))
            return row_product(rows, weights.T)
        return row_product(data, self._decode(latents).T)

    def nearest_rows(self, Z: Any) -> IntArray:
        """Return the numbers of the training rows that are nearest to points of the manifold.

        Distances are those of the data space, or of the feature space of the metric. This is the
        pre-image among the training rows, which every metric has: strings, graphs and precomputed
        kernels too.

        Parameters
        ----------
        Z : array-like of shape (m, n_components)
            Latents.

        Returns
        -------
        ndarray of int, shape (m,)
            Row numbers in the data passed to `fit`.

        Examples
        --------
        >>> from sklearn.metrics.pairwise import rbf_kernel
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> model = UKR(1, metric="precomputed", init="isomap", random_state=0).fit(rbf_kernel(X))
        >>> X[model.nearest_rows(model.embedding_[:4])].shape
        (4, 2)
        """
        check_is_fitted(self)
        self._check_has_rows("nearest_rows")
        latents, _ = check_latents(Z, self._n_features_out, owner=type(self).__name__)
        regression = self._regression()
        images = regression.predict(self._latent_units.into(latents))
        found = np.empty(len(images), dtype=np.int64)
        for rows in row_blocks(len(images), 3 * 8 * len(regression.targets_)):
            found[rows] = sqdist(images[rows], regression.targets_).argmin(axis=1)
        return found

    def extent(self, density_threshold: float | None = None) -> ManifoldExtent:
        """Return the length, area or volume of the manifold, and its bounds by the density.

        Meinicke et al. (2005), Eqs. (5), (6), (21) and (22). A higher threshold makes the latent
        domain smaller and the bounds tighter. Gaps between latents, where the density is below the
        threshold, are left out. A warning is given if the domain leaves out training latents.

        Parameters
        ----------
        density_threshold : float, default=None
            Share of the kernel's maximum that the density reaches in the latent domain; None means
            ``density_threshold_``.

        Returns
        -------
        ManifoldExtent
            For metrics other than Euclidean, in feature space.

        Examples
        --------
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(200, noise=0.01, random_state=0)
        >>> model = UKR(1, init="isomap", random_state=0).fit(X)
        >>> 7.0 < model.extent().volume < 10.0  # the spiral has a length of 8.9
        True
        """
        check_is_fitted(self)
        self._check_has_rows("extent")
        threshold = self.density_threshold_
        if density_threshold is not None:
            threshold = check_real("density_threshold", density_threshold, above=0.0, below=1.0)
        regression, kernel = self._regression(), resolve_kernel(self.kernel)
        feature_space = isinstance(self.encoder_, FeatureEncoder)
        unit = float(np.sqrt(self._feature_unit())) if feature_space else self._data_units.unit()
        extent = manifold_extent(regression.inputs_, regression.targets_, kernel, threshold, unit)
        if density_threshold is not None or not isinstance(self.density_threshold, str):
            self._warn_of_left_out(extent)
        return extent

    def _warn_of_left_out(self, extent: ManifoldExtent) -> None:
        """Warn if training latents lie outside of the domain of a density threshold."""
        threshold = extent.density_threshold
        above = self.log_density(self.embedding_) - self.log_density_threshold_
        shares = self.density_threshold_ * np.exp(above)
        outside = int((shares < threshold * (1.0 - 1e-9)).sum())
        if outside:
            end = "" if extent.latent_volume else ", and the latent domain is empty"
            warn_user(
                f"density_threshold={threshold:.3g} leaves out {outside} of {len(shares)} training "
                f"latents{end}. The density at the training latents is between {shares.min():.3g} "
                f"and {shares.max():.3g}, and density_threshold_={self.density_threshold_:.3g}. "
                "Use a lower threshold to include all of them.",
                UserWarning,
            )

    def _check_has_rows(self, method: str) -> None:
        if hasattr(self, "compression_"):
            raise ValueError(
                f"{method} needs the training rows, which a compressed model does not keep. Call "
                "it on the model that was compressed."
            )

    def _regression(self) -> NadarayaWatson:
        """Return the regression of the data, or of their coordinates in feature space."""
        if isinstance(self.encoder_, FeatureEncoder):
            return self.encoder_.regression
        assert isinstance(self.decoder_, NadarayaWatson)
        return self.decoder_

    def _known_score(self) -> tuple[float, str] | None:
        """Return one minus the leave-one-out error over the variance."""
        unit = self._data_units.unit(1 if self._is("l1") else 2)
        known = self.cv_error_ < np.finfo(np.float64).max
        if not (self._variance > 0.0 and known and unit > 0.0):
            return None
        return 1.0 - self.cv_error_ / unit / self._variance, "leave-one-out"

    def _feature_unit(self) -> float:
        return float(np.ldexp(1.0, self._data_units.exponent)) if self._is("l1") else 1.0

    def _unit_distances(self, data: Array) -> Array:
        if isinstance(self.encoder_, FeatureEncoder):
            units, data = self._data_units, without_gaps(self, data)
            errors = self.encoder_.squared_errors(units.into(data))
            if self._is("l1"):  # columns that were constant in fit count too
                errors = errors + units.changes(data)
            return np.sqrt(errors)
        return super()._unit_distances(data)

    def _distances(self, data: Array) -> Array:
        if isinstance(self.encoder_, FeatureEncoder):
            return self._unit_distances(data) * float(np.sqrt(self._feature_unit()))
        return super()._distances(data)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a precomputed Gram matrix is split by rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is("precomputed")
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags
