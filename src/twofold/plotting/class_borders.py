"""Classes in latent space: their borders, the density, and the border of the domain.

The picture of Meinicke et al. (2005), Fig. 5.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.numerics.validation import check_int
from twofold.plotting._density import DensityMap, draw_border
from twofold.plotting._figures import Axes, Display, Extent, map_size, rasterize, set_extent
from twofold.plotting._labels import MARKERS, Classes, class_color, dark_enough, read_labels
from twofold.plotting._latent_space import LatentSpace, Model
from twofold.plotting._marks import MOST_MARKS, Marks, mark_style
from twofold.principal_manifold.domains import Domain
from twofold.protocols import AnyArray, Array

WIDTH = 7.0
FAR_BEHIND = 1e6
TINT = 0.13  # opacity of the regions of classes


@dataclass(eq=False, repr=False)
class ClassBordersDisplay(Display):
    """Latents by class over the regions that a classifier assigns to the classes.

    Black lines are the borders between classes. A dashed line is the border of the domain: the
    threshold of the model, or the lowest density of a training latent. Create it with
    `from_estimator`.

    Parameters
    ----------
    latents : ndarray of shape (n, 2)
        The latents to draw.
    labels : array-like of shape (n,)
        Their classes.
    density : DensityMap
        The density of the training latents.
    margins : ndarray of shape (n_classes, n_rows, n_columns)
        The lead of each class over all others on the grid of the density.
    classes : array-like of shape (n_classes,)
        The classes of the classifier.
    domain : Domain, default=None
        The domain of the latent space.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    points_, borders_, border_ : list of matplotlib artists
        The latents and borders of the classes, and the border of the domain.
    legend_ : matplotlib Legend
        The names of the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import KernelDensityClassifier, TwoWay
    >>> from twofold.plotting import ClassBordersDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    >>> Z = model.embedding_
    >>> classifier = KernelDensityClassifier().fit(Z, y)
    >>> display = ClassBordersDisplay.from_estimator(model, classifier, Z, y, n_grid=60)
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['0', '1', '2']
    >>> len(display.plot(show_density=False, scatter_kwargs={"s": 4}).points_)
    3
    """

    latents: Array
    labels: Any
    _: KW_ONLY
    density: DensityMap
    margins: Array
    classes: Any
    domain: Domain | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Model,
        classifier: Any,
        Z: Any,
        labels: Any,
        *,
        n_grid: int = 200,
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
            Latents to draw, for example those of test data.
        labels : array-like of shape (n,)
            Their classes.
        n_grid : int, default=200
            Places along the longer side of the grid.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ClassBordersDisplay
        """
        check_int("n_grid", n_grid, low=2)
        space = LatentSpace.of(model)
        if space.n_components != 2:
            raise ValueError(
                f"The model has {space.n_components} latent dimensions; borders on paper need "
                "n_components=2."
            )
        latents = np.asarray(Z, dtype=np.float64)
        if latents.ndim != 2 or latents.shape[1] != 2:
            raise ValueError(
                f"Z has shape {latents.shape}; it must hold latents with two columns, not data: "
                "use model.transform(X)."
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
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        show_density: bool = True,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        show_density : bool, default=True
            Whether to draw the density.
        scatter_kwargs : dict, default=None
            Options of ``Axes.scatter``.

        Returns
        -------
        self
        """
        extent = self.density.extent(self.domain)
        panel = self._open(ax, map_size(extent, WIDTH))
        set_extent(panel, extent)
        panel.set(xlabel="latent 1", ylabel="latent 2")
        coloring = self._coloring()
        if show_density:
            self.density.fill(panel)
        self._draw_regions(panel, coloring)
        dashed = {"linestyles": "dashed", "linewidths": 0.8}
        self.border_ = draw_border(panel, self.density, self.domain, **dashed)
        self._draw_latents(panel, coloring, extent, scatter_kwargs or {})
        set_extent(panel, extent)
        self._settle()
        return self

    def _coloring(self) -> Classes:
        """Return the classes of the latents, followed by those of the classifier, in one order."""
        every = np.concatenate([np.asarray(self.labels, dtype=object).ravel(), self.classes])
        found = read_labels(every, len(every), "classes")
        assert isinstance(found, Classes)
        return found

    def _draw_regions(self, ax: Any, coloring: Classes) -> None:
        grid, size = self.density.grid, len(self.latents)
        self.borders_: list[Any] = []
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
        self, ax: Any, coloring: Classes, extent: Extent, scatter_kwargs: dict[str, Any]
    ) -> None:
        from matplotlib.lines import Line2D

        codes = coloring.codes[: len(self.latents)]
        shown = np.unique(codes).tolist()
        many = len(self.latents) > MOST_MARKS
        marks = Marks(Classes(coloring.names, codes))
        self.points_: list[Any] = marks.draw(ax, self.latents, extent) if many else []
        handles = []
        style = mark_style(len(self.latents), ax)
        for code in shown:
            marker = MARKERS[code % len(MARKERS)]
            own: dict[str, Any] = {"color": class_color(code), "marker": marker, "zorder": 2}
            if not many:
                edge = {"edgecolors": dark_enough(class_color(code)), "linewidths": 0.4}
                kwargs = {**style, **own, **edge, **scatter_kwargs}
                self.points_.append(ax.scatter(*self.latents[codes == code].T, **kwargs))
            handles.append(Line2D([], [], linestyle="none", markeredgewidth=0.0, **own))
        names = [coloring.name(code) for code in shown]
        self.legend_ = self._show_legend(handles, names, len(self.latents))


def _margins(classifier: Any, places: Array) -> tuple[AnyArray, Array]:
    """Return the classes, and the lead (n, n_classes) of each over the others at places (n, 2).

    Log probabilities or scores give smooth borders. Without them the predictions are used.
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
    """Return the lead (n, n_classes) of each class over the best other one."""
    tame = np.clip(np.nan_to_num(scores, nan=-FAR_BEHIND), -FAR_BEHIND, FAR_BEHIND)
    first = tame.argmax(axis=1)
    rows = np.arange(len(tame))
    second, best = np.sort(tame, axis=1)[:, -2:].T
    margins: Array = tame - best[:, None]
    margins[rows, first] = best - second
    return margins
