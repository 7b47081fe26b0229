"""Reconstruction errors on the latent map."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.plotting._density import DensityMap, draw_border, map_extent
from twofold.plotting._figures import (
    Axes,
    Display,
    extent_of,
    map_size,
    new_figure,
    set_extent,
    without_frame,
)
from twofold.plotting._labels import Values
from twofold.plotting._latent_space import LatentSpace, Model, check_components
from twofold.plotting._marks import MOST_MARKS, Marks
from twofold.plotting._three_dimensions import style_axes
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array, IntArray

WIDTH = 7.0
N_BINS = 40
SIDE = 0.16  # width of the histogram in widths of the map
FAR = 2.0  # if the largest error exceeds this many 99 % quantiles, colors end at that quantile


@dataclass(eq=False, repr=False)
class ReconstructionErrorDisplay(Display):
    """Latents colored by the distances of their rows to the manifold, with a histogram.

    One latent dimension is the horizontal axis, with errors as the vertical one. Create it with
    `from_estimator`.

    Parameters
    ----------
    latents : ndarray of shape (n_samples, 1 to 3)
        The latents of the rows.
    errors : ndarray of shape (n_samples,)
        Their distances to their reconstructions.
    density : DensityMap, default=None
        The density whose border is drawn.
    domain : Domain, default=None
        The domain of the latent space.
    components : tuple of int, default=None
        The numbers of these latent dimensions.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    ax_histogram_, bars_ : matplotlib Axes and BarContainer
        The histogram, whose bars explain the colors.
    points_ : list of matplotlib artists
        The latents; the largest errors are drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.plotting import ReconstructionErrorDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X[::2])
    >>> display = ReconstructionErrorDisplay.from_estimator(model, X[1::2])
    >>> display.errors.shape
    (75,)
    >>> display.plot(error_name="distance in cm").ax_histogram_.get_ylabel()
    'distance in cm'
    """

    latents: Array
    errors: Array
    _: KW_ONLY
    density: DensityMap | None = None
    domain: Domain | Points | None = None
    components: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.latents = np.asarray(self.latents, dtype=np.float64)
        self.errors = np.asarray(self.errors, dtype=np.float64)
        if self.errors.shape != (len(self.latents),):
            raise ValueError(
                f"errors has shape {self.errors.shape} for {len(self.latents)} latents: give one "
                "for each."
            )

    @classmethod
    def from_estimator(
        cls, model: Model, X: Any, *, components: Any = None, n_grid: int = 200, **plot_options: Any
    ) -> Self:
        """Draw how well a fitted model reconstructs rows.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        X : array-like of shape (n_samples, n_features)
            Data, preferably held-out rows.
        components : sequence of int, default=None
            The one to three latent dimensions to draw; None draws all.
        n_grid : int, default=200
            Places along each side of the grid for the border of the domain.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ReconstructionErrorDisplay
        """
        space = LatentSpace.of(model)
        columns = check_components(components, space.n_components)
        latents = space.encode(X)
        density = None
        if columns == (0, 1) and space.n_components == 2:
            density = DensityMap.of(space, columns, n_grid, latents)
        display = cls(
            latents[:, columns],
            space.errors(X, latents),
            density=density,
            domain=space.domain_along(columns) if isinstance(space.domain, Domain) else None,
            components=columns,
        )
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: Any = "viridis_r",
        error_name: str = "distance to the manifold",
        show_border: bool = True,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, with ``projection="3d"`` for three dimensions; None makes a new figure.
        cmap : str or Colormap, default="viridis_r"
            Colors of errors: large ones are dark.
        error_name : str, default="distance to the manifold"
            The name of the errors.
        show_border : bool, default=True
            Whether to draw the border of the domain.
        scatter_kwargs : dict, default=None
            Options of ``Axes.scatter``.

        Returns
        -------
        self
        """
        from matplotlib.colors import Normalize

        norm = Normalize(0.0, self._largest_color())
        marks = Marks.of(Values(self.errors), scatter_kwargs, cmap=cmap, norm=norm)
        order = np.argsort(self.errors, kind="stable")
        if self.latents.shape[1] == 1:
            self._draw_line(ax, marks, order, show_border, error_name)
        elif self.latents.shape[1] == 2:
            self._draw_map(ax, marks, order, show_border)
        else:
            self._draw_space(ax, marks, order)
        self._draw_histogram(marks.scale, error_name)
        self._settle()
        return self

    def _largest_color(self) -> float:
        """Return the error at which colors end."""
        usual, largest = float(np.quantile(self.errors, 0.99)), float(self.errors.max())
        end = usual if largest > FAR * usual else largest
        return end if end > 0.0 else 1.0

    def _name(self, column: int) -> str:
        numbers = range(3) if self.components is None else self.components
        return f"latent {numbers[column] + 1}"

    def _draw_line(
        self, ax: Any, marks: Marks, order: IntArray, show_border: bool, error_name: str
    ) -> None:
        ax = self._open_both(ax, (WIDTH, 3.6))
        points = np.column_stack([self.latents[:, 0], self.errors])
        left, right, _, top = extent = extent_of(points)
        self.points_ = marks.draw(ax, points, extent, order)
        ax.plot(*_running_median(points), color="black", linewidth=1.2, zorder=3)
        if show_border and self.domain is not None:
            left, right = -1.04, 1.04
        ax.set(xlim=(left, right), ylim=(0.0, top), aspect="auto")
        ax.set(xlabel=self._name(0), ylabel=error_name)

    def _draw_map(self, ax: Any, marks: Marks, order: IntArray, show_border: bool) -> None:
        extent = map_extent(self.latents, self.density, self.domain)
        ax = self._open_both(ax, map_size(extent, WIDTH))
        set_extent(ax, extent)
        if show_border:
            draw_border(ax, self.density, self.domain)
        self.points_ = marks.draw(ax, self.latents, extent, order)
        set_extent(ax, extent)
        ax.set(xlabel=self._name(0), ylabel=self._name(1))

    def _draw_space(self, ax: Any, marks: Marks, order: IntArray) -> None:
        ax = self._open_both(ax, (WIDTH, WIDTH))
        self.points_ = marks.draw(
            ax, self.latents, order=order if len(order) <= MOST_MARKS else None
        )
        ax.set(xlabel=self._name(0), ylabel=self._name(1), zlabel=self._name(2))
        # Without the zoom the label of the third axis would lie beneath the histogram.
        ax.set_box_aspect(None, zoom=0.88)
        style_axes(ax)

    def _open_both(self, ax: Any, size: tuple[float, float]) -> Any:
        """Open the axes of the map and, beside them, those of the histogram."""
        three_d = self.latents.shape[1] == 3
        if ax is not None:
            ax = self._open(ax, size, three_d=three_d)
            self.ax_histogram_ = ax.inset_axes((1.04, 0.0, 0.16, 1.0))
            return ax
        figure = new_figure((size[0] * (1.0 + SIDE) + 0.5, size[1]))
        grid = figure.add_gridspec(1, 2, width_ratios=(1.0, SIDE))
        ax = figure.add_subplot(grid[0], projection="3d" if three_d else None)
        self.ax_histogram_ = figure.add_subplot(grid[1])
        self._open(ax, size, three_d=three_d)
        self._has_own_figure = True
        return ax

    def _draw_histogram(self, scale: Any, error_name: str) -> None:
        """Draw a histogram whose bars have the colors of the errors."""
        side = self.ax_histogram_
        top = float(self.errors.max()) or 1.0
        counts, edges = np.histogram(self.errors, bins=N_BINS, range=(0.0, top))
        middles = 0.5 * (edges[:-1] + edges[1:])
        style = {"color": scale.to_rgba(middles), "linewidth": 0}
        self.bars_ = side.barh(middles, counts, height=np.diff(edges), **style)
        without_frame(side)
        side.set_xticks([])
        side.spines["bottom"].set_visible(False)
        if self.latents.shape[1] == 1:
            side.set(ylim=self.ax_.get_ylim(), yticks=[])
        else:
            side.set_ylim(0.0, top)
            side.yaxis.tick_right()
            side.yaxis.set_label_position("right")
            side.spines["left"].set_visible(False)
            side.set_ylabel(error_name)


def _running_median(points: Array, n_parts: int = 20) -> tuple[Array, Array]:
    """Return the medians of both columns over parts of equal size along the first."""
    ordered = points[np.argsort(points[:, 0], kind="stable")]
    parts = np.array_split(ordered, max(1, min(n_parts, len(points) // 5)))
    medians = np.array([np.median(part, axis=0) for part in parts])
    return medians[:, 0], medians[:, 1]
