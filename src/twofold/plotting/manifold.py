"""The manifold in data space, with the data and their projections."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.sparse_rows import dense_if_few_cells
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_int
from twofold.plotting._class_names import name_classes
from twofold.plotting._data_view import view_of
from twofold.plotting._figures import Axes, Display, extent_of, map_size, plain, plain_texts
from twofold.plotting._labels import Classes, read_labels
from twofold.plotting._latent_space import LatentSpace, Model, check_components, grid_axes
from twofold.plotting._manifold_lattice import Lattice
from twofold.plotting._marks import Marks
from twofold.plotting._three_dimensions import MOST_UNEQUAL, set_box
from twofold.principal_manifold.domains import Points
from twofold.protocols import Array

WIDTH = 6.5
MOST_SEGMENTS = 2_000
MOST_FOR_VIEW = 5_000
PLACES = {1: 1_500, 2: 61, 3: 31}
DATA_COLOR = "#999999"


@dataclass(eq=False, repr=False)
class ManifoldDisplay(Display):
    """A decoded curve or surface among the data, with a line from each row to its projection.

    Create it with `from_estimator`.

    Parameters
    ----------
    lattice : Lattice
        The manifold: places of a latent grid and their images.
    data, projections : ndarray of shape (n_samples, 2 or 3), default=None
        The data and their reconstructions, in the directions that are drawn.
    labels : array-like of shape (n_samples,), default=None
        Labels that set the colors of the data.
    axis_names : tuple of str
        The names of the axes.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are names or numbers on a scale.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    manifold_, points_ : list of matplotlib artists
        The curve, surface or lattice, and the data.
    segments_ : matplotlib LineCollection or None
        The lines from data to their projections.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        Legend of the classes and color bar of the values.

    Examples
    --------
    >>> from twofold import PrincipalManifold
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.plotting import ManifoldDisplay
    >>> X, _ = make_noisy_spiral(100, random_state=0)
    >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
    >>> display = ManifoldDisplay.from_estimator(model, X)
    >>> len(display.segments_.get_segments())
    100
    >>> display.plot(segments=False, manifold_kwargs={"color": "black"}).segments_ is None
    True
    """

    lattice: Lattice
    _: KW_ONLY
    data: Array | None = None
    projections: Array | None = None
    labels: Any = None
    axis_names: tuple[str, ...]
    label_kind: str = "auto"

    @classmethod
    def from_estimator(
        cls,
        model: Model,
        X: Any = None,
        labels: Any = None,
        *,
        view: Any = "auto",
        n_places: int | None = None,
        label_kind: str = "auto",
        **plot_options: Any,
    ) -> Self:
        """Decode the manifold and draw it.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model with one to three latent dimensions.
        X : array-like of shape (n_samples, n_features), default=None
            Data to draw beside it; None draws the manifold alone.
        labels : array-like of shape (n_samples,), default=None
            The label of each row of X.
        view : "auto", "principal" or sequence of two or three features, default="auto"
            Features by number or name, or the principal axes of the data: two for curves, three for
            surfaces. "auto" means the features if there are two or three.
        n_places : int, default=None
            Places along each latent dimension; None means 1,500 in one, 61 in two, 31 in three.
        label_kind : {"auto", "classes", "values"}, default="auto"
            Whether labels are names or numbers on a scale.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ManifoldDisplay
        """
        space = LatentSpace.of(model)
        q = len(check_components(None, space.n_components))
        if labels is not None and X is None:
            raise ValueError("labels are those of rows: give X as well.")
        n_places = PLACES[q] if n_places is None else check_int("n_places", n_places, low=2)
        places, axes, spacing = _places(space, n_places)
        images = space.decode(places)
        supported = space.is_supported(places, spacing)
        if X is None and not supported.any():
            raise ValueError(
                f"None of n_places={n_places} places along a side lies where data support the "
                "manifold: use more places."
            )
        images[~supported] = np.nan
        data = None
        if X is not None:
            data = np.asarray(dense_if_few_cells(as_numpy(X, "X")), dtype=np.float64)
        seen = data
        if seen is None:
            seen = space.decode(space.latents[some_rows(len(space.latents), MOST_FOR_VIEW)])
        names = getattr(model, "feature_names_in_", None)
        look = view_of(view, seen[some_rows(len(seen), MOST_FOR_VIEW)], names, q)
        few = data is not None and len(data) <= MOST_SEGMENTS
        display = cls(
            Lattice(axes, look(images), space.wrapped, isinstance(space.domain, Points)),
            data=None if data is None else look(data),
            projections=look(space.decode(space.encode(X))) if few else None,
            labels=labels,
            axis_names=look.names,
            label_kind=label_kind,
        )
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        segments: bool = True,
        show_colorbar: bool = True,
        names: str = "auto",
        cmap: Any = None,
        label_name: str | None = None,
        manifold_kwargs: dict[str, Any] | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        segments : bool, default=True
            Whether to draw lines from the data to their projections, for up to 2,000 rows.
        show_colorbar : bool, default=True
            Whether to draw the color bar of values.
        names : {"auto", "map", "legend", "both", "none"}, default="auto"
            Where the names of classes are written; "auto" is a legend.
        cmap : str or Colormap, default=None
            Colors of values; None means "viridis".
        label_name : str, default=None
            The title of the color bar.
        manifold_kwargs : dict, default=None
            Options of the Line2D, LineCollection or Poly3DCollection of the manifold.
        scatter_kwargs : dict, default=None
            Options of ``Axes.scatter``.

        Returns
        -------
        self
        """
        three_d = len(self.axis_names) == 3
        everything = self._everything()
        size = (WIDTH, WIDTH) if three_d else map_size(extent_of(everything), WIDTH)
        panel = self._open(ax, size, three_d=three_d)
        self._frame(panel, everything)
        self.segments_ = self._draw_segments(panel) if segments else None
        coloring = None
        if self.data is not None:
            coloring = read_labels(self.labels, len(self.data), self.label_kind)
        marks = Marks.of(coloring, scatter_kwargs, cmap=cmap, color=DATA_COLOR)
        self.points_ = [] if self.data is None else marks.draw(panel, self.data)
        self.legend_: Any = None
        if self.data is not None and isinstance(coloring, Classes):
            where = "legend" if names == "auto" and len(coloring.names) > 1 else names
            _, self.legend_ = name_classes(self, self.data, coloring, where)
        self.colorbar_: Any = None
        if marks.scale is not None and show_colorbar:
            self.colorbar_ = self._show_colorbar(marks.scale, label_name)
        neutral = marks.scale is not None
        self.manifold_ = self.lattice.draw(panel, neutral=neutral, **(manifold_kwargs or {}))
        self._settle()
        return self

    def _everything(self) -> Array:
        """Return the points (n, 2 or 3) of the manifold and the data."""
        images = self.lattice.images
        shown = images[np.isfinite(images).all(axis=1)]
        return shown if self.data is None else np.vstack([shown, self.data])

    def _frame(self, ax: Any, everything: Array) -> None:
        """Set limits and names, with one scale along all axes unless ranges differ tenfold."""
        low, high = everything.min(axis=0), everything.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        if len(self.axis_names) == 3:
            middle = 0.5 * low + 0.5 * high
            set_box(ax, np.stack([middle - 0.5 * size, middle + 0.5 * size], axis=1))
        else:
            left, right, bottom, top = extent_of(everything)
            ax.set(xlim=(left, right), ylim=(bottom, top))
            if size.max() <= MOST_UNEQUAL * size.min():
                ax.set_aspect("equal")
        setters = [getattr(ax, f"set_{axis}label") for axis in "xyz"[: len(self.axis_names)]]
        plain_texts(
            [setter(plain(name)) for setter, name in zip(setters, self.axis_names, strict=True)]
        )

    def _draw_segments(self, ax: Any) -> Any:
        if self.data is None or self.projections is None:
            return None
        ends = np.stack([self.data, self.projections], axis=1)
        style: dict[str, Any] = {"colors": "#BBBBBB", "linewidths": 0.6, "zorder": 1}
        if len(self.axis_names) == 3:
            from mpl_toolkits.mplot3d.art3d import Line3DCollection

            return ax.add_collection3d(Line3DCollection(ends, **style))
        from matplotlib.collections import LineCollection

        return ax.add_collection(LineCollection(list(ends), **style))


def _places(space: LatentSpace, n_places: int) -> tuple[Array, list[Array], float]:
    """Return the places (m, q) of a grid over the latent space, its axes, and the spacing."""
    if isinstance(space.domain, Points):
        axis = np.arange(float(space.domain.n_points))
        return axis[:, None], [axis], 1.0
    bounds = space.limits(tuple(range(space.n_components)))
    axes = grid_axes(bounds, n_places)
    mesh = np.meshgrid(*axes, indexing="ij")
    spacing = max(float(axis[1] - axis[0]) for axis in axes)
    return np.stack([one.ravel() for one in mesh], axis=1), axes, spacing
