"""A learning curve beside the rate that a kernel's eigenvalues predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.plotting._colors import LINE_COLORS
from twofold.plotting._figures import Display, readable_log, show_legend, without_frame
from twofold.plotting._latent_space import final_step
from twofold.principal_manifold import PrincipalManifold
from twofold.principal_manifold.generalization import GeneralizationReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GeneralizationDisplay"]


class GeneralizationDisplay(Display):
    """How far held-out rows are behind those of the fit, for ever more rows: measured, and as theory predicts it.

    A diagnostic, not a certificate. Make it with `from_report` or `from_estimator`.

    Parameters
    ----------
    report : GeneralizationReport
        With a learning curve.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    splits_, measured_, predicted_ : matplotlib Line2D
        The gaps of single splits, their medians, and the predicted rate through these.
    legend_ : matplotlib Legend
        What explains them.

    Examples
    --------
    >>> from twofold import PrincipalManifold
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import GeneralizationDisplay
    >>> X, _ = make_noisy_spiral(60, random_state=0)
    >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
    >>> report = model.generalization_report(X, n_repeats=1)
    >>> GeneralizationDisplay.from_report(report).ax_.get_title()
    'A diagnostic, not a certificate'
    """

    splits_: Any
    measured_: Any
    predicted_: Any
    legend_: Any

    def __init__(self, report: GeneralizationReport) -> None:
        if report.curve is None:
            raise ValueError(
                "The report has no learning curve: call generalization_report(X) with data."
            )
        self.report = report

    @classmethod
    def from_report(
        cls, report: GeneralizationReport, *, ax: Axes | None = None, **plot_options: Any
    ) -> Self:
        """Draw a report.

        Parameters
        ----------
        report : GeneralizationReport
            Of ``PrincipalManifold.generalization_report(X)``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        GeneralizationDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.principal_manifold.generalization import GeneralizationReport, KernelSpectrum, LearningCurve
        >>> from twofold.plotting import GeneralizationDisplay
        >>> sizes = np.array([100.0, 200.0, 400.0])
        >>> curve = LearningCurve(sizes, np.zeros((3, 1)), 1.0 / sizes[:, None])
        >>> spectrum = KernelSpectrum(np.array([1.0, 0.1]), "exponential", 1.0, rate=0.5)
        >>> display = GeneralizationDisplay.from_report(GeneralizationReport(spectrum, curve))
        >>> display.measured_.get_xdata()
        array([100., 200., 400.])
        """
        return cls(report).plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        n_repeats: int = 5,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Fit a model again to ever more of some rows, and draw the report.

        Parameters
        ----------
        model : PrincipalManifold
            A fitted model.
        X : array-like of shape (n_samples, n_features)
            Data for the learning curve.
        n_repeats : int, default=5
            Random splits behind each point of the curve.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        GeneralizationDisplay

        Examples
        --------
        >>> from twofold import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import GeneralizationDisplay
        >>> X, _ = make_noisy_spiral(60, random_state=0)
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> display = GeneralizationDisplay.from_estimator(model, X, n_repeats=2)
        >>> display.report.curve.held_out.shape
        (2, 2)
        """
        if not isinstance(model, PrincipalManifold):
            raise TypeError(
                f"model={type(model).__name__} has no generalization report: PrincipalManifold has."
            )
        report = final_step(model).generalization_report(X, n_repeats=n_repeats)
        return cls.from_report(report, ax=ax, **plot_options)

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        line_kwargs : dict, default=None
            For ``Axes.plot``, of the measured curve.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.principal_manifold.generalization import GeneralizationReport, KernelSpectrum, LearningCurve
        >>> from twofold.plotting import GeneralizationDisplay
        >>> sizes = np.array([100.0, 200.0, 400.0])
        >>> curve = LearningCurve(sizes, np.zeros((3, 1)), 1.0 / sizes[:, None])
        >>> spectrum = KernelSpectrum(np.array([1.0, 0.1]), "exponential", 1.0, rate=0.5)
        >>> display = GeneralizationDisplay(GeneralizationReport(spectrum, curve))
        >>> display.plot(line_kwargs={"color": "black"}).ax_.get_xlabel()
        'rows of the fit, m'
        """
        curve = self.report.curve
        assert curve is not None
        panel = self._open(ax, (6.0, 4.2))
        gaps = curve.held_out - curve.train
        sizes = np.repeat(curve.sizes, gaps.shape[1])
        light = {"linestyle": "none", "marker": "o", "markersize": 3.5, "color": "#88CCEE"}
        (self.splits_,) = panel.plot(sizes, _positive(gaps.ravel()), **light)
        style = {"color": LINE_COLORS[0], "marker": "o", **(line_kwargs or {})}
        (self.measured_,) = panel.plot(curve.sizes, _positive(curve.gaps), **style)
        (self.predicted_,) = panel.plot(
            curve.sizes, self.report.predicted(), linestyle="--", color=LINE_COLORS[1]
        )
        panel.set(xscale="log", yscale="log")
        for axis in (panel.xaxis, panel.yaxis):
            readable_log(axis)
        panel.set(xlabel="rows of the fit, m", ylabel="held-out minus training error")
        panel.set_title("A diagnostic, not a certificate", fontsize=10)
        if self._has_own_figure:
            without_frame(panel)
        names = ["single splits", "median", f"predicted rate, m^-{self.report.spectrum.rate:.2f}"]
        handles = (self.splits_, self.measured_, self.predicted_)
        self.legend_ = show_legend(self, handles, names)
        return self


def _positive(gaps: Any) -> Any:
    """Return gaps that a logarithm can show; NaN for the others."""
    return np.where(gaps > 0.0, gaps, np.nan)
