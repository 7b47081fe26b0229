r"""The latent dimension that data need, found without fitting a model.

At a codebook of fixed size, more latent dimensions do not lower the error beyond those of the
manifold: the limit is k-means of the data. With an unlimited codebook they always would, because
each one keeps a part of the noise. Small codebooks do not see the noise; large ones are needed to
see many dimensions. So charts of q dimensions are compared at :math:`4^q` codewords, four for each
dimension, at most 64 and at most one for five training rows of a chart
(`twofold.model_selection._charts`).

The chosen dimension is the smallest q whose score is within one standard error of the best of
q, q + 1 and q + 2 at that codebook. The standard error is that of the difference, over the charts.
Where it is less than 0.04, errors that are 4 % lower, or less than 3 % of the score, these take its
place: such differences also come from the bends of a chart and from the seed of k-means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.metrics._checks import centered, check, exponent_of
from twofold.model_selection._charts import Charts
from twofold.model_selection.structure import Structure, detect_structure
from twofold.numerics.linalg import principal_axes
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import RandomLike, check_int, check_rng
from twofold.protocols import Array, IntArray

MOST_ROWS = 4_000
MOST_COORDINATES = 50
FEWEST_ROWS = 25
"""Distinct rows that a search needs: fewer support no codebook."""

AHEAD = 2
SMALLEST_GAIN, SMALLEST_SHARE = 0.04, 0.03
NO_VARIANCE = 1e-20
"""Principal directions with a smaller share of the variance hold only rounding."""


@dataclass(frozen=True, eq=False)
class DimensionChoice:
    """A latent dimension, and the scores that chose it. Created by `choose_dimension`.

    Parameters
    ----------
    n_components : int
        The chosen dimension; 1 if the data are noise, or too few to tell.
    dimensions : ndarray of shape (k,)
        The dimensions that were compared: 1, 2, ..., as far as needed.
    n_codes : ndarray of shape (k,)
        Codewords at which each was compared.
    scores : ndarray of shape (k,)
        Negative mean log codebook error of each, on held-out rows.
    gains : ndarray of shape (k,)
        What the best of up to two more dimensions adds to the score.
    tolerances : ndarray of shape (k,)
        The gain that does not count: one standard error, at least 0.04 and at least 3 % of the
        score.
    structure : Structure
        What the data have beyond chance; see `detect_structure`.

    Examples
    --------
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.model_selection import choose_dimension
    >>> choice = choose_dimension(make_noisy_spiral(500, random_state=0)[0], random_state=0)
    >>> choice
    DimensionChoice(n_components=1, compared 1 to 1)
    >>> choice.is_noise
    False
    """

    n_components: int
    dimensions: IntArray
    n_codes: IntArray
    scores: Array
    gains: Array
    tolerances: Array
    structure: Structure

    @property
    def is_noise(self) -> bool:
        """Whether the data have no structure beyond chance: there is nothing to map."""
        return self.structure.is_noise

    def __repr__(self) -> str:
        if self.is_noise:
            said = "no structure found"
        elif not len(self.dimensions):
            said = "too few rows to compare"
        else:
            said = f"compared 1 to {self.dimensions[-1]}"
        return f"DimensionChoice(n_components={self.n_components}, {said})"


def choose_dimension(
    X: Any, *, max_components: int = 10, random_state: RandomLike = 0
) -> DimensionChoice:
    """Choose the number of latent dimensions from held-out scores of local charts.

    No model is fitted. At most 4,000 rows are used, drawn at random, in their 50 leading principal
    coordinates. That takes a few seconds.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data, in units in which distances between rows mean something.
    max_components : int, default=10
        The largest dimension.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the draw of rows, the charts and k-means.

    Returns
    -------
    DimensionChoice
        The choice with its scores. If ``is_noise``, no dimension is better than another.

    See Also
    --------
    dimension_curve : Held-out scores of an estimator at several dimensions.
    detect_structure : Whether there is anything to map.

    Notes
    -----
    The dimension is that of the manifold at the scale of a tenth of the rows. A map of all rows may
    need more, if it must not be torn: a torus has two dimensions, but lies in three.

    Examples
    --------
    >>> from twofold.datasets import make_swiss_roll
    >>> from twofold.model_selection import choose_dimension
    >>> X, _ = make_swiss_roll(1000, noise=0.5, random_state=0)
    >>> choose_dimension(X).n_components
    2
    """
    data, rng = check("X", X), check_rng(random_state)
    most = check_int("max_components", max_components)
    structure = detect_structure(data, random_state=rng)
    rows = _distinct_part(data, rng)
    most = min(most, rows.shape[1])
    if structure.is_noise or len(rows) < FEWEST_ROWS or most < 2:
        return _choice(1, [], structure)
    charts = Charts.of(rows, min(most, rows.shape[1]), rng)
    compared: list[tuple[int, int, float, float, float]] = []
    for dimension in range(1, most):
        n_codes = charts.n_codes(dimension)
        beyond = range(dimension, min(dimension + AHEAD, most) + 1)
        scores = np.array([charts.scores(one, n_codes, rng) for one in beyond])
        means = scores.mean(axis=1)
        best = int(means.argmax())
        # Charts differ more from each other than dimensions do: their differences are compared.
        error = float((scores[best] - scores[0]).std(ddof=1)) / np.sqrt(scores.shape[1])
        gain = float(means[best] - means[0])
        tolerance = max(error, SMALLEST_GAIN, SMALLEST_SHARE * float(means[0]))
        compared.append((dimension, n_codes, float(means[0]), gain, tolerance))
        if gain <= tolerance:
            return _choice(dimension, compared, structure)
    return _choice(most, compared, structure)


def _choice(
    n_components: int, compared: list[tuple[int, int, float, float, float]], structure: Structure
) -> DimensionChoice:
    """Return the choice with its columns of figures."""
    columns = np.array(compared, dtype=np.float64).reshape(-1, 5)
    dimensions, n_codes = columns[:, :2].T.astype(np.intp)
    scores, gains, tolerances = columns[:, 2:].T
    return DimensionChoice(n_components, dimensions, n_codes, scores, gains, tolerances, structure)


def _distinct_part(data: Array, rng: np.random.Generator) -> Array:
    """Return some distinct rows in their leading principal coordinates (n, k), centered."""
    some = data[drawn_rows(len(data), MOST_ROWS, rng)] if len(data) > MOST_ROWS else data
    first = np.unique(some, axis=0, return_index=True)[1]
    rows = centered(some[np.sort(first)], exponent_of(some))
    axes, variances = principal_axes(rows, min(MOST_COORDINATES, *rows.shape))
    kept = variances > NO_VARIANCE * max(float(variances.max(initial=0.0)), 1e-300)
    coordinates: Array = rows @ axes[kept].T
    return coordinates
