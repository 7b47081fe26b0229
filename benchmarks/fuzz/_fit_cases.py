"""One fuzzed fit: an estimator, a structure of data, sizes and a seed."""

import sys
from dataclasses import dataclass, fields

import numpy as np
from hypothesis import strategies as st
from sklearn.base import clone

from benchmarks.fuzz._structures import STRUCTURES
from benchmarks.harness import ROOT
from twofold import (
    DRUR,
    SNE,
    UKR,
    AgglomerativeIsomap,
    AutoTwoWay,
    KernelDensityClassifier,
    PrincipalManifold,
    SupervisedIsomap,
    TableMap,
    TwoWay,
)
from twofold.counts import LogCounts
from twofold.maps import MLP
from twofold.principal_manifold import KPlanes

BY_DEFAULT = {
    "UKR": UKR(random_state=0),
    "DRUR": DRUR(random_state=0),
    "PrincipalManifold": PrincipalManifold(random_state=0),
    "SNE": SNE(random_state=0),
    "AgglomerativeIsomap": AgglomerativeIsomap(random_state=0),
    "SupervisedIsomap": SupervisedIsomap(random_state=0),
    "TwoWay": TwoWay(random_state=0),
    "AutoTwoWay": AutoTwoWay(random_state=0),
    "TableMap": TableMap(random_state=0),
    "KPlanes": KPlanes(random_state=0),
    "KernelDensityClassifier": KernelDensityClassifier(),
    "LogCounts": LogCounts(),
}
"""Every public estimator with its default settings, and a seed if it has one."""

NETWORK = MLP(5, max_iter=50, random_state=0)
SETTINGS = {
    "ukr-standard": UKR(scale="standard", random_state=0),
    "ukr-lle": UKR(init="lle", random_state=0),
    "drur-robust": DRUR(scale="robust", random_state=0),
    "manifold-circle": PrincipalManifold(domain="circle", alpha=1e-2, random_state=0),
    "manifold-huber": PrincipalManifold(loss="huber", alpha=1e-2, random_state=0),
    "isomap-knn": AgglomerativeIsomap(graph="knn", random_state=0),
    "isomap-landmarks": AgglomerativeIsomap(n_landmarks=10, random_state=0),
    "two_way-lle": TwoWay("lle", random_state=0),
    "two_way-mlp": TwoWay("pca", up=NETWORK, down=NETWORK, random_state=0),
}
"""Settings that the tests' registry does not have."""


def _registered():
    """Return the small variants of the tests' registry."""
    support = str(ROOT / "tests" / "support")
    if support not in sys.path:
        sys.path.append(support)
    from registry import ESTIMATORS

    return ESTIMATORS


ESTIMATORS = BY_DEFAULT | SETTINGS | _registered()
NEED_LABELS = ("SupervisedIsomap", "KernelDensityClassifier")
NOT_IN_FILES = ("supervised", "two_way-function")
"""Their classes belong to the tests, so no model file may name them."""


@dataclass(frozen=True)
class Case:
    """A fit that can be repeated from its text; ``n_components=0`` is the estimator's default."""

    estimator: str
    structure: str
    n_components: int
    n: int
    d: int
    seed: int

    def __str__(self):
        """Return the values as text that :meth:`of` reads."""
        return " ".join(str(getattr(self, field.name)) for field in fields(self))

    @classmethod
    def of(cls, text):
        """Return the case of a text."""
        estimator, structure, *numbers = text.split()
        return cls(estimator, structure, *map(int, numbers))

    def data(self):
        """Return rows for the fit, other rows of the same structure, and labels."""
        rng = np.random.default_rng(self.seed)
        draw = STRUCTURES[self.structure]
        X, other = draw(rng, self.n, self.d), draw(rng, self.n, self.d)
        y = rng.integers(0, 3, len(X)) if self.estimator in NEED_LABELS else None
        return X, other, y

    def model(self):
        """Return the estimator, not fitted."""
        model = clone(ESTIMATORS[self.estimator])
        if self.n_components and "n_components" in model.get_params():
            model.set_params(n_components=self.n_components)
        return model


def cases(estimators=tuple(ESTIMATORS), most_rows=60, most_columns=8):
    """Return a Hypothesis strategy of cases; few rows are as likely as many."""
    few = min(8, most_rows)
    return st.builds(
        Case,
        st.sampled_from(estimators),
        st.sampled_from(tuple(STRUCTURES)),
        st.sampled_from((0, 0, 1, 2, 3, 4)),
        st.one_of(st.integers(2, few), st.integers(few, most_rows)),
        st.integers(1, most_columns),
        st.integers(0, 999),
    )
