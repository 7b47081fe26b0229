"""The Swiss roll of 1,000 points from defective starts (Figs. 4-6 and 8)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.manifold import Isomap

from benchmarks.harness.machine import is_installed
from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rivals import EPOCHS, autoencoded
from benchmarks.papers.statistics import median, summary
from twofold import DRUR, UKR
from twofold.datasets import make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.protocols import Array
from twofold.starts.initializers import laplacian_eigenmaps

SEEDS = range(5)
PAPER: dict[str, Any] = {
    "n_centers": 30,
    "alpha": 1e-5,
    "down_weight": 3.0,
    "max_iter": 100,
    "tol": 1e-3,
}
"""30 basis functions, lambda and 100 iterations as in Figs. 4-6.

In the paper latents and data have one unit: the sheet's variance is three times the roll's.
"""

RIVALS_CLAIMS = {
    20: "“also works well with stdev 20”",
    60: "“completely loses it at stdev 60”",
}
NO_GPLVM = "the Gaussian process latent variable model is not part of this library"


def _noisy(seed: int, stdev: float, noise: float = 0.0) -> tuple[Array, Array, Array]:
    """Return the roll, the sheet, and the sheet with noise, which is the start."""
    X, sheet = make_swiss_roll(1000, noise, random_state=seed)
    return X, sheet, sheet + stdev * np.random.default_rng(seed).standard_normal(sheet.shape)


def _drur(X: Array, start: Array, seed: int, **setting: Any) -> Array:
    options = PAPER | {"init": start, "random_state": seed, "n_jobs": 1} | setting
    Z: Array = DRUR(**options).fit(X).embedding_
    return Z


def _ukr(X: Array, start: Array, seed: int, *, homotopy: bool = False) -> Array:
    model = UKR(
        2, init=start, homotopy=homotopy, tol=1e-4, pseudo_count=0.03, random_state=seed, n_jobs=1
    ).fit(X)
    Z: Array = model.embedding_
    return Z


def _roll_run(task: tuple[int, int, bool]) -> dict[str, Any]:
    seed, stdev, quick = task
    X, sheet, start = _noisy(seed, stdev)
    Z = {"start": start, "DRUR": _drur(X, start, seed)}
    if stdev == 60:
        Z["DRUR, 70 RBFs"] = _drur(X, start, seed, n_centers=70)
    if is_installed("torch"):
        epochs = 200 if quick else EPOCHS
        Z["autoencoder"] = autoencoded(X, start, 70, seed, epochs=epochs)
    return {"R2": {name: procrustes_r2(sheet, one) for name, one in Z.items()}, "latents": Z}


def roll(quick: bool, folder: Path) -> Outcome:
    """Figs. 4 and 6: latent noise of stdev 10 to 60, beside a 70-2-70 autoencoder."""
    seeds = list(SEEDS)[: 2 if quick else None]
    stdevs = (10, 20, 40, 60)
    tasks = [(seed, stdev, quick) for stdev in stdevs for seed in seeds]
    runs = dict(zip(tasks, in_processes(_roll_run, tasks), strict=True))
    claims = {
        10: ("Fig. 6, row 1: recovered", 0.95),
        20: ("“perfectly recovers the Swiss roll with stdev 20”", 0.95),
        40: ("“increasingly show defects”", 0.8),
        60: ("“still able to recover the global ordering up to stdev 60”", 0.8),
    }
    rows, numbers = [], {}
    for stdev in stdevs:
        here = [runs[seed, stdev, quick]["R2"] for seed in seeds]
        numbers[str(stdev)] = {name: summary([one[name] for one in here]) for name in here[0]}
        middle = {name: one["median"] for name, one in numbers[str(stdev)].items()}
        rival = middle.get("autoencoder")
        rival_said = "no PyTorch, no autoencoder" if rival is None else f"autoencoder {rival:.2f}"
        words, bound = claims[stdev]
        for name in [name for name in middle if name.startswith("DRUR")]:
            rows.append(
                Row(
                    f"latent noise of {stdev}, {'30' if name == 'DRUR' else '70'} RBFs: R², median",
                    words,
                    middle[name],
                    "higher",
                    bound=bound,
                    beside=f"start {middle['start']:.2f}, {rival_said}",
                )
            )
        if rival is not None and stdev in RIVALS_CLAIMS:
            words = f"latent noise of {stdev}, the rival, autoencoder 70-2-70: R², median"
            rows.append(Row(words, RIVALS_CLAIMS[stdev], rival))

    def paint(figure: Any) -> None:
        first = [runs[seeds[0], stdev, quick] for stdev in stdevs]
        names = list(first[0]["R2"])
        axes = figure.subplots(len(names), len(stdevs), squeeze=False)
        sheet = _noisy(seeds[0], 0.0)[1]
        for (row, name), (column, stdev) in product(enumerate(names), enumerate(stdevs)):
            ax, one = axes[row, column], first[column]
            ax.scatter(*one["latents"][name].T, c=sheet[:, 0], s=4)
            title = f"{name}, noise {stdev}: R² {one['R2'][name]:.3f}"
            ax.set_title(title, fontsize=8)
            ax.set(xticks=[], yticks=[])

    pictures = draw(folder / "roll.png", "starts and results (Fig. 6)", (12, 7.5), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def _regularization_run(task: tuple[int, float, int, int]) -> float:
    seed, alpha, n_centers, stdev = task
    X, sheet, start = _noisy(seed, stdev)
    return procrustes_r2(sheet, _drur(X, start, seed, alpha=alpha, n_centers=n_centers))


def regularization(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Fig. 4: vary lambda, the number of basis functions and the noise; UKR from the same start."""
    seeds = list(SEEDS)[: 1 if quick else 3]
    alphas, stdevs = (1e-5, 1e-3, 1e-1), (5, 10)
    centers = (30, 90) if quick else (30, 60, 90)
    tasks = list(product(seeds, alphas, centers, stdevs))
    found = dict(zip(tasks, in_processes(_regularization_run, tasks), strict=True))

    def of(alpha: float) -> list[float]:
        return [r2 for (_, weight, _, _), r2 in found.items() if weight == alpha]

    X, sheet, start = _noisy(seeds[0], 10)
    before = procrustes_r2(sheet, start)
    ukr = procrustes_r2(sheet, _ukr(X, start, seeds[0]))
    small = of(1e-5)
    rows = [
        Row(
            "R² at λ = 0.1 minus that at λ = 1e-5, medians",
            "“Large λ leads to smoother mappings and distorts the X”",
            median(of(1e-1)) - median(small),
            "lower",
            bound=0.0,
            beside=f"R² at 1e-5, 1e-3, 0.1: {', '.join(f'{median(of(a)):.3f}' for a in alphas)}",
        ),
        Row(
            "range of R² at λ = 1e-5 over 30 to 90 basis functions and noise of 5 and 10",
            "“little difference over the number of basis functions and the noise level”",
            max(small) - min(small),
            "lower",
            bound=0.05,
        ),
        Row(
            "UKR from the start with noise of 10: gain in R²",
            "“UKR and GPLVM both failed with this noisy initial X”",
            ukr - before,
            note=f"Ours is another UKR than theirs; {NO_GPLVM}.",
            beside=f"start {before:.3f}, DRUR {found[seeds[0], 1e-5, 30, 10]:.3f}",
        ),
    ]
    numbers = {f"seed {s}, λ {a:g}, {m} RBFs, noise {d}": r for (s, a, m, d), r in found.items()}
    return Outcome(rows=rows, numbers=numbers | {"UKR": ukr, "start": before}, seeds=seeds)


def _restart_run(task: tuple[str, int, bool]) -> dict[str, Any]:
    """Start DRUR and UKR from Laplacian eigenmaps of a roll or Isomap of a roll with a hole."""
    kind, seed, with_homotopy = task
    if kind == "hole":
        X, sheet = make_swiss_roll(791, hole=True, random_state=seed)
        start = Isomap(n_neighbors=5).fit_transform(X)  # the usual graph, as in the paper
    else:
        X, sheet = make_swiss_roll(1000, random_state=seed)
        start = laplacian_eigenmaps(X, 2, np.random.default_rng(seed), n_neighbors=10)
    Z = {"start": start, "DRUR": _drur(X, start, seed), "UKR": _ukr(X, start, seed)}
    if with_homotopy:
        Z["UKR, homotopy"] = _ukr(X, start, seed, homotopy=True)
    found = {name: procrustes_r2(sheet, one) for name, one in Z.items()}
    return {"R2": found, "latents": Z, "sheet": sheet}


def _restarted(kind: str, quick: bool) -> tuple[list[int], list[dict[str, Any]], dict[str, Any]]:
    seeds = list(SEEDS)[: 2 if quick else None]
    homotopy = kind == "laplacian" and not quick
    runs = in_processes(_restart_run, [(kind, seed, homotopy) for seed in seeds])
    numbers = {name: [run["R2"][name] for run in runs] for name in runs[0]["R2"]}
    return seeds, runs, numbers


def _paint_latents(figure: Any, run: dict[str, Any]) -> None:
    shown = {"truth": run["sheet"]} | run["latents"]
    for ax, (name, Z) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        ax.scatter(*Z.T, c=run["sheet"][:, 0], s=4)
        r2 = f": R² {run['R2'][name]:.3f}" if name in run["R2"] else ""
        ax.set(title=f"{name}{r2}", xticks=[], yticks=[])


def laplacian(quick: bool, folder: Path) -> Outcome:
    """Fig. 5: from Laplacian eigenmaps."""
    seeds, runs, numbers = _restarted("laplacian", quick)
    middle = {name: median(values) for name, values in numbers.items()}
    beside = f"start {middle['start']:.3f}, UKR {middle['UKR']:.3f}"
    rows = [
        Row(
            "R² from Laplacian eigenmaps, median",
            "“practically uniformizes the X”",
            middle["DRUR"],
            "higher",
            bound=0.95,
            beside=beside,
        ),
        Row(
            "UKR from the same: R², median",
            "“UKR and GPLVM barely improve upon the initial X”",
            middle["UKR"],
            note=f"Ours is another UKR than theirs; {NO_GPLVM}.",
        ),
    ]
    if "UKR, homotopy" in middle:
        words = "“UKR can also be trained with a homotopy algorithm but this failed”"
        rows.append(Row("UKR by homotopy: R², median", words, middle["UKR, homotopy"]))
    pictures = draw(
        folder / "laplacian.png",
        "Fig. 5, one roll",
        (13, 3.6),
        lambda figure: _paint_latents(figure, runs[0]),
    )
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def hole(quick: bool, folder: Path) -> Outcome:
    """Fig. 8: Swiss roll with a hole, n = 791, from Isomap with five neighbors."""
    seeds, runs, numbers = _restarted("hole", quick)
    lost = {name: 1.0 - np.array(values) for name, values in numbers.items()}
    cut = 1.0 - lost["DRUR"] / lost["start"]
    ukr = 1.0 - lost["UKR"] / lost["start"]
    rows = [
        Row(
            "1 - R² cut by, median",
            "“goes a long way to recovering the true X”",
            float(np.median(cut)),
            "higher",
            bound=0.25,
            beside=f"UKR {np.median(ukr):.2f}",
            note="Isomap's own R² is "
            f"{median(numbers['start']):.3f}, DRUR's {median(numbers['DRUR']):.3f}.",
        ),
        Row("rolls that are better than by Isomap", None, f"{int((cut > 0).sum())} of {len(cut)}"),
        Row(
            "UKR: 1 - R² cut by, median",
            "“UKR and GPLVM barely improve it, or even worsen it”",
            float(np.median(ukr)),
            note=f"Ours is another UKR than theirs; {NO_GPLVM}.",
        ),
    ]
    pictures = draw(
        folder / "hole.png",
        "Fig. 8, one roll",
        (13, 3.6),
        lambda figure: _paint_latents(figure, runs[0]),
    )
    return Outcome(rows=rows, numbers=numbers | {"cut": cut}, pictures=pictures, seeds=seeds)


def _turns_run(task: tuple[int, int]) -> tuple[float, int]:
    seed, turns = task
    X, sheet, start = _noisy(seed, 10, noise=0.5)
    options: dict[str, Any] = {"n_centers": 30, "alpha": 1e-5, "random_state": seed, "n_jobs": 1}
    model = DRUR(init=start, max_iter=turns, **options).fit(X)
    return procrustes_r2(sheet, model.embedding_), int(model.n_iter_)


def noisy_roll(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Follow R² over the iterations: data noise 0.5, latent noise 10, defaults otherwise."""
    seeds = list(SEEDS)[: 2 if quick else None]
    most = (1, 2, 4, 8, 16, 50)
    tasks = [(seed, turns) for seed in seeds for turns in most]
    found = dict(zip(tasks, in_processes(_turns_run, tasks), strict=True))
    at = {turns: median(found[seed, turns][0] for seed in seeds) for turns in most}
    rows = [
        Row(
            "R² at the end minus that after two turns, medians",
            "“pDRUR's result barely changes after the first 2 iterations”",
            abs(at[50] - at[2]),
            "lower",
            bound=0.02,
            beside="R² after " + ", ".join(f"{turns}: {r2:.3f}" for turns, r2 in at.items()),
        ),
        Row("R² at the end, data noise of 0.5, median", None, at[50]),
    ]
    numbers = {f"at most {turns} turns": [found[s, turns] for s in seeds] for turns in most}
    return Outcome(rows=rows, numbers=numbers, seeds=seeds)
