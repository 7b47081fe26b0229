"""Do the features that were planted come first? `explain`, `explain_path`, `explain_difference`.

    python -m benchmarks.explain [PART ...] [--seeds 5] [--first-seed 100] [--json results.json]
                                 [--publish]

Parts are *roll*, *turned-roll*, *sheet*, *clusters* and *markers*: sets whose structure is in known
features, among nuisance features that are independent noise. Measured is the share of held-out rows
whose strongest feature is a planted one, and whose two strongest are; the same for straight paths
between two held-out rows that lie apart on the map, and for two selections of the 30 training rows
nearest to their places. *intervals*: how often the 95 % intervals of `explain_difference` cover the
truth, for selections of 40 new rows of two clusters.

The settings were chosen on seeds below 100. ``--publish`` keeps the figures in ``explain.json``
of the parts that ran beside this file and writes the tables of docs/guide/explain.md.
"""

import argparse
import statistics
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist, squareform

from benchmarks.harness import ROOT
from benchmarks.harness.kept import origin, publish, recorded
from benchmarks.harness.records import write_json
from twofold import DRUR, UKR, AgglomerativeIsomap, PrincipalManifold, TwoWay

KEPT = ROOT / "benchmarks" / "explain.json"
PAGE = ROOT / "docs" / "guide" / "explain.md"
MARKS = (
    "<!-- explain: written by python -m benchmarks.explain --publish; do not edit -->",
    "<!-- explain: end -->",
)
N_ROWS, N_HELD_OUT = 500, 100
N_PATHS, N_PLACES, N_SELECTED = 30, 30, 30
N_DRAWS, N_DRAWN, N_NEW = 50, 40, 4_000

ESTIMATORS = {
    "UKR()": lambda seed: UKR(random_state=seed),
    "DRUR()": lambda seed: DRUR(random_state=seed),
    "PrincipalManifold()": lambda seed: PrincipalManifold(random_state=seed),
    "AgglomerativeIsomap()": lambda seed: AgglomerativeIsomap(random_state=seed),
    'TwoWay("tsne")': lambda seed: TwoWay("tsne", random_state=seed),
    'TwoWay("isomap")': lambda seed: TwoWay("isomap", random_state=seed),
}
ANSWERS = ("explain", "scale=0", "spread", "path", "selections")


def roll(n_rows, rng, n_noise=12):
    """Return a noisy roll in three columns; nuisance features have 0.1 to 0.25 of its spread."""
    angle = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n_rows))
    height = 21.0 * rng.random(n_rows)
    planted = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    planted += 0.3 * rng.standard_normal(planted.shape)
    noise = rng.standard_normal((n_rows, n_noise)) * rng.uniform(0.5, 1.5, n_noise)
    return np.hstack([planted, noise]), 3


def turned_roll(n_rows, rng, n_columns=9, n_noise=12):
    """Return a roll turned into nine columns; nuisance features have 0.4 of their spread."""
    flat, _ = roll(n_rows, rng, 0)
    axes = np.linalg.qr(rng.standard_normal((n_columns, 3)))[0]
    planted = flat @ axes.T
    planted += 0.2 * rng.standard_normal(planted.shape)
    noise = 0.4 * planted.std(axis=0).mean() * rng.standard_normal((n_rows, n_noise))
    return np.hstack([planted, noise]), n_columns


def sheet(n_rows, rng, n_columns=8, n_noise=8):
    """Return a bent sheet in eight columns; all columns have the same spread."""
    places = rng.uniform(-1.0, 1.0, (n_rows, 2))
    angles = np.arange(n_columns) * np.pi / n_columns
    axes = np.stack([np.cos(angles), np.sin(angles)])
    planted = places @ axes + 0.3 * np.sin(2.5 * places @ axes[:, ::-1])
    planted += 0.1 * rng.standard_normal(planted.shape)
    return _standardized(planted, rng.standard_normal((n_rows, n_noise)))


def clusters(n_rows, rng, n_columns=5, n_noise=12):
    """Return five clusters that differ in five columns; all columns have the same spread."""
    centers = 3.0 * rng.standard_normal((5, n_columns))
    planted = centers[rng.integers(5, size=n_rows)] + rng.standard_normal((n_rows, n_columns))
    return _standardized(planted, rng.standard_normal((n_rows, n_noise)))


def markers(n_rows, rng, n_clusters=4, n_markers=3, n_noise=12):
    """Return clusters with three columns each that are high in it; columns of the same spread."""
    own = np.repeat(np.arange(n_clusters), n_markers)
    planted = rng.standard_normal((n_rows, len(own)))
    planted[rng.integers(n_clusters, size=n_rows)[:, None] == own] += 5.0
    return _standardized(planted, rng.standard_normal((n_rows, n_noise)))


def _standardized(planted, noise):
    X = np.hstack([planted, noise])
    return (X - X.mean(axis=0)) / X.std(axis=0), planted.shape[1]


SETS = {
    "roll": roll,
    "turned-roll": turned_roll,
    "sheet": sheet,
    "clusters": clusters,
    "markers": markers,
}


def planted(name, estimators, seeds):
    """Return the shares of planted features in a set for each estimator, answer and seed."""
    found = {}
    for called in estimators:
        shares = found[f"{name}, {called}"] = {answer: [] for answer in ANSWERS}
        for seed in seeds:
            rng = np.random.default_rng(seed)
            X, n_planted = SETS[name](N_ROWS + N_HELD_OUT, rng)
            model = ESTIMATORS[called](seed).fit(X[:N_ROWS])
            for answer, effects in answers(model, X, rng).items():
                shares[answer].append(first_and_second(effects, n_planted))
        print(_line(f"{name}, {called}", shares), flush=True)
    return found


def answers(model, X, rng):
    """Return the effects (n, D) of all answers of a model about held-out rows."""
    training, held_out = X[:N_ROWS], X[N_ROWS:]
    default = model.explain(held_out)
    paths, selections = [], []
    for start, end in far_pairs(default.latents, rng):
        paths.append(model.explain_path(np.linspace(start, end, N_PLACES)).effects)
        near = [
            np.argsort(np.square(model.embedding_ - place).sum(axis=1))[:N_SELECTED]
            for place in (start, end)
        ]
        parts = (training[rows] for rows in near)
        selections.append(model.explain_difference(*parts).effects)
    return {
        "explain": default.effects,
        "scale=0": model.explain(held_out, scale=0.0).effects,
        "spread": np.tile(default.spreads, (len(held_out), 1)),
        "path": np.array(paths),
        "selections": np.array(selections),
    }


def far_pairs(latents, rng):
    """Draw pairs of latents that are farther apart than half of all pairs."""
    distances = squareform(pdist(latents))
    pairs = np.argwhere(distances > np.median(distances))
    return latents[pairs[rng.choice(len(pairs), N_PATHS, replace=False)]]


def first_and_second(effects, n_planted):
    """Return the shares of rows whose first, and first two, features are among the first columns.

    Equal effects count as planted features last.
    """
    order = np.argsort(-effects[:, ::-1], axis=1, kind="stable")
    ranked = effects.shape[1] - 1 - order
    is_planted = ranked[:, :2] < n_planted
    return [float(is_planted[:, 0].mean()), float(is_planted.all(axis=1).mean())]


def _line(label, shares):
    cells = []
    for answer in ANSWERS:
        first = [one[0] for one in shares[answer]]
        both = [one[1] for one in shares[answer]]
        cells.append(f"{100 * statistics.mean(first):.0f} ({100 * min(first):.0f})")
        if answer == "explain":
            cells.append(f"{100 * statistics.mean(both):.0f} ({100 * min(both):.0f})")
    return f"| {label.replace(', ', ' | `', 1)}` | {' | '.join(cells)} |"


def planted_table(found):
    """Return the table of `planted` in Markdown."""
    head = "| set | estimator | `explain` | first two | `scale=0` | spread | path | selections |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(_line(label, shares) for label, shares in found.items())])


def intervals(estimators, seeds):
    """Return the shares of intervals that cover the truth, of planted and nuisance features."""
    found = {}
    for called in estimators:
        shares = [coverage(called, seed) for seed in seeds]
        found[called] = {key: [one[key] for one in shares] for key in shares[0]}
        print(_interval_line(called, found[called]), flush=True)
    return found


def coverage(called, seed):
    """Return how often intervals cover the difference of reconstructions, and that of the data."""
    rng = np.random.default_rng(seed)
    centers = 3.0 * rng.standard_normal((5, 5))
    n_planted = centers.shape[1]

    def drawn(n, number=None):
        own = rng.integers(5, size=n) if number is None else np.full(n, number)
        X = rng.standard_normal((n, n_planted + 12))
        X[:, :n_planted] += centers[own]
        return X

    model = ESTIMATORS[called](seed).fit(drawn(N_ROWS))
    new = [drawn(N_NEW, number) for number in (0, 1)]
    spreads = model.explain(new[0][:2]).spreads
    images = [model.reconstruct(rows) for rows in new]
    truths = {
        "reconstructions": (images[0].mean(axis=0) - images[1].mean(axis=0)) / spreads,
        "data": np.append(centers[0] - centers[1], np.zeros(12)) / spreads,
    }
    hits = {key: [] for key in truths}
    for _ in range(N_DRAWS):
        parts = [rows[rng.choice(N_NEW, N_DRAWN, replace=False)] for rows in new]
        result = model.explain_difference(*parts)
        for key, truth in truths.items():
            hits[key].append((result.low <= truth) & (truth <= result.high))
    shares = {}
    for key, rows in hits.items():
        shares[f"{key}, planted"] = float(np.mean(rows, axis=0)[:n_planted].mean())
        shares[f"{key}, nuisance"] = float(np.mean(rows, axis=0)[n_planted:].mean())
    return shares


def _interval_line(label, shares):
    cells = [f"{100 * statistics.mean(values):.1f}" for values in shares.values()]
    return f"| `{label}` | {' | '.join(cells)} |"


def intervals_table(found):
    """Return the table of `intervals` in Markdown."""
    columns = list(next(iter(found.values())))
    lines = [f"| estimator | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join([*lines, *(_interval_line(label, one) for label, one in found.items())])


PARTS = (*SETS, "intervals")
ABOUT = (
    "Percent of cases whose strongest feature is a planted one, mean over seeds (lowest seed): "
    f"{N_HELD_OUT} held-out rows for `explain`, and for its two strongest features; the exact "
    "derivative of the encoder (`scale=0`); the spread alone, without a map; paths between two "
    f"rows; selections around two places of the map. Fits to {N_ROWS} rows."
)
COVERED = (
    f"Percent of 95 % intervals that cover the difference of the means of {N_NEW:,} "
    "reconstructions per cluster, and the difference of the cluster centers in the data, for "
    f"selections of {N_DRAWN} new rows:"
)


def section(parts):
    """Return the section of the page, each part with its command, commit and date."""
    said = {part: origin(_command(part, record), record) for part, record in parts.items()}
    figures = {
        label: one
        for part, record in parts.items()
        if part in SETS
        for label, one in record["figures"].items()
    }
    written = [" ".join(said[part] for part in parts if part in SETS), ABOUT]
    written += [planted_table(figures)]
    if "intervals" in parts:
        written += [
            f"{said['intervals']} {COVERED}",
            intervals_table(parts["intervals"]["figures"]),
        ]
    return "\n\n".join(written)


def _command(part, record):
    """Return the command of a part, with its number of seeds."""
    first = next(iter(record["figures"].values()))
    return f"python -m benchmarks.explain {part} --seeds {len(next(iter(first.values())))}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=100, help="the first seed")
    parser.add_argument("--estimators", nargs="*", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--publish", action="store_true", help="write docs/guide/explain.md")
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    warnings.simplefilter("ignore")
    measured = {}
    for part in options.parts or PARTS:
        if part in SETS:
            figures = planted(part, options.estimators, seeds)
        else:
            figures = intervals(options.estimators, seeds)
        measured[part] = recorded(figures)
        if options.json:
            write_json(options.json, measured)
    if options.publish:
        publish(KEPT, measured, PARTS, PAGE, MARKS, section)


if __name__ == "__main__":
    main()
