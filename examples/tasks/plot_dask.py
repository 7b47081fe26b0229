"""
=======================
Rows on a cluster: Dask
=======================

:mod:`twofold.dask` has estimators for rows that do not fit into one machine: Dask arrays and dataframes, zarr, parquet and NumPy files, read block by
block where the workers are. ``fit`` runs on the cluster; ``transform`` and ``inverse_transform`` return lazy collections, and nothing is
computed before it is asked for. The result does not depend on the blocks, and is that of the local class. Here the cluster is two threads
in this process. With a real one, only the line that makes the client changes.
"""

# %%
# A cluster, and rows in blocks.

import dask.array as da
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

import twofold
from twofold.dask import DRUR
from twofold.datasets import make_s_curve
from twofold.plotting import ManifoldDisplay

cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
client = Client(cluster)

rows, sheet = make_s_curve(2400, noise=0.02, random_state=0)
X = da.from_array(rows, chunks=(600, 3))
print(X)

# %%
# Fit, and maps that wait
# -----------------------
# The latents of all rows are a Dask array of the same blocks. So is what they decode to.

model = DRUR(n_centers=30, init="isomap", random_state=0).fit(X)
Z = model.transform(X)
rebuilt = model.inverse_transform(Z)
error = ((X - rebuilt) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
print("lazy:", Z)
print(f"computed: {error.compute():.4f} of the variance is lost on the way down and up")

X_new, sheet_new = make_s_curve(600, noise=0.02, random_state=1)
print(f"variance kept on new rows: {model.score(da.from_array(X_new, chunks=(300, 3))):.4f}")

# %%
# The same model on one machine
# -----------------------------
# ``to_local`` gives the ordinary estimator, to save, export or draw. Fitted locally to the same rows, it is the same.

local = model.to_local()
alone = twofold.DRUR(n_centers=30, init="isomap", random_state=0).fit(rows)
difference = abs(alone.transform(X_new) - local.transform(X_new)).max()
print(f"largest difference to the local fit: {difference:g}")

# %%
# Both maps, drawn from the local estimator. Colours are the true place along the S.

Z_new = local.transform(X_new)
figure = plt.figure(figsize=(11, 4.6), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
ManifoldDisplay.from_estimator(local, ax=space, manifold_kwargs={"alpha": 0.3})
space.scatter(*X_new.T, c=sheet_new[:, 0], s=6)
space.set(xticks=[-1, 0, 1], yticks=[0, 1, 2], xlabel="", ylabel="", zlabel="")
space.view_init(elev=12, azim=-75)
space.set_title("up: the surface, with new rows")
ax = figure.add_subplot(1, 2, 2)
ax.scatter(*Z_new.T, c=sheet_new[:, 0], s=8)
ax.set(title="down: latents of new rows", xlabel="latent 1", ylabel="latent 2", aspect="equal")
plt.show()

# %%
# The cluster is yours: you have started it, you close it.

client.close()
cluster.close()
