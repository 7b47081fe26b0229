"""The latent map: where rows lie, how dense they lie there, and where the map ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.numerics.validation import check_choice, check_int
from twofold.plotting._density import DensityMap, draw_box
from twofold.plotting._figures import Display, size_for
from twofold.plotting._labels import Classes, Values, read_labels
from twofold.plotting._latent_space import LatentSpace, check_components
from twofold.plotting._names import PLACES, name_classes
from twofold.plotting._points import color_scale, draw_points, extent_of
from twofold.plotting._strip import draw_strip
from twofold.plotting._walls import draw_walls
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LatentMapDisplay"]

WIDTH = 7.0
MOST_SLENDER = 0.4


class LatentMapDisplay(Display):
    """Latents as points over the bands of their density, within the border of their domain.

    One latent dimension is drawn as a strip below its density (a ring, where its ends meet), two as a map, three in space. Make it with
    `from_estimator`.

    Parameters
    ----------
    latents : array-like of shape (n_samples, 1 to 3)
        What to draw.
    labels : array-like of shape (n_samples,), default=None
        Text or numbers; they set the colours.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are names or numbers on a scale. "auto" takes at most 30 different whole numbers for classes, other numbers for values.
    density : DensityMap, default=None
        The density behind the points.
    domain : Domain or Points, default=None
        The shape of the latent space.
    components : tuple of int, default=None
        Which latent dimensions these are.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    points_ : list of matplotlib artists
        The points: marks, of more than 50,000 an image.
    bands_ : matplotlib artist or None
        The density.
    border_ : list of matplotlib artists
        The border of the domain.
    texts_ : list of matplotlib Text
        The names of classes on the map.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        What explains the colours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.plotting import LatentMapDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    >>> display = LatentMapDisplay.from_estimator(model, labels=y)
    >>> display.ax_.get_xlabel()
    'latent 1'
    """

    points_: list[Any]
    bands_: Any
    border_: list[Any]
    texts_: list[Any]
    legend_: Any
    colorbar_: Any

    def __init__(
        self,
        latents: Any,
        *,
        labels: Any = None,
        label_kind: str = "auto",
        density: DensityMap | None = None,
        domain: Domain | Points | None = None,
        components: tuple[int, ...] | None = None,
    ) -> None:
        self.latents: Array = np.asarray(latents, dtype=np.float64)
        if self.latents.ndim != 2 or not 1 <= self.latents.shape[1] <= 3:
            raise ValueError(
                f"latents has shape {self.latents.shape}: one to three columns can be drawn."
            )
        if not np.isfinite(self.latents).all():
            raise ValueError(
                "latents hold NaN or infinity, which have no place: leave those rows out."
            )
        self.labels = labels
        self.label_kind = label_kind
        self.density = density
        self.domain = domain
        self.components = components

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        labels: Any = None,
        *,
        components: Any = None,
        label_kind: str = "auto",
        n_grid: int = 200,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the latents of a fitted model.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        X : array-like of shape (n_samples, n_features), default=None
            Data whose latents to draw; None means those of the training rows.
        labels : array-like of shape (n_samples,), default=None
            One label for each of them.
        components : sequence of int, default=None
            Which latent dimensions to draw, one to three of them; None means all.
        label_kind : {"auto", "classes", "values"}, default="auto"
            Whether labels are names or numbers on a scale.
        n_grid : int, default=200
            Places along each side of the density's grid.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        LatentMapDisplay

        Examples
        --------
        Latents of new rows, coloured by a number, drawn into axes of one's own:

        >>> from matplotlib.figure import Figure
        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> from twofold.plotting import LatentMapDisplay
        >>> X, _ = make_s_curve(100, random_state=0)
        >>> X_new, parameters = make_s_curve(50, random_state=1)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> ax = Figure().add_subplot()
        >>> display = LatentMapDisplay.from_estimator(model, X_new, parameters[:, 0], n_grid=50, ax=ax)
        >>> display.latents.shape, display.ax_ is ax, display.colorbar_ is not None
        ((50, 2), True, True)
        """
        check_int("n_grid", n_grid, low=2)
        space = LatentSpace.of(model)
        columns = check_components(components, space.n_components)
        if X is None and not space.keeps_latents:
            raise ValueError(
                f"This {type(space.last).__name__} has not kept its training latents: give X, the rows to draw."
            )
        latents = space.latents if X is None else space.encode(X)
        density = None
        if len(columns) < 3:
            density = DensityMap.of(space, columns, n_grid, latents)
        display = cls(
            latents[:, columns],
            labels=labels,
            label_kind=label_kind,
            density=density,
            domain=_shadow(space.domain, columns),
            components=columns,
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        names: str = "auto",
        show_density: bool = True,
        show_border: bool = True,
        show_colorbar: bool = True,
        cmap: Any = None,
        label_name: str | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Three dimensions need axes with ``projection="3d"``.
        names : {"auto", "map", "legend", "both", "none"}, default="auto"
            Where the names of classes are written. "auto" is the map, each at the member nearest to the median of its class, where the names
            are short and do not lie on top of each other, else a legend.
        show_density, show_border, show_colorbar : bool, default=True
            Whether to draw the density, the border of the domain, and the bar that explains the colours of values.
        cmap : str or Colormap, default=None
            Colours of values; None means "viridis".
        label_name : str, default=None
            What the colour bar is titled.
        scatter_kwargs : dict, default=None
            For ``Axes.scatter``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.plotting import LatentMapDisplay
        >>> Z = np.random.default_rng(0).normal(size=(50, 2))
        >>> display = LatentMapDisplay(Z, labels=np.where(Z[:, 0] > 0, "right", "left"))
        >>> display = display.plot(names="legend", scatter_kwargs={"s": 5})
        >>> sorted(text.get_text() for text in display.legend_.get_texts())
        ['left', 'right']
        """
        check_choice("names", names, PLACES)
        coloring = read_labels(self.labels, len(self.latents), self.label_kind)
        scale = color_scale(coloring, cmap) if isinstance(coloring, Values) else None
        n_columns = self.latents.shape[1]
        self.texts_, self.legend_, self.colorbar_ = [], None, None
        draw = (self._draw_strip, self._draw_map, self._draw_space)[n_columns - 1]
        has_names = draw(ax, coloring, scale, show_density, show_border, scatter_kwargs or {})
        if isinstance(coloring, Classes) and not (has_names and names == "auto"):
            where = "legend" if n_columns == 1 and names == "auto" else names
            self.texts_, self.legend_ = name_classes(self, self.latents, coloring, where)
        if scale is not None and show_colorbar:
            self.colorbar_ = self._explain(scale, label_name)
        self._settle()
        return self

    def _name(self, column: int) -> str:
        numbers = range(3) if self.components is None else self.components
        goes_on = self.domain is not None and self.domain.wrapped[column]
        return f"latent {numbers[column] + 1}" + (" (goes round)" if goes_on else "")

    def _draw_strip(
        self,
        ax: Any,
        coloring: Classes | Values | None,
        scale: Any,
        show_density: bool,
        show_border: bool,
        scatter_kwargs: dict[str, Any],
    ) -> bool:
        ring = isinstance(self.domain, Domain) and self.domain.wrapped == (True,)
        ax = self._open(ax, (5.5, 5.5) if ring else (WIDTH, 3.4))
        density = self.density if show_density else None
        self.points_, self.bands_, self.border_, has_names = draw_strip(
            ax,
            self.latents[:, 0],
            coloring,
            density,
            self.domain,
            scale=scale,
            show_border=show_border,
            **scatter_kwargs,
        )
        if not ring:
            ax.set_xlabel(self._name(0))
        return has_names

    def _draw_map(
        self,
        ax: Any,
        coloring: Classes | Values | None,
        scale: Any,
        show_density: bool,
        show_border: bool,
        scatter_kwargs: dict[str, Any],
    ) -> bool:
        left, right, bottom, top = extent = self._extent()
        slender = np.clip((top - bottom) / (right - left), MOST_SLENDER, 1.2)
        ax = self._open(ax, size_for(WIDTH, float(slender)))
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.set(xlabel=self._name(0), ylabel=self._name(1))
        self.bands_ = self.density.fill(ax) if self.density and show_density else None
        self.border_ = []
        if show_border and isinstance(self.domain, Domain):
            self.border_ = draw_box(ax, self.domain.wrapped)
        elif show_border and self.density is not None:
            outline = self.density.outline(ax)
            self.border_ = [] if outline is None else [outline]
        self.points_ = draw_points(
            ax, self.latents, coloring, scale=scale, extent=extent, **scatter_kwargs
        )
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        return False

    def _extent(self) -> tuple[float, float, float, float]:
        if self.density is None:
            return extent_of(self.latents)
        return self.density.extent(self.domain)

    def _draw_space(
        self,
        ax: Any,
        coloring: Classes | Values | None,
        scale: Any,
        show_density: bool,
        show_border: bool,
        scatter_kwargs: dict[str, Any],
    ) -> bool:
        ax = self._open(ax, (WIDTH, WIDTH), three_d=True)
        domain = self.domain if show_border and isinstance(self.domain, Domain) else None
        self.bands_, self.border_ = draw_walls(ax, self.latents, domain, show_density)
        self.points_ = draw_points(ax, self.latents, coloring, scale=scale, **scatter_kwargs)
        ax.set(xlabel=self._name(0), ylabel=self._name(1), zlabel=self._name(2))
        return False


def _shadow(domain: Domain | Points | None, columns: tuple[int, ...]) -> Domain | Points | None:
    """Return the shape of a domain seen along its other dimensions."""
    if not isinstance(domain, Domain):
        return domain
    return Domain(tuple(domain.wrapped[column] for column in columns))
