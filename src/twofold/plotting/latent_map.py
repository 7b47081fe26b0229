"""The latent map: where rows lie, the density of the latents, and the border of their domain."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.numerics.validation import check_choice, check_int
from twofold.plotting._class_names import PLACES, name_classes
from twofold.plotting._density import DensityMap, draw_border, map_extent
from twofold.plotting._figures import Axes, Display, map_size, set_extent
from twofold.plotting._labels import Classes, read_labels
from twofold.plotting._latent_space import LatentSpace, Model, check_components
from twofold.plotting._marks import Marks
from twofold.plotting._one_dimension import draw_strip, is_ring
from twofold.plotting._three_dimensions import draw_walls
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array

WIDTH = 7.0


@dataclass(eq=False, repr=False)
class LatentMapDisplay(Display):
    """Latents as points over bands of their density, with the border of their domain.

    One latent dimension is drawn as a strip below its density (as a ring if it is circular), two
    dimensions as a map, three in space. Create it with `from_estimator`.

    Parameters
    ----------
    latents : array-like of shape (n_samples, 1 to 3)
        The latents to draw.
    labels : array-like of shape (n_samples,), default=None
        Text or numbers that set the colors.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Names, or numbers on a scale; "auto" takes up to 30 different whole numbers as classes.
    density : DensityMap, default=None
        The density behind the points.
    domain : Domain or Points, default=None
        The domain of the latent space.
    components : tuple of int, default=None
        The numbers of these latent dimensions.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    points_, bands_, border_, texts_ : list of matplotlib artists
        The points (an image for more than 50,000), density, border, and names of classes.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        Legend of the classes and color bar of the values.

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

    The same map again, with a legend:

    >>> display = display.plot(names="legend", scatter_kwargs={"s": 5})
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['0', '1', '2']
    """

    latents: Array
    _: KW_ONLY
    labels: Any = None
    label_kind: str = "auto"
    density: DensityMap | None = None
    domain: Domain | Points | None = None
    components: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.latents = np.asarray(self.latents, dtype=np.float64)
        shape = self.latents.shape
        if len(shape) != 2 or not 1 <= shape[1] <= 3:
            raise ValueError(f"latents has shape {shape}: it must have one to three columns.")
        if not np.isfinite(self.latents).all():
            raise ValueError("latents hold NaN or infinity: leave those rows out.")

    @classmethod
    def from_estimator(
        cls,
        model: Model,
        X: Any = None,
        labels: Any = None,
        *,
        components: Any = None,
        label_kind: str = "auto",
        n_grid: int = 200,
        density_per: str = "latent",
        **plot_options: Any,
    ) -> Self:
        """Draw the latents of a fitted model.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        X : array-like of shape (n_samples, n_features), default=None
            Data whose latents to draw; None draws those of the training rows.
        labels : array-like of shape (n_samples,), default=None
            The label of each row.
        components : sequence of int, default=None
            The one to three latent dimensions to draw; None draws all.
        label_kind : {"auto", "classes", "values"}, default="auto"
            Whether labels are names or numbers on a scale.
        n_grid : int, default=200
            Places along each side of the density's grid.
        density_per : {"latent", "manifold"}, default="latent"
            Whether density is per unit of the map, as the points on it look, or per unit of area on
            the manifold: then a region that the map stretches does not look sparse. The latter
            needs a map that is drawn with all of its one or two dimensions.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        LatentMapDisplay
        """
        check_int("n_grid", n_grid, low=2)
        check_choice("density_per", density_per, ("latent", "manifold"))
        space = LatentSpace.of(model)
        columns = check_components(components, space.n_components)
        if density_per == "manifold" and (
            space.n_components > 2 or columns != tuple(range(space.n_components))
        ):
            raise ValueError(
                f"density_per='manifold' needs all latent dimensions in the picture, one or two; "
                f"{len(columns)} of {space.n_components} are drawn. Use density_per='latent'."
            )
        if X is None and not space.keeps_latents:
            raise ValueError(
                f"This {type(space.last).__name__} has not kept its training latents: give X, the "
                "rows to draw."
            )
        latents = space.latents if X is None else space.encode(X)
        density = None
        if len(columns) < 3:
            density = DensityMap.of(space, columns, n_grid, latents, density_per)
        display = cls(
            latents[:, columns],
            labels=labels,
            label_kind=label_kind,
            density=density,
            domain=space.domain_along(columns),
            components=columns,
        )
        return display.plot(**plot_options)

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
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, with ``projection="3d"`` for three dimensions; None makes a new figure.
        names : {"auto", "map", "legend", "both", "none"}, default="auto"
            Where the names of classes are written; "auto" is the map if they are readable there. A
            single latent dimension has no room on the map and gets a legend.
        show_density, show_border, show_colorbar : bool, default=True
            Whether to draw the density, the border of the domain, and the color bar of values.
        cmap : str or Colormap, default=None
            Colors of values; None means "viridis".
        label_name : str, default=None
            The title of the color bar.
        scatter_kwargs : dict, default=None
            Options of ``Axes.scatter``.

        Returns
        -------
        self
        """
        check_choice("names", names, PLACES)
        coloring = read_labels(self.labels, len(self.latents), self.label_kind)
        marks = Marks.of(coloring, scatter_kwargs, cmap=cmap)
        n_columns = self.latents.shape[1]
        self.texts_: list[Any] = []
        self.legend_: Any = None
        self.colorbar_: Any = None
        draw = (self._draw_strip, self._draw_map, self._draw_space)[n_columns - 1]
        has_names = draw(ax, marks, show_density, show_border)
        if isinstance(coloring, Classes) and not (has_names and names == "auto"):
            where = "legend" if n_columns == 1 and names != "none" else names
            self.texts_, self.legend_ = name_classes(self, self.latents, coloring, where)
        if marks.scale is not None and show_colorbar:
            self.colorbar_ = self._show_colorbar(marks.scale, label_name)
        self._settle()
        return self

    def _name(self, column: int) -> str:
        numbers = range(3) if self.components is None else self.components
        goes_on = self.domain is not None and self.domain.wrapped[column]
        return f"latent {numbers[column] + 1}" + (" (goes round)" if goes_on else "")

    def _draw_strip(self, ax: Any, marks: Marks, show_density: bool, show_border: bool) -> bool:
        ring = is_ring(self.domain)
        ax = self._open(ax, (5.5, 5.5) if ring else (WIDTH, 3.4))
        latents, density = self.latents[:, 0], self.density if show_density else None
        self.points_, self.bands_, self.border_, has_names = draw_strip(
            ax, latents, marks, density, self.domain, show_border=show_border
        )
        if not ring:
            ax.set_xlabel(self._name(0))
        return has_names

    def _draw_map(self, ax: Any, marks: Marks, show_density: bool, show_border: bool) -> bool:
        extent = map_extent(self.latents, self.density, self.domain)
        ax = self._open(ax, map_size(extent, WIDTH))
        set_extent(ax, extent)
        ax.set(xlabel=self._name(0), ylabel=self._name(1))
        self.bands_ = self.density.fill(ax) if self.density and show_density else None
        self.border_ = draw_border(ax, self.density, self.domain) if show_border else []
        self.points_ = marks.draw(ax, self.latents, extent)
        set_extent(ax, extent)
        return False

    def _draw_space(self, ax: Any, marks: Marks, show_density: bool, show_border: bool) -> bool:
        ax = self._open(ax, (WIDTH, WIDTH), three_d=True)
        domain = self.domain if show_border and isinstance(self.domain, Domain) else None
        self.bands_, self.border_ = draw_walls(ax, self.latents, domain, show_density)
        self.points_ = marks.draw(ax, self.latents)
        ax.set(xlabel=self._name(0), ylabel=self._name(1), zlabel=self._name(2))
        return False
