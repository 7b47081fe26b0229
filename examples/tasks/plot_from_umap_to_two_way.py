"""
=======================
From UMAP to ``TwoWay``
=======================

An embedding lacks a fast encoder for new rows, a decoder, and a measure of their quality.
:class:`twofold.TwoWay` adds them to any embedding: an estimator, existing latents, or a function.
This example uses UMAP if umap-learn is installed, otherwise scikit-learn's t-SNE; the code after
the first block is the same for both. It shows that the map stays as it is, and what is new:
encoding, decoding, distance and density.
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

    print("umap-learn is not installed; using t-SNE instead.")
    name, embedding = "t-SNE", TSNE(random_state=0)
else:
    name, embedding = "UMAP", UMAP(random_state=0, n_jobs=1)

X, y = load_digits(n_class=6, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=360, test_size=180, random_state=0, stratify=y
)
old = embedding.fit_transform(X)

# %%
# Existing latents
# ----------------
# An array as embedding needs no second run. The latents of the training rows stay unchanged.

model = TwoWay(old, random_state=0).fit(X)
print(f"latents unchanged: {np.array_equal(model.embedding_, old)}")
print(f"maps by held-out error: decoder {model.up_!r}, encoder {model.down_!r}")
print(f"variance kept on new digits: {model.score(X_new):.3f}")

# %%
# You can also pass the estimator, ``TwoWay(embedding)``. It is cloned and fitted with the rows,
# also in a pipeline and on each fold of a cross-validation, which is not possible with an array.

# %%
# What is new
# -----------
# Left: the map as before. Middle: digits that the embedding has never seen, on the same map. Right:
# decoded places.

figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
LatentMapDisplay.from_estimator(model, labels=y, ax=axes[0])
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=axes[1])
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=20, ax=axes[2])
axes[0].set_title(f"{name}, as before")
axes[1].set_title("encoded new digits")
axes[2].set_title("decoded places")
plt.show()

nearest = KNeighborsClassifier(1).fit(model.embedding_, y)
accuracy = nearest.score(model.transform(X_new), y_new)
print(f"class of the nearest latent right for {accuracy:.1%} of the new digits")

# %%
# A straight walk from one digit to another. The number below each step is the log density: where it
# is low, no data support the image.

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
# Digits of other classes are far from the manifold.

others, labels = load_digits(return_X_y=True)
others = others[labels > 5][:200]
limit = np.quantile(model.reconstruction_error(X_new), 0.95)
flagged = np.mean(model.reconstruction_error(others) > limit)
print(f"a limit that flags 5 % of known classes flags {flagged:.0%} of the digits 6 to 9")
