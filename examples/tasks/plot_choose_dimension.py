"""
======================================
Choose the number of latent dimensions
======================================

With both maps a model has a score: the share of the variance of held-out rows that it keeps. Too
few latent dimensions lose much; beyond the right number, more gain little. This example lets
``GridSearchCV`` measure this for a bent sheet with six features, compares it with PCA, and
chooses the smallest model that is nearly as good as the best. The elbow of the path lengths,
which needs only one fit, is a second opinion.
"""

# %%
# The sheet has two dimensions. Bent to an S it fills three features; three more hold noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from twofold import DRUR, AgglomerativeIsomap
from twofold.datasets import make_s_curve
from twofold.plotting import ResidualVarianceDisplay

X, sheet = make_s_curve(500, noise=0.03, n_features=6, random_state=0)
dimensions = [1, 2, 3, 4]
splits = ShuffleSplit(n_splits=3, test_size=0.2, random_state=0)

# %%
# Grid search
# -----------
# ``GridSearchCV`` maximizes ``score``. The maximum alone does not choose a dimension: every further
# latent also describes some noise, so the score keeps increasing. Take the smallest model within
# half a percent of the variance; ``refit`` accepts such a rule.


def smallest_good_one(results):
    scores = np.asarray(results["mean_test_score"])
    return int(np.flatnonzero(scores >= scores.max() - 0.005)[0])  # the grid is in increasing order


estimator = DRUR(n_centers=30, init="isomap", random_state=0)
search = GridSearchCV(estimator, {"n_components": dimensions}, cv=splits, refit=smallest_good_one)
model = search.fit(X).best_estimator_
scores = np.stack([search.cv_results_[f"split{number}_test_score"] for number in range(3)], axis=1)
print(f"highest mean score: {dimensions[scores.mean(axis=1).argmax()]} latents")
print(f"smallest within half a percent of it: {model.n_components} latents")

# %%
# PCA on the same splits needs one more component, because it cannot straighten the S.
# (``ResidualVarianceDisplay.from_data`` computes the fits and the curve of one estimator in one
# call.)

by_pca = np.empty((len(dimensions), 3))
for column, (train, test) in enumerate(splits.split(X)):
    variance = ((X[train] - X[train].mean(axis=0)) ** 2).sum(axis=1).mean()
    for row, n_components in enumerate(dimensions):
        pca = PCA(n_components, random_state=0).fit(X[train])
        rebuilt = pca.inverse_transform(pca.transform(X[test]))
        by_pca[row, column] = ((X[test] - rebuilt) ** 2).sum(axis=1).mean() / variance

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
curve = ResidualVarianceDisplay(dimensions, 1 - scores, chosen=model.n_components)
curve.plot(ax=left, label="DRUR")
pca_style = {"color": "C1", "linestyle": "--"}
ResidualVarianceDisplay(dimensions, by_pca).plot(ax=left, label="PCA", line_kwargs=pca_style)
left.set(title="held-out reconstruction", ylim=(0, 1.05 * by_pca.max()))

isomap = AgglomerativeIsomap("auto", n_neighbors=8, graph="knn").fit(X)
ResidualVarianceDisplay.from_estimator(isomap, ax=right)
right.set_title("path lengths: the elbow of Isomap")
plt.show()

for n_components, ours, theirs in zip(
    dimensions, 1 - scores.mean(axis=1), by_pca.mean(axis=1), strict=True
):
    print(f"{n_components} latents: held-out variance lost {ours:.4f} (DRUR), {theirs:.4f} (PCA)")
print(f"elbow of the path lengths: {isomap.embedding_.shape[1]} dimensions")

# %%
# The chosen model
# ----------------
# Encoded and decoded new rows. Colors show the true place along the S.

X_new, sheet_new = make_s_curve(400, noise=0.03, n_features=6, random_state=1)
Z_new = model.transform(X_new)
figure = plt.figure(figsize=(11, 4.4), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
space.scatter(*model.inverse_transform(Z_new)[:, :3].T, c=sheet_new[:, 0], s=8)
space.set_box_aspect((2, 2, 4))
space.set(xticks=[-1, 0, 1], yticks=[0, 1, 2])
space.view_init(elev=12, azim=-75)
space.set_title("reconstructed new rows, three of six features")
ax = figure.add_subplot(1, 2, 2)
ax.scatter(Z_new[:, 0], Z_new[:, 1], c=sheet_new[:, 0], s=8)
ax.set(title="their latents", xlabel="latent 1", ylabel="latent 2", aspect="equal")
plt.show()
