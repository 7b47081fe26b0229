r"""How far maps of parts of the rows agree, row by row.

``B`` models are fitted to random parts of the rows, each with a seed of its own, and encode all
rows. Two maps may differ by a rotation, a scale, or a bend that keeps neighbors, and still say the
same. So they are compared twice.

*Locally.* The agreement of two maps at a row is the share of its k neighbors on one map that are
its neighbors on the other, less what chance gives,

.. math:: a = \frac{s - c}{1 - c}, \qquad c = \frac{k}{n - 1} .

The score of a row is the mean over all pairs of models. Pairs with a model in common are not
independent; the interval comes from the jackknife over models (Efron & Stein 1981): with
:math:`a_{(m)}` the mean without model m, the variance is :math:`\frac{B-1}{B} \sum_m (a_{(m)} -
\bar a)^2`, and the quantile is that of Student's t with ``B - 1`` degrees of freedom.

*Globally.* Maps are shifted, scaled to one mean square radius, and rotated or reflected to their
common mean (generalized Procrustes analysis, Gower 1975). The shift of a row is the root mean
square of its distances to that mean, in radii.

Circular dimensions enter as points of the circle.

References
----------
* B. Efron and C. Stein. The jackknife estimate of variance. *Annals of Statistics* 9(3), 1981.
* J. C. Gower. Generalized Procrustes analysis. *Psychometrika* 40(1), 1975.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from twofold.metrics._checks import centered, exponent_of
from twofold.numerics.row_weights import take_rows
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import RandomLike, check_int, check_real, check_rng
from twofold.protocols import Array, IntArray

LEVEL = 0.9
"""The level of intervals."""

SHARE_OF_NEIGHBORS, FEWEST_NEIGHBORS, MOST_NEIGHBORS = 20, 10, 50
"""By default one row in twenty is a neighbor, but at least 10 and at most 50."""

N_TURNS = 5
"""Rounds of rotating all maps to their mean."""

N_LISTED = 5
"""The least stable rows that the table lists."""


@dataclass(frozen=True, eq=False)
class Stability:
    """How far maps of parts of the rows agree. Created by `stability`; prints as a table.

    Parameters
    ----------
    latents : ndarray of shape (n_samples, n_components)
        The mean of all maps. Circular dimensions have two columns.
    scores : ndarray of shape (n_samples,)
        For each row the share of its neighbors on the map that two models have in common, less what
        chance gives: 1 is full agreement, 0 is chance.
    low, high : ndarray of shape (n_samples,)
        Ends of the 90 % intervals of the scores.
    shifts : ndarray of shape (n_samples,)
        Root mean square distances of rows to their mean place, in radii of the map.
    score : float
        The mean of the scores.
    interval : tuple of float
        Its 90 % interval.
    n_models : int
        Number of models.
    n_neighbors : int
        Number of neighbors.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.model_selection import stability
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> found = stability(TwoWay("isomap", up="nw", down="nw"), X, n_resamples=3)
    >>> found.scores.shape, found.score > 0.7
    ((300,), True)
    >>> found.to_frame().columns.tolist()
    ['score', 'low', 'high', 'shift']
    """

    latents: Array
    scores: Array
    low: Array
    high: Array
    shifts: Array
    score: float
    interval: tuple[float, float]
    n_models: int
    n_neighbors: int

    def to_frame(self) -> Any:
        """Return the figures of all rows as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each row of the data, in its order.

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.model_selection import Stability
        >>> ones = np.ones(2)
        >>> found = Stability(np.zeros((2, 1)), ones, ones, ones, 0 * ones, 1.0, (1.0, 1.0), 3, 1)
        >>> found.to_frame().score.tolist()
        [1.0, 1.0]
        """
        import pandas as pd

        columns = {"score": self.scores, "low": self.low, "high": self.high, "shift": self.shifts}
        return pd.DataFrame(columns)

    def _lines(self) -> list[list[str]]:
        """Return the cells of the table: all rows, quantiles, and the least stable rows."""
        low, high = self.interval
        shift = float(np.sqrt(np.square(self.shifts).mean()))
        lines = [["rows", "score", "90 % interval", "shift"]]
        lines.append(["all", f"{self.score:.3f}", f"{low:.3f} to {high:.3f}", f"{shift:.3f}"])
        for name, share in (("10 % below", 0.1), ("median", 0.5), ("10 % above", 0.9)):
            at = np.quantile(self.scores, share), np.quantile(self.shifts, 1.0 - share)
            lines.append([name, f"{at[0]:.3f}", "", f"{at[1]:.3f}"])
        for row in np.argsort(self.scores, kind="stable")[:N_LISTED].tolist():
            ends = f"{self.low[row]:.3f} to {self.high[row]:.3f}"
            lines.append([f"row {row}", f"{self.scores[row]:.3f}", ends, f"{self.shifts[row]:.3f}"])
        return lines

    def _caption(self) -> str:
        return (
            f"{self.n_models} models of parts of {len(self.scores)} rows. Score: share of "
            f"{self.n_neighbors} neighbors on the map in common, 1 is full agreement and 0 is "
            "chance. Shift: in radii of the map."
        )

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[k]) for line in lines) for k in range(4)]
        rows = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*rows, self._caption()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        head, *body = self._lines()
        names = "".join(f"<th>{escape(name)}</th>" for name in head)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in body
        )
        return (
            f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody>"
            f"<caption>{escape(self._caption())}</caption></table>"
        )


def stability(
    estimator: Any,
    X: Any,
    *,
    n_resamples: int = 10,
    max_samples: float = 0.8,
    n_neighbors: int | None = None,
    random_state: RandomLike = 0,
) -> Stability:
    """Fit an estimator to random parts of the rows, and compare where the maps put each row.

    A row with a low score lies elsewhere on every map: read nothing into its neighbors. A map with
    a low overall score shows the method's choices and not the data.

    Parameters
    ----------
    estimator : two-way estimator, TableMap, or Pipeline that ends in one
        Clones of it are fitted, each with a seed of its own.
    X : array-like or data frame of shape (n_samples, n_features)
        Data, at least 20 rows.
    n_resamples : int, default=10
        Number of models, at least 3.
    max_samples : float, default=0.8
        Share of the rows that each model is fitted to, drawn without replacement. 1 compares seeds
        alone.
    n_neighbors : int, default=None
        Number of neighbors that are compared, at most half of the rows; None means one row in
        twenty, at least 10 and at most 50.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the parts and the models.

    Returns
    -------
    Stability
        Scores, intervals and shifts of all rows, and the overall score.

    See Also
    --------
    twofold.plotting.StabilityDisplay : The map, colored by stability.
    detect_structure : Whether there is anything to map.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.model_selection import stability
    >>> X, _ = make_s_curve(200, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=(200, 10))
    >>> model = TwoWay("isomap", up="nw", down="nw")
    >>> clear, unclear = (stability(model, data, n_resamples=3).score for data in (X, noise))
    >>> clear > 0.7 > 0.5 > unclear
    True
    """
    n = _num_samples(X)
    n_models = check_int("n_resamples", n_resamples, low=3)
    share = check_real("max_samples", max_samples)
    size = round(share * n)
    if share > 1.0 or size < FEWEST_NEIGHBORS or n < 2 * FEWEST_NEIGHBORS:
        raise ValueError(
            f"max_samples={max_samples!r} of {n} rows: each model needs at least "
            f"{FEWEST_NEIGHBORS} of at least {2 * FEWEST_NEIGHBORS} rows, and the share is at most "
            "1."
        )
    count = _n_neighbors(n_neighbors, n)
    rng = check_rng(random_state)
    maps = []
    for _ in range(n_models):
        rows = drawn_rows(n, size, rng)
        model = _seeded(estimator, int(rng.integers(2**31))).fit(take_rows(X, rows))
        maps.append(_places(model, X))
    if len({one.shape[1] for one in maps}) > 1:
        widths = sorted({one.shape[1] for one in maps})
        raise ValueError(
            f"The models have different numbers of latent dimensions, {widths}: fix n_components."
        )
    scores, low, high, overall = _agreement([_neighbors(one, count) for one in maps])
    mean, shifts = _aligned(maps)
    score, *interval = overall
    return Stability(
        mean, scores, low, high, shifts, score, (interval[0], interval[1]), n_models, count
    )


def _n_neighbors(n_neighbors: int | None, n: int) -> int:
    """Return the number of neighbors to compare."""
    if n_neighbors is None:
        return min(max(n // SHARE_OF_NEIGHBORS, FEWEST_NEIGHBORS), MOST_NEIGHBORS)
    count = check_int("n_neighbors", n_neighbors)
    if count > n // 2:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be at most half of the {n} rows, {n // 2}."
        )
    return count


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a clone whose sources of randomness are seeded."""
    if not (hasattr(estimator, "get_params") and hasattr(estimator, "transform")):
        raise TypeError(
            f"estimator={estimator!r} must have get_params, fit and transform: pass a two-way "
            "estimator, or a pipeline that ends in one."
        )
    model = clone(estimator)
    names = [
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return model.set_params(**dict.fromkeys(names, seed))


def _places(model: Any, X: Any) -> Array:
    """Return where a model puts rows, around circles where its domain is circular."""
    latents = np.asarray(model.transform(X), dtype=np.float64)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    decoder = getattr(getattr(last, "_unwrapped", last), "decoder_", None)
    wrapped = np.array(getattr(getattr(decoder, "domain", None), "wrapped", (False,)))
    if not wrapped.any():
        return latents
    turns = np.pi * latents[:, wrapped]
    return np.hstack([latents[:, ~wrapped], np.cos(turns) / np.pi, np.sin(turns) / np.pi])


def _neighbors(places: Array, count: int) -> IntArray:
    """Return the numbers (n, k) of the nearest other rows on a map, in ascending order."""
    inside = centered(places, exponent_of(places))
    found = cKDTree(inside).query(inside, k=count + 1)[1]
    # Among equal places a row need not be its own nearest one.
    is_other = found != np.arange(len(found))[:, None]
    order = np.argsort(~is_other, axis=1, kind="stable")[:, :count]
    return np.sort(np.take_along_axis(found, order, axis=1), axis=1)


def _agreement(
    neighbors: list[IntArray],
) -> tuple[Array, Array, Array, tuple[float, float, float]]:
    """Return scores (n,), the ends of their intervals, and the same of their mean."""
    n_models, (n, count) = len(neighbors), neighbors[0].shape
    chance = count / (n - 1.0)
    own = np.arange(n)[:, None] * n
    keys = [(own + one).ravel() for one in neighbors]
    total, with_model = np.zeros(n), np.zeros((n_models, n))
    for a, b in combinations(range(n_models), 2):
        shared = np.isin(keys[a], keys[b], assume_unique=True).reshape(n, count).mean(axis=1)
        agreement = (shared - chance) / (1.0 - chance)
        total += agreement
        with_model[a] += agreement
        with_model[b] += agreement
    n_pairs = n_models * (n_models - 1) / 2.0
    without = (total - with_model) / (n_pairs - (n_models - 1))
    scores = total / n_pairs
    low, high = _ends(scores, without)
    mean = float(scores.mean())
    mean_low, mean_high = _ends(np.array([mean]), without.mean(axis=1, keepdims=True))
    overall = (max(mean, 0.0), float(mean_low[0]), float(mean_high[0]))
    return np.clip(scores, 0.0, 1.0), low, high, overall


def _ends(scores: Array, without: Array) -> tuple[Array, Array]:
    """Return the jackknife interval of scores (n,), given those without each model (B, n)."""
    n_models = len(without)
    deviations = without - without.mean(axis=0)
    error = np.sqrt((n_models - 1.0) / n_models * np.square(deviations).sum(axis=0))
    half = float(student.ppf(0.5 + 0.5 * LEVEL, n_models - 1)) * error
    return np.clip(scores - half, 0.0, 1.0), np.clip(scores + half, 0.0, 1.0)


def _aligned(maps: list[Array]) -> tuple[Array, Array]:
    """Return the mean of maps (n, q) after alignment, and the shift (n,) of each row."""
    alike = []
    for one in maps:
        inside = centered(one, exponent_of(one))
        radius = float(np.sqrt(np.square(inside).sum(axis=1).mean()))
        alike.append(inside / (radius or 1.0))
    mean = alike[0]
    for _ in range(N_TURNS):
        for number, one in enumerate(alike):
            left, _, right = np.linalg.svd(one.T @ mean)
            alike[number] = one @ (left @ right)
        mean = np.mean(alike, axis=0)
    squares = np.mean([np.square(one - mean).sum(axis=1) for one in alike], axis=0)
    return mean, np.sqrt(squares)
