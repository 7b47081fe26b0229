"""
=========================
Embed new points on a map
=========================

A map is fitted once, and rows keep coming. ``transform`` places each of them on the existing map,
row by row: the place of a row does not depend on the rows that come with it. This example embeds
digits that the model has never seen, checks whether they land among their own class, and draws
each at its place. It uses :class:`twofold.UKR`; all other estimators have the same methods.
"""

# %%
# The map is fitted to 500 digits. 300 others come later.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from twofold import UKR
from twofold.plotting import LatentMapDisplay

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=500, test_size=300, random_state=0, stratify=y
)
model = UKR(init="isomap", random_state=0).fit(X)
Z_new = model.transform(X_new)

# %%
# The result is the same for one row or many, except for rounding.

alone = np.concatenate([model.transform(row[None]) for row in X_new[:20]])
print(f"largest difference, one by one or together: {abs(alone - Z_new[:20]).max():.1e}")

# %%
# Places of new digits
# --------------------
# Left: gray bands show the density of the training latents, dots the new digits. Right: some of the
# new digits, each drawn at its place.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.8), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
left.set_title(f"{len(X_new)} new digits on the map")
right.set(xlim=left.get_xlim(), ylim=left.get_ylim(), aspect="equal", xlabel="latent 1")
right.set_title("some of them, drawn as images")
shown = []
for row in range(len(X_new)):  # skip those that would cover another
    if all(abs(Z_new[row] - Z_new[other]).max() > 2.6 for other in shown):
        shown.append(row)
        picture = OffsetImage(X_new[row].reshape(8, 8), zoom=1.6, cmap="gray_r")
        right.add_artist(AnnotationBbox(picture, Z_new[row], frameon=False))
plt.show()

# %%
# Do they land among their own class?
# -----------------------------------
# Classify each new digit by its nearest training latent, and for comparison by the nearest row in
# all 64 pixels.

for name, known, new in (("2 latents", model.embedding_, Z_new), ("64 pixels", X, X_new)):
    accuracy = KNeighborsClassifier(1).fit(known, y).score(new, y_new)
    print(f"class of the nearest neighbor in {name}: {accuracy:.1%} right")

# %%
# Can a place be trusted?
# -----------------------
# Every row gets a place, even if it does not belong on the map. The distance to the manifold shows
# this: rows of noise are far away.

noise = np.random.default_rng(0).uniform(0, 16, (300, 64))
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
bins = np.linspace(0, 70, 71)
for rows, name in ((X, "training digits"), (X_new, "new digits"), (noise, "noise")):
    ax.hist(model.reconstruction_error(rows), bins, histtype="step", linewidth=1.6, label=name)
ax.set(xlabel="distance to the manifold", ylabel="rows")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()
