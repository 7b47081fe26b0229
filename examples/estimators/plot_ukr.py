"""
======================================================
``UKR``: latents that predict each row from the others
======================================================

Unsupervised kernel regression (Meinicke et al. 2005) starts from a spectral embedding and moves
the latents until each row is predicted well by the *other* rows. This leave-one-out error does
not follow the noise, so there is no smoothing parameter. This example fits a curve to a noisy
spiral, shows both maps of :class:`twofold.UKR`, and measures the distance of the curve from the
known truth.
"""

# %%
# A noisy spiral with two turns. ``max_iter=20`` stops the descent early: after many more iterations
# even a leave-one-out error follows the noise a little.

import matplotlib.pyplot as plt
import numpy as np

from twofold import UKR
from twofold.datasets import make_noisy_spiral
from twofold.plotting import CandidatesDisplay, LatentMapDisplay, ManifoldDisplay

X, angle = make_noisy_spiral(300, random_state=0)
X_new, angle_new = make_noisy_spiral(200, random_state=1)

model = UKR(n_components=1, max_iter=20, random_state=0).fit(X)
print(f"best initialization {model.init_!r}, leave-one-out error {model.cv_error_:.4f}")
print(f"variance kept on a fresh sample: {model.score(X_new):.4f}")

# %%
# Both maps
# ---------
# Left: the dark curve is the decoded latent space. Right: the places of new rows along the curve,
# drawn as a strip. Colors show the true position along the spiral, which the model does not know.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
ManifoldDisplay.from_estimator(model, ax=left)
left.scatter(*X_new.T, c=angle_new, s=14)
left.set_aspect("equal")
LatentMapDisplay.from_estimator(model, X_new, angle_new, ax=right, label_name="true angle")
left.set_title("decoded curve")
right.set_title("encoded new rows")
plt.show()

# %%
# Distance from the truth
# -----------------------
# A dense sample without noise represents the true spiral. Reconstruction moves new rows towards it.

truth, _ = make_noisy_spiral(5000, noise=0.0, random_state=2)


def distance_to_truth(rows):
    return np.sqrt(((rows[:, None] - truth) ** 2).sum(axis=2).min(axis=1).mean())


print(
    f"root mean square distance to the true spiral: new rows {distance_to_truth(X_new):.4f}, ",
    end="",
)
print(f"reconstructed {distance_to_truth(model.reconstruct(X_new)):.4f}")

# %%
# The initialization matters
# --------------------------
# A descent ends in the minimum near its start. ``init="auto"`` compares these initializations, each
# at its best scale, and continues from the best. If you know the right one, set it, as in
# ``init="isomap"``, and save the time of the others.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
CandidatesDisplay.from_estimator(model, ax=ax)
plt.show()
