r"""How fast the error on new rows meets the error on training rows: the kernel's side, and the data's.

The eigenvalues ``lambda_j`` of the kernel's integral operator on the domain bound the covering numbers of smooth
manifolds, and these the distance between the learned and the best quantization error after ``m`` rows (Smola et al. 2001,
section 7, Corollary 7):

.. math::
   \lambda_j \le e^{-c j^p} &\Rightarrow O(m^{-1/2} \log^{(p+1)/2p} m) & \text{(56)} \\
   \lambda_j = O(j^{-a}) &\Rightarrow O(m^{-(a-1)/2a}) & \text{(57)}

For linear penalties (``l1``) the decay counts twice: ``lambda_j = O(j^{-a/2})`` is enough for (57). The penalty "l2" belongs to another
space than the kernel's; for it the paper expects less tight bounds (section 6.1), and the kernel's own spectrum is shown.

These are upper bounds with unknown constants, for the best manifold in a class; fits are local minima. So what
comes out is a diagnostic, not a certificate.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import linalg

from twofold.principal_manifold.domains import PERIOD, Domain, Points
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.protocols import Array

__all__ = [
    "GeneralizationReport",
    "KernelSpectrum",
    "LearningCurve",
    "kernel_spectrum",
    "learning_curve",
]

N_PLACES = 600
N_EIGENVALUES = 60
SMALLEST = 1e-13
FIRST_IN_FIT = 3
POWERS = np.arange(0.2, 3.01, 0.05)


@dataclass(frozen=True)
class KernelSpectrum:
    """The decay of a kernel's eigenvalues on a domain.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Largest first, as far as they are above rounding.
    decay : {"exponential", "polynomial", "finite"}
        Which law fits better: ``exp(-c j^p)``, ``j^-a``, or that there are no more.
    exponent : float
        p or a; infinity for "finite".
    rate : float
        The error's distance falls like ``m`` to minus this; logarithms are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold.domains import Domain
    >>> from twofold.principal_manifold.generalization import kernel_spectrum
    >>> from twofold.principal_manifold.nodes import NodeExpansion
    >>> from twofold.principal_manifold.node_kernels import SplineKernel
    >>> nodes = np.linspace(-1.0, 1.0, 8)[:, None]
    >>> up = NodeExpansion(nodes, (SplineKernel(),), np.ones(1))
    >>> spectrum = kernel_spectrum(up, Domain((False,)), penalty="rkhs")
    >>> spectrum.decay, round(spectrum.exponent, 1), round(spectrum.rate, 2)
    ('polynomial', 2.1, 0.26)
    """

    eigenvalues: Array
    decay: str
    exponent: float
    rate: float


@dataclass(frozen=True)
class LearningCurve:
    """Errors of manifolds fitted to ever more rows.

    Attributes
    ----------
    sizes : ndarray of shape (k,)
        Numbers of rows.
    train, held_out : ndarray of shape (k, n_repeats)
        Shares of variance lost, of the rows of the fit and of others.

    Examples
    --------
    Gaps that halve as rows double:

    >>> import numpy as np
    >>> from twofold.principal_manifold.generalization import LearningCurve
    >>> sizes = np.array([100.0, 200.0, 400.0])
    >>> train = np.full((3, 1), 0.1)
    >>> curve = LearningCurve(sizes, train, held_out=train + 1.0 / sizes[:, None])
    >>> curve.gaps.round(4)
    array([0.01  , 0.005 , 0.0025])
    >>> round(curve.slope, 3)
    1.0
    """

    sizes: Array
    train: Array
    held_out: Array

    @property
    def gaps(self) -> Array:
        """The median distance of the two errors for each size, shape (k,)."""
        medians: Array = np.median(self.held_out - self.train, axis=1)
        return medians

    @property
    def slope(self) -> float:
        """Minus the exponent with which the gaps fall, by least squares in logarithms; NaN where they are not positive."""
        kept = self.gaps > 0.0
        if kept.sum() < 2:
            return float("nan")
        return float(-np.polyfit(np.log(self.sizes[kept]), np.log(self.gaps[kept]), 1)[0])


@dataclass(frozen=True)
class GeneralizationReport:
    """A kernel's spectrum and, where data were given, a learning curve: a diagnostic, not a certificate.

    Attributes
    ----------
    spectrum : KernelSpectrum
        The kernel's side.
    curve : LearningCurve or None
        The data's side.

    Examples
    --------
    Measured gaps that fall like 1 / m, beside the rate of a spectrum:

    >>> import numpy as np
    >>> from twofold.principal_manifold.generalization import GeneralizationReport, KernelSpectrum, LearningCurve
    >>> sizes = np.array([100.0, 400.0])
    >>> curve = LearningCurve(sizes, np.zeros((2, 1)), 1.0 / sizes[:, None])
    >>> spectrum = KernelSpectrum(np.array([1.0, 0.1, 0.01]), "exponential", 1.0, rate=0.5)
    >>> report = GeneralizationReport(spectrum, curve)
    >>> report.predicted().round(4)
    array([0.0071, 0.0035])
    >>> print(report)
    A diagnostic, not a certificate.
    Eigenvalues of the kernel on the domain decay like exp(-c j^1):
    the gap between held-out and training error should fall at least like m^-0.50, up to logarithms.
    m =    100: gap 0.01
    m =    400: gap 0.0025
    Measured: m^-1.00.
    """

    spectrum: KernelSpectrum
    curve: LearningCurve | None = None

    def predicted(self) -> Array:
        """Return the gaps that the rate gives, through the geometric mean of those measured, shape (k,)."""
        if self.curve is None:
            raise ValueError("There is no learning curve: call generalization_report(X) with data.")
        gaps, falls = self.curve.gaps, self.curve.sizes**-self.spectrum.rate
        positive = gaps > 0.0
        if not positive.any():
            return np.full(len(gaps), np.nan)
        scaled: Array = falls * np.exp(np.mean(np.log(gaps[positive] / falls[positive])))
        return scaled

    def __str__(self) -> str:
        spectrum = self.spectrum
        law = {
            "exponential": f"exp(-c j^{spectrum.exponent:.2g})",
            "polynomial": f"j^-{spectrum.exponent:.2g}",
            "finite": f"0 (or below rounding) after {len(spectrum.eigenvalues)}",
        }[spectrum.decay]
        lines = [
            "A diagnostic, not a certificate.",
            f"Eigenvalues of the kernel on the domain decay like {law}:",
            f"the gap between held-out and training error should fall at least like m^-{spectrum.rate:.2f}, up to logarithms.",
        ]
        if self.curve is not None:
            rows = zip(self.curve.sizes, self.curve.gaps, strict=True)
            lines += [f"m = {int(m):6d}: gap {gap:.3g}" for m, gap in rows]
            slope = self.curve.slope
            found = f"m^{-slope:.2f}" if np.isfinite(slope) else "no gap to speak of"
            lines.append(f"Measured: {found}.")
        return "\n".join(lines)


def kernel_spectrum(up: NodeExpansion, domain: Domain | Points, *, penalty: str) -> KernelSpectrum:
    """Return the eigenvalues of a map's kernel on its domain, and what Eqs. (56)-(57) make of their decay.

    Parameters
    ----------
    up : NodeExpansion
        The map.
    domain : Domain or Points
        Its domain.
    penalty : {"rkhs", "l2", "l1"}
        Whether the regularizer is quadratic or linear.

    Returns
    -------
    KernelSpectrum

    Examples
    --------
    The eigenvalues of a smooth kernel fall faster than any power:

    >>> import numpy as np
    >>> from twofold.principal_manifold.domains import Domain
    >>> from twofold.principal_manifold.generalization import kernel_spectrum
    >>> from twofold.principal_manifold.nodes import NodeExpansion
    >>> from twofold.principal_manifold.node_kernels import GaussianKernel
    >>> nodes = np.linspace(-1.0, 1.0, 8)[:, None]
    >>> up = NodeExpansion(nodes, (GaussianKernel(),), np.array([0.3]))
    >>> spectrum = kernel_spectrum(up, Domain((False,)), penalty="rkhs")
    >>> spectrum.decay, spectrum.rate
    ('exponential', 0.5)
    """
    parts = []
    for column, kernel in enumerate(up.kernels):
        if isinstance(domain, Points):
            places, weight = domain.grid(())[:, 0], 1.0
        else:
            ends = np.linspace(-1.0, 1.0, N_PLACES + 1)
            places, weight = 0.5 * (ends[1:] + ends[:-1]), PERIOD / N_PLACES
        gram = kernel.values(places, places, float(up.widths[column]))
        count = min(N_EIGENVALUES, len(places))
        values = linalg.eigvalsh(weight * gram, subset_by_index=(len(gram) - count, len(gram) - 1))
        parts.append(np.maximum(values[::-1], 0.0))
    if up._is_additive:
        together = np.concatenate(parts) * PERIOD ** (len(parts) - 1)
    else:
        together = reduce(lambda a, b: np.multiply.outer(a, b).ravel(), parts)
    eigenvalues = np.sort(together)[::-1]
    # Products of more than the 60 leading ones of each dimension are missing from the tail.
    eigenvalues = eigenvalues[: N_EIGENVALUES * len(parts)]
    eigenvalues = eigenvalues[eigenvalues > SMALLEST * eigenvalues[0]]
    decay, exponent = _decay_of(eigenvalues)
    return KernelSpectrum(eigenvalues, decay, exponent, _rate_of(decay, exponent, penalty))


def _decay_of(eigenvalues: Array) -> tuple[str, float]:
    j = np.arange(1.0, len(eigenvalues) + 1.0)[FIRST_IN_FIT:]
    logs = np.log(eigenvalues)[FIRST_IN_FIT:]
    if len(j) < 5 or np.ptp(logs) == 0.0:
        return "finite", float("inf")

    def misfit(x: Array) -> tuple[float, float]:
        slope, offset = np.polyfit(x, logs, 1)
        return float(np.square(logs - slope * x - offset).sum()), float(slope)

    polynomial, slope = misfit(np.log(j))
    exponential, power = min((misfit(j**p)[0], float(p)) for p in POWERS)
    # Small powers imitate logarithms: the exponential law must be clearly better.
    if exponential < 0.5 * polynomial and power > POWERS[0]:
        return "exponential", power
    return "polynomial", -slope


def _rate_of(decay: str, exponent: float, penalty: str) -> float:
    if decay != "polynomial":
        return 0.5
    a = 2.0 * exponent if penalty == "l1" else exponent
    return max((a - 1.0) / (2.0 * a), 0.0)


def learning_curve(
    errors: Callable[[Array, Array, int], tuple[float, float]],
    data: Array,
    n_repeats: int,
    n_sizes: int = 5,
) -> LearningCurve:
    """Fit to ever more rows and compare the errors of these with those of others.

    Parameters
    ----------
    errors : callable
        Takes rows to fit, rows to judge by and a seed; returns the errors of both.
    data : ndarray of shape (n, D)
        All rows; at most half of them are fitted.
    n_repeats : int
        Random splits.
    n_sizes : int, default=5
        Points of the curve, each with half the rows of the next.

    Returns
    -------
    LearningCurve

    Examples
    --------
    The simplest of models, the mean:

    >>> import numpy as np
    >>> from twofold.principal_manifold.generalization import learning_curve
    >>> def errors(train, test, seed):
    ...     mean = train.mean(axis=0)
    ...     return float(np.square(train - mean).mean()), float(np.square(test - mean).mean())
    >>> data = np.random.default_rng(0).normal(size=(400, 2))
    >>> curve = learning_curve(errors, data, n_repeats=20)
    >>> curve.sizes, curve.train.shape
    (array([ 12.,  25.,  50., 100., 200.]), (5, 20))
    >>> bool(curve.gaps[0] > curve.gaps[-1])
    True
    """
    half = len(data) // 2
    sizes = np.unique([half // 2**k for k in range(n_sizes) if half // 2**k >= 10])
    if len(sizes) < 2:
        raise ValueError(f"X has {len(data)} rows; a learning curve needs 40 at least.")
    found = np.empty((2, len(sizes), n_repeats))
    for repeat in range(n_repeats):
        order = np.random.default_rng(repeat).permutation(len(data))
        for number, size in enumerate(sizes):
            found[:, number, repeat] = errors(data[order[:size]], data[order[half:]], repeat)
    return LearningCurve(sizes.astype(np.float64), found[0], found[1])
