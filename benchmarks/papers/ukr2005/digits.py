"""The USPS digit "2": starts, errors and pictures (section 4.2, Figs. 3 and 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.ukr2005.scheme import Scheme, Start
from twofold import UKR
from twofold.datasets import load_usps
from twofold.numerics.density import LatentDensity
from twofold.protocols import Array

KERNELS = ("gaussian", "quartic")
PAPERS_ENDS = {"gaussian": (83.53, 50.90), "quartic": (83.62, 51.52)}
N_STEPS = 500


def load_twos() -> Array:
    """Return the 731 training images of the digit "2"."""
    usps = load_usps()
    twos: Array = usps.X_train[usps.y_train == 2]
    return twos


def _start(task: tuple[str, str]) -> Start:
    """Embed and scale one candidate as the paper does."""
    kernel, name = task
    return Scheme.of(load_twos(), kernel).start(name, 2)


def _fits(task: tuple[str, dict[str, Start]]) -> dict[str, Any]:
    """Minimize from the best start, and from LLE with 12 neighbors, by 500 RPROP steps."""
    kernel, starts = task
    X = load_twos()
    scheme = Scheme.of(X, kernel)
    best = min(starts, key=lambda name: starts[name].error)
    ends = {name: scheme.minimized(starts[name].latents, N_STEPS) for name in {best, "lle:12"}}
    model = UKR(2, kernel=kernel, random_state=0, n_jobs=1).fit(X)
    return {
        "candidates": {name: start.error for name, start in starts.items()},
        "best start": best,
        "RPROP": {name: scheme.error(Z) for name, Z in ends.items()},
        "default": model.cv_error_,
        "default start": model.candidates_[0],
        "latents": ends[best],
    }


def digits(quick: bool, folder: Path) -> Outcome:
    """Figs. 3-4: candidates' errors, then 500 RPROP steps from the best of them."""
    kernels = KERNELS[:1] if quick else KERNELS
    neighbors = (8, 12) if quick else range(2, 22)
    names = ["pca", *(f"lle:{k}" for k in neighbors)]
    tasks = [(kernel, name) for kernel in kernels for name in names]
    found = dict(zip(tasks, in_processes(_start, tasks), strict=True))
    starts = {kernel: {name: found[kernel, name] for name in names} for kernel in kernels}
    runs = dict(zip(kernels, in_processes(_fits, list(starts.items())), strict=True))
    latents = {kernel: run.pop("latents") for kernel, run in runs.items()}
    rows = []
    for kernel, run in runs.items():
        start, end = PAPERS_ENDS[kernel]
        lowest, best = min(run["candidates"].values()), run["best start"]
        ours = run["default start"]
        rows += [
            Row(
                f"{kernel}: best of the starts",
                "LLE, K = 12",
                best.replace("lle:", "LLE, K = "),
                default=ours["name"],
            ),
            Row(
                f"{kernel}: error of the best start",
                start,
                lowest,
                "lower",
                default=ours["cv_error"],
                form=".2f",
                note="Default: the start of UKR().",
            ),
            Row(
                f"{kernel}: error of LLE, K = 12",
                start,
                run["candidates"]["lle:12"],
                "lower",
                form=".2f",
            ),
            Row(
                f"{kernel}: after 500 RPROP steps from the best start",
                end,
                run["RPROP"][best],
                "lower",
                default=run["default"],
                form=".2f",
                note="Default: UKR(), which ends early on purpose: see the user guide, Smoothing.",
                highlight=kernel == "gaussian",
            ),
            Row(
                f"{kernel}: after 500 RPROP steps from LLE, K = 12",
                end,
                run["RPROP"]["lle:12"],
                "lower",
                form=".2f",
            ),
        ]

    def paint_errors(figure: Any) -> None:
        ax = figure.add_subplot()
        for (kernel, run), marker in zip(runs.items(), ("o-", "s--"), strict=False):
            ax.plot([run["candidates"][name] for name in names], marker, label=kernel)
        ax.set_xticks(range(len(names)), [name.removeprefix("lle:") for name in names])
        ax.set(xlabel="LLE neighbors", ylabel="leave-one-out error at the best scale")
        ax.legend()

    return Outcome(
        rows=rows,
        numbers=runs,
        pictures=[
            *draw(
                folder / "digits-candidates.png",
                "errors of the starts (Fig. 3)",
                (7, 4),
                paint_errors,
            ),
            *draw(
                folder / "digits.png",
                "latents, densities and sampled manifolds after 500 RPROP steps (Fig. 4)",
                (11, 11),
                lambda figure: _paint_models(figure, latents),
            ),
        ],
        seeds=[0],
    )


def _paint_models(figure: Any, latents: dict[str, Array]) -> None:
    """Draw latents over their density, and images on a grid, their intensity by the density."""
    X, n_side = load_twos(), 18
    axes = figure.subplots(2, len(latents), squeeze=False)
    for (kernel, Z), (above, below) in zip(latents.items(), axes.T, strict=True):
        density = LatentDensity(kernel=kernel, bandwidth=1.0).fit(Z)
        ends = np.quantile(Z, [0.005, 0.995], axis=0)
        extent = (ends[0, 0], ends[1, 0], ends[0, 1], ends[1, 1])
        fine = np.exp(density.log_density(_grid(ends, 150))).reshape(150, 150)
        above.imshow(fine, origin="lower", extent=extent, cmap="Greys", aspect="auto")
        above.plot(*Z.T, ".", color="#332288", ms=2)
        above.set(title=f"{kernel}: latents and density", xlim=extent[:2], ylim=extent[2:])
        places = _grid(ends, n_side)
        images = Scheme.of(X, kernel).decoder(Z).predict(places) + X.mean(axis=0)
        share = np.exp(density.log_density(places) - density.log_densities_.max())
        tiles = (images - X.min()) * np.sqrt(share)[:, None]
        rows = tiles.reshape(n_side, n_side, 16, 16)[::-1].transpose(0, 2, 1, 3)
        below.imshow(rows.reshape(16 * n_side, 16 * n_side), cmap="Greys", aspect="auto")
        below.set(title=f"{kernel}: sampled manifold", xticks=[], yticks=[])


def _grid(ends: Array, n_side: int) -> Array:
    """Return a regular grid (n_side^2, 2) between two corners, the first coordinate fastest."""
    first, second = np.linspace(ends[0], ends[1], n_side).T
    return np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
