r"""The eigenvalues of a kernel on a domain, and the rate at which they let manifolds be learned.

The eigenvalues ``lambda_j`` of the kernel's integral operator on the domain bound the covering
numbers of smooth manifolds, and these the distance between the learned and the best quantization
error after ``m`` rows (Smola et al. 2001, section 7, Corollary 7):

.. math::
   \lambda_j \le e^{-c j^p} &\Rightarrow O(m^{-1/2} \log^{(p+1)/2p} m) & \text{(56)} \\
   \lambda_j = O(j^{-a}) &\Rightarrow O(m^{-(a-1)/2a}) & \text{(57)}

For linear penalties (``l1``) the decay counts twice: ``lambda_j = O(j^{-a/2})`` is enough for (57).
The penalty "l2" belongs to another space than the kernel's; for it the paper expects less tight
bounds (section 6.1), and the report shows the kernel's own spectrum.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

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
PRECISE = 1e-10
"""Eigenfunctions of eigenvalues below this share of the largest are not precise."""

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
        The excess risk falls like ``m`` to minus this, up to logarithms.
    trace : float or None, default=None
        The sum of all eigenvalues, ``int k(z, z) dz``; None means that of the given ones.
    largest_eigenfunction : float, default=1.0
        ``C_k``: the largest value of an eigenfunction whose mean square over the domain is 1 over
        its volume; here the largest of those computed.

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
    trace: float | None = None
    largest_eigenfunction: float = 1.0

    @property
    def total(self) -> float:
        """The sum of all eigenvalues.

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.principal_manifold import KernelSpectrum
        >>> KernelSpectrum(np.array([0.75, 0.25]), "finite", np.inf, rate=0.5).total
        1.0
        """
        return float(self.eigenvalues.sum()) if self.trace is None else self.trace

    @property
    def covering_exponent(self) -> float:
        """The power of ``log(1 / eps)`` in ``log N``, or of ``1 / eps`` if the decay is polynomial.

        Smola et al. (2001), Proposition 5. For polynomial decay it is ``2 / (exponent - 1)``, where
        Eq. (53) prints the inverse; see `twofold.principal_manifold.bounds`.

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.principal_manifold import KernelSpectrum
        >>> j = np.arange(1.0, 20.0)
        >>> KernelSpectrum(np.exp(-j), "exponential", 1.0, rate=0.5).covering_exponent
        2.0
        >>> KernelSpectrum(j**-3.0, "polynomial", 3.0, rate=1 / 3).covering_exponent
        1.0
        """
        if self.decay == "finite":
            return 1.0
        if self.decay == "exponential":
            return (self.exponent + 1.0) / self.exponent
        return 2.0 / (self.exponent - 1.0) if self.exponent > 1.0 else float("inf")


def kernel_spectrum(up: NodeExpansion, domain: Domain | Points, *, penalty: str) -> KernelSpectrum:
    """Return the eigenvalues of a map's kernel on its domain, and the rate of Eqs. (56)-(57).

    ``penalty`` is "rkhs", "l2" or "l1".
    """
    parts, lengths, largest = [], [], []
    traces = []
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
        values, vectors = linalg.eigh(
            weight * gram, subset_by_index=(len(gram) - count, len(gram) - 1)
        )
        parts.append(np.maximum(values[::-1], 0.0))
        traces.append(weight * float(np.trace(gram)))
        seen = values > PRECISE * values[-1]
        largest.append(float(np.abs(vectors[:, seen]).max()) / np.sqrt(weight))
    if up._is_additive:
        # An additive kernel is constant along the other dimensions.
        others = [np.prod(lengths) / length for length in lengths]
        together = np.concatenate([part * o for part, o in zip(parts, others, strict=True)])
        trace = float(np.dot(traces, others))
        top = max(one / np.sqrt(o) for one, o in zip(largest, others, strict=True))
    else:
        together = reduce(lambda a, b: np.multiply.outer(a, b).ravel(), parts)
        trace, top = float(np.prod(traces)), float(np.prod(largest))
    eigenvalues = np.sort(together)[::-1]
    # Products beyond the 60 leading ones of each dimension are missing from the tail.
    eigenvalues = eigenvalues[: N_EIGENVALUES * len(parts)]
    eigenvalues = eigenvalues[eigenvalues > SMALLEST * eigenvalues[0]]
    decay, exponent = _decay_of(eigenvalues)
    rate = _rate_of(decay, exponent, penalty)
    return KernelSpectrum(eigenvalues, decay, exponent, rate, trace, float(top))


def steepness(up: NodeExpansion, domain: Domain | Points) -> tuple[float, float]:
    """Return the Lipschitz constant ``c_k`` of a kernel, Eq. (88), and its largest value.

    Both are taken on a grid of the domain. A discontinuous kernel has no such constant: infinity.
    """
    if isinstance(domain, Points):
        return float("inf"), float(np.abs(up.features(domain.grid(()))).max())
    slopes, values = [], []
    for column, kernel in enumerate(up.kernels):
        end = float(domain.ends[column])
        places = np.linspace(-end, end, N_PLACES)
        width = float(up.widths[column])
        slopes.append(float(np.abs(kernel.slopes(places, places, width)).max()))
        values.append(float(np.abs(kernel.values(places, places, width)).max()))
    if up._is_additive:
        return float(np.linalg.norm(slopes)), float(np.sum(values))
    largest = float(np.prod(values))
    parts = [largest / value * slope for value, slope in zip(values, slopes, strict=True)]
    return float(np.linalg.norm(parts)), largest


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
