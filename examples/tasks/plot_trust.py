"""
============================================
Find errors in a table, and see what is sure
============================================

A model knows how far it can be trusted. This example plants four errors in a table of wines, fits
two models to the table with the errors in it, and finds them by ``outlier_scores``. It then shows
which digits have uncertain places on a map, and how sure decoded pixels are.
"""

# %%
# Errors in a table
# -----------------
# A swapped unit, a sign error, a value far out, and two values that are usual alone but not
# together.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine

from twofold import DRUR, UKR, TwoWay

wine = load_wine(as_frame=True)
table = wine.data.copy()
table.loc[20, "alcohol"] /= 10
table.loc[70, "proline"] *= -1
table.loc[110, "ash"] = 9.0
table.loc[150, ["flavanoids", "total_phenols"]] = 0.4, 3.8
planted = {20: "swapped unit", 70: "sign error", 110: "far out", 150: "unusual together"}

models = {
    "UKR": UKR(init="isomap", scale="standard", random_state=0),
    "DRUR": DRUR(init="isomap", scale="standard", random_state=0),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(table)
    errors, scores = model.reconstruction_error(table), model.outlier_scores(table)
    ax.scatter(errors, scores, s=14, color="0.7")
    for number, (row, kind) in enumerate(planted.items()):
        ax.scatter(errors[row], scores[row], s=45, color=f"C{number}", label=kind)
    ax.axhline(2.0, color="0.3", linewidth=0.8, linestyle="--")
    ax.annotate("one usual row in a hundred", (0.5, 2.1), ha="center", fontsize=8,
                xycoords=("axes fraction", "data"))  # fmt: skip
    ax.set(title=name, xlabel="distance to the manifold")
    ranks = np.argsort(np.argsort(-scores)) + 1
    print(name, {kind: int(ranks[row]) for row, kind in planted.items()})
axes[0].set_ylabel("outlier score: $-\\log_{10} p$")
axes[0].legend(loc="lower right", fontsize=8)
figure.suptitle("Models rebuild errors that they were fitted to; scores still find them")
plt.show()

# %%
# The distance to the manifold misses errors that the model was fitted to. Scores compare each row
# with a model that does not know it.
#
# Places and pixels
# -----------------
# Digits on a map of t-SNE with both maps. Circles show how far new digits move under errors that
# are usual at their place.

X, y = load_digits(return_X_y=True)
mixed = np.random.default_rng(0).permutation(len(X))  # the digits come writer by writer
X, y = X[mixed], y[mixed]
model = TwoWay("tsne", random_state=0).fit(X[:700])
Z, Z_std = model.transform(X[700:900], return_std=True)
decoded, std = model.inverse_transform(Z, return_std=True)
radius = np.linalg.norm(Z_std, axis=1)
order = np.argsort(-radius)

figure = plt.figure(figsize=(11, 5.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1.0))
ax = left.subplots()
ax.scatter(*model.embedding_.T, s=5, c=y[:700], cmap="tab10", alpha=0.4)
for center, length, label in zip(Z, radius, y[700:900], strict=True):
    ax.add_patch(plt.Circle(center, length, color=plt.cm.tab10(label), alpha=0.15, linewidth=0))
ax.scatter(*Z.T, s=12, c=y[700:900], cmap="tab10", edgecolor="k", linewidth=0.4)
for number, row in enumerate(order[:3]):
    ax.annotate("ABC"[number], Z[row], fontsize=13, weight="bold")
ax.set(
    title="places of 200 new digits, and how sure they are", xticks=[], yticks=[], aspect="equal"
)
panels = right.subplots(4, 3)
for number, (name, row) in enumerate(
    zip(("A", "B", "C", "sure"), [*order[:3], order[-1]], strict=True)
):
    for panel, image in zip(panels[number], (X[700 + row], decoded[row], std[row]), strict=True):
        panel.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        panel.set(xticks=[], yticks=[])
    panels[number, 0].set_ylabel(name)
for panel, title in zip(panels[0], ("digit", "decoded", "deviation"), strict=True):
    panel.set_title(title, fontsize=10)
plt.show()

# %%
# Intervals are calibrated on training rows, and hold for new rows.

within = np.abs(X[700:900] - decoded) <= 1.645 * std
print(f"cells of new digits within their 90 % intervals: {within.mean():.3f}")
print(f"new digits flagged at level 0.05: {model.predict_outlier(X[700:900]).mean():.3f}")
