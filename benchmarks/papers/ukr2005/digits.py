"""The USPS digit "2": starts, errors, pictures and CPU times (section 4.2)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from twofold import UKR
from twofold.datasets import load_usps
from twofold.kernels import Compact, Gaussian
from twofold.optimize import RProp
from twofold.plotting import DecodedGridDisplay, LatentMapDisplay
from twofold.protocols import Array, RadialKernel
from twofold.starts.candidates import scaled_candidate
from twofold.starts.initializers import lle
from twofold.ukr.objective import Reconstruction
from twofold.ukr.regression import KernelRegression

KERNELS = ("gaussian", "quartic")
PAPERS_ENDS = {"gaussian": (83.53, 50.90), "quartic": (83.62, 51.52)}
N_STEPS = 500


def load_twos() -> Array:
    """Return the 731 training images of the digit "2"."""
    usps = load_usps()
    twos: Array = usps.X_train[usps.y_train == 2]
    return twos


def _fits(task: tuple[str, list[str]]) -> dict[str, Any]:
    """Compare the starts for one kernel, then minimize from LLE with 12 neighbors in two ways."""
    kernel, starts = task
    X = load_twos()
    common: dict[str, Any] = {"kernel": kernel, "random_state": 0, "n_jobs": 1}
    compared = UKR(2, init=starts, max_iter=1, homotopy=False, **common).fit(X)
    long: dict[str, Any] = {"init": "lle:12", "max_iter": N_STEPS, "tol": 0.0}
    steps = RProp(max_iter=N_STEPS, tol=0.0, window=N_STEPS, initial_step=0.1, max_step=1.0)
    paper = UKR(2, optimizer=steps, pseudo_count=0.0, **long, **common).fit(X)
    model = UKR(2, pseudo_count=0.03, **long, **common).fit(X)
    return {
        "candidates": {row["name"]: row["cv_error"] for row in compared.candidates_},
        "best start": min(compared.candidates_, key=lambda row: row["cv_error"])["name"],
        "start": paper.candidates_[0]["cv_error"],
        "RPROP": paper.cv_error_,
        "L-BFGS": model.cv_error_,
        "model": model,
    }


def digits(quick: bool, folder: Path) -> Outcome:
    """Figs. 3-4: candidates' errors, then 500 steps from LLE with 12 neighbors."""
    neighbors = (10, 12, 14) if quick else (*range(2, 22), *range(22, 31, 2))
    starts = ["pca", *(f"lle:{k}" for k in neighbors)]
    runs = dict(zip(KERNELS, in_processes(_fits, [(k, starts) for k in KERNELS]), strict=True))
    models = {kernel: run.pop("model") for kernel, run in runs.items()}
    rows = []
    for kernel, run in runs.items():
        start, end = PAPERS_ENDS[kernel]
        rows += [
            Row(f"{kernel}: best of the starts", "LLE, K = 12", run["best start"]),
            Row(f"{kernel}: error of LLE, K = 12", start, run["start"], "lower", form=".2f"),
            Row(f"{kernel}: after 500 RPROP steps", end, run["RPROP"], "lower", form=".2f"),
            Row(f"{kernel}: after 500 L-BFGS iterations", end, run["L-BFGS"], "lower", form=".2f"),
        ]

    def paint_errors(figure: Any) -> None:
        ax = figure.add_subplot()
        for (kernel, run), marker in zip(runs.items(), ("o-", "s--"), strict=True):
            ax.plot([run["candidates"][name] for name in starts], marker, label=kernel)
        ax.set_xticks(range(len(starts)), [name.removeprefix("lle:") for name in starts])
        ax.set(xlabel="LLE neighbors", ylabel="leave-one-out error at the best scale")
        ax.legend()

    def paint_models(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        for (kernel, model), (latents, manifold) in zip(models.items(), axes.T, strict=True):
            LatentMapDisplay.from_estimator(model, ax=latents)
            latents.set_title(f"{kernel}: latents and density")
            DecodedGridDisplay.from_estimator(model, image_shape=(16, 16), n_side=18, ax=manifold)
            manifold.set_title(f"{kernel}: sampled manifold")

    return Outcome(
        rows=rows,
        numbers=runs,
        pictures=[
            *draw(folder / "digits-candidates.png", "errors of the starts", (7, 4), paint_errors),
            *draw(folder / "digits.png", "latents and manifolds (Fig. 4)", (11, 11), paint_models),
        ],
        seeds=[0],
    )


def times(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Table 2: CPU seconds of RPROP steps from the same start, in four ways."""
    n_steps = 200 if quick else N_STEPS
    X = load_twos()
    X = X - X.mean(axis=0)
    start = lle(X, 2, np.random.default_rng(0), n_neighbors=12)
    seconds: dict[str, float] = {}
    ends: dict[str, float] = {}
    kernels: dict[str, RadialKernel] = {"gaussian": Gaussian(), "quartic": Compact()}
    for name, kernel in kernels.items():
        scheme = KernelRegression.of(X, kernel, many=False, pseudo_count=0.0)
        gram = X @ X.T
        candidate = scaled_candidate("lle", start, scheme.objective().value, kernel)
        for form, objective in (
            ("data space", Reconstruction(X, scheme.weigh)),
            ("feature space", Reconstruction(X, scheme.weigh, gram=gram, wide=True)),
        ):
            RProp(max_iter=2).minimize(objective, candidate.latents)  # compiles
            began = time.process_time()
            steps = RProp(max_iter=n_steps, tol=0.0, window=n_steps)
            result = steps.minimize(objective, candidate.latents)
            seconds[f"{form}, {name}"] = time.process_time() - began
            ends[f"{form}, {name}"] = float(result.value)
    papers = {
        "data space, gaussian": 753,
        "data space, quartic": 30,
        "feature space, gaussian": 1085,
        "feature space, quartic": 25,
    }
    rows = [
        Row(
            f"CPU seconds for {n_steps} steps, {form}",
            f"{papers[form]} s for 500, Pentium IV, 1.8 GHz",
            seconds[form],
        )
        for form in papers
    ]
    for form in ("data space", "feature space"):
        ratio = seconds[f"{form}, gaussian"] / seconds[f"{form}, quartic"]
        papers_ratio = papers[f"{form}, gaussian"] / papers[f"{form}, quartic"]
        rows.append(Row(f"Gaussian over Quartic, {form}", papers_ratio, ratio, "higher"))
    fastest = [
        min(seconds[f"{form}, {kernel}"] for form in ("data space", "feature space"))
        for kernel in KERNELS
    ]
    note = "Our Gaussian is the faster one: its sums are matrix products."
    rows.append(
        Row(
            "Gaussian over Quartic, faster form of each",
            753 / 25,
            fastest[0] / fastest[1],
            "higher",
            note=note,
        )
    )
    numbers = {"steps": n_steps, "cpu seconds": seconds, "errors at the end": ends}
    return Outcome(rows=rows, numbers=numbers, seeds=[0])
