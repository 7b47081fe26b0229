"""
===================================================
Draw the boundary of a support vector machine
===================================================

A support vector machine separates classes by a hyperplane in the feature space of its kernel.
:class:`twofold.UKR` with the same kernel fits a manifold in the same space. Points of that manifold
have no exact pre-image, but the machine needs only their inner products with the support vectors:

.. math:: \\langle \\phi(x), f(z) \\rangle = \\sum_j b_j(z) \\, k(x, x_j),

Meinicke et al. (2005), Eq. (16), which ``kernel_inner`` returns. So the decision function can be
drawn over the latent map, without any pre-image.
"""

# %%
# Handwritten digits "3" and "8": 64 pixels, scaled to [0, 1]. The machine and the manifold share
# the Gaussian kernel. Its width is chosen for the machine, with labels, by cross-validation.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from twofold import UKR

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, (3, 8))
X, X_new, y, y_new = train_test_split(
    X[chosen] / 16.0, y[chosen], test_size=0.4, random_state=0, stratify=y[chosen]
)

search = GridSearchCV(SVC(kernel="rbf"), {"gamma": [0.01, 0.03, 0.1, 0.3], "C": [1.0, 10.0]}, cv=5)
machine = search.fit(X, y).best_estimator_
print(f"gamma={machine.gamma}, accuracy on new digits {machine.score(X_new, y_new):.3f}")

model = UKR(metric="rbf", metric_params={"gamma": machine.gamma}, random_state=0).fit(X)

# %%
# The decision function on the manifold
# -------------------------------------
# ``<w, f(z)> + b`` is a combination of inner products with the support vectors.


def decision_on_manifold(Z):
    inner = model.kernel_inner(machine.support_vectors_, Z)
    return (machine.dual_coef_ @ inner)[0] + machine.intercept_[0]


Z, Z_new = model.embedding_, model.transform(X_new)
agree = np.mean((decision_on_manifold(Z_new) > 0) == (machine.decision_function(X_new) > 0))
print(f"the manifold's points lie on the side of their digits for {agree:.1%} of new digits")

# %%
# The boundary is the contour at 0, the margins those at -1 and 1. Places of low density are left
# out: nothing supports the manifold there.

low, high = Z.min(axis=0) - 1.0, Z.max(axis=0) + 1.0
first, second = np.meshgrid(*(np.linspace(a, b, 150) for a, b in zip(low, high, strict=True)))
places = np.column_stack([first.ravel(), second.ravel()])
values = decision_on_manifold(places)
values[model.log_density(places) < model.log_density_threshold_ - 2.0] = np.nan
values = values.reshape(first.shape)

figure, ax = plt.subplots(figsize=(7.5, 6), layout="constrained")
filled = ax.contourf(first, second, values, levels=21, cmap="RdBu", vmin=-2.5, vmax=2.5)
ax.contour(first, second, values, levels=[-1.0, 0.0, 1.0], colors="k", linestyles=[":", "-", ":"])
for digit, marker in ((3, "o"), (8, "^")):
    ax.plot(*Z_new[y_new == digit].T, marker, ms=4, mfc="none", color="k", label=f"new {digit}")
ax.set_title("decision function of the machine, over the latent map")
ax.legend()
figure.colorbar(filled, ax=ax, label="decision function")
plt.show()
