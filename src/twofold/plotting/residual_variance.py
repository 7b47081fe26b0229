"""How many latent dimensions data need: the variance left over, against their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from twofold.numerics.validation import check_int
from twofold.plotting._colors import LINE_COLORS
from twofold.plotting._figures import Display, show_legend, without_frame
from twofold.plotting._latent_space import final_step
from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ResidualVarianceDisplay"]

HELD_OUT = "share of held-out variance lost"
CURVE = "residual variance"
"""Marks the lines of displays that share axes."""

MOST_TICKS = 12
OF_DISTANCES = "residual variance of geodesic distances"


class ResidualVarianceDisplay(Display):
    """The share of variance that is lost, against the number of latent dimensions.

    Make it with `from_data`, which fits clones of an estimator; with `from_estimators`, of models you have fitted; or, of the residual variances that
    an Isomap has kept, with `from_estimator`.

    Parameters
    ----------
    dimensions : array-like of shape (k,)
        Numbers of latent dimensions.
    residuals : array-like of shape (k,) or (k, n_splits)
        The shares that are lost, for each split of the data.
    chosen : int, default=None
        The number that was taken.
    residual_name : str, default="share of held-out variance lost"
        What is lost.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    line_ : matplotlib Line2D
        The curve: medians over the splits.
    splits_ : matplotlib Line2D or None
        The single splits.
    legend_ : matplotlib Legend or None
        What explains them.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.plotting import ResidualVarianceDisplay
    >>> X, _ = make_s_curve(100, random_state=0)
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0)
    >>> display = ResidualVarianceDisplay.from_data(model, X, [1, 2], n_splits=2)
    >>> display.residuals.shape
    (2, 2)
    """

    line_: Any
    splits_: Any
    legend_: Any

    def __init__(
        self,
        dimensions: Any,
        residuals: Any,
        *,
        chosen: int | None = None,
        residual_name: str = HELD_OUT,
    ) -> None:
        self.dimensions = np.asarray(dimensions, dtype=np.intp)
        found: Array = np.asarray(residuals, dtype=np.float64)
        self.residuals = found if found.ndim == 2 else found[:, None]
        if self.dimensions.ndim != 1 or len(self.residuals) != len(self.dimensions):
            raise ValueError(
                f"residuals has {len(self.residuals)} rows for {self.dimensions.size} numbers of dimensions: give one for each."
            )
        self.chosen = chosen
        self.residual_name = residual_name

    @classmethod
    def from_data(
        cls,
        estimator: Any,
        X: Any,
        dimensions: Sequence[int],
        y: Any = None,
        *,
        n_splits: int = 3,
        test_size: float = 0.2,
        random_state: Any = 0,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Fit clones of an estimator with ever more latent dimensions, and judge them by held-out rows.

        Parameters
        ----------
        estimator : TwoWayEstimator or Pipeline that ends in one
            What to fit; it is left as it is.
        X : array-like of shape (n_samples, n_features)
            Data.
        dimensions : sequence of int
            Numbers of latent dimensions, ``n_components``.
        y : array-like of shape (n_samples,), default=None
            Labels, for supervised estimators.
        n_splits : int, default=3
            Random splits into rows to fit and rows to judge by.
        test_size : float or int, default=0.2
            Share, or number, of the latter.
        random_state : int, RandomState or None, default=0
            Deals the rows out.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        ResidualVarianceDisplay

        Examples
        --------
        Two dimensions lose less than one:

        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> from twofold.plotting import ResidualVarianceDisplay
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0)
        >>> display = ResidualVarianceDisplay.from_data(model, X, [1, 2], n_splits=3)
        >>> one, two = display.residuals.mean(axis=1)
        >>> bool(two < one)
        True
        """
        check_int("n_splits", n_splits)
        numbers = [check_int("dimensions", number) for number in dimensions]
        if not numbers:
            raise ValueError(
                "dimensions is empty: give numbers of latent dimensions, say [1, 2, 3]."
            )
        name = "n_components"
        if isinstance(estimator, Pipeline):
            name = f"{estimator.steps[-1][0]}__{name}"
        splits = ShuffleSplit(n_splits, test_size=test_size, random_state=random_state)
        residuals = np.empty((len(numbers), n_splits))
        for split, (train, test) in enumerate(splits.split(X)):
            known = () if y is None else (_safe_indexing(y, train),)
            rows, judged = _safe_indexing(X, train), _safe_indexing(X, test)
            for place, number in enumerate(numbers):
                model = clone(estimator).set_params(**{name: number}).fit(rows, *known)
                residuals[place, split] = 1.0 - model.score(judged)
        return cls(numbers, residuals).plot(ax, **plot_options)

    @classmethod
    def from_estimators(
        cls,
        models: Sequence[Any] | Mapping[Any, Any],
        X: Any,
        *,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Judge models of different numbers of latent dimensions by the same rows.

        Parameters
        ----------
        models : sequence of estimators
            Fitted models.
        X : array-like of shape (n_samples, n_features)
            Data, best held-out ones.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        ResidualVarianceDisplay

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> from twofold.plotting import ResidualVarianceDisplay
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> X_new, _ = make_s_curve(100, random_state=1)
        >>> models = [
        ...     TwoWay("isomap", n_components=q, up="nw", down="nw", random_state=0).fit(X) for q in (1, 2)
        ... ]
        >>> ResidualVarianceDisplay.from_estimators(models, X_new).residuals.shape
        (2, 1)
        """
        every = list(models.values()) if isinstance(models, Mapping) else list(models)
        if not every:
            raise ValueError("models is empty: give one fitted model or more.")
        judged = sorted(
            (int(final_step(model).embedding_.shape[1]), 1.0 - float(model.score(X)))
            for model in every
        )
        return cls(*zip(*judged, strict=True)).plot(ax, **plot_options)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None, **plot_options: Any) -> Self:
        """Draw the residual variances of geodesic distances that an Isomap has kept.

        Parameters
        ----------
        model : AgglomerativeIsomap, SupervisedIsomap, or Pipeline that ends in one
            A fitted model; with ``n_components="auto"`` it has looked at ten dimensions.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        ResidualVarianceDisplay

        Examples
        --------
        >>> from twofold import AgglomerativeIsomap
        >>> from twofold.datasets import make_s_curve
        >>> from twofold.plotting import ResidualVarianceDisplay
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> model = AgglomerativeIsomap(n_components="auto").fit(X)
        >>> display = ResidualVarianceDisplay.from_estimator(model)
        >>> display.dimensions.max().item(), display.chosen == model.embedding_.shape[1]
        (10, True)
        """
        last = final_step(model)
        variances = getattr(last, "residual_variance_", None)
        if variances is None:
            raise ValueError(
                f"{type(last).__name__} keeps no residual variances: use from_data, which fits the model with ever more dimensions."
            )
        display = cls(
            np.arange(1, len(variances) + 1),
            variances,
            chosen=int(last.embedding_.shape[1]),
            residual_name=OF_DISTANCES,
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        label: str | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Several displays may share axes, each with a label.
        label : str, default=None
            What the legend calls the curve.
        line_kwargs : dict, default=None
            For ``Axes.plot``.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold.plotting import ResidualVarianceDisplay
        >>> display = ResidualVarianceDisplay([1, 2, 3], [0.4, 0.1, 0.09]).plot(label="isomap")
        >>> display.line_.get_label(), display.ax_.get_ylabel()
        ('isomap', 'share of held-out variance lost')
        """
        panel = self._open(ax, (5.5, 3.8))
        before = [line for line in panel.lines if line.get_gid() == CURVE]
        color = LINE_COLORS[len(before) % len(LINE_COLORS)]
        order = np.argsort(self.dimensions, kind="stable")
        x, y = self.dimensions[order], self.residuals[order]
        self.splits_ = None
        if y.shape[1] > 1:
            light = {"linestyle": "none", "marker": "o", "markersize": 3.5, "alpha": 0.5}
            (self.splits_,) = panel.plot(np.repeat(x, y.shape[1]), y.ravel(), color=color, **light)
        style = {"color": color, "marker": "o", "label": label, **(line_kwargs or {})}
        (self.line_,) = panel.plot(x, np.median(y, axis=1), gid=CURVE, **style)
        if self.chosen is not None:
            ring = {"marker": "o", "markersize": 12, "markerfacecolor": "none"}
            level = np.median(y, axis=1)[x == self.chosen]
            panel.plot(
                [self.chosen] * len(level), level, markeredgecolor="black", linestyle="none", **ring
            )
        panel.set(xlabel="latent dimensions", ylabel=self.residual_name)
        if len(x) <= MOST_TICKS:
            panel.set_xticks(
                np.unique([*x, *(tick for line in before for tick in line.get_xdata())])
            )
        if panel.dataLim.ymin >= 0.0:
            panel.set_ylim(bottom=0.0, auto=None)  # the upper end stays free for further curves
        if self._has_own_figure:
            without_frame(panel)
        self.legend_ = None
        curves = (*before, self.line_)
        named = [line for line in curves if not line.get_label().startswith("_child")]
        if len(named) > 1:
            self.legend_ = show_legend(self, named, [line.get_label() for line in named])
        return self
