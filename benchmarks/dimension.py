"""How often is the latent dimension found? Manifolds of known dimension, and noise.

    python -m benchmarks.dimension [SET ...] [--seeds 10] [--first-seed 1000] [--json results.json]
                                   [--publish]

`twofold.model_selection.choose_dimension` on each set, once for each seed. The seed draws the
rows, the embedding and the noise. The settings were chosen on seeds below 1,000.
``--publish`` keeps the figures in ``dimension.json`` beside this file and writes
the table of docs/guide/dimension.md.
"""

import argparse
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from benchmarks.harness import ROOT
from benchmarks.harness.kept import origin, publish, recorded
from benchmarks.harness.records import write_json
from twofold.datasets import make_noisy_helix, make_noisy_spiral, make_swiss_roll
from twofold.model_selection import choose_dimension

KEPT = ROOT / "benchmarks" / "dimension.json"
MARKS = (
    "<!-- dimension: written by python -m benchmarks.dimension --publish; do not edit -->",
    "<!-- dimension: end -->",
)
NOISE = "noise"


def torus(n_rows, noise, radius, seed):
    """Return a noisy torus, uniform on the surface; the tube has radius 1."""
    rng = np.random.default_rng(seed)
    around, tube = rng.uniform(0.0, 2.0 * np.pi, (2, 4 * n_rows))
    kept = rng.uniform(size=4 * n_rows) < (radius + np.cos(tube)) / (radius + 1.0)
    around, tube = around[kept][:n_rows], tube[kept][:n_rows]
    reach = radius + np.cos(tube)
    X = np.column_stack([reach * np.cos(around), reach * np.sin(around), np.sin(tube)])
    return X + noise * rng.standard_normal(X.shape)


def sines(n_rows, dimension, n_features, noise, frequency, seed):
    """Return random mixtures of sines of uniform latents, with noise relative to their spread."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.0, 1.0, (n_rows, dimension))
    n_waves = 4 * dimension
    phases = frequency * Z @ rng.standard_normal((dimension, n_waves))
    waves = np.sin(phases + rng.uniform(0.0, 2.0 * np.pi, n_waves))
    X = waves @ rng.standard_normal((n_waves, n_features))
    return X + noise * X.std() * rng.standard_normal(X.shape)


def quadratic(n_rows, dimension, n_features, noise, bend, seed):
    """Return a random linear plus quadratic function of uniform latents, with noise."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.0, 1.0, (n_rows, dimension))
    squares = (Z[:, :, None] * Z[:, None])[:, *np.triu_indices(dimension)]
    X = Z @ rng.standard_normal((dimension, n_features))
    X += bend * squares @ rng.standard_normal((squares.shape[1], n_features))
    return X + noise * X.std() * rng.standard_normal(X.shape)


@dataclass(frozen=True)
class Known:
    """A set, its dimension (0 for noise) and the function that draws it from a seed."""

    name: str
    dimension: int
    draw: Any


def _gaussian(n_rows, n_features):
    return lambda seed: np.random.default_rng(seed).standard_normal((n_rows, n_features))


SETS = [
    Known("spiral, 1,000 x 2, noise 0.05", 1, lambda s: make_noisy_spiral(1000, random_state=s)[0]),
    Known(
        "spiral, 1,000 x 2, noise 0.08",
        1,
        lambda s: make_noisy_spiral(1000, 0.08, random_state=s)[0],
    ),
    Known("helix, 1,000 x 3", 1, lambda s: make_noisy_helix(1000, random_state=s)[0]),
    Known(
        "Swiss roll, 1,000 x 3, noise 0.5",
        2,
        lambda s: make_swiss_roll(1000, 0.5, random_state=s)[0],
    ),
    Known(
        "Swiss roll, 1,500 x 20, noise 0.5",
        2,
        lambda s: make_swiss_roll(1500, 0.5, n_features=20, random_state=s)[0],
    ),
    Known(
        "Swiss roll of scikit-learn, 1,000 x 3, noise 0.5",
        2,
        lambda s: sklearn_datasets.make_swiss_roll(1000, noise=0.5, random_state=s)[0],
    ),
    Known(
        "Swiss roll, 2,000 x 3, noise 1",
        2,
        lambda s: make_swiss_roll(2000, 1.0, random_state=s)[0],
    ),
    Known("torus, radii 2 and 1, 1,500 x 3, noise 0.05", 2, lambda s: torus(1500, 0.05, 2.0, s)),
    Known("torus, radii 3 and 1, 1,000 x 3, noise 0.1", 2, lambda s: torus(1000, 0.1, 3.0, s)),
    Known("3-D, sines, 1,500 x 20", 3, lambda s: sines(1500, 3, 20, 0.05, 1.0, s)),
    Known("3-D, quadratic, 1,500 x 20", 3, lambda s: quadratic(1500, 3, 20, 0.05, 0.5, s)),
    Known("3-D, sines, 2,000 x 20, noise 10 %", 3, lambda s: sines(2000, 3, 20, 0.1, 1.0, s)),
    Known("3-D, faster sines, 2,000 x 20", 3, lambda s: sines(2000, 3, 20, 0.05, 2.0, s)),
    Known("4-D, quadratic, 2,000 x 30", 4, lambda s: quadratic(2000, 4, 30, 0.1, 0.5, s)),
    Known("5-D, sines, 4,000 x 50", 5, lambda s: sines(4000, 5, 50, 0.05, 0.7, s)),
    Known("5-D, quadratic, 4,000 x 50", 5, lambda s: quadratic(4000, 5, 50, 0.05, 0.3, s)),
    Known(
        "5-D, quadratic, 3,000 x 50, noise 10 %", 5, lambda s: quadratic(3000, 5, 50, 0.1, 0.3, s)
    ),
    Known("Gaussian noise, 1,000 x 10", 0, _gaussian(1000, 10)),
    Known("Gaussian noise, 1,000 x 50", 0, _gaussian(1000, 50)),
    Known("Gaussian noise, 2,000 x 50", 0, _gaussian(2000, 50)),
    Known("Gaussian noise, 300 x 5", 0, _gaussian(300, 5)),
    Known(
        "heavy-tailed noise, 1,000 x 10",
        0,
        lambda s: np.random.default_rng(s).standard_t(3, (1000, 10)),
    ),
]


def measured(names, seeds):
    """Return what is found on each set, and the median seconds."""
    found = {}
    choose_dimension(SETS[3].draw(10**6))  # compiled code is loaded
    for one in SETS:
        if names and one.name not in names:
            continue
        answers, seconds = [], []
        for seed in seeds:
            X = one.draw(seed)
            began = time.perf_counter()
            choice = choose_dimension(X, random_state=seed)
            seconds.append(time.perf_counter() - began)
            answers.append(NOISE if choice.is_noise else choice.n_components)
        found[one.name] = {
            "truth": one.dimension or NOISE,
            "found": answers,
            "seconds": statistics.median(seconds),
        }
        print(_line(one.name, found[one.name]), flush=True)
    return found


def _line(name, figures):
    truth, found = figures["truth"], figures["found"]
    others = Counter(answer for answer in found if answer != truth)
    said = ", ".join(f"{answer} ({times})" for answer, times in sorted(others.items(), key=str))
    right = f"{found.count(truth)} of {len(found)}"
    return f"| {name} | {truth} | {right} | {said} | {figures['seconds']:.2f} |"


def table(found):
    """Return the table of the figures in Markdown."""
    head = [
        "| set | dimension | found | other answers (times) | seconds |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(_line(name, figures) for name, figures in found.items())])


def section(parts):
    """Return the section of the page, with command, commit and date."""
    record = parts["dimension"]
    said = origin("python -m benchmarks.dimension", record)
    return f"{said} Median seconds of one choice, in one thread.\n\n{table(record['figures'])}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=1000, help="the first seed")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--publish", action="store_true", help="write docs/guide/dimension.md")
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    parts = {"dimension": recorded(measured(options.sets, seeds))}
    if options.json:
        write_json(options.json, parts)
    if options.publish:
        page = ROOT / "docs" / "guide" / "dimension.md"
        publish(KEPT, parts, ["dimension"], page, MARKS, section)


if __name__ == "__main__":
    main()
