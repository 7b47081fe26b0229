r"""Latents of rows in new regions, beside or beyond the latents of a map.

A region (`twofold.numerics.new_regions`) is embedded together with its *anchors*, the old rows that
are nearest to it, by the method that started the map. There are two cases:

* **The region continues the map.** The similarity (rotation, reflection, factor and shift) that
  moves the anchors to their latents fits well, and takes the region to free places. Rolls that
  become longer are of this kind.
* **The region is apart.** It becomes an island: at the density of the map, in the orientation of
  the similarity, and at the free place nearest to the anchors' latents. Classes that appear are of
  this kind. Its latents are spread twice as wide as the others in each dimension, so that it has
  room for the rows that follow.

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

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.quiet import quiet
from twofold.numerics.threads import some_rows
from twofold.protocols import AnyArray, Array, IntArray
from twofold.starts.initializers import INITIALIZERS
from twofold.starts.named import resolve_init

MOST_EMBEDDED = 1_000
"""Rows of a region that are embedded; more are placed beside them."""

MOST_ANCHORS = 500
N_BESIDE = 3
N_IN_REACH = 10
FITS = 0.7
"""Share of the variance of the anchors' latents that a similarity explains if the map goes on."""

MOST_OVERLAP = 0.3
"""Share of a region that may fall on old latents if the map goes on."""

MOST_FACTOR = 3.0
"""Ratio of the densities of the region and of the map, per dimension, if the map goes on."""

ROOM = 2.0
GAP = 5.0
"""Distance of islands from other latents, in widths of the kernel: out of its reach."""

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
    def of(cls, E: Array, Z: Array) -> Similarity:
        """Return the best similarity from points (n, q) to others (n, q)."""
        center, middle = E.mean(axis=0), Z.mean(axis=0)
        A, B = E - center, Z - middle
        left, values, right = linalg.svd(A.T @ B)
        rotation = left @ right
        size, total = float(np.square(A).sum()), float(np.square(B).sum())
        if size == 0.0 or total == 0.0:
            return cls(0.0, rotation, middle, 0.0)
        factor = float(values.sum()) / size
        fit = float(values.sum()) ** 2 / (size * total)
        return cls(factor, rotation, middle - factor * center @ rotation, fit)

    def __call__(self, E: Array) -> Array:
        """Return the images of points."""
        return self.factor * E @ self.rotation + self.shift


def latents_of_region(
    region: AnyArray, old: AnyArray, Z: Array, init: str, rng: np.random.Generator
) -> Array:
    """Return latents (m, q) of the rows of a region (m, D), given those (n, q) of old rows (n, D).

    Latents are in units of the kernel's width. ``init`` is the name of the method that started the
    map; another method takes its place if it fails or has no name.
    """
    some = some_rows(len(region), MOST_EMBEDDED)
    anchors = _anchors(region[some], old)
    E = _embedded(np.concatenate([region[some], old[anchors]]), init, Z.shape[1], rng)
    E, at = E[: len(some)], E[len(some) :]
    similarity, tree = Similarity.of(at, Z[anchors]), cKDTree(Z)
    width = _spacing(Z[some_rows(len(Z), MOST_EMBEDDED)], tree) / max(_spacing(E), 1e-300)
    placed = similarity(E)
    if not _goes_on(similarity, width, placed, tree):
        island = ROOM * width * (E - E.mean(axis=0)) @ similarity.rotation
        placed = island + _free_shift(island, Z, np.median(Z[anchors], axis=0))
    if len(some) == len(region):
        return placed
    beside, _ = nearest(
        region[some].astype(np.float32), region.astype(np.float32), min(N_BESIDE, len(some))
    )
    everyone: Array = np.median(placed[beside], axis=1)
    everyone += 0.3 * _spacing(placed) / N_IN_REACH**0.5 * rng.standard_normal(everyone.shape)
    return everyone


def _anchors(region: AnyArray, old: AnyArray) -> IntArray:
    """Return the numbers of the old rows that are nearest to a region, about as many as it has."""
    _, squares = nearest(region.astype(np.float32), old.astype(np.float32), 1)
    n_anchors = min(len(old), MOST_ANCHORS, max(len(region), 3 * N_IN_REACH))
    return np.sort(np.argsort(squares[:, 0], kind="stable")[:n_anchors])


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


def _goes_on(similarity: Similarity, width: float, placed: Array, tree: cKDTree) -> bool:
    """Tell whether a region continues the map."""
    ratio = similarity.factor / width if width else 0.0
    if similarity.fit < FITS or not 1.0 / MOST_FACTOR < ratio < MOST_FACTOR:
        return False
    distances = np.asarray(tree.query(placed)[0])
    return float((distances < 1.0).mean()) <= MOST_OVERLAP


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
