r"""How fast the risk of a learned manifold approaches that of the best one: bound and measurement.

The bounds of Smola et al. (2001), section 7, are on ``R[f_m] - R[f*]``: the expected error of the
manifold fitted to m rows, less that of the best manifold, both among all manifolds whose penalty is
at most ``Lambda`` (Eq. 41). `twofold.principal_manifold.spectrum` has the rates,
`twofold.principal_manifold.bounds` the bounds with constants.

The measurement fits manifolds with the same ``Lambda`` (`PenaltyLimit`) to more and more rows and
compares their errors on other rows with that of the manifold fitted to all rows, which stands for
``f*``. That manifold has seen the other rows too, so its error is too low, and with few rows the
excess is overstated: twofold for 80 rows of a noisy curve.

The bounds are for the best manifold in a class; fits are local minima. So the result is a
diagnostic, not a certificate.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twofold.principal_manifold.bounds import RiskBounds
from twofold.principal_manifold.spectrum import KernelSpectrum
from twofold.protocols import Array


@dataclass(frozen=True)
class LearningCurve:
    """Errors of manifolds fitted to more and more rows.

    Attributes
    ----------
    sizes : ndarray of shape (k,)
        Numbers of rows.
    train, held_out : ndarray of shape (k, n_repeats)
        Shares of variance lost, of the fitted rows and of others.
    best : ndarray of shape (n_repeats,) or None, default=None
        Share of the variance of the others that the manifold fitted to all rows loses: a low
        estimate of the lowest error. None if the manifolds do not have the same limit of the
        penalty.

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

    The excess over the best manifold falls more slowly here:

    >>> falling = 0.1 + 1.0 / np.sqrt(sizes[:, None])
    >>> curve = LearningCurve(sizes, train, held_out=falling, best=np.array([0.1]))
    >>> curve.differences.shape, curve.medians.round(3), round(curve.slope, 3)
    ((3, 1), array([0.1  , 0.071, 0.05 ]), 0.5)
    """

    sizes: Array
    train: Array
    held_out: Array
    best: Array | None = None

    @property
    def gaps(self) -> Array:
        """The median gap between the two errors for each size (k,)."""
        medians: Array = np.median(self.held_out - self.train, axis=1)
        return medians

    @property
    def differences(self) -> Array:
        """The held-out errors less the lowest error (k, n_repeats).

        If that is not known, the training errors take its place.
        """
        lower: Array = self.train if self.best is None else self.best
        return self.held_out - lower

    @property
    def medians(self) -> Array:
        """The medians of `differences` over the repeats (k,)."""
        medians: Array = np.median(self.differences, axis=1)
        return medians

    @property
    def slope(self) -> float:
        """The exponent with which positive medians fall, by least squares in logarithms; or NaN."""
        medians = self.medians
        kept = medians > 0.0
        if kept.sum() < 2:
            return float("nan")
        return float(-np.polyfit(np.log(self.sizes[kept]), np.log(medians[kept]), 1)[0])


@dataclass(frozen=True)
class GeneralizationReport:
    """A kernel's spectrum and, with data, bounds and a learning curve.

    It is a diagnostic, not a certificate.

    Attributes
    ----------
    spectrum : KernelSpectrum
        The eigenvalues of the kernel, and the rate that they give.
    curve : LearningCurve or None
        Measured errors, if data were given.
    bounds : RiskBounds or None
        Bounds with constants, if data were given and the paper has bounds for loss and penalty.

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
    the excess over the lowest error should fall at least like m^-0.50,
    up to logarithms.
    m =    100: gap 0.01
    m =    400: gap 0.0025
    Measured: m^-1.00.
    """

    spectrum: KernelSpectrum
    curve: LearningCurve | None = None
    bounds: RiskBounds | None = None

    def predicted(self) -> Array:
        """Return differences (k,) of the rate, scaled to the geometric mean of those measured."""
        if self.curve is None:
            raise ValueError("There is no learning curve: call generalization_report(X) with data.")
        gaps, falls = self.curve.medians, self.curve.sizes**-self.spectrum.rate
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
            f"the excess over the lowest error should fall at least like {rate},",
            "up to logarithms.",
        ]
        if self.curve is not None:
            what = "gap" if self.curve.best is None else "excess"
            rows = zip(self.curve.sizes, self.curve.medians, strict=True)
            lines += [f"m = {int(m):6d}: {what} {one:.3g}" for m, one in rows]
            slope = self.curve.slope
            found = f"m^{-slope:.2f}" if np.isfinite(slope) else f"no {what} to speak of"
            lines.append(f"Measured: {found}.")
        return "\n".join(lines)


def learning_curve(
    errors: Callable[[Array, Array, int], tuple[float, float]],
    data: Array,
    n_repeats: int,
    n_sizes: int = 5,
    *,
    with_best: bool,
) -> LearningCurve:
    """Fit to more and more rows, at most half of ``data`` (n, D), and return the errors.

    ``errors`` takes rows to fit, rows to test and a seed, and returns the errors of both. Each of
    the ``n_sizes`` points of the curve has half the rows of the next. ``with_best`` also fits to
    all rows.
    """
    half = len(data) // 2
    sizes = np.unique([half // 2**k for k in range(n_sizes) if half // 2**k >= 10])
    if len(sizes) < 2:
        raise ValueError(f"X has {len(data)} rows; a learning curve needs at least 40.")
    found = np.empty((2, len(sizes), n_repeats))
    tests = []
    for repeat in range(n_repeats):
        order = np.random.default_rng(repeat).permutation(len(data))
        for number, size in enumerate(sizes):
            found[:, number, repeat] = errors(data[order[:size]], data[order[half:]], repeat)
        tests.append(data[order[half:]])
    best = None
    if with_best:
        best = np.array([errors(data, rows, repeat)[1] for repeat, rows in enumerate(tests)])
    return LearningCurve(sizes.astype(np.float64), found[0], found[1], best)
