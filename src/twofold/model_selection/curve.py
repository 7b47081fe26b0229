"""Held-out scores of one estimator at several latent dimensions, and the one-standard-error rule.

The rule takes the smallest number of dimensions whose mean score is within one standard error of
the best (Breiman et al. 1984, section 3.4.3; Hastie, Tibshirani & Friedman 2009, section 7.10).

References
----------
* L. Breiman, J. Friedman, R. Olshen and C. Stone. *Classification and Regression Trees*. Wadsworth,
  1984.
* T. Hastie, R. Tibshirani and J. Friedman. *The Elements of Statistical Learning*. Springer, 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline

from twofold.metrics import codebook_score
from twofold.numerics.validation import RandomLike, check_int, check_rng
from twofold.protocols import Array, IntArray
from twofold.two_way import TwoWay

MOST_DIMENSIONS = 6
NAME = "n_components"


@dataclass(frozen=True, eq=False)
class DimensionCurve:
    """Held-out scores of an estimator at several latent dimensions.

    Created by `dimension_curve`.

    Parameters
    ----------
    dimensions : ndarray of shape (k,)
        Numbers of latent dimensions, ascending.
    scores : ndarray of shape (k, n_folds)
        The score of each fold; higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.model_selection import DimensionCurve
    >>> scores = np.array([[0.4, 0.6], [1.0, 1.2], [1.05, 1.25]])
    >>> curve = DimensionCurve(np.array([1, 2, 3]), scores)
    >>> curve
    DimensionCurve(chosen=2, best=3; 1: 0.500, 2: 1.100, 3: 1.150 +- 0.100)
    >>> curve.best, curve.chosen
    (3, 2)
    >>> curve.means.round(2), curve.standard_errors.round(2)
    (array([0.5 , 1.1 , 1.15]), array([0.1, 0.1, 0.1]))
    """

    dimensions: IntArray
    scores: Array

    @property
    def means(self) -> Array:
        """The mean score of each dimension (k,)."""
        means: Array = self.scores.mean(axis=1)
        return means

    @property
    def standard_errors(self) -> Array:
        """The standard error of each mean over the folds (k,)."""
        return _standard_errors(self.scores)

    @property
    def best(self) -> int:
        """The dimension of the highest mean score."""
        return int(self.dimensions[self.means.argmax()])

    @property
    def chosen(self) -> int:
        """The smallest dimension within one standard error of the best mean score."""
        return int(self.dimensions[_within_one(self.scores)].min())

    def __repr__(self) -> str:
        error = self.standard_errors[self.means.argmax()]
        pairs = zip(self.dimensions, self.means, strict=True)
        shown = ", ".join(f"{dimension}: {mean:.3f}" for dimension, mean in pairs)
        head = f"chosen={self.chosen}, best={self.best}"
        return f"DimensionCurve({head}; {shown} +- {error:.3f})"


def dimension_curve(
    estimator: Any,
    X: Any,
    *,
    dimensions: Sequence[int] | None = None,
    cv: Any = 5,
    scoring: Callable[..., float] | str | None = None,
    random_state: RandomLike = 0,
    n_jobs: int | None = None,
) -> DimensionCurve:
    """Score an estimator at several latent dimensions by cross-validation.

    Parameters
    ----------
    estimator : estimator with ``n_components``, Pipeline that ends in one, or None
        The estimator; clones of it are fitted. None means ``TwoWay("isomap")``.
    X : array-like of shape (n_samples, n_features)
        Data.
    dimensions : sequence of int, default=None
        Numbers of latent dimensions. None means 1, 2, ..., 6, or up to the number of features.
    cv : int or splitter, default=5
        Number of shuffled folds, or a splitter of scikit-learn.
    scoring : callable, str or None, default=None
        A scorer of scikit-learn. None means `twofold.metrics.codebook_score`, which does not rise
        with every dimension. `twofold.metrics.map_score` and ``score`` do.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the folds, and the estimator where its own ``random_state`` is None.
    n_jobs : int or None, default=None
        Folds that are fitted at once, as in scikit-learn.

    Returns
    -------
    DimensionCurve
        Scores, ``best``, and ``chosen``: the smallest dimension within one standard error.

    See Also
    --------
    choose_dimension : The dimension of the data, without fitting a model.
    one_standard_error : The same rule for ``GridSearchCV``.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.model_selection import dimension_curve
    >>> X, _ = make_s_curve(400, noise=0.05, random_state=0)
    >>> model = TwoWay("isomap", up="nw", down="nw")
    >>> dimension_curve(model, X, dimensions=[1, 2, 3], cv=3).chosen
    2

    A plot:

    >>> from twofold.plotting import ResidualVarianceDisplay
    >>> curve = dimension_curve(model, X, dimensions=[1, 2], cv=3)
    >>> name = "mean log codebook error"
    >>> display = ResidualVarianceDisplay(
    ...     curve.dimensions, -curve.scores, chosen=curve.chosen, residual_name=name
    ... ).plot()
    """
    rng = check_rng(random_state)
    seed = int(rng.integers(2**31))
    model = clone(TwoWay("isomap") if estimator is None else estimator)
    prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    settings = model.get_params(deep=True)
    if prefix + NAME not in settings:
        raise TypeError(
            f"estimator={estimator!r} has no parameter {NAME}: pass a two-way estimator, or a "
            "pipeline that ends in one."
        )
    if settings.get(prefix + "random_state", 0) is None:
        model.set_params(**{prefix + "random_state": seed})
    tried = _dimensions(dimensions, X)
    if not hasattr(cv, "split"):
        cv = KFold(check_int("cv", cv, low=2), shuffle=True, random_state=seed)
    scores = [
        cross_val_score(
            clone(model).set_params(**{prefix + NAME: int(dimension)}),
            X,
            scoring=codebook_score if scoring is None else scoring,
            cv=cv,
            n_jobs=n_jobs,
            error_score="raise",
        )
        for dimension in tried
    ]
    return DimensionCurve(tried, np.array(scores))


def one_standard_error(cv_results: Mapping[str, Any]) -> int:
    """Return the index of the fewest latent dimensions within one standard error of the best.

    Pass it to scikit-learn: ``GridSearchCV(..., scoring=codebook_score,
    refit=one_standard_error)``. Of candidates with equally few dimensions the best one is taken.

    Parameters
    ----------
    cv_results : dict
        The ``cv_results_`` of a search with one scorer over ``n_components``.

    Returns
    -------
    int
        The index of a candidate.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.metrics import codebook_score
    >>> from twofold.model_selection import one_standard_error
    >>> X, _ = make_s_curve(400, noise=0.05, random_state=0)
    >>> search = GridSearchCV(
    ...     TwoWay("isomap", up="nw", down="nw", random_state=0),
    ...     {"n_components": [1, 2, 3]},
    ...     scoring=codebook_score,
    ...     refit=one_standard_error,
    ...     cv=3,
    ... )
    >>> search.fit(X).best_params_
    {'n_components': 2}
    """
    names = [key for key in cv_results if key.split("__")[-1] in (NAME, f"param_{NAME}")]
    splits = [key for key in cv_results if key.startswith("split") and key.endswith("_test_score")]
    if not names or not splits:
        raise ValueError(
            f"cv_results needs {NAME} among its parameters and the test scores of one scorer: "
            f"search over {NAME}, with one scorer."
        )
    scores = np.column_stack([np.asarray(cv_results[key], dtype=np.float64) for key in splits])
    dimensions = np.asarray(cv_results[names[0]], dtype=np.float64)
    finite = np.flatnonzero(np.isfinite(scores).all(axis=1))
    if not len(finite):
        raise ValueError("cv_results has no candidate whose scores are all finite.")
    candidates = finite[_within_one(scores[finite])]
    order = np.lexsort((-scores[candidates].mean(axis=1), dimensions[candidates]))
    return int(candidates[order[0]])


def _within_one(scores: Array) -> IntArray:
    """Return the rows of scores (k, n_folds) whose means are within one standard error."""
    means = scores.mean(axis=1)
    best = int(means.argmax())
    return np.flatnonzero(means >= means[best] - _standard_errors(scores)[best])


def _standard_errors(scores: Array) -> Array:
    """Return the standard errors (k,) of the means of scores (k, n_folds)."""
    n_folds = scores.shape[1]
    if n_folds < 2:
        return np.zeros(len(scores))
    errors: Array = scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
    return errors


def _dimensions(dimensions: Sequence[int] | None, X: Any) -> IntArray:
    """Return the dimensions to compare, ascending."""
    if dimensions is None:
        return np.arange(1, min(MOST_DIMENSIONS, np.shape(X)[1]) + 1)
    tried = np.unique([check_int("dimensions", one) for one in dimensions])
    if not len(tried):
        raise ValueError("dimensions is empty: give numbers of latent dimensions, say [1, 2, 3].")
    return tried
