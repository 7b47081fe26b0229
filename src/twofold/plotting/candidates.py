"""What was compared before a model was chosen: starts, pairs of maps, weights of a penalty.

For UKR the picture of Meinicke et al. (2005), Fig. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.plotting._colors import DARK, LINE_COLORS, LINE_STYLES, MARKERS
from twofold.plotting._figures import Display, plain, readable_log, show_legend, without_frame
from twofold.plotting._latent_space import final_step
from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CandidatesDisplay"]

WIDTH = 6.0
AFTER = "after the fit"
WIDE_RANGE = 20.0
"""Ratio of errors beyond which their axis is logarithmic."""


@dataclass(frozen=True)
class _Table:
    """What a model has kept of its candidates."""

    names: list[str]
    errors: list[float]
    error_name: str
    positions: list[float] | None = None
    groups: list[str] | None = None
    spreads: list[float] | None = None
    chosen: int = 0
    final_error: float | None = None
    position_name: str = ""
    log_position: bool = False


class CandidatesDisplay(Display):
    """The errors of candidates: along a number they differ in, or one below the other.

    Make it with `from_estimator` or `from_estimators`.

    Parameters
    ----------
    names : sequence of str
        The candidates.
    errors : sequence of float
        Their errors.
    spreads : sequence of float, default=None
        Standard errors of these.
    positions : sequence of float, default=None
        The number that candidates differ in, such as neighbours; NaN for those without.
    groups : sequence of str, default=None
        Which candidates are joined by a line.
    chosen : sequence of int, default=(0,)
        Those that were taken, by their places in ``names``.
    final_errors : mapping of str to float, default=None
        Errors after the fit, by the group they belong to or any other name.
    error_name : str, default="error"
        What the axis of errors shows.
    position_name : str, default=""
        What that of positions shows.
    log_position : bool, default=False
        Whether positions are on a logarithmic axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    lines_ : list of matplotlib Line2D
        One for each group along a number; else one with all candidates, and one with those chosen.
    legend_ : matplotlib Legend or None
        What explains the lines.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import CandidatesDisplay
    >>> X, _ = make_noisy_spiral(100, random_state=0)
    >>> model = UKR(1, init=["isomap:6", "isomap:8"], random_state=0).fit(X)
    >>> display = CandidatesDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'neighbours'
    """

    lines_: list[Any]
    legend_: Any

    def __init__(
        self,
        *,
        names: Sequence[str],
        errors: Any,
        spreads: Any = None,
        positions: Any = None,
        groups: Sequence[str] | None = None,
        chosen: Sequence[int] = (0,),
        final_errors: Mapping[str, float] | None = None,
        error_name: str = "error",
        position_name: str = "",
        log_position: bool = False,
    ) -> None:
        self.names = list(names)
        self.errors: Array = np.asarray(errors, dtype=np.float64)
        if self.errors.shape != (len(self.names),) or not self.names:
            raise ValueError(
                f"errors has shape {self.errors.shape} for {len(self.names)} candidates: give one for each."
            )
        self.spreads = None if spreads is None else np.asarray(spreads, dtype=np.float64)
        self.positions = None if positions is None else np.asarray(positions, dtype=np.float64)
        self.groups = [""] * len(self.names) if groups is None else list(groups)
        self.chosen = list(chosen)
        self.final_errors = dict(final_errors or {})
        self.error_name = error_name
        self.position_name = position_name
        self.log_position = log_position

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None, **plot_options: Any) -> Self:
        """Draw the candidates of a fitted model.

        Parameters
        ----------
        model : UKR, DRUR, TwoWay, SNE, PrincipalManifold, or Pipeline that ends in one
            A fitted model: starts for `UKR` and `DRUR`, pairs of maps for `TwoWay` and `SNE`, weights of the penalty for
            `PrincipalManifold` (starts, where the weight was given).
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        CandidatesDisplay

        Examples
        --------
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> from twofold.plotting import CandidatesDisplay
        >>> X, _ = make_s_curve(60, random_state=0)
        >>> model = TwoWay("pca", random_state=0).fit(X)
        >>> display = CandidatesDisplay.from_estimator(model)
        >>> len(display.names) == len(model.candidates_)
        True
        """
        table = _table_of(final_step(model))
        return cls._of([("", table)]).plot(ax, **plot_options)

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, Any], *, ax: Axes | None = None, **plot_options: Any
    ) -> Self:
        """Draw the candidates of several fitted models together, say of `UKR` with two kernels.

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
        CandidatesDisplay

        Examples
        --------
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import CandidatesDisplay
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> starts = ["isomap:6", "isomap:8"]
        >>> models = {
        ...     kernel: UKR(1, kernel=kernel, init=starts, random_state=0).fit(X)
        ...     for kernel in ("gaussian", "quartic")
        ... }
        >>> display = CandidatesDisplay.from_estimators(models)
        >>> len(display.names)
        4
        """
        tables = [(str(name), _table_of(final_step(model))) for name, model in models.items()]
        if not tables:
            raise ValueError("models is empty: give one fitted model or more, by name.")
        if len({table.error_name for _, table in tables}) > 1:
            raise ValueError(
                "The models measure different errors, which one picture cannot compare: draw them one by one."
            )
        return cls._of(tables).plot(ax, **plot_options)

    @classmethod
    def _of(cls, tables: list[tuple[str, _Table]]) -> Self:
        first = tables[0][1]
        names: list[str] = []
        groups: list[str] = []
        errors: list[float] = []
        positions: list[float] = []
        spreads: list[float] = []
        chosen: list[int] = []
        finals: dict[str, float] = {}
        for series, table in tables:
            size = len(table.names)
            chosen.append(len(names) + table.chosen)
            names += [f"{series}, {name}" if series else name for name in table.names]
            errors += table.errors
            positions += table.positions or [np.nan] * size
            groups += [", ".join(filter(None, (series, g))) for g in table.groups or [""] * size]
            spreads += table.spreads or [np.nan] * size
            if table.final_error is not None:
                finals[", ".join(filter(None, (series, AFTER)))] = table.final_error
        return cls(
            names=names,
            errors=errors,
            spreads=spreads if np.isfinite(spreads).any() else None,
            positions=positions if np.isfinite(positions).any() else None,
            groups=groups,
            chosen=chosen,
            final_errors=finals,
            error_name=first.error_name,
            position_name=first.position_name,
            log_position=first.log_position,
        )

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        line_kwargs : dict, default=None
            For ``Axes.plot``.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold.plotting import CandidatesDisplay
        >>> display = CandidatesDisplay(names=["pca", "isomap"], errors=[0.4, 0.1], chosen=[1])
        >>> display.plot(line_kwargs={"color": "black"}).ax_.get_xlabel()
        'error'
        """
        self.legend_ = None
        draw = self._draw_curves if self._has_curves() else self._draw_rows
        draw(ax, line_kwargs or {})
        if self._has_own_figure:
            without_frame(self.ax_)
        return self

    def _has_curves(self) -> bool:
        """Tell whether some group has two positions or more."""
        if self.positions is None:
            return False
        there = [g for g, p in zip(self.groups, self.positions, strict=True) if np.isfinite(p)]
        return len(there) > len(set(there))

    def _draw_curves(self, ax: Any, line_kwargs: dict[str, Any]) -> None:
        assert self.positions is not None
        ax = self._open(ax, (WIDTH, 4.0))
        self.lines_, names = [], []
        for number, group in enumerate(dict.fromkeys(self.groups)):
            rows = np.array([own == group for own in self.groups])
            style = {
                "color": LINE_COLORS[number % len(LINE_COLORS)],
                "linestyle": LINE_STYLES[number % len(LINE_STYLES)],
                "markersize": 5.0,
            }
            style |= line_kwargs
            there = np.flatnonzero(rows & np.isfinite(self.positions))
            there = there[np.argsort(self.positions[there], kind="stable")]
            if not len(there):  # no number: the same for all of them
                level = float(self.errors[rows].min())
                line = ax.axhline(level, linewidth=1.0, **{**style, "linestyle": ":"})
                self.lines_.append(line)
                names.append(group)
                continue
            x, y = self.positions[there], self.errors[there]
            own = {"marker": MARKERS[number % len(MARKERS)], **style}
            self.lines_ += ax.plot(x, y, **own)
            names.append(group)
            if self.spreads is not None:
                band = self.spreads[there]
                ax.fill_between(x, y - band, y + band, color=own["color"], alpha=0.2, linewidth=0)
        self._mark_chosen(ax)
        handles = list(self.lines_)
        for name, error in self.final_errors.items():
            color = self._color_of(name)
            handles.append(ax.axhline(error, color=color, linewidth=1.0, linestyle="--"))
            names.append(f"{name} ({error:.3g})")
        if self.log_position:
            ax.set_xscale("log")
        self._scale(ax.set_yscale, ax.yaxis)
        ax.set(xlabel=self.position_name, ylabel=self.error_name)
        if len(handles) > 1:
            self.legend_ = show_legend(self, handles, names)

    def _color_of(self, final: str) -> str:
        """Return the colour of an error after the fit: that of its model's first line, or black where there is one model."""
        own = final.removesuffix(AFTER).rstrip(", ")
        groups = list(dict.fromkeys(self.groups))
        numbers = [k for k, group in enumerate(groups) if own and group.startswith(own)]
        return LINE_COLORS[numbers[0] % len(LINE_COLORS)] if numbers else "black"

    def _mark_chosen(self, ax: Any) -> None:
        """Put a ring around what was taken."""
        assert self.positions is not None
        rows = [row for row in self.chosen if np.isfinite(self.positions[row])]
        style = {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": "none"}
        ax.plot(self.positions[rows], self.errors[rows], markeredgecolor="black", **style)

    def _draw_rows(self, ax: Any, line_kwargs: dict[str, Any]) -> None:
        finals = list(self.final_errors.items())
        order = np.argsort(self.errors, kind="stable")
        ax = self._open(ax, (WIDTH, 0.27 * (len(order) + len(finals)) + 0.9))
        heights = np.arange(len(order), dtype=np.float64)
        errors = self.errors[order]
        taken = np.isin(order, self.chosen)
        style = {"linestyle": "none", "marker": "o", "markersize": 6.0, "color": "#888888"}
        self.lines_ = [
            *ax.plot(errors, heights, **{**style, **line_kwargs}),
            *ax.plot(errors[taken], heights[taken], **{**style, "color": DARK, **line_kwargs}),
        ]
        if self.spreads is not None:
            ax.hlines(
                heights, errors - self.spreads[order], errors + self.spreads[order], "#888888"
            )
        names = [self.names[row] for row in order]
        for number, (name, error) in enumerate(finals):
            ax.plot(error, -1.0 - number, **{**style, "marker": "D", "color": DARK, **line_kwargs})
            names.append(name)
            heights, errors = np.append(heights, -1.0 - number), np.append(errors, error)
        for height, error in zip(heights, errors, strict=True):
            ax.annotate(
                f"{error:.3g}",
                (error, height),
                (7, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        ax.set_yticks(heights, [plain(name) for name in names])
        for label in ax.get_yticklabels():
            label.set_parse_math(False)
        ax.set(xlabel=self.error_name, ylim=(heights.max() + 0.7, heights.min() - 0.7))
        self._scale(ax.set_xscale, ax.xaxis)
        ax.margins(x=0.15)
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)

    def _scale(self, set_scale: Any, axis: Any) -> None:
        every = np.array([*self.errors, *self.final_errors.values()])
        if every.min() > 0.0 and every.max() > WIDE_RANGE * every.min():
            set_scale("log")
            readable_log(axis)


def _table_of(model: Any) -> _Table:
    """Return the candidates that a fitted estimator has kept."""
    alphas = getattr(model, "alphas_", None)
    if alphas is not None:
        return _penalties(model)
    rows = getattr(model, "candidates_", [])
    if not rows:
        raise ValueError(
            f"This {type(model).__name__} has compared no candidates: there is nothing to draw."
        )
    if "up" in rows[0]:
        return _Table(
            names=[f"{row['up']} up, {row['down']} down" for row in rows],
            errors=[float(row["error"]) for row in rows],
            error_name="share of held-out variance lost",
        )
    key, error_name = next(
        (key, name)
        for key, name in (
            ("cv_error", "leave-one-out error"),
            ("energy", "energy after one turn"),
            ("value", "functional after a few turns"),
        )
        if key in rows[0]
    )
    table = _Table(
        names=[str(row["name"]) for row in rows],
        errors=[float(row[key]) for row in rows],
        error_name=error_name,
    )
    if key != "cv_error":
        return table
    parts = [name.partition(":") for name in table.names]
    return replace(
        table,
        positions=[float(number) if number.isdigit() else np.nan for _, _, number in parts],
        groups=[
            method if number.isdigit() else method + colon + number
            for method, colon, number in parts
        ],
        final_error=float(model.cv_error_),
        position_name="neighbours",
    )


def _penalties(model: Any) -> _Table:
    """Return the weights of the penalty that a principal manifold has compared."""
    alphas, errors = np.asarray(model.alphas_), np.asarray(model.cv_errors_)
    spread = errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1]) if errors.shape[1] > 1 else None
    return _Table(
        names=[f"alpha {alpha:.3g}" for alpha in alphas],
        errors=errors.mean(axis=1).tolist(),
        error_name="mean held-out loss",
        positions=alphas.tolist(),
        spreads=None if spread is None else spread.tolist(),
        chosen=int(np.abs(np.log(alphas / model.alpha_)).argmin()),
        position_name="weight of the penalty, alpha",
        log_position=True,
    )
