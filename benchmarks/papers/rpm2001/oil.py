"""Oil flow: the latent space beside PCA's (Figs. 3-4) and beside the generative topographic map."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.rpm2001.gtm import TopographicMap, fit_gtm
from benchmarks.papers.rpm2001.literal import READINGS, LiteralManifold, literal_fit, weight_of
from benchmarks.papers.rpm2001.synthetic import LABELS
from benchmarks.papers.statistics import median
from twofold import PrincipalManifold
from twofold.datasets import load_oil_flow
from twofold.plotting import LatentMapDisplay
from twofold.protocols import Array

SEEDS = range(3)
VALUE = 0.01
"""The paper's λ for oil flow."""

PER_DIMENSION = {2: 7, 3: 6}
MARGIN = 0.3
"""Points of an error rate: a standard error of 1,000 test rows."""

SMALLEST_CLUSTER = 15
GTM_ITERATIONS = 100
GTM_SIDE = 20


def oil_data() -> tuple[list[Array], list[Array]]:
    """Return training, validation and test rows, centered, and their classes."""
    data = load_oil_flow()
    mean = data.X_train.mean(axis=0)
    parts = ("train", "valid", "test")
    return [data[f"X_{p}"] - mean for p in parts], [data[f"y_{p}"] for p in parts]


def _neighbor_error(Z: Array, y: Array, Z_test: Array, y_test: Array) -> float:
    """Return the test error of the nearest latent's class, in per cent."""
    nearest = KNeighborsClassifier(1).fit(Z, y)
    return 100.0 * (1.0 - float(nearest.score(Z_test, y_test)))


def _of_model(model: Any) -> tuple[float, float]:
    """Return that error of a model, and the lost share of the test rows' variance."""
    (_, _, test), (y, _, y_test) = oil_data()
    Z = model.transform(test)
    total = np.square(test - test.mean(axis=0)).sum(axis=1).mean()
    error = np.square(test - model.inverse_transform(Z)).sum(axis=1).mean()
    return _neighbor_error(model.embedding_, y, Z, y_test), float(error / total)


def _literal(task: tuple[int, str]) -> tuple[LiteralManifold, tuple[float, float]]:
    q, reading = task
    train = oil_data()[0][0]
    weight = weight_of(reading, VALUE, len(train))
    model = literal_fit(train, weight, per_dimension=PER_DIMENSION[q], n_components=q)
    return model, _of_model(model)


def _default(task: tuple[int, int]) -> tuple[PrincipalManifold, tuple[float, float]]:
    q, seed = task
    model = PrincipalManifold(q, random_state=seed, n_jobs=1).fit(oil_data()[0][0])
    return model, _of_model(model)


def oil(quick: bool, folder: Path) -> Outcome:
    """Figs. 3-4: test errors of the nearest latent's class in per cent, and held-out errors."""
    (train, _, test), (y, _, y_test) = oil_data()
    seeds = list(SEEDS)[: 1 if quick else None]
    literal_tasks = list(product((2, 3), READINGS))
    found = dict(zip(literal_tasks, in_processes(_literal, literal_tasks), strict=True))
    tasks = list(product((2, 3), seeds))
    ours = dict(zip(tasks, in_processes(_default, tasks), strict=True))
    plane = PCA(2).fit(train)
    flat = _neighbor_error(plane.transform(train), y, plane.transform(test), y_test)
    words = "“nicely reveals the class structure”, “Linear PCA fails completely”"
    solid = "“the different flow regimes are much more apparent” than in two dimensions"

    def default(q: int, what: int) -> float:
        return median(ours[q, seed][1][what] for seed in seeds)

    rows = []
    for reading in READINGS:
        first = reading == READINGS[0]
        errors = {q: found[q, reading][1][0] for q in (2, 3)}
        rows += [
            Row(
                f"2-D, 49 nodes, width 1, λ = 0.01, {LABELS[reading]}: test error of the nearest "
                "latent's class, %",
                words,
                errors[2],
                "lower",
                bound=flat / 3.0,
                default=default(2, 0) if first else None,
                beside=f"PCA {flat:.1f}",
                note="Read as a third of PCA's."
                + (" Default: PrincipalManifold(2), median of seeds." if first else ""),
                form=".1f",
                highlight=first,
            ),
            Row(
                f"3-D, 216 nodes, {LABELS[reading]}: the same",
                solid,
                errors[3],
                "lower",
                bound=errors[2] + MARGIN,
                default=default(3, 0) if first else None,
                beside=f"2-D {errors[2]:.1f}",
                note="Read as not above 2-D."
                + (" Default: PrincipalManifold(3), median of seeds." if first else ""),
                form=".1f",
                highlight=first,
            ),
        ]
    flows = found[3, READINGS[0]][0].latents
    rows += [
        Row(
            "2-D: lost share of the variance of test rows",
            None,
            found[2, READINGS[0]][1][1],
            default=default(2, 1),
        ),
        Row(
            "3-D: the same",
            None,
            found[3, READINGS[0]][1][1],
            default=default(3, 1),
        ),
        Row(
            "3-D: clusters of the latents of each of the three regimes",
            "“suggests that there exist 5 subdivisions of the regime denoted by ‘+’”",
            _clusters(flows, y),
            default=_clusters(ours[3, seeds[0]][0].embedding_, y),
            note=f"By HDBSCAN with at least {SMALLEST_CLUSTER} rows in a cluster. The paper "
            "does not say which regime ‘+’ is.",
        ),
    ]

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, 3)
        shown = {
            f"Fig. 3, left: {LABELS[READINGS[0]]}": found[2, READINGS[0]][0].latents,
            f"the same: {LABELS[READINGS[1]]}": found[2, READINGS[1]][0].latents,
            "Fig. 3, right: PCA": plane.transform(train),
            f"Fig. 4: 3-D, {LABELS[READINGS[0]]}": PCA(2).fit_transform(flows),
        }
        for ax, (title, Z) in zip(axes.flat, shown.items(), strict=False):
            ax.scatter(*Z.T, c=y, s=6, cmap="viridis")
            ax.set_title(title, fontsize=9)
        LatentMapDisplay.from_estimator(ours[2, seeds[0]][0], labels=y, ax=axes[1, 1])
        axes[1, 1].set_title("PrincipalManifold(2)", fontsize=9)
        Z = PCA(2).fit_transform(ours[3, seeds[0]][0].embedding_)
        axes[1, 2].scatter(*Z.T, c=y, s=6, cmap="viridis")
        axes[1, 2].set_title("PrincipalManifold(3)", fontsize=9)

    return Outcome(
        rows=rows,
        numbers={
            "1-NN in %, lost share, literal": {
                f"{q}-D, {reading}": found[q, reading][1] for q, reading in literal_tasks
            },
            "1-NN in %, lost share, default": {
                f"{q}-D, seed {seed}": ours[q, seed][1] for q, seed in tasks
            },
            "1-NN, PCA": flat,
        },
        pictures=draw(folder / "oil.png", "Figs. 3-4, PCA, and our defaults", (14, 9), paint),
        seeds=seeds,
    )


def _clusters(Z: Array, y: Array) -> str:
    """Return the numbers of clusters in the latents of each class."""
    finder = HDBSCAN(min_cluster_size=SMALLEST_CLUSTER, copy=True)
    found = [len(set(finder.fit_predict(Z[y == one])) - {-1}) for one in np.unique(y)]
    return ", ".join(str(one) for one in found)


def _gtm(task: tuple[int, float, float]) -> TopographicMap:
    return fit_gtm(oil_data()[0][0], GTM_SIDE, *task, n_iter=GTM_ITERATIONS)


def gtm(quick: bool, folder: Path) -> Outcome:
    """Compare with a generative topographic map whose settings are chosen on validation rows."""
    (train, valid, test), (y, _, y_test) = oil_data()
    grid = list(product((4, 7), (1.0,), (0.1,)))
    if not quick:
        grid = list(product((4, 7, 10), (0.5, 1.0, 2.0), (0.01, 0.1, 1.0)))
    maps = dict(zip(grid, in_processes(_gtm, grid), strict=True))
    chosen = min(grid, key=lambda one: maps[one].errors(valid)[1])
    rival = maps[chosen]
    total = float(np.square(test - test.mean(axis=0)).sum(axis=1).mean())
    at_places, on_surface = (one / total for one in rival.errors(test))
    Z, Z_test = rival.transform(train), rival.transform(test)
    theirs = _neighbor_error(Z, y, Z_test, y_test)
    _, (error, lost) = _literal((2, READINGS[0]))
    seeds = [0] if quick else [0, 1, 2]
    ours = in_processes(_default, [(2, seed) for seed in seeds])
    note = (
        "GTM: our implementation of Bishop et al. (1998), 20 x 20 places, basis functions, width "
        f"and penalty {chosen} by validation. Default: PrincipalManifold(2), median of seeds."
    )
    rows = [
        Row(
            "test error of the nearest latent's class, %",
            "“comparably to the GTM”",
            error,
            "lower",
            bound=theirs + MARGIN,
            default=median(one[1][0] for one in ours),
            beside=f"GTM {theirs:.1f}",
            note="Read as not above the GTM's. " + note,
            form=".1f",
            highlight=True,
        ),
        Row(
            "lost share of the variance of test rows",
            "“competitive” with the GTM",
            lost,
            "lower",
            bound=1.05 * min(at_places, on_surface),
            default=median(one[1][1] for one in ours),
            beside=f"GTM, nearest place {at_places:.3f}, nearest point {on_surface:.3f}",
            note="Read as within 5 % of the GTM's better encoding. " + note,
        ),
    ]

    def paint(figure: Any) -> None:
        ax = figure.add_subplot()
        ax.scatter(*Z.T, c=y, s=6, cmap="viridis")
        ax.set_title("generative topographic map, posterior means", fontsize=9)

    numbers = {
        "GTM: settings, 1-NN in %, nearest place, nearest point": [
            list(chosen),
            theirs,
            at_places,
            on_surface,
        ],
        "literal: 1-NN in %, lost share": [error, lost],
        "default: 1-NN in %, lost share": [one[1] for one in ours],
    }
    pictures = draw(folder / "gtm.png", "the map that the paper compares with", (5, 4.6), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)
