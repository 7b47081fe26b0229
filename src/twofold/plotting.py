"""Pictures of two-way models, with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from twofold.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from twofold.estimators import TwoWayEstimator
    from twofold.generalization import GeneralizationReport

__all__ = [
    "plot_class_borders",
    "plot_decoded_images",
    "plot_generalization",
    "plot_latent_map",
    "save_figure",
]

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
    if labels is not None and len(labels) != len(Z):
        raise ValueError(
            f"labels has {len(labels)} entries; the model was fitted to {len(Z)} rows."
        )
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
        Images along the longer side, at least 2.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax, 8.0)
    Z = _two_dimensional(model)
    height, width = image_shape
    if height * width != model.n_features_in_:
        raise ValueError(
            f"image_shape={image_shape} has {height * width} pixels; the data have "
            f"{model.n_features_in_} features."
        )
    horizontal, vertical, grid = _latent_grid(Z, n_side, square=True)
    shape = (len(vertical), len(horizontal))
    images = model.inverse_transform(grid)
    low, high = images.min(), images.max()
    ink = (images - low) / (high - low if high > low else 1.0)
    # A place counts as supported when it is as dense as the sparser tenth of the data.
    support = model.log_density(grid) - np.quantile(model.log_density(Z), 0.1)
    ink *= np.exp(np.minimum(support, 0.0))[:, None]
    # A pixel between images keeps neighbours apart.
    framed = np.pad(ink.reshape(*shape, height, width), ((0, 0), (0, 0), (0, 1), (0, 1)))
    # Rows of the grid run upwards, rows of the picture downwards.
    mosaic = framed[::-1].transpose(0, 2, 1, 3)
    mosaic = mosaic.reshape(shape[0] * (height + 1), shape[1] * (width + 1))
    step_x, step_y = horizontal[1] - horizontal[0], vertical[1] - vertical[0]
    extent = (
        horizontal[0] - step_x / 2,
        horizontal[-1] + step_x / 2,
        vertical[0] - step_y / 2,
        vertical[-1] + step_y / 2,
    )
    ax.imshow(1.0 - mosaic, cmap="gray", vmin=0.0, vmax=1.0, extent=extent)
    ax.set(xlabel="latent 1", ylabel="latent 2", aspect="equal")
    return ax


def plot_class_borders(
    model: TwoWayEstimator,
    classifier: Any,
    Z: Any,
    labels: Any,
    *,
    ax: Axes | None = None,
    n_grid: int = 300,
) -> Axes:
    """Draw latents by class over the density and the borders between a classifier's classes.

    The picture of Meinicke et al. (2005), Fig. 5: the dashed line is the border of the domain, for
    models without one the lowest density at a training latent.

    Parameters
    ----------
    model : TwoWayEstimator
        A fitted model with two latent dimensions.
    classifier : classifier
        Fitted to latents, such as `twofold.density.KernelDensityClassifier`.
    Z : array-like of shape (n, 2)
        Latents to draw, say those of test data.
    labels : array-like of shape (n,)
        Their classes.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    n_grid : int, default=300
        Points along each side of the grid.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax, 7.0)
    training = _two_dimensional(model)
    Z, labels = np.asarray(Z), np.asarray(labels)
    if Z.ndim != 2 or Z.shape[1] != 2:
        raise ValueError(f"Z has shape {Z.shape}; latents of two columns are drawn, not data.")
    if len(labels) != len(Z):
        raise ValueError(f"labels has {len(labels)} entries for {len(Z)} latents.")
    horizontal, vertical, grid = _latent_grid(np.vstack([training, Z]), n_grid)
    log_density = model.log_density(grid).reshape(n_grid, n_grid)
    ax.contourf(horizontal, vertical, np.exp(log_density), levels=12, cmap="Greys", alpha=0.45)
    lowest = getattr(model, "log_density_threshold_", model.log_density(training).min())
    dashed = {"colors": "#555555", "linewidths": 0.8, "linestyles": "dashed"}
    ax.contour(horizontal, vertical, log_density, levels=[lowest], **dashed)
    classes = np.unique(labels)
    predicted = np.asarray(classifier.predict(grid)).reshape(n_grid, n_grid)
    for number, label in enumerate(classes):
        color = COLORS[2 * number % len(COLORS)]
        inside = (predicted == label).astype(float)
        if inside.any() and not inside.all():
            ax.contour(horizontal, vertical, inside, levels=[0.5], colors="black", linewidths=0.8)
        rows = labels == label
        marker = "o^sDvP*Xph"[number % 10]
        ax.scatter(
            Z[rows, 0], Z[rows, 1], s=14, marker=marker, color=color, linewidths=0, label=str(label)
        )
    ax.legend(loc="best", frameon=False)
    ax.set(xlabel="latent 1", ylabel="latent 2", aspect="equal")
    return ax


def plot_generalization(report: GeneralizationReport, *, ax: Axes | None = None) -> Axes:
    """Draw a learning curve beside the rate that its kernel's eigenvalues predict.

    Parameters
    ----------
    report : GeneralizationReport
        Of ``PrincipalManifold.generalization_report(X)``, with data.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    curve = report.curve
    if curve is None:
        raise ValueError(
            "The report has no learning curve: call generalization_report(X) with data."
        )
    predicted = report.predicted()
    ax = _axes(ax, 5.0)
    gaps = curve.held_out - curve.train
    ax.loglog(curve.sizes, np.where(gaps > 0.0, gaps, np.nan), ".", color=COLORS[1])
    ax.loglog(
        curve.sizes,
        np.where(curve.gaps > 0.0, curve.gaps, np.nan),
        "o-",
        color=COLORS[0],
        label="measured",
    )
    label = f"predicted rate, m^-{report.spectrum.rate:.2f}"
    ax.loglog(curve.sizes, predicted, "--", color=COLORS[4], label=label)
    ax.set_xlabel("rows of the fit, m")
    ax.set_ylabel("held-out minus training error")
    ax.set_title("A diagnostic, not a certificate")
    ax.legend()
    return ax


def save_figure(ax: Axes, path: str | Path, *, dpi: int = 110) -> Path:
    """Write the figure of some axes to a file, in the format of its suffix, and return its path.

    The file is complete or not there: it is written beside and then moved.
    """
    path = Path(path)
    figure: Any = ax.get_figure(root=True)
    # Not tempfile: its files may be read by their owner alone.
    temporary = path.with_name(f".{uuid4().hex}{path.suffix}")
    try:
        figure.savefig(temporary, dpi=dpi)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def _two_dimensional(model: TwoWayEstimator) -> Array:
    Z = model.embedding_
    if Z.shape[1] != 2:
        raise ValueError(
            f"The model has {Z.shape[1]} latent dimensions; a map on paper needs n_components=2."
        )
    return Z


def _latent_grid(Z: Array, n_side: int, *, square: bool = False) -> tuple[Array, Array, Array]:
    """Return the two axes and all grid points (n_points, 2), row by row upwards.

    Each axis has ``n_side`` values; with square cells the longer one has.
    """
    low, high = Z.min(axis=0), Z.max(axis=0)
    extent = 1.08 * np.where(high > low, high - low, 1.0)
    low = 0.5 * (low + high - extent)
    counts = np.array([n_side, n_side])
    if square:
        counts = np.maximum(2, np.rint(n_side * extent / extent.max()).astype(int))
    horizontal, vertical = (
        np.linspace(a, a + b, n) for a, b, n in zip(low, extent, counts, strict=True)
    )
    points = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
    return horizontal, vertical, points
