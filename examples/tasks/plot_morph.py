"""
=============================
Morph from one row to another
=============================

There is a path on the manifold between two rows: encode both, walk from one latent to the other,
and decode each step. A straight line between the rows themselves leaves the manifold; for images
it is a crossfade. This example uses images of a rotating digit, so that the true frames are
known. The manifold is a circle, which is the domain of :class:`twofold.PrincipalManifold` here.
"""

# %%
# A handwritten four, rotated by 200 random angles, with noise. The model does not know the angles.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate, zoom
from sklearn.datasets import load_digits

from twofold import PrincipalManifold
from twofold.plotting import LatentMapDisplay

SIDE = 22
upright = np.pad(zoom(load_digits().images[4], 2, order=1), 3)


def rotated(angles):
    return np.stack([rotate(upright, angle, reshape=False, order=1).ravel() for angle in angles])


rng = np.random.default_rng(0)
angles = rng.uniform(0, 360, 200)
X = rotated(angles) + rng.standard_normal((200, SIDE * SIDE))
model = PrincipalManifold(domain="circle", n_nodes=30, alpha=1e-4, random_state=0).fit(X)
kept = model.score(rotated(np.arange(0, 360, 7)))
print(f"variance kept on clean images at other angles: {kept:.3f}")

# %%
# From one image to another
# -------------------------
# Both ends are new. On a circle there are two paths; ``(b - a + 1) % 2 - 1`` gives the shorter one,
# because 1 and -1 are the same place.

first, last, n_frames = 20.0, 130.0, 9
(a,), (b,) = model.transform(rotated([first, last]))
way = (b - a + 1) % 2 - 1
steps = np.linspace(0, 1, n_frames)
path = (a + steps * way + 1) % 2 - 1
ends = rotated([first, last])

frames = {
    "true rotation": rotated(first + steps * (last - first)),
    "along the manifold": model.inverse_transform(path[:, None]),
    "crossfade": (1 - steps[:, None]) * ends[0] + steps[:, None] * ends[1],
}
figure, axes = plt.subplots(3, n_frames, figsize=(12, 4.2), layout="constrained")
for line, (name, rows) in zip(axes, frames.items(), strict=True):
    for ax, row in zip(line, rows, strict=True):
        ax.imshow(row.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name.replace(" the ", " the\n"), rotation=0, ha="right", va="center")
plt.show()

# %%
# How good are the frames?
# ------------------------
# Left: the circle of latents colored by the true angles, and the path in black. Right: the distance
# of each frame from the true rotation. A crossfade is exact at its ends and far off in the middle.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
LatentMapDisplay.from_estimator(model, X, angles, ax=left, cmap="hsv", label_name="true angle")
left.plot(
    0.88 * np.cos(np.pi * path), 0.88 * np.sin(np.pi * path), "o-", color="black", markersize=5
)
for name in ("along the manifold", "crossfade"):
    distances = np.linalg.norm(frames[name] - frames["true rotation"], axis=1)
    right.plot(first + steps * (last - first), distances, "o-", label=name)
    print(f"{name:18} mean distance of a frame from the true rotation: {distances.mean():.1f}")
right.set(xlabel="angle", ylabel="distance from the true rotation", ylim=(0, None))
right.legend()
plt.show()
