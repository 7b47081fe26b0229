r"""Kernel ridge regression with radial kernels, the kernels of scikit-learn, or a function.

.. math:: f(x) = \sum_m k(x, c_m) \, w_m, \qquad (K + \alpha I) W = Y

Every training row is a center (the out-of-sample map of Orsenigo & Vercellis 2012), or given points
are, which is the Nystrom form. One eigendecomposition of ``K`` serves every output and every ridge.
It also gives the prediction of each row by the others: with the hat matrix
``H = K (K + alpha I)^{-1}``,

.. math:: f_{-i}(x_i) = y_i - \frac{y_i - f(x_i)}{1 - H_{ii}} .

So the kernel's scale and the ridge are chosen by leave-one-out or K-fold cross-validation without
a refit (`twofold.maps.ridge`).

Notation
--------
=============================  =================================================================
Orsenigo & Vercellis           here
=============================  =================================================================
``x_i``, ``z_i``               ``inputs[i]``, ``targets[i]``
kernel and its parameters      ``kernel``, ``bandwidth`` or ``gamma``, ``degree``, ``coef0``
regularization term            ``alpha``, as in scikit-learn's ``KernelRidge``
=============================  =================================================================

References
----------
C. Orsenigo, C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised manifold
learning. Expert Systems with Applications 39, 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import KERNEL_PARAMS
from sklearn.utils import check_array

from twofold.kernels import KERNELS
from twofold.maps.rbf_network import RadialFeatures
from twofold.maps.ridge import SMALLEST_REST, RidgePath
from twofold.maps.sklearn_kernels import SklearnKernel, gammas_to_try, has_gamma
from twofold.numerics.memory import check_memory_for
from twofold.numerics.validation import check_choice, check_int, check_real, check_training_rows
from twofold.protocols import Array, IntArray, RadialKernel

BYTES_PER_PAIR = 32.0
"""Memory for a row and a center: the kernel, its factors, and their decomposition."""


POLYNOMIALS = ("poly", "polynomial")


class KernelRidgeMap(RadialFeatures):
    """Multi-output kernel ridge regression, with every training row or given points as centers.

    Parameters
    ----------
    kernel : str, RadialKernel or callable, default="gaussian"
        A radial kernel of `twofold.kernels` by name or as an object, a name of
        ``sklearn.metrics.pairwise.pairwise_kernels`` ("rbf", "polynomial", "laplacian", ...), or a
        function of two rows. The negative part of an indefinite kernel ("sigmoid") is left out.
        "chi2" and "additive_chi2" need inputs that are not negative; estimators center the data
        that they pass to maps.
    bandwidth : float or "auto", default="auto"
        Width of a radial kernel. "auto" takes the lowest held-out error.
    gamma : float or "auto", default="auto"
        Scale of a scikit-learn kernel that has one. "auto" takes the lowest held-out error.
    alpha : float or "auto", default="auto"
        The ridge. "auto" takes the lowest held-out error.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Arguments of a function; named kernels take ``gamma``, ``degree`` and ``coef0``.
    cv : int or None, default=None
        Cross-validation for "auto": None means leave-one-out, a number that many folds of rows
        shuffled with a fixed seed.
    centers : ndarray of shape (M, q), default=None
        Centers; None means every training input.

    Attributes
    ----------
    centers_ : ndarray of shape (M, q)
        The centers.
    bandwidth_, gamma_ : float
        The kernel's scale; nan for the one that the kernel does not have.
    alpha_ : float
        The ridge. With a kernel that is not radial it is at least 1e-10 of the largest eigenvalue.
    error_ : float
        Mean squared held-out residual.
    leverage_ : ndarray of shape (n,)
        The diagonal of the hat matrix.
    weights_, intercept_ : ndarray of shape (M, D) and (D,)
        The weights of the expansion; the intercept is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import KernelRidgeMap
    >>> z = np.linspace(0, 1, 50)[:, None]
    >>> curve = np.hstack([z, np.sin(6 * z)])
    >>> fitted = KernelRidgeMap().fit(z, curve)
    >>> bool(np.abs(fitted.predict(z) - curve).max() < 1e-3)
    True
    >>> polynomial = KernelRidgeMap(kernel="polynomial", degree=5).fit(z, curve)
    >>> bool(np.abs(polynomial.predict(z) - curve).max() < 0.05)
    True

    Predictions of each row by the others, derivatives, the terms of a Gauss-Newton step, and a
    basis of the images:

    >>> polynomial.leave_one_out(z, curve).shape
    (50, 2)
    >>> J, terms = fitted.jacobian(z), fitted.normal_terms(z, curve)
    >>> J.shape, [term.shape for term in terms]
    ((50, 2, 1), [(50, 1, 1), (50, 1), (50,)])
    >>> fitted.in_row_space()[1].shape
    (2, 2)
    >>> fitted.features(z).shape, len(fitted.feature_gradients(z)[1])
    ((50, 50), 1)
    >>> bool(fitted.penalty() >= 0.0)
    True
    """

    def __init__(
        self,
        *,
        kernel: str | RadialKernel | Callable[..., float] = "gaussian",
        bandwidth: float | str = "auto",
        gamma: float | str = "auto",
        alpha: float | str = "auto",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        cv: int | None = None,
        centers: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.gamma = gamma
        self.alpha = alpha
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.cv = cv
        self.centers = centers

    @classmethod
    def _solved(cls, inputs: Array, targets: Array, bandwidth: float, alpha: float) -> Self:
        """Return the map of a bandwidth and a ridge by one Cholesky factor, faster than `fit`.

        With ``A = K + alpha I``, the residual of a row that is left out is the ratio of
        ``(A^{-1} Y)_i`` and ``(A^{-1})_{ii}``. The ridge of A is at least `least_alpha`.
        """
        new = cls(bandwidth=bandwidth, alpha=alpha)
        new.centers_, new.alpha_, new.intercept_ = inputs, alpha, np.zeros(targets.shape[1])
        new._set_scale(bandwidth)
        ridge, K = max(alpha, least_alpha(len(inputs))), new.features(inputs)
        K[np.diag_indices_from(K)] += ridge
        factor = linalg.cholesky(K, lower=True, check_finite=False)
        inverse, _ = linalg.lapack.dtrtri(factor, lower=1)
        diagonal = np.einsum("mn,mn->n", inverse, inverse)
        new.weights_ = linalg.cho_solve((factor, True), targets, check_finite=False)
        new.leverage_ = 1.0 - ridge * diagonal
        new.error_ = float(np.square(new.weights_ / diagonal[:, None]).sum(axis=1).mean())
        return new

    @property
    def _is_radial(self) -> bool:
        if isinstance(self.kernel, str):
            return self.kernel in KERNELS
        # A check of the protocol would take 50 microseconds.
        return hasattr(self.kernel, "log_profile") and not isinstance(self.kernel, type)

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Choose scale and ridge where they are "auto", then solve for the weights.

        Needs about 32 bytes for each pair of a row and a center, and raises a MemoryError
        beforehand if there is less.
        """
        self._check_kernel()
        self.centers_ = self._checked_centers(inputs)
        folds = self._folds(len(inputs))
        check_memory_for(
            f"KernelRidgeMap of {len(inputs)} rows and {len(self.centers_)} centers",
            BYTES_PER_PAIR * len(inputs) * len(self.centers_),
            "the kernel and its factors",
            "Use fewer centers: centers=inputs[:500], say.",
        )
        best = self._chosen(inputs, targets, folds)
        if not self._is_radial:
            self.alpha_ = best.path.floored(best.alpha)
        self.weights_, self.intercept_ = best.path.solve(self.alpha_)
        self.leverage_ = best.path.leverage(self.alpha_)
        return self

    def leave_one_out(self, inputs: Array, targets: Array) -> Array:
        """Return the prediction of each training row by the others, with the same scale and ridge.

        Parameters
        ----------
        inputs, targets : ndarray of shape (n, q) and (n, D)
            What the map was fitted to.

        Returns
        -------
        ndarray of shape (n, D)
        """
        check_training_rows(inputs, len(self.leverage_))
        rest = np.maximum(1.0 - self.leverage_, SMALLEST_REST)[:, None]
        return targets - (targets - self.predict(inputs)) / rest

    def features(self, inputs: Array) -> Array:
        """Return ``phi`` (n, M) at inputs (n, q)."""
        if self._is_radial:
            return super().features(inputs)
        return self._sklearn_kernel().features(inputs, self.centers_)

    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, M) and its derivatives (n, M), one for each input."""
        if self._is_radial:
            return super().feature_gradients(inputs)
        return self._sklearn_kernel().features_and_gradients(inputs, self.centers_)

    def _sklearn_kernel(self) -> SklearnKernel:
        kernel: Any = self.kernel
        return SklearnKernel(kernel, self.gamma_, self.degree, self.coef0, self.kernel_params)

    def _check_kernel(self) -> None:
        if isinstance(self.kernel, str):
            check_choice("kernel", self.kernel, [*KERNELS, *KERNEL_PARAMS])
            if self.kernel_params:
                raise ValueError(
                    f"kernel_params={self.kernel_params!r} are for a function, but kernel="
                    f"{self.kernel!r} is a name. Use gamma, degree and coef0."
                )
        elif isinstance(self.kernel, type) or not (self._is_radial or callable(self.kernel)):
            raise TypeError(
                f"kernel={self.kernel!r} must be a name, one of "
                f"{sorted([*KERNELS, *KERNEL_PARAMS])}, a radial kernel, or a function of two rows."
            )
        unused, used = ("gamma", "bandwidth") if self._is_radial else ("bandwidth", "gamma")
        if getattr(self, unused) != "auto":
            raise ValueError(
                f"{unused}={getattr(self, unused)!r} does not apply to kernel={self.kernel!r}. "
                f"Leave it at 'auto' and use {used}."
            )
        if self._is_radial:
            self._check_positive_definite()
        degree = check_real("degree", self.degree)
        if self.kernel in POLYNOMIALS and not degree.is_integer():
            raise ValueError(
                f"degree={self.degree!r}: powers of negative numbers need a whole degree for "
                f"kernel={self.kernel!r}."
            )
        check_real("coef0", self.coef0, above=-np.inf)

    def _checked_centers(self, inputs: Array) -> Array:
        if self.centers is None:
            return np.array(inputs)
        centers: Array = check_array(
            self.centers, dtype=np.float64, copy=True, input_name="centers"
        )
        if centers.shape[1] != inputs.shape[1]:
            raise ValueError(
                f"centers has {centers.shape[1]} columns, but inputs has {inputs.shape[1]}. Pass "
                "points of the inputs' space, or None for all inputs."
            )
        return centers

    def _folds(self, n_rows: int) -> list[IntArray] | None:
        if self.cv is None:
            return None
        n_folds = check_int("cv", self.cv, low=2, high=max(2, n_rows), also="None")
        order = np.random.default_rng(0).permutation(n_rows)
        return [np.sort(fold) for fold in np.array_split(order, n_folds)]

    def _scales(self) -> list[float]:
        """Return the bandwidths or gammas to try, narrow to wide; nan where there is no scale."""
        if self._is_radial:
            return super()._scales()
        if not has_gamma(self.kernel):
            return [np.nan]
        if self.gamma == "auto":
            return gammas_to_try(str(self.kernel), self.centers_)
        return [check_real("gamma", self.gamma, also='"auto"')]

    def _set_scale(self, scale: float) -> None:
        self.bandwidth_, self.gamma_ = (scale, np.nan) if self._is_radial else (np.nan, scale)

    def _path(self, inputs: Array, targets: Array) -> RidgePath:
        K = self.features(inputs)
        if not np.isfinite(K).all():
            raise ValueError(
                f"kernel={self.kernel!r} gives values that are not finite at the inputs. Powers of "
                f"negative numbers need a whole degree (degree={self.degree!r}); a function must "
                "return finite numbers."
            )
        if self.centers is None:
            return RidgePath.of_gram(K, targets)
        return RidgePath.of(K, targets, self.features(self.centers_), intercept=False)


def least_alpha(n: int) -> float:
    """Return the ridge below which rounding may break the factor of n rows' kernel matrix."""
    return 1e-15 * n * n
