"""One pair of tables: separate fits, an aligned fit, and models that are moved as a whole."""

import warnings

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import DRUR, UKR, AutoTwoWay, PrincipalManifold, TwoWay, align
from twofold.base.aligning import extent_of

METHODS = {
    "UKR": lambda seed: UKR(random_state=seed),
    "AutoTwoWay": lambda seed: AutoTwoWay(random_state=seed),
    "DRUR": lambda seed: DRUR(random_state=seed),
    "TwoWay": lambda seed: TwoWay(random_state=seed),
    "PrincipalManifold": lambda seed: PrincipalManifold(2, random_state=seed),
}
RIVALS = {
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 15))),
    "5 neighbors": lambda: KNeighborsRegressor(5, weights="distance"),
}


def measure(views, method, seed):
    """Return the figures of one pair of tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _measure(views, METHODS[method], seed)


def _measure(views, made, seed):
    first, second = views.held_out
    old, alone = made(seed).fit(views.first), made(seed).fit(views.second)
    aligned = made(seed).fit(views.second, align_to=old, shared=views.shared)
    moved = align([old, alone], views.shared)[1]
    extent = extent_of(old.embedding_)
    places = old.transform(first)

    def apart(model):
        gaps = np.linalg.norm(model.transform(second) - places, axis=1) / extent
        return float(np.median(gaps)), float(np.quantile(gaps, 0.9))

    def crossed(model):
        """Return the error of rows of the first table, decoded as rows of the second."""
        return lost(model.inverse_transform(places))

    def lost(decoded):
        spread = np.square(second - views.second.mean(axis=0)).sum()
        return float(np.square(decoded - second).sum() / spread)

    error = 1.0 - alone.score(second)
    found = {
        "shared": aligned.alignment_.median,
        "shared_90": aligned.alignment_.percentile_90,
        "held_out": apart(aligned)[0],
        "held_out_90": apart(aligned)[1],
        "moved": apart(moved)[0],
        "error_alone": error,
        "ratio": (1.0 - aligned.score(second)) / error,
        "moved_ratio": (1.0 - moved.score(second)) / error,
        "cross": crossed(aligned),
        "cross_moved": crossed(moved),
    }
    if views.shared is not None:
        rows, old_rows = views.shared.T
        for name, rival in RIVALS.items():
            fitted = rival().fit(views.first[old_rows], views.second[rows])
            found[name] = lost(fitted.predict(first))
    return found
