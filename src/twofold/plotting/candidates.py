"""The candidates that a fit compared: initializations, pairs of maps, weights of a penalty.

For UKR the picture of Meinicke et al. (2005), Fig. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.base import TwoWayEstimator
from twofold.plotting._figures import (
    Axes,
    plain,
    plain_texts,
    readable_log,
    spans_decades,
    without_frame,
)
from twofold.plotting._labels import DARK, LINE_COLORS, LINE_STYLES, MARKERS
from twofold.plotting._model_comparison import ModelComparison
from twofold.principal_manifold import PrincipalManifold

WIDTH = 6.0
AFTER = "after the fit"
GREY = "#888888"

MEASURES = {
    "cv_error": "leave-one-out error",
    "energy": "energy after one iteration",
    "value": "functional after a few iterations",
}
"""The keys of errors in the records of candidates, and their names on the axis."""


@dataclass(eq=False, repr=False)
class CandidatesDisplay(ModelComparison):
    """The errors of candidates, along a number in which they differ or one below the other.

    Create it with `from_estimator` or `from_estimators`, for fitted models: initializations of
    `UKR` and `DRUR`, pairs of maps of `TwoWay` and `SNE`, weights of the penalty of
    `PrincipalManifold` (initializations if the weight was given). The chosen candidate has the best
    score of its map, see ``candidates_``, and need not have the lowest error.

    Parameters
    ----------
    names : sequence of str
        The candidates.
    errors : sequence of float
        Their errors.
    spreads : sequence of float, default=None
        The standard errors of these.
    positions : sequence of float, default=None
        The number in which candidates differ, such as neighbors; NaN for those without.
    groups : sequence of str, default=None
        Candidates of one group are joined by a line.
    chosen : sequence of int, default=(0,)
        The positions of the chosen candidates in ``names``.
    final_errors : mapping of str to float, default=None
        Errors after the fit, by the group they belong to or any other name.
    error_name : str, default="error"
        The name of the axis of errors.
    position_name : str, default=""
        The name of the axis of positions.
    log_position : bool, default=False
        Whether the axis of positions is logarithmic.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    lines_ : list of matplotlib Line2D
        One line per group along a number; else one of all candidates and one of the chosen ones.
    legend_ : matplotlib Legend or None
        The names of the lines.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import CandidatesDisplay
    >>> X, _ = make_noisy_spiral(60, random_state=0)
    >>> starts = ["isomap:6", "isomap:8"]
    >>> models = {k: UKR(1, kernel=k, init=starts).fit(X) for k in ("gaussian", "quartic")}
    >>> CandidatesDisplay.from_estimator(models["quartic"]).ax_.get_xlabel()
    'neighbors'
    >>> display = CandidatesDisplay.from_estimators(models, line_kwargs={"linewidth": 1})
    >>> len(display.names)
    4
    >>> display.plot() is display
    True
    """

    _: KW_ONLY
    names: Sequence[str]
    errors: Any
    spreads: Any = None
    positions: Any = None
    groups: Sequence[str] | None = None
    chosen: Sequence[int] = (0,)
    final_errors: Mapping[str, float] | None = None
    error_name: str = "error"
    position_name: str = ""
    log_position: bool = False

    def __post_init__(self) -> None:
        self.names = list(self.names)
        self.errors = np.asarray(self.errors, dtype=np.float64)
        if self.errors.shape != (len(self.names),) or not self.names:
            raise ValueError(
                f"errors has shape {self.errors.shape} for {len(self.names)} candidates: give one "
                "for each."
            )
        unknown = np.full(len(self.names), np.nan)
        self.spreads, self.positions = (
            unknown if numbers is None else np.asarray(numbers, dtype=np.float64)
            for numbers in (self.spreads, self.positions)
        )
        self.groups = [""] * len(self.names) if self.groups is None else list(self.groups)
        self.final_errors = dict(self.final_errors or {})

    @classmethod
    def _of(cls, models: dict[str, TwoWayEstimator]) -> Self:
        parts = {name: cls(**_candidates_of(model)) for name, model in models.items()}
        every = list(parts.values())
        if len({part.error_name for part in every}) > 1:
            raise ValueError(
                "The models measure different errors, which one picture cannot compare: draw them "
                "one by one."
            )
        starts = np.cumsum([0, *(len(part.names) for part in every)])
        return cls(
            names=[_joined(model, name) for model, part in parts.items() for name in part.names],
            groups=[_joined(model, g) for model, part in parts.items() for g in part.groups or ()],
            chosen=[start + part.chosen[0] for start, part in zip(starts, every, strict=False)],
            final_errors={
                _joined(model, name): error
                for model, part in parts.items()
                for name, error in (part.final_errors or {}).items()
            },
            errors=np.concatenate([part.errors for part in every]),
            spreads=np.concatenate([part.spreads for part in every]),
            positions=np.concatenate([part.positions for part in every]),
            error_name=every[0].error_name,
            position_name=every[0].position_name,
            log_position=every[0].log_position,
        )

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        line_kwargs : dict, default=None
            Options of ``Axes.plot``.

        Returns
        -------
        self
        """
        self.legend_: Any = None
        draw = self._draw_curves if self._has_curves() else self._draw_rows
        draw(ax, line_kwargs or {})
        if self._has_own_figure:
            without_frame(self.ax_)
        return self

    def _has_curves(self) -> bool:
        """Return whether some group has two positions or more."""
        there = [
            g for g, p in zip(self.groups or (), self.positions, strict=True) if np.isfinite(p)
        ]
        return len(there) > len(set(there))

    def _draw_curves(self, ax: Any, line_kwargs: dict[str, Any]) -> None:
        ax = self._open(ax, (WIDTH, 4.0))
        names = list(dict.fromkeys(self.groups or ()))
        self.lines_: list[Any] = []
        for number, group in enumerate(names):
            rows = np.array([own == group for own in self.groups or ()])
            style = {
                "color": LINE_COLORS[number % len(LINE_COLORS)],
                "linestyle": LINE_STYLES[number % len(LINE_STYLES)],
                "markersize": 5.0,
                **line_kwargs,
            }
            there = np.flatnonzero(rows & np.isfinite(self.positions))
            there = there[np.argsort(self.positions[there], kind="stable")]
            if not len(there):  # no number: a horizontal line
                level = float(self.errors[rows].min())
                self.lines_.append(ax.axhline(level, linewidth=1.0, **{**style, "linestyle": ":"}))
                continue
            x, y = self.positions[there], self.errors[there]
            own = {"marker": MARKERS[number % len(MARKERS)], **style}
            self.lines_ += ax.plot(x, y, **own)
            if np.isfinite(self.spreads).any():
                band = self.spreads[there]
                ax.fill_between(x, y - band, y + band, color=own["color"], alpha=0.2, linewidth=0)
        taken = [row for row in self.chosen if np.isfinite(self.positions[row])]
        ring = {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": "none"}
        ax.plot(self.positions[taken], self.errors[taken], markeredgecolor="black", **ring)
        handles = list(self.lines_)
        for name, error in (self.final_errors or {}).items():
            color = self._color_of(name)
            handles.append(ax.axhline(error, color=color, linewidth=1.0, linestyle="--"))
            names.append(f"{name} ({error:.3g})")
        if self.log_position:
            ax.set_xscale("log")
        self._scale(ax.set_yscale, ax.yaxis)
        ax.set(xlabel=self.position_name, ylabel=self.error_name)
        if len(handles) > 1:
            self.legend_ = self._show_legend(handles, names)

    def _color_of(self, final: str) -> str:
        """Return the color of an error after the fit: that of its model, black for one model."""
        own = final.removesuffix(AFTER).rstrip(", ")
        groups = list(dict.fromkeys(self.groups or ()))
        numbers = [k for k, group in enumerate(groups) if own and group.startswith(own)]
        return LINE_COLORS[numbers[0] % len(LINE_COLORS)] if numbers else "black"

    def _draw_rows(self, ax: Any, line_kwargs: dict[str, Any]) -> None:
        finals = self.final_errors or {}
        order = np.argsort(self.errors, kind="stable")
        ax = self._open(ax, (WIDTH, 0.27 * (len(order) + len(finals)) + 0.9))
        heights = np.arange(len(order), dtype=np.float64)
        errors = self.errors[order]
        taken = np.isin(order, self.chosen)
        style = {"linestyle": "none", "marker": "o", "markersize": 6.0, "color": GREY}
        self.lines_ = [
            *ax.plot(errors, heights, **{**style, **line_kwargs}),
            *ax.plot(errors[taken], heights[taken], **{**style, "color": DARK, **line_kwargs}),
        ]
        if np.isfinite(self.spreads).any():
            spreads = self.spreads[order]
            ax.hlines(heights, errors - spreads, errors + spreads, GREY)
        names = [*(self.names[row] for row in order), *finals]
        below = -1.0 - np.arange(len(finals))
        for error, height in zip(finals.values(), below, strict=True):
            ax.plot(error, height, **{**style, "marker": "D", "color": DARK, **line_kwargs})
        heights, errors = np.append(heights, below), np.append(errors, list(finals.values()))
        beside = {"xytext": (7, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
        for height, error in zip(heights, errors, strict=True):
            ax.annotate(f"{error:.3g}", (error, height), **beside)
        ax.set_yticks(heights, [plain(name) for name in names])
        plain_texts(ax.get_yticklabels())
        ax.set(xlabel=self.error_name, ylim=(heights.max() + 0.7, heights.min() - 0.7))
        self._scale(ax.set_xscale, ax.xaxis)
        ax.margins(x=0.15)
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)

    def _scale(self, set_scale: Any, axis: Any) -> None:
        if spans_decades(np.array([*self.errors, *(self.final_errors or {}).values()])):
            set_scale("log")
            readable_log(axis)


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _candidates_of(model: TwoWayEstimator) -> dict[str, Any]:
    """Return the parameters of the display of a fitted estimator."""
    if isinstance(model, PrincipalManifold) and getattr(model, "alphas_", None) is not None:
        return _penalties_of(model)
    rows: list[dict[str, Any]] = getattr(model, "candidates_", [])
    if not rows:
        raise ValueError(
            f"This {type(model).__name__} has compared no candidates: there is nothing to draw."
        )
    if "up" in rows[0]:
        names = [f"{row['up']} up, {row['down']} down" for row in rows]
        key, error_name = "error", "share of held-out variance lost"
    else:
        names = [str(row["name"]) for row in rows]
        key = next(key for key in MEASURES if key in rows[0])
        error_name = MEASURES[key]
    found = {"names": names, "errors": [row[key] for row in rows], "error_name": error_name}
    if key != "cv_error":
        return found
    parts = [name.partition(":") for name in names]  # method, colon, number of neighbors
    return found | {
        "positions": [float(number) if number.isdigit() else np.nan for _, _, number in parts],
        "groups": [p[0] if p[2].isdigit() else n for p, n in zip(parts, names, strict=True)],
        "final_errors": {AFTER: float(getattr(model, key + "_"))},
        "position_name": "neighbors",
    }


def _penalties_of(model: PrincipalManifold) -> dict[str, Any]:
    """Return the weights of the penalty that a principal manifold has compared."""
    alphas, errors = np.asarray(model.alphas_), np.asarray(model.cv_errors_)
    n_folds = errors.shape[1]
    return {
        "names": [f"alpha {alpha:.3g}" for alpha in alphas],
        "errors": errors.mean(axis=1),
        "error_name": "mean held-out loss",
        "positions": alphas,
        "spreads": errors.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else None,
        "chosen": [int(np.abs(np.log(alphas / model.alpha_)).argmin())],
        "position_name": "weight of the penalty, alpha",
        "log_position": True,
    }
