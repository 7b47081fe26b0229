"""A branching continuum: a synthetic table of cells by genes, as from a developing tissue.

Cells lie along the branches of a tree in a latent space. Gene programs are smooth functions of the
place in that space, genes mix a few programs, and counts are Poisson numbers with a depth of their
own for each cell. The table is the logarithm of one plus the counts, scaled to a common depth.
"""

import numpy as np

N_CELLS, N_GENES = 2_660, 240
N_LATENT, N_PROGRAMS, PER_GENE = 5, 24, 3
PARENTS = (None, 0, 0, 1, 1, 2, 4)
"""The branch at whose end each branch starts; the first one is the root."""
DEPTH, DEPTH_SPREAD = 900.0, 0.3
"""Counts of a cell: their typical number, and the standard deviation of its logarithm."""
JITTER = 0.06
"""Distance of cells from their branch, where a branch has length 1."""


def make_continuum(n_cells=N_CELLS, n_genes=N_GENES, seed=0):
    """Return a table (n_cells, n_genes) and the branch (n_cells,) of each cell."""
    rng = np.random.default_rng(seed)
    branch = rng.integers(len(PARENTS), size=n_cells)
    place = _tree_points(branch, rng)
    # Each program is on around a center of its own, which lies on the tree.
    centers = _tree_points(rng.integers(len(PARENTS), size=N_PROGRAMS), rng)
    sqdist = np.square(place[:, np.newaxis] - centers).sum(axis=2)
    programs = np.exp(-sqdist / (2 * 0.6**2))
    loadings = np.zeros((N_PROGRAMS, n_genes))
    for gene in range(n_genes):
        own = rng.choice(N_PROGRAMS, PER_GENE, replace=False)
        loadings[own, gene] = rng.normal(0.0, 1.6, PER_GENE)
    rates = np.exp(programs @ loadings + rng.normal(0.0, 0.7, n_genes))
    rates /= rates.sum(axis=1, keepdims=True)
    depth = DEPTH * np.exp(DEPTH_SPREAD * rng.standard_normal((n_cells, 1)))
    counts = rng.poisson(rates * depth)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.log1p(counts / total * DEPTH), branch


def _tree_points(branch, rng):
    """Return random points (n, q) along the given branches (n,)."""
    ways = np.random.default_rng(1).standard_normal((len(PARENTS), N_LATENT))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    starts = np.zeros_like(ways)
    for one, parent in enumerate(PARENTS):
        if parent is not None:
            starts[one] = starts[parent] + ways[parent]
    along = rng.uniform(size=(len(branch), 1))
    spread = JITTER * rng.standard_normal((len(branch), N_LATENT))
    return starts[branch] + along * ways[branch] + spread
