"""
=========================================================
``AgglomerativeIsomap``: path lengths, also across pieces
=========================================================

Isomap lays rows out so that distances on the map are path lengths in a graph of nearest neighbours. With many neighbours the graph
short-cuts the folds of the data; with few it falls into pieces. :class:`twofold.AgglomerativeIsomap` (Orsenigo & Vercellis 2012) takes few, joins
the pieces at their closest points, and says so in a warning. Kernel ridge regression takes new rows down, and a second one takes
latents back up. This example maps digits whose graph is in pieces, lets the elbow of the residual variances choose the
dimension, and measures what more dimensions would keep.
"""

# %%
# Four classes of digits. With five neighbours, no path leads from some to the others.

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
    model = AgglomerativeIsomap("auto", n_neighbors=5).fit(X)
print("warning:", *(warning.message for warning in caught))
print(f"pieces: {model.n_pieces_}, dimensions by the elbow: {model.embedding_.shape[1]}")

# %%
# Both maps
# ---------
# Left: new digits are taken down. Right: a grid of places is taken up.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
LatentMapDisplay.from_estimator(model, X_new, y_new, ax=left)
DecodedGridDisplay.from_estimator(model, image_shape=(8, 8), n_side=22, ax=right)
left.set_title("down: new digits")
right.set_title("up: what places look like")
plt.show()

# %%
# How many dimensions?
# --------------------
# The residual variance is the share of the path lengths' variance that the map's distances do not explain. It judges the picture:
# from its elbow on, more dimensions hardly tell more about path lengths. It does not judge how well rows are rebuilt, and the
# map that shows path lengths best need not rebuild best: held-out rows tell.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
ResidualVarianceDisplay.from_estimator(model, ax=left)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the pieces again
    models = [AgglomerativeIsomap(n, n_neighbors=5).fit(X) for n in (1, 2, 4)]
ResidualVarianceDisplay.from_estimators(models, X_new, ax=right)
left.set_title("path lengths")
right.set_title("new digits, down and up")
plt.show()

for fitted in models:
    print(
        f"{fitted.n_components} dimensions: {fitted.score(X_new):.3f} of the new digits' variance kept"
    )
