"""Many rows or columns: the roll in 100 dimensions (Fig. 6, row 4) and run times (Fig. 10)."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.jobs import alone
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rivals import umap_seconds
from twofold import DRUR, UKR
from twofold.datasets import make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.protocols import Array

PAPER: dict[str, Any] = {"n_centers": 70, "alpha": 1e-5, "max_iter": 10, "random_state": 0}
"""70 basis functions and 10 iterations, as in Fig. 10."""

N_OTHERS = 1_000
"""Rows at which methods that grow faster are timed."""


def _noisy_roll(n: int, n_features: int = 3) -> tuple[Array, Array, Array]:
    X, sheet = make_swiss_roll(n, n_features=n_features, random_state=0)
    return X, sheet, sheet + 10.0 * np.random.default_rng(0).standard_normal(sheet.shape)


def _warm() -> None:
    X, _, start = _noisy_roll(1_000)
    DRUR(init=start, **PAPER).fit(X)


def wide_roll(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Swiss roll, n = 20,000, with 97 noise dimensions."""
    _warm()
    X, sheet, start = _noisy_roll(20_000, 100)
    began = time.perf_counter()
    model = DRUR(init=start, **PAPER).fit(X)
    seconds = time.perf_counter() - began
    one = DRUR(init=start, **(PAPER | {"max_iter": 1})).fit(X)
    before, after = procrustes_r2(sheet, start), procrustes_r2(sheet, model.embedding_)
    first = procrustes_r2(sheet, one.embedding_)
    rival = umap_seconds(X, quick=quick)
    rows = [
        Row(
            "R² after the first iteration",
            "“Almost perfect recovery is attained in the very first iteration”",
            first,
            "higher",
            bound=0.98,
            beside=f"start {before:.3f}",
        ),
        Row("R² at the end", None, after, form=".4f"),
        Row(
            "seconds",
            "“neither of nDRUR, UKR and GPLVM run in our workstation”",
            seconds,
            beside=rival.said,
        ),
    ]
    numbers = {"before": before, "after one turn": first, "after": after, "seconds": seconds}
    return Outcome(rows=rows, numbers=numbers | {"umap-learn": rival.seconds}, seeds=[0])


def fit_once(n: int, n_features: int) -> dict[str, Any]:
    """Fit a roll after a small one, in a process that does nothing else."""
    _warm()
    X, sheet, start = _noisy_roll(n, n_features)
    began, began_cpu = time.perf_counter(), time.process_time()
    model = DRUR(init=start, tol=0.0, **PAPER).fit(X)
    return {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - began_cpu,
        "turns": int(model.n_iter_),
        "r2": procrustes_r2(sheet, model.embedding_),
    }


def _slopes(results: dict[int, dict[str, Any]]) -> list[float]:
    """Return the slopes between neighbors in log-log."""
    pairs = pairwise((size, result["seconds"]) for size, result in results.items())
    return [float(np.log(b[1] / a[1]) / np.log(b[0] / a[0])) for a, b in pairs]


def _others() -> dict[str, float]:
    """Return the seconds of the nonparametric model and of UKR by homotopy at a thousand rows."""
    X, _, start = _noisy_roll(N_OTHERS)
    models = {
        "nDRUR": DRUR(init=start, n_centers="all", max_iter=10, tol=0.0, random_state=0),
        "UKR, homotopy": UKR(
            2, init=start, homotopy=True, tol=1e-4, pseudo_count=0.03, random_state=0
        ),
    }
    seconds = {}
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(X)
        seconds[name] = time.perf_counter() - began
    return seconds


def runtime(quick: bool, folder: Path) -> Outcome:
    """Run time over rows and over columns, beside other methods."""
    sizes = (10**3, 10**4, 10**5) if quick else (10**3, 10**4, 10**5, 10**6)
    widths = (5, 500, 5_000) if quick else (5, 50, 500, 5_000)
    by_rows = {n: alone(fit_once, n=n, n_features=3) for n in sizes}
    by_columns = {d: alone(fit_once, n=500, n_features=d) for d in widths}
    others = {} if quick else _others()
    rival = umap_seconds(_noisy_roll(10**5)[0], quick=quick)
    steepest = _slopes(by_rows)[-1], _slopes(by_columns)[-1]
    most = by_rows[10**5]
    rows = [
        Row(
            "100,000 x 3: seconds",
            "74 min. on a 2.66 GHz PC",
            most["seconds"],
            beside=rival.said,
            note="Another machine and another language: no verdict.",
        ),
        Row(
            "100,000 x 3: R²",
            "“almost perfect reconstruction of the Swiss roll in all cases”",
            most["r2"],
            "higher",
            bound=0.98,
            form=".4f",
        ),
        Row("last slope in rows, log-log", "“linear on N and D”", steepest[0], "lower", bound=1.2),
        Row(
            "last slope in columns, log-log", "“linear on N and D”", steepest[1], "lower", bound=1.2
        ),
        *(
            Row(f"{n:,} x 3: seconds", None, one["seconds"], note=f"{one['peak_gb']:.1f} GB.")
            for n, one in by_rows.items()
            if n > 10**5
        ),
        *(
            Row(
                f"{N_OTHERS:,} x 3, {name}: seconds over ours",
                "“pDRUR's order-of-magnitudes' advantage is clear”",
                seconds / by_rows[N_OTHERS]["seconds"],
                "higher",
                bound=10.0,
            )
            for name, seconds in others.items()
        ),
    ]

    def paint(figure: Any) -> None:
        parts = {"rows": by_rows, "columns": by_columns}
        for ax, (label, part) in zip(figure.subplots(1, 2), parts.items(), strict=True):
            ax.loglog(list(part), [one["seconds"] for one in part.values()], "o-", label="DRUR")
            ax.set(xlabel=label, ylabel="seconds")
            if label == "rows":
                for name, seconds in others.items():
                    ax.loglog([N_OTHERS], [seconds], "s", label=name)
                if rival.seconds is not None:
                    ax.loglog([10**5], [rival.seconds], "^", label="umap-learn")
                ax.legend()

    pictures = draw(folder / "runtime.png", "run times (Fig. 10)", (9, 3.8), paint)
    numbers = {
        "rows": by_rows,
        "slopes in rows": _slopes(by_rows),
        "columns": by_columns,
        "slopes in columns": _slopes(by_columns),
        "others": others,
        "umap-learn": rival.seconds,
    }
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=[0])
