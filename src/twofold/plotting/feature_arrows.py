"""Where on the map which features grow: arrows of the strongest features at a few places."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold.explaining.reference import SCALE
from twofold.numerics.linalg import sqdist
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_int
from twofold.plotting._density import DensityMap, draw_border, map_extent
from twofold.plotting._figures import Axes, Display, map_size, set_extent
from twofold.plotting._labels import COLORS
from twofold.plotting._latent_space import LatentSpace
from twofold.plotting._marks import Marks
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import AnyArray, Array, IntArray

WIDTH = 7.0
LONGEST = 0.12
"""Length of the longest arrow, as a share of the map's size."""

MOST_CLUSTERED = 5_000
GRAY, REST = "#888888", "#555555"


@dataclass(eq=False, repr=False)
class FeatureArrowsDisplay(Display):
    """Arrows at a few places of a map: the directions in which the strongest features grow.

    An arrow points to where the feature grows fastest around its place, at the scale of
    ``explain``. Its length is proportional to the growth, in spreads of the feature; all arrows
    have the same unit. Create it with `from_estimator`.

    Parameters
    ----------
    latents : array-like of shape (n_samples, 2)
        The latents to draw as points.
    places : array-like of shape (n_places, 2)
        The places of the arrows.
    slopes : array-like of shape (n_places, n_arrows, 2)
        The slopes of the features at each place, in spreads.
    names : array-like of str, shape (n_places, n_arrows)
        The features.
    density : DensityMap, default=None
        The density behind the points.
    domain : Domain or Points, default=None
        The domain of the latent space.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    points_ : matplotlib artist
        The points.
    arrows_ : list of matplotlib Quiver
        The arrows, for each feature.
    legend_ : matplotlib Legend
        The features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.plotting import FeatureArrowsDisplay
    >>> X = load_iris(as_frame=True).data
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    >>> display = FeatureArrowsDisplay.from_estimator(model, X, n_places=3)
    >>> len(display.places), display.names.shape
    (3, (3, 2))
    >>> display.plot().ax_.get_xlabel()
    'latent 1'
    """

    latents: Array
    places: Array
    slopes: Array
    names: AnyArray
    _: KW_ONLY
    density: DensityMap | None = None
    domain: Domain | Points | None = None

    def __post_init__(self) -> None:
        self.latents = np.asarray(self.latents, dtype=np.float64)
        self.places = np.asarray(self.places, dtype=np.float64)
        self.slopes = np.asarray(self.slopes, dtype=np.float64)
        self.names = np.asarray(self.names, dtype=object)
        n_places = len(self.places)
        if self.slopes.shape != (*self.names.shape, 2) or len(self.names) != n_places:
            raise ValueError(
                f"slopes has shape {self.slopes.shape} and names {self.names.shape}: there must be "
                f"a slope of two numbers and a name for each arrow at each of {n_places} places."
            )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        n_places: int = 8,
        n_features: int = 2,
        scale: float = SCALE,
        n_grid: int = 200,
        **plot_options: Any,
    ) -> Self:
        """Explain rows of a fitted model with two latent dimensions, and draw arrows.

        Parameters
        ----------
        model : TwoWayEstimator, TableMap or Pipeline that ends in a TwoWayEstimator
            A fitted model with two latent dimensions.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to draw, some of which are explained.
        n_places : int, default=8
            Places of arrows: rows in the middle of clusters of latents.
        n_features : int, default=2
            Arrows at each place.
        scale : float, default=0.25
            The width of the neighborhood, see `TwoWayEstimator.explain`.
        n_grid : int, default=200
            Places along each side of the density's grid.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        FeatureArrowsDisplay
        """
        check_int("n_places", n_places)
        check_int("n_features", n_features)
        check_int("n_grid", n_grid, low=2)
        space, explained = _explained(model)
        if space.n_components != 2:
            raise ValueError(
                f"The model has {space.n_components} latent dimensions; arrows need two."
            )
        found = explained.explain(X, scale=scale)
        rows = _spread_rows(found.latents, n_places)
        strongest = np.argsort(-found.effects[rows], axis=1, kind="stable")[:, :n_features]
        slopes = np.take_along_axis(found.moves[rows], strongest[:, :, None], axis=1)
        if scale > 0.0:  # the moves are the slopes times the covariance of the latents
            slopes = slopes @ np.linalg.pinv(np.cov(space.latents.T, bias=True), hermitian=True)
        names = np.array(found.feature_names, dtype=object)[strongest]
        display = cls(
            found.latents,
            found.latents[rows],
            slopes,
            names,
            density=DensityMap.of(space, (0, 1), n_grid, found.latents),
            domain=space.domain_along((0, 1)),
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
            Options of ``Axes.scatter`` for the points.

        Returns
        -------
        self
        """
        density = self.density if show_density else None
        extent = map_extent(self.latents, self.density, self.domain)
        ax = self._open(ax, map_size(extent, WIDTH))
        set_extent(ax, extent)
        ax.set(xlabel="latent 1", ylabel="latent 2")
        if density is not None:
            density.fill(ax)
        draw_border(ax, self.density, self.domain)
        marks = Marks.of(None, {"s": 8, "linewidths": 0} | (scatter_kwargs or {}), color=GRAY)
        self.points_ = marks.draw(ax, self.latents, extent)
        self.arrows_, handles, names = [], [], []
        unit = self._unit(extent)
        flat, ordered = self.names.ravel(), self._by_count()
        starts = np.repeat(self.places, self.names.shape[1], axis=0)
        arrows_of = self.slopes.reshape(-1, 2) * unit
        for number, name in enumerate(ordered):
            own = flat == name
            color = COLORS[number] if number < len(COLORS) else REST
            arrows = ax.quiver(
                *starts[own].T,
                *arrows_of[own].T,
                angles="xy",
                scale_units="xy",
                scale=1.0,
                color=color,
                edgecolor="white",
                linewidth=0.5,
                width=0.008,
                zorder=4,
            )
            self.arrows_.append(arrows)
            handles.append(_handle(color))
            names.append(str(name))
        self.legend_ = self._show_legend(handles, names)
        set_extent(ax, extent)
        self._settle()
        return self

    def _unit(self, extent: tuple[float, float, float, float]) -> float:
        """Return what slopes are multiplied by, so that the longest has its length on the map."""
        left, right, bottom, top = extent
        longest = float(np.sqrt(np.square(self.slopes).sum(axis=2)).max(initial=0.0))
        return LONGEST * max(right - left, top - bottom) / longest if longest > 0.0 else 1.0

    def _by_count(self) -> list[Any]:
        """Return the features, those with the most arrows first."""
        names, first, counts = np.unique(
            self.names.ravel().astype(str), return_index=True, return_counts=True
        )
        order = np.lexsort((first, -counts))
        return [names[place] for place in order]


def _handle(color: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linewidth=3)


def _explained(model: Any) -> tuple[LatentSpace, Any]:
    """Return the latent space of a model and what explains its rows."""
    if hasattr(model, "layout_"):
        return LatentSpace.of(model.model_), model
    space = LatentSpace.of(model)
    if not hasattr(space.model, "explain"):
        raise TypeError(
            f"model={type(model).__name__} has steps that cannot become part of a model: explain "
            "its last step with rows that are transformed by the others."
        )
    return space, space.model


def _spread_rows(latents: Array, n_places: int) -> IntArray:
    """Return the numbers of rows in the middle of clusters of latents (n, 2)."""
    some = some_rows(len(latents), MOST_CLUSTERED)
    distinct = np.unique(latents[some], axis=0)
    if len(distinct) <= n_places:
        centers = distinct
    else:
        from sklearn.cluster import KMeans

        centers = KMeans(n_places, n_init=3, random_state=0).fit(distinct).cluster_centers_
    rows: IntArray = np.unique(sqdist(centers, latents).argmin(axis=1))
    return rows
