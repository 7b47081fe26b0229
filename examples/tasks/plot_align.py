"""
============================================
Align two maps: the other half of a picture
============================================

Two tables measure the same things with different features: here the left and the right halves of
handwritten digits. Two maps that are fitted separately have nothing to do with each other. ``fit``
with ``align_to`` places the second map in the frame of the first one. A row of one table then has a
place on both maps, and decodes as a row of the other table.
"""

# %%
# Both tables have other columns, and the rows of the second one are in another order. Of 1,000
# pictures the pairs of halves are known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from twofold import UKR, align

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order].reshape(-1, 8, 8), y[order]
left, right = X[:, :, :4].reshape(-1, 32), X[:, :, 4:].reshape(-1, 32)

known, new = slice(0, 1000), slice(1000, None)
shuffled = np.random.default_rng(1).permutation(1000)
pairs = np.stack([np.arange(1000), shuffled], axis=1)  # row of the right table, row of the left

map_of_left = UKR(random_state=0).fit(left[known])
map_of_right = UKR(random_state=0)
map_of_right.fit(right[shuffled], align_to=map_of_left, shared=pairs)
print(map_of_right.alignment_)

# %%
# The right half is decoded at the place of the left half
# -------------------------------------------------------
# The model has seen neither half of these pictures. Where the left half does not tell, as for the
# upper arc of a 5 or 6, the decoder returns an average.

places = map_of_left.transform(left[new])
guessed = map_of_right.inverse_transform(places)

fig, axes = plt.subplots(3, 12, figsize=(9, 2.6), layout="constrained")
for column in range(12):
    row = [np.flatnonzero(y[new] == digit)[0] for digit in [*range(10), 2, 5]][column]
    if column >= 10:
        row = np.flatnonzero(y[new] == [2, 5][column - 10])[1]
    seen = left[new][row].reshape(8, 4)
    for line, half in enumerate([np.zeros((8, 4)), guessed[row].reshape(8, 4), None]):
        whole = X[new][row] if half is None else np.hstack([seen, half])
        axes[line, column].imshow(whole, cmap="gray_r", vmin=0, vmax=16)
        axes[line, column].axvline(3.5, color="tab:orange", linewidth=1)
for ax, name in zip(axes[:, 0], ["seen", "decoded", "true"], strict=True):
    ax.set_ylabel(name)
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])

# %%
# Three ways to put the second map beside the first
# --------------------------------------------------
# Separate fits disagree. :func:`twofold.align` moves the second map as a whole, which changes no
# error, but neighbor maps of different tables differ by more than a rotation. The fit with
# ``align_to`` begins at the places of the first map, and pulls shared rows that leave them.

alone = UKR(random_state=0).fit(right[shuffled])
moved = align([map_of_left, alone], pairs)[1]

models = {"of the left halves": map_of_left, "right, moved": moved, "right, aligned": map_of_right}
fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    labels = y[known] if model is map_of_left else y[known][shuffled]
    ax.scatter(*model.embedding_.T, c=labels, cmap="tab10", s=5)
    ax.set(title=name, xticks=[], yticks=[], aspect="equal")

# %%
# The price is the error of new right halves that go through their own map:

for name, model in {"alone": alone, "aligned": map_of_right}.items():
    print(f"{name}: {1.0 - model.score(right[new]):.3f} of the variance is lost")
plt.show()
