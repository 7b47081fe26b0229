"""
====================================
A pipeline that ends in a classifier
====================================

Estimators are scikit-learn transformers: they work in pipelines, with ``clone``, searches and
cross-validation. This example puts :class:`twofold.DRUR` before a classifier and lets
``GridSearchCV`` choose the number of latent dimensions by the accuracy of the whole pipeline. It
compares raw pixels and PCA on digits that no search has seen. The latents can also be plotted and
decoded.
"""

# %%
# Digits for the search, and others for the test.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from twofold import DRUR
from twofold.plotting import ClassBordersDisplay

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=400, test_size=400, random_state=0, stratify=y
)

dimensions = [1, 2, 5]
reducers = {
    "DRUR": DRUR(init="isomap", n_centers=50, random_state=0),
    "PCA": PCA(random_state=0),
}
searches = {}
for name, reducer in reducers.items():
    pipeline = Pipeline([("reduce", reducer), ("classify", KNeighborsClassifier())])
    searches[name] = GridSearchCV(pipeline, {"reduce__n_components": dimensions}, cv=3).fit(X, y)

# %%
# How many latent dimensions?
# ---------------------------

raw = KNeighborsClassifier().fit(X, y).score(X_new, y_new)
for name, search in searches.items():
    chosen = search.best_params_["reduce__n_components"]
    accuracy = search.score(X_new, y_new)
    print(f"{name:4}: {chosen} latents chosen, {accuracy:.1%} of the new digits right")
    low = search.estimator.set_params(reduce__n_components=2).fit(X, y)
    print(f"{name:4}: 2 latents, {low.score(X_new, y_new):.1%} right")
print(f"64 raw pixels: {raw:.1%} right")

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for (name, search), marker in zip(searches.items(), "os", strict=True):
    results = search.cv_results_
    ax.errorbar(
        dimensions,
        results["mean_test_score"],
        results["std_test_score"],
        marker=marker,
        capsize=3,
        label=f"{name}, then nearest neighbors",
    )
ax.axhline(raw, color="0.5", linestyle=":", label="raw pixels, new digits")
ax.set(xlabel="latent dimensions", ylabel="cross-validated accuracy", xticks=dimensions)
ax.legend(loc="lower right")
plt.show()

# %%
# Two latent dimensions
# ---------------------
# The same pipeline with two latent dimensions: the regions of the classifier, and misclassified
# digits with their reconstructions. ``pipeline["reduce"]`` gives access to both maps.

# sphinx_gallery_thumbnail_number = 2
pipeline = searches["DRUR"].estimator  # fitted with two latents above
model, classifier = pipeline["reduce"], pipeline["classify"]
Z_new = model.transform(X_new)
predicted = classifier.predict(Z_new)
wrong = np.flatnonzero(predicted != y_new)[:6]
rebuilt = model.inverse_transform(Z_new[wrong])

figure, axes = plt.subplot_mosaic(
    [["map", *(f"{row}{i}" for i in range(3))] for row in "abcd"],
    width_ratios=[4.5, 1, 1, 1],
    figsize=(11, 5.6),
    layout="constrained",
)
display = ClassBordersDisplay.from_estimator(
    model, classifier, Z_new, y_new, n_grid=80, ax=axes["map"]
)
display.legend_.set(loc="upper left", bbox_to_anchor=(1.0, 1.0))
axes["map"].set_title("new digits and regions of the classifier")
for number, row in enumerate(wrong):
    upper, lower = ("a", "b") if number < 3 else ("c", "d")
    axes[f"{upper}{number % 3}"].set_title(f"{y_new[row]}, taken for {predicted[row]}", fontsize=9)
    axes[f"{upper}{number % 3}"].imshow(X_new[row].reshape(8, 8), cmap="gray_r")
    axes[f"{lower}{number % 3}"].imshow(rebuilt[number].reshape(8, 8), cmap="gray_r")
    axes[f"{lower}{number % 3}"].set_title("reconstructed", fontsize=9)
for name, ax in axes.items():
    if name != "map":
        ax.set(xticks=[], yticks=[])
plt.show()
