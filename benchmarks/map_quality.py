"""Does the map read well? Noisy rolls, smoothing of `UKR`, and the choice by the map's score.

    python -m benchmarks.map_quality [rolls] [smoothing] [choice] [--seeds 20] [--json results.json]

*rolls*: R^2 with the truth of estimators with default settings on noisy Swiss rolls, 1,000 rows,
noise 0.5, of two kinds: ours (a sheet of 90 by 50) and scikit-learn's (90 by 21). *smoothing*:
`UKR()` beside `UKR` with the settings that go on until the leave-one-out error falls no further.
*choice*: eight estimators on each set of at most ``--rows`` rows, and the one that
`twofold.metrics.map_score` takes. The sets are those of ``benchmarks.rivals``, and Statlog Landsat.

All three take about an hour on two cores.
"""

import argparse
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness.records import described, write_json
from benchmarks.rivals.data import DataSet, Split, catalogue, split
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

ROWS, NOISE = 1_000, 0.5
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
    """Print and return R^2 for each estimator, kind of roll and seed."""
    found = {}
    print("| noisy rolls, R^2 with the truth | kind | median | lowest | at least 0.98 | 0.99 |")
    print("|---|---|---|---|---|---|")
    for name in names:
        for kind, make in (("90 x 50", own_roll), ("90 x 21", sklearn_roll)):
            r2 = []
            for seed in seeds:
                X, truth = make(seed)
                r2.append(procrustes_r2(truth, ESTIMATORS[name](0).fit(X).embedding_))
            found[f"{name}, {kind}"] = r2
            good = [sum(one >= bound for one in r2) for bound in (0.98, 0.99)]
            of = f"of {len(r2)}"
            print(
                f"| `{name}` | {kind} | {statistics.median(r2):.4f} | {min(r2):.4f} | "
                f"{good[0]} {of} | {good[1]} {of} |",
                flush=True,
            )
    return found


def sets(most_rows):
    """Return the named sets with at most this many rows to fit, from the smallest on."""
    landsat = DataSet("Landsat", lambda: split(datasets.load_uci("satimage")))
    known = [*catalogue(quick=False), landsat]
    loaded = {one.name: _scaled(one.load()) for one in known if not one.on_request}
    small = {name: one for name, one in loaded.items() if len(one.X_train) <= most_rows}
    print(f"left out, more than {most_rows:,} rows: {', '.join(loaded.keys() - small.keys())}\n")
    return dict(sorted(small.items(), key=lambda item: item[1].X_train.size))


def smoothing(loaded):
    """Print and return the figures of `UKR` with default and with unsmoothed settings."""
    found = {}
    columns = "error", "codebook, K = 64", "jitter", "placement", "1-NN", "trust", "continuity", "s"
    print(f"| set | settings | {' | '.join(columns)} |")
    print("|---|---|" + "---|" * len(columns))
    for name in SMOOTHING_SETS:
        if name not in loaded:
            continue
        one = loaded[name]
        for label, settings in (("unsmoothed", UNSMOOTHED), ("`UKR()`", {})):
            began = time.process_time()
            model = UKR(random_state=0, **settings).fit(one.X_train)
            figures = {**judged(model, one), "s": time.process_time() - began}
            found[f"{name}, {label}"] = figures
            values = " | ".join(f"{value:.4g}" for value in figures.values())
            print(f"| {name} | {label} | {values} |", flush=True)
    return found


def judged(model, one):
    """Return the figures of a fitted model on held-out rows."""
    X, Z = one.X_test, model.transform(one.X_test)
    figures = {
        "error": relative_reconstruction_error(X, model.inverse_transform(Z)),
        "codebook": statistics.mean(codebook_error(model, X, 64, random_state=s) for s in range(3)),
        "jitter": jitter_error(model, X),
        "placement": neighbor_placement_error(model, X, one.X_train),
        "accuracy": np.nan,
        "trustworthiness": trustworthiness(X, Z),
        "continuity": continuity(X, Z),
    }
    if one.y_train is not None:
        figures["accuracy"] = nearest_neighbor_accuracy(
            model.embedding_, one.y_train, Z, one.y_test
        )
    return figures


def choice(loaded):
    """Print and return what the map's score chooses, beside the best on either number."""
    found = {}
    print("| set | chosen | error | lowest error | codebook, K = 64 | lowest | within 5 % |")
    print("|---|---|---|---|---|---|---|")
    for name, one in loaded.items():
        scores, errors, codebooks = {}, {}, {}
        for method, make in ESTIMATORS.items():
            model = make(0).fit(one.X_train)
            X = one.X_test
            # Half of the held-out rows choose, the other half judge the choice.
            half = len(X) // 2
            scores[method] = map_score(model, X[:half])
            rebuilt = model.inverse_transform(model.transform(X[half:]))
            errors[method] = relative_reconstruction_error(X[half:], rebuilt)
            codebooks[method] = codebook_error(model, X[half:], 64)
        chosen = max(scores, key=scores.get)
        ratios = [
            values[chosen] / min(values.values()) if min(values.values()) > 0 else 1.0
            for values in (errors, codebooks)
        ]
        found[name] = {"scores": scores, "errors": errors, "codebooks": codebooks}
        print(
            f"| {name} | `{chosen}` | {errors[chosen]:.3g} | {min(errors.values()):.3g} "
            f"(`{min(errors, key=errors.get)}`) | {codebooks[chosen]:.3g} | "
            f"{min(codebooks.values()):.3g} (`{min(codebooks, key=codebooks.get)}`) | "
            f"{'yes' if max(ratios) <= 1.05 else 'no'} ({ratios[0]:.2f}, {ratios[1]:.2f}) |",
            flush=True,
        )
    return found


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
    parser.add_argument(
        "parts", nargs="*", choices=["rolls", "smoothing", "choice", []], default=[]
    )
    parser.add_argument("--seeds", type=int, default=20, help="number of rolls of each kind")
    parser.add_argument("--first-seed", type=int, default=300, help="seed of the first roll")
    parser.add_argument("--rows", type=int, default=10_000, help="most rows to fit")
    parser.add_argument(
        "--estimators", nargs="*", default=["UKR()", "DRUR()", "PrincipalManifold()"]
    )
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args(arguments)
    parts = options.parts or ["rolls", "smoothing", "choice"]
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    record = described()
    if "rolls" in parts:
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        record["rolls"] = rolls(seeds, options.estimators)
    if {"smoothing", "choice"} & set(parts):
        loaded = sets(options.rows)
        if "smoothing" in parts:
            record["smoothing"] = smoothing(loaded)
        if "choice" in parts:
            record["choice"] = choice(loaded)
    if options.json:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
