"""
===============================
Which parts of a map to believe
===============================

A map always shows something, also of noise. ``stability`` fits a method to many random parts of the
rows and compares where the maps put each row: rows that keep their neighbors are placed by the
data, others by chance. A map can also be cut or folded; ``stretch`` tells where.
"""

# %%
# Two sheets, and noise
# ---------------------
# Two sheets lie in planes of their own. Some rows are halfway between them and belong to neither,
# and the last table is noise without structure.

import matplotlib.pyplot as plt
import numpy as np

from twofold import TwoWay
from twofold.datasets import make_swiss_roll
from twofold.model_selection import stability
from twofold.plotting import StabilityDisplay, StretchDisplay

rng = np.random.default_rng(0)
sheets = np.zeros((300, 6))
sheets[:150, :2] = rng.uniform(-1, 1, (150, 2))
sheets[150:, 2:4] = rng.uniform(-1, 1, (150, 2))
sheets[150:, 4] = 4
between = 0.3 * rng.normal(size=(10, 6)) + [0, 0, 0, 0, 2, 0]
tables = {
    "two sheets, and rows between them": np.vstack([sheets, between]),
    "noise": rng.normal(size=(310, 10)),
}

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for ax, (name, X) in zip(axes, tables.items(), strict=True):
    model = TwoWay("tsne", up="nw", down="nw", random_state=0).fit(X)
    result = stability(model, X, n_resamples=6)
    StabilityDisplay(model.embedding_, result).plot(ax)
    ax.set_title(f"{name}: {result.score:.2f}")
    if name != "noise":
        ax.scatter(*model.embedding_[300:].T, s=60, facecolors="none", edgecolors="#cc3311")
        print(f"sheets {result.scores[:300].mean():.2f}, between {result.scores[300:].mean():.2f}")
plt.show()

# %%
# The result prints as a table, with the least stable rows and their intervals.

print(result)

# %%
# Where a map is cut
# ------------------
# A Swiss roll and its true sheet, as a map. Then the halves of the map change places: the middle of
# the roll is cut, and its ends are glued together. The up-map bridges the glued place, which is
# torn (hatched). The cut shows as a seam on both sides: neighbors in the data are far apart.

X, sheet = make_swiss_roll(1000, random_state=0)
sheet = sheet - sheet.min(axis=0)
long = np.argmax(np.ptp(sheet, axis=0))
wrong = sheet.copy()
length = sheet[:, long].max()
wrong[:, long] = np.mod(sheet[:, long] + length / 2, length)

figure, axes = plt.subplots(2, 1, figsize=(8, 8), layout="constrained")
for ax, (name, latents) in zip(axes, {"right": sheet, "cut": wrong}.items(), strict=True):
    model = TwoWay(latents, up="krr", down="projection", random_state=0).fit(X)
    display = StretchDisplay.from_estimator(model, X, ax=ax)
    ax.set_title(name)
    print(name, display.rows, sep="\n")
plt.show()
