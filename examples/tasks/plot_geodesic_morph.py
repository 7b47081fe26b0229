"""
=====================================
Morph along the manifold, around gaps
=====================================

A straight line on a map crosses empty places, where a decoder makes up images that no row looks
like. ``geodesic`` returns the shortest path on the manifold that stays where data are. This example
morphs handwritten digits both ways, and draws the stretch of the map, which tells where the map is
torn.
"""

# %%
# A map of the digits 0 to 5.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from twofold import DRUR
from twofold.plotting import LatentMapDisplay, StretchDisplay

X, y = load_digits(n_class=6, return_X_y=True)
model = DRUR(random_state=0).fit(X)
Z = model.embedding_

# %%
# Two paths
# ---------
# From each of three rows to another, along a straight line and along the manifold. Two numbers tell
# how good a path is: the lowest density along it, relative to what 95 % of the rows have, and the
# mean distance of its frames from the nearest of all images.


def densest(digit):
    """Return the row of a digit where the map is densest."""
    rows = np.flatnonzero(y == digit)
    return rows[np.argmax(model.log_density(Z[rows]))]


pairs = [(5, 2), (3, 1), (4, 2)]
first = [densest(a) for a, _ in pairs]
last = [densest(b) for _, b in pairs]
n_frames = 11
paths = model.geodesic(Z[first], Z[last], n_points=n_frames)
steps = np.linspace(0, 1, n_frames)[:, None]
lines = [a + steps * (b - a) for a, b in zip(Z[first], Z[last], strict=True)]

usual = np.quantile(model.log_density(Z), 0.05)
for (a, b), *both in zip(pairs, lines, paths, strict=True):
    for name, path in zip(("straight", "geodesic"), both, strict=True):
        lowest = model.log_density(path).min() - usual
        frames = model.inverse_transform(path[1:-1])
        distance = np.linalg.norm(frames[:, None] - X, axis=2).min(axis=1).mean()
        print(f"{a} to {b} {name:9} lowest log density {lowest:6.1f}, distance {distance:5.1f}")

figure, axes = plt.subplots(6, n_frames, figsize=(10, 6), layout="constrained")
for number, (a, b) in enumerate(pairs):
    for line, (name, path) in enumerate([("straight", lines[number]), ("geodesic", paths[number])]):
        row = axes[2 * number + line]
        for ax, image, log_density in zip(
            row, model.inverse_transform(path), model.log_density(path), strict=True
        ):
            ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            ax.set(xticks=[], yticks=[])
            supported = log_density > usual
            ax.spines[:].set(
                color="0.7" if supported else "#cc3311", linewidth=1 if supported else 3
            )
        row[0].set_ylabel(f"{a} to {b}\n{name}", rotation=0, ha="right", va="center")
figure.suptitle("Red frames: places sparser than those of 95 % of the rows", fontsize=10)
plt.show()

# %%
# Where the paths run
# -------------------
# The geodesics (solid) keep to the gray bands, the straight lines (dashed) do not.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
LatentMapDisplay.from_estimator(model, labels=[str(digit) for digit in y], ax=ax)
for line, path in zip(lines, model.geodesic(Z[first], Z[last], n_points=100), strict=True):
    ax.plot(*line.T, "--", color="black", linewidth=1.2)
    ax.plot(*path.T, color="black", linewidth=2.2)
plt.show()

# %%
# Stretch
# -------
# Red regions of the map are long in the data, blue ones short: one unit of the map is up to four
# times as much in the ends as in the middle. Nothing is torn.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
stretch = StretchDisplay.from_estimator(model, X, ax=ax)
plt.show()
print(stretch.rows)
