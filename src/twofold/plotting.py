"""Pictures of two-way models, with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from twofold.estimators import TwoWayEstimator

__all__ = ["plot_decoded_images", "plot_latent_map", "save_figure"]

# Ten colours that stay apart for colour-blind readers (Paul Tol's muted scheme, and grey).
COLORS = (
    "#332288",
    "#88CCEE",
    "#117733",
    "#DDCC77",
    "#CC6677",
    "#AA4499",
    "#44AA99",
    "#882255",
    "#999933",
    "#888888",
)


def _axes(ax: Axes | None, size: float) -> Axes:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size, size), layout="constrained")
    return figure.add_subplot()


def plot_latent_map(
    model: TwoWayEstimator, *, labels: Any = None, ax: Axes | None = None, n_grid: int = 120
) -> Axes:
    """Draw the training latents over the contours of their density.

    Parameters
    ----------
    model : TwoWayEstimator
        A fitted model with two latent dimensions.
    labels : array-like of shape (n_samples,), default=None
        One label for each training row; labels set the colours.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    n_grid : int, default=120
        Points along each side of the density's grid.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax, 7.0)
    Z = _two_dimensional(model)
    horizontal, vertical, grid = _latent_grid(Z, n_grid)
    density = np.exp(model.log_density(grid)).reshape(n_grid, n_grid)
    ax.contourf(horizontal, vertical, density, levels=12, cmap="Greys", alpha=0.35)
    size = float(np.clip(2_000.0 / np.sqrt(len(Z)) / 6.0, 2.0, 30.0))
    if labels is None:
        ax.scatter(Z[:, 0], Z[:, 1], s=size, color=COLORS[0], linewidths=0)
    else:
        for number, label in enumerate(np.unique(labels)):
            rows = np.asarray(labels) == label
            color = COLORS[number % len(COLORS)]
            ax.scatter(Z[rows, 0], Z[rows, 1], s=size, color=color, linewidths=0, label=str(label))
            ax.annotate(
                str(label),
                np.median(Z[rows], axis=0),
                ha="center",
                va="center",
                fontsize=11,
                weight="bold",
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": color, "alpha": 0.85},
            )
    ax.set(xlabel="latent 1", ylabel="latent 2", aspect="equal")
    return ax


def plot_decoded_images(
    model: TwoWayEstimator,
    image_shape: tuple[int, int],
    *,
    n_side: int = 28,
    ax: Axes | None = None,
) -> Axes:
    """Draw the images that a grid of latents decodes to, faded where no data support them.

    Parameters
    ----------
    model : TwoWayEstimator
        A fitted model with two latent dimensions, of images flattened row by row.
    image_shape : (int, int)
        Height and width of an image.
    n_side : int, default=28
        Images along each side.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax, 8.0)
    Z = _two_dimensional(model)
    horizontal, vertical, grid = _latent_grid(Z, n_side)
    height, width = image_shape
    images = model.inverse_transform(grid).reshape(n_side, n_side, height, width)
    # Rows of the grid run upwards, rows of the picture downwards.
    mosaic = images[::-1].transpose(0, 2, 1, 3).reshape(n_side * height, n_side * width)
    # A place counts as supported when it is as dense as the sparser tenth of the data.
    support = model.log_density(grid) - np.quantile(model.log_density(Z), 0.1)
    fade = np.exp(np.minimum(support, 0.0)).reshape(n_side, n_side)[::-1]
    fade = np.repeat(np.repeat(fade, height, axis=0), width, axis=1)
    low, high = images.min(), images.max()
    ink = (mosaic - low) / (high - low if high > low else 1.0)
    step_x, step_y = horizontal[1] - horizontal[0], vertical[1] - vertical[0]
    extent = (
        horizontal[0] - step_x / 2,
        horizontal[-1] + step_x / 2,
        vertical[0] - step_y / 2,
        vertical[-1] + step_y / 2,
    )
    ax.imshow(1.0 - ink * fade, cmap="gray", vmin=0.0, vmax=1.0, extent=extent, aspect="auto")
    ax.set(xlabel="latent 1", ylabel="latent 2")
    return ax


def save_figure(ax: Axes, path: str | Path, *, dpi: int = 110) -> Path:
    """Write the figure of some axes to a PNG file, and return its path."""
    figure: Any = ax.get_figure(root=True)
    figure.savefig(path, dpi=dpi, format="png", metadata={"Software": None})
    return Path(path)


def _two_dimensional(model: TwoWayEstimator) -> Array:
    Z = model.embedding_
    if Z.shape[1] != 2:
        raise ValueError(
            f"The model has {Z.shape[1]} latent dimensions; a map on paper needs n_components=2."
        )
    return Z


def _latent_grid(Z: Array, n_side: int) -> tuple[Array, Array, Array]:
    """Return the two axes (n_side,) and all grid points (n_side^2, 2), row by row upwards."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    horizontal, vertical = (
        np.linspace(a, b, n_side) for a, b in zip(low - margin, high + margin, strict=True)
    )
    points = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
    return horizontal, vertical, points
