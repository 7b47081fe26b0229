"""Models that the tests of displays draw, each fitted once, and helpers that read pictures."""

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import DRUR, SNE, UKR, AgglomerativeIsomap, PrincipalManifold, TwoWay
from twofold.datasets import make_noisy_spiral, make_s_curve
from twofold.plotting import save_figure
from twofold.principal_manifold import CrossValidation, Points

N = 120
RNG = np.random.default_rng(3)
CURVE, _ = make_noisy_spiral(N, random_state=0)
ANGLE = np.sort(RNG.uniform(-np.pi, np.pi, N))
RING = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.05 * RNG.standard_normal((N, 2))
SHEET, _ = make_s_curve(N, random_state=0)
TUBE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE), RNG.uniform(-1, 1, N)])
WIDE = np.hstack([SHEET, SHEET**2, RNG.standard_normal((N, 2))])

MODELS = {
    "ukr-1": (UKR(1, init="isomap:6", max_iter=20, random_state=0), CURVE),
    "ukr-2": (UKR(2, init=["isomap:6", "isomap:8", "pca"], max_iter=20, random_state=0), SHEET),
    "ukr-3": (UKR(3, init="pca", homotopy=False, max_iter=20, random_state=0), WIDE),
    "ukr-quartic": (
        UKR(2, kernel="quartic", init=["isomap:6", "isomap:8"], max_iter=20, random_state=0),
        SHEET,
    ),
    "drur": (DRUR(n_centers=15, alpha=1e-3, random_state=0), SHEET),
    "drur-small": (
        DRUR(n_centers=15, alpha=1e-3, init="pca", store_embedding=False, random_state=0),
        SHEET,
    ),
    "circle": (PrincipalManifold(domain="circle", alpha=CrossValidation(3), random_state=0), RING),
    "box": (PrincipalManifold(2, alpha=1e-2, init="pca", random_state=0), SHEET),
    "cylinder": (
        PrincipalManifold(2, domain="cylinder", alpha=1e-2, init="pca", random_state=0),
        TUBE,
    ),
    "cube": (PrincipalManifold(3, alpha=1e-2, n_nodes=27, init="pca", random_state=0), WIDE),
    "points": (
        PrincipalManifold(domain=Points(5), kernel="delta", alpha=0.0, random_state=0),
        CURVE,
    ),
    "two_way": (TwoWay("isomap", random_state=0), SHEET),
    "sne": (SNE(perplexity=10, max_iter=50, tol=1e-2, up="nw", down="nw", random_state=0), SHEET),
    "isomap": (AgglomerativeIsomap("auto", random_state=0), SHEET),
    "pipeline": (
        make_pipeline(StandardScaler(), UKR(2, init="isomap:8", max_iter=20, random_state=0)),
        1e3 * SHEET,
    ),
    "constant": (UKR(2, random_state=0), np.ones((10, 3))),
}
"""Models of one to three latent dimensions, with and without domains, and their data."""

RENDERED = ("ukr-1", "ukr-2", "ukr-3", "circle", "points", "constant")
"""Models that every display renders; for the others the tests look at artists only."""

FEATURE_SPACE = (UKR(metric="l1", init="isomap:8", max_iter=3, random_state=0), SHEET[:60])
"""A model that measures errors in a feature space."""

_fitted = {}


def model_of(name):
    if name not in _fitted:
        model, X = FEATURE_SPACE if name == "ukr-l1" else MODELS[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that are kept short
            _fitted[name] = model.fit(X), X
    return _fitted[name]


def last_of(model):
    return model[-1] if hasattr(model, "steps") else model


def width_of(name):
    return last_of(model_of(name)[0]).embedding_.shape[1]


def page(n_dimensions=2):
    """Return axes without a layout, which is most of the time of a small picture."""
    projection = "3d" if n_dimensions == 3 else None
    return Figure(figsize=(4, 3)).add_subplot(projection=projection)


def offsets_of(artists):
    """Return where marks lie, in two dimensions or three."""
    found = []
    for marks in artists:
        three_d = getattr(marks, "_offsets3d", None)
        found.append(
            np.asarray(marks.get_offsets()) if three_d is None else np.column_stack(three_d)
        )
    return np.vstack(found)


def same_rows(A, B):
    """Compare rows in any order."""
    A, B = np.asarray(A), np.asarray(B)
    assert A.shape == B.shape
    return np.allclose(A[np.lexsort(A.T)], B[np.lexsort(B.T)])


def is_drawn(display, tmp_path):
    path = save_figure(display, tmp_path / "picture.png", dpi=40)
    assert path.read_bytes().startswith(b"\x89PNG")
    return True
