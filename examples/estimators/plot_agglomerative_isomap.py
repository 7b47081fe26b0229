"""
============================================================
``AgglomerativeIsomap``: path lengths, also across pieces
============================================================

Isomap lays rows out so that distances on the map are path lengths in a graph of nearest neighbours. With many neighbours the graph
short-cuts the folds of the data; with few it falls into pieces. :class:`twofold.AgglomerativeIsomap` (Orsenigo & Vercellis 2012) takes few, joins
the pieces at their closest points, and says so in a warning. Kernel ridge regression takes new rows down, and a second one takes
latents back up. This example unrolls an S that has a gap and chooses the dimension by the elbow of the residual variances.
"""

# %%
# A sheet bent to an S from which a strip is missing. The graph of nearest neighbours cannot cross the strip.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from twofold import AgglomerativeIsomap
from twofold.datasets import make_s_curve
from twofold.plotting import ManifoldDisplay, ResidualVarianceDisplay


def s_with_gap(n_samples, seed):
    X, sheet = make_s_curve(n_samples, random_state=seed)
    along = (sheet[:, 0] - sheet[:, 0].min()) / np.ptp(sheet[:, 0])
    kept = abs(along - 0.4) > 0.08
    return X[kept], sheet[kept]


X, sheet = s_with_gap(600, seed=0)
X_new, sheet_new = s_with_gap(300, seed=1)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = AgglomerativeIsomap("auto", n_neighbors=6).fit(X)
print("warning:", *(str(warning.message) for warning in caught))
print(f"pieces: {model.n_pieces_}, dimensions: {model.embedding_.shape[1]}")

# %%
# Both maps
# ---------
# Left: the surface that latents decode to, with new rows. Right: the latents of new rows. Colours are the true position along the S.

Z_new = model.transform(X_new)
figure = plt.figure(figsize=(11, 4.8), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
ManifoldDisplay.from_estimator(model, ax=space, manifold_kwargs={"alpha": 0.3})
space.scatter(*X_new.T, c=sheet_new[:, 0], s=10)
space.view_init(elev=15, azim=-75)
space.set_title("up: the surface")
ax = figure.add_subplot(1, 2, 2)
ax.scatter(*Z_new.T, c=sheet_new[:, 0], s=14)
ax.set(title="down: new rows, unrolled", xlabel="latent 1", ylabel="latent 2", aspect="equal")
plt.show()

agreement = LinearRegression().fit(Z_new, sheet_new).score(Z_new, sheet_new)
print(f"R² of the true places on the sheet from the latents of new rows: {agreement:.4f}")
print(f"variance kept on new rows: {model.score(X_new):.4f}")

# %%
# How many dimensions?
# --------------------
# The residual variance is the share of the path lengths' variance that the map's distances do not explain. ``n_components="auto"``
# takes its elbow.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ResidualVarianceDisplay.from_estimator(model, ax=ax)
plt.show()
