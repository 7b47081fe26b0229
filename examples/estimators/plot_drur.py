"""
======================================
``DRUR``: a few centres, and both maps
======================================

Dimensionality reduction by unsupervised regression (Carreira-Perpinan & Lu 2010) learns one small network up, another one
down, and the latents that suit both. The model is a few centres, however many rows there were, and each of its maps is one
product of matrices. This example unrolls a Swiss roll with :class:`twofold.DRUR`, from latents so noisy that they hardly know
their place, and asks how well the latents of new rows tell where they are on the sheet.
"""

# %%
# Rows of a rolled-up sheet, 50 wide. The start is the place on the sheet with noise of standard deviation 20. With no better knowledge, leave
# ``init`` alone: it compares spectral starts.

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
print(f"centres, up and down: {model.n_centers_}, turns: {model.n_iter_}")
print(f"variance kept on new rows: {model.score(X_new):.4f}")
print(f"R² to the true sheet: start {agreement(start, sheet):.3f}, ", end="")
print(f"new rows after the fit {agreement(Z_new, sheet_new):.3f}")

# %%
# Both maps
# ---------
# Left: the surface that the up-map makes of the plane, with the new rows. Middle: the start. Right: the latents of new rows, by
# the down-map. Colours are the true position along the roll.

figure = plt.figure(figsize=(13, 4.4), layout="constrained")
space = figure.add_subplot(1, 3, 1, projection="3d")
ManifoldDisplay.from_estimator(model, ax=space, manifold_kwargs={"alpha": 0.3})
space.scatter(*X_new.T, c=sheet_new[:, 0], s=6)
space.view_init(elev=18, azim=-75)
space.set_box_aspect((1, 1.2, 1))
space.set_title("up: the surface")
for place, title, latents, color in (
    (2, "the start", start, sheet[:, 0]),
    (3, "down: new rows", Z_new, sheet_new[:, 0]),
):
    ax = figure.add_subplot(1, 3, place)
    ax.scatter(*latents.T, c=color, s=10)
    ax.set(title=title, xlabel="latent 1", ylabel="latent 2")
    ax.set_aspect("equal", adjustable="datalim")
plt.show()

# %%
# The energy never rises
# ----------------------
# Each turn moves the latents, then fits both maps anew. Centres are placed anew in the first turns only; after these, no turn
# raises the energy.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
LearningCurveDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# Two ways down
# -------------
# The down-map is one product. The projection looks for the nearest point of the surface: slower, and it rebuilds better.
# ``transform`` takes the one that was better on held-out rows.

for method in ("map", "project"):
    rebuilt = model.inverse_transform(model.transform(X_new, method=method))
    lost = ((X_new - rebuilt) ** 2).sum() / ((X_new - X.mean(axis=0)) ** 2).sum()
    print(f"{method:8} loses {lost:.5f} of the variance of new rows")
print(f"transform uses {model.method_!r}")
