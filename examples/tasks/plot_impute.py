"""
=================
Fill gaps in rows
=================

``impute`` fills the missing cells (NaN) of rows and leaves all others as they are. It combines the
nearest training rows, the cells that vary together, and the manifold, and returns how uncertain
each value is. This example fills spectra, which lie on a smooth surface, and digits, which do so
only roughly, and compares the errors with those of means and of scikit-learn's ``KNNImputer``.
"""

# %%
# Spectra
# -------
# A peak and its overtone with variable place and width: two numbers determine 48 channels, up to
# noise. The training rows are complete; in new rows half of the channels are missing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer
from sklearn.model_selection import train_test_split

from twofold import DRUR
from twofold.plotting import LatentMapDisplay

rng = np.random.default_rng(0)
channels = np.linspace(0, 1, 48)


def spectra(n_samples):
    place = rng.uniform(0.15, 0.45, (n_samples, 1))
    width = rng.uniform(0.03, 0.09, (n_samples, 1))
    peaks = np.exp(-0.5 * ((channels - place) / width) ** 2)
    peaks += 0.6 * np.exp(-0.5 * ((channels - 2 * place) / width) ** 2)
    return peaks + 0.02 * rng.standard_normal(peaks.shape)


def compare(rows, gaps, training, filled):
    """Root mean square errors in the gaps."""
    with_gaps = np.where(gaps, np.nan, rows)
    versions = {
        "training means": np.where(gaps, training.mean(axis=0), rows),
        "KNNImputer": KNNImputer().fit(training).transform(with_gaps),
        "impute": filled,
    }
    for name, version in versions.items():
        print(f"{name:14} {np.sqrt(np.mean((version - rows)[gaps] ** 2)):.3f}")
    return versions


X, X_new = spectra(300), spectra(100)
gaps = np.zeros(X_new.shape, bool)
for row, start in enumerate(rng.integers(0, 28, len(X_new))):
    gaps[row, start : start + 20] = True  # a band of channels
gaps |= rng.random(gaps.shape) < 0.2  # and some at random

model = DRUR(n_components=2, random_state=0).fit(X)
print(f"variance kept on complete new rows: {model.score(X_new):.3f}")
with_gaps = np.where(gaps, np.nan, X_new)
filled, std = model.impute(with_gaps, return_std=True)
versions = compare(X_new, gaps, X, filled)
within = np.abs(filled - X_new) <= 1.645 * std
print(f"missing cells within the 90 % intervals: {within[gaps].mean():.0%}")

# %%
# Gray marks the missing channels, blue the 90 % intervals. Right: the latents of rows with gaps,
# with lines to the latents of the complete rows.

figure, axes = plt.subplot_mosaic("aac;bbc", figsize=(12, 5.4), layout="constrained")
for ax, row in ((axes["a"], 3), (axes["b"], 11)):
    ax.fill_between(
        channels, 0, 1, gaps[row], color="0.9", transform=ax.get_xaxis_transform(), step="mid"
    )
    ax.plot(channels, X_new[row], color="black", linewidth=1, label="truth")
    ax.plot(channels, versions["KNNImputer"][row], "--", color="C1", label="KNNImputer")
    ax.plot(channels, filled[row], color="C0", label="impute")
    low, high = filled[row] - 1.645 * std[row], filled[row] + 1.645 * std[row]
    ax.fill_between(channels, low, high, color="C0", alpha=0.3, linewidth=0)
    ax.set_ylabel("intensity")
axes["a"].legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
axes["a"].tick_params(labelbottom=False)
axes["b"].set_xlabel("channel")
LatentMapDisplay.from_estimator(model, X_new, ax=axes["c"], scatter_kwargs={"s": 0})
Z, Z_true = model.transform(with_gaps), model.transform(X_new)
axes["c"].plot(*np.stack([Z, Z_true], axis=2).transpose(1, 2, 0), color="C0", linewidth=1)
axes["c"].scatter(*Z.T, s=14, color="C0", zorder=3)
axes["c"].set_title("latents of rows with gaps,\nlines to complete rows")
plt.show()

# %%
# Digits
# ------
# Digits form clusters, and no surface of a few dimensions is close to all of them. The nearest rows
# and the cells that vary together do most of the work here.

X, X_new = train_test_split(load_digits().data, train_size=700, test_size=150, random_state=0)
gaps = rng.random(X_new.shape) < 0.4
model = DRUR(n_components=8, init="isomap", n_centers=100, random_state=0).fit(X)
print(f"variance kept on complete new rows: {model.score(X_new):.3f}")
filled = model.impute(np.where(gaps, np.nan, X_new))
versions = compare(X_new, gaps, X, filled)

# %%
figure, axes = plt.subplots(4, 12, figsize=(11, 4.2), layout="constrained")
pictures = {"truth": X_new, "given": np.where(gaps, np.nan, X_new)}
pictures |= {"KNNImputer": versions["KNNImputer"], "impute": filled}
paper = plt.get_cmap("gray_r").with_extremes(bad="#f4a582")
for line, (name, rows) in zip(axes, pictures.items(), strict=True):
    for ax, row in zip(line, rows, strict=False):
        ax.imshow(row.reshape(8, 8), cmap=paper, vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()
