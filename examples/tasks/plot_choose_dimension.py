"""
==============================
Choose the number of latents
==============================

Both maps make a score possible: rows that the model has not seen go down and up, and the share of their variance that is lost says how good
it is. With too few latents much is lost; from the right number on, more latents buy little. This example draws that
curve for a rolled-up sheet in eight columns, beside PCA's, and lets scikit-learn's ``GridSearchCV`` choose by the same score. The
elbow of the path lengths, which needs no repeated fits, is a second opinion.
"""

# %%
# The sheet has two dimensions; rolled up it fills three columns, and five more hold noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from twofold import DRUR, AgglomerativeIsomap
from twofold.datasets import make_swiss_roll
from twofold.plotting import ResidualVarianceDisplay

X, sheet = make_swiss_roll(800, noise=0.2, n_features=8, random_state=0)
dimensions = [1, 2, 3, 4]

# %%
# A curve of held-out losses
# --------------------------
# ``ResidualVarianceDisplay.from_data`` fits a clone for each number and each random split. Beside it PCA on the same kind of split: it needs three
# components, since it cannot unroll.

estimator = DRUR(n_centers=40, init="isomap", random_state=0)
splits = ShuffleSplit(n_splits=3, test_size=0.2, random_state=0)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
display = ResidualVarianceDisplay.from_data(estimator, X, dimensions, ax=left, label="DRUR")
by_pca = np.empty((len(dimensions), 3))
for column, (train, test) in enumerate(splits.split(X)):
    variance = ((X[train] - X[train].mean(axis=0)) ** 2).sum(axis=1).mean()
    for row, n_components in enumerate(dimensions):
        pca = PCA(n_components, random_state=0).fit(X[train])
        rebuilt = pca.inverse_transform(pca.transform(X[test]))
        by_pca[row, column] = ((X[test] - rebuilt) ** 2).sum(axis=1).mean() / variance
pca_style = {"color": "C1", "linestyle": "--"}
ResidualVarianceDisplay(dimensions, by_pca).plot(ax=left, label="PCA", line_kwargs=pca_style)
left.set(yscale="log", title="new rows, down and up")

isomap = AgglomerativeIsomap("auto", n_neighbors=8).fit(X)
ResidualVarianceDisplay.from_estimator(isomap, ax=right)
right.set_title("path lengths: the elbow of Isomap")
plt.show()

for n_components, ours, theirs in zip(dimensions, np.mean(display.residuals, axis=1), by_pca.mean(axis=1), strict=True):
    print(f"{n_components} latents: DRUR loses {ours:.4f}, PCA {theirs:.4f} of the held-out variance")
print(f"elbow of the path lengths: {isomap.embedding_.shape[1]} dimensions")

# %%
# By a search
# -----------
# ``score`` is what ``GridSearchCV`` maximises, so other settings can be chosen along with the dimension. The best mean may belong to a larger
# model that is hardly better. The usual remedy is the smallest model within one standard error of the best.

search = GridSearchCV(estimator, {"n_components": dimensions}, cv=splits)
search.fit(X)
mean = search.cv_results_["mean_test_score"]
error = search.cv_results_["std_test_score"] / np.sqrt(splits.get_n_splits())
good = mean >= mean.max() - error[mean.argmax()]
print(f"best mean score: {search.best_params_['n_components']} latents")
print(f"smallest within one standard error: {np.array(dimensions)[good].min()} latents")

# %%
# Down and up with two
# --------------------
# What the choice is good for: with two latents the sheet lies flat.

model = DRUR(n_components=2, n_centers=40, init="isomap", random_state=0).fit(X)
figure = plt.figure(figsize=(11, 4.4), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
space.scatter(*model.reconstruct(X)[:, :3].T, c=sheet[:, 0], s=8)
space.view_init(elev=18, azim=-75)
space.set_title("up: rows rebuilt from two latents")
ax = figure.add_subplot(1, 2, 2)
ax.scatter(*model.transform(X).T, c=sheet[:, 0], s=8)
ax.set(title="down: latents", xlabel="latent 1", ylabel="latent 2", aspect="equal")
plt.show()
