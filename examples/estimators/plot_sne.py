"""
============================================
``SNE``: neighbourhoods, by a guided descent
============================================

Stochastic neighbour embedding gives every row probabilities of choosing the others as its neighbour, and looks for latents
with the same probabilities. From a random start, plain descent moves every latent on its own and tangles the map. Spectral
guidance (Memisevic & Hinton 2005) multiplies the gradient by a matrix made of the data's affinities, so that neighbours move together; step
by step the matrix gives way, and the end of the run is plain again. This example compares the two from the same
random starts, and then shows both maps of :class:`twofold.SNE` on digits.
"""

# %%
# Three arcs of a circle, with noise, as in the paper. The latents start as a small random cloud, and every run has the same number of iterations.

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
settings |= {"up": "nw", "down": "nw"}  # no need to compare maps here
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
# The first of the five runs. The curve is the plain divergence in both cases, also where the steps are guided. Colours are the true
# angle: where they are mixed, the map is tangled.

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
# Usually you need not think of it: guidance is on by default, and the start is PCA. Digits that the model has not
# seen go down to the map; a grid of its places goes up.

X, y = load_digits(n_class=6, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=300, test_size=150, random_state=0, stratify=y
)
model = SNE(perplexity=20, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=20, ax=right)
left.set_title("down: new digits")
right.set_title("up: what places look like")
plt.show()

nearest = KNeighborsClassifier(1).fit(model.embedding_, y)
accuracy = nearest.score(model.transform(X_new), y_new)
print(f"maps by held-out error: up {model.up_!r}, down {model.down_!r}")
print(f"variance kept on new digits: {model.score(X_new):.3f}")
print(f"class of the nearest latent right for {accuracy:.1%} of them")
