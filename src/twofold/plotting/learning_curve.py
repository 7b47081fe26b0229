"""The objective of a fit over its iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.drur import DRUR
from twofold.numerics.validation import check_choice
from twofold.plotting._colors import LINE_COLORS, LINE_STYLES
from twofold.plotting._figures import Display, readable_log, show_legend, without_frame
from twofold.plotting._latent_space import final_step
from twofold.principal_manifold import PrincipalManifold
from twofold.protocols import Array
from twofold.sne import SNE
from twofold.ukr import UKR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LearningCurveDisplay"]

WIDTH = 6.0
WIDE_RANGE = 20.0
VALIDATED_EVERY = 10
"""Iterations between two looks of UKR at its held-out rows."""


@dataclass(frozen=True)
class Curve:
    """One run.

    Attributes
    ----------
    steps, values : ndarray of shape (k,)
        Iterations, and the objective after each.
    held_out_steps, held_out : ndarray of shape (m,)
        The same for rows that took no part; empty where there were none.
    """

    steps: Array
    values: Array
    held_out_steps: Array
    held_out: Array


class LearningCurveDisplay(Display):
    """The objective of one or more fits over their iterations, with the errors of held-out rows where there are some.

    Make it with `from_estimator` or `from_estimators`.

    Parameters
    ----------
    curves : mapping of str to Curve
        The runs, by the names they have in the legend.
    objective_name : str, default="objective"
        What fell.
    step_name : str, default="iteration"
        What the steps are.
    held_out_name : str, default=None
        What was measured of held-out rows, where it is not the objective: it then has an axis of its own.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    ax_held_out_ : matplotlib Axes or None
        Where held-out errors have an axis of their own.
    lines_, held_out_lines_ : list of matplotlib Line2D
        The curves.
    legend_ : matplotlib Legend or None
        What explains them.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import LearningCurveDisplay
    >>> X, _ = make_noisy_spiral(150, random_state=0)
    >>> model = UKR(1, init="isomap", random_state=0).fit(X)
    >>> display = LearningCurveDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'leave-one-out error'
    """

    ax_held_out_: Any
    lines_: list[Any]
    held_out_lines_: list[Any]
    legend_: Any

    def __init__(
        self,
        curves: Mapping[str, Curve],
        *,
        objective_name: str = "objective",
        step_name: str = "iteration",
        held_out_name: str | None = None,
    ) -> None:
        if not curves:
            raise ValueError("curves is empty: give one fitted model or more, by name.")
        self.curves = dict(curves)
        self.objective_name = objective_name
        self.step_name = step_name
        self.held_out_name = held_out_name

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None, **plot_options: Any) -> Self:
        """Draw how the objective of a fitted model fell.

        Parameters
        ----------
        model : UKR, DRUR, PrincipalManifold, SNE, or Pipeline that ends in one
            A fitted model.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        LearningCurveDisplay

        Examples
        --------
        >>> from twofold import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import LearningCurveDisplay
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> display = LearningCurveDisplay.from_estimator(model, scale="log")
        >>> len(display.lines_), display.ax_.get_yscale()
        (1, 'log')
        """
        return cls.from_estimators({"": model}, ax=ax, **plot_options)

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, Any], *, ax: Axes | None = None, **plot_options: Any
    ) -> Self:
        """Draw how the objectives of several fitted models fell, say with and without guidance.

        Parameters
        ----------
        models : mapping of str to estimator
            Fitted models of one kind, by the names they have in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        LearningCurveDisplay

        Examples
        --------
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import LearningCurveDisplay
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> models = {
        ...     kernel: UKR(1, kernel=kernel, init="isomap", random_state=0).fit(X)
        ...     for kernel in ("gaussian", "quartic")
        ... }
        >>> display = LearningCurveDisplay.from_estimators(models)
        >>> [text.get_text() for text in display.legend_.get_texts()]
        ['gaussian', 'quartic']
        """
        steps = [final_step(model) for model in models.values()]
        names = {_names_of(step) for step in steps}
        if len(names) > 1:
            raise ValueError(
                "The models minimise different objectives, which one picture cannot compare: draw them one by one."
            )
        curves = {str(n): _curve_of(step) for n, step in zip(models, steps, strict=True)}
        objective, step_name, held_out = names.pop() if names else ("", "", None)
        display = cls(curves, objective_name=objective, step_name=step_name, held_out_name=held_out)
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        scale: str = "auto",
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        scale : {"auto", "linear", "log"}, default="auto"
            Of the objective. "auto" is logarithmic where it fell more than twentyfold.
        line_kwargs : dict, default=None
            For ``Axes.plot``.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import LearningCurveDisplay
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> model = UKR(1, init="isomap", random_state=0).fit(X)
        >>> display = LearningCurveDisplay.from_estimator(model)
        >>> display.plot(scale="linear").ax_.get_yscale()
        'linear'
        """
        check_choice("scale", scale, ("auto", "linear", "log"))
        panel = self._open(ax, (WIDTH, 4.0))
        held_out = [curve for curve in self.curves.values() if len(curve.held_out)]
        self.ax_held_out_ = panel.twinx() if held_out and self.held_out_name is not None else None
        where = panel if self.ax_held_out_ is None else self.ax_held_out_
        self.lines_, self.held_out_lines_, handles, names = [], [], [], []
        alone = len(self.curves) == 1
        for number, (name, curve) in enumerate(self.curves.items()):
            style = {"color": LINE_COLORS[number % len(LINE_COLORS)], "linewidth": 1.6}
            style |= {"linestyle": LINE_STYLES[number % len(LINE_STYLES)]}
            single = {"marker": "o"} if len(curve.steps) == 1 else {}
            self.lines_ += panel.plot(
                curve.steps, curve.values, **{**style, **single, **(line_kwargs or {})}
            )
            handles.append(self.lines_[-1])
            names.append(name or "rows of the fit")
            if len(curve.held_out):
                color = LINE_COLORS[1] if alone else style["color"]
                own = {**style, "color": color, "linestyle": ":", "marker": "o", "markersize": 4}
                self.held_out_lines_ += where.plot(curve.held_out_steps, curve.held_out, **own)
                handles.append(self.held_out_lines_[-1])
                names.append(f"{name}, held out" if name else "held-out rows")
        panel.set(xlabel=self.step_name, ylabel=self.objective_name)
        if scale == "log" or (scale == "auto" and self._is_wide()):
            panel.set_yscale("log")
            readable_log(panel.yaxis)
        if self.ax_held_out_ is not None:
            self.ax_held_out_.set_ylabel(self.held_out_name)
        elif self._has_own_figure:
            without_frame(panel)
        self.legend_ = show_legend(self, handles, names) if len(handles) > 1 else None
        return self

    def _is_wide(self) -> bool:
        every = np.concatenate([curve.values for curve in self.curves.values()])
        return bool(every.min() > 0.0 and every.max() > WIDE_RANGE * every.min())


def _names_of(model: Any) -> tuple[str, str, str | None]:
    """Return what an estimator minimises, what its steps are, and what it measures of held-out rows if not that."""
    if isinstance(model, UKR):
        plain = model.objective == "reconstruction"
        error = "reconstruction error" if plain else "leave-one-out error"
        return error, "iteration", "share of held-out variance lost"
    if isinstance(model, DRUR):
        return "energy of a row", "turn", None
    if isinstance(model, PrincipalManifold):
        return "regularized quantization error", "turn", None
    if isinstance(model, SNE):
        return "Kullback-Leibler divergence of a row", "iteration", None
    raise ValueError(
        f"{type(model).__name__} is not fitted by iterations and has no learning curve: UKR, DRUR, PrincipalManifold and SNE have."
    )


def _curve_of(model: Any) -> Curve:
    history = np.asarray(model.history_, dtype=np.float64)
    nothing = np.empty(0)
    if isinstance(model, DRUR):  # after each turn; the start is not among them
        steps, held_out = np.arange(1.0, len(history) + 1.0), np.asarray(model.validation_history_)
        there = np.isfinite(held_out)
        return Curve(steps, history, steps[there], held_out[there])
    if isinstance(model, PrincipalManifold):  # several values a turn
        return Curve(np.linspace(0.0, model.n_iter_, len(history)), history, nothing, nothing)
    steps = np.arange(float(len(history)))
    held_out = np.asarray(getattr(model, "validation_history_", nothing))
    looks = VALIDATED_EVERY * np.arange(1.0, len(held_out) + 1.0)
    if len(held_out) == 1:
        looks = np.minimum(looks, steps[-1])
    return Curve(steps, history, looks, held_out)
