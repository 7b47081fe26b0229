"""The Swiss roll of 1,000 points from noisy latents (Figs. 4 and 6, and the iterations needed)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

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
        how: dict[str, Any] = {"n_centers": "all", "max_iter": 10}
        Z["nonparametric"] = literal(X, start, seed, **how).embedding_
    if is_installed("torch"):
        epochs = 200 if quick else EPOCHS
        Z["autoencoder"] = autoencoded(X, start, 70, seed, epochs=epochs)
    return {"R2": {name: procrustes_r2(sheet, one) for name, one in Z.items()}, "latents": Z}


def roll(quick: bool, folder: Path) -> Outcome:
    """Fig. 6: latent noise of stdev 10 to 60, beside a 70-2-70 autoencoder."""
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
                    beside=f"nDRUR {middle['nonparametric']:.3f}",
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
    seeds = list(SEEDS)[: 1 if quick else 3]
    centers = (30, 90) if quick else (30, 60, 90)
    tasks = list(product(seeds, LAMBDAS, centers, (5, 10)))
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
            "range of R² at λ = 1e-5 over 30 to 90 basis functions and noise of 5 and 10",
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


COUNTS = (1, 2, 4, 8, 16, 50)


def _turns_run(seed: int) -> dict[str, list[float]]:
    X, sheet, start = noisy(seed, 10, noise=0.5)
    found = {"literal": [], "default": []}
    for count in COUNTS:
        model = literal(X, start, seed, **(PAPER | {"max_iter": count}))
        found["literal"].append(procrustes_r2(sheet, model.embedding_))
        model = default(X, start, seed, max_iter=count)
        found["default"].append(procrustes_r2(sheet, model.embedding_))
    return found


def noisy_roll(quick: bool, folder: Path) -> Outcome:
    """Follow R² over the iterations: data noise 0.5, latent noise 10."""
    seeds = list(SEEDS)[: 2 if quick else None]
    runs = in_processes(_turns_run, seeds)
    at = {
        column: dict(zip(COUNTS, np.median([run[column] for run in runs], axis=0), strict=True))
        for column in runs[0]
    }
    shares = {column: float(abs(one[COUNTS[-1]] - one[2])) for column, one in at.items()}
    rows = [
        Row(
            "R² at the end minus that after two iterations, medians",
            "“pDRUR's result barely changes after the first 2 iterations”",
            shares["literal"],
            "lower",
            bound=0.02,
            default=shares["default"],
            beside="R² after "
            + ", ".join(f"{count}: {r2:.3f}" for count, r2 in at["literal"].items()),
            note=f"30 RBFs, λ = 1e-5, {COUNTS[-1]} iterations. {DEFAULTS_FROM_START}",
        ),
        Row(
            "R² at the end, data noise of 0.5, median",
            None,
            float(at["literal"][COUNTS[-1]]),
            default=float(at["default"][COUNTS[-1]]),
            note=DEFAULTS_FROM_START,
        ),
    ]

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        for column, one in at.items():
            ax.semilogx(list(one), list(one.values()), "o-", label=column)
        ax.set(xlabel="iterations", ylabel="R², median")
        ax.legend()

    pictures = draw(folder / "turns.png", "R² over the iterations", (5, 3.4), paint)
    return Outcome(
        rows=rows,
        numbers=dict(zip(map(str, seeds), runs, strict=True)),
        pictures=pictures,
        seeds=seeds,
    )
