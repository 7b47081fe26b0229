"""The stretch of a map, its tears, seams and folds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline

from twofold.manifold_geometry import Stretch
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_choice, check_int
from twofold.plotting._density import DensityMap, draw_border
from twofold.plotting._figures import (
    Axes,
    Display,
    map_size,
    readable_log,
    set_extent,
    without_frame,
)
from twofold.plotting._latent_space import LatentSpace, Model
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import AnyArray, Array

WIDTH = 7.0
MOST_ROWS = 2_000  # rows that are drawn if none are given
LEAST_FACTOR = 1.5  # colors cover at least this factor on both sides of the median
COLORS = {"tear": "black", "seam": "#e0a100", "fold": "#b1006e"}
NAMES = {"area": "stretch: data per unit of the map", "anisotropy": "anisotropy"}
FAULTS = {"tear": "torn", "seam": "at a seam", "fold": "folded"}


@dataclass(eq=False, repr=False)
class StretchDisplay(Display):
    """How much a map with one or two latent dimensions is stretched, and where it has faults.

    Colors show the stretch relative to its median: the geometric mean of the singular values of the
    decoder's derivative, or their ratio. Hatched places are torn. Marked rows are at seams, where
    the map was cut, or folded: their neighbors on the map are not their neighbors in the data. See
    `twofold.manifold_geometry.Stretch` for the rules. Create it with `from_estimator`.

    Parameters
    ----------
    density : DensityMap
        The grid of the map and the density on it.
    places : Stretch
        The stretch at those places of the grid that have support.
    supported : ndarray of bool, shape (n_places,)
        Which places these are.
    rows : Stretch
        The stretch at rows.
    domain : Domain, default=None
        The domain of the latent space.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    image_ : matplotlib artist
        The colors, or the line of a map with one dimension.
    faults_ : dict of str to list of matplotlib artists
        What marks "tear", "seam" and "fold".
    border_ : list of matplotlib artists
        The border of the domain.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        Names of the faults that the map has, and the colors.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.plotting import StretchDisplay
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> model = TwoWay("isomap", random_state=0).fit(X)
    >>> display = StretchDisplay.from_estimator(model, X, n_grid=20)
    >>> display.rows.is_fold.any()
    np.False_
    >>> display.plot(value="anisotropy").colorbar_.ax.get_ylabel()
    'anisotropy'
    """

    density: DensityMap
    places: Stretch
    supported: AnyArray
    rows: Stretch
    _: KW_ONLY
    domain: Domain | Points | None = None

    @classmethod
    def from_estimator(
        cls, model: Model, X: Any = None, *, n_grid: int = 100, **plot_options: Any
    ) -> Self:
        """Draw the stretch of a fitted model.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model with one or two latent dimensions.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to draw. None draws training latents; folds show only in rows that are given.
        n_grid : int, default=100
            Places along the longer side of the grid.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        StretchDisplay
        """
        check_int("n_grid", n_grid, low=2)
        space = LatentSpace.of(model)
        if space.n_components > 2:
            raise ValueError(
                f"The model has {space.n_components} latent dimensions; a picture of stretch needs "
                "one or two. model.stretch(Z) gives the numbers."
            )
        if X is None:
            latents = space.latents[some_rows(len(space.latents), MOST_ROWS)]
            rows = space.last.stretch(latents)
        else:
            inside = space.model[:-1].transform(X) if isinstance(space.model, Pipeline) else X
            latents = space.encode(X)
            rows = space.last.stretch(latents, inside)
        columns = tuple(range(space.n_components))
        density = DensityMap.of(space, columns, n_grid, latents)
        grid = density.grid
        places = grid[:, None] if len(columns) == 1 else grid.points
        spacing = float(grid[1] - grid[0]) if len(columns) == 1 else grid.spacing
        supported = np.asarray(space.is_supported(places, spacing))
        if not supported.any():
            supported[:] = True
        found = space.last.stretch(places[supported])
        domain = space.domain_along(columns)
        return cls(density, found, supported, rows, domain=domain).plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        value: str = "area",
        show_rows: bool = True,
        show_border: bool = True,
        cmap: Any = "RdBu_r",
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        value : {"area", "anisotropy"}, default="area"
            What colors show: the geometric mean of the singular values (the root of the area that a
            unit of the map has in the data), or the largest over the smallest.
        show_rows, show_border : bool, default=True
            Whether to draw the rows, and the border of the domain.
        cmap : str or Colormap, default="RdBu_r"
            Colors; the middle is the median.

        Returns
        -------
        self
        """
        check_choice("value", value, tuple(NAMES))
        self.faults_: dict[str, list[Any]] = {}
        self.border_: list[Any] = []
        self.legend_: Any = None
        self.colorbar_: Any = None
        values = self.places.mean if value == "area" else self.places.anisotropy
        draw = self._draw_line if self.rows.latents.shape[1] == 1 else self._draw_map
        draw(ax, values, value, show_rows, show_border, cmap)
        shown = [name for name, artists in self.faults_.items() if artists]
        if shown:
            handles = [_handle(name) for name in shown]
            names = [FAULTS[name] for name in shown]
            self.legend_ = self._show_legend(handles, names, len(self.rows.latents))
        self._settle()
        return self

    def _draw_map(
        self, ax: Any, values: Array, value: str, show_rows: bool, show_border: bool, cmap: Any
    ) -> None:
        grid = self.density.grid
        extent = self.density.extent(self.domain)
        ax = self._open(ax, map_size(extent, WIDTH))
        shown = np.full(len(self.supported), np.nan)
        shown[self.supported] = values
        mesh = (grid.horizontal, grid.vertical, shown.reshape(grid.shape))
        style = {"norm": _norm(values), "cmap": cmap, "shading": "nearest", "rasterized": True}
        self.image_ = ax.pcolormesh(*mesh, zorder=0, **style)
        if show_border:
            self.border_ = draw_border(ax, self.density, self.domain)
        self._draw_tears(ax)
        self._draw_rows(ax, self.rows.latents, show_rows)
        set_extent(ax, extent)
        ax.set(xlabel="latent 1", ylabel="latent 2")
        self.colorbar_ = self._show_colorbar(self.image_, NAMES[value])
        readable_log(self.colorbar_.ax.yaxis)

    def _draw_tears(self, ax: Any) -> None:
        """Hatch the places that are torn."""
        torn = np.zeros(len(self.supported))
        torn[self.supported] = self.places.is_tear
        if not torn.any():
            self.faults_["tear"] = []
            return
        grid = self.density.grid
        mesh = (grid.horizontal, grid.vertical, torn.reshape(grid.shape))
        hatch = ax.contourf(*mesh, levels=[0.5, 2.0], colors="none", hatches=["/////"], zorder=1)
        line = ax.contour(*mesh, levels=[0.5], colors=COLORS["tear"], linewidths=0.7, zorder=1)
        self.faults_["tear"] = [hatch, line]

    def _draw_rows(self, ax: Any, points: Array, show_rows: bool) -> None:
        """Draw rows as dots, and mark those at seams and folds."""
        if show_rows:
            ax.scatter(*points.T, s=3.0, c="0.25", linewidths=0, alpha=0.6, zorder=2)
        for name, where in (("seam", self.rows.is_seam), ("fold", self.rows.is_fold)):
            self.faults_[name] = []
            if show_rows and where.any():
                style = {"s": 14.0, "c": COLORS[name], "marker": "o" if name == "seam" else "^"}
                edge = {"linewidths": 0.4, "edgecolors": "white", "zorder": 3}
                self.faults_[name] = [ax.scatter(*points[where].T, **style, **edge)]

    def _draw_line(
        self, ax: Any, values: Array, value: str, show_rows: bool, show_border: bool, cmap: Any
    ) -> None:
        """Draw the stretch along a single latent dimension; there is no anisotropy."""
        ax = self._open(ax, (WIDTH, 3.4))
        places = self.places.latents[:, 0]
        floor = 1e-3 * self.places.usual or 1.0
        heights = np.maximum(values, floor)
        (self.image_,) = ax.plot(places, heights, color="0.2", linewidth=1.2)
        ax.scatter(places, heights, c=heights, norm=_norm(values), cmap=cmap, s=14, zorder=2)
        torn = self.places.is_tear
        marks = {"marker": "s", "s": 30, "facecolors": "none", "edgecolors": COLORS["tear"]}
        found = [ax.scatter(places[torn], heights[torn], zorder=3, **marks)] if torn.any() else []
        self.faults_["tear"] = found
        at = np.maximum(self.rows.singular_values[:, 0], floor)
        rows = np.column_stack(
            [self.rows.latents[:, 0], at if value == "area" else np.ones_like(at)]
        )
        self._draw_rows(ax, rows, show_rows)
        if show_border and isinstance(self.domain, Domain):
            ends = (-float(self.domain.ends[0]), float(self.domain.ends[0]))
            self.border_ = [ax.axvline(end, color="#777777", linewidth=0.7) for end in ends]
        ax.set(xlabel="latent 1", ylabel=NAMES[value], yscale="log")
        without_frame(ax)


def _norm(values: Array) -> Any:
    """Return a logarithmic scale of colors whose middle is the median of values."""
    from matplotlib.colors import LogNorm

    logs = np.log(np.maximum(values, max(1e-3 * float(np.median(values)), 1e-300)))
    middle = float(np.median(logs))
    reach = float(np.quantile(np.abs(logs - middle), 0.98))
    reach = min(max(reach, float(np.log(LEAST_FACTOR))), 10.0)
    middle = float(np.clip(middle, -650.0, 650.0))
    return LogNorm(float(np.exp(middle - reach)), float(np.exp(middle + reach)), clip=True)


def _handle(name: str) -> Any:
    """Return the mark of a fault for the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if name == "tear":
        return Patch(facecolor="none", edgecolor=COLORS[name], hatch="/////", linewidth=0.7)
    marker = "o" if name == "seam" else "^"
    return Line2D([], [], linestyle="none", marker=marker, color=COLORS[name], markeredgewidth=0)
