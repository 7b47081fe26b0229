"""The USPS digit "2": CPU times of 500 RPROP steps (section 4.2, Table 2)."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.ukr2005.digits import KERNELS, N_STEPS, load_twos
from benchmarks.papers.ukr2005.scheme import Scheme, rprop
from twofold.numerics.threads import single_threaded_blas
from twofold.ukr.objective import Reconstruction

SPACES = ("data space", "feature space")
PAPERS_SECONDS = {
    ("data space", "gaussian"): 753,
    ("data space", "quartic"): 30,
    ("feature space", "gaussian"): 1085,
    ("feature space", "quartic"): 25,
}


def times(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Table 2: CPU seconds of RPROP steps from LLE with 12 neighbors, in four ways."""
    n_steps = 100 if quick else N_STEPS
    seconds: dict[tuple[str, str], float] = {}
    ends: dict[str, float] = {}
    for kernel in KERNELS:
        scheme = Scheme.of(load_twos(), kernel)
        start, X, weigh = scheme.start("lle:12", 2).latents, scheme.data, scheme.regression.weigh
        for space in SPACES:
            objective = Reconstruction(X, weigh)
            if space == "feature space":  # the inner products of the data, Eq. (13)
                objective = Reconstruction(X, weigh, gram=X @ X.T, wide=True)
            rprop(2).minimize(objective, start)  # compiles
            with single_threaded_blas():
                began = time.process_time()
                result = rprop(n_steps).minimize(objective, start)
                seconds[space, kernel] = time.process_time() - began
            ends[f"{space}, {kernel}"] = float(result.value)
    rows = [
        Row(
            f"CPU seconds of {n_steps} RPROP steps, {space}, {kernel}",
            f"{figure} s for 500 steps, Pentium IV, 1.8 GHz",
            seconds[space, kernel],
        )
        for (space, kernel), figure in PAPERS_SECONDS.items()
    ]
    for space in SPACES:
        figure, ours = (
            table[space, "gaussian"] / table[space, "quartic"]
            for table in (PAPERS_SECONDS, seconds)
        )
        rows.append(
            Row(
                f"time of the Gaussian over that of the Quartic, {space}",
                figure,
                ours,
                "higher",
                note="The paper's seconds for 500 steps over ours, per step: Gaussian "
                f"{_gain(seconds, space, 'gaussian', n_steps):.0f}, Quartic "
                f"{_gain(seconds, space, 'quartic', n_steps):.0f}.",
            )
        )
    for kernel in KERNELS:
        figure, ours = (
            table["feature space", kernel] / table["data space", kernel]
            for table in (PAPERS_SECONDS, seconds)
        )
        rows.append(Row(f"time in feature space over that in data space, {kernel}", figure, ours))
    numbers = {
        "steps": n_steps,
        "cpu seconds": {f"{space}, {kernel}": one for (space, kernel), one in seconds.items()},
        "errors at the end": ends,
    }
    return Outcome(rows=rows, numbers=numbers, seeds=[0])


def _gain(seconds: dict[tuple[str, str], float], space: str, kernel: str, n_steps: int) -> float:
    """Return the paper's seconds for a step over ours."""
    return PAPERS_SECONDS[space, kernel] / N_STEPS / (seconds[space, kernel] / n_steps)
