"""
==========================
Find rows off the manifold
==========================

A row can be unusual in two ways. It may lie off the manifold: ``reconstruction_error`` is large.
Or it may lie on the manifold where there are no data: ``log_density`` at its latent is low. This
example shows both on a sheet with a hole. It then measures how well they detect digits of a class
that is missing from the training rows, compared with the reconstruction error of PCA and an
isolation forest.
"""

# %%
# Two ways to be unusual
# ----------------------
# A sheet bent to an S, with a hole. Some new rows are usual, some are lifted off the sheet, and
# some lie on it but in the hole.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import train_test_split

from twofold import DRUR, UKR
from twofold.datasets import make_s_curve
from twofold.plotting import LatentMapDisplay

rng = np.random.default_rng(0)


def sheet_and_hole(n_samples, seed):
    X, sheet = make_s_curve(n_samples, random_state=seed)
    place = (sheet - sheet.min(axis=0)) / np.ptp(sheet, axis=0)
    in_hole = (abs(place - 0.5) < (0.1, 0.25)).all(axis=1)
    return X[~in_hole], X[in_hole]


X, _ = sheet_and_hole(1000, seed=0)
usual, in_hole = sheet_and_hole(1000, seed=1)
usual, in_hole = usual[:200], in_hole[:60]
lifted = usual[:60] + 0.15 * rng.standard_normal((60, 3))

model = DRUR(n_centers=40, init="isomap", random_state=0).fit(X)
kinds = {"usual": usual, "lifted off": lifted, "in the hole": in_hole}
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
LatentMapDisplay.from_estimator(model, ax=left, scatter_kwargs={"s": 0})
for (name, rows), color, marker in zip(kinds.items(), ("0.5", "C1", "C0"), "osD", strict=True):
    Z = model.transform(rows)
    left.scatter(*Z.T, s=14, color=color, marker=marker, label=name)
    right.scatter(
        model.log_density(Z), model.reconstruction_error(rows), s=14, color=color, marker=marker
    )
left.set_title("places on the map")
left.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))
right.set(xlabel="log density", ylabel="distance to the manifold", yscale="log")
right.set_title("density and distance")
plt.show()

# %%
# A class missing from the training rows
# --------------------------------------
# Nine classes for the fit, eights among the new digits. A high score should mean an eight. All
# methods see the same training rows and no eight; PCA has the number of components that is best in
# hindsight.

digits, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(
    digits, y, train_size=600, test_size=400, random_state=0, stratify=y
)
X, is_eight = X[y != 8], y_new == 8

plane = UKR(init="isomap", random_state=0).fit(X)
space = DRUR(n_components=8, init="isomap", n_centers=100, random_state=0).fit(X)
scores = {
    "UKR, 2 latents: distance": plane.reconstruction_error(X_new),
    "UKR, 2 latents: density": -plane.log_density(plane.transform(X_new)),
    "DRUR, 8 latents: distance": space.reconstruction_error(X_new),
    "DRUR, 8 latents: density": -space.log_density(space.transform(X_new)),
    "isolation forest": -IsolationForest(random_state=0).fit(X).score_samples(X_new),
}
by_pca = {}
for n_components in (2, 5, 8, 12, 16, 20, 30, 40):
    pca = PCA(n_components, random_state=0).fit(X)
    rebuilt = pca.inverse_transform(pca.transform(X_new))
    by_pca[f"PCA, {n_components} components: distance"] = np.linalg.norm(X_new - rebuilt, axis=1)
best = max(by_pca, key=lambda name: roc_auc_score(is_eight, by_pca[name]))
scores[best] = by_pca[best]

for name, values in scores.items():
    print(f"{name:30} ROC AUC {roc_auc_score(is_eight, values):.3f}")

# %%
# In two dimensions the projection places every row among the others, so the density says little and
# the distance nearly everything. In eight dimensions both are informative.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for name, values in scores.items():
    style = {"linestyle": ":" if "density" in name else "-"}
    RocCurveDisplay.from_predictions(is_eight, values, name=name, ax=left, curve_kwargs=style)
left.legend(fontsize=8, loc="lower right")
left.set(
    title="eights among the other digits", xlabel="usual digits flagged", ylabel="eights flagged"
)
bins = np.linspace(5, 45, 41)
distance = scores["UKR, 2 latents: distance"]
right.hist(distance[~is_eight], bins, density=True, color="0.7", label="digits of known classes")
right.hist(
    distance[is_eight],
    bins,
    density=True,
    histtype="step",
    color="C3",
    linewidth=2,
    label="eights",
)
right.set(title="distances to the manifold of UKR", xlabel="distance", ylabel="share of rows")
right.legend()
plt.show()
