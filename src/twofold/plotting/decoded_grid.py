"""What latents look like: images or curves decoded over a grid, faded where no data support them.

The picture of Meinicke et al. (2005), Fig. 4c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.spatial import cKDTree

from twofold.numerics.validation import check_bool, check_int
from twofold.plotting._colors import DARK
from twofold.plotting._figures import Display, size_for
from twofold.plotting._latent_space import LatentSpace, check_components
from twofold.plotting._mosaic import (
    cell_corners,
    check_image_shape,
    curve_segments,
    mosaic_of,
    pooled,
    unit_range,
)
from twofold.principal_manifold.domains import Points
from twofold.protocols import AnyArray, Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DecodedGridDisplay"]

WIDTH = 7.5
MOST_PIXELS = 2_000
"""Along the longer side of all images together; larger images are made smaller."""

MOST_POINTS = 200
"""Of a curve."""

VISIBLE = 0.02
"""Support below which nothing would be seen, and nothing is decoded."""

IMAGES_A_SIDE, CURVES_A_SIDE, IMAGES_IN_A_ROW = 28, 14, 14


class DecodedGridDisplay(Display):
    """Images or curves that a grid of latents decodes to.

    They are drawn in full where latents are as dense as the sparser tenth of the training data, and fade to white beyond. Make it with
    `from_estimator`.

    Parameters
    ----------
    decoded : ndarray of shape (n_rows, n_columns, n_features)
        What the cells decode to, the lowest row first; NaN where nothing is drawn.
    support : ndarray of shape (n_rows, n_columns)
        From 1, drawn in full, to 0, white.
    horizontal, vertical : ndarray of shape (n_columns,) and (n_rows,)
        The latents at the cells' centres. One row is a strip, whose ``vertical`` means nothing.
    image_shape : tuple of int, default=None
        (height, width), or (height, width, 3) for images in colour; None draws curves.
    components : tuple of int, default=(0, 1)
        Which latent dimensions these are.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    image_ : matplotlib AxesImage or None
        All images as one.
    curves_ : matplotlib LineCollection or None
        All curves.

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
    """

    image_: Any
    curves_: Any

    def __init__(
        self,
        decoded: Array,
        support: Array,
        *,
        horizontal: Array,
        vertical: Array,
        image_shape: tuple[int, ...] | None = None,
        components: tuple[int, ...] = (0, 1),
    ) -> None:
        self.decoded = decoded
        self.support = support
        self.horizontal = horizontal
        self.vertical = vertical
        self.image_shape = check_image_shape(image_shape, decoded.shape[2])
        self.components = components

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        n_side: int | None = None,
        components: Any = None,
        at: Any = None,
        snap: bool | str = "auto",
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Decode a grid of latents and draw it.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model.
        image_shape : tuple of int, default=None
            Height and width of images flattened row by row, or (height, width, 3) for images in colour; None draws curves.
        n_side : int, default=None
            Cells along the longer side; None means 28 for images, 14 for curves or one latent dimension.
        components : sequence of int, default=None
            Which one or two latent dimensions to walk along; None means the first two.
        at : array-like of shape (n_components,), default=None
            The other latent dimensions; None means those of the training latent of the highest density.
        snap : bool or "auto", default="auto"
            Whether a cell that holds training latents shows the one of them that is nearest to its centre, and not its centre, which may lie in a
            gap between them. "auto" means where all latent dimensions are on the page and the model has no domain of its own.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            For `plot`.

        Returns
        -------
        DecodedGridDisplay

        Examples
        --------
        Curves instead of images, and a walk along one latent dimension alone:

        >>> import numpy as np
        >>> from twofold import TwoWay
        >>> from twofold.plotting import DecodedGridDisplay
        >>> rng = np.random.default_rng(0)
        >>> X = np.sin(np.linspace(0, 6, 30) + rng.uniform(0, 2, (100, 1))) * rng.uniform(1, 2, (100, 1))
        >>> model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
        >>> display = DecodedGridDisplay.from_estimator(model, n_side=6)
        >>> max(display.decoded.shape[:2]), display.image_ is None
        (6, True)
        >>> DecodedGridDisplay.from_estimator(model, n_side=6, components=[0]).decoded.shape
        (1, 6, 30)
        """
        space = LatentSpace.of(model)
        n_features = getattr(model, "n_features_in_", space.last.n_features_in_)
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
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        value_range: tuple[float, float] | None = None,
        cmap: Any = "gray_r",
        line_kwargs: dict[str, Any] | None = None,
        image_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        value_range : (float, float), default=None
            What is white and what is black in images without colours, what is dark and what is bright in those with colours, where curves
            begin and end; None means the smallest and the largest value of all.
        cmap : str or Colormap, default="gray_r"
            Colours of images that have none: ink on paper. Photographs look better with "gray".
        line_kwargs, image_kwargs : dict, default=None
            For the LineCollection of curves, and for ``Axes.imshow``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.plotting import DecodedGridDisplay
        >>> decoded = np.random.default_rng(0).uniform(size=(2, 3, 16))
        >>> display = DecodedGridDisplay(
        ...     decoded,
        ...     np.ones((2, 3)),
        ...     horizontal=np.arange(3.0),
        ...     vertical=np.arange(2.0),
        ...     image_shape=(4, 4),
        ... )
        >>> display.plot(value_range=(0.0, 1.0), cmap="gray").image_ is not None
        True
        """
        width, height = self._cell()
        left, bottom = self.horizontal[0] - width / 2, self.vertical[0] - height / 2
        right, top = self.horizontal[-1] + width / 2, self.vertical[-1] + height / 2
        slender = float(np.clip((top - bottom) / (right - left), 0.05, 1.3))
        panel = self._open(ax, size_for(WIDTH, slender))
        values = unit_range(self.decoded, value_range)
        self.image_, self.curves_ = None, None
        if self.image_shape is not None:
            from matplotlib import colormaps

            inks = colormaps[cmap] if isinstance(cmap, str) else cmap
            mosaic = mosaic_of(values, self.support, self.image_shape, inks)
            style: dict[str, Any] = {
                "extent": (left, right, bottom, top),
                "interpolation": "antialiased",
            }
            self.image_ = panel.imshow(mosaic, **style, **(image_kwargs or {}))
        else:
            self.curves_ = self._draw_curves(panel, values, (width, height), line_kwargs or {})
        panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
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
    """Return the centres of cells along both axes, and the latents (n, q) they stand for, the lowest row first.

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
    """Return the latent (q,) that those dimensions keep along which there is no walk."""
    if at is None:
        some = np.linspace(0, len(space.latents) - 1, min(len(space.latents), 1_000)).astype(int)
        candidates = space.latents[some]
        return np.asarray(candidates[space.log_density(candidates).argmax()])
    rest = np.asarray(at, dtype=np.float64)
    if rest.shape != (space.n_components,):
        raise ValueError(
            f"at has shape {rest.shape}: one number for each of the {space.n_components} latent dimensions is needed."
        )
    return rest


def _snapped(space: LatentSpace, latents: Array, columns: tuple[int, ...], size: Array) -> Array:
    """Return for each cell the training latent nearest to its centre, where there is one within it."""
    if len(columns) < space.n_components:
        raise ValueError(
            f"snap=True needs all latent dimensions on the page, and the model has {space.n_components}: use snap=False."
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
    """Decode what is shown, a few rows at a time, and make images and curves no finer than can be seen."""
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
