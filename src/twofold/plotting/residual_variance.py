"""The residual variance against the number of latent dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from twofold.numerics.validation import check_int
from twofold.plotting._figures import Axes, Display, without_frame
from twofold.plotting._labels import LINE_COLORS
from twofold.plotting._latent_space import Model, final_step

CURVE = "residual variance"  # marks the lines of displays that share axes
MOST_TICKS = 12
OF_DISTANCES = "residual variance of geodesic distances"


@dataclass(eq=False, repr=False)
class ResidualVarianceDisplay(Display):
    """The lost share of the variance against the number of latent dimensions.

    Create it with `from_data`, which fits clones of an estimator; with `from_estimators`, for
    fitted models; or with `from_estimator`, for the residual variances that an Isomap has kept.

    Parameters
    ----------
    dimensions : array-like of shape (k,)
        Numbers of latent dimensions.
    residuals : array-like of shape (k,) or (k, n_splits)
        The lost shares, for each split of the data.
    chosen : int, default=None
        The chosen number.
    residual_name : str, default="share of held-out variance lost"
        The name of the lost share.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    line_, splits_ : matplotlib Line2D
        The medians over the splits, and the single splits (None for one split).
    legend_ : matplotlib Legend or None
        The names of the curves.

    Examples
    --------
    Two dimensions lose less than one:

    >>> from twofold import AgglomerativeIsomap, TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.plotting import ResidualVarianceDisplay
    >>> X, _ = make_s_curve(100, random_state=0)
    >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0)
    >>> display = ResidualVarianceDisplay.from_data(model, X, [1, 2], n_splits=3)
    >>> one, two = display.residuals.mean(axis=1)
    >>> bool(two < one)
    True

    Fitted models, and the residual variances of an Isomap on the same axes:

    >>> display = ResidualVarianceDisplay.from_estimators([model.fit(X)], X)
    >>> ax = display.plot(label="held out").ax_
    >>> isomap = AgglomerativeIsomap(n_components="auto").fit(X)
    >>> display = ResidualVarianceDisplay.from_estimator(isomap, ax=ax, label="isomap")
    >>> display.dimensions.max().item()
    10
    """

    dimensions: Any
    residuals: Any
    _: KW_ONLY
    chosen: int | None = None
    residual_name: str = "share of held-out variance lost"

    def __post_init__(self) -> None:
        self.dimensions = np.asarray(self.dimensions, dtype=np.intp)
        found = np.asarray(self.residuals, dtype=np.float64)
        self.residuals = found if found.ndim == 2 else found[:, None]
        if self.dimensions.ndim != 1 or len(self.residuals) != len(self.dimensions):
            raise ValueError(
                f"residuals has {len(self.residuals)} rows for {self.dimensions.size} numbers of "
                "dimensions: give one for each."
            )

    @classmethod
    def from_data(
        cls,
        estimator: Model,
        X: Any,
        dimensions: Sequence[int],
        y: Any = None,
        *,
        n_splits: int = 3,
        test_size: float = 0.2,
        random_state: Any = 0,
        **plot_options: Any,
    ) -> Self:
        """Fit clones of an estimator with several numbers of dimensions, and score held-out rows.

        Parameters
        ----------
        estimator : TwoWayEstimator or Pipeline that ends in one
            The estimator to clone; it is left unchanged.
        X : array-like of shape (n_samples, n_features)
            Data.
        dimensions : sequence of int
            Numbers of latent dimensions, ``n_components``.
        y : array-like of shape (n_samples,), default=None
            Labels, for supervised estimators.
        n_splits : int, default=3
            Number of random splits into training and held-out rows.
        test_size : float or int, default=0.2
            Share, or number, of the held-out rows.
        random_state : int, RandomState or None, default=0
            Seed of the splits.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ResidualVarianceDisplay
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
            rows, held_out = _safe_indexing(X, train), _safe_indexing(X, test)
            for place, number in enumerate(numbers):
                model = clone(estimator).set_params(**{name: number}).fit(rows, *known)
                residuals[place, split] = 1.0 - model.score(held_out)
        return cls(numbers, residuals).plot(**plot_options)

    @classmethod
    def from_estimators(
        cls, models: Sequence[Model] | Mapping[Any, Model], X: Any, **plot_options: Any
    ) -> Self:
        """Score models with different numbers of latent dimensions on the same rows.

        Parameters
        ----------
        models : sequence of estimators
            Fitted models.
        X : array-like of shape (n_samples, n_features)
            Data, preferably held-out rows.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ResidualVarianceDisplay
        """
        every = list(models.values()) if isinstance(models, Mapping) else list(models)
        if not every:
            raise ValueError("models is empty: give one fitted model or more.")
        scored = sorted(
            (int(final_step(model).embedding_.shape[1]), 1.0 - float(model.score(X)))
            for model in every
        )
        return cls(*zip(*scored, strict=True)).plot(**plot_options)

    @classmethod
    def from_estimator(cls, model: Model, **plot_options: Any) -> Self:
        """Draw the residual variances of geodesic distances that an Isomap has kept.

        Parameters
        ----------
        model : AgglomerativeIsomap, SupervisedIsomap, or Pipeline that ends in one
            A fitted model; with ``n_components="auto"`` it has compared ten dimensions.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ResidualVarianceDisplay
        """
        last = final_step(model)._unwrapped
        variances = getattr(last, "residual_variance_", None)
        if variances is None:
            raise ValueError(
                f"{type(last).__name__} keeps no residual variances: use from_data, which fits the "
                "model with several numbers of dimensions."
            )
        dimensions, chosen = np.arange(1, len(variances) + 1), int(last.embedding_.shape[1])
        display = cls(dimensions, variances, chosen=chosen, residual_name=OF_DISTANCES)
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        label: str | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, which several displays with labels may share; None makes a new figure.
        label : str, default=None
            The name of the curve in the legend.
        line_kwargs : dict, default=None
            Options of ``Axes.plot``.

        Returns
        -------
        self
        """
        panel = self._open(ax, (5.5, 3.8))
        before = [line for line in panel.lines if line.get_gid() == CURVE]
        color = LINE_COLORS[len(before) % len(LINE_COLORS)]
        order = np.argsort(self.dimensions, kind="stable")
        x, y = self.dimensions[order], self.residuals[order]
        medians = np.median(y, axis=1)
        self.splits_ = None
        if y.shape[1] > 1:
            light = {"linestyle": "none", "marker": "o", "markersize": 3.5, "alpha": 0.5}
            (self.splits_,) = panel.plot(np.repeat(x, y.shape[1]), y.ravel(), color=color, **light)
        style = {"color": color, "marker": "o", "label": label, **(line_kwargs or {})}
        (self.line_,) = panel.plot(x, medians, gid=CURVE, **style)
        if self.chosen is not None:
            ring = {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": "none"}
            level = medians[x == self.chosen]
            panel.plot([self.chosen] * len(level), level, markeredgecolor="black", **ring)
        panel.set(xlabel="latent dimensions", ylabel=self.residual_name)
        if len(x) <= MOST_TICKS:
            ticks = (tick for line in before for tick in line.get_xdata())
            panel.set_xticks(np.unique([*x, *ticks]))
        if panel.dataLim.ymin >= 0.0:
            panel.set_ylim(bottom=0.0, auto=None)  # the upper end stays free for further curves
        if self._has_own_figure:
            without_frame(panel)
        curves = (*before, self.line_)
        named = [line for line in curves if not line.get_label().startswith("_child")]
        labels = [line.get_label() for line in named]
        self.legend_ = self._show_legend(named, labels) if len(named) > 1 else None
        return self
