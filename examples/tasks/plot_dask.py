"""
=======================
Rows on a cluster: Dask
=======================

:func:`twofold.dask.fit` fits an ordinary estimator to data that do not fit into memory: Dask arrays
and dataframes, zarr, parquet and NumPy files. The workers read them block by block. The result does
not depend on the blocks, and equals that of the local fit. The maps of the fitted model take Dask
collections and return lazy ones. Here the cluster is two threads in this process. For a real
cluster, only the line that creates the client changes.
"""

# %%
# A cluster, and rows in blocks.

import dask.array as da
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

import twofold.dask
from twofold.datasets import make_s_curve
from twofold.plotting import ManifoldDisplay

cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
client = Client(cluster)

rows, sheet = make_s_curve(2400, noise=0.02, random_state=0)
X = da.from_array(rows, chunks=(600, 3))
print(X)

# %%
# Fit, and lazy maps
# ------------------
# The latents of all rows are a Dask array with the same blocks. So is their reconstruction.

setting = {"n_centers": 30, "init": "isomap", "random_state": 0}
model = twofold.dask.fit(twofold.DRUR(**setting), X)
Z = model.transform(X)
rebuilt = model.inverse_transform(Z)
error = ((X - rebuilt) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
print("lazy:", Z)
print(f"computed: the reconstruction loses {error.compute():.4f} of the variance")

X_new, sheet_new = make_s_curve(600, noise=0.02, random_state=1)
print(f"score on new rows: {model.score(da.from_array(X_new, chunks=(300, 3))):.4f}")

# %%
# The same model as in memory
# ---------------------------
# ``fit`` returns the ordinary estimator, to save, export or plot. Fitted to the same rows in
# memory, it is the same model, up to rounding here, where cluster and client share a process.

alone = twofold.DRUR(**setting).fit(rows)
difference = abs(alone.transform(X_new) - model.transform(X_new)).max()
print(f"largest difference from the fit in memory: {difference:g}")

# %%
# Both maps. Colors show the true position along the S.

Z_new = model.transform(X_new)
figure = plt.figure(figsize=(11, 4.6), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
ManifoldDisplay.from_estimator(model, ax=space, manifold_kwargs={"alpha": 0.3})
space.scatter(*X_new.T, c=sheet_new[:, 0], s=6)
space.set(xticks=[-1, 0, 1], yticks=[0, 1, 2], xlabel="", ylabel="", zlabel="")
space.view_init(elev=12, azim=-75)
space.set_title("decoder: the surface, with new rows")
ax = figure.add_subplot(1, 2, 2)
ax.scatter(*Z_new.T, c=sheet_new[:, 0], s=8)
ax.set(title="encoder: latents of new rows", xlabel="latent 1", ylabel="latent 2", aspect="equal")
plt.show()

# %%
# You started the cluster, so you close it.

client.close()
cluster.close()
