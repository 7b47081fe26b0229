r"""Regularized principal manifolds.

A manifold ``f`` from a simple domain (an interval, a square, a circle, a torus) into the data space
passes close to all rows and is smooth: it minimizes

.. math:: \frac 1n \sum_i \min_{z \in \mathcal Z} c(x_i, f(z)) + \lambda Q[f]

(Smola et al. 2001). The latent of a row is the place of its nearest image. The mathematics is in
`twofold.principal_manifold.functional` and `twofold.principal_manifold.soft`, the steps of a fit in
`twofold.principal_manifold.fitting`; this module assembles the model.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.base.estimator import TwoWayEstimator
from twofold.base.growth import Growth, n_rows_of
from twofold.base.journal import Journal
from twofold.base.problem import Learned, Problem
from twofold.base.progress import FitProgress
from twofold.losses import Loss, Norm, Squared
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import ArrayRows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import check_data, check_int
from twofold.principal_manifold.bounds import RiskBounds
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.fitting import ManifoldFit, fit_rows, roughness, unit_of
from twofold.principal_manifold.generalization import GeneralizationReport, learning_curve
from twofold.principal_manifold.limit import PenaltyLimit
from twofold.principal_manifold.maps import DomainDensity, ManifoldDecoder, ManifoldEncoder
from twofold.principal_manifold.metric import Mahalanobis
from twofold.principal_manifold.node_kernels import NodeKernel
from twofold.principal_manifold.projection import are_many
from twofold.principal_manifold.settings import (
    MOST_OF_DENSITY,
    CrossValidation,
    ManifoldSettings,
    is_array,
)
from twofold.principal_manifold.spectrum import KernelSpectrum, kernel_spectrum, steepness
from twofold.principal_manifold.update import updated
from twofold.protocols import Array

SMALLEST_UNIT = 1e-135
"""The smallest unit of the data of a report; the largest is its inverse."""


class PrincipalManifold(TwoWayEstimator):
    """Regularized principal manifold: the smooth curve or surface that passes closest to all rows.

    The up-map is a kernel expansion on a domain of your choice, so curves may be closed and
    surfaces be cylinders or tori; the down-map is the projection to the nearest point. The cost of
    a fit is linear in the number of rows, and the size of the maps does not depend on it.

    Parameters
    ----------
    n_components : int, default=1
        Latent dimensions, q.
    kernel : {"gaussian", "periodic", "damped", "spline", "linear", "delta"} or NodeKernel, \
default="gaussian"
        The kernel of the expansion, which defines smoothness. "gaussian" is the smoothest; "damped"
        is rougher. "spline" penalizes the squared speed of a curve: a length constraint. "linear"
        gives principal components, "delta" on `Points` k-means. On the circles of a domain,
        kernels are wrapped around them; "periodic" is the wrapped Gaussian, and "linear" becomes
        the first wave, which gives ellipses. `FourierKernel` has waves of your own weights, for
        domains of circles only. A single column is mapped linearly.
    n_nodes : "auto", int or tuple of int, default="auto"
        Nodes of the expansion: in total, rounded to a square or cube, or along each dimension.
        "auto" is 10 for curves, 8 x 8, 6 x 6 x 6, and in more than three dimensions 200 found by
        k-means.
    width : float, default=1.0
        Bandwidth of the kernel, in distances between neighboring nodes.
    loss : {"squared", "l1", "norm", "huber", "mahalanobis"} or Loss, default="squared"
        The distance of a row to its image. "norm" is the distance itself, "l1" that along the axes,
        "huber" is quadratic up to a scale that is estimated: all three are robust to outliers.
        "mahalanobis" is the squared loss in units of the covariance of the data, ``Mahalanobis(D)``
        that in units of a given matrix.
    penalty : {"rkhs", "l2", "l1"}, default="rkhs"
        "rkhs" is the smoothness that belongs to the kernel, "l2" the penalty of the generative
        topographic map, "l1" leaves few nodes.
    alpha : "cv", CrossValidation, PenaltyLimit or float, default="cv"
        Weight of the penalty relative to the mean loss. Lengths are measured in root mean variances
        of the columns (for robust losses, median ones), so a value does not depend on the unit of
        the data. "cv" is `CrossValidation()`: it compares 10 values from 0.3 to 1e-5 by held-out
        error in 5 folds. ``PenaltyLimit(Lambda)`` bounds the penalty instead of weighting it:
        ``PenaltyLimit(length=...)`` with ``kernel="spline"`` gives the best curve of a length.
    domain : {"box", "circle", "torus", "cylinder"}, Domain or Points, default="box"
        The domain of the latents: ``[-1, 1]`` in every dimension; see ``init`` for boxes with
        shorter sides. A circle and a torus wrap all
        dimensions, a cylinder the first. ``Points(k)`` is a codebook of k entries with latents 0 to
        k - 1. Both classes are in `twofold.principal_manifold`. Latents outside move to the nearest
        edge, or around the circle.
    assignment : {"hard", "soft"}, default="hard"
        Whether a row belongs to its nearest image, or to all places in proportion, as in the
        generative topographic map, with a temperature that falls during the fit.
    latent_noise : float, default=0.0
        Standard deviation of noise that is added to latents before decoding (in a domain of length
        2). The fit minimizes the error after that noise: the squared derivative of the map joins
        the functional. Derived for the squared loss; with other losses it is a penalty of the same
        form.
    refit_alpha : float or None, default=None
        With ``penalty="l1"``: refit the map on the nodes that are left, with "rkhs" and this
        weight. Not with `PenaltyLimit`, which the refit would not keep.
    init : {"auto", "pca", "random"}, name of an embedding, array or callable, default="auto"
        The first map. "pca" lies in the plane of the leading components, as in the paper; "random"
        is the same, turned and tilted at random. Given latents, or those of a named embedding
        ("isomap", "lle", ...), are scaled to the domain and fitted. "auto" tries the plane, which
        may bend before it may ripple, and on boxes Isomap. On boxes with the squared loss it
        continues from the one with the higher score of the map on held-out rows, elsewhere from the
        one with the lower functional. If Isomap wins, and ``n_nodes="auto"``, a box of two or three
        dimensions takes the proportions of its latents: the longest side is ``[-1, 1]``.
    n_init : int, default=1
        Number of starts; all after the first are "random".
    max_iter : int, default=200
        Maximum number of iterations, each a projection and an adaptation. A warning is given if
        the last of them still gained ten times ``tol``.
    tol : float, default=3e-4
        An iteration that lowers the functional by a smaller share is the last.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state : int, RandomState, Generator or None, default=None
        Seeds folds and random starts.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        1 logs phases, 2 every iteration.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data, within the domain.
    alpha_ : float
        Weight of the penalty; with a limit, its multiplier.
    alphas_, cv_errors_ : ndarray of shape (n_alphas,) and (n_alphas, n_folds) or None
        The weights compared and their mean held-out losses.
    nodes_ : ndarray of shape (n_nodes, n_components)
        The nodes of the expansion; with ``penalty="l1"`` those that are left.
    roughness_ : float
        The penalty ``Q[f]`` of the map, in squared units of the data (with "l1" in their units,
        with the losses of Mahalanobis in those of the metric). It is clipped to the largest float,
        and 0 if the square underflows.
    weights_, intercept_ : ndarray of shape (n_nodes, n_columns) and (n_columns,)
        The expansion, in the units of the fit.
    loss_ : Loss
        The loss, with its scale if one was estimated.
    history_ : ndarray of shape (n_values,)
        The functional at the start and after each projection and adaptation of the last fit. It
        never rises. Of more than 3,000 rows (or 20 for each node) it is that of the rows that take
        part; after a refit (``refit_alpha``) it is the refit's.
    temperature_ : float
        The last temperature of soft assignment, else 0.
    n_iter_ : int
        Iterations made.
    init_, candidates_ : str and list of dict
        The chosen start, and all starts, best first: the "name", the "value" of the functional,
        and the "map_score" of held-out rows, the negative mean log error at several codebooks of
        latents and without one; nan if the functional decides.
    domain_ : Domain or Points
        The domain, with the sides that the start gave it.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
    JMLR 1, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = PrincipalManifold(domain="circle", alpha=1e-4).fit(X)
    >>> model.score(X) > 0.999
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | NodeKernel = "gaussian",
        n_nodes: str | int | Sequence[int] = "auto",
        width: float = 1.0,
        loss: str | Loss | Mahalanobis = "squared",
        penalty: str = "rkhs",
        alpha: float | str | CrossValidation | PenaltyLimit = "cv",
        domain: str | Domain | Points = "box",
        assignment: str = "hard",
        latent_noise: float = 0.0,
        refit_alpha: float | None = None,
        init: object = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 3e-4,
        scale: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_nodes = n_nodes
        self.width = width
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.domain = domain
        self.assignment = assignment
        self.latent_noise = latent_noise
        self.refit_alpha = refit_alpha
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _upgrade(self) -> None:
        """Replace the parameters ``alpha_rule`` and ``cv`` of early model files."""
        rule, n_folds = self.__dict__.pop("alpha_rule", "min"), self.__dict__.pop("cv", 5)
        if isinstance(self.alpha, str) and (rule, n_folds) != ("min", 5):
            self.alpha = CrossValidation(n_folds, rule)
        domain = getattr(self.__dict__.get("decoder_"), "domain", None)
        if domain is not None:
            self.__dict__.setdefault("domain_", domain)

    def _learn(self, problem: Problem) -> Learned:
        settings = ManifoldSettings.of(self, problem.n_components)
        domain = settings.domain
        if problem.anchors is not None and (domain.is_discrete or any(domain.wrapped)):
            raise ValueError(
                f"align_to is not supported for domain={self.domain!r}: circles and points cannot "
                "be moved onto another map. Use a domain without circles, or UKR."
            )
        found = fit_rows(settings, ArrayRows(problem.data), problem, Journal())
        encoder = self._encoder(found)
        # As in `transform`: a row that the turns left in a worse place moves.
        latents = encoder.predict(problem.data)
        return self._assemble(found, encoder, latents, latents)

    @staticmethod
    def _encoder(found: ManifoldFit) -> ManifoldEncoder:
        """Return the projection to the fitted manifold."""
        layout = found.descent.layout.searching(found.fitted.latents)
        final = replace(found.descent, latent_noise=0.0, layout=layout)
        nothing = found.fitted.up.weights_[:0]
        projection = final.functional(nothing, found.choice.alpha).projection(found.fitted.up)
        many = are_many(len(found.fitted.latents), found.fitted.up)
        return ManifoldEncoder(found.frame, replace(projection, many=many))

    @staticmethod
    def _assemble(
        found: ManifoldFit, encoder: ManifoldEncoder, latents: Array, of_density: Array
    ) -> Learned:
        """Return the maps and all attributes; the density is that of ``of_density``."""
        descent, fitted, choice = found.descent, found.fitted, found.choice
        domain = descent.layout.domain
        attributes = {
            "alpha_": choice.alpha,
            "alphas_": choice.alphas if len(choice.alphas) else None,
            "cv_errors_": choice.errors if len(choice.alphas) else None,
            "roughness_": roughness(fitted.up, descent.penalty, found.unit),
            "nodes_": fitted.up.nodes,
            "weights_": fitted.up.weights_,
            "intercept_": fitted.up.intercept_,
            "loss_": descent.loss,
            "history_": fitted.history,
            "temperature_": fitted.temperature,
            "n_iter_": fitted.n_iter,
            "init_": found.candidates[0]["name"],
            "candidates_": found.candidates,
            "domain_": domain,
        }
        some = of_density[some_rows(len(of_density), MOST_OF_DENSITY)]
        return Learned(
            latents=latents,
            units=CenteredUnits.identity(latents.shape[1]),
            encoder=encoder,
            decoder=ManifoldDecoder(found.frame, fitted.up, domain),
            density=DomainDensity(domain).fit(some),
            attributes=attributes,
        )

    def _grown(self, data: Array, rng: np.random.Generator, progress: FitProgress) -> Growth:
        return updated(self, data, n_rows_of(self), rng, progress)

    def _learn_constant(self, problem: Problem) -> Learned:
        settings = ManifoldSettings.of(self, problem.n_components)
        learned = super()._learn_constant(problem)
        attributes: dict[str, Any] = {
            "alpha_": settings.alpha if isinstance(settings.alpha, float) else np.nan,
            "alphas_": None,
            "cv_errors_": None,
            "roughness_": 0.0,
            "nodes_": np.zeros((1, problem.n_components)),
            "weights_": np.zeros((1, problem.data.shape[1])),
            "intercept_": np.zeros(problem.data.shape[1]),
            "loss_": settings.resolved_loss(),
            "history_": np.zeros(1),
            "temperature_": 0.0,
            "n_iter_": 0,
            "init_": "constant",
            "candidates_": [],
            "domain_": settings.domain,
        }
        return replace(learned, attributes=attributes)

    def generalization_report(self, X: Any = None, *, n_repeats: int = 5) -> GeneralizationReport:
        """Report how fast the error approaches the lowest possible one as rows are added.

        The eigenvalues of the kernel on the domain give a rate (Smola et al. 2001, Eqs. 56-57).
        With data, the report has the bounds with their constants and measures the rate: manifolds
        with the penalty of this one as a limit are fitted to more and more of the rows. (With
        ``penalty="l2"`` or soft assignment, which the bounds do not cover, they have its
        ``alpha_``, and the report compares held-out with training errors.) The report is a
        diagnostic, not a certificate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Data for bounds and learning curve; without them there is neither.
        n_repeats : int, default=5
            Random splits for each point of the curve.

        Returns
        -------
        GeneralizationReport
            Rate and, with data, bounds and learning curve.

        Examples
        --------
        >>> from twofold import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> spectrum = model.generalization_report().spectrum
        >>> spectrum.decay, spectrum.rate
        ('exponential', 0.5)

        With data, it also measures the excess over the lowest error:

        >>> report = model.generalization_report(X, n_repeats=1)
        >>> report.curve.sizes
        array([12., 25., 50.])
        """
        check_is_fitted(self)
        check_int("n_repeats", n_repeats)
        encoder = self.encoder_
        if not isinstance(encoder, ManifoldEncoder):
            raise ValueError(  # noqa: TRY004 - the data are wrong, not a type
                "The training data are all equal: there is nothing to generalize."
            )
        up, domain = encoder.projection.up, encoder.projection.domain
        spectrum = kernel_spectrum(up, domain, penalty=self.penalty)
        if X is None:
            return GeneralizationReport(spectrum)
        data, _ = check_data(self, X, reset=False)
        unit = unit_of(self.loss, encoder.frame, self._data_units)
        if not SMALLEST_UNIT < unit < 1.0 / SMALLEST_UNIT:
            raise ValueError(
                f"The values of X are out of range for a report, which squares them: their scale "
                f"is {unit:.3g}, and between {SMALLEST_UNIT:g} and {1.0 / SMALLEST_UNIT:g} is "
                "supported. Fit the model to rescaled data."
            )
        Q = roughness(up, self.penalty, unit)
        limited = self.penalty != "l2" and self.assignment == "hard" and Q > 0.0
        settings: dict[str, Any] = {"alpha": PenaltyLimit(Q) if limited else self.alpha_}
        settings["n_init"] = 1
        if limited:  # a refit does not keep the limit
            settings["refit_alpha"] = None
        if is_array(self.init):  # latents of other rows
            settings["init"] = "auto"
        model = type(self)(**{**self.get_params(deep=False), **settings})

        def errors(train: Array, test: Array, seed: int) -> tuple[float, float]:
            fitted = model.set_params(random_state=seed).fit(train)
            return 1.0 - fitted.score(train), 1.0 - fitted.score(test)

        curve = learning_curve(errors, data, n_repeats, with_best=limited)
        bounds = self._bounds(spectrum, encoder, data, Q) if limited else None
        return GeneralizationReport(spectrum, curve, bounds)

    def _bounds(
        self, spectrum: KernelSpectrum, encoder: ManifoldEncoder, data: Array, limit: float
    ) -> RiskBounds | None:
        """Return the bounds for rows (n, D), if the paper has some for the loss."""
        projection = encoder.projection
        loss = projection.loss
        in_units_of_data = isinstance(encoder.frame.backward, float)
        if not (isinstance(loss, Squared | Norm) and in_units_of_data):
            return None
        radius = float(np.linalg.norm(data - data.mean(axis=0), axis=1).max())
        slope, largest = steepness(projection.up, projection.domain)
        return RiskBounds(
            spectrum,
            len(projection.up.intercept_),
            radius,
            limit,
            self.penalty,
            power=2.0 if isinstance(loss, Squared) else 1.0,
            slope=slope,
            largest=largest,
            n_components=projection.domain.n_components,
            domain_radius=float(np.linalg.norm(projection.domain.ends)),
        )
