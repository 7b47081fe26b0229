"""
=====================================
``DRUR``: a few centers and both maps
=====================================

Dimensionality reduction by unsupervised regression (Carreira-Perpinan & Lu 2010) learns a small
network as decoder, another one as encoder, and the latents that suit both. The model consists of
a few centers, whatever the number of rows, and each map is one matrix product. This example
unrolls a Swiss roll with :class:`twofold.DRUR` from very noisy initial latents, and measures how
well the latents of new rows match their place on the sheet.
"""

# %%
# Rows of a rolled-up sheet of width 50. The initialization is the place on the sheet plus noise of
# standard deviation 20. Without such knowledge, leave ``init`` at its default: it compares spectral
# initializations.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from twofold import DRUR
from twofold.datasets import make_swiss_roll
from twofold.plotting import LearningCurveDisplay, ManifoldDisplay

X, sheet = make_swiss_roll(1000, random_state=0)
X_new, sheet_new = make_swiss_roll(500, random_state=1)

start = sheet + 20 * np.random.default_rng(0).standard_normal(sheet.shape)
model = DRUR(n_centers=40, init=start, tol=1e-3, max_iter=60, random_state=0).fit(X)


def agreement(latents, places):
    """R² of the true places on the sheet, from the latents by an affine map."""
    return LinearRegression().fit(latents, places).score(latents, places)


Z_new = model.transform(X_new)
print(f"centers of both maps: {model.n_centers_}, iterations: {model.n_iter_}")
print(f"variance kept on new rows: {model.score(X_new):.4f}")
print(f"R² to the true sheet: initialization {agreement(start, sheet):.3f}, ", end="")
print(f"new rows after the fit {agreement(Z_new, sheet_new):.3f}")

# %%
# Both maps
# ---------
# Left: the decoded surface, with the new rows. Middle: the initialization. Right: the encoded new
# rows. Colors show the true position along the roll.

figure = plt.figure(figsize=(13, 4.4), layout="constrained")
space = figure.add_subplot(1, 3, 1, projection="3d")
ManifoldDisplay.from_estimator(model, ax=space, manifold_kwargs={"alpha": 0.3})
space.scatter(*X_new.T, c=sheet_new[:, 0], s=6)
space.view_init(elev=18, azim=-75)
space.set_box_aspect((1, 1.2, 1))
space.set_title("decoded surface")
for place, title, latents, color in (
    (2, "initialization", start, sheet[:, 0]),
    (3, "encoded new rows", Z_new, sheet_new[:, 0]),
):
    ax = figure.add_subplot(1, 3, place)
    ax.scatter(*latents.T, c=color, s=10)
    ax.set(title=title, xlabel="latent 1", ylabel="latent 2")
    ax.set_aspect("equal", adjustable="datalim")
plt.show()

# %%
# The energy never increases
# --------------------------
# Each iteration updates the latents, then refits both maps. Centers move only in the first
# iterations; after these, no iteration increases the energy.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
LearningCurveDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# Encoder or projection
# ---------------------
# The encoder is one matrix product. The projection searches for the nearest point of the surface:
# it is slower and reconstructs better. ``transform`` uses the one that is better on held-out rows.

for method in ("map", "project"):
    rebuilt = model.inverse_transform(model.transform(X_new, method=method))
    lost = ((X_new - rebuilt) ** 2).sum() / ((X_new - X.mean(axis=0)) ** 2).sum()
    print(f"{method:8} loses {lost:.5f} of the variance of new rows")
print(f"transform uses {model.method_!r}")
