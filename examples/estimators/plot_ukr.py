"""
======================================================
``UKR``: latents that predict each row from the others
======================================================

Unsupervised kernel regression (Meinicke et al. 2005) starts from a spectral embedding and moves the latents until
each row is predicted well by the *other* rows. That leave-one-out error guards against following the noise, so
no smoothing parameter is left to set. This example lays a curve through a noisy spiral, shows both maps of
:class:`twofold.UKR`, and measures how far the curve is from the truth, which is known here.
"""

# %%
# A spiral of two whorls, with noise. No straight line comes near it. ``max_iter=20`` ends the descent early: with many more iterations
# even a leave-one-out error follows the noise a little.

import matplotlib.pyplot as plt
import numpy as np

from twofold import UKR
from twofold.datasets import make_noisy_spiral
from twofold.plotting import CandidatesDisplay, LatentMapDisplay, ManifoldDisplay

X, angle = make_noisy_spiral(300, random_state=0)
X_new, angle_new = make_noisy_spiral(200, random_state=1)

model = UKR(n_components=1, max_iter=20, random_state=0).fit(X)
print(f"best start {model.init_!r}, leave-one-out error {model.cv_error_:.4f}")
print(f"variance kept on a fresh sample: {model.score(X_new):.4f}")

# %%
# Both maps
# ---------
# Up: the dark curve is what the latents decode to. Down: each new row has a place along the curve, drawn as
# a strip. Colours are the true position along the spiral, of which the model knows nothing.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
ManifoldDisplay.from_estimator(model, ax=left)
left.scatter(*X_new.T, c=angle_new, s=14)
left.set_aspect("equal")
LatentMapDisplay.from_estimator(model, X_new, angle_new, ax=right, label_name="true angle")
left.set_title("up: the curve through the data")
right.set_title("down: places of new rows")
plt.show()

# %%
# How close to the truth?
# -----------------------
# A fine sample without noise stands for the true spiral. New rows are moved towards it by the way down and up.

truth, _ = make_noisy_spiral(5000, noise=0.0, random_state=2)


def distance_to_truth(rows):
    return np.sqrt(((rows[:, None] - truth) ** 2).sum(axis=2).min(axis=1).mean())


print(
    f"root mean square distance to the true spiral: new rows {distance_to_truth(X_new):.4f}, ",
    end="",
)
print(f"the same rebuilt {distance_to_truth(model.reconstruct(X_new)):.4f}")

# %%
# The start matters
# -----------------
# A descent ends in the minimum next to its start. ``init="auto"`` compares these, each at its best scale, and goes on from the
# best. Where you know which one is right, say ``init="isomap"`` and save the time of the others.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
CandidatesDisplay.from_estimator(model, ax=ax)
plt.show()
