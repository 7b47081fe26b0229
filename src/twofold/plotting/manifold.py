"""The manifold itself, in data space, with the data and where they project to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_int
from twofold.plotting._figures import Display, plain, size_for
from twofold.plotting._labels import Classes, Values, read_labels
from twofold.plotting._latent_space import LatentSpace, check_components
from twofold.plotting._lattice import Lattice
from twofold.plotting._names import name_classes
from twofold.plotting._points import color_scale, draw_points, extent_of
from twofold.plotting._views import view_of
from twofold.plotting._walls import box_aspect, style_space
from twofold.principal_manifold.domains import Points
from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ManifoldDisplay"]

WIDTH = 6.5
MOST_SEGMENTS = 2_000
MOST_FOR_VIEW = 5_000
MOST_UNEQUAL = 10.0
PLACES = {1: 1_500, 2: 61, 3: 31}
DATA_COLOR = "#999999"


class ManifoldDisplay(Display):
    """A decoded curve or surface among the data, with a line from each row to its projection.

    Make it with `from_estimator`.

    Parameters
    ----------
    lattice : Lattice
        The manifold: places of a latent grid and their images.
    data : ndarray of shape (n_samples, 2 or 3), default=None
        The data, as seen.
    projections : ndarray of shape (n_samples, 2 or 3), default=None
        Their reconstructions, as seen.
    labels : array-like of shape (n_samples,), default=None
        They set the colours of the data.
    axis_names : tuple of str
        What is drawn along the axes.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are names or numbers on a scale.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    manifold_ : list of matplotlib artists
        The curve, the surface or the lattice.
    points_ : list of matplotlib artists
        The data.
    segments_ : matplotlib LineCollection or None
        The lines from data to their projections.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        What explains the colours of the data.

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
    """

    manifold_: list[Any]
    points_: list[Any]
    segments_: Any
    legend_: Any
    colorbar_: Any

    def __init__(
        self,
        lattice: Lattice,
        *,
        data: Array | None = None,
        projections: Array | None = None,
        labels: Any = None,
        axis_names: tuple[str, ...],
        label_kind: str = "auto",
    ) -> None:
        self.lattice = lattice
        self.data = data
        self.projections = projections
        self.labels = labels
        self.axis_names = axis_names
        self.label_kind = label_kind

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        labels: Any = None,
        *,
        view: Any = "auto",
        n_places: int | None = None,
        label_kind: str = "auto",
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Decode the manifold and draw it.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model of one to three latent dimensions.
        X : array-like of shape (n_samples, n_features), default=None
            Data to draw beside it; None draws the manifold alone.
        labels : array-like of shape (n_samples,), default=None
            One label for each row of X.
        view : "auto", "principal" or sequence of two or three features, default="auto"
            What is seen: features by number or name, or the principal axes of the data (of the manifold, without data). "auto" means the features
            where there are two or three, else principal axes: two for curves, three for surfaces.
        n_places : int, default=None
            Places along each latent dimension; None means 1,500, 61 or 31 for one, two or three of them.
        label_kind : {"auto", "classes", "values"}, default="auto"
            Whether labels are names or numbers on a scale.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Three directions need axes with ``projection="3d"``.
        **plot_options
            For `plot`.

        Returns
        -------
        ManifoldDisplay

        Examples
        --------
        A surface among its data, seen in space:

        >>> from twofold import TwoWay
        >>> from twofold.datasets import make_s_curve
        >>> from twofold.plotting import ManifoldDisplay
        >>> X, parameters = make_s_curve(100, random_state=0)
        >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
        >>> display = ManifoldDisplay.from_estimator(model, X, parameters[:, 0], n_places=15)
        >>> display.ax_.name, display.data.shape
        ('3d', (100, 3))
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
                f"None of n_places={n_places} places a side lies where data support the manifold: give more of them."
            )
        images[~supported] = np.nan
        data = None if X is None else np.asarray(X, dtype=np.float64)
        seen = (
            data
            if data is not None
            else space.decode(space.latents[some_rows(len(space.latents), MOST_FOR_VIEW)])
        )
        names = getattr(model, "feature_names_in_", None)
        look = view_of(view, seen[some_rows(len(seen), MOST_FOR_VIEW)], names, q)
        projections = None
        if data is not None and len(data) <= MOST_SEGMENTS:
            projections = look(space.decode(space.encode(X)))
        display = cls(
            Lattice(axes, look(images), space.wrapped, isinstance(space.domain, Points)),
            data=None if data is None else look(data),
            projections=projections,
            labels=labels,
            axis_names=look.names,
            label_kind=label_kind,
        )
        return display.plot(ax, **plot_options)

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
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        segments : bool, default=True
            Whether to draw lines from the data to their projections; of more than 2,000 rows there are none.
        show_colorbar : bool, default=True
            Whether to draw the bar that explains the colours of values.
        names : {"auto", "map", "legend", "both", "none"}, default="auto"
            Where the names of classes are written; "auto" is a legend.
        cmap : str or Colormap, default=None
            Colours of values; None means "viridis".
        label_name : str, default=None
            What the colour bar is titled.
        manifold_kwargs : dict, default=None
            For the artist of the manifold: a Line2D, a LineCollection or a Poly3DCollection.
        scatter_kwargs : dict, default=None
            For ``Axes.scatter``.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> from twofold.plotting import ManifoldDisplay
        >>> X, _ = make_noisy_spiral(100, random_state=0)
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> display = ManifoldDisplay.from_estimator(model, X)
        >>> display.plot(segments=False, manifold_kwargs={"color": "black"}).segments_ is None
        True
        """
        three_d = len(self.axis_names) == 3
        everything = self._everything()
        left, right, bottom, top = extent_of(everything)
        slender = float(np.clip((top - bottom) / (right - left), 0.4, 1.2))
        size = (WIDTH, WIDTH) if three_d else size_for(WIDTH, slender)
        panel = self._open(ax, size, three_d=three_d)
        self._frame(panel, everything)
        self.segments_ = self._draw_segments(panel) if segments else None
        self.legend_, self.colorbar_ = None, None
        coloring = None
        if self.data is not None:
            coloring = read_labels(self.labels, len(self.data), self.label_kind)
        scale = color_scale(coloring, cmap) if isinstance(coloring, Values) else None
        self.points_ = self._draw_data(panel, coloring, scale, names, scatter_kwargs or {})
        if scale is not None and show_colorbar:
            self.colorbar_ = self._explain(scale, label_name)
        self.manifold_ = self.lattice.draw(
            panel, neutral=scale is not None, **(manifold_kwargs or {})
        )
        self._settle()
        return self

    def _everything(self) -> Array:
        images = self.lattice.images
        shown = images[np.isfinite(images).all(axis=1)]
        return shown if self.data is None else np.vstack([shown, self.data])

    def _frame(self, ax: Any, everything: Array) -> None:
        """Set limits and names; the same scale along all axes, unless ranges differ tenfold."""
        texts = [ax.set_xlabel(plain(self.axis_names[0])), ax.set_ylabel(plain(self.axis_names[1]))]
        low, high = everything.min(axis=0), everything.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        if len(self.axis_names) == 3:
            texts.append(ax.set_zlabel(plain(self.axis_names[2])))
            middle = 0.5 * low + 0.5 * high
            bounds = np.stack([middle - 0.5 * size, middle + 0.5 * size], axis=1)
            ax.set(xlim=bounds[0], ylim=bounds[1], zlim=bounds[2])
            ax.set_box_aspect(box_aspect(bounds))
            style_space(ax)
        else:
            left, right, bottom, top = extent_of(everything)
            ax.set(xlim=(left, right), ylim=(bottom, top))
            if size.max() <= MOST_UNEQUAL * size.min():
                ax.set_aspect("equal")
        for text in texts:
            text.set_parse_math(False)

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

    def _draw_data(
        self,
        ax: Any,
        coloring: Classes | Values | None,
        scale: Any,
        names: str,
        scatter_kwargs: dict[str, Any],
    ) -> list[Any]:
        if self.data is None:
            return []
        points = draw_points(
            ax, self.data, coloring, scale=scale, color=DATA_COLOR, **scatter_kwargs
        )
        if isinstance(coloring, Classes):
            where = "legend" if names == "auto" and len(coloring.names) > 1 else names
            _, self.legend_ = name_classes(self, self.data, coloring, where)
        return points


def _places(space: LatentSpace, n_places: int) -> tuple[Array, list[Array], float]:
    """Return the places (m, q) of a grid over the latent space, its axes, and the spacing."""
    if isinstance(space.domain, Points):
        axis = np.arange(float(space.domain.n_points))
        return axis[:, None], [axis], 1.0
    columns = tuple(range(space.n_components))
    bounds = space.limits(columns)
    size = bounds[:, 1] - bounds[:, 0]
    counts = np.maximum(2, np.rint(n_places * size / size.max()).astype(int))
    axes = [np.linspace(a, b, count) for (a, b), count in zip(bounds, counts, strict=True)]
    mesh = np.meshgrid(*axes, indexing="ij")
    spacing = max(float(axis[1] - axis[0]) for axis in axes)
    return np.stack([one.ravel() for one in mesh], axis=1), axes, spacing
