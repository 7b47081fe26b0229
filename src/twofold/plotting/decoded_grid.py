"""Images or curves decoded over a latent grid, faded where no data support them.

The picture of Meinicke et al. (2005), Fig. 4c.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.spatial import cKDTree

from twofold.numerics.validation import check_bool, check_int
from twofold.plotting._decoded_cells import (
    cell_corners,
    check_image_shape,
    curve_segments,
    mosaic_of,
    pooled,
    unit_range,
)
from twofold.plotting._figures import Axes, Display, map_size, set_extent
from twofold.plotting._labels import DARK
from twofold.plotting._latent_space import LatentSpace, Model, check_components
from twofold.principal_manifold.domains import Points
from twofold.protocols import AnyArray, Array

WIDTH = 7.5
MOST_PIXELS = 2_000
"""Pixels along the longer side of all images together; larger images are made smaller."""

MOST_POINTS = 200  # points of a curve
VISIBLE = 0.02  # cells with less support would be invisible and are not decoded
IMAGES_A_SIDE, CURVES_A_SIDE, IMAGES_IN_A_ROW = 28, 14, 14


@dataclass(eq=False, repr=False)
class DecodedGridDisplay(Display):
    """The images or curves to which a grid of latents decodes.

    They are opaque where latents are at least as dense as the sparsest tenth of the training data,
    and fade to white elsewhere. Create it with `from_estimator`.

    Parameters
    ----------
    decoded : ndarray of shape (n_rows, n_columns, n_features)
        The decoded cells, the lowest row first; NaN in cells that are not drawn.
    support : ndarray of shape (n_rows, n_columns)
        From 1, opaque, to 0, white.
    horizontal, vertical : ndarray of shape (n_columns,) and (n_rows,)
        The latents at the centers of the cells. In a strip of one row ``vertical`` is not used.
    image_shape : tuple of int, default=None
        (height, width), or (height, width, 3) for color images; None draws curves.
    components : tuple of int, default=(0, 1)
        The numbers of these latent dimensions.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    image_, curves_ : matplotlib AxesImage and LineCollection, or None
        All images in one, or all curves.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold import TwoWay
    >>> from twofold.plotting import DecodedGridDisplay
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X[:100])
    >>> display = DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=10)
    >>> display.decoded.shape[2]
    64
    >>> display.plot(value_range=(0.0, 16.0), cmap="gray").image_ is not None
    True

    Curves along one latent dimension:

    >>> display = DecodedGridDisplay.from_estimator(model, n_side=6, components=[0])
    >>> display.decoded.shape
    (1, 6, 64)
    """

    decoded: Array
    support: Array
    _: KW_ONLY
    horizontal: Array
    vertical: Array
    image_shape: tuple[int, ...] | None = None
    components: tuple[int, ...] = (0, 1)

    def __post_init__(self) -> None:
        self.image_shape = check_image_shape(self.image_shape, self.decoded.shape[2])

    @classmethod
    def from_estimator(
        cls,
        model: Model,
        *,
        image_shape: tuple[int, ...] | None = None,
        n_side: int | None = None,
        components: Any = None,
        at: Any = None,
        snap: bool | str = "auto",
        **plot_options: Any,
    ) -> Self:
        """Decode a grid of latents and draw it.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        image_shape : tuple of int, default=None
            (height, width), or (height, width, 3) for color images; None draws curves.
        n_side : int, default=None
            Cells along the longer side; None means 28 for images, 14 for curves or one dimension.
        components : sequence of int, default=None
            The one or two latent dimensions of the grid; None means the first two.
        at : array-like of shape (n_components,), default=None
            The other latent dimensions; None takes the training latent of highest density.
        snap : bool or "auto", default="auto"
            Whether a cell with training latents shows the one nearest to its center. "auto" means
            True if the grid covers all latent dimensions and the model has no domain.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        DecodedGridDisplay
        """
        space = LatentSpace.of(model)
        n_features: Any = getattr(model, "n_features_in_", space.last.n_features_in_)
        shape = check_image_shape(image_shape, n_features)
        wanted = (0, 1)[: space.n_components] if components is None else components
        columns = check_components(wanted, space.n_components, most=2)
        usual = IMAGES_A_SIDE if shape is not None else CURVES_A_SIDE
        usual = IMAGES_IN_A_ROW if len(columns) == 1 else usual
        n_side = usual if n_side is None else check_int("n_side", n_side, low=2)
        axes, latents = _cells(space, columns, n_side, shape, at)
        size = np.array([axis[1] - axis[0] if len(axis) > 1 else 1.0 for axis in axes])
        whole = len(columns) == space.n_components
        if (whole and space.domain is None) if snap == "auto" else check_bool("snap", snap):
            latents = _snapped(space, latents, columns, size)
        support = space.support(latents, float(size[: len(columns)].max()))
        decoded, shape = _decoded(space, latents, support > VISIBLE, shape, n_side, n_features)
        cells = (len(axes[1]), len(axes[0]))
        display = cls(
            decoded.reshape(*cells, -1),
            np.where(support > VISIBLE, support, 0.0).reshape(cells),
            horizontal=axes[0],
            vertical=axes[1],
            image_shape=shape,
            components=columns,
        )
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        value_range: tuple[float, float] | None = None,
        cmap: Any = "gray_r",
        line_kwargs: dict[str, Any] | None = None,
        image_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        value_range : (float, float), default=None
            The ends of the color scale, or of the curves; None means those of all values.
        cmap : str or Colormap, default="gray_r"
            Colors of images without colors: ink on paper. "gray" suits photographs.
        line_kwargs, image_kwargs : dict, default=None
            Options of the LineCollection of curves, and of ``Axes.imshow``.

        Returns
        -------
        self
        """
        width, height = self._cell()
        left, bottom = self.horizontal[0] - width / 2, self.vertical[0] - height / 2
        right, top = self.horizontal[-1] + width / 2, self.vertical[-1] + height / 2
        extent = (left, right, bottom, top)
        panel = self._open(ax, map_size(extent, WIDTH, 0.05, 1.3))
        values = unit_range(self.decoded, value_range)
        self.image_: Any = None
        self.curves_: Any = None
        if self.image_shape is not None:
            from matplotlib import colormaps

            inks = colormaps[cmap] if isinstance(cmap, str) else cmap
            mosaic = mosaic_of(values, self.support, self.image_shape, inks)
            style: dict[str, Any] = {"extent": extent, "interpolation": "antialiased"}
            self.image_ = panel.imshow(mosaic, **style, **(image_kwargs or {}))
        else:
            self.curves_ = self._draw_curves(panel, values, (width, height), line_kwargs or {})
        set_extent(panel, extent)
        panel.set_xlabel(f"latent {self.components[0] + 1}")
        if len(self.components) == 1:
            panel.set_yticks([])
            panel.spines[["left", "right", "top"]].set_visible(False)
        else:
            panel.set_ylabel(f"latent {self.components[1] + 1}")
        self._settle()
        return self

    def _cell(self) -> tuple[float, float]:
        """Return the width and height of a cell."""
        width = float(self.horizontal[1] - self.horizontal[0]) if len(self.horizontal) > 1 else 1.0
        ratio = 1.0 if self.image_shape is None else self.image_shape[0] / self.image_shape[1]
        if len(self.vertical) > 1:
            return width, float(self.vertical[1] - self.vertical[0])
        return width, width * ratio

    def _draw_curves(
        self, ax: Any, values: Array, cell: tuple[float, float], line_kwargs: dict[str, Any]
    ) -> Any:
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.colors import to_rgb

        shown = self.support > 0.0
        mesh = np.stack(np.meshgrid(self.horizontal, self.vertical), axis=-1)
        rgba = np.column_stack([np.full((int(shown.sum()), 3), 0.94), self.support[shown]])
        papers = list(cell_corners(mesh[shown], cell))
        ax.add_collection(PolyCollection(papers, facecolors=rgba, edgecolors="none"), autolim=False)
        segments = curve_segments(values[shown], mesh[shown], cell)
        colors = np.column_stack([np.tile(to_rgb(DARK), (len(segments), 1)), self.support[shown]])
        style = {"colors": colors, "linewidths": 0.9, **line_kwargs}
        curves = LineCollection(list(segments), **style)
        ax.add_collection(curves, autolim=False)
        return curves


def _cells(
    space: LatentSpace,
    columns: tuple[int, ...],
    n_side: int,
    shape: tuple[int, ...] | None,
    at: Any,
) -> tuple[list[Array], Array]:
    """Return the centers of cells along both axes, and their latents (n, q), lowest row first.

    Cells have the proportions of the images.
    """
    bounds = space.limits(columns)
    size = bounds[:, 1] - bounds[:, 0]
    if len(columns) == 1:
        count = space.domain.n_points if isinstance(space.domain, Points) else n_side
        width = float(size[0] / count)
        axes = [bounds[0, 0] + width * (np.arange(count) + 0.5), np.zeros(1)]
    else:
        ratio = 1.0 if shape is None else shape[0] / shape[1]
        width = max(float(size[0]), float(size[1]) / ratio) / n_side
        counts = np.maximum(1, np.rint(size / np.array([width, width * ratio])).astype(int))
        axes = [
            low + extent / count * (np.arange(count) + 0.5)
            for low, extent, count in zip(bounds[:, 0], size, counts, strict=True)
        ]
    mesh = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    latents = np.tile(_rest(space, at), (len(mesh), 1))
    latents[:, columns] = mesh[:, : len(columns)]
    return axes, latents


def _rest(space: LatentSpace, at: Any) -> Array:
    """Return a latent (q,) for the dimensions that the grid does not cover."""
    if at is None:
        some = np.linspace(0, len(space.latents) - 1, min(len(space.latents), 1_000)).astype(int)
        candidates = space.latents[some]
        return np.asarray(candidates[space.log_density(candidates).argmax()])
    rest = np.asarray(at, dtype=np.float64)
    if rest.shape != (space.n_components,):
        raise ValueError(
            f"at has shape {rest.shape}: give one number for each of the {space.n_components} "
            "latent dimensions."
        )
    return rest


def _snapped(space: LatentSpace, latents: Array, columns: tuple[int, ...], size: Array) -> Array:
    """Move each cell that has training latents to the one nearest to its center."""
    if len(columns) < space.n_components:
        raise ValueError(
            f"snap=True needs all latent dimensions in the grid, but the model has "
            f"{space.n_components}: use snap=False."
        )
    scale = size[: len(columns)]
    _, nearest = cKDTree(space.latents / scale).query(latents / scale, p=np.inf)
    found = space.latents[nearest]
    away: AnyArray = np.abs(found - latents) / scale
    within = away.max(axis=1, keepdims=True) <= 0.5
    snapped: Array = np.where(within, found, latents)
    return snapped


def _decoded(
    space: LatentSpace,
    latents: Array,
    shown: Any,
    shape: tuple[int, ...] | None,
    n_side: int,
    n_features: int,
) -> tuple[Array, tuple[int, ...] | None]:
    """Decode the shown cells in batches, and pool images and curves to a visible resolution."""
    small = shape
    if shape is not None:
        most = max(8, MOST_PIXELS // n_side)
        small = (min(shape[0], most), min(shape[1], most), *shape[2:])
    n_kept = min(n_features, MOST_POINTS) if small is None else int(np.prod(small))
    decoded = np.full((len(latents), n_kept), np.nan)
    rows = np.flatnonzero(shown)
    for some in np.array_split(rows, max(1, len(rows) * n_features // 10_000_000)):
        images = space.decode(latents[some]) if len(some) else np.empty((0, n_features))
        if shape is None or small is None:
            images = pooled(images, 1, MOST_POINTS)
        else:
            images = images.reshape(-1, *shape)
            images = pooled(pooled(images, 1, small[0]), 2, small[1])
        decoded[some] = images.reshape(len(some), n_kept)
    return decoded, small
