r"""Unsupervised kernel regression: principal surfaces whose parameters are the latents themselves.

The manifold is the Nadaraya-Watson regression of the data on their latents (Meinicke et al. 2005,
Eq. 2). Leaving each point out of its own prediction costs nothing and regularises: minimising the
leave-one-out error (Eq. 10) over the latents keeps kernels overlapping. The learning scheme is that of
section 2.3:

1. candidates from linear, spectral and neighbour embeddings; 2. each at its best scale; 3. the one
of the lowest error is the start; 4. where that is PCA, homotopy: the error is minimised under a
density constraint that is relaxed step by step; 5. the error is minimised without constraint; 6. the
lowest density at a latent bounds the domain of the map.

What departs from the paper, and why:

* L-BFGS where the paper has RPROP (also offered): lower errors in a tenth of the evaluations.
* A neighbour embedding (t-SNE) is among the candidates; on images it starts far below LLE.
* A pseudo-count of observations at the mean in each prediction, and at the end new places for points
  that no other reaches: the error stays smooth and bounded, and no point is left stray.
* The leave-one-out error can be driven below the noise. By default the run ends after a moderate
  number of iterations; with ``validation_fraction`` it ends where held-out rows are rebuilt best.

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

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from twofold._linalg import row_norms_sq
from twofold._units import CentredUnits
from twofold._validation import check_data, check_latents
from twofold.candidates import Candidate, scaled_candidate
from twofold.density import LatentDensity
from twofold.encoders import Projection
from twofold.estimators._feature_maps import FeatureEncoder, PreimageDecoder
from twofold.estimators._ukr_settings import check_settings, log_threshold
from twofold.estimators._ukr_starts import first_latents
from twofold.estimators.base import Learned, Problem, TwoWayEstimator
from twofold.feature_spaces import FeatureSpace
from twofold.kernel_regression import KernelRegression
from twofold.kernels import DensityKernel, Gaussian, resolve_kernel
from twofold.maps import NadarayaWatson
from twofold.optimize import resolve_minimizer
from twofold.protocols import Array, Minimizer, MinimizeResult, RadialKernel

__all__ = ["UKR"]

HOMOTOPY_STEPS = 50
STILL_FALLING = 1e-2
"""Relative decrease of the objective in the last iteration above which a fit counts as cut short."""

VALIDATE_EVERY = 10
PATIENCE = 3


class UKR(TwoWayEstimator):
    """Unsupervised kernel regression.

    Parameters
    ----------
    n_components : int, default=2
        Latent dimensions.
    kernel : {"gaussian", "quartic", "triweight", "student"} or RadialKernel, default="gaussian"
        The latent kernel. A compact kernel ("quartic", "triweight") makes all sums sparse.
    metric : str or callable, default="euclidean"
        How data are compared: "euclidean"; "l1", city-block distances; "precomputed", where X is a Gram
        matrix at fit and kernel rows at transform; a name from
        ``sklearn.metrics.pairwise.pairwise_kernels``; or a function of two data matrices that returns
        kernel values. Any positive definite or conditionally positive definite kernel will do.
    metric_params : dict, default=None
        Parameters of a named kernel.
    init : str, array-like, callable, estimator, list of these, or "auto", default="auto"
        Where the latents start; of several, the one of the lowest leave-one-out error at its best
        scale. "auto" tries PCA, LLE, Isomap and Laplacian eigenmaps with several neighbourhoods, and
        t-SNE (for kernels other than Euclidean: kernel PCA and t-SNE in feature space). Names may carry
        a neighbourhood: "lle:12".
    optimizer : {"lbfgs", "rprop", "gd", "cg"} or Minimizer, default="lbfgs"
        What minimises the error.
    max_iter : int, default=100
        Iterations at most. More lower the leave-one-out error further, down to following the noise.
    tol : float, default=1e-4
        Relative decrease of the error at which the run ends.
    objective : {"leave_one_out", "reconstruction"}, default="leave_one_out"
        The error of Eq. (10), or the plain one of Eq. (8), which needs a ``density_threshold`` to keep
        latents together, Eq. (9).
    leave_out : int, default=1
        With more than one, points leave out random groups of this size, which smooths more.
    pseudo_count : float, default=0.03
        Observations at the mean in each prediction while fitting; 0 is the paper's objective.
    homotopy : {"auto", True, False}, default="auto"
        Whether to relax a density constraint step by step before the free minimisation. "auto" means
        where PCA wins.
    density_threshold : "auto", "quantile:share" or float, default="auto"
        Bounds the domain of the map: latents with density of at least this share of the kernel's
        maximum. "auto" takes the lowest value at a training latent, "quantile:0.01" one that all but
        a hundredth of them reach.
    validation_fraction : float, default=None
        Share of rows to hold out while finding the number of iterations that rebuilds them best. The
        model is then fitted to all rows for that many.
    random_state : int, RandomState, Generator or None, default=None
        Seeds candidates, groups and held-out rows.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Whether to log the phases of a fit.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The latents, in units of the kernel's width.
    candidates_ : list of dict
        "name", "scales" and "cv_error" of each start, best first.
    init_ : str
        The start that won.
    cv_error_ : float
        Leave-one-out error at the end, Eq. (10), in squared units of the data (or feature space).
    history_ : ndarray
        The objective at the start and after each iteration, in the same units.
    validation_history_ : ndarray
        Relative errors of held-out rows, every ten iterations; empty without validation.
    density_threshold_ : float
        The threshold in use.
    n_iter_ : int
        Iterations of the free minimisation.
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

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str | RadialKernel = "gaussian",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "auto",
        optimizer: str | Minimizer = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        objective: str = "leave_one_out",
        leave_out: int = 1,
        pseudo_count: float = 0.03,
        homotopy: str | bool = "auto",
        density_threshold: str | float = "auto",
        validation_fraction: float | None = None,
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
        self.max_iter = max_iter
        self.tol = tol
        self.objective = objective
        self.leave_out = leave_out
        self.pseudo_count = pseudo_count
        self.homotopy = homotopy
        self.density_threshold = density_threshold
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _measure_units(self, data: Array) -> CentredUnits:
        # Kernels other than these two depend on origin and scale, which are then the caller's.
        if self._is_euclidean() or self._is("l1"):
            return CentredUnits.of(data)
        return CentredUnits.identity(data.shape[1])

    def _is(self, metric: str) -> bool:
        return isinstance(self.metric, str) and self.metric == metric

    def _is_euclidean(self) -> bool:
        return self._is("euclidean")

    def _learn(self, problem: Problem) -> Learned:
        check_settings(self)
        kernel = resolve_kernel(self.kernel)
        space = None
        data = problem.data
        if not self._is_euclidean():
            space = FeatureSpace.of(data, self.metric, self.metric_params)
            data = space.coordinates
        scheme = KernelRegression.of(
            data,
            kernel,
            pseudo_count=self.pseudo_count,
            groups=self._groups(len(data), problem.rng),
            n_jobs=self.n_jobs,
        )
        with problem.progress.phase("candidates"):
            starts = first_latents(self.init, data, problem)
        candidates = self._scaled(scheme, starts, problem)
        validation: list[float] = []
        n_iter = self.max_iter
        if self.validation_fraction is not None:
            n_iter, validation = self._validated_iterations(scheme, candidates, problem)
        result = self._minimise(scheme, candidates[0], problem, n_iter)
        Z, _ = scheme.rescue(result.Z)
        Z = Z - Z.mean(axis=0)
        return self._assemble(problem, scheme, space, Z, candidates, result, validation)

    def _groups(self, n: int, rng: np.random.Generator) -> Any:
        if self.leave_out == 1:
            return None
        return rng.permutation(n) // self.leave_out

    def _scaled(
        self, scheme: KernelRegression, starts: dict[str, Array], problem: Problem
    ) -> list[Candidate]:
        """Return the candidates at their best scales, best first (steps 2 and 3)."""
        error = scheme.objective().value
        with problem.progress.phase("scales"):
            scaled = [scaled_candidate(name, Z, error, scheme.kernel) for name, Z in starts.items()]
        return sorted(scaled, key=lambda candidate: candidate.error)

    def _minimise(
        self,
        scheme: KernelRegression,
        start: Candidate,
        problem: Problem,
        n_iter: int,
        judge: Any = None,
    ) -> MinimizeResult:
        """Run steps 4 and 5 from a candidate."""
        minimizer = resolve_minimizer(self.optimizer, max_iter=n_iter, tol=self.tol)
        plain = self.objective == "reconstruction"
        homotopy = start.name == "pca" if self.homotopy == "auto" else bool(self.homotopy)
        Z = start.latents
        if homotopy or plain:
            quick = resolve_minimizer(self.optimizer, max_iter=HOMOTOPY_STEPS, tol=self.tol)
            with problem.progress.phase("homotopy", max_iter=None) as callback:
                until = float(self.density_threshold) if plain else 0.0
                Z = scheme.anneal(Z, quick, until=until, leave_one_out=not plain, callback=callback)
        with problem.progress.phase("minimisation", max_iter=None) as callback:

            def on_iteration(number: int, value: float, point: Array) -> bool:
                stop = callback(number, value, point)
                return stop or (judge is not None and judge(number, point)) or number >= n_iter

            if plain:
                return scheme.constrained(
                    Z, float(self.density_threshold), minimizer, False, on_iteration
                )
            return minimizer.minimize(scheme.objective(), Z, callback=on_iteration)

    def _validated_iterations(
        self, scheme: KernelRegression, candidates: list[Candidate], problem: Problem
    ) -> tuple[int, list[float]]:
        """Return the iterations after which held-out rows are rebuilt best, and their errors."""
        n = len(scheme.data)
        n_held_out = max(1, int(np.ceil(float(self.validation_fraction) * n)))  # type: ignore[arg-type]
        if n - n_held_out <= problem.n_components:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} leaves {n - n_held_out} of {n} rows."
            )
        order = problem.rng.permutation(n)
        held_out, kept = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
        groups = None if scheme.groups is None else scheme.groups[kept]
        part = KernelRegression.of(
            scheme.data[kept],
            scheme.kernel,
            pseudo_count=scheme.pseudo_count,
            groups=groups,
            n_jobs=scheme.n_jobs,
        )
        variance = float(row_norms_sq(scheme.data).mean())
        errors: list[float] = []

        def judge(number: int, Z: Array) -> bool:
            if number % VALIDATE_EVERY:
                return False
            errors.append(part.projection_error(Z, scheme.data[held_out]) / variance)
            return len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE

        start = replace(candidates[0], latents=candidates[0].latents[kept])
        self._minimise(part, start, problem, self.max_iter, judge)
        best = VALIDATE_EVERY * (int(np.argmin(errors)) + 1) if errors else self.max_iter
        return min(best, self.max_iter), errors

    def _assemble(
        self,
        problem: Problem,
        scheme: KernelRegression,
        space: FeatureSpace | None,
        Z: Array,
        candidates: list[Candidate],
        result: MinimizeResult,
        validation: list[float],
    ) -> Learned:
        """Return the maps, the density and the learned attributes (step 6)."""
        kernel = scheme.kernel
        regression = NadarayaWatson(kernel=kernel, bandwidth=1.0, n_jobs=self.n_jobs)
        regression.fit(Z, scheme.data)
        density_kernel = kernel if isinstance(kernel, DensityKernel) else Gaussian()
        density = LatentDensity(kernel=density_kernel, bandwidth=1.0, n_jobs=self.n_jobs).fit(Z)
        log_maximum = -density_kernel.log_integral(Z.shape[1])
        log_bound = log_threshold(self.density_threshold, density, log_maximum)
        encoder: Any = Projection(regression, density=density, log_threshold=log_bound)
        encoder.fit(scheme.data, Z)
        decoder: Any = regression
        if space is not None:
            encoder, decoder = (
                FeatureEncoder(space, regression, encoder),
                PreimageDecoder(space, regression),
            )
        self._warn_if_cut_short(result)
        unit = self._squared_unit(problem)
        attributes = {
            "candidates_": [
                {"name": c.name, "scales": c.scales, "cv_error": c.error * unit} for c in candidates
            ],
            "init_": candidates[0].name,
            "cv_error_": scheme.cv_error(Z) * unit,
            "history_": result.history * unit,
            "validation_history_": np.array(validation),
            "density_threshold_": float(np.exp(log_bound - log_maximum)),
            "n_iter_": max(1, result.n_iter),
        }
        variance = float(row_norms_sq(scheme.data).mean())
        units = CentredUnits.identity(Z.shape[1])
        return Learned(Z, units, encoder, decoder, density, variance, attributes)

    def _squared_unit(self, problem: Problem) -> float:
        """Return what one squared unit of the scheme's data is in the caller's units."""
        exponent = self._measure_units(problem.original).exponent
        power = 1 if self._is("l1") else 2
        return float(np.clip(np.ldexp(1.0, np.clip(power * exponent, -1074, 1023)), 0.0, None))

    def _warn_if_cut_short(self, result: MinimizeResult) -> None:
        if result.n_iter < self.max_iter:
            return
        before, after = result.history[-2:]
        if before - after > STILL_FALLING * abs(after):
            warnings.warn(
                f"The error was still falling by {100 * (before - after) / abs(after):.0f} % an "
                f"iteration when max_iter={self.max_iter} was reached. Increase max_iter.",
                ConvergenceWarning,
                stacklevel=6,
            )

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
            ``<phi(x_i), f(z_j)>``; for the Euclidean metric the plain inner product with the decoded
            latents.
        """
        check_is_fitted(self)
        data, _ = check_data(self, X, reset=False)
        latents, _ = check_latents(Z, self._n_features_out, owner=type(self).__name__)
        if isinstance(self.encoder_, FeatureEncoder):
            rows = self.encoder_.space.kernel_rows(self._data_units.into(data))
            weights = self.encoder_.regression.weights(self._latent_units.into(latents))
            return self._feature_unit() * np.asarray(rows @ weights.T)
        return np.asarray(data @ self._decode(latents).T)

    def _feature_unit(self) -> float:
        return float(np.ldexp(1.0, self._data_units.exponent)) if self._is("l1") else 1.0

    def _unit_distances(self, data: Array) -> Array:
        if isinstance(self.encoder_, FeatureEncoder):
            return np.sqrt(self.encoder_.squared_errors(self._data_units.into(data)))
        return super()._unit_distances(data)

    def _distances(self, data: Array) -> Array:
        if isinstance(self.encoder_, FeatureEncoder):
            return self._unit_distances(data) * float(np.sqrt(self._feature_unit()))
        return super()._distances(data)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a precomputed Gram matrix is cut in rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is("precomputed")
        return tags
