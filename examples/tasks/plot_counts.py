"""
======================================
A map of counts: cells and their genes
======================================

Cells of this synthetic tissue develop along a stem that splits into three branches, and their genes
are counted. :func:`twofold.anndata.fit` divides the counts by the library size of each cell, puts
them on a log scale and fits a two-way map. New cells are placed by the names of their genes, and
every place of the map decodes to counts.
"""

# %%
# A table of counts
# -----------------
# The counts are in a sparse matrix, with the names of cells and genes in an ``AnnData``. The
# library sizes, which say how much was counted in each cell, differ widely.

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

import twofold.anndata
from twofold import UKR
from twofold.datasets import make_branching_counts

X, parameters = make_branching_counts(1000, 80, library_size=400, random_state=0)
branches = np.array(["stem", "A", "B", "C"])
cells = anndata.AnnData(
    csr_matrix(X.astype(np.float32)),
    obs=pd.DataFrame(
        {"branch": branches[parameters[:, 0].astype(int)], "age": parameters[:, 1]},
        index=[f"cell{number}" for number in range(1000)],
    ),
    var=pd.DataFrame(index=[f"gene{number}" for number in range(80)]),
)
sizes = X.sum(axis=1)
print(f"zeros: {np.mean(X == 0):.0%}, library sizes: {sizes.min()} to {sizes.max()}")

# %%
# A map of the cells
# ------------------
# The latents, the share of each gene's variance that the map keeps, and the model are written into
# the table. They are still there after ``reference.write_h5ad(...)``.

reference, query = cells[:800].copy(), cells[800:].copy()
fitted = twofold.anndata.fit(reference, UKR(smoothing=2.0, random_state=0))
print(fitted)
print(reference)
print(reference.varm["twofold"].sort_values("r2", ascending=False).head(3))

# %%
# New cells
# ---------
# Genes are matched by name, so their order does not matter. Most new cells lie on the branch to
# which they belong.

query = query[:, np.random.default_rng(0).permutation(query.var_names)].copy()
Z = twofold.anndata.transform(query, reference)
Z_reference = reference.obsm["X_twofold"]
nearest = np.linalg.norm(Z[:, None] - Z_reference, axis=2).argmin(axis=1)
same = reference.obs["branch"].to_numpy()[nearest] == query.obs["branch"].to_numpy()
print(f"new cells whose nearest cell is of the same branch: {same.mean():.0%}")

# %%
# Counts of every place
# ---------------------
# ``decode`` returns expected counts. Left: the cells, and a path along the stem and branch A, the
# middle of the cells of each age. Right: the counts along the path of the genes that change most,
# for a cell of the typical library size.

on_path = reference.obs["branch"].isin(["stem", "A"]).to_numpy()
ages = reference.obs["age"].to_numpy()
steps = np.linspace(0.02, 0.98, 40)
weights = np.exp(-0.5 * ((steps[:, None] - ages[on_path]) / 0.04) ** 2)
path = weights @ Z_reference[on_path] / weights.sum(axis=1, keepdims=True)
decoded = twofold.anndata.decode(reference, path)
changing = decoded.std().nlargest(12).index
counts = decoded[sorted(changing, key=lambda gene: decoded[gene].argmax())]

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
colors = dict(zip(branches, ("0.45", "tab:blue", "tab:orange", "tab:green"), strict=True))
for branch, color in colors.items():
    old, new = (table.obs["branch"].to_numpy() == branch for table in (reference, query))
    left.scatter(*Z_reference[old].T, s=8, color=color, alpha=0.5, label=branch)
    left.scatter(*Z[new].T, s=22, color=color, marker="x")
left.plot(*path.T, color="black", linewidth=1.5)
left.annotate("start", path[0], textcoords="offset points", xytext=(6, 6))
left.legend(title="dots: cells of the fit,\ncrosses: new cells")
left.set(xlabel="latent 1", ylabel="latent 2", title="the map")
shown = right.pcolormesh(steps, np.arange(12), counts.to_numpy().T, cmap="viridis")
right.set_yticks(np.arange(12), counts.columns)
right.set(xlabel="age along the stem and branch A", title="decoded counts along the path")
figure.colorbar(shown, ax=right, label="expected counts")
plt.show()

# %%
# One gene over the map
# ---------------------
# Single counts are noisy. Decoded counts of the same cells at the same library size show the trend.
# Only the asked gene is decoded.

gene = counts.columns[-1]
measured = np.asarray(reference[:, gene].X.toarray()).ravel() / sizes[:800] * np.median(sizes[:800])
smooth = twofold.anndata.decode(reference, Z_reference, genes=gene)[gene]
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
top = np.quantile(measured, 0.99)
for ax, values, title in zip(axes, (measured, smooth), ("counted", "decoded"), strict=True):
    dots = ax.scatter(*Z_reference.T, c=values, s=12, vmin=0, vmax=top)
    ax.set(xlabel="latent 1", title=f"{gene}, {title}")
axes[0].set_ylabel("latent 2")
figure.colorbar(dots, ax=axes, label="counts at the typical library size")
plt.show()
