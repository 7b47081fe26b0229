"""
=======================================
Take new rows in without a new map
=======================================

A map that people know should not be shuffled by tomorrow's rows. ``update`` takes new rows into a
fitted model: old rows keep their places, and the map grows where the new rows are new. Here some
digits arrive late. A table that tells how far the new rows have drifted comes with each update.
"""

# %%
# Batches of digits
# -----------------
# The first batch has no 4, no 7 and no 9. The second one has more of the same. In the third one, 4
# and 7 appear, and in the fourth one 9.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from twofold import UKR

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order], y[order]
test, X, y = X[1_500:], X[:1_500], y[:1_500]

early = np.flatnonzero(~np.isin(y, [4, 7, 9]))
batches = [
    early[:600],
    early[600:750],
    np.concatenate([early[750:900], np.flatnonzero(np.isin(y, [4, 7]))]),
    np.concatenate([early[900:], np.flatnonzero(y == 9)]),
]

# %%
# Updates
# -------
# After each update the picture has the rows so far. Colors are digits, which the model does not
# know; new rows have dark edges.

model = UKR(random_state=0)
figure, axes = plt.subplots(1, 4, figsize=(16, 4.6), layout="constrained", sharex=True, sharey=True)
reports, n_before = [], 0
for number, (rows, ax) in enumerate(zip(batches, axes, strict=True), start=1):
    if number == 1:
        model.fit(X[rows])
    else:
        model.update(X[rows])
        reports.append(model.update_report_)
    Z = model.embedding_
    seen = y[np.concatenate(batches[:number])]
    edges = np.where(np.arange(len(Z)) < n_before, "none", "0.1")
    ax.scatter(*Z.T, c=seen, cmap="tab10", vmin=0, vmax=9, s=14, edgecolors=edges, linewidths=0.5)
    for digit in np.unique(seen):
        middle = np.median(Z[seen == digit], axis=0)
        ax.annotate(
            str(digit),
            middle,
            fontsize=16,
            weight="bold",
            ha="center",
            va="center",
            bbox={
                "boxstyle": "round,pad=0.15",
                "facecolor": "white",
                "edgecolor": "none",
                "alpha": 0.7,
            },
        )
    ax.set(title=f"batch {number}: {len(rows)} rows", xticks=[], yticks=[], aspect="equal")
    n_before = len(Z)
plt.show()

# %%
# The reports
# -----------
# The second batch is like the first one. The others have new regions, which hold most of the late
# digits. Old rows have hardly moved: the shifts are shares of the diagonal of the map.

for number, report in enumerate(reports, start=2):
    print(
        f"batch {number}: {report.share_off:4.0%} off the old manifold, {report.n_regions} new "
        f"regions with {report.n_in_regions} rows, median shift {report.median_shift:.2%}, largest "
        f"{report.largest_shift:.2%}"
    )

# %%
# Beside a new fit
# ----------------
# The error of held-out rows of all digits is about that of one fit to all rows. But the new fit has
# another map: nothing is where it was.

once = UKR(random_state=0).fit(X[np.concatenate(batches)])
print(f"error after updates {1 - model.score(test):.3f}, of one fit {1 - once.score(test):.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for ax, Z, title in ((left, model.embedding_, "updated"), (right, once.embedding_, "fitted anew")):
    ax.scatter(*Z.T, c=y[np.concatenate(batches)], cmap="tab10", vmin=0, vmax=9, s=8)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
plt.show()
