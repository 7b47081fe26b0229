"""
=============================================
``PrincipalManifold``: a curve of known shape
=============================================

A rotation is a circle, a trajectory is a curve, two angles form a torus. If you know the shape,
specify it: :class:`twofold.PrincipalManifold` (Smola et al. 2001) fits a smooth map from such a
domain to the data, as close to all rows as its smoothness allows. This example fits a closed
curve, chooses its smoothness by held-out rows, and shows how a robust loss handles gross
outliers.
"""

# %%
# A closed curve with noise, and new rows of the same kind.

import matplotlib.pyplot as plt
import numpy as np

from twofold import PrincipalManifold
from twofold.plotting import CandidatesDisplay, LatentMapDisplay, ManifoldDisplay
from twofold.principal_manifold import CrossValidation


def flower(n_samples, noise, seed):
    """Points of a closed curve with three petals, and their angles."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, n_samples)
    radius = 1 + 0.35 * np.cos(3 * angle)
    curve = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return curve + noise * rng.standard_normal(curve.shape), angle


X, angle = flower(300, 0.06, seed=0)
X_new, angle_new = flower(200, 0.06, seed=1)

alpha = CrossValidation(rule="one_se")
model = PrincipalManifold(domain="circle", alpha=alpha, random_state=0).fit(X)
print(f"alpha by cross-validation: {model.alpha_:.2g}")
print(f"variance kept on new rows: {model.score(X_new):.4f}")

# %%
# Both maps
# ---------
# The curve is closed, and so is the latent space: 1 and -1 are the same place. Colors show the true
# angle.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
ManifoldDisplay.from_estimator(model, ax=left)
left.scatter(*X_new.T, c=angle_new, s=14, cmap="hsv")
left.set_aspect("equal")
LatentMapDisplay.from_estimator(
    model, X_new, angle_new, ax=right, cmap="hsv", label_name="true angle"
)
left.set_title("decoded closed curve")
right.set_title("encoded new rows around the circle")
plt.show()

# %%
# How smooth?
# -----------
# ``alpha`` weights smoothness against closeness. ``"cv"``, the default, compares ten values by
# held-out error. ``CrossValidation(rule="one_se")`` takes the stiffest curve that is not clearly
# worse than the best.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
CandidatesDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# Outliers
# --------
# A tenth of the rows are outliers. The squared loss pulls the curve towards them; the norm, which
# uses distances instead of their squares, is pulled less. The titles show the mean distance from
# the true curve.

rng = np.random.default_rng(2)
outliers = rng.uniform(-3, 3, (40, 2))
X_bad = np.concatenate([X[:260], outliers])
truth, _ = flower(4000, 0.0, seed=3)

figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
for ax, loss in zip(axes, ("squared", "norm"), strict=True):
    robust = PrincipalManifold(domain="circle", loss=loss, alpha=0.01, random_state=0).fit(X_bad)
    curve = robust.inverse_transform(np.linspace(-1, 1, 500)[:, None])
    away = np.sqrt(((truth[:, None] - curve) ** 2).sum(axis=2).min(axis=1)).mean()
    ax.plot(
        *truth[np.argsort(np.arctan2(truth[:, 1], truth[:, 0]))].T, "--", color="C1", label="truth"
    )
    ax.plot(*curve.T, color="black", label="fitted curve")
    ax.scatter(*X[:260].T, s=6, color="0.6")
    ax.scatter(*outliers.T, s=14, color="C3", marker="x", label="outliers")
    ax.set_title(f'loss="{loss}": {away:.3f} from the truth')
    ax.set_aspect("equal")
axes[0].legend(loc="lower left")
plt.show()
