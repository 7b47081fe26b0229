"""Draw the picture of the displays in the user guide.

    python -m benchmarks.guide_pictures [--output docs/images/pictures.png]

Takes about a minute on two cores.
"""

import argparse
import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from twofold import DRUR, UKR, PrincipalManifold
from twofold.datasets import make_noisy_helix, make_noisy_spiral, make_s_curve
from twofold.optimize import SpectralGuidance
from twofold.plotting import (
    CandidatesDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    ManifoldDisplay,
    ReconstructionErrorDisplay,
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="docs/images/pictures.png")
    output = parser.parse_args().output
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
    print(save_figure(figure, output, dpi=80))


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
