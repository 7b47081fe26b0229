"""
=========================================
Which features make this place different?
=========================================

A map shows which rows are alike. It does not show why. A model with both maps can say it: which
features move a row on the map, which change along a path, and which separate two groups. This
example maps 178 wines of three growers by 13 chemical measurements, and looks for the measurements
that shape the map. The growers are not part of the fit.
"""

# %%
# Columns have units as different as per cent and milligrams, so they are scaled within the model.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from twofold import UKR
from twofold.plotting import FeatureArrowsDisplay, LatentMapDisplay, PathFeaturesDisplay

X, grower = load_wine(as_frame=True, return_X_y=True)
X = X.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
X.columns = X.columns.str.replace("_", " ")
model = UKR(scale="standard", random_state=0).fit(X)
found = model.explain(X)
print(found)

# %%
# Arrows on the map
# -----------------
# An arrow points to where a feature grows, for the two strongest features at each of seven places.
# Color intensity shapes the left of the map, proline and alcohol the right.

FeatureArrowsDisplay.from_estimator(model, X, n_places=7)

# %%
# The strongest features of a few wines, one by one:

print(found.per_row(3).iloc[[0, 80, 150]].to_string(float_format="{:.2f}".format))

# %%
# Along a path
# ------------
# A straight path on the map from the middle of the first grower's wines to that of the last, and
# the features that change most along it. Flavanoids fall slowly; proline and alcohol fall early,
# and color intensity rises late.

Z = model.transform(X)
start, end = (np.median(Z[grower == number], axis=0) for number in (0, 2))
path = np.linspace(start, end, 60)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(12, 4.5), layout="constrained", width_ratios=(1.3, 1)
)
LatentMapDisplay.from_estimator(model, labels=grower, ax=left)
left.plot(*path.T, color="black", linewidth=2)
PathFeaturesDisplay.from_estimator(model, path, n_features=8, ax=right)
plt.show()

# %%
# Between two groups
# ------------------
# What separates the wines of the first and the second grower, in standard deviations, with 95 %
# intervals. Features whose interval contains 0 are gray.

apart = model.explain_difference(X[grower == 0], X[grower == 1])
print(apart)

table = apart.to_frame()[::-1]
clear = (table.low > 0) | (table.high < 0)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.hlines(table.feature, table.low, table.high, color=np.where(clear, "#332288", "#bbbbbb"))
ax.scatter(table.difference, table.feature, color=np.where(clear, "#332288", "#bbbbbb"))
ax.axvline(0, color="#bbbbbb", linewidth=1, zorder=0)
ax.set_xlabel("first grower less second grower, in standard deviations")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
