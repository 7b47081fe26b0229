"""
=======================
From UMAP to ``TwoWay``
=======================

You have an embedding that you like, and a picture of it. What it lacks is a fast, judged way down for new rows and a way back up.
:class:`twofold.TwoWay` takes any embedding: the estimator that makes it, latents that are already there, or a function. Here it is
UMAP, where umap-learn is installed, else scikit-learn's t-SNE; the code after the first block is the same for both. The
example shows that the map stays as it was, and what is new: embedding, decoding, distance and density.
"""

# %%
# The embedding
# -------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from twofold import TwoWay
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay

try:
    from umap import UMAP
except ImportError:
    from sklearn.manifold import TSNE

    print("umap-learn is not installed: t-SNE takes its place.")
    name, embedding = "t-SNE", TSNE(random_state=0)
else:
    name, embedding = "UMAP", UMAP(random_state=0, n_jobs=1)

X, y = load_digits(n_class=6, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=360, test_size=180, random_state=0, stratify=y
)
old = embedding.fit_transform(X)

# %%
# Latents that are already there
# ------------------------------
# An array as embedding needs no second run. The latents of the training rows are those that you gave.

model = TwoWay(old, random_state=0).fit(X)
print(f"latents unchanged: {np.array_equal(model.embedding_, old)}")
print(f"maps by held-out error: up {model.up_!r}, down {model.down_!r}")
print(f"variance kept on new digits: {model.score(X_new):.3f}")

# %%
# Or hand over the estimator, ``TwoWay(embedding)``: it is cloned and fitted with the rows, also within a pipeline and on each fold of a
# cross-validation, which an array cannot be.

# %%
# What is new
# -----------
# Left: the picture that you had. Middle: digits that the embedding has never seen, on the same map. Right: the way back.

figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
LatentMapDisplay.from_estimator(model, labels=y, ax=axes[0])
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=axes[1])
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=20, ax=axes[2])
axes[0].set_title(f"{name}, as before")
axes[1].set_title("down: new digits")
axes[2].set_title("up: what places look like")
plt.show()

nearest = KNeighborsClassifier(1).fit(model.embedding_, y)
accuracy = nearest.score(model.transform(X_new), y_new)
print(f"class of the nearest latent right for {accuracy:.1%} of the new digits")

# %%
# A walk from one digit to another, straight across the map. Below each step, the log density there: where it is low, no data stand behind the
# picture.

start, end = (np.median(model.embedding_[y == digit], axis=0) for digit in (3, 5))
path = start + np.linspace(0, 1, 10)[:, None] * (end - start)
figure, axes = plt.subplots(1, 10, figsize=(12, 1.8), layout="constrained")
for ax, image, log_density in zip(
    axes, model.inverse_transform(path), model.log_density(path), strict=True
):
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    ax.set(xticks=[], yticks=[], xlabel=f"{log_density:.1f}")
plt.show()

# %%
# Digits of classes that were left out are far from the manifold.

others, labels = load_digits(return_X_y=True)
others = others[labels > 5][:200]
limit = np.quantile(model.reconstruction_error(X_new), 0.95)
flagged = np.mean(model.reconstruction_error(others) > limit)
print(
    f"at a limit that flags 5 % of the known classes, {flagged:.0%} of the digits 6 to 9 are flagged"
)
