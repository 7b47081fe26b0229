"""Where on the map rows are rebuilt badly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.plotting._density import DensityMap, draw_box
from twofold.plotting._figures import Display, new_figure, size_for, without_frame
from twofold.plotting._labels import Values
from twofold.plotting._latent_space import LatentSpace, check_components
from twofold.plotting._points import color_scale, draw_points, extent_of
from twofold.plotting._walls import style_space
from twofold.principal_manifold.domains import Domain
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ReconstructionErrorDisplay"]

WIDTH = 7.0
CMAP = "viridis_r"
N_BINS = 40
SIDE = 0.16
"""Width of the histogram in widths of the map."""

FAR = 2.0
"""The largest error over its 99 % quantile, beyond which colours end at the latter."""


class ReconstructionErrorDisplay(Display):
    """Latents coloured by the distances of their rows to the manifold, beside a histogram of these.

    One latent dimension is drawn along the page, with the errors upwards. Make it with `from_estimator`.

    Parameters
    ----------
    latents : ndarray of shape (n_samples, 1 to 3)
        Where rows lie on the map.
    errors : ndarray of shape (n_samples,)
        Their distances to their reconstructions.
    density : DensityMap, default=None
        The density whose border is drawn.
    domain : Domain, default=None
        The shape of the latent space.
    components : tuple of int, default=None
        Which latent dimensions these are.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    ax_histogram_ : matplotlib Axes
        The axes of the histogram, whose bars explain the colours.
    points_ : list of matplotlib artists
        The latents; the largest errors are drawn last.
    bars_ : matplotlib BarContainer
        The histogram.

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
    """

    ax_histogram_: Any
    points_: list[Any]
    bars_: Any

    def __init__(
        self,
        latents: Array,
        errors: Array,
        *,
        density: DensityMap | None = None,
        domain: Domain | None = None,
        components: tuple[int, ...] | None = None,
    ) -> None:
        self.latents = np.asarray(latents, dtype=np.float64)
        self.errors = np.asarray(errors, dtype=np.float64)
        if self.errors.shape != (len(self.latents),):
            raise ValueError(
                f"errors has shape {self.errors.shape} for {len(self.latents)} latents: give one for each."
            )
        self.density = density
        self.domain = domain
        self.components = tuple(range(3)) if components is None else components

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        components: Any = None,
        n_grid: int = 200,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw how well a fitted model rebuilds rows.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        X : array-like of shape (n_samples, n_features)
            Data, best held-out ones.
        components : sequence of int, default=None
            Which latent dimensions to draw, one to three of them; None means all.
        n_grid : int, default=200
            Places along each side of the grid on which the border of the domain is looked for.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        ReconstructionErrorDisplay

        Examples
        --------
        >>> from twofold import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import ReconstructionErrorDisplay
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> X_new, _ = make_noisy_spiral(50, random_state=1)
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> display = ReconstructionErrorDisplay.from_estimator(model, X_new)
        >>> display.latents.shape, display.errors.shape
        ((50, 1), (50,))
        """
        space = LatentSpace.of(model)
        columns = check_components(components, space.n_components)
        latents = space.encode(X)
        errors = space.errors(X, latents)
        density = None
        if columns == (0, 1) and space.n_components == 2:
            density = DensityMap.of(space, columns, n_grid, latents)
        domain = space.domain
        display = cls(
            latents[:, columns],
            errors,
            density=density,
            domain=Domain(tuple(domain.wrapped[k] for k in columns))
            if isinstance(domain, Domain)
            else None,
            components=columns,
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: Any = CMAP,
        error_name: str = "distance to the manifold",
        show_border: bool = True,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Three latent dimensions need axes with ``projection="3d"``.
        cmap : str or Colormap, default="viridis_r"
            Colours of errors: large ones are dark.
        error_name : str, default="distance to the manifold"
            What the errors are called.
        show_border : bool, default=True
            Whether to draw the border of the domain.
        scatter_kwargs : dict, default=None
            For ``Axes.scatter``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.plotting import ReconstructionErrorDisplay
        >>> rng = np.random.default_rng(0)
        >>> display = ReconstructionErrorDisplay(rng.normal(size=(50, 2)), rng.uniform(size=50))
        >>> display.plot(error_name="distance in mm", cmap="magma_r").ax_histogram_.get_ylabel()
        'distance in mm'
        """
        from matplotlib.colors import Normalize

        values = Values(self.errors)
        scale = color_scale(values, cmap, Normalize(0.0, self._brightest()))
        order = np.argsort(self.errors, kind="stable")
        draw = (self._draw_line, self._draw_map, self._draw_space)[self.latents.shape[1] - 1]
        draw(ax, values, scale, order, show_border, error_name, scatter_kwargs or {})
        self._draw_histogram(scale, error_name)
        self._settle()
        return self

    def _brightest(self) -> float:
        """Return the error at which colours end."""
        usual, largest = float(np.quantile(self.errors, 0.99)), float(self.errors.max())
        end = usual if largest > FAR * usual else largest
        return end if end > 0.0 else 1.0

    def _name(self, column: int) -> str:
        return f"latent {self.components[column] + 1}"

    def _draw_line(
        self,
        ax: Any,
        values: Values,
        scale: Any,
        order: IntArray,
        show_border: bool,
        error_name: str,
        scatter_kwargs: dict[str, Any],
    ) -> None:
        ax = self._open_both(ax, (WIDTH, 3.6))
        points = np.column_stack([self.latents[:, 0], self.errors])
        left, right, _, top = extent = extent_of(points)
        self.points_ = draw_points(
            ax, points, values, scale=scale, order=order, extent=extent, **scatter_kwargs
        )
        ax.plot(*_running_median(points), color="black", linewidth=1.2, zorder=3)
        if show_border and self.domain is not None:
            left, right = -1.04, 1.04
        ax.set(xlim=(left, right), ylim=(0.0, top), aspect="auto")
        ax.set(xlabel=self._name(0), ylabel=error_name)

    def _draw_map(
        self,
        ax: Any,
        values: Values,
        scale: Any,
        order: IntArray,
        show_border: bool,
        error_name: str,  # noqa: ARG002 - beside the histogram
        scatter_kwargs: dict[str, Any],
    ) -> None:
        extent = extent_of(self.latents)
        if self.density is not None:
            extent = self.density.extent(self.domain)
        left, right, bottom, top = extent
        slender = float(np.clip((top - bottom) / (right - left), 0.4, 1.2))
        ax = self._open_both(ax, size_for(WIDTH, slender))
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        if show_border and self.domain is not None:
            draw_box(ax, self.domain.wrapped)
        elif show_border and self.density is not None:
            self.density.outline(ax)
        self.points_ = draw_points(
            ax, self.latents, values, scale=scale, order=order, extent=extent, **scatter_kwargs
        )
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.set(xlabel=self._name(0), ylabel=self._name(1))

    def _draw_space(
        self,
        ax: Any,
        values: Values,
        scale: Any,
        order: IntArray,
        show_border: bool,  # noqa: ARG002 - walls are enough in space
        error_name: str,  # noqa: ARG002
        scatter_kwargs: dict[str, Any],
    ) -> None:
        ax = self._open_both(ax, (WIDTH, WIDTH))
        kept = order if len(order) <= 50_000 else None
        self.points_ = draw_points(
            ax, self.latents, values, scale=scale, order=kept, **scatter_kwargs
        )
        ax.set(xlabel=self._name(0), ylabel=self._name(1), zlabel=self._name(2))
        ax.set_box_aspect(
            None, zoom=0.88
        )  # the name of the third axis would lie beneath the histogram
        style_space(ax)

    def _open_both(self, ax: Any, size: tuple[float, float]) -> Any:
        """Return the axes of the map, and open those of the histogram: beside them, of axes of yours at their edge."""
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
        """Draw a histogram to the right, its bars in the colours of the errors."""
        side, one = self.ax_histogram_, self.latents.shape[1] == 1
        top = float(self.errors.max()) or 1.0
        counts, edges = np.histogram(self.errors, bins=N_BINS, range=(0.0, top))
        middles = 0.5 * (edges[:-1] + edges[1:])
        self.bars_ = side.barh(
            middles, counts, height=np.diff(edges), color=scale.to_rgba(middles), linewidth=0
        )
        without_frame(side)
        side.set_xticks([])
        side.spines["bottom"].set_visible(False)
        if one:
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
