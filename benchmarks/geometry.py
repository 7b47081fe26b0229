"""Are shortest paths short, do they keep to the data, and is stability high where it should be?

    python -m benchmarks.geometry [lengths] [gaps] [stability] [--seeds 3] [--json results.json]
                                  [--publish]

*lengths*: decoded length of ``geodesic`` over the known geodesic distance, between held-out rows of
clean Swiss rolls and S-curves; "bent" is the true sheet with bent coordinates. *gaps*: paths beside
straight lines on maps with empty places, between held-out rows: the lowest log density along them
and, for digits, the mean distance of the frames to the nearest training row. *stability*: the
overall score on clean rolls and on noise, and those of rows on two sheets and between them.

``--publish`` keeps the parts that ran in ``geometry.json`` beside this file and writes the section
of docs/measured.md from that file.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import ROOT
from benchmarks.harness.kept import figures_table, origin, publish, recorded
from benchmarks.harness.records import write_json
from twofold import DRUR, UKR, TwoWay
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.model_selection import stability

KEPT = ROOT / "benchmarks" / "geometry.json"
MARKS = (
    "<!-- geometry: written by python -m benchmarks.geometry --publish; do not edit -->",
    "<!-- geometry: end -->",
)
ROWS, HELD_OUT, N_POINTS = 1_000, 20, 200


def summary(values):
    """Return the median and the 10 % and 90 % quantiles, as text."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def length(model, path):
    """Return the length of a decoded path."""
    return float(np.linalg.norm(np.diff(model.inverse_transform(path), axis=0), axis=1).sum())


def straight(first, last, n_points=N_POINTS):
    """Return straight lines (n, n_points, q) between latents (n, q)."""
    shares = np.linspace(0.0, 1.0, n_points)[:, None]
    return first[:, None] + shares * (last - first)[:, None]


def bent(truth):
    """Return a bend of the true sheet."""
    return (truth - truth.min(axis=0)) ** 1.7


def lengths(seeds, rows=ROWS):
    """Return the ratios of decoded to known lengths, for each surface and estimator."""
    makers = {
        'TwoWay("isomap")': lambda truth: TwoWay("isomap", random_state=0),
        'UKR(init="isomap")': lambda truth: UKR(init="isomap", random_state=0),
        "DRUR()": lambda truth: DRUR(random_state=0),
        "true sheet, bent": lambda truth: TwoWay(bent(truth), random_state=0),
    }
    found = {}
    for name, make in (("Swiss roll", make_swiss_roll), ("S-curve", make_s_curve)):
        for label, estimator in makers.items():
            ratios, lines = [], []
            for seed in seeds:
                X, truth = make(rows + HELD_OUT, random_state=seed)
                model = estimator(truth[HELD_OUT:]).fit(X[HELD_OUT:])
                Z = model.transform(X[:HELD_OUT])
                first, last = np.split(Z, 2)
                known = np.linalg.norm(np.subtract(*np.split(truth[:HELD_OUT], 2)), axis=1)
                paths = model.geodesic(first, last, N_POINTS)
                ratios.extend(np.array([length(model, one) for one in paths]) / known)
                lines.extend(
                    np.array([length(model, one) for one in straight(first, last)]) / known
                )
            found[f"{name}, {label}"] = {
                "geodesic / known": summary(ratios),
                "within 5 %": f"{np.mean(np.abs(np.array(ratios) - 1.0) < 0.05):.0%}",
                "straight line / known": summary(lines),
            }
    return found


def gaps(seeds, rows=ROWS):
    """Return densities along paths and along straight lines."""
    found = {}
    digits = load_digits(n_class=6).data[:rows]
    cases = {
        "roll with a hole, isomap": ("hole", lambda: TwoWay("isomap", random_state=0)),
        "digits 0 to 5, DRUR": ("digits", lambda: DRUR(random_state=0)),
        'digits 0 to 5, UKR(init="tsne")': ("digits", lambda: UKR(init="tsne", random_state=0)),
    }
    for label, (kind, make) in cases.items():
        gained, nearest = [], []
        for seed in seeds:
            X = digits
            if kind == "hole":
                X = make_swiss_roll(rows, hole=True, random_state=seed)[0]
            order = np.random.default_rng(seed).permutation(len(X))
            held_out, train = X[order[:HELD_OUT]], X[order[HELD_OUT:]]
            model = make().fit(train)
            first, last = np.split(model.transform(held_out), 2)
            paths, lines = model.geodesic(first, last, 21), straight(first, last, 21)
            gained += [
                model.log_density(path).min() - model.log_density(line).min()
                for path, line in zip(paths, lines, strict=True)
            ]
            nearest.append([_to_rows(model, one, train) for one in (paths, lines)])
        along, across = np.mean(nearest, axis=0)
        found[label] = {
            "gain of lowest log density": summary(gained),
            "not lower by 0.5": f"{np.mean(np.array(gained) > -0.5):.0%}",
            "frames to nearest row, geodesic": float(along),
            "straight": float(across),
        }
    return found


def _to_rows(model, paths, rows):
    """Return the mean distance of decoded points to the nearest row."""
    images = [model.inverse_transform(path[1:-1]) for path in paths]
    return float(
        np.mean([np.linalg.norm(one - rows, axis=1).min() for path in images for one in path])
    )


def two_sheets(seed):
    """Return two sheets of 150 rows in planes of their own, and 10 rows halfway between them."""
    rng = np.random.default_rng(seed)
    sheets = np.zeros((300, 6))
    sheets[:150, :2] = rng.uniform(-1, 1, (150, 2))
    sheets[150:, 2:4] = rng.uniform(-1, 1, (150, 2))
    sheets[150:, 4] = 4.0
    return np.vstack([sheets, 0.3 * rng.normal(size=(10, 6)) + [0, 0, 0, 0, 2.0, 0]])


def stable(seeds, rows=ROWS):
    """Return stability on rolls, on noise, and on two sheets."""
    isomap = TwoWay("isomap", up="nw", down="nw")
    tsne = TwoWay("tsne", up="nw", down="nw")
    found = {"clean Swiss roll, isomap": [], "noise in 10 dimensions, isomap": []}
    sheets = {"rows of two sheets, t-SNE": [], "rows between them": []}
    for seed in seeds:
        roll = make_swiss_roll(rows, random_state=seed)[0]
        noise = np.random.default_rng(seed).normal(size=(rows // 2, 10))
        for name, X in zip(found, (roll, noise), strict=True):
            found[name].append(stability(isomap, X, n_resamples=6).score)
        scores = stability(tsne, two_sheets(seed), n_resamples=6).scores
        for name, part in zip(sheets, (scores[:300], scores[300:]), strict=True):
            sheets[name].append(float(part.mean()))
    return {name: {"stability": summary(values)} for name, values in (found | sheets).items()}


PARTS = {"lengths": lengths, "gaps": gaps, "stability": stable}
WORDS = {
    "lengths": "Lengths of `geodesic` between held-out rows of clean surfaces over the known ones, "
    "medians with 10 and 90 % quantiles:",
    "gaps": "`geodesic` beside straight lines between held-out rows, on maps with empty places:",
    "stability": "`stability` over data sets, medians with 10 and 90 % quantiles:",
}


def section(parts):
    """Return the section of docs/measured.md, each part with its command, commit and date."""
    written = []
    for part, record in parts.items():
        said = origin(f"python -m benchmarks.geometry {part}", record)
        written += [f"{said} {WORDS[part]}", figures_table("case", record["figures"])]
    return "\n\n".join(written)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--seeds", type=int, default=3, help="number of data sets of each kind")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows to fit")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--publish", action="store_true", help="write docs/measured.md")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    measured = {}
    for part in options.parts or list(PARTS):
        figures = PARTS[part](range(options.seeds), options.rows)
        measured[part] = recorded(figures)
        print(figures_table("case", figures), flush=True)
    if options.json:
        write_json(options.json, measured)
    if options.publish:
        publish(KEPT, measured, PARTS, ROOT / "docs" / "measured.md", MARKS, section)


if __name__ == "__main__":
    main()
