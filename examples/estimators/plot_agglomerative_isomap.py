"""
=======================================================
``AgglomerativeIsomap``: path lengths across components
=======================================================

Isomap arranges rows so that distances on the map match path lengths in a neighborhood graph. With
many neighbors the graph takes shortcuts across folds; with few it falls into components.
:class:`twofold.AgglomerativeIsomap` (Orsenigo & Vercellis 2012) uses few neighbors, joins the
components at their closest points, and warns. One kernel ridge regression encodes new rows, a
second one decodes latents. This example maps digits whose graph has several components, chooses
the dimension by the elbow of the residual variances, and measures what more dimensions would
keep.
"""

# %%
# Four classes of digits. With five neighbors, the graph has no path between some of them.

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twofold import AgglomerativeIsomap
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay, ResidualVarianceDisplay

X, y = load_digits(n_class=4, return_X_y=True)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=500, test_size=200, random_state=0, stratify=y
)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = AgglomerativeIsomap("auto", n_neighbors=5, graph="knn").fit(X)
print("warning:", *(warning.message for warning in caught))
print(f"components: {model.n_pieces_}, dimensions by the elbow: {model.embedding_.shape[1]}")

# %%
# Both maps
# ---------
# Left: encoded new digits. Right: a decoded grid of places.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=22, ax=right)
left.set_title("encoded new digits")
right.set_title("decoded places")
plt.show()

# %%
# How many dimensions?
# --------------------
# The residual variance is the share of the variance of path lengths that distances on the map do
# not explain. Beyond its elbow, further dimensions explain little more. It does not measure
# reconstruction: the map that shows path lengths best need not reconstruct best, so check held-out
# rows.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
ResidualVarianceDisplay.from_estimator(model, ax=left)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the same warning
    models = [AgglomerativeIsomap(n, n_neighbors=5, graph="knn").fit(X) for n in (1, 2, 4)]
ResidualVarianceDisplay.from_estimators(models, X_new, ax=right)
left.set_title("path lengths")
right.set_title("reconstruction of new digits")
plt.show()

for fitted in models:
    kept = fitted.score(X_new)
    print(f"{fitted.n_components} dimensions keep {kept:.3f} of the variance of new digits")
