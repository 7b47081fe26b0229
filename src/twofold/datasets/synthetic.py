"""Noisy manifolds whose true parameters are known, after the figures of the papers.

Each function draws parameters ``Z`` uniformly, maps them through a curve or surface ``f`` and adds
isotropic Gaussian noise, ``x = f(z) + noise * N(0, I)``. Parameters are lengths along the manifold
(arc length, and height across), so ``f`` is an isometry, distances between parameters *are* the
geodesic distances, and samples are uniform on the manifold. A curve given as ``c(t)`` with any
parameter ``t`` is parametrized by inverting ``s(t) = int |c'|`` on a fine table.

Every function returns ``(X, parameters)``, the samples in random order. An int ``random_state``
gives the same samples each time; NumPy's global state is not used.

Words and numbers that a paper gives for a figure are kept; where it only draws the figure, the
shape is similar.

Notation
--------
=================================================  ============================================
``Y`` (D x N), ``X`` (L x N) (Carreira-Perpiñán)   ``X`` (n_samples, n_features), ``parameters``
``y_i`` (Meinicke; Memisevic)                      a row of ``X``
=================================================  ============================================

References
----------
* P. Meinicke, S. Klanke, R. Memisevic and H. Ritter. Principal surfaces from unsupervised kernel
  regression. *IEEE TPAMI* 27(9), 2005.
* R. Memisevic and G. Hinton. Improving dimensionality reduction with spectral gradient descent.
  *Neural Networks* 18(5-6), 2005.
* M. Á. Carreira-Perpiñán and Z. Lu. Parametric dimensionality reduction by unsupervised
  regression. *CVPR* 2010.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from twofold.numerics.validation import RandomLike, check_int, check_real, check_rng
from twofold.protocols import Array

# Chords of the arc-length tables. The relative error of a table falls with the square of their
# number; for the curves below it is under 1e-6.
_N_CHORDS = 10_000

# Carreira-Perpinan & Lu (2010), Fig. 6: the noise dimensions have standard deviation 0.5 where the
# shorter side of the roll is 50 (noise of 10 on the latents is a fifth of it).
_LIFT = 0.5 / 50.0

# Share of each side that the hole of the Swiss roll takes. It leaves 79 % of the area, as the 791
# points of Carreira-Perpinan & Lu (2010), Fig. 8 suggest.
_HOLE = np.sqrt(0.21)


def make_noisy_spiral(
    n_samples: int = 300, noise: float = 0.05, *, random_state: RandomLike = None
) -> tuple[Array, Array]:
    """Return a spiral of two turns, its radius growing from 0.2 to 1.2.

    The sample of Meinicke et al. (2005), section 4.1.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples.
    noise : float, default=0.05
        Standard deviation of the noise in each feature.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples.
    parameters : ndarray of shape (n_samples, 1)
        Arc length from the inner end.

    Examples
    --------
    >>> from twofold.datasets import make_noisy_spiral
    >>> X, arc_length = make_noisy_spiral(200, random_state=0)
    >>> X.shape, arc_length.shape
    ((200, 2), (200, 1))
    """
    rng = _check(n_samples, noise, random_state)

    def spiral(angle: Array) -> Array:
        radius = 0.2 + angle / (4 * np.pi)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    curve = _ArcLength(spiral, 0.0, 4 * np.pi)
    position = rng.uniform(0.0, curve.length, n_samples)
    return _perturbed(curve(position), noise, rng), position[:, np.newaxis]


def make_noisy_helix(
    n_samples: int = 300,
    noise: float = 0.07,
    *,
    n_turns: float = 3.0,
    pitch: float = 1.5,
    radius: float = 1.0,
    random_state: RandomLike = None,
) -> tuple[Array, Array]:
    """Return a helix, as in Memisevic & Hinton (2005), Fig. 3.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples.
    noise : float, default=0.07
        Standard deviation of the noise in each feature.
    n_turns : float, default=3
        Number of turns.
    pitch : float, default=1.5
        Rise per turn.
    radius : float, default=1
        Radius of the turns.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Samples; the axis is the third feature.
    parameters : ndarray of shape (n_samples, 1)
        Arc length from the lower end.

    Examples
    --------
    >>> from twofold.datasets import make_noisy_helix
    >>> X, arc_length = make_noisy_helix(200, noise=0.0, n_turns=2, random_state=0)
    >>> X.shape, bool(X[:, 2].max() < 2 * 1.5)
    ((200, 3), True)
    """
    rng = _check(n_samples, noise, random_state)
    for name, value in {"n_turns": n_turns, "pitch": pitch, "radius": radius}.items():
        check_real(name, value)
    angle = rng.uniform(0.0, 2 * np.pi * n_turns, n_samples)
    rise = pitch / (2 * np.pi)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rise * angle])
    return _perturbed(X, noise, rng), np.hypot(radius, rise) * angle[:, np.newaxis]


def make_partitioned_circle(
    n_samples: int = 300,
    noise: float = 0.05,
    *,
    n_arcs: int = 3,
    gap: float = 0.5,
    random_state: RandomLike = None,
) -> tuple[Array, Array]:
    """Return clusters in the shape of arcs of the unit circle.

    As in Memisevic & Hinton (2005), Fig. 1 (a), which has three of them.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples.
    noise : float, default=0.05
        Standard deviation of the noise in each feature.
    n_arcs : int, default=3
        Number of arcs, all of one length.
    gap : float, default=0.5
        Angle left empty between arcs, at least 0 and less than ``2 pi / n_arcs``.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples.
    parameters : ndarray of shape (n_samples, 2)
        Position along the arc (an angle, hence a length) and index of the arc.

    Examples
    --------
    >>> from twofold.datasets import make_partitioned_circle
    >>> X, parameters = make_partitioned_circle(200, n_arcs=4, random_state=0)
    >>> X.shape, sorted(set(parameters[:, 1].astype(int).tolist()))
    ((200, 2), [0, 1, 2, 3])
    """
    rng = _check(n_samples, noise, random_state)
    sector = 2 * np.pi / check_int("n_arcs", n_arcs)
    if not 0 <= gap < sector:
        raise ValueError(
            f"gap={gap!r} must be at least 0 and less than 2 pi / n_arcs = {sector:.4g}: lower "
            "gap or n_arcs."
        )
    # A RandomState has no `integers`; the floor of a uniform variable serves both kinds.
    arc = np.floor(rng.uniform(size=n_samples) * n_arcs)
    position = rng.uniform(0.0, sector - gap, n_samples)
    angle = arc * sector + position
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return _perturbed(X, noise, rng), np.column_stack([position, arc])


def make_disconnected_curves(
    n_samples: int = 700, noise: float = 0.05, *, random_state: RandomLike = None
) -> tuple[Array, Array]:
    """Return samples of three separate curves in the plane: an arch, a wave and a hook.

    These clusters are manifolds themselves, as in Carreira-Perpiñán & Lu (2010), Fig. 3, and
    overlap along the first principal component.

    Parameters
    ----------
    n_samples : int, default=700
        Number of samples in all, uniform on the union of the curves.
    noise : float, default=0.05
        Standard deviation of the noise in each feature.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples.
    parameters : ndarray of shape (n_samples, 2)
        Arc length from the curve's start and index of the curve (0 arch, 1 wave, 2 hook).

    Examples
    --------
    >>> from twofold.datasets import make_disconnected_curves
    >>> X, parameters = make_disconnected_curves(200, random_state=0)
    >>> X.shape, sorted(set(parameters[:, 1].astype(int).tolist()))
    ((200, 2), [0, 1, 2])
    """
    rng = _check(n_samples, noise, random_state)
    curves = [_ArcLength(*curve) for curve in _CURVES]
    ends = np.cumsum([curve.length for curve in curves])
    # One long line, cut into the curves: uniform on it is uniform on their union.
    along = rng.uniform(0.0, ends[-1], n_samples)
    index = np.minimum(np.searchsorted(ends, along, side="right"), len(curves) - 1)
    position = along - np.concatenate([[0.0], ends])[index]
    X = np.empty((n_samples, 2))
    for label, curve in enumerate(curves):
        X[index == label] = curve(position[index == label])
    return _perturbed(X, noise, rng), np.column_stack([position, index])


def make_s_curve(
    n_samples: int = 500,
    noise: float = 0.0,
    *,
    n_features: int = 3,
    random_state: RandomLike = None,
) -> tuple[Array, Array]:
    """Return a sheet bent to an S, as in Memisevic & Hinton (2005), Fig. 4.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples.
    noise : float, default=0
        Standard deviation of the noise in the first three features.
    n_features : int, default=3
        Number of features, at least 3. The others are noise only, with a standard deviation of a
        hundredth of the sheet's shorter side, 0.02.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    parameters : ndarray of shape (n_samples, 2)
        Arc length along the S, from -1.5 pi to 1.5 pi, and height, from 0 to 2.

    Examples
    --------
    >>> from twofold.datasets import make_s_curve
    >>> X, parameters = make_s_curve(200, n_features=10, random_state=0)
    >>> X.shape, parameters.shape
    ((200, 10), (200, 2))
    """
    rng = _check(n_samples, noise, random_state)
    width = 2.0
    arc = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n_samples)
    height = rng.uniform(0.0, width, n_samples)
    X = np.column_stack([np.sin(arc), height, np.sign(arc) * (np.cos(arc) - 1)])
    X = _lifted(_perturbed(X, noise, rng), n_features, _LIFT * width, rng)
    return X, np.column_stack([arc, height])


def make_swiss_roll(
    n_samples: int = 1000,
    noise: float = 0.0,
    *,
    hole: bool = False,
    n_features: int = 3,
    random_state: RandomLike = None,
) -> tuple[Array, Array]:
    """Return a rolled-up sheet of about 90 by 50, uniform on the sheet.

    The roll of Carreira-Perpiñán & Lu (2010), section 3: the shorter side is 50 (Fig. 6), with
    ``hole`` a rectangle is missing from the middle (Fig. 8), and with ``n_features=100`` it has 97
    noise dimensions (Fig. 6, row 4). It is uniform in arc length, not in the angle as usual.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    noise : float, default=0
        Standard deviation of the noise in the first three features.
    hole : bool, default=False
        Whether the middle 46 % of both sides is left empty, 21 % of the area.
    n_features : int, default=3
        Number of features, at least 3. The others are noise only, with a standard deviation of a
        hundredth of the roll's shorter side, 0.5.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples; the axis of the roll is the second feature.
    parameters : ndarray of shape (n_samples, 2)
        Arc length from the inner edge, and height, from 0 to 50.

    Examples
    --------
    >>> from twofold.datasets import make_swiss_roll
    >>> X, parameters = make_swiss_roll(200, hole=True, random_state=0)
    >>> X.shape, parameters.shape
    ((200, 3), (200, 2))
    """
    rng = _check(n_samples, noise, random_state)
    width = 50.0
    unit = rng.uniform(size=(n_samples, 2))
    while hole and (inside := (np.abs(unit - 0.5) < _HOLE / 2).all(axis=1)).any():
        unit[inside] = rng.uniform(size=(np.count_nonzero(inside), 2))

    def profile(angle: Array) -> Array:
        return np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])

    curve = _ArcLength(profile, 1.5 * np.pi, 4.5 * np.pi)
    parameters = unit * [curve.length, width]
    across, along = curve(parameters[:, 0]).T
    X = _perturbed(np.column_stack([across, parameters[:, 1], along]), noise, rng)
    return _lifted(X, n_features, _LIFT * width, rng), parameters


def _arch(angle: Array) -> Array:
    return np.column_stack([1.2 * np.cos(angle), 0.6 + 1.2 * np.sin(angle)])


def _wave(x: Array) -> Array:
    return np.column_stack([x, -0.4 + 0.4 * np.sin(2 * x)])


def _hook(angle: Array) -> Array:
    radius = 0.5 + 0.15 * angle
    return np.column_stack([2.6 + radius * np.cos(angle), 1.4 + radius * np.sin(angle)])


_CURVES: list[tuple[Callable[[Array], Array], float, float]] = [
    (_arch, 0.0, np.pi),
    (_wave, -2.5, 2.5),
    (_hook, -0.5 * np.pi, np.pi),
]


class _ArcLength:
    """A plane curve ``c(t)``, ``start <= t <= stop``, as a function of its arc length."""

    def __init__(self, curve: Callable[[Array], Array], start: float, stop: float) -> None:
        self._curve = curve
        self._t = np.linspace(start, stop, _N_CHORDS + 1)
        chords = np.linalg.norm(np.diff(curve(self._t), axis=0), axis=1)
        self._arc = np.concatenate([[0.0], np.cumsum(chords)])

    @property
    def length(self) -> float:
        return float(self._arc[-1])

    def __call__(self, position: Array) -> Array:
        """Return the points (n, 2) at the given arc lengths (n,)."""
        return self._curve(np.interp(position, self._arc, self._t))


def _check(n_samples: int, noise: float, random_state: RandomLike) -> np.random.Generator:
    """Check the common parameters and return the source of randomness."""
    check_int("n_samples", n_samples)
    check_real("noise", noise, low=0.0)
    return check_rng(random_state)


def _perturbed(X: Array, noise: float, rng: np.random.Generator) -> Array:
    """Return ``X`` with isotropic Gaussian noise."""
    return X + noise * rng.standard_normal(X.shape)


def _lifted(X: Array, n_features: int, scale: float, rng: np.random.Generator) -> Array:
    """Return ``X`` with columns of noise appended, up to ``n_features``."""
    n_samples, n_own = X.shape
    check_int("n_features", n_features, low=n_own)
    return np.hstack([X, scale * rng.standard_normal((n_samples, n_features - n_own))])
