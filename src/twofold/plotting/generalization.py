"""A learning curve beside the rate that a kernel's eigenvalues predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.plotting._figures import Axes, Display, readable_log, without_frame
from twofold.plotting._labels import LINE_COLORS
from twofold.principal_manifold import PrincipalManifold
from twofold.principal_manifold.generalization import GeneralizationReport
from twofold.protocols import Array


@dataclass(eq=False, repr=False)
class GeneralizationDisplay(Display):
    """The excess over the lowest error for more and more rows, and its predicted rate.

    If the report does not know the lowest error, the training error takes its place.

    This is a diagnostic, not a certificate. Create it with `from_report` or `from_estimator`.

    Parameters
    ----------
    report : GeneralizationReport
        A report with a learning curve.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    splits_, measured_, predicted_, legend_ : matplotlib Line2D and Legend
        The differences of single splits, their medians, and the predicted rate through these.

    Examples
    --------
    >>> from twofold import PrincipalManifold
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import GeneralizationDisplay
    >>> X, _ = make_noisy_spiral(60, random_state=0)
    >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
    >>> report = model.generalization_report(X, n_repeats=1)
    >>> display = GeneralizationDisplay.from_report(report)
    >>> display.plot(line_kwargs={"color": "black"}).ax_.get_title()
    'A diagnostic, not a certificate'
    >>> display = GeneralizationDisplay.from_estimator(model, X, n_repeats=2)
    >>> display.report.curve.held_out.shape
    (2, 2)
    """

    report: GeneralizationReport

    def __post_init__(self) -> None:
        if self.report.curve is None:
            raise ValueError(
                "The report has no learning curve: call generalization_report(X) with data."
            )

    @classmethod
    def from_report(cls, report: GeneralizationReport, **plot_options: Any) -> Self:
        """Draw a report.

        Parameters
        ----------
        report : GeneralizationReport
            The result of ``PrincipalManifold.generalization_report(X)``.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        GeneralizationDisplay
        """
        return cls(report).plot(**plot_options)

    @classmethod
    def from_estimator(
        cls, model: PrincipalManifold, X: Any, *, n_repeats: int = 5, **plot_options: Any
    ) -> Self:
        """Refit a model to more and more rows, and draw the report.

        Parameters
        ----------
        model : PrincipalManifold
            A fitted model.
        X : array-like of shape (n_samples, n_features)
            Data for the learning curve.
        n_repeats : int, default=5
            Number of random splits for each point of the curve.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        GeneralizationDisplay
        """
        own: Any = getattr(model, "_unwrapped", model)
        if not isinstance(own, PrincipalManifold):
            raise TypeError(
                f"model={type(own).__name__} has no generalization report: PrincipalManifold has."
            )
        check_is_fitted(own)
        report = own.generalization_report(X, n_repeats=n_repeats)
        return cls.from_report(report, **plot_options)

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        line_kwargs : dict, default=None
            Options of ``Axes.plot`` for the measured curve.

        Returns
        -------
        self
        """
        curve = self.report.curve
        assert curve is not None
        panel = self._open(ax, (6.0, 4.2))
        gaps = curve.differences
        sizes = np.repeat(curve.sizes, gaps.shape[1])
        light = {"linestyle": "none", "marker": "o", "markersize": 3.5, "color": "#88CCEE"}
        (self.splits_,) = panel.plot(sizes, _positive(gaps.ravel()), **light)
        style = {"color": LINE_COLORS[0], "marker": "o", **(line_kwargs or {})}
        (self.measured_,) = panel.plot(curve.sizes, _positive(curve.medians), **style)
        rate = {"linestyle": "--", "color": LINE_COLORS[1]}
        (self.predicted_,) = panel.plot(curve.sizes, self.report.predicted(), **rate)
        lower = "training" if curve.best is None else "lowest"
        panel.set(xscale="log", yscale="log")
        for axis in (panel.xaxis, panel.yaxis):
            readable_log(axis)
        panel.set(xlabel="rows of the fit, m", ylabel=f"held-out minus {lower} error")
        panel.set_title("A diagnostic, not a certificate", fontsize=10)
        if self._has_own_figure:
            without_frame(panel)
        names = ["single splits", "median", f"predicted rate, m^-{self.report.spectrum.rate:.2f}"]
        handles = (self.splits_, self.measured_, self.predicted_)
        self.legend_ = self._show_legend(handles, names)
        return self


def _positive(gaps: Array) -> Array:
    """Replace differences that a logarithmic axis cannot show by NaN."""
    return np.where(gaps > 0.0, gaps, np.nan)
