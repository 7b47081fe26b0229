"""What a user's script may look like: type checkers find no error in it, and useful types.

``tests/typing/test_typing.py`` runs it, and checks it with mypy; ``nox -s pyright`` checks it with
pyright. ``assert_type`` does nothing when it runs.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import twofold
from twofold import UKR, AutoTwoWay, SupervisedIsomap, TableMap, TwoWay, load, save
from twofold.datasets import make_s_curve
from twofold.kernels import Compact
from twofold.metrics import codebook_error, relative_reconstruction_error, trustworthiness
from twofold.optimize import LBFGS

Array = NDArray[np.floating[Any]]


def fitted(X: Array) -> UKR:
    """Fit a model with typed settings."""
    model = UKR(kernel=Compact(2.0), init="pca", homotopy=False, max_iter=5, random_state=0)
    return model.fit(X)


def main(folder: Path) -> float:
    """Fit, encode, decode, judge, save and load."""
    X, places = make_s_curve(60, random_state=0)
    model = fitted(X)
    assert_type(model, UKR)
    assert_type(twofold.__version__, str)

    Z = model.transform(X)
    decoded = model.inverse_transform(Z)
    score = model.score(X)
    assert_type(score, float)
    filled = model.impute(np.where(X > 1.2, np.nan, X))
    errors = model.reconstruction_error(X)
    density = model.log_density(Z)
    drawn = model.sample(3, random_state=0)
    shapes: list[tuple[int, ...]] = [
        part.shape for part in (Z, decoded, errors, density, drawn, places)
    ]

    model.save(folder / "one.twofold")
    save(model, folder / "two.twofold")
    again = load(folder / "two.twofold")

    flat = TwoWay("pca", up="nw", down="nw").fit(X)
    assert_type(flat, TwoWay)
    table = TableMap(flat).fit(X)
    assert_type(table, TableMap)
    labeled = SupervisedIsomap(random_state=0).fit(X, y=places[:, 0] > 0.0)
    assert_type(labeled, SupervisedIsomap)
    race = AutoTwoWay(2, methods=["TwoWay"], random_state=0)
    assert_type(race, AutoTwoWay)

    trust = trustworthiness(X, Z, n_neighbors=5)
    assert_type(trust, float)
    lost = relative_reconstruction_error(X, model.reconstruct(X))
    coded = codebook_error(model, X, n_codes=8, random_state=0)
    total = trust + score + float(lost) + float(coded) + float(errors.mean())
    print(shapes, np.asarray(filled).shape, again, LBFGS(), total)
    return total
