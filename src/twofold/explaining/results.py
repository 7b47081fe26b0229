"""The results of explanations: arrays as attributes, and tables sorted by effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from twofold.explaining.printing import Printed, Row
from twofold.numerics.validation import check_int
from twofold.protocols import AnyArray, Array, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Printed):
    """The features that move rows on the map: the result of ``explain``.

    Parameters
    ----------
    feature_names : tuple of str
        The features.
    effects : ndarray of shape (n_samples, n_features)
        The effect of each feature on the position of each row: the length of its move in standard
        deviations of the map.
    moves : ndarray of shape (n_samples, n_features, n_components)
        The move of each row on the map if the feature is one spread higher, in latent units; for a
        category of a table if the level with the largest effect is more likely by one spread.
    latents : ndarray of shape (n_samples, n_components)
        Where the rows lie.
    spreads : ndarray of shape (n_features,)
        The standard deviations of the features over the training rows. Those of a ``TableMap`` are
        in encoded units.
    explained : ndarray of shape (n_features,)
        The share of its variance that the map explains.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> X = load_iris(as_frame=True).data
    >>> found = TwoWay("pca", up="nw", down="nw").fit(X).explain(X)
    >>> found.effects.shape, found.moves.shape
    ((150, 4), (150, 4, 2))
    >>> found.to_frame().columns.tolist()
    ['feature', 'effect', 'first', 'explained', 'spread']
    >>> str(found.strongest(1)[100, 0])
    'petal width (cm)'
    >>> found.feature_names[found.order[0]], found.per_row(2).shape
    ('petal length (cm)', (150, 4))
    """

    feature_names: tuple[str, ...]
    effects: Array
    moves: Array
    latents: Array
    spreads: Array
    explained: Array
    _columns: ClassVar[tuple[str, ...]] = ("feature", "effect", "first", "explained", "spread")

    def __len__(self) -> int:
        return len(self.effects)

    @property
    def order(self) -> IntArray:
        """The numbers of the features (n_features,), by mean effect, the strongest first."""
        found: IntArray = np.argsort(-self.effects.mean(axis=0), kind="stable")
        return found

    def strongest(self, n_features: int = 3) -> AnyArray:
        """Return the names of the strongest features of each row, the strongest first.

        Parameters
        ----------
        n_features : int, default=3
            How many.

        Returns
        -------
        ndarray of str, shape (n_samples, n_features)
        """
        return np.array(self.feature_names, dtype=object)[self._ranked(n_features)]

    def per_row(self, n_features: int = 3) -> Any:
        """Return the strongest features of each row and their effects as a pandas data frame.

        Parameters
        ----------
        n_features : int, default=3
            How many.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, 2 * n_features)
            Columns feature_1, effect_1, feature_2, ...
        """
        import pandas as pd

        ranked = self._ranked(n_features)
        names = self.strongest(n_features)
        effects = np.take_along_axis(self.effects, ranked, axis=1)
        columns: dict[str, Any] = {}
        for place in range(ranked.shape[1]):
            columns[f"feature_{place + 1}"] = names[:, place]
            columns[f"effect_{place + 1}"] = effects[:, place]
        return pd.DataFrame(columns)

    def _ranked(self, n_features: int) -> IntArray:
        check_int("n_features", n_features)
        ranked: IntArray = np.argsort(-self.effects, axis=1, kind="stable")
        return ranked[:, :n_features]

    def _rows(self) -> list[Row]:
        first = self._ranked(1)[:, 0]
        return [
            {
                "feature": self.feature_names[number],
                "effect": float(self.effects[:, number].mean()),
                "first": float(np.mean(first == number)),
                "explained": float(self.explained[number]),
                "spread": float(self.spreads[number]),
            }
            for number in self.order
        ]

    def _caption(self) -> str:
        return (
            f"Mean effects on the positions of {len(self)} rows, in standard deviations of the map "
            "for one spread of the feature; first: share of rows where it is strongest; explained: "
            "share of its variance."
        )


@dataclass(frozen=True, eq=False, repr=False)
class PathExplanation(Printed):
    """The features that change along a path on the map: the result of ``explain_path``.

    Parameters
    ----------
    feature_names : tuple of str
        The features.
    effects : ndarray of shape (n_features,)
        The largest change between two places of the path, in spreads of the feature, times the
        share of its variance that the map explains. Like the next four, it is of decoded values
        that are smoothed over the map.
    net : ndarray of shape (n_features,)
        The change from the first to the last place, in spreads; for a category its length.
    variation : ndarray of shape (n_features,)
        The sum of the absolute changes from place to place, in spreads.
    steepest : ndarray of shape (n_features,)
        Where it changes most: the middle of that step, from 0 (the start) to 1 (the end).
    profiles : ndarray of shape (n_points, n_features)
        The smoothed values along the path, from their mean, in spreads; for a category its leading
        direction along the path.
    decoded : ndarray or DataFrame of shape (n_points, n_features)
        What ``inverse_transform`` returns for the path.
    latents : ndarray of shape (n_points, n_components)
        The path.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> X = load_iris(as_frame=True).data
    >>> model = TwoWay("pca", up="nw", down="nw").fit(X)
    >>> path = np.linspace(model.embedding_[0], model.embedding_[-1], 20)
    >>> found = model.explain_path(path)
    >>> found.feature_names[found.order[0]], found.profiles.shape
    ('petal length (cm)', (20, 4))
    >>> found.to_frame().columns.tolist()
    ['feature', 'effect', 'net', 'variation', 'steepest']
    """

    feature_names: tuple[str, ...]
    effects: Array
    net: Array
    variation: Array
    steepest: Array
    profiles: Array
    decoded: Any
    latents: Array
    _columns: ClassVar[tuple[str, ...]] = ("feature", "effect", "net", "variation", "steepest")

    def __len__(self) -> int:
        return len(self.latents)

    @property
    def order(self) -> IntArray:
        """The numbers of the features (n_features,), by effect, the strongest first."""
        found: IntArray = np.argsort(-self.effects, kind="stable")
        return found

    def _rows(self) -> list[Row]:
        return [
            {
                "feature": self.feature_names[number],
                "effect": float(self.effects[number]),
                "net": float(self.net[number]),
                "variation": float(self.variation[number]),
                "steepest": float(self.steepest[number]),
            }
            for number in self.order
        ]

    def _caption(self) -> str:
        return (
            f"Changes along {len(self)} places, in spreads of the feature. effect: largest change "
            "times the explained share; steepest: where, from 0 (start) to 1 (end)."
        )


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceExplanation(Printed):
    """The features that separate two selections of rows: the result of ``explain_difference``.

    Parameters
    ----------
    feature_names : tuple of str
        The features.
    effects : ndarray of shape (n_features,)
        The size of the difference times the share of the feature's variance that the map explains.
    differences : ndarray of shape (n_features,)
        The mean of the reconstructions of A less that of B, in spreads; for a category the length
        of the difference.
    low, high : ndarray of shape (n_features,)
        Bounds of the confidence interval of the difference.
    off_manifold : ndarray of shape (n_features,)
        The part of the difference of the data that the reconstructions leave out, in spreads.
    mean_a, mean_b : ndarray of shape (n_features,)
        The mean reconstructions, in units of the data; of categories the levels, of dates the day
        as text.
    n_a, n_b : int
        Numbers of rows.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = TwoWay("pca", up="nw", down="nw").fit(X)
    >>> found = model.explain_difference(X[y == 0], X[y == 1])
    >>> found.feature_names[found.order[0]], bool((found.low <= found.high).all())
    ('petal length (cm)', True)
    >>> found.to_frame().shape
    (4, 8)
    """

    feature_names: tuple[str, ...]
    effects: Array
    differences: Array
    low: Array
    high: Array
    off_manifold: Array
    mean_a: AnyArray
    mean_b: AnyArray
    n_a: int
    n_b: int
    level: float
    _columns: ClassVar[tuple[str, ...]] = (
        "feature",
        "effect",
        "difference",
        "low",
        "high",
        "off_manifold",
        "mean_a",
        "mean_b",
    )

    @property
    def order(self) -> IntArray:
        """The numbers of the features (n_features,), by effect, the strongest first."""
        found: IntArray = np.argsort(-self.effects, kind="stable")
        return found

    def _rows(self) -> list[Row]:
        return [
            {
                "feature": self.feature_names[number],
                "effect": float(self.effects[number]),
                "difference": float(self.differences[number]),
                "low": float(self.low[number]),
                "high": float(self.high[number]),
                "off_manifold": float(self.off_manifold[number]),
                "mean_a": self.mean_a[number],
                "mean_b": self.mean_b[number],
            }
            for number in self.order
        ]

    def _caption(self) -> str:
        return (
            f"Mean reconstructions of {self.n_a} rows (A) less those of {self.n_b} rows (B), in "
            f"spreads of the feature, with {100 * self.level:g} % intervals. effect: size of the "
            "difference times the explained share."
        )
