"""
=================================================
``SupervisedIsomap``: labels separate the classes
=================================================

:class:`twofold.SupervisedIsomap` (Orsenigo & Vercellis 2012) shortens distances within classes
and lengthens distances between classes before it computes path lengths. It is designed for
pipelines with a classifier. Its map has seen the labels, so only held-out rows show whether
labels help. This example maps held-out wines with and without labels, cross-validates whole
pipelines, and decodes the center of each class.
"""

# %%
# Thirteen measurements of wines of three cultivars, in very different units: a scaler comes first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold.plotting import LatentMapDisplay

wine = load_wine()
cultivars = np.array(["A", "B", "C"])[wine.target]
X, X_new, y, y_new = train_test_split(
    wine.data, cultivars, test_size=0.4, random_state=0, stratify=cultivars
)

models = {
    "without labels": make_pipeline(StandardScaler(), AgglomerativeIsomap(n_neighbors=10)).fit(X),
    "with labels": make_pipeline(StandardScaler(), SupervisedIsomap(n_neighbors=10)).fit(X, y),
}

# %%
# Encoded held-out wines
# ----------------------

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    LatentMapDisplay.from_estimator(model, X_new, y_new, ax=ax)
    ax.set_autoscale_on(True)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(f"held-out wines, {name}")
plt.show()

# %%
# Does it help?
# -------------
# Cross-validate the whole pipeline, so that no label of a held-out row reaches the map. Labels do
# not always help: the user guide has ten tables, including those where raw data are better.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
for name, steps in {
    "raw data": (),
    "two latents, without labels": (AgglomerativeIsomap(n_neighbors=10),),
    "two latents, with labels": (SupervisedIsomap(n_neighbors=10),),
}.items():
    pipeline = make_pipeline(StandardScaler(), *steps, KNeighborsClassifier())
    scores = cross_val_score(pipeline, wine.data, cultivars, cv=folds)
    print(
        f"{name:28} {scores.mean():.1%} right, folds from {scores.min():.1%} to {scores.max():.1%}"
    )

# %%
# Decoded class centers
# ---------------------
# The median latent of each class is decoded to thirteen measurements. Bars show standard deviations
# from the mean of all wines; ``inverse_transform`` of the pipeline returns the units of the table.

model = models["with labels"]
Z = model.transform(X)
centers = np.stack([np.median(Z[y == cultivar], axis=0) for cultivar in "ABC"])
typical = model[-1].inverse_transform(centers)

figure, ax = plt.subplots(figsize=(11, 4.2), layout="constrained")
places = np.arange(typical.shape[1])
for number, (cultivar, row) in enumerate(zip("ABC", typical, strict=True)):
    ax.bar(places + 0.27 * (number - 1), row, 0.27, label=f"cultivar {cultivar}")
ax.axhline(0, color="black", linewidth=0.8)
names = [name.replace("_", " ").replace("/", "/\n") for name in wine.feature_names]
ax.set_xticks(places, names, rotation=45, ha="right")
ax.set_ylabel("standard deviations from the mean")
ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
plt.show()

for cultivar, row in zip("ABC", model.inverse_transform(centers), strict=True):
    alcohol, flavanoids = row[0], row[wine.feature_names.index("flavanoids")]
    print(f"cultivar {cultivar}: alcohol {alcohol:.1f} %, flavanoids {flavanoids:.2f}")
