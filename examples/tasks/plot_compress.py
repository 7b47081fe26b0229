"""
A smaller model for a known error
=================================

`UKR` keeps all training rows. ``compress`` replaces them by prototypes and reports what that costs
on rows that are left out. The figure compares this estimate with the error of fresh rows.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from twofold import UKR

X = load_digits().data
train, fresh = X[::2], X[1::2]
model = UKR(init="pca", homotopy=False, random_state=0).fit(train)
whole = 1 - model.score(fresh)

numbers = [25, 50, 100, 200, 400]
models = [model.compress(number) for number in numbers]
for small in models:
    print(small.compression_)

# %%
# Errors with prototypes, as multiples of the error with all rows: estimated and on fresh rows.
estimated = [small.compression_.ratio for small in models]
true = [(1 - small.score(fresh)) / whole for small in models]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
left.plot(numbers, estimated, "o--", color="#4269d0", label="estimated by compress")
left.plot(numbers, true, "s-", color="#ff725c", label="on fresh rows")
left.axhline(1.0, color="#777777", linewidth=1)
label = f"all {len(train)} rows"
left.annotate(label, (25, 1.0), (0, 4), textcoords="offset points", color="#555555")
left.set(xscale="log", xlabel="prototypes", ylabel="error, times that of all rows")
left.set_xticks(numbers, [str(number) for number in numbers])
left.minorticks_off()
left.legend(frameon=False)

# %%
# The prototypes lie where the rows lie.
right.scatter(*model.embedding_.T, s=6, color="#cccccc", label="rows")
right.scatter(*models[2].embedding_.T, s=22, color="#4269d0", label="100 prototypes")
right.set(xlabel="latent 1", ylabel="latent 2", title="Latent space")
right.legend(frameon=False, loc="upper left")
right.set_aspect("equal", "datalim")
plt.show()

# %%
# Fewer prototypes make a smaller model.
sizes = np.array([small.compression_.n_bytes for small in models]) / 1e6
print(dict(zip(numbers, sizes.round(2).tolist(), strict=True)))
