"""
=============================================
``SNE``: neighbourhoods, by a guided descent
=============================================

Stochastic neighbour embedding gives every row probabilities of choosing the others as its neighbour, and looks for latents
with the same probabilities. From a random start, plain descent moves every latent on its own, and groups that belong together may end apart. Spectral
guidance (Memisevic & Hinton 2005) multiplies the gradient by a power of an affinity matrix, so that neighbours move together; the power
falls, and the end of the run is plain again. This example compares the two and shows both maps of :class:`twofold.SNE`.
"""

# %%
# The same random start, the same minimizer, without and with guidance. Usually you need not choose: guidance is on by default, and
# the start is PCA.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from twofold import SNE
from twofold.optimize import SpectralGuidance
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, LearningCurveDisplay

X, y = load_digits(n_class=6, return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=240, test_size=120, random_state=0, stratify=y)

settings = {"perplexity": 20, "init": "random", "max_iter": 100, "up": "nw", "down": "projection"}
ways = {"plain": None, "guided": SpectralGuidance()}
models = {}
for name, guidance in ways.items():
    fits = [SNE(guidance=guidance, random_state=seed, **settings).fit(X) for seed in range(3)]
    print(f"{name:6}: divergences from three random starts", [round(fit.kl_divergence_, 3) for fit in fits])
    models[name] = fits[0]

# %%
# What new digits say of the first of each:

for name, model in models.items():
    nearest = KNeighborsClassifier(1).fit(model.embedding_, y)
    print(
        f"{name:6}: variance kept on new digits {model.score(X_new):.3f}, "
        f"class of the nearest latent right for {nearest.score(model.transform(X_new), y_new):.1%}"
    )

# %%
# The descents
# ------------
# The curve is the plain divergence in both cases, also where the steps are guided.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
LearningCurveDisplay.from_estimators(models, ax=axes[0])
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    LatentMapDisplay.from_estimator(model, labels=y, ax=ax)
    ax.set_title(name)
axes[0].set_title("divergence")
plt.show()

# %%
# Both maps
# ---------
# New digits go down to the guided map; a grid of its places goes up.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
LatentMapDisplay.from_estimator(models["guided"], X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(models["guided"], image_shape=(8, 8), n_side=20, ax=right)
left.set_title("down: new digits")
right.set_title("up: what places look like")
plt.show()
