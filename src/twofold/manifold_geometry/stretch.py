r"""Stretch of a map, and its faults: tears, seams and folds.

The singular values of the up-map's derivative tell how many units of data a unit of the map is
long. Three faults of a map have rules that depend on neither the units nor, to first order, on how
latents are bent along the manifold.

*Tears.* Places beside each other on the map whose images are far apart: the sheet has to bridge
empty space. The largest singular value is then far above what is usual, and no crowd of latents
makes up for it. Let ``p`` be the density of the training latents and ``p_1`` its median over them.
The pull of a place is its largest singular value divided by ``max(1, p / p_1)``. A tear is a pull
whose logarithm exceeds the median over the training latents by ``log 3`` and by 3.5 robust
deviations (1.4826 times the median absolute deviation). So a map that is uneven everywhere is not
torn everywhere, and a region that is drawn small, with its latents close together, is not torn.

*Seams.* Places far apart on the map whose images are neighbors: the map was cut there, or the sheet
comes back to itself. Let ``d`` be the distance of two images, and ``l = sqrt(dz^T G dz)`` the
length that the metric gives the step between them, with the mean of the metrics at both ends. For
neighbors on a smooth sheet ``l`` is about ``d``, however it is stretched. The gap of a place is the
upper quartile of ``l / max(d, r)`` over the 6 images of training latents nearest to its own; ``r``,
the usual distance of a sixth neighbor, keeps small distances from counting. A gap of 3 or more is a
seam.

*Folds.* Two sheets of the data on the same part of the map. The up-map runs between them, so they
show only in rows of data: the overlap of a row is the median distance to the 10 rows nearest on the
map, relative to that to the 10 rows nearest in the data. It is 1 if these are the same rows. A fold
is an overlap of 3 or more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from twofold.manifold_geometry.metric import SMALLEST_STRETCH, in_own_units, metric_tensor
from twofold.manifold_geometry.surface import Surface
from twofold.numerics.linalg import sqdist
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array

FAR = 3.0
"""The factor by which a place must exceed what is usual."""

DEVIATIONS = 3.5
"""Robust deviations by which the logarithm of a stretch must exceed its median."""

ROBUST = 1.4826
N_NEIGHBORS = 10
"""Neighbors of rows, on the map and in the data."""

MOST_IMAGES, N_IMAGES = 2_000, 6
"""Training latents whose images are compared, and nearest images of a place."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """How much a map is stretched at some places, and its faults there.

    Created by ``model.stretch``. It prints as a table.

    Parameters
    ----------
    latents : ndarray of shape (n, n_components)
        The places.
    singular_values : ndarray of shape (n, n_components)
        Units of data per unit of the map, the largest first.
    directions : ndarray of shape (n, n_components, n_components)
        The directions on the map of these singular values, as rows.
    usual : float
        The median over training latents of the largest singular value.
    pull : ndarray of shape (n,)
        The largest singular value, less where latents are dense.
    tear_level : float
        The pull above which a place is torn.
    gap : ndarray of shape (n,)
        How much farther the nearest images are by the metric of the map than in the data.
    overlap : ndarray of shape (n,) or None, default=None
        How much farther the data of neighbors on the map are than neighbors in the data; None if
        no data were given.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.manifold_geometry import Stretch
    >>> found = Stretch(
    ...     np.zeros((2, 2)), np.array([[2.0, 0.5], [9.0, 1.0]]), np.zeros((2, 2, 2)), 2.0,
    ...     pull=np.array([2.0, 8.0]), tear_level=6.0, gap=np.array([1.0, 5.0]),
    ...     overlap=np.array([1.0, 1.1]),
    ... )
    >>> found.area.tolist(), found.anisotropy.tolist()
    ([1.0, 9.0], [4.0, 9.0])
    >>> found.mean.round(6).tolist()
    [1.0, 3.0]
    >>> found.is_tear.tolist(), found.is_seam.tolist(), found.is_fold.tolist()
    ([False, True], [False, True], [False, False])
    >>> print(found)
    what        median  10 %   90 %   faults
    stretch     5.5     2.7    8.3    1 of 2 torn
    anisotropy  6.5     4.5    8.5
    gap         3       1.4    4.6    1 of 2 at seams
    overlap     1.05    1.01   1.09   0 of 2 folded
    >>> found.to_frame().columns.tolist()[:3]
    ['stretch', 'area', 'anisotropy']
    """

    latents: Array
    singular_values: Array
    directions: Array
    usual: float
    pull: Array
    tear_level: float
    gap: Array
    overlap: Array | None = None

    @property
    def area(self) -> Array:
        """Units of area (or length, or volume) of the manifold per unit of the map (n,)."""
        with np.errstate(over="ignore", under="ignore"):
            product: Array = self.singular_values.prod(axis=1)
        return np.minimum(product, np.finfo(np.float64).max)

    @property
    def mean(self) -> Array:
        """The geometric mean of the singular values (n,)."""
        smallest = np.finfo(np.float64).tiny
        logs = np.log(np.maximum(self.singular_values, smallest))
        means: Array = np.exp(logs.mean(axis=1))
        return means

    @property
    def anisotropy(self) -> Array:
        """The largest over the smallest singular value (n,), 1 where nothing is stretched.

        Smaller ones than 1e-3 of the usual stretch count as this.
        """
        floor = SMALLEST_STRETCH * self.usual or 1.0
        values = np.maximum(self.singular_values, floor)
        ratios: Array = values[:, 0] / values[:, -1]
        return ratios

    @property
    def is_tear(self) -> NDArray[np.bool_]:
        """Where neighbors on the map are far apart in the data (n,)."""
        return np.asarray(self.pull > self.tear_level)

    @property
    def is_seam(self) -> NDArray[np.bool_]:
        """Where neighbors in the data are far apart on the map (n,)."""
        return np.asarray(self.gap >= FAR)

    @property
    def is_fold(self) -> NDArray[np.bool_]:
        """Where the data of neighbors on the map are far apart (n,); False without data."""
        if self.overlap is None:
            return np.zeros(len(self.gap), dtype=np.bool_)
        return np.asarray(self.overlap >= FAR)

    def to_frame(self) -> Any:
        """Return the table of all places as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each place.

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.manifold_geometry import Stretch
        >>> ones = np.ones((1, 1))
        >>> one = Stretch(ones, ones, np.ones((1, 1, 1)), 1.0, ones[0], 3.0, ones[0])
        >>> one.to_frame().is_tear.tolist()
        [False]
        """
        import pandas as pd

        columns = {
            "stretch": self.singular_values[:, 0],
            "area": self.area,
            "anisotropy": self.anisotropy,
            "gap": self.gap,
            "is_tear": self.is_tear,
            "is_seam": self.is_seam,
        }
        if self.overlap is not None:
            columns |= {"overlap": self.overlap, "is_fold": self.is_fold}
        return pd.DataFrame(columns)

    def _lines(self) -> list[list[str]]:
        """Return the cells of the table."""
        n = len(self.latents)
        parts = [
            ("stretch", self.singular_values[:, 0], f"{self.is_tear.sum()} of {n} torn"),
            ("anisotropy", self.anisotropy, ""),
            ("gap", self.gap, f"{self.is_seam.sum()} of {n} at seams"),
        ]
        if self.overlap is not None:
            parts.append(("overlap", self.overlap, f"{self.is_fold.sum()} of {n} folded"))
        lines = [["what", "median", "10 %", "90 %", "faults"]]
        for name, values, faults in parts:
            levels = np.quantile(values, [0.5, 0.1, 0.9]) if n else np.full(3, np.nan)
            lines.append([name, *(f"{level:.3g}" for level in levels), faults])
        return lines

    def __str__(self) -> str:
        widths = (10, 6, 5, 5, 0)
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in self._lines()
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        head, *body = self._lines()
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in body
        )
        names = "".join(f"<th>{escape(name)}</th>" for name in head)
        return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"


def stretch_at(model: Any, latents: Array) -> Stretch:
    """Return the stretch of a fitted model at latents (n, q), in the caller's units."""
    surface = Surface.of(model, MOST_IMAGES)
    squares, axes = np.linalg.eigh(metric_tensor(model, latents))
    values = np.sqrt(np.maximum(squares[:, ::-1], 0.0))
    directions = axes.transpose(0, 2, 1)[:, ::-1]
    with model._threads():
        inside = model._latent_units.into(latents)
        at_landmarks = surface.log_density(surface.landmarks)
        crowd = float(np.median(at_landmarks))
        usual, level = _usual(surface, at_landmarks - crowd)
        pull = values[:, 0] * np.exp(-np.maximum(surface.log_density(inside) - crowd, 0.0))
        gap = gaps(surface, inside)
    return Stretch(latents, values, directions, usual, pull, level, gap)


def _usual(surface: Surface, log_crowd: Array) -> tuple[float, float]:
    """Return the usual stretch of the landmarks and the level of tears, in the caller's units."""
    metric = in_own_units(surface.model, surface.landmark_metric)
    largest = np.sqrt(np.maximum(np.linalg.eigvalsh(metric)[:, -1], 0.0))
    usual = float(np.median(largest))
    if usual == 0.0:
        return 0.0, 0.0
    logs = np.log(np.maximum(largest, SMALLEST_STRETCH * usual)) - np.maximum(log_crowd, 0.0)
    middle = float(np.median(logs))
    spread = ROBUST * float(np.median(np.abs(logs - middle)))
    level = middle + max(float(np.log(FAR)), DEVIATIONS * spread)
    return usual, float(np.exp(min(level, 700.0)))  # of more it would overflow


def gaps(surface: Surface, latents: Array) -> Array:
    """Return the gap (n,) of centered latents (n, q)."""
    landmarks, images = surface.landmarks, surface.landmark_images
    count = min(N_IMAGES, len(landmarks) - 1)
    found = np.ones(len(latents))
    if count < 1:
        return found
    distances = sqdist(images, images)
    np.fill_diagonal(distances, np.inf)
    radius = float(np.sqrt(np.median(np.partition(distances, count - 1, axis=1)[:, count - 1])))
    if radius == 0.0:
        return found
    for rows in row_blocks(len(latents), 8 * 4 * (len(landmarks) + images.shape[1])):
        places = latents[rows]
        squares = sqdist(surface.images(places), images)
        # The landmark at a place itself tells nothing.
        moves = surface.flat(places)[:, None] - surface.flat(landmarks)
        squares[np.square(moves).sum(axis=2) < 1e-20] = np.inf
        closest = np.argsort(squares, axis=1, kind="stable")[:, :count]
        apart = (landmarks[closest] - places[:, None]).reshape(-1, places.shape[1])
        steps = surface.shortest(apart).reshape(len(places), count, -1)
        size = np.maximum(np.abs(steps).max(axis=(1, 2)), 1e-300)  # squares of far steps overflow
        steps = steps / size[:, None, None]
        between = 0.5 * (surface.metric(places)[:, None] + surface.landmark_metric[closest])
        by_metric = np.sqrt(np.maximum(np.einsum("nki,nkij,nkj->nk", steps, between, steps), 0.0))
        direct = np.sqrt(np.take_along_axis(squares, closest, axis=1))
        ratios = size[:, None] * by_metric / np.maximum(direct, radius)
        found[rows] = np.maximum(np.quantile(ratios, 0.75, axis=1), 1.0)
    return found


def with_overlap(model: Any, found: Stretch, data: Array) -> Stretch:
    """Return a stretch with the overlaps of the rows (n, D') whose latents it is about.

    The rows are in centered units.
    """
    n, count = len(data), N_NEIGHBORS
    if n <= count:
        raise ValueError(
            f"X has {n} rows: overlap compares {count} neighbors, so give at least {count + 1} "
            "rows, or leave X=None."
        )
    flat = Surface.of(model).flat(model._latent_units.into(found.latents))
    on_map = cKDTree(flat).query(flat, k=count + 1)[1]
    # Among equal latents a row need not be its own nearest one.
    is_other = on_map != np.arange(n)[:, None]
    order = np.argsort(~is_other, axis=1, kind="stable")[:, :count]
    others = np.take_along_axis(on_map, order, axis=1)
    apart = np.empty(n)
    for rows in row_blocks(n, 8 * 2 * count * data.shape[1]):
        squares = np.square(data[others[rows]] - data[rows][:, None]).sum(axis=2)
        apart[rows] = np.sqrt(np.median(squares, axis=1))
    near = np.sqrt(np.median(nearest(data, None, count)[1], axis=1))
    # Of rows with ten copies, every other neighbor is far.
    ratio = np.where(apart > 0.0, FAR * FAR, 1.0)
    np.divide(apart, near, out=ratio, where=near > 0.0)
    return replace(found, overlap=np.maximum(ratio, 1.0))
