"""Our estimators with their defaults, the automatic choice first."""

import importlib

from benchmarks.rivals.method import Method


def of_twofold(name, **arguments):
    """Return ``make`` of an estimator of twofold with these arguments."""

    def make(seed, threads):
        kind = getattr(importlib.import_module("twofold"), name, None)
        if kind is None:
            raise ImportError(f"this version has no {name}")
        settings = {**arguments, "n_components": 2, "random_state": seed}
        if "n_jobs" in kind().get_params():
            settings["n_jobs"] = threads
        return kind(**settings)

    return make


def _compile(make, X):  # noqa: ARG001 - other data will do
    """Load the compiled loops of twofold from numba's cache, or fill it, on other data.

    Up to 2,000 rows only the shortest paths are compiled.
    """
    import numpy as np

    from twofold import UKR, AgglomerativeIsomap

    other = np.random.default_rng(0).standard_normal((6_000, 4)).cumsum(axis=1)
    if len(X) > 2_000:
        UKR(init="pca", homotopy=False, max_iter=2, random_state=0).fit(other).transform(other[:20])
    AgglomerativeIsomap(random_state=0).fit(other[:300]).transform(other[:20])


def _ours(text, make, short, bytes_per_pair=0):
    named = "defaults" if text.endswith("()") else "defaults, except for the argument shown"
    return Method(
        text,
        make,
        settings=named,
        ours=True,
        short=short,
        bytes_per_pair=bytes_per_pair,
        warm_up=_compile,
    )


OURS = [
    _ours("AutoTwoWay()", of_twofold("AutoTwoWay"), "AutoTwoWay"),
    _ours("UKR()", of_twofold("UKR"), "UKR"),
    _ours('UKR(init="tsne")', of_twofold("UKR", init="tsne"), "UKR tsne"),
    _ours("DRUR()", of_twofold("DRUR"), "DRUR"),
    _ours("PrincipalManifold()", of_twofold("PrincipalManifold"), "PM"),
    _ours('TwoWay("tsne")', of_twofold("TwoWay", embedding="tsne"), "TwoWay tsne"),
    _ours('TwoWay("isomap")', of_twofold("TwoWay", embedding="isomap"), "TwoWay isomap"),
    _ours("SNE()", of_twofold("SNE"), "SNE"),
    _ours("AgglomerativeIsomap()", of_twofold("AgglomerativeIsomap"), "AIsomap", 4),
]
