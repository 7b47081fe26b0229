"""Linear maps: the loop gives the subspace of principal component analysis (section 2.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from benchmarks.papers.pdrur2010.literal import literal
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.statistics import median
from twofold import DRUR
from twofold.protocols import Array

SEEDS = range(3)
COUNTS = (1, 3, 10, 30, 100)


def _angle(model: DRUR, basis: Array) -> float:
    """Return the largest angle between the decoded plane and a subspace (q, D), in degrees."""
    corners = model.inverse_transform(np.vstack([np.zeros(2), np.eye(2)]))
    return float(np.degrees(subspace_angles((corners[1:] - corners[0]).T, basis.T).max()))


def linear(quick: bool, folder: Path) -> Outcome:
    """Start from random latents of the 8x8 digits, in units of the data."""
    seeds = list(SEEDS)[: 2 if quick else None]
    X = load_digits().data
    basis = PCA(2).fit(X).components_
    how: dict[str, Any] = {"up": "linear", "down": "linear", "alpha": 0.0}
    literals: dict[int, list[float]] = {count: [] for count in COUNTS}
    defaults = []
    for seed in seeds:
        start = X.std() * np.random.default_rng(seed).standard_normal((len(X), 2))
        for count in COUNTS:
            model = literal(X, start, seed, max_iter=count, **how)
            literals[count].append(_angle(model, basis))
        ours = DRUR(up="linear", down="linear", random_state=seed, n_jobs=1).fit(X)
        defaults.append(_angle(ours, basis))
    medians = {count: median(values) for count, values in literals.items()}
    row = Row(
        f"largest angle between the plane found and that of PCA, {COUNTS[-1]} iterations from "
        "random latents, degrees, median",
        "“If f and F are linear, pDRUR results in PCA”",
        medians[COUNTS[-1]],
        "lower",
        bound=1.0,
        default=median(defaults),
        beside="after " + ", ".join(f"{count}: {angle:.3g}" for count, angle in medians.items()),
        note="1,797 digits of 8x8 pixels. Defaults: DRUR(up='linear', down='linear').",
    )

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        ax.loglog(list(medians), list(medians.values()), "o-")
        ax.set(xlabel="iterations", ylabel="largest angle to PCA's plane, degrees")

    pictures = draw(folder / "linear.png", "linear maps approach PCA", (5, 3.4), paint)
    numbers = {"literal": literals, "default": defaults}
    return Outcome(rows=[row], numbers=numbers, pictures=pictures, seeds=seeds)
