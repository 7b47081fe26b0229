r"""Latents of rows in new regions, beside or beyond the latents of a map.

A region (`twofold.numerics.new_regions`) is embedded together with its *anchors*, the old rows that
are nearest to it. There are two cases:

* **The region continues the map.** Some old rows touch it: they are as near to it as its own rows
  are to each other. Isomap embeds both. The similarity (rotation, reflection, factor and shift)
  that moves these anchors to their latents fits well, and takes the region to free places. Rolls
  that become longer are of this kind.
* **The region is apart.** It is embedded by the method that started the map and becomes an island:
  at the density of the map, in the orientation of the similarity, and at the free place nearest to
  the anchors' latents. Classes that appear are of this kind. More room for the rows that follow
  would not help: with twice the width in each dimension, islands on MNIST break into pieces, and
  the held-out error is the same.

Free places are found on a raster: where a region's cells meet no cell near old latents. The number
of cells that meet is a convolution, computed for all shifts at once by the Fourier transform.

Notation
--------
``Z`` (n, q) are the latents of the map, ``E`` those of a region's own embedding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.ndimage import binary_dilation
from scipy.signal import fftconvolve
from scipy.spatial import cKDTree

from twofold.numerics.linalg import row_norms_sq, single
from twofold.numerics.neighbors import nearest
from twofold.numerics.quiet import quiet
from twofold.numerics.threads import some_rows
from twofold.protocols import AnyArray, Array
from twofold.starts.initializers import INITIALIZERS
from twofold.starts.named import resolve_init

MOST_EMBEDDED = 600
"""Rows of a region that are embedded; more are placed beside them."""

MOST_ANCHORS = 300
FEWEST_ANCHORS = 5
"""Anchors at least, for each dimension, if the map goes on."""

TOUCHES = (0.75, 1.25)
"""Distances of such anchors from the region, in distances of its rows to their tenth nearest; the
first that works counts. On noisy rolls of 600 rows, wider strips have rows of the next turn."""

MOST_TOUCHING = 0.4
"""Anchors as a share of the region's rows, above which they are no edge: the region lies among old
rows, as a new digit does among similar ones."""

N_BESIDE = 3
N_IN_REACH = 10
FITS = 0.85
"""Share of the variance of the anchors' latents that a similarity explains if the map goes on."""

MOST_OVERLAP = 0.15
"""Share of a region that may fall on old latents if the map goes on, among rows that are not near
old rows themselves."""

N_TRIMS, TRIMMED, MOST_TRIMMED = 3, 2.5, 0.3
"""Anchors whose errors are so many times the median are left out, so many times, if they are at
most this share: some latents are wrong, as those of a row between two turns of a roll."""

MOST_FACTOR = 3.0
"""Ratio of the densities of the region and of the map, per dimension, if the map goes on."""

GAP = 5.0
"""Distance of islands from other latents, in widths of the kernel: out of its reach."""

NARROWEST = 1e-3
"""Spacing of an island at least, as a share of its radius: that of repeated rows is 0."""

MOST_CELLS = 10**6
MOST_RASTER = 3
"""Dimensions in which a raster is small; in more, islands lie outside of the map."""

FALL_BACK = ("isomap", "pca")


@dataclass(frozen=True)
class Similarity:
    """``E -> factor E R + shift``, and the share of the variance of its targets that it explains.

    References
    ----------
    P. H. Schönemann and R. M. Carroll. Fitting one matrix to another under choice of a central
    dilation and a rigid motion. Psychometrika 35(2), 1970.
    """

    factor: float
    rotation: Array
    shift: Array
    fit: float

    @classmethod
    def both(cls, E: Array, Z: Array) -> list[Similarity]:
        """Return the best similarity from points (n, q) to others, and the best mirrored one.

        Points along a line do not tell them apart.
        """
        center, middle = E.mean(axis=0), Z.mean(axis=0)
        A, B = E - center, Z - middle
        left, values, right = linalg.svd(A.T @ B)
        size, total = float(np.square(A).sum()), float(np.square(B).sum())
        if size == 0.0 or total == 0.0:
            return [cls(0.0, left @ right, middle, 0.0)]
        found = []
        for sign in (1.0, -1.0):
            signs = np.ones(len(values))
            signs[-1] = sign
            rotation, cross = (left * signs) @ right, float(values @ signs)
            factor = max(cross, 0.0) / size
            shift = middle - factor * center @ rotation
            found.append(cls(factor, rotation, shift, max(cross, 0.0) ** 2 / (size * total)))
        return found

    @classmethod
    def of_most(cls, E: Array, Z: Array) -> list[Similarity]:
        """Return the same for most of the points, without those that do not fit."""
        found = cls.both(E, Z)
        for number in range(len(found)):
            for _ in range(N_TRIMS):
                errors = row_norms_sq(Z - found[number](E))
                kept = errors <= TRIMMED**2 * np.median(errors)
                if kept.mean() < 1.0 - MOST_TRIMMED:
                    break
                trimmed = cls.both(E[kept], Z[kept])
                found[number] = trimmed[min(number, len(trimmed) - 1)]
        return found

    def __call__(self, E: Array) -> Array:
        """Return the images of points."""
        return self.factor * E @ self.rotation + self.shift


def latents_of_region(
    region: AnyArray,
    old: AnyArray,
    Z: Array,
    init: str,
    rng: np.random.Generator,
    *,
    taken: Array,
    weight: float = 1.0,
) -> Array:
    """Return latents (m, q) of the rows of a region (m, D), given those (n, q) of old rows (n, D).

    Latents are in units of the kernel's width. ``init`` is the name of the method that started the
    map; another method takes its place if it fails or has no name. Islands keep away from all
    places that are ``taken`` (k, q). Old rows may stand for several rows each, by their ``weight``.
    """
    some = some_rows(len(region), MOST_EMBEDDED)
    tree, rows = cKDTree(Z), single(region[some])
    spacing = _spacing(Z[some_rows(len(Z), MOST_EMBEDDED)], tree) / weight ** (1.0 / Z.shape[1])
    placed = _beyond_the_edge(rows, single(old), Z, tree, spacing, rng)
    if placed is None:
        placed = _island(rows, single(old), Z, taken, spacing, init, rng)
    if len(some) == len(region):
        return placed
    beside, _ = nearest(rows, single(region), min(N_BESIDE, len(some)))
    everyone: Array = np.median(placed[beside], axis=1)
    everyone += 0.3 * _spacing(placed) / N_IN_REACH**0.5 * rng.standard_normal(everyone.shape)
    return everyone


def _beyond_the_edge(
    rows: AnyArray,
    old: AnyArray,
    Z: Array,
    tree: cKDTree,
    spacing: float,
    rng: np.random.Generator,
) -> Array | None:
    """Return latents of the rows of a region that continues the map; None if it does not."""
    _, within = nearest(rows, None, min(N_IN_REACH, len(rows) - 1))
    typical = float(np.median(within[:, -1]))
    _, squares = nearest(rows, old, 1)
    order = np.argsort(squares[:, 0], kind="stable")[:MOST_ANCHORS]
    from_old = nearest(old, rows, 1)[1][:, 0]
    n_tried = 0
    for touch in TOUCHES:
        anchors = np.sort(order[squares[order, 0] <= touch * touch * typical])
        if len(anchors) > MOST_TOUCHING * len(rows):
            return None
        if len(anchors) < max(n_tried + 1, FEWEST_ANCHORS * Z.shape[1]):
            continue
        n_tried = len(anchors)
        E = _embedded(np.concatenate([rows, old[anchors]]), FALL_BACK[0], Z.shape[1], rng)
        E, at = E[: len(rows)], E[len(rows) :]
        factor = spacing / max(_spacing(E), 1e-300)
        near = max(touch, 1.0 / spacing) if spacing else touch
        apart = from_old > near * near * typical
        for similarity in Similarity.of_most(at, Z[anchors]):
            ratio = similarity.factor / factor if factor else 0.0
            if similarity.fit < FITS or not 1.0 / MOST_FACTOR < ratio < MOST_FACTOR:
                continue
            placed = similarity(E)
            overlaps = np.asarray(tree.query(placed[apart])[0]) < 1.0
            if not apart.any() or overlaps.mean() <= MOST_OVERLAP:
                return placed
    return None


def _island(
    rows: AnyArray,
    old: AnyArray,
    Z: Array,
    taken: Array,
    spacing: float,
    init: str,
    rng: np.random.Generator,
) -> Array:
    """Return latents of the rows of a region that is apart from the map."""
    _, squares = nearest(rows, old, 1)
    n_anchors = min(len(old), MOST_ANCHORS, max(len(rows), 3 * N_IN_REACH))
    anchors = np.sort(np.argsort(squares[:, 0], kind="stable")[:n_anchors])
    E = _embedded(np.concatenate([rows, old[anchors]]), init, Z.shape[1], rng)
    E, at = E[: len(rows)], E[len(rows) :]
    similarity = Similarity.both(at, Z[anchors])[0]
    E = E - E.mean(axis=0)
    least = NARROWEST * float(np.sqrt(row_norms_sq(E).mean()))
    island = spacing / max(_spacing(E), least, 1e-300) * E @ similarity.rotation
    placed: Array = island + _free_shift(island, taken, np.median(Z[anchors], axis=0))
    return placed


def _embedded(rows: AnyArray, init: str, q: int, rng: np.random.Generator) -> Array:
    """Return an embedding (n, q) of some rows."""
    centered = np.asarray(rows, dtype=np.float64) - rows.mean(axis=0, dtype=np.float64)
    centered /= float(np.sqrt(row_norms_sq(centered).mean())) or 1.0
    known = init if init.partition(":")[0] in INITIALIZERS and init != "random" else FALL_BACK[0]
    for name in (known, *FALL_BACK):
        with quiet():
            try:
                return resolve_init(name, centered, q, rng)
            except (ValueError, RuntimeError, np.linalg.LinAlgError):
                continue
    return centered[:, :q] if centered.shape[1] >= q else np.zeros((len(rows), q))


def _spacing(points: Array, tree: cKDTree | None = None) -> float:
    """Return the median distance of points (n, q) to their tenth nearest."""
    tree = cKDTree(points) if tree is None else tree
    k = min(N_IN_REACH, tree.n - 1)
    if k < 1:
        return 0.0
    return float(np.median(np.asarray(tree.query(points, k=k + 1)[0])[:, -1]))


def _free_shift(island: Array, Z: Array, wanted: Array) -> Array:
    """Return a shift (q,) of an island around the origin, near a wanted place, to a free place."""
    q = Z.shape[1]
    low, high = Z.min(axis=0), Z.max(axis=0)
    size = np.ptp(island, axis=0)
    cell = max(GAP, float((np.prod(high - low + 2.0 * size + 4.0 * GAP) / MOST_CELLS) ** (1.0 / q)))
    if q > MOST_RASTER:
        return _outside(island, Z, wanted)
    own = np.floor((island - island.min(axis=0)) / cell).astype(np.intp)
    own_cells = np.zeros(tuple(own.max(axis=0) + 1))
    own_cells[tuple(own.T)] = 1.0
    margin = np.array(own_cells.shape) + 2
    taken = np.floor((Z - low) / cell).astype(np.intp) + margin
    map_cells = np.zeros(tuple(np.floor((high - low) / cell).astype(np.intp) + 1 + 2 * margin))
    map_cells[tuple(taken.T)] = 1.0
    near = binary_dilation(map_cells, structure=np.ones((3,) * q)).astype(np.float64)
    flipped = own_cells[tuple(slice(None, None, -1) for _ in range(q))]
    meets = fftconvolve(near, flipped, mode="valid")
    free = np.argwhere(meets < 0.5)
    # The corner of the island's box in cell `c` lies at `low + (c - margin) cell`.
    shifts = low + (free - margin) * cell - island.min(axis=0)
    nearest_one = row_norms_sq(shifts - wanted).argmin()
    found: Array = shifts[nearest_one]
    return found


def _outside(island: Array, Z: Array, wanted: Array) -> Array:
    """Return a shift to a place outside of the ball around all latents, in the wanted direction."""
    center = Z.mean(axis=0)
    direction = wanted - center
    length = float(np.linalg.norm(direction))
    direction = direction / length if length else np.eye(Z.shape[1])[0]
    radii = [float(np.sqrt(row_norms_sq(one).max())) for one in (Z - center, island)]
    shift: Array = center + (sum(radii) + GAP) * direction
    return shift
