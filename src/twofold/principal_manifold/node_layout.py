"""The nodes of a principal manifold, their kernels, and the grid on which rows are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from twofold.numerics.linalg import principal_axes
from twofold.numerics.neighbors import nearest
from twofold.numerics.quiet import quiet
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.circle_kernels import along_line, around_circle
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.node_kernels import (
    DampedKernel,
    GaussianKernel,
    LinearKernel,
    NodeKernel,
    PeriodicKernel,
    resolve_node_kernel,
)
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.settings import ManifoldSettings
from twofold.protocols import Array, IntArray

NODES = {1: 10, 2: 8, 3: 6}
FEWEST_NODES = 2
SEARCH = {1: (8, 100), 2: (3, 24), 3: (2, 12)}
"""Places along a dimension where rows search the nearest image: times the nodes, and at least."""

MOST_ON_A_GRID = 3
SCATTERED_NODES = 200
SCATTERED_PLACES = 2_000
SMALLEST_WIDTH = 1e-100
"""The smallest bandwidth: distances in units of it must not overflow."""


@dataclass(frozen=True)
class Layout:
    """The nodes (M, q), and one kernel and one bandwidth for each dimension of the domain.

    ``grid`` (m, q) has the latents that a search for the nearest image compares.
    """

    domain: Domain | Points
    nodes: Array
    kernels: tuple[NodeKernel, ...]
    widths: Array
    grid: Array

    def only(self, active: IntArray) -> Layout:
        """Return the layout with some of the nodes."""
        return replace(self, nodes=self.nodes[active])

    def searching(self, latents: Array) -> Layout:
        """Return the layout; a scattered grid moves to the latents."""
        if self.domain.n_components <= MOST_ON_A_GRID:
            return self
        some = latents[some_rows(len(latents), len(self.grid))]
        return replace(self, grid=np.vstack([self.nodes, some]))

    def expansion(self, alpha: float) -> NodeExpansion:
        """Return an expansion without weights."""
        return NodeExpansion(self.nodes, self.kernels, self.widths, alpha=alpha)


def layout_of(settings: ManifoldSettings, data: Array, rng: np.random.Generator) -> Layout:
    """Place nodes on a grid, or in more than three dimensions by k-means of the data (n, D)."""
    domain, width = settings.domain, settings.width
    q = domain.n_components
    kernels = _kernels_of(settings.kernel, domain, n_columns=data.shape[1])
    if q > MOST_ON_A_GRID:
        return _scattered(settings, kernels, data, rng)
    counts = _per_dimension(settings.n_nodes, domain)
    times, least = SEARCH[q]
    places = domain.grid(tuple(max(times * count, least) for count in counts))
    widths = np.maximum(width * domain.spacing(counts), SMALLEST_WIDTH)
    return Layout(domain, domain.grid(counts), kernels, widths, places)


def _kernels_of(
    kernel: str | NodeKernel, domain: Domain | Points, n_columns: int
) -> tuple[NodeKernel, ...]:
    """Return one kernel for each dimension: on circles it is wrapped, elsewhere not."""
    one = resolve_node_kernel(kernel)
    smooth = isinstance(one, GaussianKernel | DampedKernel)
    if n_columns == 1 and smooth and domain == Domain((False,)):
        return (LinearKernel(),)  # an interval on a line: bends could only disturb the order
    around = one if isinstance(one, PeriodicKernel) else around_circle(one)
    along = along_line(one)
    return tuple(around if wrapped else along for wrapped in domain.wrapped)


def _per_dimension(n_nodes: str | int | Sequence[int], domain: Domain | Points) -> tuple[int, ...]:
    """Return the nodes along each dimension of a grid; "auto" places them equally far apart."""
    q = domain.n_components
    if isinstance(n_nodes, str):
        if isinstance(domain, Points) or domain.sides is None:
            return (NODES[q],) * q
        relative = domain.ends / np.prod(domain.ends) ** (1.0 / q)
        return tuple(max(FEWEST_NODES, round(NODES[q] * side)) for side in relative.tolist())
    if isinstance(n_nodes, Sequence | np.ndarray):
        return tuple(int(n) for n in n_nodes)
    return (max(1, round(float(n_nodes) ** (1.0 / q))),) * q


def _scattered(
    settings: ManifoldSettings,
    kernels: tuple[NodeKernel, ...],
    data: Array,
    rng: np.random.Generator,
) -> Layout:
    from sklearn.cluster import KMeans  # slow to import

    domain, n_nodes = settings.domain, settings.n_nodes
    q = domain.n_components
    axes, variances = principal_axes(data, q)
    deviations = np.sqrt(np.maximum(variances, 1e-300))
    latents = domain.into(domain.ends * (data @ axes.T / deviations))
    wanted = SCATTERED_NODES if isinstance(n_nodes, str) else int(np.prod(n_nodes))
    n = min(wanted, len(np.unique(latents, axis=0)))
    with quiet():  # of nearly equal latents some share a center
        model = KMeans(n, n_init=1, random_state=int(rng.integers(2**31))).fit(latents)
    nodes = np.unique(model.cluster_centers_, axis=0)
    chosen = latents[rng.permutation(len(latents))[:SCATTERED_PLACES]]
    spacing = 1.0
    if len(nodes) > 1:
        spacing = float(np.median(np.sqrt(nearest(nodes, None, 1)[1])))
    widths = np.full(q, max(settings.width * spacing, SMALLEST_WIDTH))
    return Layout(domain, nodes, kernels, widths, np.vstack([nodes, chosen]))
