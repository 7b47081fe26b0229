"""The steps that closed forms are made of, and what each does to rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.metrics.pairwise import pairwise_kernels

from twofold.kernels import Compact, Gaussian, StudentT
from twofold.numerics.linalg import shifted_exp, sqdist
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.node_kernels import NodeKernel
from twofold.protocols import Array, IntArray
from twofold.ukr.feature_space import weighted_medians

__all__ = [
    "IntoDomain",
    "Linear",
    "NodeProducts",
    "PairKernel",
    "Put",
    "RadialFeatures",
    "RadialMeans",
    "RadialMedians",
    "Sigmoid",
    "Step",
    "Take",
]


@dataclass(frozen=True)
class Take:
    """``x[columns] * factor - shift``: data into centred units.

    Parameters
    ----------
    columns : ndarray of int, shape (D',)
        Which columns to take.
    factor : float
        What they are multiplied by.
    shift : ndarray of shape (D',)
        What is then taken away.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import Take
    >>> Take(np.array([0, 2]), 0.5, np.array([1.0, 1.0]))(np.array([[4.0, 7.0, 8.0]]))
    array([[1., 3.]])
    """

    columns: IntArray
    factor: float
    shift: Array

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows (n, D)."""
        return x[:, self.columns] * self.factor - self.shift


@dataclass(frozen=True)
class Put:
    """``(u + shift) * factor`` into some columns, constants into the others: centred units into data.

    Parameters
    ----------
    columns : ndarray of int, shape (D',)
        Which columns to fill.
    factor : float
        What sums are multiplied by.
    shift : ndarray of shape (D',)
        What is added first.
    constants : ndarray of shape (D,)
        The other columns.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import Put
    >>> put = Put(np.array([0, 2]), 2.0, np.array([1.0, 1.0]), np.array([0.0, 7.0, 0.0]))
    >>> put(np.array([[1.0, 3.0]]))
    array([[4., 7., 8.]])
    """

    columns: IntArray
    factor: float
    shift: Array
    constants: Array

    def __call__(self, u: Array) -> Array:
        """Apply the step to rows (n, D')."""
        x = np.tile(self.constants, (len(u), 1))
        x[:, self.columns] = (u + self.shift) * self.factor
        return x


@dataclass(frozen=True)
class Linear:
    """``x W + b``.

    Parameters
    ----------
    matrix : ndarray of shape (M, D)
        W.
    bias : ndarray of shape (D,)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import Linear
    >>> Linear(np.array([[2.0], [3.0]]), np.array([1.0]))(np.array([[1.0, 1.0]]))
    array([[6.]])
    """

    matrix: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows."""
        image: Array = x @ self.matrix + self.bias
        return image


@dataclass(frozen=True)
class Sigmoid:
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import Sigmoid
    >>> Sigmoid()(np.array([[0.0, 100.0]]))
    array([[0.5, 1. ]])
    """

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows."""
        image: Array = expit(x)
        return image


@dataclass(frozen=True)
class RadialFeatures:
    """``k(|x - c_m|^2 / h^2)``, one column for each centre.

    Parameters
    ----------
    centers : ndarray of shape (M, D)
        The centres, c.
    width : float
        h.
    kernel : Gaussian, Compact or StudentT
        k.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import RadialFeatures
    >>> from twofold.kernels import StudentT
    >>> step = RadialFeatures(np.array([[0.0], [2.0]]), 2.0, StudentT())
    >>> step(np.array([[0.0]]))
    array([[1. , 0.5]])
    """

    centers: Array
    width: float
    kernel: Gaussian | Compact | StudentT

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows."""
        scaled = sqdist(x / self.width, self.centers / self.width)
        features: Array = np.exp(self.kernel.log_profile(scaled))
        return features


@dataclass(frozen=True)
class RadialMeans:
    """``sum_m k_m y_m / sum_m k_m``; where no centre is in reach, the target of the nearest.

    Parameters
    ----------
    centers : ndarray of shape (M, q)
        The centres.
    width : float
        The kernel's width.
    kernel : Gaussian, Compact or StudentT
        k.
    targets : ndarray of shape (M, D)
        y.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import RadialMeans
    >>> from twofold.kernels import Compact
    >>> targets = np.array([[10.0], [20.0]])
    >>> step = RadialMeans(np.array([[0.0], [1.0]]), 1.0, Compact(), targets)
    >>> step(np.array([[0.5], [9.0]]))
    array([[15.],
           [20.]])
    """

    centers: Array
    width: float
    kernel: Gaussian | Compact | StudentT
    targets: Array

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows."""
        return _weights(self, x) @ self.targets


@dataclass(frozen=True)
class RadialMedians:
    """Medians of the columns of ``targets`` under the same weights: the pre-images of the city-block kernel.

    Parameters
    ----------
    centers : ndarray of shape (M, q)
        The centres.
    width : float
        The kernel's width.
    kernel : Gaussian, Compact or StudentT
        k.
    targets : ndarray of shape (M, D)
        Whose columns' medians are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import RadialMedians
    >>> from twofold.kernels import Gaussian
    >>> targets = np.array([[1.0], [2.0], [900.0]])
    >>> step = RadialMedians(np.array([[-1.0], [0.0], [1.0]]), 1.0, Gaussian(), targets)
    >>> step(np.array([[0.0]]))
    array([[2.]])
    """

    centers: Array
    width: float
    kernel: Gaussian | Compact | StudentT
    targets: Array

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows."""
        return weighted_medians(self.targets, _weights(self, x))


@dataclass(frozen=True)
class PairKernel:
    """A kernel of scikit-learn between rows and centres, one column for each centre.

    Parameters
    ----------
    centers : ndarray of shape (M, D)
        The centres.
    name : str
        One of `NAMES`.
    gamma : float
        The kernel's scale, where it has one.
    degree : float
        Degree of the polynomial kernel.
    coef0 : float
        Constant of the polynomial and sigmoid kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import PairKernel
    >>> step = PairKernel(np.array([[1.0], [2.0]]), "polynomial", gamma=1.0, degree=2, coef0=1.0)
    >>> step(np.array([[3.0]]))
    array([[16., 49.]])
    """

    NAMES: ClassVar = ("linear", "polynomial", "sigmoid", "laplacian", "cosine")

    centers: Array
    name: str
    gamma: float
    degree: float
    coef0: float

    def __call__(self, x: Array) -> Array:
        """Apply the step to rows."""
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        kernels: Array = pairwise_kernels(
            x, self.centers, metric=self.name, filter_params=True, **parameters
        )
        return kernels


@dataclass(frozen=True)
class NodeProducts:
    """Kernels along each dimension between rows and nodes, multiplied over the dimensions, or added.

    Parameters
    ----------
    nodes : ndarray of shape (M, q)
        The nodes.
    kernels : tuple of NodeKernel
        One for each dimension.
    widths : ndarray of shape (q,)
        Their widths.
    is_sum : bool
        Whether they are added.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import NodeProducts
    >>> from twofold.principal_manifold.node_kernels import DampedKernel
    >>> kernels = (DampedKernel(), DampedKernel())
    >>> step = NodeProducts(np.array([[0.0, 0.0]]), kernels, np.ones(2), is_sum=False)
    >>> step(np.array([[1.0, 1.0]]))
    array([[0.25]])
    """

    nodes: Array
    kernels: tuple[NodeKernel, ...]
    widths: Array
    is_sum: bool

    def __call__(self, z: Array) -> Array:
        """Apply the step to rows."""
        parts = [
            kernel.values(z[:, column], self.nodes[:, column], float(width))
            for column, (kernel, width) in enumerate(zip(self.kernels, self.widths, strict=True))
        ]
        return reduce(np.add if self.is_sum else np.multiply, parts)


@dataclass(frozen=True)
class IntoDomain:
    """The nearest place of a domain: the end of an interval, the same place of a circle, one of k points.

    Parameters
    ----------
    domain : Domain or Points
        The domain.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import IntoDomain
    >>> from twofold.principal_manifold.domains import Domain
    >>> IntoDomain(Domain((True, False)))(np.array([[1.5, 1.5]]))
    array([[-0.5,  1. ]])
    """

    domain: Domain | Points

    def __call__(self, z: Array) -> Array:
        """Apply the step to rows."""
        return self.domain.into(z)


Step = (
    Take
    | Put
    | Linear
    | Sigmoid
    | RadialFeatures
    | RadialMeans
    | RadialMedians
    | PairKernel
    | NodeProducts
    | IntoDomain
)


def _weights(step: RadialMeans | RadialMedians, x: Array) -> Array:
    scaled = sqdist(x / step.width, step.centers / step.width)
    weights, shift = shifted_exp(step.kernel.log_profile(scaled))
    reached = np.isfinite(shift)
    weights /= np.where(reached, weights.sum(axis=1), 1.0)[:, None]
    weights[np.flatnonzero(~reached), scaled[~reached].argmin(axis=1)] = 1.0
    return weights
