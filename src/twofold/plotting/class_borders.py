"""Classes in latent space: their borders, the density, and the border of the domain.

The picture of Meinicke et al. (2005), Fig. 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.numerics.validation import check_int
from twofold.plotting._colors import MARKERS, class_color, dark_enough
from twofold.plotting._density import DensityMap, draw_box
from twofold.plotting._figures import Display, rasterize, show_legend, size_for
from twofold.plotting._labels import Classes, read_labels
from twofold.plotting._latent_space import LatentSpace
from twofold.plotting._points import MOST_MARKS, draw_points, mark_style
from twofold.principal_manifold.domains import Domain
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClassBordersDisplay"]

WIDTH = 7.0
FAR_BEHIND = 1e6
TINT = 0.13
"""Opacity of the classes' regions."""


class ClassBordersDisplay(Display):
    """Latents by class over the regions that a classifier gives to the classes.

    Black lines are the borders between classes, a dashed line is the border of the domain: the model's own, or the lowest density at a
    training latent. Make it with `from_estimator`.

    Parameters
    ----------
    latents : ndarray of shape (n, 2)
        What is drawn.
    labels : array-like of shape (n,)
        Their classes.
    density : DensityMap
        The density of the training latents.
    margins : ndarray of shape (n_classes, n_rows, n_columns)
        On the grid of the density, how far each class is ahead of all others; negative where another one is.
    classes : array-like of shape (n_classes,)
        The classes of the classifier.
    domain : Domain, default=None
        The shape of the latent space.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    points_ : list of matplotlib artists
        The latents, class by class.
    borders_ : list of matplotlib artists
        The borders of the classes.
    border_ : list of matplotlib artists
        The border of the domain.
    legend_ : matplotlib Legend
        Which class is which.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import KernelDensityClassifier, TwoWay
    >>> from twofold.plotting import ClassBordersDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    >>> classifier = KernelDensityClassifier().fit(model.embedding_, y)
    >>> display = ClassBordersDisplay.from_estimator(
    ...     model, classifier, model.embedding_, y, n_grid=60
    ... )
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['0', '1', '2']
    """

    points_: list[Any]
    borders_: list[Any]
    border_: list[Any]
    legend_: Any

    def __init__(
        self,
        latents: Array,
        labels: Any,
        *,
        density: DensityMap,
        margins: Array,
        classes: Any,
        domain: Domain | None = None,
    ) -> None:
        self.latents = latents
        self.labels = labels
        self.density = density
        self.margins = margins
        self.classes = classes
        self.domain = domain

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        classifier: Any,
        Z: Any,
        labels: Any,
        *,
        n_grid: int = 200,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw latents and a classifier on them.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model with two latent dimensions.
        classifier : classifier
            Fitted to latents, such as `twofold.KernelDensityClassifier`.
        Z : array-like of shape (n, 2)
            Latents to draw, say those of test data.
        labels : array-like of shape (n,)
            Their classes.
        n_grid : int, default=200
            Places along the longer side of the grid.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        ClassBordersDisplay

        Examples
        --------
        Test rows over the regions that were learned from training rows:

        >>> from sklearn.datasets import load_iris
        >>> from twofold import KernelDensityClassifier, TwoWay
        >>> from twofold.plotting import ClassBordersDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X[::2])
        >>> classifier = KernelDensityClassifier().fit(model.embedding_, y[::2])
        >>> Z = model.transform(X[1::2])
        >>> display = ClassBordersDisplay.from_estimator(model, classifier, Z, y[1::2], n_grid=60)
        >>> display.latents.shape, display.margins.shape[0]
        ((75, 2), 3)
        """
        check_int("n_grid", n_grid, low=2)
        space = LatentSpace.of(model)
        if space.n_components != 2:
            raise ValueError(
                f"The model has {space.n_components} latent dimensions; borders on paper need n_components=2."
            )
        latents = np.asarray(Z, dtype=np.float64)
        if latents.ndim != 2 or latents.shape[1] != 2:
            raise ValueError(
                f"Z has shape {latents.shape}; latents of two columns are drawn, not data: use model.transform(X)."
            )
        read_labels(labels, len(latents), "classes")
        density = DensityMap.of(space, (0, 1), n_grid, latents)
        classes, margins = _margins(classifier, density.grid.points)
        display = cls(
            latents,
            labels,
            density=density,
            margins=margins.T.reshape(-1, *density.grid.shape),
            classes=classes,
            domain=space.domain if isinstance(space.domain, Domain) else None,
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        show_density: bool = True,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        show_density : bool, default=True
            Whether to draw the density.
        scatter_kwargs : dict, default=None
            For ``Axes.scatter``.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from twofold import KernelDensityClassifier, TwoWay
        >>> from twofold.plotting import ClassBordersDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
        >>> classifier = KernelDensityClassifier().fit(model.embedding_, y)
        >>> display = ClassBordersDisplay.from_estimator(
        ...     model, classifier, model.embedding_, y, n_grid=60
        ... )
        >>> again = display.plot(show_density=False, scatter_kwargs={"s": 4})
        >>> again is display, len(display.points_)
        (True, 3)
        """
        left, right, bottom, top = self.density.extent(self.domain)
        slender = float(np.clip((top - bottom) / (right - left), 0.4, 1.2))
        panel = self._open(ax, size_for(WIDTH, slender))
        panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        panel.set(xlabel="latent 1", ylabel="latent 2")
        coloring = self._coloring()
        if show_density:
            self.density.fill(panel)
        self._draw_regions(panel, coloring)
        if self.domain is not None:
            self.border_ = draw_box(panel, self.domain.wrapped)
        else:
            outline = self.density.outline(panel, linestyles="dashed", linewidths=0.8)
            self.border_ = [] if outline is None else [outline]
        self._draw_latents(panel, coloring, (left, right, bottom, top), scatter_kwargs or {})
        panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        self._settle()
        return self

    def _coloring(self) -> Classes:
        """Return the classes of the latents, with those that only the classifier knows behind them in one order."""
        every = np.concatenate([np.asarray(self.labels, dtype=object).ravel(), self.classes])
        found = read_labels(every, len(every), "classes")
        assert isinstance(found, Classes)
        return found

    def _draw_regions(self, ax: Any, coloring: Classes) -> None:
        grid, size = self.density.grid, len(self.latents)
        self.borders_ = []
        for margin, number in zip(self.margins, coloring.codes[size:], strict=True):
            if not margin.min() < 0.0 <= margin.max():
                continue
            place = (grid.horizontal, grid.vertical, margin)
            tint = {"colors": [class_color(int(number))], "alpha": TINT, "zorder": 0.5}
            region = ax.contourf(*place, levels=[0.0, float(margin.max()) + 1.0], **tint)
            rasterize(region)
            line = {"colors": "black", "linewidths": 0.9, "zorder": 1.5}
            self.borders_.append(ax.contour(*place, levels=[0.0], **line))

    def _draw_latents(
        self,
        ax: Any,
        coloring: Classes,
        extent: tuple[float, float, float, float],
        scatter_kwargs: dict[str, Any],
    ) -> None:
        from matplotlib.lines import Line2D

        codes = coloring.codes[: len(self.latents)]
        drawn = Classes(coloring.names, codes)
        shown = np.unique(codes)
        self.points_ = []
        if len(self.latents) > MOST_MARKS:
            self.points_ = draw_points(ax, self.latents, drawn, extent=extent)
        handles = []
        style = mark_style(len(self.latents), ax)
        for code in shown.tolist():
            marker = MARKERS[code % len(MARKERS)]
            own: dict[str, Any] = {"color": class_color(code), "marker": marker, "zorder": 2}
            if len(self.latents) <= MOST_MARKS:
                rows = codes == code
                edge = {"edgecolors": dark_enough(class_color(code)), "linewidths": 0.4}
                kwargs = {**style, **own, **edge, **scatter_kwargs}
                self.points_.append(ax.scatter(*self.latents[rows].T, **kwargs))
            handles.append(Line2D([], [], linestyle="none", markeredgewidth=0.0, **own))
        names = [coloring.names[code] if code >= 0 else "no label" for code in shown]
        self.legend_ = show_legend(self, handles, names, n_marks=len(self.latents))


def _margins(classifier: Any, places: Array) -> tuple[AnyArray, Array]:
    """Return the classes, and for (n, n_classes) places how far each is ahead of the others.

    By log probabilities or scores where the classifier has them, whose borders are smooth; else by its answers alone.
    """
    classes = getattr(classifier, "classes_", None)
    for name in ("predict_log_proba", "decision_function", "predict_proba"):
        method = getattr(classifier, name, None)
        if method is None or classes is None:
            continue
        with np.errstate(divide="ignore"):  # the logarithm of a probability of 0
            scores = np.asarray(method(places), dtype=np.float64)
        if scores.ndim == 1 and len(classes) == 2:
            scores = np.column_stack([-scores, scores])
        if scores.shape == (len(places), len(classes)) and len(classes) > 1:
            return np.asarray(classes), _ahead(scores)
    predicted = np.asarray(classifier.predict(places))
    found = np.unique(predicted) if classes is None else np.asarray(classes)
    return found, np.where(predicted[:, None] == found, 0.5, -0.5)


def _ahead(scores: Array) -> Array:
    """Return how far each class (n, n_classes) is ahead of the best other one."""
    tame = np.clip(np.nan_to_num(scores, nan=-FAR_BEHIND), -FAR_BEHIND, FAR_BEHIND)
    first = tame.argmax(axis=1)
    rows = np.arange(len(tame))
    second, best = np.sort(tame, axis=1)[:, -2:].T
    margins: Array = tame - best[:, None]
    margins[rows, first] = best - second
    return margins
