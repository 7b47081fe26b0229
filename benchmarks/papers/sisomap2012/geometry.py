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
from twofold.protocols import AnyArray, Array

PAPERS_GRAPH: dict[str, Any] = {"n_neighbors": 5, "graph": "knn", "out_of_sample": "krr"}
"""A-Isomap of section 2.1, with h = 5."""

FAST_MAPS: dict[str, Any] = {"out_of_sample": "krr", "n_centers": 100}
"""Where maps are not used: they do not change the embedding."""

LANDMARKS_NOTE = 'Ours, not default: n_landmarks=1000, graph="knn", h = 10, ridge maps'


def pieces(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - it is quick
    """Embed two Swiss rolls that lie apart, five neighbors: joined, finite, each unrolled."""
    one, flat = make_swiss_roll(800, random_state=0)
    X = np.vstack([one, one + np.array([0.0, 60.0, 0.0])])
    columns = {
        column: _two_rolls(AgglomerativeIsomap(2, **(settings | FAST_MAPS)), X, one, flat)
        for column, settings in (("literal", PAPERS_GRAPH), ("default", {}))
    }
    more = AgglomerativeIsomap(3, **(PAPERS_GRAPH | FAST_MAPS)).fit(X).embedding_
    in_three = min(
        procrustes_r2(flat, _plane(half)) for half in (more[: len(one)], more[len(one) :])
    )
    literal, default = columns["literal"], columns["default"]
    latents = literal.pop("latents")
    default.pop("latents")

    def paint(figure: Any) -> None:
        color = np.tile(flat[:, 0], 2)
        figure.add_subplot(1, 2, 1, projection="3d").scatter(*X.T, c=color, s=3)
        ax = figure.add_subplot(1, 2, 2)
        ax.scatter(*latents.T, c=color, s=3)
        ax.set(title=f"joined from {literal['pieces']} pieces", aspect="equal")

    return Outcome(
        rows=[
            Row("pieces of the graph", None, literal["pieces"], default=default["pieces"]),
            Row(
                "R² of a roll to its flat form, worse of the two, minus that of one embedded alone",
                "“To avoid this drawback”: wrong connections between folds",
                min(literal["R2"]) - literal["R2 alone"],
                "higher",
                default=min(default["R2"]) - default["R2 alone"],
                bound=-0.02,
                beside="; ".join(
                    f"{name}: together {one['R2'][0]:.3f} and {one['R2'][1]:.3f}, alone "
                    f"{one['R2 alone']:.3f}"
                    for name, one in columns.items()
                ),
                note="Literal: h = 5, the graph of section 2.1. Defaults: AgglomerativeIsomap(). "
                "The rolls are joined by one edge. Path lengths through one edge are not distances "
                "in a plane; in three dimensions the worse roll, in its own plane, has "
                f"{in_three:.3f} (literal).",
            ),
        ],
        numbers=columns,
        pictures=draw(folder / "pieces.png", "two rolls and their embedding", (9, 4), paint),
        seeds=[0],
    )


def _two_rolls(model: AgglomerativeIsomap, X: Array, one: Array, flat: Array) -> dict[str, Any]:
    """Embed both rolls, and one alone; return how well they are unrolled."""
    latents = model.fit(X).embedding_
    n_pieces = int(model.n_pieces_)
    halves = [latents[: len(one)], latents[len(one) :]]
    gap = np.linalg.norm(halves[0].mean(axis=0) - halves[1].mean(axis=0)) / halves[0].std()
    return {
        "latents": latents,
        "pieces": n_pieces,
        "finite": bool(np.isfinite(latents).all()),
        "R2": [procrustes_r2(flat, half) for half in halves],
        "R2 alone": procrustes_r2(flat, model.fit(one).embedding_),
        "gap between the rolls over their spread": float(gap),
    }


def _plane(Z: Array) -> Array:
    """Return latents in their principal plane, shape (n, 2)."""
    Z = Z - Z.mean(axis=0)
    return Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T


def _circle(Z: Array, pose: Array) -> tuple[Array, int, float]:
    """Return the principal plane of one object's latents, and how well angle and pose correlate.

    The correlation is circular, for one to four turns of the angle per turn of the object.

    Objects that look alike from two or four sides go round as many times.
    """
    plane = _plane(Z)
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
    pose = np.deg2rad(data.angle)
    literal = _loops(AgglomerativeIsomap(150, **(PAPERS_GRAPH | FAST_MAPS)), data.X, data.y, pose)
    default = None
    if not quick:
        default = _loops(AgglomerativeIsomap(150, **FAST_MAPS), data.X, data.y, pose)
    planes = literal.pop("planes")
    found = {"literal": literal}
    if default is not None:
        default.pop("planes")
        found["default"] = default
    alone_ = {}
    for label in np.unique(data.y):
        rows = data.y == label
        own = AgglomerativeIsomap(2, **PAPERS_GRAPH).fit(data.X[rows])
        alone_[int(label) + 1] = [round(x, 3) for x in _circle(own.embedding_, pose[rows])[1:]]
    n_alone = sum(value[1] >= 0.9 for value in alone_.values())

    def paint(figure: Any) -> None:
        for ax, (number, plane) in zip(figure.subplots(4, 5).flat, planes.items(), strict=True):
            rows = data.y == number - 1
            ax.plot(*np.vstack([plane, plane[:1]]).T, lw=0.5, color="0.7")
            ax.scatter(*plane.T, c=pose[rows], cmap="twilight", s=8)
            n_turns, correlation = literal["times round and circular correlation"][number]
            title = f"object {number}: {correlation:.2f}, {n_turns} x"
            ax.set(xticks=[], yticks=[], title=title)

    return Outcome(
        rows=[
            Row(
                "pieces joined",
                None,
                literal["pieces joined"],
                default=default and default["pieces joined"],
            ),
            Row(
                "objects whose angle and pose have a circular correlation of 0.9, of 20",
                None,
                literal["objects with a correlation of 0.9"],
                default=default and default["objects with a correlation of 0.9"],
                beside=f"each embedded alone: {n_alone}",
                note="Literal: h = 5, the graph of section 2.1. Defaults: AgglomerativeIsomap(150)"
                ", with a ridge map of 100 centers, which does not change the embedding.",
            ),
        ],
        numbers={**found, "times round and circular correlation, alone": alone_},
        pictures=draw(folder / "coil.png", "poses in each object's plane", (12, 9.5), paint),
    )


def _loops(model: AgglomerativeIsomap, X: Array, y: AnyArray, pose: Array) -> dict[str, Any]:
    """Embed all objects; return the plane of each, and how well its angle follows the pose."""
    model.fit(X)
    planes, turns = {}, {}
    for label in np.unique(y):
        rows = y == label
        plane, n_turns, correlation = _circle(model.embedding_[rows], pose[rows])
        planes[int(label) + 1] = plane
        turns[int(label) + 1] = n_turns, round(correlation, 3)
    return {
        "planes": planes,
        "pieces joined": int(model.n_pieces_),
        "finite": bool(np.isfinite(model.embedding_).all()),
        "objects with a correlation of 0.9": sum(value[1] >= 0.9 for value in turns.values()),
        "times round and circular correlation": turns,
        "residual variance, 2, 10, 150": model.residual_variance_[[1, 9, 149]],
    }


def fit_timed(n: int, which: str, path: str) -> dict[str, Any]:
    """Time one embedding of a Swiss roll in a process of its own, and save the embedding."""
    from sklearn.datasets import make_swiss_roll as usual_roll

    X = usual_roll(n, random_state=0)[0]
    AgglomerativeIsomap(n_landmarks=10).fit(X)  # so that loops are compiled
    Isomap().fit(X[:200])
    models: dict[str, Any] = {
        "scikit-learn": Isomap(n_neighbors=10),
        "exact": AgglomerativeIsomap(n_neighbors=10, graph="knn", out_of_sample="krr"),
        "default": AgglomerativeIsomap(),
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
        for which in ("scikit-learn", "exact", "default", "landmarks"):
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
            default=runs["default"]["seconds"],
            beside=f"scikit-learn {theirs['seconds']:.1f} s",
            note="Literal: the graph of section 2.1, h = 10, ridge maps; scikit-learn has the same "
            "graph and no maps. Defaults: AgglomerativeIsomap(), mutual graph, both kinds of map.",
            highlight=True,
        ),
        Row(
            f"{n:,} x 3, exact: peak memory, GB",
            None,
            ours["peak_gb"],
            default=runs["default"]["peak_gb"],
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
        Row(
            f"{n:,} x 3, 1,000 landmarks: seconds",
            None,
            default=runs["landmarks"]["seconds"],
            note=f"{LANDMARKS_NOTE}.",
        ),
        Row("R² of landmarks to exact", None, default=by_landmarks, form=".6f"),
        Row(
            f"{many:,} x 3, 1,000 landmarks: seconds",
            None,
            default=runs["many"]["seconds"],
            note=f"{LANDMARKS_NOTE}; {runs['many']['peak_gb']:.1f} GB.",
        ),
    ]
    numbers = {"runs": runs, "R2 to scikit-learn": agreement, "R2 of landmarks": by_landmarks}
    return Outcome(rows=rows, numbers=numbers, seeds=[0])
