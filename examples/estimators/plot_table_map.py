"""
=================================================
``TableMap``: a map of a table with mixed columns
=================================================

Tables have numbers in different units, categories, ordered categories and dates. With
:class:`twofold.TableMap` they need no preparation: each column gets one unit, a two-way estimator
is fitted, and every place on the map decodes to a row with valid levels.
"""

# %%
# The wines of three cultivars: four measurements, the cultivar as text, and the strength as an
# ordered category.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from twofold import UKR, TableMap

wine = load_wine(as_frame=True)
frame = wine.data[["alcohol", "color_intensity", "flavanoids", "proline"]].copy()
frame["proline"] = frame["proline"].astype(int)
frame["cultivar"] = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
frame["strength"] = pd.cut(frame["alcohol"], [0, 12.5, 13.5, 20], labels=["low", "mid", "high"])

train, new = frame[::2], frame[1::2]
table = TableMap(UKR(smoothing=2.0, random_state=0)).fit(train)
for name, kind in table.kinds_.items():
    print(f"{name:16} {kind}")
print(f"variance kept on new wines: {table.score(new):.3f}")

# %%
# Rows of the table
# -----------------
# Decoding returns a frame of the same data types. New wines and their reconstructions agree in
# most cultivars.

print(table.reconstruct(new).head())
right = (table.reconstruct(new)["cultivar"] == new["cultivar"]).mean()
print(f"cultivars kept: {right:.1%}")

# %%
# Probabilities over the map
# --------------------------
# ``inverse_transform_proba`` returns the probability of each level. Left: the most probable
# cultivar over the map, fainter where it is less certain, and the new wines. Right: the decoded
# amount of proline.

Z = table.transform(new)
low, high = table.embedding_.min(axis=0), table.embedding_.max(axis=0)
axes_of_grid = [
    np.linspace(a - 0.1 * (b - a), b + 0.1 * (b - a), 80) for a, b in zip(low, high, strict=True)
]
grid = np.stack(np.meshgrid(*axes_of_grid), axis=-1)
places = grid.reshape(-1, 2)
chances = table.inverse_transform_proba(places)["cultivar"]
decoded = table.inverse_transform(places)

colors = {"Barbera": "tab:red", "Barolo": "tab:blue", "Grignolino": "tab:green"}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
best = chances.idxmax(axis=1)
image = np.array([plt.matplotlib.colors.to_rgba(colors[name]) for name in best])
image[:, 3] = 0.6 * (chances.max(axis=1) - 1 / 3) * 1.5
extent = (*axes_of_grid[0][[0, -1]], *axes_of_grid[1][[0, -1]])
left.imshow(image.reshape(80, 80, 4), origin="lower", extent=extent, aspect="auto")
for name, color in colors.items():
    own = (new["cultivar"] == name).to_numpy()
    left.scatter(*Z[own].T, s=18, color=color, label=name)
left.legend()
left.set_title("the probable cultivar, and new wines")
shown = right.imshow(
    decoded["proline"].to_numpy().reshape(80, 80), origin="lower", extent=extent, aspect="auto"
)
figure.colorbar(shown, ax=right, label="proline")
right.scatter(*Z.T, s=6, color="white")
right.set_title("decoded proline")
plt.show()
