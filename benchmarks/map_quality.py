"""Does the map read well? Noisy rolls, smoothing of `UKR`, and the choice by the map's score.

    python -m benchmarks.map_quality [rolls] [smoothing] [choice] [--seeds 20] [--json results.json]
                                     [--publish]

*rolls*: R^2 with the truth of estimators with default settings on noisy Swiss rolls, 1,000 rows,
noise 0.5, of two kinds: ours (a sheet of 90 by 50) and scikit-learn's (90 by 21). *smoothing*:
`UKR()` beside `UKR` with the settings that go on until the leave-one-out error falls no further.
*choice*: eight estimators on each set of at most ``--rows`` rows, and the one that
`twofold.metrics.map_score` takes. The sets are those of ``benchmarks.rivals``, and Statlog Landsat.

``--publish`` keeps the parts that ran in ``map_quality.json`` beside this file and writes the
section of docs/measured.md from that file.
"""

import argparse
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import ROOT
from benchmarks.harness.kept import figures_table, origin, publish, recorded
from benchmarks.harness.records import write_json
from benchmarks.rivals.catalogue import catalogue
from benchmarks.rivals.data import DataSet, Split, split
from twofold import DRUR, SNE, UKR, AgglomerativeIsomap, PrincipalManifold, TwoWay, datasets
from twofold.datasets import make_swiss_roll
from twofold.metrics import (
    codebook_error,
    continuity,
    jitter_error,
    map_score,
    nearest_neighbor_accuracy,
    neighbor_placement_error,
    procrustes_r2,
    relative_reconstruction_error,
    trustworthiness,
)

KEPT = ROOT / "benchmarks" / "map_quality.json"
MARKS = (
    "<!-- map quality: written by python -m benchmarks.map_quality --publish; do not edit -->",
    "<!-- map quality: end -->",
)
ROWS, NOISE = 1_000, 0.5
NAMED = ("digits", "oil flow", "COIL-20", "S-curve", "USPS", "MNIST", "Swiss roll")
"""Sets of ``benchmarks.rivals``, by the beginnings of their names."""
ESTIMATORS = {
    "UKR()": lambda seed: UKR(random_state=seed),
    "DRUR()": lambda seed: DRUR(random_state=seed),
    "PrincipalManifold()": lambda seed: PrincipalManifold(2, random_state=seed),
    "SNE()": lambda seed: SNE(random_state=seed),
    "AgglomerativeIsomap()": lambda seed: AgglomerativeIsomap(random_state=seed),
    'TwoWay("tsne")': lambda seed: TwoWay("tsne", random_state=seed),
    'TwoWay("isomap")': lambda seed: TwoWay("isomap", random_state=seed),
    'UKR(init="tsne")': lambda seed: UKR(init="tsne", random_state=seed),
}
UNSMOOTHED = {"tol": 1e-4, "pseudo_count": 0.03, "density_threshold": "quantile:0"}
SMOOTHING_SETS = ("digits", "USPS", "COIL-20", "oil flow", "Landsat", "MNIST")


def own_roll(seed):
    """Return a noisy roll of a sheet of 90 by 50, and its parameters."""
    return make_swiss_roll(ROWS, NOISE, random_state=seed)


def sklearn_roll(seed):
    """Return scikit-learn's noisy roll, and its arc length and height before the noise."""
    from sklearn.datasets import make_swiss_roll as make

    X, angle = make(ROWS, noise=NOISE, random_state=seed)
    clean, _ = make(ROWS, noise=0.0, random_state=seed)
    arc = 0.5 * (angle * np.sqrt(1.0 + angle**2) + np.arcsinh(angle))
    return X, np.column_stack([arc, clean[:, 1]])


def rolls(seeds, names):
    """Return R^2 for each estimator, kind of roll and seed."""
    found = {}
    for name in names:
        for kind, make in (("90 x 50", own_roll), ("90 x 21", sklearn_roll)):
            r2 = found[f"{name}, {kind}"] = []
            for seed in seeds:
                X, truth = make(seed)
                r2.append(procrustes_r2(truth, ESTIMATORS[name](0).fit(X).embedding_))
    return found


def rolls_table(found):
    """Return the table of `rolls` in Markdown."""
    lines = [
        "| estimator | sheet | median | lowest | at least 0.98 | at least 0.99 |",
        "|---|---|---|---|---|---|",
    ]
    for label, r2 in found.items():
        name, _, kind = label.rpartition(", ")
        good = [f"{sum(one >= bound for one in r2)} of {len(r2)}" for bound in (0.98, 0.99)]
        figures = f"{statistics.median(r2):.4f} | {min(r2):.4f} | {good[0]} | {good[1]}"
        lines.append(f"| `{name}` | {kind} | {figures} |")
    return "\n".join(lines)


def sets(most_rows):
    """Return the named sets with at most this many rows to fit, from the smallest on."""
    landsat = DataSet("Landsat", lambda: split(datasets.load_uci("satimage")))
    known = [one for one in catalogue(quick=False) if one.name.startswith(NAMED)]
    loaded = {one.name: _scaled(one.load()) for one in [*known, landsat] if not one.on_request}
    small = {name: one for name, one in loaded.items() if len(one.X_train) <= most_rows}
    print(f"left out, more than {most_rows:,} rows: {', '.join(loaded.keys() - small.keys())}\n")
    return dict(sorted(small.items(), key=lambda item: item[1].X_train.size))


def smoothing(loaded):
    """Return the figures of `UKR` with default and with unsmoothed settings."""
    found = {}
    for name in SMOOTHING_SETS:
        if name not in loaded:
            continue
        one = loaded[name]
        for label, settings in (("unsmoothed", UNSMOOTHED), ("`UKR()`", {})):
            began = time.process_time()
            model = UKR(random_state=0, **settings).fit(one.X_train)
            figures = {**judged(model, one), "CPU seconds": time.process_time() - began}
            found[f"{name}, {label}"] = figures
    return found


def smoothing_table(found):
    """Return the table of `smoothing` in Markdown."""
    return figures_table("set, settings", found)


def judged(model, one):
    """Return the figures of a fitted model on held-out rows."""
    X, Z = one.X_test, model.transform(one.X_test)
    codebooks = [codebook_error(model, X, 64, random_state=seed) for seed in range(3)]
    figures = {
        "error": relative_reconstruction_error(X, model.inverse_transform(Z)),
        "codebook error, K = 64": statistics.mean(codebooks),
        "jitter": jitter_error(model, X),
        "placement": neighbor_placement_error(model, X, one.X_train),
        "1-NN accuracy": None,
        "trustworthiness": trustworthiness(X, Z),
        "continuity": continuity(X, Z),
    }
    if one.y_train is not None:
        figures["1-NN accuracy"] = nearest_neighbor_accuracy(
            model.embedding_, one.y_train, Z, one.y_test
        )
    return figures


def choice(loaded):
    """Return scores, errors and codebook errors of all estimators on each set."""
    found = {}
    for name, one in loaded.items():
        figures = found[name] = {"scores": {}, "errors": {}, "codebooks": {}}
        # Half of the held-out rows choose, the other half judge the choice.
        half = len(one.X_test) // 2
        X, X_judge = one.X_test[:half], one.X_test[half:]
        for method, make in ESTIMATORS.items():
            model = make(0).fit(one.X_train)
            rebuilt = model.inverse_transform(model.transform(X_judge))
            figures["scores"][method] = map_score(model, X)
            figures["errors"][method] = relative_reconstruction_error(X_judge, rebuilt)
            figures["codebooks"][method] = codebook_error(model, X_judge, 64)
    return found


def choice_table(found):
    """Return what the map's score chooses, beside the best on either number, in Markdown."""
    lines = [
        "| set | chosen | error | lowest error | codebook, K = 64 | lowest | within 5 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, figures in found.items():
        chosen = max(figures["scores"], key=figures["scores"].get)
        cells, ratios = [], []
        for key in ("errors", "codebooks"):
            values = figures[key]
            best = min(values, key=values.get)
            ratios.append(values[chosen] / values[best] if values[best] > 0 else 1.0)
            cells.append(f"{values[chosen]:.3g} | {values[best]:.3g} (`{best}`)")
        within = f"{'yes' if max(ratios) <= 1.05 else 'no'} ({ratios[0]:.2f}, {ratios[1]:.2f})"
        lines.append(f"| {name} | `{chosen}` | {' | '.join(cells)} | {within} |")
    return "\n".join(lines)


TABLES = {"rolls": rolls_table, "smoothing": smoothing_table, "choice": choice_table}
WORDS = {
    "rolls": "$R^2$ with the true sheet on noisy Swiss rolls of 1,000 rows and noise 0.5, of two "
    "kinds (ours and scikit-learn's), default settings:",
    "smoothing": "`UKR()` beside the settings that minimize the leave-one-out error further, on "
    f"held-out rows. Unsmoothed: `{', '.join(f'{k}={v!r}' for k, v in UNSMOOTHED.items())}`.",
    "choice": "The estimator with the best map score on half of the held-out rows, judged on the "
    "other half:",
}


def section(parts):
    """Return the section of docs/measured.md, each part with its command, commit and date."""
    written = []
    for part, record in parts.items():
        said = origin(f"python -m benchmarks.map_quality {part}", record)
        written += [f"{said} {WORDS[part]}", TABLES[part](record["figures"])]
    return "\n\n".join(written)


def _scaled(raw):
    """Return a split at a total variance of one per column, which changes no geometry."""
    X = np.asarray(raw.X_train, dtype=np.float64)
    scale = float(np.sqrt(np.square(X - X.mean(axis=0)).mean())) or 1.0
    parts = {name: value for name, value in vars(raw).items() if value is not None}
    for name in ("X_train", "X_test"):
        parts[name] = np.asarray(parts[name], dtype=np.float64) / scale
    return Split(**parts)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*TABLES, []], default=[])
    parser.add_argument("--seeds", type=int, default=20, help="number of rolls of each kind")
    parser.add_argument("--first-seed", type=int, default=300, help="seed of the first roll")
    parser.add_argument("--rows", type=int, default=10_000, help="most rows to fit")
    parser.add_argument(
        "--estimators", nargs="*", default=["UKR()", "DRUR()", "PrincipalManifold()"]
    )
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--publish", action="store_true", help="write docs/measured.md")
    options = parser.parse_args(arguments)
    parts = options.parts or list(TABLES)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    measured = {}
    for part in parts:
        if part == "rolls":
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            figures = rolls(seeds, options.estimators)
        else:
            figures = {"smoothing": smoothing, "choice": choice}[part](sets(options.rows))
        measured[part] = recorded(figures)
        print(TABLES[part](figures), flush=True)
    if options.json:
        write_json(options.json, measured)
    if options.publish:
        publish(KEPT, measured, TABLES, ROOT / "docs" / "measured.md", MARKS, section)


if __name__ == "__main__":
    main()
