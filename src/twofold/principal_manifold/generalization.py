r"""How fast held-out and training errors approach each other: a bound, and a measurement.

The eigenvalues ``lambda_j`` of the kernel's integral operator on the domain bound the covering
numbers of smooth manifolds, and these the distance between the learned and the best quantization
error after ``m`` rows (Smola et al. 2001, section 7, Corollary 7):

.. math::
   \lambda_j \le e^{-c j^p} &\Rightarrow O(m^{-1/2} \log^{(p+1)/2p} m) & \text{(56)} \\
   \lambda_j = O(j^{-a}) &\Rightarrow O(m^{-(a-1)/2a}) & \text{(57)}

For linear penalties (``l1``) the decay counts twice: ``lambda_j = O(j^{-a/2})`` is enough for (57).
The penalty "l2" belongs to another space than the kernel's; for it the paper expects less tight
bounds (section 6.1), and the report shows the kernel's own spectrum.

These are upper bounds with unknown constants, for the best manifold in a class; fits are local
minima. So the result is a diagnostic, not a certificate.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
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
        Largest first, down to the level of rounding.
    decay : {"exponential", "polynomial", "finite"}
        The law that fits best: ``exp(-c j^p)``, ``j^-a``, or a finite number of them.
    exponent : float
        p or a; infinity for "finite".
    rate : float
        The gap of the errors falls like ``m`` to minus this, up to logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> t = np.linspace(-1, 1, 50)
    >>> model = PrincipalManifold(kernel="spline", alpha=1e-2).fit(np.c_[t, t**2])
    >>> spectrum = model.generalization_report().spectrum
    >>> spectrum.decay, round(spectrum.exponent, 1), round(spectrum.rate, 2)
    ('polynomial', 2.1, 0.26)
    """

    eigenvalues: Array
    decay: str
    exponent: float
    rate: float


@dataclass(frozen=True)
class LearningCurve:
    """Errors of manifolds fitted to more and more rows.

    Attributes
    ----------
    sizes : ndarray of shape (k,)
        Numbers of rows.
    train, held_out : ndarray of shape (k, n_repeats)
        Shares of variance lost, of the fitted rows and of others.

    Examples
    --------
    Gaps that halve as rows double:

    >>> import numpy as np
    >>> from twofold.principal_manifold import LearningCurve
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
        """The median gap between the two errors for each size (k,)."""
        medians: Array = np.median(self.held_out - self.train, axis=1)
        return medians

    @property
    def slope(self) -> float:
        """The exponent, by least squares in logarithms, with which positive gaps fall; or NaN."""
        kept = self.gaps > 0.0
        if kept.sum() < 2:
            return float("nan")
        return float(-np.polyfit(np.log(self.sizes[kept]), np.log(self.gaps[kept]), 1)[0])


@dataclass(frozen=True)
class GeneralizationReport:
    """A kernel's spectrum and, with data, a learning curve: a diagnostic, not a certificate.

    Attributes
    ----------
    spectrum : KernelSpectrum
        The eigenvalues of the kernel, and the rate that they give.
    curve : LearningCurve or None
        Measured errors, if data were given.

    Examples
    --------
    Measured gaps that fall like 1 / m, compared with the rate of a spectrum:

    >>> import numpy as np
    >>> from twofold.principal_manifold import GeneralizationReport, KernelSpectrum, LearningCurve
    >>> sizes = np.array([100.0, 400.0])
    >>> curve = LearningCurve(sizes, np.zeros((2, 1)), 1.0 / sizes[:, None])
    >>> spectrum = KernelSpectrum(np.array([1.0, 0.1, 0.01]), "exponential", 1.0, rate=0.5)
    >>> report = GeneralizationReport(spectrum, curve)
    >>> report.predicted().round(4)
    array([0.0071, 0.0035])
    >>> print(report)
    A diagnostic, not a certificate.
    Eigenvalues of the kernel on the domain decay like exp(-c j^1):
    the gap of held-out and training errors should fall at least like m^-0.50,
    up to logarithms.
    m =    100: gap 0.01
    m =    400: gap 0.0025
    Measured: m^-1.00.
    """

    spectrum: KernelSpectrum
    curve: LearningCurve | None = None

    def predicted(self) -> Array:
        """Return the gaps (k,) of the rate, scaled to the geometric mean of those measured."""
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
        rate = f"m^-{spectrum.rate:.2f}"
        lines = [
            "A diagnostic, not a certificate.",
            f"Eigenvalues of the kernel on the domain decay like {law}:",
            f"the gap of held-out and training errors should fall at least like {rate},",
            "up to logarithms.",
        ]
        if self.curve is not None:
            rows = zip(self.curve.sizes, self.curve.gaps, strict=True)
            lines += [f"m = {int(m):6d}: gap {gap:.3g}" for m, gap in rows]
            slope = self.curve.slope
            found = f"m^{-slope:.2f}" if np.isfinite(slope) else "no gap to speak of"
            lines.append(f"Measured: {found}.")
        return "\n".join(lines)


def kernel_spectrum(up: NodeExpansion, domain: Domain | Points, *, penalty: str) -> KernelSpectrum:
    """Return the eigenvalues of a map's kernel on its domain, and the rate of Eqs. (56)-(57).

    ``penalty`` is "rkhs", "l2" or "l1".
    """
    parts, lengths = [], []
    for column, kernel in enumerate(up.kernels):
        if isinstance(domain, Points):
            places, weight = domain.grid(())[:, 0], 1.0
            lengths.append(1.0)
        else:
            end = float(domain.ends[column])
            ends = np.linspace(-end, end, N_PLACES + 1)
            places, weight = 0.5 * (ends[1:] + ends[:-1]), PERIOD * end / N_PLACES
            lengths.append(PERIOD * end)
        gram = kernel.values(places, places, float(up.widths[column]))
        count = min(N_EIGENVALUES, len(places))
        values = linalg.eigvalsh(weight * gram, subset_by_index=(len(gram) - count, len(gram) - 1))
        parts.append(np.maximum(values[::-1], 0.0))
    if up._is_additive:
        # An additive kernel is constant along the other dimensions.
        others = [np.prod(lengths) / length for length in lengths]
        together = np.concatenate([part * o for part, o in zip(parts, others, strict=True)])
    else:
        together = reduce(lambda a, b: np.multiply.outer(a, b).ravel(), parts)
    eigenvalues = np.sort(together)[::-1]
    # Products beyond the 60 leading ones of each dimension are missing from the tail.
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
    """Fit to more and more rows, at most half of ``data`` (n, D), and return the errors.

    ``errors`` takes rows to fit, rows to test and a seed, and returns the errors of both. Each of
    the ``n_sizes`` points of the curve has half the rows of the next.
    """
    half = len(data) // 2
    sizes = np.unique([half // 2**k for k in range(n_sizes) if half // 2**k >= 10])
    if len(sizes) < 2:
        raise ValueError(f"X has {len(data)} rows; a learning curve needs at least 40.")
    found = np.empty((2, len(sizes), n_repeats))
    for repeat in range(n_repeats):
        order = np.random.default_rng(repeat).permutation(len(data))
        for number, size in enumerate(sizes):
            found[:, number, repeat] = errors(data[order[:size]], data[order[half:]], repeat)
    return LearningCurve(sizes.astype(np.float64), found[0], found[1])
