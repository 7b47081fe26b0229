r"""Is there anything to map? Data beside copies of them without structure.

*Linear structure*: principal directions with more variance than chance. Copies have each column
permuted on its own: they keep the columns and lose what relates them. A direction counts if its
variance exceeds that of the copies by six standard deviations (parallel analysis, Horn 1965, with
permutations).

*Nonlinear structure*: neighbors that are closer than the covariance explains. Copies have each
principal coordinate permuted, which keeps the covariance up to chance. Rows on a manifold or in
clusters have closer neighbors than the rows of such a copy. Copies with permuted columns are
compared as well: independent columns with heavy tails have dependent principal coordinates.

References
----------
* J. L. Horn. A rationale and test for the number of factors in factor analysis. *Psychometrika*
  30(2), 1965.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from twofold.metrics._checks import centered, check, exponent_of
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import RandomLike, check_rng
from twofold.protocols import Array

MOST_ROWS, MOST_COLUMNS = 2_000, 200
N_COPIES = 12
N_NEAREST = 5
MOST_COORDINATES = 50
"""Principal coordinates in which neighbors are searched."""

DEVIATIONS = 6.0
CLOSER = 0.98
"""Structure exceeds chance by this many standard deviations; neighbors are closer by this factor.
"""

FEWEST_ROWS = 10


@dataclass(frozen=True)
class Structure:
    """What data have beyond chance. Created by `detect_structure`.

    Parameters
    ----------
    n_linear : int
        Number of leading principal directions with more variance than chance.
    linear_excess : float
        Excess of the first of them over copies with permuted columns, in standard deviations of
        these copies.
    neighbor_ratio : float
        Distances to near neighbors relative to those of copies without nonlinear structure, as a
        geometric mean. 1 is chance; smaller is closer.
    neighbor_excess : float
        How much closer they are, in standard deviations of the copies of the logarithm.

    Examples
    --------
    >>> from twofold.model_selection import Structure
    >>> found = Structure(0, 0.3, 0.71, 40.0)
    >>> found.is_linear, found.is_nonlinear, found.is_noise
    (False, True, False)
    >>> Structure(0, 0.3, 0.999, 0.8).is_noise
    True
    """

    n_linear: int
    linear_excess: float
    neighbor_ratio: float
    neighbor_excess: float

    @property
    def is_linear(self) -> bool:
        """Whether some direction has more variance than chance."""
        return self.n_linear > 0

    @property
    def is_nonlinear(self) -> bool:
        """Whether neighbors are closer than the covariance explains."""
        return self.neighbor_ratio < CLOSER and self.neighbor_excess > DEVIATIONS

    @property
    def is_noise(self) -> bool:
        """Whether the data have neither kind of structure: there is nothing to map."""
        return not (self.is_linear or self.is_nonlinear)


def detect_structure(X: Any, *, random_state: RandomLike = 0) -> Structure:
    """Compare data with copies that have no structure.

    At most 2,000 rows and 200 columns are used, drawn at random. That takes less than a second.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the copies.

    Returns
    -------
    Structure
        ``is_noise`` tells whether there is nothing to map. Rows that are all equal, fewer than ten
        rows, and a single column count as noise: permutations do not change them.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.datasets import make_swiss_roll
    >>> from twofold.model_selection import detect_structure
    >>> detect_structure(make_swiss_roll(500, noise=0.5, random_state=0)[0]).is_noise
    False
    >>> detect_structure(np.random.default_rng(0).normal(size=(500, 10))).is_noise
    True
    """
    data, rng = check("X", X), check_rng(random_state)
    if len(data) > MOST_ROWS:
        data = data[drawn_rows(len(data), MOST_ROWS, rng)]
    if data.shape[1] > MOST_COLUMNS:
        data = data[:, drawn_rows(data.shape[1], MOST_COLUMNS, rng)]
    data = centered(data, exponent_of(data))
    n_varying = int((np.ptp(data, axis=0) > 0.0).sum())
    if len(data) < FEWEST_ROWS or n_varying < 2:
        return Structure(0, 0.0, 1.0, 0.0)
    # Copies of a row are neighbors at distance zero, however the columns are related. Rounded data
    # have many; so have their permuted copies.
    copies = [_permuted(data, rng) for _ in range(N_COPIES)]
    n_linear, linear_excess = _linear(data, copies)
    ratio, excess = _closer(data, copies)
    coordinates = _coordinates(data)
    again = _closer(coordinates, [_permuted(coordinates, rng) for _ in range(N_COPIES)])
    return Structure(n_linear, linear_excess, max(ratio, again[0]), min(excess, again[1]))


def _permuted(data: Array, rng: np.random.Generator) -> Array:
    """Return the data (n, D), each column in a random order of its own."""
    return rng.permuted(data, axis=0)


def _linear(data: Array, copies: list[Array]) -> tuple[int, float]:
    """Return the number of directions beyond chance, and the excess of the first."""
    own = _spectrum(data)
    chance = np.array([_spectrum(copy) for copy in copies])
    spread = np.maximum(chance.std(axis=0, ddof=1), 1e-12 * own[0])
    excess = (own - chance.mean(axis=0)) / spread
    return int(np.argmin(np.append(excess > DEVIATIONS, False))), float(excess[0])


def _spectrum(data: Array) -> Array:
    """Return the variances of the principal directions, largest first."""
    short = data if data.shape[1] <= len(data) else data.T
    values: Array = linalg.eigvalsh(short.T @ short)[::-1]
    return values


def _coordinates(data: Array) -> Array:
    """Return the leading principal coordinates (n, k), without those that only hold rounding."""
    left, scales, _ = linalg.svd(data, full_matrices=False)
    kept = (scales > 1e-10 * scales[0]) & (np.arange(len(scales)) < MOST_COORDINATES)
    coordinates: Array = left[:, kept] * scales[kept]
    return coordinates


def _closer(data: Array, copies: list[Array]) -> tuple[float, float]:
    """Return the ratio of distances to near neighbors, and how far it is beyond chance."""
    own = _log_distance(data)
    chance = np.array([_log_distance(copy) for copy in copies])
    spread = max(float(chance.std(ddof=1)), 1e-12)
    closer = float(chance.mean()) - own
    return float(np.exp(-closer)), closer / spread


def _log_distance(data: Array) -> float:
    """Return the mean log distance to the fifth neighbor."""
    squares = nearest(data, None, min(N_NEAREST, len(data) - 1))[1][:, -1]
    smallest = 1e-24 * float(np.square(data).sum(axis=1).mean())
    return 0.5 * float(np.log(np.maximum(squares, smallest)).mean())
