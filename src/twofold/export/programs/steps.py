"""The steps that closed forms are made of."""

# ruff: noqa: D102 - a step's docstring says what calling it does

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
from twofold.protocols import AnyArray, Array, IntArray
from twofold.tables.columns import LARGEST_LOG
from twofold.ukr.preimages import weighted_medians

Kernel = Gaussian | Compact | StudentT


@dataclass(frozen=True)
class Step:
    """A frozen dataclass of arrays that maps rows to rows when it is called."""

    def __call__(self, x: Array, /) -> Array:
        raise NotImplementedError


@dataclass(frozen=True)
class Take(Step):
    """``x[columns] * factor - shift``: data (n, D) into centered units (n, D').

    The factor is one number, or one for each column (D',).
    """

    columns: IntArray
    factor: float | Array
    shift: Array

    def __call__(self, x: Array) -> Array:
        return x[:, self.columns] * self.factor - self.shift


@dataclass(frozen=True)
class Put(Step):
    """``(u + shift) * factor`` in some columns, constants in the others: centered units to data.

    The factor is one number, or one for each column (D',).
    """

    columns: IntArray
    factor: float | Array
    shift: Array
    constants: Array

    def __call__(self, u: Array) -> Array:
        x = np.tile(self.constants, (len(u), 1))
        x[:, self.columns] = (u + self.shift) * self.factor
        return x


@dataclass(frozen=True)
class Linear(Step):
    """``x W + b`` with ``matrix`` W (M, D) and ``bias`` b (D,)."""

    matrix: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        image: Array = x @ self.matrix + self.bias
        return image


@dataclass(frozen=True)
class Sigmoid(Step):
    """``1 / (1 + exp(-x))``."""

    def __call__(self, x: Array) -> Array:
        image: Array = expit(x)
        return image


@dataclass(frozen=True)
class RadialFeatures(Step):
    """``k(|x - c_m|^2 / h^2)`` (n, M) for ``centers`` c (M, D), ``width`` h and ``kernel`` k."""

    centers: Array
    width: float
    kernel: Kernel

    def __call__(self, x: Array) -> Array:
        scaled = sqdist(x / self.width, self.centers / self.width)
        features: Array = np.exp(self.kernel.log_profile(scaled))
        return features


@dataclass(frozen=True)
class RadialWeights(Step):
    """Weights ``k_m / sum_l k_l`` of ``targets`` (M, D) at ``centers`` (M, q).

    Where no center is in reach of the kernel, the nearest has all the weight.
    """

    centers: Array
    width: float
    kernel: Kernel
    targets: Array

    def weights(self, x: Array) -> Array:
        """Return the weights (n, M) at rows; each row sums to one."""
        scaled = sqdist(x / self.width, self.centers / self.width)
        weights, shift = shifted_exp(self.kernel.log_profile(scaled))
        reached = np.isfinite(shift)
        weights /= np.where(reached, weights.sum(axis=1), 1.0)[:, None]
        weights[np.flatnonzero(~reached), scaled[~reached].argmin(axis=1)] = 1.0
        return weights


class RadialMeans(RadialWeights):
    """Weighted means of the targets."""

    def __call__(self, x: Array) -> Array:
        return self.weights(x) @ self.targets


class RadialMedians(RadialWeights):
    """Weighted medians of the targets' columns: the pre-images of the city-block kernel."""

    def __call__(self, x: Array) -> Array:
        return weighted_medians(self.targets, self.weights(x))


@dataclass(frozen=True)
class PairKernel(Step):
    """A kernel of scikit-learn, one of `NAMES`, between rows and centers (M, D); shape (n, M)."""

    NAMES: ClassVar = ("linear", "polynomial", "sigmoid", "laplacian", "cosine")

    centers: Array
    name: str
    gamma: float
    degree: float
    coef0: float

    def __call__(self, x: Array) -> Array:
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        kernels: Array = pairwise_kernels(
            x, self.centers, metric=self.name, filter_params=True, **parameters
        )
        return kernels


@dataclass(frozen=True)
class NodeProducts(Step):
    """Products, or sums, over the dimensions of kernels between rows and nodes (M, q)."""

    nodes: Array
    kernels: tuple[NodeKernel, ...]
    widths: Array
    is_sum: bool

    def __call__(self, z: Array) -> Array:
        parts = [
            kernel.values(z[:, column], self.nodes[:, column], float(width))
            for column, (kernel, width) in enumerate(zip(self.kernels, self.widths, strict=True))
        ]
        return reduce(np.add if self.is_sum else np.multiply, parts)


@dataclass(frozen=True)
class IntoDomain(Step):
    """The nearest place of a domain: in an interval, on a circle, or one of k points."""

    domain: Domain | Points

    def __call__(self, z: Array) -> Array:
        return self.domain.into(z)


@dataclass(frozen=True)
class TableColumns(Step):
    """Columns of a table: their encoding (n, D), which models see, and flat values (n, D).

    A flat value is ``encoded * scale + center``. If ``log`` is true, it is the exponential of that
    minus ``offset``, at least 0; only values above ``floor - offset`` are encoded as they are.
    Columns with the same number ``group`` >= 0 are the levels of one category:
    their values are clipped at zero and divided by their sum. If the sum is zero, their values are
    those of ``center``, the shares of the levels.
    """

    scale: Array
    center: Array
    offset: Array
    floor: Array
    log: AnyArray
    group: IntArray

    @property
    def members(self) -> Array:
        """Return which columns (D,) belong to which group (G,), as ones and zeros (D, G)."""
        numbers = np.arange(self.group.max(initial=-1) + 1)
        return np.asarray(self.group[:, None] == numbers, dtype=np.float64)


class Flat(TableColumns):
    """The flat values of encoded columns: numbers in their own units, and probabilities."""

    def __call__(self, x: Array) -> Array:
        values: Array = x * self.scale + self.center
        exponents = np.clip(values[:, self.log], -LARGEST_LOG, LARGEST_LOG)
        values[:, self.log] = np.maximum(np.exp(exponents) - self.offset[self.log], 0.0)
        levels = self.group >= 0
        values[:, levels] = np.maximum(values[:, levels], 0.0)
        sums = (values[:, levels] @ self.members[levels])[:, self.group[levels]]
        shares = values[:, levels] / np.where(sums > 0.0, sums, 1.0)
        values[:, levels] = np.where(sums > 0.0, shares, self.center[levels])
        return values


class Encoded(TableColumns):
    """The encoding of flat values: the inverse of `Flat`."""

    def __call__(self, x: Array) -> Array:
        values = np.array(x, dtype=np.float64)
        shifted = values[:, self.log] + self.offset[self.log]
        values[:, self.log] = np.log(np.maximum(shifted, self.floor[self.log]))
        return np.asarray((values - self.center) / self.scale)
