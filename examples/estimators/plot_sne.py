"""
==========================================
``SNE``: neighborhoods by a guided descent
==========================================

Stochastic neighbor embedding assigns each row probabilities of choosing the others as its
neighbor, and looks for latents with the same probabilities. From a random start, plain descent
moves each latent on its own and tangles the map. Spectral guidance (Memisevic & Hinton 2005)
multiplies the gradient by a matrix of affinities of the data, so that neighbors move together;
its influence decreases, and the run ends with plain steps. This example compares both from the
same random starts, and shows both maps of :class:`twofold.SNE` on digits.
"""

# %%
# Three noisy arcs of a circle, as in the paper. The latents start as a small random cloud, and all
# runs have the same number of iterations.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from twofold import SNE
from twofold.datasets import make_partitioned_circle
from twofold.optimize import SpectralGuidance
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, LearningCurveDisplay

X, _ = make_partitioned_circle(150, random_state=100)
angle = np.arctan2(X[:, 1], X[:, 0])
settings = {"bandwidth": 0.02, "init": "random", "optimizer": "gd", "max_iter": 150, "tol": 0.0}
settings |= {"distances": "euclidean", "up": "nw", "down": "nw"}  # as in the paper; no comparison
ways = {"plain": None, "guided": SpectralGuidance(bandwidth=0.1, form="truncated")}
models = {}
for name, guidance in ways.items():
    fits = [SNE(guidance=guidance, random_state=seed, **settings).fit(X) for seed in range(5)]
    divergences = [fit.kl_divergence_ for fit in fits]
    print(f"{name:6}: divergences from five random starts", np.round(divergences, 3))
    models[name] = fits[0]

# %%
# The descents
# ------------
# The first of the five runs. The curve is the plain divergence in both cases, also during guided
# steps. Colors show the true angle: where they mix, the map is tangled.

figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
axes[0].scatter(*X.T, c=angle, s=10, cmap="hsv")
axes[0].set(title="data", xlabel="feature 1", ylabel="feature 2")
LearningCurveDisplay.from_estimators(models, ax=axes[1])
axes[1].set_title("divergence")
for ax, (name, model) in zip(axes[2:], models.items(), strict=True):
    ax.scatter(*model.embedding_.T, c=angle, s=10, cmap="hsv")
    ax.set(title=f"latents, {name}", xlabel="latent 1", ylabel="latent 2")
plt.show()

# %%
# Both maps
# ---------
# By default distances are those along the data, and their classical scaling is the initialization.
# Left: encoded new digits. Right: a decoded grid of places.

X, y = load_digits(n_class=6, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=300, test_size=150, random_state=0, stratify=y
)
model = SNE(perplexity=20, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=20, ax=right)
left.set_title("encoded new digits")
right.set_title("decoded places")
plt.show()

nearest = KNeighborsClassifier(1).fit(model.embedding_, y)
accuracy = nearest.score(model.transform(X_new), y_new)
print(f"maps by held-out error: decoder {model.up_!r}, encoder {model.down_!r}")
print(f"variance kept on new digits: {model.score(X_new):.3f}")
print(f"class of the nearest latent right for {accuracy:.1%} of them")
