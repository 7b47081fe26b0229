"""Draw the pictures of the user guide: the displays, curves of maps of the digits, and stretch.

    python -m benchmarks.guide_pictures [--only displays|curves|stretch] [--folder docs/images]

Takes about a minute on two cores. The figures of the page on judging are printed.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from benchmarks.rivals import catalogue
from benchmarks.rivals.data import split
from twofold import DRUR, UKR, PrincipalManifold, TwoWay
from twofold.datasets import make_noisy_helix, make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.metrics import jitter_error, map_score, neighbor_placement_error
from twofold.optimize import SpectralGuidance
from twofold.plotting import (
    CandidatesDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    ManifoldDisplay,
    RateDistortionDisplay,
    ReconstructionErrorDisplay,
    StretchDisplay,
    save_figure,
)


def curve(ax):
    X, _ = make_noisy_spiral(300, random_state=0)
    model = UKR(1, random_state=0).fit(X)
    ManifoldDisplay.from_estimator(model, X, ax=ax)
    ax.set_title("UKR: a curve, and where rows project to")
    return model


def surface(ax):
    X, _ = make_s_curve(800, noise=0.1, random_state=0)
    model = DRUR(n_centers=40, init="isomap", random_state=0).fit(X)
    ManifoldDisplay.from_estimator(model, X, ax=ax)
    ax.view_init(15, -70)
    ax.set_box_aspect((1, 1, 1.4), zoom=0.9)
    ax.set_title("DRUR: a surface")


def ring(ax):
    rng = np.random.default_rng(0)
    angle = rng.vonmises(0.0, 0.6, 400)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((400, 2))
    model = PrincipalManifold(domain="circle", alpha=0.003).fit(X)
    labels = np.where(X[:, 1] > 0.0, "upper half", "lower half")
    LatentMapDisplay.from_estimator(model, labels=labels, ax=ax)
    ax.set_title("PrincipalManifold: latents on a circle")


def errors(ax):
    X, _ = load_digits(return_X_y=True)
    model = UKR(init="tsne", random_state=0).fit(X[::2])
    ReconstructionErrorDisplay.from_estimator(model, X[1::2], ax=ax)
    ax.set_title("held-out digits, by their distance to the manifold")


def curves(ax):
    X, _ = make_noisy_helix(300, random_state=0)
    settings = {"init": "random", "max_iter": 200, "random_state": 0}
    models = {
        name: UKR(1, guidance=guidance, **settings).fit(X)
        for name, guidance in {"plain": None, "guided": SpectralGuidance()}.items()
    }
    LearningCurveDisplay.from_estimators(models, ax=ax)
    ax.set_title("a helix from a random start")


def draw_displays(path):
    figure = Figure(figsize=(16, 9.6), layout="constrained")
    # A subfigure each, so that one picture's color bar does not take room from another.
    parts = figure.subfigures(2, 3)
    model = curve(parts[0, 0].add_subplot())
    surface(parts[0, 1].add_subplot(projection="3d"))
    ring(parts[0, 2].add_subplot())
    errors(parts[1, 0].add_subplot())
    candidates = CandidatesDisplay.from_estimator(model, ax=parts[1, 1].add_subplot())
    candidates.ax_.set_title("the candidates of the curve above")
    curves(parts[1, 2].add_subplot())
    print(save_figure(figure, path, dpi=80))


def draw_rate_distortion(path):
    """Draw the curves of three maps of the digits, and print the figures of the guide."""
    rows = split(catalogue.load_digits())
    models = {
        'UKR(init="tsne")': UKR(init="tsne", random_state=0),
        'TwoWay("tsne")': TwoWay("tsne", random_state=0),
        "DRUR()": DRUR(random_state=0),
    }
    for model in models.values():
        model.fit(rows.X_train)
    display = RateDistortionDisplay.from_estimators(models, rows.X_test, X_train=rows.X_train)
    for name, found in display.curves.items():
        model = models[name]
        of_map = {
            "map score": map_score(model, rows.X_test),
            "jitter": jitter_error(model, rows.X_test),
            "placement": neighbor_placement_error(model, rows.X_test, rows.X_train),
        }
        print(name, f"error {found.error:.3f}", f"at {found.n_codes}: {found.errors.round(3)}")
        print("   ", ", ".join(f"{key} {value:.3f}" for key, value in of_map.items()))
    print("limits", found.limits.round(3), f"nearest row {found.nearest_row:.3f}", end=", ")
    print(f"mean of five {found.mean_of_five:.3f}")
    print(save_figure(display, path, dpi=100))


def draw_stretch(path):
    """Draw a right map of a roll, and one whose halves have changed places."""
    X, sheet = make_swiss_roll(1000, random_state=0)
    sheet -= sheet.min(axis=0)
    long = np.argmax(sheet.max(axis=0))
    length, cut = sheet[:, long].max(), sheet.copy()
    cut[:, long] = np.mod(cut[:, long] + length / 2, length)
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    for part, (name, latents) in zip(
        figure.subfigures(1, 2), {"right": sheet, "cut": cut}.items(), strict=True
    ):
        model = TwoWay(latents, up="krr", down="projection", random_state=0).fit(X)
        StretchDisplay.from_estimator(model, X, ax=part.add_subplot()).ax_.set_title(name)
    print(save_figure(figure, path, dpi=80))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("displays", "curves", "stretch"))
    parser.add_argument("--folder", type=Path, default=Path("docs/images"))
    asked = parser.parse_args()
    drawn = {
        "displays": (draw_displays, "pictures.png"),
        "curves": (draw_rate_distortion, "rate-distortion.png"),
        "stretch": (draw_stretch, "stretch.png"),
    }
    for name, (draw, file) in drawn.items():
        if asked.only in (None, name):
            draw(asked.folder / file)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
