"""The objective of a fit over its iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.base import TwoWayEstimator
from twofold.drur import DRUR
from twofold.numerics.validation import check_choice
from twofold.plotting._figures import Axes, readable_log, spans_decades, without_frame
from twofold.plotting._labels import LINE_COLORS, LINE_STYLES
from twofold.plotting._model_comparison import ModelComparison
from twofold.principal_manifold import PrincipalManifold
from twofold.protocols import Array
from twofold.sne import SNE
from twofold.ukr import UKR
from twofold.ukr.descent import VALIDATE_EVERY

WIDTH = 6.0


@dataclass(frozen=True)
class Curve:
    """The objective (k,) after steps (k,), and held-out errors (m,), which may be empty."""

    steps: Array
    values: Array
    held_out_steps: Array
    held_out: Array


@dataclass(eq=False, repr=False)
class LearningCurveDisplay(ModelComparison):
    """The objective of fits over their iterations, with the errors of held-out rows if any.

    Create it with `from_estimator` or `from_estimators`, for fitted `UKR`, `DRUR`,
    `PrincipalManifold` or `SNE`.

    Parameters
    ----------
    curves : mapping of str to Curve
        The runs, by their names in the legend.
    objective_name : str, default="objective"
        The name of the objective.
    step_name : str, default="iteration"
        The name of a step.
    held_out_name : str, default=None
        The name of the held-out error if it is not the objective; it then has its own axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    ax_held_out_ : matplotlib Axes or None
        The axis of held-out errors that are not the objective.
    lines_, held_out_lines_, legend_ : lists of matplotlib Line2D, and Legend or None
        The curves and their names.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import LearningCurveDisplay
    >>> X, _ = make_noisy_spiral(60, random_state=0)
    >>> models = {k: UKR(1, kernel=k, init="pca").fit(X) for k in ("gaussian", "quartic")}
    >>> LearningCurveDisplay.from_estimator(models["quartic"]).ax_.get_ylabel()
    'leave-one-out error'
    >>> display = LearningCurveDisplay.from_estimators(models)
    >>> [text.get_text() for text in display.plot(scale="log").legend_.get_texts()]
    ['gaussian', 'quartic']
    """

    curves: Mapping[str, Curve]
    _: KW_ONLY
    objective_name: str = "objective"
    step_name: str = "iteration"
    held_out_name: str | None = None

    def __post_init__(self) -> None:
        if not self.curves:
            raise ValueError("curves is empty: give one curve or more, by name.")
        self.curves = dict(self.curves)

    @classmethod
    def _of(cls, models: dict[str, TwoWayEstimator]) -> Self:
        names = {_names_of(model) for model in models.values()}
        if len(names) > 1:
            raise ValueError(
                "The models minimize different objectives, which one picture cannot compare: draw "
                "them one by one."
            )
        objective, step, held_out = names.pop()
        curves = {name: _curve_of(model) for name, model in models.items()}
        return cls(curves, objective_name=objective, step_name=step, held_out_name=held_out)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        scale: str = "auto",
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        scale : {"auto", "linear", "log"}, default="auto"
            The scale of the objective. "auto" is logarithmic if it fell more than twentyfold.
        line_kwargs : dict, default=None
            Options of ``Axes.plot``.

        Returns
        -------
        self
        """
        check_choice("scale", scale, ("auto", "linear", "log"))
        panel = self._open(ax, (WIDTH, 4.0))
        held_out = any(len(curve.held_out) for curve in self.curves.values())
        self.ax_held_out_ = panel.twinx() if held_out and self.held_out_name is not None else None
        where = panel if self.ax_held_out_ is None else self.ax_held_out_
        self.lines_: list[Any] = []
        self.held_out_lines_: list[Any] = []
        handles, names = [], []
        alone = len(self.curves) == 1
        for number, (name, curve) in enumerate(self.curves.items()):
            style = {"color": LINE_COLORS[number % len(LINE_COLORS)], "linewidth": 1.6}
            style |= {"linestyle": LINE_STYLES[number % len(LINE_STYLES)]}
            single = {"marker": "o"} if len(curve.steps) == 1 else {}
            own = {**style, **single, **(line_kwargs or {})}
            self.lines_ += panel.plot(curve.steps, curve.values, **own)
            handles.append(self.lines_[-1])
            names.append(name or "rows of the fit")
            if len(curve.held_out):
                color = LINE_COLORS[1] if alone else style["color"]
                own = {**style, "color": color, "linestyle": ":", "marker": "o", "markersize": 4}
                self.held_out_lines_ += where.plot(curve.held_out_steps, curve.held_out, **own)
                handles.append(self.held_out_lines_[-1])
                names.append(f"{name}, held out" if name else "held-out rows")
        panel.set(xlabel=self.step_name, ylabel=self.objective_name)
        values = np.concatenate([curve.values for curve in self.curves.values()])
        if scale == "log" or (scale == "auto" and spans_decades(values)):
            panel.set_yscale("log")
            readable_log(panel.yaxis)
        if self.ax_held_out_ is not None:
            self.ax_held_out_.set_ylabel(self.held_out_name)
        elif self._has_own_figure:
            without_frame(panel)
        self.legend_ = self._show_legend(handles, names) if len(handles) > 1 else None
        return self


def _names_of(model: TwoWayEstimator) -> tuple[str, str, str | None]:
    """Return the names of an estimator's objective, of a step, and of another held-out error."""
    if isinstance(model, UKR):
        plain = model.objective == "reconstruction"
        error = "reconstruction error" if plain else "leave-one-out error"
        return error, "iteration", "map score of held-out rows"
    if isinstance(model, DRUR):
        return "energy of a row", "iteration", None
    if isinstance(model, PrincipalManifold):
        return "regularized quantization error", "iteration", None
    if isinstance(model, SNE):
        return "Kullback-Leibler divergence of a row", "iteration", None
    raise ValueError(
        f"{type(model).__name__} is not fitted by iterations and has no learning curve: UKR, DRUR, "
        "PrincipalManifold and SNE have."
    )


def _curve_of(model: TwoWayEstimator) -> Curve:
    assert isinstance(model, UKR | DRUR | PrincipalManifold | SNE)
    history = np.asarray(model.history_, dtype=np.float64)
    nothing = np.empty(0)
    if isinstance(model, DRUR):  # after each iteration, without the start
        steps, held_out = np.arange(1.0, len(history) + 1.0), np.asarray(model.validation_history_)
        there = np.isfinite(held_out)
        return Curve(steps, history, steps[there], held_out[there])
    if isinstance(model, PrincipalManifold):  # several values per iteration
        return Curve(np.linspace(0.0, model.n_iter_, len(history)), history, nothing, nothing)
    steps = np.arange(float(len(history)))
    held_out = np.asarray(getattr(model, "validation_history_", nothing))
    looks = VALIDATE_EVERY * np.arange(1.0, len(held_out) + 1.0)
    if len(held_out) == 1:
        looks = np.minimum(looks, steps[-1])
    return Curve(steps, history, looks, held_out)
