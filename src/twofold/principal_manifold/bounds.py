r"""Bounds on the risk of principal manifolds, from the eigenvalues of their kernel.

For the class ``F = {f : Q[f] <= Lambda}`` (Smola et al. 2001, Eq. 41) with data in a ball of radius
r and the loss ``|x - f(z)|^p``, which is at most ``e = (2 r)^p`` and Lipschitz with the constant
``l = p (2 r)^{p-1}`` (section 7.1), the paper bounds in turn:

*Entropy numbers.* ``eps_n`` is the radius at which n balls cover ``F`` in the supremum norm. With
eigenvalues ``lambda_s``, d columns and ``C_k`` the largest value of a normalized eigenfunction,

.. math::
   \varepsilon_n(A_d) \le \inf_a \sup_j\; 6 C_k \sqrt d\, |(\sqrt{\lambda_s} / a_s)_s|\,
   n^{-1/(jd)} (a_1 \cdots a_j)^{1/j} \qquad \text{(81)}

and ``eps_n(F) <= sqrt(2 Lambda) eps_n(A_d)`` for quadratic penalties (Eqs. 74-79, where ``w`` is in
a ball of radius ``sqrt(2 Lambda)``), ``Lambda eps_n(A_d^2)`` for linear ones (Eqs. 86-87). The
infimum is attained: ``a_s = sqrt(lambda_s)`` up to a number ``j*`` and constant beyond, which gives

.. math::
   \varepsilon_n(A_d)^2 \le 36 C_k^2 d \Bigl( j^* (\lambda_1 \cdots \lambda_{j^*})^{1/j^*}
   n^{-2/(d j^*)} + \sum_{s > j^*} \lambda_s \Bigr),

with the smallest ``j*`` for which ``lambda_{j*+1}`` is below the first term over ``j*`` (Guo et al.
1999 for d = 1). For ``A_d^2``, the scale factors ``a_s^2`` and ``n`` are the squares of those
for ``sqrt(n)``, so its bound is the square of that at ``sqrt(n)``, over 6.

*Covering numbers* ``N(eps)`` invert entropy numbers.

*Risk.* With the best map ``f*`` of the class and the empirical one ``f_m`` after m rows,

.. math::
   P(\sup_f |R_m[f] - R[f]| > \eta) &\le 2 N\!\left(\tfrac{\varepsilon}{2 l}\right)
   e^{-2 m (\eta - \varepsilon)^2 / e^2} & \text{(46)} \\
   P(R[f_m] - R[f^*] > \eta) &\le 2 \left(N\!\left(\tfrac{\varepsilon}{2 l}\right) + 1\right)
   e^{-m (\eta - \varepsilon)^2 / (2 e^2)} & \text{(49)} \\
   E\, R[f_m] - R[f^*] &\le \sqrt{2 e^2 L / m} + \varepsilon + \sqrt{2 e^2 / (m L)}, \qquad
   L = \log(N + 1) & \text{(93)}

Departures from the print
-------------------------
* Eqs. (46), (47), (49) and (93) print ``e`` where Hoeffding's inequality has ``e^2``. As printed
  they change with the unit of the data.
* Eq. (49) prints ``N(eps / l)``. Eq. (91) compares both ``R`` and ``R_m`` with a member of the
  cover, which costs twice the radius: the cover must have the radius ``eps / (2 l)``, as in
  Eq. (46).
* Eqs. (53) and (85) differ. Inverting Proposition 13, ``eps_n = O(log^{-a/2 + delta} n)`` for
  ``lambda_j = O(j^{-(a+1)})``, gives ``log N = O(eps^{-2/a - delta})``. Eq. (53) has the exponent
  upside down, and both have ``delta`` with the wrong sign. The rates of section 7.4 and Eq. (57)
  agree with ``2 / a``.
* For linear penalties section 7.4 takes the rate of a kernel whose eigenvalues fall twice as fast:
  3/8 for ``lambda_j = O(j^{-2})``. Eq. (87) itself gives ``eps_n = O(log^{-a} n)`` and a rate of
  ``a / (2 a + 1)``, here 1/3. `KernelSpectrum.rate` is the paper's, the bounds follow Eq. (87).
* Corollary 11 writes ``sqrt(lambda) / a`` where Proposition 9 writes ``sqrt(lambda) a``; the former
  is meant.

The constants are large: a bound may exceed the largest possible loss, and measured excess risks are
smaller by orders of magnitude. The bounds show how the risk depends on kernel, dimension and sample
size, and are no substitute for held-out rows. They are for maps without ``f_0``, as in the paper,
which assumes centered data.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.

Y. Guo, P. L. Bartlett, J. Shawe-Taylor, R. C. Williamson. Covering numbers for support vector
machines. COLT 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gamma, zeta

from twofold.numerics.validation import (
    check_choice,
    check_int,
    check_not_negative,
    check_real,
)
from twofold.principal_manifold.spectrum import KernelSpectrum

N_RADII = 200
N_EXPONENTS = 200
MOST_PLACES = 10_000
LARGEST_LOG = 1e15
STEPS = 100
SMALLEST_LOSS, LARGEST_LOSS = 1e-280, 1e280
"""Bounds of the largest loss, so that products with it stay in the range of floats."""

VOLUME = 4.0
"""``n`` balls of the radius ``4 n^{-1/D}`` cover a unit ball of D dimensions (Carl and Stephani
1990)."""


@dataclass(frozen=True)
class RiskBounds:
    """Bounds for the class ``Q[f] <= limit``, Smola et al. (2001), section 7 and appendix A.

    `PrincipalManifold.generalization_report` makes them for a fitted model. They have explicit
    constants, which are large: see `excess_risk`.

    Parameters
    ----------
    spectrum : KernelSpectrum
        Eigenvalues of the kernel on its domain.
    n_features : int
        Columns of the data, d.
    radius : float
        Radius r of a ball that contains the data.
    limit : float
        ``Lambda``, in squared units of the radius for "rkhs", in its units for "l1".
    penalty : {"rkhs", "l1"}, default="rkhs"
        The quadratic or the linear penalty.
    power : float, default=2.0
        The loss is ``|x - f(z)|`` to this power, at least 1.
    slope, largest, n_components, domain_radius : float, float, int and float or None, default=None
        For Eq. (89), with ``penalty="l1"`` only: the Lipschitz constant of the kernel, its largest
        value, the dimension of the domain, and the radius of a ball that contains it.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import KernelSpectrum, RiskBounds
    >>> j = np.arange(1, 41)
    >>> spectrum = KernelSpectrum(np.exp(-j), "exponential", 1.0, rate=0.5)
    >>> bounds = RiskBounds(spectrum, n_features=2, radius=1.0, limit=1.0)

    Covering numbers grow slowly with the precision, Eq. (52):

    >>> [round(bounds.log_covering_number(radius)) for radius in (1.0, 0.1, 0.01)]
    [21, 67, 137]

    Each inverts the radius of a number of balls:

    >>> round(bounds.entropy_number(67.0), 2), round(bounds.explicit_entropy_number(67.0), 2)
    (0.1, 0.16)
    >>> bounds.lipschitz_entropy_number(67.0)  # only for linear penalties
    inf

    So the bound on the excess risk falls nearly like ``m^(-1/2)``:

    >>> few, many = bounds.excess_risk(10**6), bounds.excess_risk(10**8)
    >>> round(float(np.log(few / many) / np.log(100)), 2)
    0.46
    >>> bounds.largest_loss, bounds.loss_slope
    (4.0, 4.0)
    >>> bounds.excess_probability(1.0, 1_000), bounds.excess_probability(1.0, 10_000) < 1e-9
    (1.0, True)
    >>> bounds.deviation_probability(1.0, 1_000), bounds.deviation_probability(1.0, 10_000) < 1e-9
    (1.0, True)
    """

    spectrum: KernelSpectrum
    n_features: int
    radius: float
    limit: float
    penalty: str = "rkhs"
    power: float = 2.0
    slope: float | None = None
    largest: float | None = None
    n_components: int | None = None
    domain_radius: float | None = None

    def __post_init__(self) -> None:
        check_int("n_features", self.n_features)
        check_choice("penalty", self.penalty, ("rkhs", "l1"))
        for name in ("radius", "limit"):
            check_real(name, getattr(self, name))
        check_real("power", self.power, low=1.0)
        with np.errstate(over="ignore", under="ignore"):
            largest = float(np.float64(2.0 * self.radius) ** self.power)
        if not SMALLEST_LOSS < largest < LARGEST_LOSS:
            raise ValueError(
                f"radius={float(self.radius)!r} is out of range: the largest loss, (2 radius)^"
                f"{self.power:g} = {largest:.3g}, must be between {SMALLEST_LOSS:g} and "
                f"{LARGEST_LOSS:g}. Rescale the data."
            )

    @property
    def largest_loss(self) -> float:
        """``e``, the largest loss of two points of the ball."""
        return float((2.0 * self.radius) ** self.power)

    @property
    def loss_slope(self) -> float:
        """``l``, the Lipschitz constant of the loss."""
        return float(self.power * (2.0 * self.radius) ** (self.power - 1.0))

    def entropy_number(self, log_n: float) -> float:
        """Return the bound of Eq. (81) or (87) on the entropy number of the class.

        Parameters
        ----------
        log_n : float
            The logarithm of the number of balls, at least 0.

        Returns
        -------
        float
            A radius at which n balls cover the class.
        """
        check_not_negative("log_n", log_n)
        return self._of_class(lambda some: self._scaling(some)[0], log_n)

    def explicit_entropy_number(self, log_n: float) -> float:
        """Return the bound of Proposition 12 or 13: Eq. (81) for the law of the eigenvalues.

        The law is the smallest one of the form ``beta^2 exp(-c j^p)`` or ``beta^2 j^-(a+1)`` above
        the computed eigenvalues. The bound holds if the others obey it too.

        Parameters
        ----------
        log_n : float
            The logarithm of the number of balls, positive.

        Returns
        -------
        float
            A radius, not smaller than that of `entropy_number`.
        """
        check_real("log_n", log_n)
        return self._of_class(self._explicit_scaling, log_n)

    def lipschitz_entropy_number(self, log_n: float) -> float:
        """Return the bound of Eq. (89) for linear penalties and kernels with a largest slope.

        Values at ``a`` places of the domain determine a function of the class up to ``Lambda c_k``
        times the distance to the next place. They form a set of ``a d`` dimensions in a ball of
        radius ``Lambda`` times the largest value of the kernel. The number of places is optimized.

        Parameters
        ----------
        log_n : float
            The logarithm of the number of balls, at least 0.

        Returns
        -------
        float
            A radius. It is infinity without ``penalty="l1"``, for which Eq. (89) does not hold, and
            if ``slope``, ``largest``, ``n_components`` or ``domain_radius`` is None.
        """
        check_not_negative("log_n", log_n)
        known = (self.slope, self.largest, self.n_components, self.domain_radius)
        if self.penalty != "l1" or any(one is None for one in known):
            return float("inf")
        assert self.slope is not None
        assert self.largest is not None
        assert self.n_components is not None
        assert self.domain_radius is not None
        most = max(2, int(MOST_PLACES ** (1.0 / self.n_components)))
        sides = np.arange(1.0, most + 1.0)
        places = sides**self.n_components
        between = self.slope * self.domain_radius / sides
        at_places = VOLUME * self.largest * np.exp(-log_n / (places * self.n_features))
        at_places = np.minimum(at_places, self.largest)
        return float(self.limit * (between + at_places).min())

    def log_covering_number(self, radius: float) -> float:
        """Return the logarithm of the number of balls of a radius that cover the class.

        Parameters
        ----------
        radius : float
            Positive, in the supremum norm.

        Returns
        -------
        float
            The smallest value that the bounds give; infinity below the precision of the
            eigenvalues.
        """
        check_real("radius", radius)

        def bound(log_n: float) -> float:
            return min(self.entropy_number(log_n), self.lipschitz_entropy_number(log_n))

        if bound(0.0) <= radius:
            return 0.0
        low, high = 0.0, 1.0
        while bound(high) > radius:
            low, high = high, 2.0 * high
            if high > LARGEST_LOG:
                return float("inf")
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if bound(middle) > radius else (low, middle)
            if high - low <= 1e-9 * high:
                break
        return high

    def deviation_probability(self, deviation: float, n_samples: int) -> float:
        """Bound the probability that training error and risk differ by more, Eq. (46).

        Parameters
        ----------
        deviation : float
            ``eta``, positive.
        n_samples : int
            Rows, m.

        Returns
        -------
        float
            At most 1.
        """
        check_real("deviation", deviation)
        check_int("n_samples", n_samples)

        def log_bound(eps: float, log_n: float) -> float:
            exponent = 2.0 * n_samples * ((deviation - eps) / self.largest_loss) ** 2
            return float(np.log(2.0) + log_n - exponent)

        return self._probability(log_bound, 0.5 * deviation)

    def excess_probability(self, excess: float, n_samples: int) -> float:
        """Bound the probability that the risk of the fitted map is this much too high, Eq. (49).

        Parameters
        ----------
        excess : float
            ``eta``: the risk of the best map for the rows less that of the best map, positive.
        n_samples : int
            Rows, m.

        Returns
        -------
        float
            At most 1.
        """
        check_real("excess", excess)
        check_int("n_samples", n_samples)

        def log_bound(eps: float, log_n: float) -> float:
            exponent = 0.5 * n_samples * ((excess - eps) / self.largest_loss) ** 2
            return float(np.log(2.0) + np.logaddexp(log_n, 0.0) - exponent)

        return self._probability(log_bound, 0.5 * excess)

    def excess_risk(self, n_samples: int) -> float:
        """Bound the expected excess risk ``R[f_m] - R[f*]`` after m rows, Eq. (93).

        Parameters
        ----------
        n_samples : int
            Rows, m.

        Returns
        -------
        float
            The smallest bound over the radii of covers. Values above `largest_loss` say nothing.
        """
        check_int("n_samples", n_samples)
        e = self.largest_loss
        lowest = np.inf
        for eps in e * np.logspace(-8, 0, N_RADII):
            log_n = self.log_covering_number(eps / (2.0 * self.loss_slope))
            if not np.isfinite(log_n):
                continue
            size = float(np.logaddexp(log_n, 0.0))
            rest = e * (np.sqrt(2.0 * size / n_samples) + np.sqrt(2.0 / (n_samples * size)))
            lowest = min(lowest, rest + eps)
        return float(lowest)

    def _probability(self, log_bound: Callable[[float, float], float], most: float) -> float:
        """Return the smallest bound over radii ``eps`` up to ``most`` of the class of losses."""
        radii = most * np.logspace(-4, 0, N_RADII // 2, endpoint=False)
        logs = [
            log_bound(eps, self.log_covering_number(eps / (2.0 * self.loss_slope)))
            for eps in radii.tolist()
        ]
        return float(np.exp(min(*logs, 0.0)))

    def _of_class(self, scaling: Callable[[float], float], log_n: float) -> float:
        """Return the entropy number of the class for a bound on that of ``A_d``."""
        if self.penalty == "l1":  # Eqs. (86)-(87), see the module
            return self.limit * scaling(0.5 * log_n) ** 2 / 6.0
        return float(np.sqrt(2.0 * self.limit)) * scaling(log_n)

    def _scaling(self, log_n: float) -> tuple[float, int]:
        """Return the smallest bound of Eq. (81) on ``eps_n(A_d)``, and its ``j*``."""
        eigenvalues, d = self.spectrum.eigenvalues, self.n_features
        j = np.arange(1.0, len(eigenvalues) + 1.0)
        log_means = (np.cumsum(np.log(eigenvalues)) - 2.0 * log_n / d) / j
        below = np.log(eigenvalues[1:]) < log_means[:-1]
        chosen = int(below.argmax()) if below.any() else len(eigenvalues) - 1
        tail = max(self.spectrum.total - float(eigenvalues[: chosen + 1].sum()), 0.0)
        square = j[chosen] * np.exp(log_means[chosen]) + tail
        bound = 6.0 * self.spectrum.largest_eigenfunction * np.sqrt(d * square)
        return float(bound), chosen + 1

    def _explicit_scaling(self, log_n: float) -> float:
        """Return the bound on ``eps_n(A_d)`` from the proof of Proposition 12 or 13."""
        spectrum, d = self.spectrum, self.n_features
        front = 6.0 * spectrum.largest_eigenfunction * np.sqrt(d)
        j = np.arange(1.0, len(spectrum.eigenvalues) + 1.0)
        logs = np.log(spectrum.eigenvalues)
        if spectrum.decay == "exponential":
            p = spectrum.exponent
            c = max(-float(np.polyfit(j**p, logs, 1)[0]), 1e-12)
            beta = np.exp(0.5 * (logs + c * j**p).max())
            tau = c * np.linspace(0.0, 1.0, N_EXPONENTS + 2)[1:-1]
            # Eq. (83), and phi = 1 / (2 (p + 1)), since the sum of s^p is at least its integral.
            norm = beta * np.sqrt(1.0 + gamma(1.0 / p) / (p * (c - tau) ** (1.0 / p)))
            phi = 0.5 / (p + 1.0)
            best = np.maximum((log_n / (d * tau * phi * p)) ** (1.0 / (p + 1.0)), 1.0)
            return float((front * norm * np.exp(-log_n / (d * best) - tau * phi * best**p)).min())
        if spectrum.decay == "polynomial":
            a = spectrum.exponent - 1.0
            if a <= 0.0:
                return float("inf")
            beta = np.exp(0.5 * (logs + (a + 1.0) * np.log(j)).max())
            tau = a * np.linspace(0.0, 1.0, N_EXPONENTS + 2)[1:-1]
            # a_j = j^(-tau / 2), and j! is at least (j / e)^j.
            norm = beta * np.sqrt(zeta(a + 1.0 - tau))
            best = np.maximum(2.0 * log_n / (d * tau), 1.0)
            product = np.exp(-log_n / (d * best)) * (np.e / best) ** (0.5 * tau)
            return float((front * norm * product).min())
        return self._scaling(log_n)[0]
