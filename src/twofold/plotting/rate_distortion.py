"""Codebook errors against the number of codewords, beside what is possible without a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from twofold.metrics import RateDistortion, rate_distortion
from twofold.numerics.validation import RandomLike
from twofold.plotting._figures import Axes, Display, without_frame
from twofold.plotting._labels import LINE_COLORS, LINE_STYLES, MARKERS
from twofold.protocols import Array

GRAY = "#666666"
LIMIT = "k-means of the data"
LOOKUPS = {
    "nearest_row": ("nearest training row", (0, (1, 1.5))),
    "mean_of_five": ("mean of five nearest", (0, (4, 1.5, 1, 1.5))),
}
"""Errors of looking up training rows: their names in the legend and their dashes."""

NO_LIMIT = "no limit"
STEP = 4.0  # ratio of the place of the plain error to the largest number of codewords
HALF_MARK = 1.45  # ratio of the ends of its mark to its place


@dataclass(eq=False, repr=False)
class RateDistortionDisplay(Display):
    """Codebook errors of models against the number of codewords, on logarithmic axes.

    A dashed line is the limit, k-means of the data. Marks at the right are the plain errors,
    without a limit on the number of codewords. Horizontal lines are the errors of looking up
    training rows, if these are known. Create it with `from_estimator` or `from_estimators`.

    Parameters
    ----------
    curves : mapping of str to RateDistortion
        The curves, by their names in the legend; all of the same held-out rows.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    lines_, marks_ : lists of matplotlib Line2D
        The curve and the plain error of each model.
    limit_ : matplotlib Line2D or None
        The limit, if it is known.
    lookups_ : list of matplotlib Line2D
        The errors of looking up training rows.
    legend_ : matplotlib Legend
        The names of the lines.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.plotting import RateDistortionDisplay
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> models = {e: TwoWay(e, up="nw", down="nw").fit(X[:300]) for e in ("pca", "isomap")}
    >>> display = RateDistortionDisplay.from_estimators(models, X[300:], X_train=X[:300])
    >>> [text.get_text() for text in display.plot().legend_.get_texts()][:3]
    ['pca', 'isomap', 'k-means of the data']
    >>> display = RateDistortionDisplay.from_estimator(models["isomap"], X[300:])
    >>> display.ax_.get_xlabel()
    'codewords'
    """

    curves: Mapping[str, RateDistortion]

    def __post_init__(self) -> None:
        if not self.curves:
            raise ValueError("curves is empty: give one curve or more, by name.")
        self.curves = {str(name): curve for name, curve in self.curves.items()}

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        X_train: Any = None,
        n_codes: Sequence[int] | None = None,
        random_state: RandomLike = 0,
        **plot_options: Any,
    ) -> Self:
        """Judge a fitted model by held-out rows, and draw its curve.

        Parameters
        ----------
        model : TwoWayEstimator, Pipeline that ends in one, or other model with both maps
            A fitted model with training latents ``embedding_``.
        X : array-like of shape (n_samples, n_features)
            Held-out data.
        X_train : array-like of shape (n_train, n_features), default=None
            The training data, for the limit and the errors of looking up training rows. None means
            that halves of ``X`` give the limit.
        n_codes : sequence of int, default=None
            Numbers of codewords; None means 16, 64, 256 and 1,024, as far as there are rows.
        random_state : int, RandomState, Generator or None, default=0
            Seeds k-means.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        RateDistortionDisplay
        """
        judged = {"X_train": X_train, "n_codes": n_codes, "random_state": random_state}
        return cls.from_estimators({"model": model}, X, **judged, **plot_options)

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: Any,
        *,
        X_train: Any = None,
        n_codes: Sequence[int] | None = None,
        random_state: RandomLike = 0,
        **plot_options: Any,
    ) -> Self:
        """Judge several fitted models by the same held-out rows, and draw their curves.

        Parameters
        ----------
        models : mapping of str to estimator
            Fitted models, by their names in the legend.
        X : array-like of shape (n_samples, n_features)
            Held-out data.
        X_train : array-like of shape (n_train, n_features), default=None
            The training data, see `from_estimator`.
        n_codes : sequence of int, default=None
            Numbers of codewords; None means 16, 64, 256 and 1,024, as far as there are rows.
        random_state : int, RandomState, Generator or None, default=0
            Seeds k-means.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        RateDistortionDisplay
        """
        if not models:
            raise ValueError("models is empty: give one fitted model or more, by name.")
        curves = {
            name: rate_distortion(
                model, X, X_train=X_train, n_codes=n_codes, random_state=random_state
            )
            for name, model in models.items()
        }
        return cls(curves).plot(**plot_options)

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        line_kwargs : dict, default=None
            Options of ``Axes.plot`` for the curves.

        Returns
        -------
        self
        """
        panel = self._open(ax, (6.0, 4.2))
        sizes = sorted({int(size) for curve in self.curves.values() for size in curve.n_codes})
        place = STEP * max(sizes, default=1)
        ends = [place / HALF_MARK, place * HALF_MARK]
        self.lines_: list[Any] = []
        self.marks_: list[Any] = []
        for number, curve in enumerate(self.curves.values()):
            color = LINE_COLORS[number % len(LINE_COLORS)]
            style = {
                "color": color,
                "linestyle": LINE_STYLES[number // len(LINE_COLORS) % len(LINE_STYLES)],
                "marker": MARKERS[number % len(MARKERS)],
                "markersize": 5.0,
                **(line_kwargs or {}),
            }
            order = np.argsort(curve.n_codes)
            self.lines_ += panel.plot(curve.n_codes[order], _drawable(curve.errors[order]), **style)
            level = _drawable([curve.error] * 2)
            self.marks_ += panel.plot(ends, level, color=style["color"], linewidth=2.5)
        self._draw_references(panel)
        panel.set(xscale="log", yscale="log", xlabel="codewords")
        panel.set_ylabel("share of held-out variance lost")
        panel.set_xticks([*sizes, place], [*map(str, sizes), NO_LIMIT])
        _label_errors(panel.yaxis)
        panel.xaxis.set_minor_locator(_nowhere())
        if self._has_own_figure:
            without_frame(panel)
        shown = [*self.lines_, *([self.limit_] if self.limit_ else []), *self.lookups_]
        names = [*self.curves, *([LIMIT] if self.limit_ else []), *self._lookup_names]
        self.legend_ = self._show_legend(shown, names)
        return self

    def _draw_references(self, panel: Any) -> None:
        """Draw the limit, and the errors of looking up training rows."""
        limits = {
            int(size): limit
            for curve in self.curves.values()
            for size, limit in zip(curve.n_codes, _drawable(curve.limits), strict=True)
            if np.isfinite(limit)
        }
        self.limit_: Any = None
        if limits:
            xs = sorted(limits)
            style = {"color": GRAY, "linestyle": "--", "marker": ".", "zorder": 1.5}
            (self.limit_,) = panel.plot(xs, [limits[x] for x in xs], **style)
        self.lookups_: list[Any] = []
        self._lookup_names: list[str] = []
        for name, (text, dashes) in LOOKUPS.items():
            known = [getattr(curve, name) for curve in self.curves.values()]
            level = next((error for error in known if error is not None and error > 0), None)
            if level is not None and np.isfinite(level):
                line = panel.axhline(level, color=GRAY, linewidth=1.0, linestyle=dashes, zorder=1)
                self.lookups_.append(line)
                self._lookup_names.append(text)


def _drawable(errors: Any) -> Array:
    """Replace errors that a logarithmic axis cannot show by NaN."""
    found = np.asarray(errors, dtype=np.float64)
    return np.where((found > 0.0) & np.isfinite(found), found, np.nan)


def _label_errors(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, more of them if it spans less than a decade."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    low, high = axis.get_view_interval()
    steps = (1.0, 2.0, 5.0) if high > 10.0 * low else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(_nowhere())


def _nowhere() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
