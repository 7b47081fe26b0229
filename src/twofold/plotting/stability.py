"""The stability of rows on the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from twofold.model_selection import Stability, stability
from twofold.plotting._figures import (
    Axes,
    Display,
    extent_of,
    map_size,
    set_extent,
    without_frame,
)
from twofold.plotting._labels import Values
from twofold.plotting._latent_space import LatentSpace, Model, check_components
from twofold.plotting._marks import Marks
from twofold.protocols import Array

WIDTH = 7.0


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """A map colored by the stability of its rows.

    One latent dimension is the horizontal axis, with scores and their intervals as the vertical
    one. Create it with `from_estimator`, or with a map and the result of
    `twofold.model_selection.stability`.

    Parameters
    ----------
    latents : array-like of shape (n_samples, 1 or 2)
        Where rows are drawn.
    result : Stability
        Their stability.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    points_ : list of matplotlib artists
        The rows; the least stable are drawn last.
    colorbar_ : matplotlib Colorbar or None
        The colors.

    Examples
    --------
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.plotting import StabilityDisplay
    >>> X, _ = make_s_curve(200, random_state=0)
    >>> model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X)
    >>> display = StabilityDisplay.from_estimator(model, X, n_resamples=3)
    >>> display.colorbar_.ax.get_ylabel()
    'stability'
    >>> display.plot(cmap="cividis").result.scores.shape
    (200,)
    """

    latents: Array
    result: Stability

    def __post_init__(self) -> None:
        self.latents = np.asarray(self.latents, dtype=np.float64)
        shape = self.latents.shape
        if len(shape) != 2 or shape[1] not in (1, 2) or shape[0] != len(self.result.scores):
            raise ValueError(
                f"latents has shape {shape}: give one or two columns and a row for each of "
                f"{len(self.result.scores)} scores."
            )

    @classmethod
    def from_estimator(
        cls,
        model: Model,
        X: Any,
        *,
        components: Any = None,
        n_resamples: int = 10,
        max_samples: float = 0.8,
        n_neighbors: int | None = None,
        random_state: Any = 0,
        **plot_options: Any,
    ) -> Self:
        """Refit a model to parts of the rows, and draw the rows on its map.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        X : array-like of shape (n_samples, n_features)
            The rows.
        components : sequence of int, default=None
            The one or two latent dimensions to draw; None draws all.
        n_resamples, max_samples, n_neighbors, random_state
            See `twofold.model_selection.stability`.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        StabilityDisplay
        """
        space = LatentSpace.of(model)
        columns = check_components(components, space.n_components, most=2)
        result = stability(
            model,
            X,
            n_resamples=n_resamples,
            max_samples=max_samples,
            n_neighbors=n_neighbors,
            random_state=random_state,
        )
        return cls(space.encode(X)[:, columns], result).plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: Any = "viridis",
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        cmap : str or Colormap, default="viridis"
            Colors of scores from 0 to 1.
        scatter_kwargs : dict, default=None
            Options of ``Axes.scatter``.

        Returns
        -------
        self
        """
        from matplotlib.colors import Normalize

        found = self.result
        norm = Normalize(0.0, 1.0)
        marks = Marks.of(Values(found.scores), scatter_kwargs, cmap=cmap, norm=norm)
        order = np.argsort(-found.scores, kind="stable")
        low, high = found.interval
        title = f"stability {found.score:.2f} ({low:.2f} to {high:.2f})"
        self.colorbar_: Any = None
        if self.latents.shape[1] == 1:
            ax = self._open(ax, (WIDTH, 3.4))
            places = self.latents[:, 0]
            ax.vlines(places, found.low, found.high, color="0.8", linewidth=0.7, zorder=0)
            points = np.column_stack([places, found.scores])
            self.points_ = marks.draw(ax, points, extent_of(points), order)
            ax.set(xlabel="latent 1", ylabel="stability", ylim=(-0.02, 1.02), aspect="auto")
            without_frame(ax)
        else:
            extent = extent_of(self.latents)
            ax = self._open(ax, map_size(extent, WIDTH))
            set_extent(ax, extent)
            self.points_ = marks.draw(ax, self.latents, extent, order)
            set_extent(ax, extent)
            ax.set(xlabel="latent 1", ylabel="latent 2")
            self.colorbar_ = self._show_colorbar(marks.scale, "stability")
        ax.set_title(title, fontsize=10)
        self._settle()
        return self
