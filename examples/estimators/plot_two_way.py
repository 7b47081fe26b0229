"""
=======================================
``TwoWay``: both maps for any embedding
=======================================

t-SNE draws a picture of the rows it was given and can do no more: it has no map for new rows, and none
back to the data. :class:`twofold.TwoWay` fits both. It compares several pairs of maps, keeps the pair that
rebuilds held-out rows best, and adds a score, a density and a distance to the manifold. Here it is given
the t-SNE of some handwritten digits, and is judged by digits that neither t-SNE nor the maps have seen.
"""

# %%
# Five classes of 8x8 digits. A fifth of them is held out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split

from twofold import KernelDensityClassifier, TwoWay
from twofold.plotting import CandidatesDisplay, DecodedGridDisplay, LatentMapDisplay

X, y = load_digits(n_class=5, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=480, test_size=120, random_state=0, stratify=y
)

model = TwoWay(TSNE(random_state=0), random_state=0).fit(X)
print(f"up-map {model.up_!r}, down-map {model.down_!r}")
print(f"variance kept on new digits: {model.score(X_new):.3f}")

# %%
# Both maps
# ---------
# On the left new digits are taken *down*: dots are their latents, bands the density of the training latents.
# On the right a grid of places is taken *up*: each tile is what ``inverse_transform`` makes of its place.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=22, ax=right)
left.set_title("down: new digits on the map of t-SNE")
right.set_title("up: what places on the map look like")
plt.show()

# %%
# Down and up again
# -----------------
# Two numbers for each digit are enough to write it again. The second row is the model's version of the first.

rows = np.concatenate([np.flatnonzero(y_new == digit)[:3] for digit in range(5)])
pairs = np.stack([X_new[rows], model.reconstruct(X_new[rows])])
figure, axes = plt.subplots(2, len(rows), figsize=(11, 1.9), layout="constrained")
for ax, image in zip(axes.ravel(), pairs.reshape(-1, 8, 8), strict=True):
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=16)
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("new")
axes[1, 0].set_ylabel("rebuilt")
plt.show()

# %%
# Which maps?
# -----------
# ``"auto"`` has tried these pairs on a part of the training rows that it held out for the purpose.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
CandidatesDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# Latents serve other methods. A classifier that has learned the training latents knows the classes of new digits,
# and rows that are no digits are far from the manifold.

classifier = KernelDensityClassifier().fit(model.embedding_, y)
accuracy = classifier.score(model.transform(X_new), y_new)
usual = np.median(model.reconstruction_error(X_new))
strange = np.median(model.reconstruction_error(X_new[:, ::-1]))  # turned by half a turn
print(f"classes from two latents: {accuracy:.1%} of the new digits are right")
print(f"median distance to the manifold: new digits {usual:.1f}, turned ones {strange:.1f}")
