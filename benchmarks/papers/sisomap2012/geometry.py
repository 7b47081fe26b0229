"""Agglomerative Isomap beyond the paper: joined pieces, loops of poses, many rows."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.manifold import Isomap

from benchmarks.harness.jobs import alone
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from twofold import AgglomerativeIsomap
from twofold.datasets import load_coil20, make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.protocols import Array


def pieces(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - it is quick
    """Embed two Swiss rolls that lie apart, five neighbors: joined, finite, each unrolled."""
    one, flat = make_swiss_roll(800, random_state=0)
    X = np.vstack([one, one + np.array([0.0, 60.0, 0.0])])
    model = AgglomerativeIsomap(2, n_neighbors=5, graph="knn").fit(X)
    halves = [model.embedding_[:800], model.embedding_[800:]]
    r2 = [procrustes_r2(flat, half) for half in halves]
    apart = procrustes_r2(
        flat, AgglomerativeIsomap(2, n_neighbors=5, graph="knn").fit(one).embedding_
    )
    gap = np.linalg.norm(halves[0].mean(axis=0) - halves[1].mean(axis=0)) / halves[0].std()

    def paint(figure: Any) -> None:
        color = np.tile(flat[:, 0], 2)
        figure.add_subplot(1, 2, 1, projection="3d").scatter(*X.T, c=color, s=3)
        ax = figure.add_subplot(1, 2, 2)
        ax.scatter(*model.embedding_.T, c=color, s=3)
        ax.set(title=f"joined from {model.n_pieces_} pieces", aspect="equal")

    return Outcome(
        rows=[
            Row("pieces of the graph", None, int(model.n_pieces_)),
            Row(
                "R² of a roll to its flat form, worse of the two, minus that of one embedded alone",
                "“To avoid this drawback”: wrong connections between folds",
                min(r2) - apart,
                "higher",
                bound=-0.02,
                beside=f"together {r2[0]:.3f} and {r2[1]:.3f}, alone {apart:.3f}",
            ),
        ],
        numbers={
            "pieces": model.n_pieces_,
            "finite": bool(np.isfinite(model.embedding_).all()),
            "R2": r2,
            "R2 alone": apart,
            "gap between the rolls over their spread": float(gap),
        },
        pictures=draw(folder / "pieces.png", "two rolls and their embedding", (9, 4), paint),
        seeds=[0],
    )


def _circle(Z: Array, pose: Array) -> tuple[Array, int, float]:
    """Return the principal plane of one object's latents, and how well angle and pose correlate.

    The correlation is circular, for one to four turns of the angle per turn of the object.

    Objects that look alike from two or four sides go round as many times.
    """
    Z = Z - Z.mean(axis=0)
    plane = Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T
    angle = np.arctan2(plane[:, 1], plane[:, 0])
    turns = {
        n: float(abs(np.exp(1j * (angle - n * pose)).mean())) for n in (1, -1, 2, -2, 3, -3, 4, -4)
    }
    best = max(turns, key=turns.__getitem__)
    return plane, abs(best), turns[best]


def coil(quick: bool, folder: Path) -> Outcome:
    """Embed COIL-20 with five neighbors: is it one piece, and do the 72 poses form closed loops?

    Twenty loops need many dimensions: each is looked at in its own principal plane of 150. Beside
    it each object is embedded alone, in two.
    """
    data = load_coil20()
    # The maps are not used: few centers make them fast and do not change the embedding.
    model = AgglomerativeIsomap(
        150,
        n_neighbors=5,
        graph="knn",
        out_of_sample="krr",
        n_centers=100 if quick else "auto",
    )
    model.fit(data.X)
    pose = np.deg2rad(data.angle)
    planes, together, alone_ = {}, {}, {}
    for label in np.unique(data.y):
        rows = data.y == label
        plane, n_turns, correlation = _circle(model.embedding_[rows], pose[rows])
        planes[int(label) + 1] = plane
        together[int(label) + 1] = n_turns, round(correlation, 3)
        own = AgglomerativeIsomap(2, n_neighbors=5, graph="knn").fit(data.X[rows])
        alone_[int(label) + 1] = [round(x, 3) for x in _circle(own.embedding_, pose[rows])[1:]]
    good = {
        "together": sum(value[1] >= 0.9 for value in together.values()),
        "alone": sum(value[1] >= 0.9 for value in alone_.values()),
    }

    def paint(figure: Any) -> None:
        for ax, (number, plane) in zip(figure.subplots(4, 5).flat, planes.items(), strict=True):
            rows = data.y == number - 1
            ax.plot(*np.vstack([plane, plane[:1]]).T, lw=0.5, color="0.7")
            ax.scatter(*plane.T, c=pose[rows], cmap="twilight", s=8)
            n_turns, correlation = together[number]
            title = f"object {number}: {correlation:.2f}, {n_turns} x"
            ax.set(xticks=[], yticks=[], title=title)

    return Outcome(
        rows=[
            Row("pieces joined", None, int(model.n_pieces_)),
            Row(
                "objects whose angle and pose have a circular correlation of 0.9, of 20",
                None,
                good["together"],
                beside=f"each embedded alone: {good['alone']}",
            ),
        ],
        numbers={
            "pieces joined": model.n_pieces_,
            "finite": bool(np.isfinite(model.embedding_).all()),
            "objects with a correlation of 0.9": good,
            "times round and circular correlation, together": together,
            "times round and circular correlation, alone": alone_,
            "residual variance, 2, 10, 150": model.residual_variance_[[1, 9, 149]],
        },
        pictures=draw(folder / "coil.png", "poses in each object's plane", (12, 9.5), paint),
    )


def fit_timed(n: int, which: str, path: str) -> dict[str, Any]:
    """Time one embedding of a Swiss roll in a process of its own, and save the embedding."""
    from sklearn.datasets import make_swiss_roll as usual_roll

    X = usual_roll(n, random_state=0)[0]
    AgglomerativeIsomap(n_landmarks=10).fit(X)  # so that loops are compiled
    Isomap().fit(X[:200])
    models: dict[str, Any] = {
        "scikit-learn": Isomap(n_neighbors=10),
        "exact": AgglomerativeIsomap(n_neighbors=10, graph="knn", out_of_sample="krr"),
        "landmarks": AgglomerativeIsomap(
            n_neighbors=10, graph="knn", out_of_sample="krr", n_landmarks=1_000, random_state=0
        ),
    }
    began = time.perf_counter()
    model = models[which].fit(X)
    seconds = time.perf_counter() - began
    np.save(path, model.embedding_)
    return {"seconds": seconds}


def speed(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Time a Swiss roll beside scikit-learn's Isomap, with landmarks, and many rows."""
    n, many = (3_000, 10_000) if quick else (10_000, 100_000)
    runs: dict[str, dict[str, Any]] = {}
    latents: dict[str, Array] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for which in ("scikit-learn", "exact", "landmarks"):
            path = str(Path(scratch) / f"{which}.npy")
            runs[which] = alone(fit_timed, n=n, which=which, path=path)
            latents[which] = np.load(path)
        path = str(Path(scratch) / "many.npy")
        runs["many"] = alone(fit_timed, n=many, which="landmarks", path=path)
    theirs, ours = runs["scikit-learn"], runs["exact"]
    agreement = procrustes_r2(latents["scikit-learn"], latents["exact"])
    by_landmarks = procrustes_r2(latents["exact"], latents["landmarks"])
    rows = [
        Row(
            f"{n:,} x 3, exact: seconds",
            None,
            ours["seconds"],
            beside=f"scikit-learn {theirs['seconds']:.1f} s",
        ),
        Row(
            f"{n:,} x 3, exact: peak memory, GB",
            None,
            ours["peak_gb"],
            beside=f"scikit-learn {theirs['peak_gb']:.2f} GB",
        ),
        Row(
            "R² of the two embeddings",
            "the same embedding",
            agreement,
            "higher",
            bound=0.999,
            form=".6f",
        ),
        Row(f"{n:,} x 3, 1,000 landmarks: seconds", None, runs["landmarks"]["seconds"]),
        Row("R² of landmarks to exact", None, by_landmarks, form=".6f"),
        Row(
            f"{many:,} x 3, 1,000 landmarks: seconds",
            None,
            runs["many"]["seconds"],
            note=f"{runs['many']['peak_gb']:.1f} GB.",
        ),
    ]
    numbers = {"runs": runs, "R2 to scikit-learn": agreement, "R2 of landmarks": by_landmarks}
    return Outcome(rows=rows, numbers=numbers, seeds=[0])
