r"""Where the nodes of a principal manifold are, and the map that its fit starts from.

The first map lies in the leading principal plane (Smola et al. 2001, section 5.3): at node ``z_m`` it is fitted to
``sum_d z_md sqrt(v_d) a_d`` with axes ``a_d`` and variances ``v_d`` (Eq. 35, whose ``V`` needs these roots, as in the generative
topographic map). A wrapped dimension takes two axes, ``cos`` and ``sin`` of its angle times ``sqrt(2 v)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.numerics.linalg import principal_axes
from twofold.numerics.threads import some_rows
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
from twofold.protocols import Array, IntArray

__all__ = ["Layout", "first_map", "layout_of", "per_dimension"]

NODES = {1: 10, 2: 8, 3: 6}
SEARCH = {1: (8, 100), 2: (3, 24), 3: (2, 12)}
"""Places along a dimension at which rows look for the nearest image: times the nodes, and at least."""

MOST_ON_A_GRID = 3
SCATTERED_NODES = 200
SCATTERED_PLACES = 2_000
SMALLEST_WIDTH = 1e-100
"""Narrower kernels are treated as this one: distances in widths must not overflow."""


@dataclass(frozen=True)
class Layout:
    """The places of a manifold.

    Attributes
    ----------
    domain : Domain or Points
        Where latents are.
    nodes : ndarray of shape (M, q)
        Centres of the expansion.
    kernels : tuple of NodeKernel
        One for each dimension.
    widths : ndarray of shape (q,)
        Theirs.
    grid : ndarray of shape (m, q)
        Latents whose images rows are compared with.
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
        """Return the layout whose grid, where it was scattered, is where the latents are now."""
        if self.domain.n_components <= MOST_ON_A_GRID:
            return self
        some = latents[some_rows(len(latents), len(self.grid))]
        return replace(self, grid=np.vstack([self.nodes, some]))

    def expansion(self, alpha: float) -> NodeExpansion:
        """Return an expansion without weights."""
        return NodeExpansion(self.nodes, self.kernels, self.widths, alpha=alpha)


def layout_of(
    domain: Domain | Points,
    kernel: str | NodeKernel,
    n_nodes: Any,
    width: float,
    data: Array,
    rng: np.random.Generator,
) -> Layout:
    """Lay nodes on a grid, or where the data are in more than three dimensions.

    Parameters
    ----------
    domain : Domain or Points
        Where.
    kernel : str or NodeKernel
        The kernel of one dimension; on circles Gaussians are wrapped around them.
    n_nodes : "auto", int or tuple of int
        How many, in total or along each dimension.
    width : float
        In units of the distance between neighbouring nodes.
    data : ndarray of shape (n, D)
        What k-means goes by in more than three dimensions.
    rng : Generator
        For k-means.
    """
    q = domain.n_components
    kernels = _kernels_of(kernel, domain, n_columns=data.shape[1])
    if q > MOST_ON_A_GRID:
        return _scattered(domain, kernels, n_nodes, width, data, rng)
    counts = per_dimension(n_nodes, q)
    times, least = SEARCH[q]
    places = domain.grid(tuple(max(times * count, least) for count in counts))
    spacing = domain.spacing(counts)
    widths = np.maximum(width * spacing, SMALLEST_WIDTH)
    return Layout(domain, domain.grid(counts), kernels, widths, places)


def _kernels_of(
    kernel: str | NodeKernel, domain: Domain | Points, n_columns: int
) -> tuple[NodeKernel, ...]:
    """Return one kernel for each dimension: around circles Gaussians are wrapped, elsewhere periodic ones are not."""
    one = resolve_node_kernel(kernel)
    smooth = isinstance(one, GaussianKernel | DampedKernel)
    if n_columns == 1 and smooth and domain == Domain((False,)):
        return (LinearKernel(),)  # an interval on a line: bends could only disturb the order
    if isinstance(one, GaussianKernel | PeriodicKernel):
        around = one if isinstance(one, PeriodicKernel) else PeriodicKernel()
        return tuple(around if wrapped else GaussianKernel() for wrapped in domain.wrapped)
    return (one,) * domain.n_components


def per_dimension(n_nodes: Any, q: int) -> tuple[int, ...]:
    """Return the nodes along each dimension of a grid."""
    if isinstance(n_nodes, str):
        return (NODES[q],) * q
    if isinstance(n_nodes, tuple | list | np.ndarray):
        return tuple(int(n) for n in n_nodes)
    return (max(1, round(float(n_nodes) ** (1.0 / q))),) * q


def _scattered(
    domain: Domain | Points,
    kernels: tuple[NodeKernel, ...],
    n_nodes: Any,
    width: float,
    data: Array,
    rng: np.random.Generator,
) -> Layout:
    from sklearn.cluster import KMeans  # slow to import
    from sklearn.neighbors import NearestNeighbors  # slow to import

    q = domain.n_components
    axes, variances = principal_axes(data, q)
    deviations = np.sqrt(np.maximum(variances, 1e-300))
    latents = domain.into(data @ axes.T / deviations)
    wanted = SCATTERED_NODES if isinstance(n_nodes, str) else int(np.prod(n_nodes))
    n = min(wanted, len(np.unique(latents, axis=0)))
    model = KMeans(n, n_init=1, random_state=int(rng.integers(2**31))).fit(latents)
    nodes = np.unique(model.cluster_centers_, axis=0)
    chosen = latents[rng.permutation(len(latents))[:SCATTERED_PLACES]]
    spacing = 1.0
    if len(nodes) > 1:
        distances, _ = NearestNeighbors(n_neighbors=2).fit(nodes).kneighbors(nodes)
        spacing = float(np.median(distances[:, 1]))
    widths = np.full(q, max(width * spacing, SMALLEST_WIDTH))
    return Layout(domain, nodes, kernels, widths, np.vstack([nodes, chosen]))


def first_map(layout: Layout, axes: Array, center: Array, alpha: float) -> NodeExpansion:
    """Return the map of Eq. (35).

    Parameters
    ----------
    layout : Layout
        Where the nodes are.
    axes : ndarray of shape (k, r)
        Directions, each as long as the data's standard deviation along it, leading first; as many as there are dimensions,
        and one more for each circle, are used where there are so many.
    center : ndarray of shape (r,)
        Where the plane goes through.
    alpha : float
        Weight of the penalty.
    """
    places = layout.nodes
    if isinstance(layout.domain, Points):
        places = places - places.mean(axis=0)
        places = places / max(float(np.abs(places).max()), 1.0)
    waves: list[Array] = []
    for column, wrapped in enumerate(layout.domain.wrapped):
        angle = np.pi * places[:, column]
        circle = [np.sqrt(2.0) * np.cos(angle), np.sqrt(2.0) * np.sin(angle)]
        waves += circle if wrapped else [places[:, column]]
    n_waves = min(len(waves), len(axes))
    targets = center + np.stack(waves[:n_waves], axis=1) @ axes[:n_waves]
    return layout.expansion(alpha).fit(layout.nodes, targets)
