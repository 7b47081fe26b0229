"""
============================================================
``KernelDensityClassifier``: classes from the latent density
============================================================

On a good map each class has its own region. :class:`twofold.KernelDensityClassifier` assigns a
place to the class with the largest share of the density there, with one bandwidth for all
classes. It needs only the latents, and returns probabilities. This example fits it to the latents
of :class:`twofold.UKR`, draws the class borders, and looks at the digits that it gets wrong.
"""

# %%
# Handwritten digits, half for the fit and half for the test. The kernel of ``UKR`` has width 1, so
# ``bandwidth=1.0`` suits its latents.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twofold import UKR, KernelDensityClassifier
from twofold.plotting import ClassBordersDisplay, DecodedGridDisplay

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=500, test_size=500, random_state=0, stratify=y
)

model = UKR(init="isomap", random_state=0).fit(X)
classifier = KernelDensityClassifier(bandwidth=1.0).fit(model.embedding_, y)
Z_new = model.transform(X_new)
print(f"right for {classifier.score(Z_new, y_new):.1%} of {len(y_new)} new digits")

# %%
# Both maps
# ---------
# Left: latents of new digits and the borders between classes. Right: decoded places.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
display = ClassBordersDisplay.from_estimator(model, classifier, Z_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=24, ax=right)
display.legend_.set(loc="upper left", bbox_to_anchor=(1.0, 1.0))
left.set_title("new digits and class borders")
right.set_title("decoded places")
plt.show()

# %%
# How certain is a prediction?
# ----------------------------
# ``predict_proba`` is the share of the density of each class. If it is calibrated, digits with a
# share near one are more often right than the others.

shares = classifier.predict_proba(Z_new)
predicted = classifier.classes_[shares.argmax(axis=1)]
certainty = shares.max(axis=1)
for low, high in ((0.0, 0.9), (0.9, 0.99), (0.99, 1.01)):
    chosen = (certainty >= low) & (certainty < high)
    right = np.mean(predicted[chosen] == y_new[chosen])
    print(f"share from {low:.2f} to {min(high, 1):.2f}: {right:.1%} of {chosen.sum()} right")

# %%
# The errors with the highest certainty, and their reconstructions, which show why the digits are
# taken for others.

wrong = np.flatnonzero(predicted != y_new)
wrong = wrong[np.argsort(-certainty[wrong])][:10]
pairs = np.stack([X_new[wrong], model.reconstruct(X_new[wrong])])
figure, axes = plt.subplots(2, 10, figsize=(11, 2.8), layout="constrained")
for ax, image in zip(axes.ravel(), pairs.reshape(-1, 8, 8), strict=False):
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=16)
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])
for ax, row in zip(axes[0], wrong, strict=False):
    ax.set_title(f"{y_new[row]}, taken for {predicted[row]}", fontsize=8)
axes[0, 0].set_ylabel("new")
axes[1, 0].set_ylabel("reconstructed")
plt.show()
