"""
==============================================
``AutoTwoWay``: the best method for your table
==============================================

No method is best for all tables. :class:`twofold.AutoTwoWay` lets methods race on held-out rows and
fits the winner. This example races on a bent sheet and on flat, noisy data: the winners differ, and
the second one is PCA.
"""

# %%
# A sheet bent in space
# ---------------------
# ``effort="fast"`` compares on at most 500 rows. The report lists the methods, the winner first.
# The score is minus the mean of the logarithms of two errors: that of rows that are encoded and
# decoded, and that of rows whose latents are rounded to 64 codewords.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from twofold import AutoTwoWay
from twofold.datasets import make_s_curve
from twofold.plotting import LatentMapDisplay

X, places = make_s_curve(500, noise=0.02, random_state=0)
sheet = AutoTwoWay(effort="fast", random_state=0).fit(X)
print(sheet.report_)

# %%
# Flat data with noise
# --------------------
# Nothing bends here. No method is better than PCA, so the model is linear, and a warning says so.

rng = np.random.default_rng(0)
basis = rng.standard_normal((2, 6))
latents = rng.standard_normal((500, 2))
F = latents @ basis + 0.3 * rng.standard_normal((500, 6))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    flat = AutoTwoWay(effort="fast", random_state=0).fit(F)
print(f"winner: {flat.method_}")
print(caught[-1].message)

# %%
# Both maps, whatever the method
# ------------------------------
# Pictures, pages, model files and ONNX take the model like the estimator that won,
# ``best_estimator_``.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
LatentMapDisplay.from_estimator(sheet, labels=places[:, 0], ax=axes[0])
LatentMapDisplay.from_estimator(flat, labels=latents[:, 0], ax=axes[1])
axes[0].set_title(f"sheet: {sheet.method_}")
axes[1].set_title(f"flat: {flat.method_}")
plt.show()

# %%
# The race in a picture
# ---------------------
# Scores of all methods; the darker bar won. Where scores are about equal, the cheaper and smoother
# method wins.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
for ax, model, name in zip(axes, (sheet, flat), ("sheet", "flat"), strict=True):
    rows = list(model.report_)[::-1]
    colors = ["#332288" if row["method"] == model.method_ else "#88CCEE" for row in rows]
    ax.barh([row["method"] for row in rows], [row["score"] for row in rows], color=colors)
    ax.set(title=name, xlabel="score on held-out rows")
plt.show()
