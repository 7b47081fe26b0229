"""The Swiss roll of 1,000 points from noisy latents (Figs. 4 and 6, and the iterations needed)."""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness.machine import is_installed
from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pdrur2010.gplvm import NO_GPLVM, gplvm, has_gplvm
from benchmarks.papers.pdrur2010.literal import DEFAULTS_FROM_START, default, literal
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rivals import EPOCHS, autoencoded
from benchmarks.papers.statistics import median, summary
from twofold import UKR
from twofold.datasets import make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.protocols import Array

SEEDS = range(30, 35)
PAPER: dict[str, Any] = {"n_centers": 30, "alpha": 1e-5, "max_iter": 100}
"""30 basis functions, lambda and 100 iterations as in Figs. 4-6."""

RIVALS_CLAIMS = {
    20: "“also works well with stdev 20”",
    40: "“starts losing global ordering at stdev 40”",
    60: "“completely loses it at stdev 60”",
}
OUR_UKR = "Ours is another UKR than theirs."


def noisy(seed: int, stdev: float, noise: float = 0.0) -> tuple[Array, Array, Array]:
    """Return the roll, the sheet, and the sheet with noise, which is the start."""
    X, sheet = make_swiss_roll(1000, noise, random_state=seed)
    return X, sheet, sheet + stdev * np.random.default_rng(seed).standard_normal(sheet.shape)


def ukr(X: Array, start: Array, seed: int, *, homotopy: bool = False) -> Array:
    """Return the latents of UKR from a start."""
    model = UKR(
        2, init=start, homotopy=homotopy, tol=1e-4, pseudo_count=0.03, random_state=seed, n_jobs=1
    ).fit(X)
    Z: Array = model.embedding_
    return Z


def paint_latents(figure: Any, latents: dict[str, Array], sheet: Array) -> None:
    """Draw latents side by side, colored by the truth along the roll."""
    for ax, (name, Z) in zip(figure.subplots(1, len(latents)), latents.items(), strict=True):
        ax.scatter(*Z.T, c=sheet[:, 0], s=4)
        ax.set(title=f"{name}: R² {procrustes_r2(sheet, Z):.3f}", xticks=[], yticks=[])


def _roll_run(task: tuple[int, int, bool]) -> dict[str, Any]:
    seed, stdev, quick = task
    X, sheet, start = noisy(seed, stdev)
    papers = PAPER | ({"n_centers": 70} if stdev == 60 else {})
    Z = {
        "start": start,
        "literal": literal(X, start, seed, **papers).embedding_,
        "default": default(X, start, seed).embedding_,
    }
    if stdev == 10 and not quick:
        how = PAPER | {"n_centers": "all", "max_iter": 10}
        Z["nonparametric"] = literal(X, start, seed, **how).embedding_
        Z["nonparametric, default"] = default(X, start, seed, n_centers="all").embedding_
    if is_installed("torch"):
        epochs = 200 if quick else EPOCHS
        Z["autoencoder"] = autoencoded(X, start, 70, seed, epochs=epochs)
    return {"R2": {name: procrustes_r2(sheet, one) for name, one in Z.items()}, "latents": Z}


def roll(quick: bool, folder: Path) -> Outcome:
    """Fig. 6: latent noise of stdev 10 to 60, beside a 70-2-70 autoencoder."""
    seeds = list(SEEDS)[: 1 if quick else None]
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
        words, bound = claims[stdev]
        rows.append(
            Row(
                f"latent noise of {stdev}, {70 if stdev == 60 else 30} RBFs, λ = 1e-5, 100 "
                "iterations: R², median",
                words,
                middle["literal"],
                "higher",
                bound=bound,
                default=middle["default"],
                beside=f"start {middle['start']:.2f}",
                note=DEFAULTS_FROM_START,
                highlight=stdev in (20, 60),
            )
        )
        if "nonparametric" in middle:
            rows.append(
                Row(
                    f"latent noise of {stdev}, nonparametric model, 1,000 centers, 10 iterations: "
                    "R² of 30 RBFs minus its own, medians",
                    "“results of as good a quality as those of nDRUR”",
                    middle["literal"] - middle["nonparametric"],
                    "higher",
                    bound=-0.02,
                    default=middle["default"] - middle["nonparametric, default"],
                    beside=f"nDRUR {middle['nonparametric']:.3f}",
                    note="The same λ for both; an iteration of the nonparametric model is 10 steps "
                    "of L-BFGS.",
                    form=".4f",
                )
            )
        if stdev in RIVALS_CLAIMS:
            rival = middle.get("autoencoder", "PyTorch is not installed")
            words = f"latent noise of {stdev}, the rival, autoencoder 70-2-70: R², median"
            rows.append(Row(words, RIVALS_CLAIMS[stdev], rival))

    def paint(figure: Any) -> None:
        first = [runs[seeds[0], stdev, quick] for stdev in stdevs]
        names = list(first[1]["R2"])
        axes = figure.subplots(len(names), len(stdevs), squeeze=False)
        sheet = noisy(seeds[0], 0.0)[1]
        for (row, name), (column, stdev) in product(enumerate(names), enumerate(stdevs)):
            ax, one = axes[row, column], first[column]
            ax.scatter(*one["latents"][name].T, c=sheet[:, 0], s=4)
            ax.set_title(f"{name}, noise {stdev}: R² {one['R2'][name]:.3f}", fontsize=8)
            ax.set(xticks=[], yticks=[])

    pictures = draw(folder / "roll.png", "starts and results (Fig. 6)", (12, 7.5), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


LAMBDAS = (1e-5, 1e-3, 1e-1)


def _regularization_run(task: tuple[int, float, int, int]) -> dict[str, float]:
    seed, alpha, n_centers, stdev = task
    X, sheet, start = noisy(seed, stdev)
    setting: dict[str, Any] = {"alpha": alpha, "n_centers": n_centers}
    return {
        "literal": procrustes_r2(sheet, literal(X, start, seed, **(PAPER | setting)).embedding_),
        "default": procrustes_r2(sheet, default(X, start, seed, **setting).embedding_),
    }


def regularization(quick: bool, folder: Path) -> Outcome:
    """Fig. 4: vary lambda, the number of basis functions and the noise; rivals, same start."""
    seeds = list(SEEDS)[: 1 if quick else 2]
    centers = (30, 90) if quick else (30, 60, 90)
    stdevs = (10,) if quick else (5, 10)
    tasks = list(product(seeds, LAMBDAS, centers, stdevs))
    found = dict(zip(tasks, in_processes(_regularization_run, tasks), strict=True))

    def of(alpha: float, column: str) -> list[float]:
        return [r2[column] for (_, weight, _, _), r2 in found.items() if weight == alpha]

    X, sheet, start = noisy(seeds[0], 10)
    latents = {"start": start, "UKR": ukr(X, start, seeds[0])}
    if has_gplvm():
        latents["GPLVM"] = gplvm(X, start)
    for alpha in LAMBDAS:
        model = literal(X, start, seeds[0], **(PAPER | {"alpha": alpha}))
        latents[f"λ = {alpha:g}"] = model.embedding_
    r2 = {name: procrustes_r2(sheet, Z) for name, Z in latents.items()}
    note = "Defaults: DRUR() from the same start, with the λ and the basis functions named."
    rows = [
        Row(
            "R² at λ = 0.1 minus that at λ = 1e-5, medians",
            "“Large λ leads to smoother mappings and distorts the X”",
            median(of(1e-1, "literal")) - median(of(1e-5, "literal")),
            "lower",
            bound=0.0,
            default=median(of(1e-1, "default")) - median(of(1e-5, "default")),
            beside="R² at 1e-5, 1e-3, 0.1: "
            + ", ".join(f"{median(of(a, 'literal')):.3f}" for a in LAMBDAS),
            note=note,
        ),
        Row(
            "range of R² at λ = 1e-5 over 30 to 90 basis functions and noise of "
            f"{' and '.join(map(str, stdevs))}",
            "“little difference over the number of basis functions and the noise level”",
            float(np.ptp(of(1e-5, "literal"))),
            "lower",
            bound=0.05,
            default=float(np.ptp(of(1e-5, "default"))),
            note=f"Over {len(seeds)} rolls too. {note}",
        ),
    ]
    for name, about in (("UKR", OUR_UKR), ("GPLVM", "By GPy, 70 active points, 100 iterations.")):
        rows.append(
            Row(
                f"the rival, {name}, from the start with noise of 10: gain in R²",
                "“UKR and GPLVM both failed with this noisy initial X”",
                r2[name] - r2["start"] if name in r2 else NO_GPLVM,
                note=about,
                beside=f"start {r2['start']:.3f}, the paper's loop {r2['λ = 1e-05']:.3f}",
            )
        )
    pictures = draw(
        folder / "regularization.png",
        "Fig. 4, one roll",
        (16, 3.2),
        lambda figure: paint_latents(figure, latents, sheet),
    )
    numbers: dict[str, Any] = {
        f"seed {s}, λ {a:g}, {m} RBFs, noise {d}": one for (s, a, m, d), one in found.items()
    }
    return Outcome(rows=rows, numbers=numbers | r2, pictures=pictures, seeds=seeds)


COUNTS = (1, 2, 4, 10)
NOISES = (0.0, 0.5)


def _turns_run(seed: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for noise in NOISES:
        X, sheet, start = noisy(seed, 10, noise=noise)
        for count in COUNTS:
            setting = {"n_centers": 70, "alpha": 1e-5, "max_iter": count}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # stopped by design
                models = {
                    "literal": literal(X, start, seed, **setting),
                    "default": default(X, start, seed, max_iter=count),
                }
            for column, model in models.items():
                found.setdefault(f"{column}, data noise {noise:g}", []).append(
                    procrustes_r2(sheet, model.embedding_)
                )
    return found


def noisy_roll(quick: bool, folder: Path) -> Outcome:
    """Follow R² over the iterations of Fig. 10's loop, without and with noise on the data."""
    seeds = list(SEEDS)[: 1 if quick else None]
    runs = in_processes(_turns_run, seeds)
    at = {
        name: dict(zip(COUNTS, np.median([run[name] for run in runs], axis=0), strict=True))
        for name in runs[0]
    }
    change = {name: float(abs(one[COUNTS[-1]] - one[2])) for name, one in at.items()}
    rows = []
    for noise in NOISES:
        name = f"data noise {noise:g}"
        literals = at[f"literal, {name}"]
        rows.append(
            Row(
                f"{name}: R² after {COUNTS[-1]} iterations minus that after two, medians",
                "“pDRUR's result barely changes after the first 2 iterations”",
                change[f"literal, {name}"],
                "lower",
                bound=0.02,
                default=change[f"default, {name}"],
                beside="R² after " + ", ".join(f"{n}: {r2:.3f}" for n, r2 in literals.items()),
                note=f"70 RBFs and 10 iterations as in Fig. 10, λ = 1e-5. {DEFAULTS_FROM_START}",
            )
        )

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        for name, one in at.items():
            ax.plot(list(one), list(one.values()), "o-", label=name)
        ax.set(xlabel="iterations", ylabel="R², median")
        ax.legend(fontsize=7)

    pictures = draw(folder / "turns.png", "R² over the iterations", (5.5, 3.6), paint)
    numbers = dict(zip(map(str, seeds), runs, strict=True))
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)
