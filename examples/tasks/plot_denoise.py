"""
=======
Denoise
=======

Noise moves rows off the manifold; ``reconstruct`` moves them back. The model is fitted to noisy
rows, because clean ones are usually not available, and is judged on new rows whose clean form is
known here. The rival is PCA with the number of components that is best in hindsight.
"""

# %%
# In the plane
# ------------
# A noisy spiral. Each new row moves to the curve that :class:`twofold.UKR` found in other noisy
# rows.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from twofold import DRUR, UKR
from twofold.datasets import make_noisy_spiral
from twofold.plotting import ManifoldDisplay

X, _ = make_noisy_spiral(300, noise=0.07, random_state=0)
X_new, _ = make_noisy_spiral(200, noise=0.07, random_state=1)
truth, _ = make_noisy_spiral(4000, noise=0.0, random_state=2)

curve = UKR(n_components=1, init="isomap:6", max_iter=20, random_state=0).fit(X)
denoised = curve.reconstruct(X_new)


def distance_to_truth(rows):
    """Root mean square distance to the nearest point of the spiral without noise."""
    return np.sqrt(((rows[:, None] - truth) ** 2).sum(axis=2).min(axis=1).mean())


figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
ManifoldDisplay.from_estimator(curve, ax=axes[0])
axes[0].scatter(*X_new.T, s=12, color="C1", zorder=3)
axes[0].add_collection(LineCollection(np.stack([X_new, denoised], axis=1), color="0.6"))
axes[1].scatter(*truth.T, s=1, color="0.8")
axes[1].scatter(*denoised.T, s=12, color="C0")
axes[0].set_title(f"new rows: {distance_to_truth(X_new):.3f} from the truth")
axes[1].set_title(f"denoised: {distance_to_truth(denoised):.3f}")
axes[1].set_xlabel("feature 1")
for ax in axes:
    ax.set_aspect("equal")
plt.show()

# %%
# Images
# ------
# Digits with Gaussian noise of a quarter of their range. Eight latent dimensions and a few centers
# cannot follow the noise.

clean, _ = load_digits(return_X_y=True)
clean, clean_new = train_test_split(clean, train_size=1000, test_size=300, random_state=0)
rng = np.random.default_rng(0)
noisy = clean + 4 * rng.standard_normal(clean.shape)
noisy_new = clean_new + 4 * rng.standard_normal(clean_new.shape)


def error(rows):
    """Mean squared error of a pixel of the new digits."""
    return np.mean((rows - clean_new) ** 2)


model = DRUR(n_components=8, init="isomap", n_centers=100, random_state=0).fit(noisy)
by_manifold = model.reconstruct(noisy_new)

by_pca = {}
for n_components in range(2, 31):
    pca = PCA(n_components, random_state=0).fit(noisy)
    by_pca[n_components] = pca.inverse_transform(pca.transform(noisy_new))
best = min(by_pca, key=lambda n_components: error(by_pca[n_components]))

versions = {
    "clean": clean_new,
    "noisy": noisy_new,
    f"PCA, {best} components": by_pca[best],
    "DRUR, 8 latents": by_manifold,
}
for name, rows in versions.items():
    print(f"{name:18} mean squared error {error(rows):5.2f}")

# %%
figure, axes = plt.subplots(4, 12, figsize=(11, 4.2), layout="constrained")
for line, (name, rows) in zip(axes, versions.items(), strict=True):
    for ax, row in zip(line, rows, strict=False):
        ax.imshow(row.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name.replace(", ", ",\n"), rotation=0, ha="right", va="center")
plt.show()

# %%
# The gain over PCA depends on the curvature of the data and on the noise. More latent dimensions
# follow more of the noise, so the score on held-out noisy rows keeps increasing with their number.
# Without clean rows, take the smallest number beyond which it increases little.
