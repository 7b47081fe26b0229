"""`AutoTwoWay` with each kind of winner, fitted once to a small sheet."""

import warnings
from functools import cache

from twofold import DRUR, UKR, AutoTwoWay, PrincipalManifold, TwoWay
from twofold.datasets import make_s_curve
from twofold.maps import LinearMap

X, _PLACES = make_s_curve(120, random_state=0)
POSITION = _PLACES[:, 0]

WINNERS = {
    "ukr": UKR(2, init=["isomap:6", "pca"], max_iter=20),
    "drur": DRUR(2, n_centers=15, alpha=1e-3, init="pca"),
    "tsne": TwoWay("tsne", up="rbf", down="projection"),
    "isomap": TwoWay("isomap"),
    "principal_manifold": PrincipalManifold(2, alpha=1e-2, init="pca"),
    "pca": TwoWay("pca", up=LinearMap(), down=LinearMap()),
}


@cache
def auto_of(winner):
    """Return a fitted `AutoTwoWay` whose winner is of this kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are kept short
        return AutoTwoWay(methods={winner: WINNERS[winner]}, random_state=0).fit(X)
