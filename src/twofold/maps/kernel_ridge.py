r"""Kernel ridge regression with the kernels of scikit-learn.

.. math:: f(x) = \sum_m k(x, c_m) \, w_m, \qquad (K + \alpha I) W = Y

with every training point a centre (Orsenigo & Vercellis 2012, whose out-of-sample map this is); with
fewer centres, its Nystrom form. One eigendecomposition of ``K`` serves every output and every ridge,
and tells what each row would be predicted by the others: with the hat matrix ``H = K (K + alpha I)^{-1}``,

.. math:: f_{-i}(x_i) = y_i - \frac{y_i - f(x_i)}{1 - H_{ii}} .

So the kernel's scale and the ridge are chosen by leave-one-out, or by K folds, without a refit
(`twofold.maps.ridge`), and a classifier that follows may be trained on predictions that have not seen
their own target.

The chi-squared kernels of scikit-learn are for inputs that are not negative. Estimators hand centred data to their maps, so those kernels
serve a map that is used on its own, not one inside an estimator.

Notation
--------
=============================  ======================================================
Orsenigo & Vercellis           here
=============================  ======================================================
``x_i``, ``z_i``               ``inputs[i]``, ``targets[i]``
kernel and its parameters      ``kernel``, ``gamma``, ``degree``, ``coef0``
regularization term            ``alpha``, as in scikit-learn's ``KernelRidge``
=============================  ======================================================

References
----------
C. Orsenigo, C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised manifold
learning. Expert Systems with Applications 39, 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import check_array

from twofold.maps.features import LinearInFeatures
from twofold.maps.ridge import SMALLEST_REST, RidgePath, alphas_to_try, best_path
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import FEW_ROWS, row_norms_sq, sqdist
from twofold.numerics.memory import check_memory_for
from twofold.numerics.validation import check_choice, check_int, check_real, check_training_rows
from twofold.protocols import Array, IntArray

__all__ = ["KernelRidgeMap"]

LARGEST = 1e140
"""Kernels and slopes of far points that grow beyond this stop here: their sums, and the squares of those, stay finite."""

BYTES_PER_PAIR = 32.0
"""Of a row and a centre: the kernel, its factors, and what a decomposition needs beside them."""

INNER_PRODUCTS = ("linear", "poly", "polynomial", "sigmoid")
RELATIVE_SCALES = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Scales to try for kernels of inner products, in units of the inputs' mean squared norm."""


class KernelRidgeMap(LinearInFeatures):
    """Multi-output kernel ridge regression.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name of ``sklearn.metrics.pairwise.pairwise_kernels`` ("rbf", "polynomial", "laplacian", ...) or a function of
        two rows. Of a kernel that is not positive definite ("sigmoid") the negative part is left out. "chi2" and "additive_chi2" need
        inputs that are not negative, which centred data, such as estimators give to maps, are not.
    gamma : float or "auto", default="auto"
        The kernel's scale, where it has one; "auto" takes the lowest held-out error.
    alpha : float or "auto", default="auto"
        The ridge, likewise.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a function; names take ``gamma``, ``degree`` and ``coef0``.
    cv : int or None, default=None
        Rows held out for "auto": None leaves out one by one, a number that many folds (of rows shuffled by a fixed seed).
    centers : ndarray of shape (M, q), default=None
        Centres; None means every training input.

    Attributes
    ----------
    centers_ : ndarray of shape (M, q)
        The centres.
    gamma_ : float
        The kernel's scale; nan where it has none.
    alpha_ : float
        The ridge; at least 1e-10 of the kernel's largest eigenvalue, below which sums are rounding.
    error_ : float
        Mean squared held-out residual.
    leverage_ : ndarray of shape (n,)
        The diagonal of the hat matrix.
    weights_, intercept_
        The weights of the expansion; the intercept is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import KernelRidgeMap
    >>> z = np.linspace(0, 1, 50)[:, None]
    >>> fitted = KernelRidgeMap(kernel="polynomial", degree=5).fit(z, np.sin(6 * z))
    >>> bool(np.abs(fitted.predict(z) - np.sin(6 * z)).max() < 0.05)
    True

    What the other rows predict for each, in closed form:

    >>> fitted.leave_one_out(z, np.sin(6 * z)).shape
    (50, 1)

    As every map it has derivatives, and what a Gauss-Newton step needs of them:

    >>> fitted.jacobian(z).shape
    (50, 1, 1)
    >>> JTJ, JTr, squares = fitted.normal_terms(z, np.sin(6 * z))
    >>> JTJ.shape, JTr.shape, squares.shape
    ((50, 1, 1), (50, 1), (50,))

    The same map in the span of its weights:

    >>> fitted.in_row_space()[1].shape
    (1, 1)
    """

    def __init__(
        self,
        *,
        kernel: str | Callable[[Array, Array], float] = "rbf",
        gamma: float | str = "auto",
        alpha: float | str = "auto",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        cv: int | None = None,
        centers: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.cv = cv
        self.centers = centers

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Choose scale and ridge where they are "auto", then solve for the weights.

        Memory is about 32 bytes for each pair of a row and a centre, 32 n^2 where every row is one; a MemoryError tells beforehand.
        """
        self._check_kernel()
        self.centers_ = self._checked_centers(inputs)
        folds = self._folds(len(inputs))
        check_memory_for(
            f"KernelRidgeMap of {len(inputs)} rows and {len(self.centers_)} centres",
            BYTES_PER_PAIR * len(inputs) * len(self.centers_),
            "the kernel and its factors",
            "Use fewer centres: centers=inputs[:500], say.",
        )

        def path_at(gamma: float) -> RidgePath:
            self.gamma_ = gamma
            K = self._features(inputs)
            if not np.isfinite(K).all():
                raise ValueError(
                    f"kernel={self.kernel!r} gives values that are not finite at the inputs. Powers of negative numbers need a whole "
                    f"degree (degree={self.degree!r}); a function must return finite numbers."
                )
            if self.centers is None:
                return RidgePath.of_gram(K, targets)
            return RidgePath.of(K, targets, self._features(self.centers_), intercept=False)

        best = best_path(self._scales(), path_at, alphas_to_try(self.alpha), folds)
        alpha = best.path.floored(best.alpha)
        self.gamma_, self.alpha_, self.error_ = best.scale, alpha, best.error
        self.weights_, self.intercept_ = best.path.solve(alpha)
        self.leverage_ = best.path.leverage(alpha)
        return self

    def _check_kernel(self) -> None:
        if not callable(self.kernel):
            if not isinstance(self.kernel, str):
                raise TypeError(
                    f"kernel={self.kernel!r} must be a name, one of {sorted(KERNEL_PARAMS)}, or a function of two rows."
                )
            check_choice("kernel", self.kernel, KERNEL_PARAMS)
            if self.kernel_params:
                raise ValueError(
                    f"kernel_params={self.kernel_params!r} are for a function, but kernel={self.kernel!r} is a name. Use gamma, degree and "
                    "coef0."
                )
        check_real("degree", self.degree)
        check_real("coef0", self.coef0, above=-np.inf)

    def _checked_centers(self, inputs: Array) -> Array:
        if self.centers is None:
            return np.array(inputs)
        centers: Array = check_array(
            self.centers, dtype=np.float64, copy=True, input_name="centers"
        )
        if centers.shape[1] != inputs.shape[1]:
            raise ValueError(
                f"centers has {centers.shape[1]} columns, but inputs has {inputs.shape[1]}. Pass points of the inputs' space, or None for all "
                "inputs."
            )
        return centers

    def leave_one_out(self, inputs: Array, targets: Array) -> Array:
        """Return what each training row would be predicted by the others, with the same scale and ridge.

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

    def _scales(self) -> list[float]:
        """Return the values of gamma to try, from the narrowest kernel to the widest; nan for none."""
        if callable(self.kernel) or "gamma" not in KERNEL_PARAMS.get(self.kernel, ()):
            return [np.nan]
        if self.gamma != "auto":
            return [check_real("gamma", self.gamma, also='"auto"')]
        if self.kernel == "rbf":
            return [0.5 / width**2 for width in width_grid(self.centers_)]
        if self.kernel == "laplacian":
            return [1.0 / width for width in width_grid(self.centers_)]
        size = float(row_norms_sq(self.centers_).mean()) or 1.0
        return [scale / size for scale in RELATIVE_SCALES]

    def _folds(self, n_rows: int) -> list[IntArray] | None:
        if self.cv is None:
            return None
        n_folds = check_int("cv", self.cv, low=2, high=max(2, n_rows), also="None")
        order = np.random.default_rng(0).permutation(n_rows)
        return [np.sort(fold) for fold in np.array_split(order, n_folds)]

    def _features(self, inputs: Array) -> Array:
        if self.kernel == "rbf":
            features = -self.gamma_ * sqdist(inputs, self.centers_)
            return np.exp(features, out=features)
        n_rows = len(inputs)
        if n_rows < FEW_ROWS:  # whose products BLAS rounds differently
            inputs = np.pad(inputs, ((0, FEW_ROWS - n_rows), (0, 0)))
        with np.errstate(over="ignore"):
            kernels: Array = pairwise_kernels(
                inputs, self.centers_, metric=self.kernel, filter_params=True, **self._params()
            )[:n_rows]
        return np.clip(kernels, -LARGEST, LARGEST)

    def _params(self) -> dict[str, Any]:
        if callable(self.kernel):
            return dict(self.kernel_params or {})
        return {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}

    def _feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        features = self._features(inputs)
        columns = range(inputs.shape[1])
        if self.kernel == "rbf":
            slope = -2.0 * self.gamma_ * features
            return features, [slope * (inputs[:, [l]] - self.centers_[:, l]) for l in columns]
        if self.kernel in INNER_PRODUCTS:
            slope = self._slope(inputs, features)
            return features, [slope * self.centers_[:, l] for l in columns]
        return features, [self._difference(inputs, column) for column in columns]

    def _slope(self, inputs: Array, features: Array) -> Array:
        """Return the derivative of a kernel of inner products with respect to them."""
        if self.kernel == "linear":
            return np.ones_like(features)
        if self.kernel == "sigmoid":
            return np.asarray(self.gamma_ * (1.0 - np.square(features)))
        with np.errstate(over="ignore", divide="ignore"):
            inner = self.gamma_ * (inputs @ self.centers_.T) + self.coef0
            slope = self.gamma_ * self.degree * inner ** (self.degree - 1)
        return np.clip(slope, -LARGEST, LARGEST)

    def _difference(self, inputs: Array, column: int) -> Array:
        """Return the derivative of the features with respect to one input, by central differences."""
        step = np.zeros_like(inputs)
        step[:, column] = 6e-6 * np.maximum(np.abs(inputs).max(axis=1), 1.0)
        change = self._features(inputs + step) - self._features(inputs - step)
        return change / (2.0 * step[:, [column]])
