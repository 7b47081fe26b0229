r"""Nadaraya-Watson regression: the kernel-weighted mean of the training targets.

.. math:: f(z) = \frac{\sum_j k(|z - s_j|^2 / h^2)\, y_j}{\sum_j k(|z - s_j|^2 / h^2)}

This is the decoder of unsupervised kernel regression (Meinicke et al. 2005, Eq. 2; with ``h = 1``
there, since the scale of the latents does the smoothing). With a Gaussian it is Specht's general
regression network, an earlier out-of-sample map of supervised manifold learning, with which
Orsenigo & Vercellis (2012) compare kernel ridge regression.

With weights ``b_j`` that sum to one and ``a_jl = 2 (log k)'_j (z_l - s_jl) / h^2``, the Jacobian is
``df/dz_l = sum_j b_j a_jl (y_j - f)``, Meinicke et al. (2005), Eq. (22) in log form.

Where no training point is in reach of the kernel, ``f`` is the target of the nearest one and the
Jacobian is zero: the limit of every kernel for ``h`` to zero.

Notation
--------
===============  ======================
Meinicke et al.  here
===============  ======================
``x_j``, ``X``   ``inputs_[j]`` (``s_j``)
``y_j``, ``Y``   ``targets_[j]``
``b_j(x; X)``    ``b_j`` above
===============  ======================

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
D. F. Specht. A general regression neural network. IEEE Transactions on Neural Networks 2(6), 1991.
C. Orsenigo, C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised manifold
learning. Expert Systems with Applications 39(9), 2012.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from twofold.kernels import resolve_kernel
from twofold.maps.left_out_widths import best_width
from twofold.maps.normal import normal_products, normal_terms_of_blocks
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.caches import ComputedAgain
from twofold.numerics.linalg import row_norms_sq, shifted_exp, sqdist
from twofold.numerics.row_products import row_product
from twofold.numerics.sums.dense import DenseSums
from twofold.numerics.sums.neighbors import LocalMeans, LocalWeights, Neighbors, target_blocks
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.validation import check_real, check_training_rows
from twofold.protocols import Array, IntArray, NormalTerms, RadialKernel

SMALLEST_WIDTH = 1e-100
"""Smaller bandwidths are raised to this: the kernel is a nearest neighbor long before."""


class NadarayaWatson(ComputedAgain, BaseEstimator):
    """Kernel-weighted means.

    Parameters
    ----------
    kernel : str or RadialKernel, default="gaussian"
        The weight as a function of distance.
    bandwidth : float or "auto", default="auto"
        Its width; "auto" minimizes the leave-one-out error (Meinicke et al. 2005, Eq. 10).
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    inputs_ : ndarray of shape (n, q)
        Training inputs.
    targets_ : ndarray of shape (n, D)
        Training targets.
    bandwidth_ : float
        The width.
    error_ : float
        The mean squared leave-one-out residual of the chosen bandwidth, on a sample of many rows;
        nan for a given bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import NadarayaWatson
    >>> z = np.array([[0.0], [1.0], [2.0]])
    >>> NadarayaWatson(bandwidth=1e9).fit(z, z).predict(z).ravel()
    array([1., 1., 1.])

    >>> smooth = NadarayaWatson(bandwidth=1.0).fit(z, z)
    >>> smooth.jacobian(z).round(2).ravel()
    array([0.41, 0.55, 0.41])
    >>> [term.shape for term in smooth.normal_terms(z, z)]
    [(3, 1, 1), (3, 1), (3,)]
    >>> smooth.weights(np.array([[1.0]])).round(2)
    array([[0.27, 0.45, 0.27]])
    >>> smooth.leave_one_out(z, z).round(2).ravel()
    array([1.18, 1.  , 0.82])
    """

    def __init__(
        self,
        *,
        kernel: str | RadialKernel = "gaussian",
        bandwidth: float | str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Remember the training pairs and choose the width."""
        self.inputs_, self.targets_ = np.array(inputs), np.array(targets)
        if self.bandwidth == "auto":
            self.bandwidth_, self.error_ = best_width(
                self.inputs_,
                self.targets_,
                resolve_kernel(self.kernel),
                self._widths(),
                self.n_jobs,
            )
        else:
            width = check_real("bandwidth", self.bandwidth, also='"auto"')
            self.bandwidth_, self.error_ = max(width, SMALLEST_WIDTH), np.nan
        self.__dict__.pop("_neighbors", None)
        return self

    def predict(self, inputs: Array) -> Array:
        """Return the weighted means, shape (n, D)."""
        neighbors = self._neighbors
        if neighbors is None:
            return self._means(inputs, self.bandwidth_)
        columns = neighbors.local
        if columns is not None and columns.is_available:
            means, covered = columns.means(inputs / self.bandwidth_, self.targets_, self.n_jobs)
            if not covered.all():
                far = inputs[~covered]
                means[~covered] = self._local_means(far, neighbors.weigh(far / self.bandwidth_))
            return means
        means = np.empty((len(inputs), self.targets_.shape[1]))

        def work(rows: slice) -> None:
            local = neighbors.weigh(inputs[rows] / self.bandwidth_)
            means[rows] = self._local_means(inputs[rows], local)

        map_blocks(work, target_blocks(len(inputs)), n_jobs=self.n_jobs)
        return means

    @cached_property
    def _neighbors(self) -> Neighbors | None:
        """The training inputs in a tree; None if the kernel reaches many of them."""
        with np.errstate(over="ignore"):
            sources = self.inputs_ / self.bandwidth_
        return Neighbors.if_few(sources, resolve_kernel(self.kernel))

    @property
    def _columns(self) -> LocalMeans | None:
        """The training inputs for compiled loops; None if the kernel reaches many of them."""
        return None if self._neighbors is None else self._neighbors.columns

    def weights(self, inputs: Array) -> Array:
        """Return the weights of the training points at inputs, shape (n, n_training).

        Rows sum to one: ``predict(inputs)`` is ``weights(inputs) @ targets_``.
        """
        return self._scaled_weights(inputs)[0]

    def leave_one_out(self, inputs: Array, targets: Array) -> Array:  # noqa: ARG002 - a protocol
        """Return the weighted mean of the other training points at each of them, shape (n, D).

        Parameters
        ----------
        inputs, targets : ndarray of shape (n, q) and (n, D)
            What the map was fitted to.
        """
        check_training_rows(inputs, len(self.inputs_))
        return self._means(inputs, self.bandwidth_, exclude=np.arange(len(self.inputs_)))

    def jacobian(self, inputs: Array) -> Array:
        """Return the Jacobians, shape (n, D, q)."""
        jacobian = np.empty((len(inputs), self.targets_.shape[1], inputs.shape[1]))

        def work(rows: slice) -> None:
            jacobian[rows] = np.stack(self._prediction_and_columns(inputs[rows])[1], axis=2)

        map_blocks(work, self._blocks(len(inputs)), n_jobs=self.n_jobs)
        return jacobian

    def normal_terms(self, inputs: Array, targets: Array) -> NormalTerms:
        """Return ``J^T J`` (n, q, q), ``J^T r`` (n, q) and ``|r|^2`` (n,)."""
        columns = None if self._neighbors is None else self._neighbors.local
        if columns is not None and columns.is_available:
            return self._compiled_normal_terms(columns, inputs, targets)

        def terms(rows: slice) -> NormalTerms:
            return self._normal_terms(inputs[rows], targets[rows])

        return normal_terms_of_blocks(terms, inputs.shape, self._blocks(len(inputs)), self.n_jobs)

    def _normal_terms(self, inputs: Array, targets: Array) -> NormalTerms:
        prediction, columns = self._prediction_and_columns(inputs)
        residuals = targets - prediction
        return *normal_products(columns, residuals), row_norms_sq(residuals)

    def _compiled_normal_terms(
        self, columns: LocalMeans, inputs: Array, targets: Array
    ) -> NormalTerms:
        (JTJ, JTr, loss), covered = columns.normal_terms(
            inputs / self.bandwidth_, self.targets_, targets, self.n_jobs
        )
        JTJ /= self.bandwidth_ * self.bandwidth_
        JTr /= self.bandwidth_
        for row in np.flatnonzero(~covered):
            terms = self._normal_terms(inputs[[row]], targets[[row]])
            JTJ[[row]], JTr[[row]], loss[[row]] = terms
        return JTJ, JTr, loss

    def _prediction_and_columns(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return the images (n, D) and the Jacobians' columns, q arrays (n, D)."""
        if self._neighbors is not None:
            return self._local_prediction_and_columns(inputs, self._neighbors)
        weights, scaled, reached = self._scaled_weights(inputs)
        prediction = row_product(weights, self.targets_)
        slope = weights * np.where(
            reached[:, None], resolve_kernel(self.kernel).dlog_profile(scaled), 0.0
        )
        columns = []
        for sources, targets in zip(self.inputs_.T, inputs.T, strict=True):
            change = slope * (
                (targets[:, None] - sources) * (2.0 / self.bandwidth_ / self.bandwidth_)
            )
            total = change.sum(axis=1)[:, None]
            columns.append(row_product(change, self.targets_) - total * prediction)
        return prediction, columns

    def _local_prediction_and_columns(
        self, inputs: Array, neighbors: Neighbors
    ) -> tuple[Array, list[Array]]:
        """Return the same from the training points in reach."""
        scaled = inputs / self.bandwidth_
        local = neighbors.weigh(scaled)
        prediction = self._local_means(inputs, local)
        weights = local.weights / local.mass[local.targets]
        slope = weights * neighbors.kernel.dlog_profile(local.sqdist) * (2.0 / self.bandwidth_)
        columns = []
        for sources, targets in zip(neighbors.points.T, scaled.T, strict=True):
            change = slope * (targets[local.targets] - sources[local.sources])
            total = np.bincount(local.targets, weights=change, minlength=len(inputs))
            columns.append(local.matrix(change) @ self.targets_ - total[:, None] * prediction)
        return prediction, columns

    def _local_means(self, inputs: Array, local: LocalWeights) -> Array:
        reached = local.mass > 0.0
        means: Array = local.matrix(local.weights) @ self.targets_
        means /= np.where(reached, local.mass, 1.0)[:, None]
        if not reached.all():
            means[~reached] = self._nearest_targets(inputs[~reached])
        return means

    def _scaled_weights(self, inputs: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return weights and squared distances in bandwidths (n, n_training), and reached rows."""
        with np.errstate(over="ignore"):
            scaled = sqdist(inputs / self.bandwidth_, self.inputs_ / self.bandwidth_)
        weights, shift = shifted_exp(resolve_kernel(self.kernel).log_profile(scaled))
        reached = np.isfinite(shift)
        weights /= np.where(reached, weights.sum(axis=1), 1.0)[:, None]
        if not reached.all():
            nearest = sqdist(inputs[~reached], self.inputs_).argmin(axis=1)
            weights[np.flatnonzero(~reached), nearest] = 1.0
        return weights, scaled, reached

    def _means(self, inputs: Array, width: float, exclude: IntArray | None = None) -> Array:
        """Return the weighted means (n, D), each without the excluded training point."""
        engine = DenseSums(resolve_kernel(self.kernel), self.n_jobs)
        with np.errstate(over="ignore"):
            sums = engine.forward(
                inputs / width, self.inputs_ / width, self.targets_, exclude=exclude
            )
        reached = sums.mass > 0.0
        means = sums.weighted / np.where(reached, sums.mass, 1.0)[:, None]
        if not reached.all():
            excluded = None if exclude is None else exclude[~reached]
            means[~reached] = self._nearest_targets(inputs[~reached], excluded)
        return means

    def _nearest_targets(self, inputs: Array, exclude: IntArray | None = None) -> Array:
        nearest = np.empty(len(inputs), dtype=np.intp)
        for rows in row_blocks(len(inputs), 3 * 8 * len(self.inputs_)):
            distances = sqdist(inputs[rows], self.inputs_)
            if exclude is not None:
                distances[np.arange(len(distances)), exclude[rows]] = np.inf
            nearest[rows] = distances.argmin(axis=1)
        targets: Array = self.targets_[nearest]
        return targets

    def _widths(self) -> list[float]:
        """Return the widths to try first."""
        return width_grid(self.inputs_)

    def _blocks(self, n_rows: int) -> list[slice]:
        if self._neighbors is not None:
            return target_blocks(n_rows)
        return row_blocks(n_rows, bytes_per_row=6 * 8 * len(self.inputs_))


class GRNN(NadarayaWatson):
    """General regression network: weighted means with a Gaussian of one width.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        Width of the Gaussian units; "auto" minimizes the leave-one-out error.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    inputs_, targets_, bandwidth_, error_
        As in `twofold.maps.NadarayaWatson`.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import GRNN
    >>> z = np.linspace(0, 1, 50)[:, None]
    >>> network = GRNN().fit(z, np.sin(6 * z))
    >>> bool(np.abs(network.predict(z) - np.sin(6 * z)).max() < 0.1)
    True

    >>> J, terms = network.jacobian(z), network.normal_terms(z, np.sin(6 * z))
    >>> J.shape, [term.shape for term in terms]
    ((50, 1, 1), [(50, 1, 1), (50, 1), (50,)])
    >>> network.leave_one_out(z, np.sin(6 * z)).shape
    (50, 1)
    >>> network.weights(z[:3]).sum(axis=1).round(6)
    array([1., 1., 1.])
    """

    kernel = "gaussian"

    def __init__(self, *, bandwidth: float | str = "auto", n_jobs: int | None = None) -> None:
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    def _widths(self) -> list[float]:
        # In many dimensions the best width is a fraction of the distance of nearest neighbors.
        grid = width_grid(self.inputs_)
        return [grid[0] / 8.0, grid[0] / 4.0, grid[0] / 2.0, *grid]
