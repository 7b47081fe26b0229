"""What the paper proves: rates and bounds (section 7), lengths (section 3.2), coding (6.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rpm2001.data import wave
from benchmarks.papers.rpm2001.literal import READINGS, literal_fit, papers_width, weight_of
from benchmarks.papers.statistics import median
from twofold import PrincipalManifold
from twofold.principal_manifold import KernelSpectrum, LearningCurve, PenaltyLimit, RiskBounds
from twofold.principal_manifold.spectrum import kernel_spectrum

SIZES = (25, 50, 100, 200, 400, 800)
NODES = 10
MANY = 10_000
"""Rows that stand for the distribution: for the best manifold, and for risks."""

PLACES = np.linspace(-1.0, 1.0, 2_000)[:, None]
SPLINE: dict[str, Any] = {"kernel": "spline", "n_nodes": 20, "init": "pca", "tol": 1e-4}
EIGENVALUES = 2_000


def _limit() -> float:
    """Return ``Lambda``: the penalty of a fit to 200 rows at the paper's smallest weight."""
    X, _ = wave(200, 0)
    return literal_fit(X, weight_of(READINGS[0], 0.1, len(X)), per_dimension=NODES).roughness


def _risk(task: tuple[str, float, int, int, int]) -> tuple[float, float]:
    """Return training error and risk of a manifold of a class, fitted to some rows."""
    way, limit, size, seed, many = task
    X, test = wave(size, 10 + seed)[0], wave(many, 1)[0]
    if way == "literal":
        model = literal_fit(X, 1e-3, per_dimension=NODES, limit=limit, tol=1e-5)
        return model.error(X), model.error(test)
    settings = {"random_state": seed} if way == "default" else SPLINE
    fitted = PrincipalManifold(alpha=PenaltyLimit(limit), n_jobs=1, **settings).fit(X)
    errors = (np.square(fitted.reconstruction_error(rows)).mean() for rows in (X, test))
    return tuple(float(one) for one in errors)  # type: ignore[return-value]


def rates(quick: bool, folder: Path) -> Outcome:
    """Section 7.4: the risk of the best manifold for m rows over that of the best, fixed Lambda."""
    seeds = list(range(2 if quick else 8))
    sizes, many = (SIZES[::2], 3_000) if quick else (SIZES, MANY)
    limits = {"literal": _limit(), "default": _limit(), "spline": 1.0}
    tasks = [
        (way, limit, size, seed, many)
        for way, limit in limits.items()
        for size, seed in [*((m, s) for m in sizes for s in seeds), (many, 100)]
    ]
    found = dict(zip(tasks, in_processes(_risk, tasks), strict=True))
    curves = {}
    for way, limit in limits.items():
        errors = np.array([[found[way, limit, m, s, many] for s in seeds] for m in sizes])
        best = np.full(len(seeds), found[way, limit, many, 100, many][1])
        curves[way] = LearningCurve(np.array(sizes, float), errors[..., 0], errors[..., 1], best)
    bounds = _gaussian_bounds(limits["literal"])
    share = max(
        excess / bounds.excess_risk(int(m))
        for m, excess in zip(sizes, curves["literal"].medians, strict=True)
    )
    rows = [
        Row(
            "Gaussian kernel, width 1: exponent with which R[f_m] - R[f*] falls, fixed Λ",
            "O(m^(-1/2 + β)) for any β > 0, Eq. (56)",
            curves["literal"].slope,
            "higher",
            bound=0.5,
            default=curves["default"].slope,
            note=f"m from {sizes[0]} to {sizes[-1]}, Λ = {limits['literal']:.3g}; f* is fitted to "
            f"{many:,} rows, risks are those of {many:,} others. A bound from above: falling "
            "faster agrees with it. Default: PrincipalManifold(alpha=PenaltyLimit(Λ)).",
            highlight=True,
        ),
        Row(
            "length constraint: the same",
            "O(m^(-1/4)) by Eq. (57), O(m^(-1/3)) by Kégl et al. (2000)",
            curves["spline"].slope,
            "higher",
            bound=1.0 / 3.0,
            note="PrincipalManifold(kernel='spline', n_nodes=20, init='pca', "
            "alpha=PenaltyLimit(1.0)): curves of length 2 at most.",
        ),
        Row(
            "measured excess over the bound of Eq. (93), largest of all m",
            "R[f_m] - R[f*] is at most Eq. (93)",
            share,
            "lower",
            bound=1.0,
            note="The bound exceeds the largest loss at these m: see the next experiment.",
        ),
    ]

    def paint(figure: Any) -> None:
        ax = figure.add_subplot()
        for way, curve in curves.items():
            ax.loglog(curve.sizes, np.maximum(curve.medians, 1e-9), "o-", label=way)
        first = curves["literal"]
        ax.loglog(sizes, first.medians[0] * (np.array(sizes) / sizes[0]) ** -0.5, "k:")
        ax.set(xlabel="rows, m", ylabel="R[f_m] - R[f*]")
        ax.legend()

    numbers = {
        way: {"sizes": sizes, "excess": curve.medians, "best risk": curve.best[0]}  # type: ignore[index]
        for way, curve in curves.items()
    }
    caption = "excess risk at fixed Λ; dotted: m^(-1/2)"
    pictures = draw(folder / "rates.png", caption, (6, 4.5), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def _spectrum(kernel: str) -> KernelSpectrum:
    """Return the eigenvalues of a kernel of width 1 on [-1, 1]."""
    X, _ = wave(60, 0)
    settings: dict[str, Any] = {"n_nodes": NODES, "width": papers_width(NODES)}
    model = PrincipalManifold(kernel=kernel, alpha=0.1, init="pca", tol=0.1, **settings).fit(X)
    return kernel_spectrum(model.decoder_.up, model.domain_, penalty="rkhs")


def _gaussian_bounds(limit: float) -> RiskBounds:
    X = wave(MANY, 1)[0]
    radius = float(np.linalg.norm(X - X.mean(axis=0), axis=1).max())
    return RiskBounds(_spectrum("gaussian"), 2, radius, limit)


def bounds(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - it is quick
    """Section 7 and appendix A: covering numbers and risk bounds, from computed eigenvalues."""
    spectra = {kernel: _spectrum(kernel) for kernel in ("gaussian", "damped", "spline")}
    j = np.arange(1.0, EIGENVALUES + 1.0)
    exact = KernelSpectrum(
        np.square(4.0 / (np.pi * (2.0 * j - 1.0))), "polynomial", 2.0, 0.25, trace=2.0
    )
    polynomial = _growth(RiskBounds(exact, 1, 1.0, 0.5), (100.0, 400.0), polynomial=True)
    exponential = {
        kernel: _growth(RiskBounds(spectra[kernel], 1, 1.0, 0.5), (4.0, 16.0), polynomial=False)
        for kernel in ("gaussian", "damped")
    }
    risk = _gaussian_bounds(_limit())
    sizes = [10**k for k in range(2, 9)]
    risks = [risk.excess_risk(m) / risk.largest_loss for m in sizes]
    first = next((m for m, one in zip(sizes, risks, strict=True) if one < 1.0), None)
    slope = float(np.log(risks[2] / risks[4]) / np.log(100.0))
    rows = [
        Row(
            "length constraint: exponent of 1 / ε in log N(ε), Eq. (81) with its eigenvalues",
            2.0,
            polynomial,
            "lower",
            margin=0.2,
            note="Eq. (85) with α = 1. Eq. (53) prints the inverse, 1/2: a misprint.",
        ),
        Row(
            "Gaussian, width 1: exponent of log(1 / ε) in log N(ε), Eq. (81)",
            "O(log^1.5), Eq. (52)",
            exponential["gaussian"],
            "lower",
            bound=1.5,
            note="Eq. (52) with the paper's p = 2. On an interval the computed eigenvalues fall "
            f"like exp(-c j^{spectra['gaussian'].exponent:.2f}).",
        ),
        Row(
            "damped, width 1: the same",
            "O(log^2), Eq. (52)",
            exponential["damped"],
            "lower",
            bound=2.0,
            note="Eq. (52) with the paper's p = 1. The computed eigenvalues fall like "
            f"exp(-c j^{spectra['damped'].exponent:.2f}).",
        ),
        Row(
            "Gaussian, width 1: exponent with which the bound of Eq. (93) falls, m from 10^4 to "
            "10^6",
            0.5,
            slope,
            "higher",
            margin=0.05,
        ),
        Row(
            "least m (of powers of 10) at which Eq. (93) is below the largest loss",
            None,
            "none" if first is None else f"{first:,}",
            note="2 columns, the radius of the data, Λ of a fit.",
        ),
    ]

    def paint(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        for kernel, spectrum in spectra.items():
            left.semilogy(spectrum.eigenvalues, ".-", label=kernel)
        left.set(xlabel="j", title="eigenvalues on [-1, 1], width 1")
        left.legend()
        right.loglog(sizes, risks, "o-")
        right.axhline(1.0, color="0.5", ls=":")
        right.set(xlabel="rows, m", title="Eq. (93) over the largest loss")

    numbers = {
        "decay": {kernel: [one.decay, one.exponent] for kernel, one in spectra.items()},
        "largest eigenfunction": {k: one.largest_eigenfunction for k, one in spectra.items()},
        "sizes": sizes,
        "Eq. (93) over the largest loss": risks,
    }
    pictures = draw(folder / "bounds.png", "eigenvalues and the bound on the risk", (10, 4), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=[0, 1])


def _growth(bounds: RiskBounds, log_sizes: tuple[float, float], *, polynomial: bool) -> float:
    """Return the exponent with which log N grows, between two values of it."""
    radii = np.array([bounds.entropy_number(one) for one in log_sizes])
    radii /= bounds.entropy_number(0.0)
    grown = np.log(radii) if polynomial else np.log(-np.log(radii))
    return float(np.log(log_sizes[1] / log_sizes[0]) / abs(grown[1] - grown[0]))


def length(quick: bool, folder: Path) -> Outcome:
    """Example 7: curves of a given length, beside the length that their penalty allows."""
    lengths = (1.0, 2.0, 4.0) if quick else (1.0, 2.0, 3.0, 4.0, 5.0)
    X, truth = wave(400, 0, noise=0.05)
    ratios: dict[str, list[float]] = {"literal": [], "default": []}
    speeds: dict[str, list[float]] = {"literal": [], "default": []}
    lost: dict[str, list[float]] = {"literal": [], "default": []}
    images = {}
    for one in lengths:
        limits = {"literal": PenaltyLimit(one**2 / 4.0), "default": PenaltyLimit(length=one)}
        for way, limit in limits.items():
            settings = {**SPLINE, "n_nodes": 40, "tol": 1e-5}
            if way == "default":
                settings.update(init="auto", random_state=0)
            model = PrincipalManifold(alpha=limit, **settings).fit(X)
            lost[way].append(1.0 - float(model.score(X)))
            images[way, one] = curve = model.inverse_transform(PLACES)
            steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
            ratios[way].append(float(steps.sum()) / one)
            speeds[way].append(float(steps.std() / steps.mean()))

    def paint(figure: Any) -> None:
        panels = figure.subplots(2, len(lengths))
        for row, way in zip(panels, ("literal", "default"), strict=True):
            for ax, one in zip(row, lengths, strict=True):
                ax.plot(*X.T, ".", ms=2, color="0.7")
                ax.plot(*truth.T, ":", color="0.2")
                ax.plot(*images[way, one].T, color="C3")
                ax.set(title=f"length {one:g}, {way}", xticks=[], yticks=[])

    rows = [
        Row(
            "length of the best curve with Q[f] <= L²/4, over L: least of all L",
            1.0,
            min(ratios["literal"]),
            "higher",
            margin=0.05,
            default=min(ratios["default"]),
            note="“‖Pf‖² equals the squared length L² of the curve at the optimal solution”, on "
            "[0, 1]; on [-1, 1] it is L²/2. PrincipalManifold(kernel='spline', n_nodes=40, "
            "tol=1e-5). Paper's protocol: init='pca', alpha=PenaltyLimit(L²/4), the alternation "
            "alone. Default: alpha=PenaltyLimit(length=L), which brings the curve to constant "
            "speed between descents.",
            highlight=True,
        ),
        Row(
            "deviation of the speed over its mean, largest of all L",
            0.0,
            max(speeds["literal"]),
            "lower",
            margin=0.1,
            default=max(speeds["default"]),
            note="“‖∂f‖ has to be constant”; with a finite number of nodes, nearly (footnote 3).",
        ),
        Row(
            "lost share of the variance at L = 4",
            None,
            lost["literal"][lengths.index(4.0)],
            default=lost["default"][lengths.index(4.0)],
            note="From the plane the alternation ends in a curve that folds back (see picture).",
        ),
    ]
    numbers = {
        "lengths": lengths,
        "measured over allowed": ratios,
        "deviation of speed": speeds,
        "lost": lost,
    }
    pictures = draw(folder / "length.png", "the best curves of given lengths", (13, 5), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=[0])


def coding(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Section 6.2: the error after a noisy channel, beside Eq. (40)."""
    X = wave(300, 0)[0]
    model = PrincipalManifold(n_nodes=NODES, width=papers_width(NODES), alpha=1e-4).fit(X)
    Z, rng = model.transform(X), np.random.default_rng(0)
    inside = (np.abs(Z) < 0.9).ravel()  # the channel must not leave the domain
    Z, rows_inside, deviation = Z[inside], X[inside], 0.02
    step = 1e-4
    slopes = (model.inverse_transform(Z + step) - model.inverse_transform(Z - step)) / (2 * step)
    term = deviation**2 * float(np.square(slopes).sum(axis=1).mean())
    plain = float(np.square(rows_inside - model.inverse_transform(Z)).sum(axis=1).mean())
    noisy = median(
        np.square(
            rows_inside - model.inverse_transform(Z + deviation * rng.standard_normal(Z.shape))
        )
        .sum(axis=1)
        .mean()
        for _ in range(100 if quick else 1_000)
    )
    gains = []
    for seed in range(2 if quick else 6):
        train, test = wave(300, 20 + seed)[0], wave(2_000, 1)[0]
        errors = []
        for sigma in (0.0, 0.1):
            coder = PrincipalManifold(alpha=1e-5, latent_noise=sigma, random_state=0).fit(train)
            codes = coder.transform(test)
            noise = 0.1 * np.random.default_rng(seed).standard_normal(codes.shape)
            received = coder.inverse_transform(codes + noise)
            errors.append(float(np.square(test - received).sum(axis=1).mean()))
        gains.append(errors[1] / errors[0])
    rows = [
        Row(
            "growth of the error by a channel of variance σ², over σ² mean ‖f'‖²",
            2.0,
            (noisy - plain) / term,
            note="Eq. (40) prints 2 σ²; expanding the squared loss gives σ², plus the term of f'' "
            "that the paper neglects. σ = 0.02.",
        ),
        Row(
            "error after a channel of σ = 0.1: trained for it over trained without, median",
            "training with noise is a regularizer",
            None,
            "lower",
            bound=1.0,
            default=median(gains),
            note="PrincipalManifold(alpha=1e-5, latent_noise=0.1), held-out rows.",
        ),
    ]
    return Outcome(rows=rows, numbers={"plain": plain, "noisy": noisy, "gains": gains}, seeds=[0])
