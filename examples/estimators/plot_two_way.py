"""
=======================================
``TwoWay``: both maps for any embedding
=======================================

t-SNE arranges the rows it was given and nothing else: it has no map for new rows, and none back
to the data. :class:`twofold.TwoWay` fits both. It compares several pairs of maps, keeps the pair
that reconstructs held-out rows best, and adds a score, a density and a distance to the manifold.
This example uses a t-SNE of handwritten digits, and digits that neither t-SNE nor the maps have
seen.
"""

# %%
# Five classes of 8x8 digits. A fifth of the rows is held out.

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
print(f"decoder {model.up_!r}, encoder {model.down_!r}")
print(f"variance kept on new digits: {model.score(X_new):.3f}")

# %%
# Both maps
# ---------
# Left: encoded new digits over the density of the training latents. Right: a grid of places, each
# decoded by ``inverse_transform``.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=22, ax=right)
left.set_title("new digits on the t-SNE map")
right.set_title("decoded places")
plt.show()

# %%
# Reconstruction
# --------------
# Two numbers per digit suffice to draw it again. The second row shows the reconstructions of the
# first.

rows = np.concatenate([np.flatnonzero(y_new == digit)[:3] for digit in range(5)])
pairs = np.stack([X_new[rows], model.reconstruct(X_new[rows])])
figure, axes = plt.subplots(2, len(rows), figsize=(11, 1.9), layout="constrained")
for ax, image in zip(axes.ravel(), pairs.reshape(-1, 8, 8), strict=True):
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=16)
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("new")
axes[1, 0].set_ylabel("reconstructed")
plt.show()

# %%
# Which maps?
# -----------
# ``"auto"`` compared these pairs on held-out training rows.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
CandidatesDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# Other methods can use the latents. A classifier fitted to the training latents classifies new
# digits, and rows that are not digits are far from the manifold.

classifier = KernelDensityClassifier().fit(model.embedding_, y)
accuracy = classifier.score(model.transform(X_new), y_new)
usual = np.median(model.reconstruction_error(X_new))
strange = np.median(model.reconstruction_error(X_new[:, ::-1]))  # rotated by 180 degrees
print(f"classes from two latents: {accuracy:.1%} of the new digits are right")
print(f"median distance to the manifold: new digits {usual:.1f}, rotated ones {strange:.1f}")
