"""Small fitted models of every kind of encoder."""

import numpy as np
import pytest
from registry import ESTIMATORS
from sklearn.base import clone

from twofold import PrincipalManifold

EXPLAINED = {
    name: ESTIMATORS[name]
    for name in (
        "auto",
        "two_way-pca-rbf",
        "two_way-krr",
        "two_way-nw",
        "ukr",
        "ukr-quartic",
        "ukr-l1",
        "drur",
        "drur-mlp",
        "manifold",
        "manifold-norm",
        "isomap",
        "isomap-grnn",
        "supervised",
        "two_way-function",
    )
} | {"circle": PrincipalManifold(1, domain="circle", alpha=1e-3, tol=1e-2, random_state=0)}


def table(n_rows=100, seed=0):
    """Return a bent sheet in three columns, and two columns of noise."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1.0, 1.0, (2, n_rows))
    X = np.column_stack([2.0 * u, 1.5 * v, np.square(u) + 0.5 * v])
    noise = 0.2 * rng.standard_normal((n_rows, 2))
    return np.hstack([X + 0.05 * rng.standard_normal(X.shape), noise])


def ring(n_rows=100):
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, 2.0 * np.pi, n_rows)
    X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n_rows)])
    return X + 0.05 * rng.standard_normal(X.shape)


@pytest.fixture(scope="session")
def data():
    return table()


@pytest.fixture(scope="session")
def fitted(data):
    rows = {"circle": ring()}
    return {name: clone(one).fit(rows.get(name, data)) for name, one in EXPLAINED.items()}


@pytest.fixture(params=EXPLAINED)
def model_and_rows(request, fitted):
    """A model and new rows for it."""
    name = request.param
    return name, fitted[name], ring()[:20] if name == "circle" else table(20, seed=5)
