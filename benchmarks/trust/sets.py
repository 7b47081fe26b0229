"""The data: rows for intervals and false alarms, single classes, and tables with planted errors."""

import numpy as np
from sklearn.datasets import load_iris

from twofold.datasets import load_mnist, load_oil_flow, load_uci, load_usps

SETS = ("wine", "vehicle", "oil flow", "satimage", "segment", "USPS")
CLASSES = {"USPS": range(10), "MNIST": range(5), "satimage": range(6)}
"""Classes that stand against the rest; digits 5 to 9 of MNIST served the design."""

PLANTED = ("wine", "iris", "wdbc")
KINDS = ("unit swapped", "sign error", "relation broken", "far out")
IN_UNITS_OF_THEIR_OWN = ("wine", "vehicle", "segment", "iris", "wdbc")
"""Sets whose columns have different units; models scale them."""


def labeled(name):
    """Return all rows of a set and their labels."""
    if name == "iris":
        return load_iris(return_X_y=True)
    if name == "oil flow":
        oil = load_oil_flow()
        parts = ("train", "valid", "test")
        return tuple(np.concatenate([oil[f"{one}_{part}"] for part in parts]) for one in "Xy")
    if name in ("USPS", "MNIST"):
        digits = load_usps() if name == "USPS" else load_mnist()
        return digits.X_train[:20_000].astype(float), digits.y_train[:20_000]
    bunch = load_uci(name)
    if "X" in bunch:
        return bunch.X.astype(float), bunch.y
    return np.concatenate([bunch.X_train, bunch.X_test]).astype(float), np.concatenate(
        [bunch.y_train, bunch.y_test]
    )


def scale_of(name):
    return "standard" if name in IN_UNITS_OF_THEIR_OWN else None


def split(name, seed, most=600, most_new=300):
    """Return training rows and new rows, drawn at random."""
    X, _ = labeled(name)
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    order = np.random.default_rng([seed, len(X)]).permutation(len(X))
    n_rows = min(most, 2 * len(X) // 3)
    return X[order[:n_rows]], X[order[n_rows : n_rows + most_new]]


def one_against_the_rest(name, label, seed, most=400, most_new=300):
    """Return training rows of a class, new rows, and whether these are of other classes."""
    X, y = labeled(name)
    y = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng([seed, label])
    inside = rng.permutation(np.flatnonzero(y == label))
    outside = rng.permutation(np.flatnonzero(y != label))[:most_new]
    n_rows = min(most, 2 * len(inside) // 3)
    new = inside[n_rows : n_rows + most_new]
    strange = np.arange(len(new) + len(outside)) >= len(new)
    return X[inside[:n_rows]], X[np.concatenate([new, outside])], strange


def with_planted_errors(name, seed):
    """Return a table with four errors, and the numbers of their rows in the order of `KINDS`."""
    X = labeled(name)[0].copy()
    rng = np.random.default_rng([seed, 99])
    rows = rng.choice(len(X), len(KINDS), replace=False)
    unit, sign, far = rng.integers(X.shape[1], size=3)
    correlations = np.corrcoef(X, rowvar=False)
    np.fill_diagonal(correlations, 0.0)
    one, other = np.unravel_index(np.abs(correlations).argmax(), correlations.shape)
    high, low = 0.97, 0.03
    opposite = low if correlations[one, other] > 0 else high
    relation = np.quantile(X[:, one], high), np.quantile(X[:, other], opposite)
    distance = X[:, far].mean() + 8.0 * X[:, far].std()
    X[rows[0], unit] *= 10.0
    X[rows[1], sign] *= -1.0
    X[rows[2], [one, other]] = relation
    X[rows[3], far] = distance
    return X, rows
