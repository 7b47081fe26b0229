"""Errors at places near by: placement by neighbors, and jitter."""

import numpy as np
import pytest
from judged_models import Plane, Torn, sheet
from scipy.spatial.distance import cdist

from twofold import TwoWay
from twofold.metrics import (
    jitter_error,
    neighbor_placement_error,
    relative_reconstruction_error,
)

TRAIN, TEST = sheet(300), sheet(80, seed=1)


class TestNeighborPlacement:
    @pytest.mark.parametrize("n_neighbors", [1, 3, 300])
    def test_equals_a_naive_loop(self, n_neighbors):
        model = Plane(TRAIN)
        placed = []
        for row in TEST:
            order = sorted(range(len(TRAIN)), key=lambda i: ((TRAIN[i] - row) ** 2).sum())
            placed.append(model.embedding_[order[:n_neighbors]].mean(axis=0))
        expected = relative_reconstruction_error(TEST, model.inverse_transform(np.array(placed)))
        found = neighbor_placement_error(model, TEST, TRAIN, n_neighbors)
        assert found == pytest.approx(expected, rel=1e-9)

    def test_bad_input(self):
        model = Plane(TRAIN)
        with pytest.raises(ValueError, match=r"X_train has .* rows, but the model has latents of"):
            neighbor_placement_error(model, TEST, TRAIN[:9])
        with pytest.raises(ValueError, match="X_train has 4 features, but X has 5"):
            neighbor_placement_error(model, TEST, TRAIN[:, :4])
        for wrong in (0, 301):
            with pytest.raises(ValueError, match=rf"n_neighbors={wrong} .*between 1 and 300"):
                neighbor_placement_error(model, TEST, TRAIN, wrong)


class TestJitter:
    def test_equals_its_definition(self):
        model = Plane(TRAIN)
        between = cdist(model.embedding_, model.embedding_)
        np.fill_diagonal(between, np.inf)
        spacing = np.median(between.min(axis=1))
        rng = np.random.default_rng(0)
        errors = []
        for _ in range(2):
            moved = model.transform(TEST) + 0.5 * spacing * rng.standard_normal((len(TEST), 2))
            errors.append(relative_reconstruction_error(TEST, model.inverse_transform(moved)))
        found = jitter_error(model, TEST, scale=0.5, n_repeats=2)
        assert found == pytest.approx(np.mean(errors), rel=1e-9)

    def test_no_noise_is_the_plain_error(self):
        model = Plane(TRAIN)
        rebuilt = model.inverse_transform(model.transform(TEST))
        plain = relative_reconstruction_error(TEST, rebuilt)
        assert jitter_error(model, TEST, scale=0.0) == pytest.approx(plain, rel=1e-9)

    def test_bad_input(self):
        model = Plane(TRAIN)
        with pytest.raises(ValueError, match=r"scale=-1.0 must be .*at least 0"):
            jitter_error(model, TEST, scale=-1.0)
        with pytest.raises(ValueError, match="n_repeats=0"):
            jitter_error(model, TEST, n_repeats=0)
        with pytest.raises(ValueError, match="latents has 1 row"):
            jitter_error(model, TEST, latents=np.zeros((1, 2)))


BOTH = {
    "placement": lambda model, X, **kw: neighbor_placement_error(
        model, X, kw.pop("rows", TRAIN), **kw
    ),
    "jitter": lambda model, X, rows=None, **kw: jitter_error(model, X, **kw),
}


@pytest.mark.parametrize("name", BOTH)
class TestBoth:
    def test_see_a_torn_map(self, name):
        X = np.random.default_rng(0).uniform(size=(500, 1)) * [[3.0, 1.0]]
        smooth, torn = (kind(X[:400], **kw) for kind, kw in ((Plane, {"q": 1}), (Torn, {})))
        found = [BOTH[name](model, X[400:], rows=X[:400]) for model in (smooth, torn)]
        assert found[0] < 1e-3
        assert found[1] > 10 * found[0]

    @pytest.mark.parametrize(("unit", "shift"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e8)])
    def test_units_do_not_matter(self, name, unit, shift):
        expected = BOTH[name](Plane(TRAIN), TEST)
        moved = Plane(TRAIN, scale=unit, offset=shift)
        assert BOTH[name](moved, TEST) == pytest.approx(expected, rel=1e-6)
        decode, encode = moved.inverse_transform, moved.transform
        moved.transform = lambda X: encode((X - shift) / unit)
        moved.inverse_transform = lambda Z: unit * decode(Z) + shift
        found = BOTH[name](moved, unit * TEST + shift, rows=unit * TRAIN + shift)
        assert found == pytest.approx(expected, rel=1e-6)

    def test_repeats_and_takes_models_of_ours(self, name):
        model = TwoWay("pca", up="nw", down="nw").fit(TRAIN)
        first = BOTH[name](model, TEST.astype(np.float32))
        assert first == BOTH[name](model, TEST.astype(np.float32))
        assert first == pytest.approx(BOTH[name](model, TEST), rel=1e-3)

    def test_bad_data(self, name):
        model = Plane(TRAIN)
        with pytest.raises(ValueError, match="X contains NaN"):
            BOTH[name](model, np.full((3, 5), np.nan))
        assert BOTH[name](model, TEST[:1]) == np.inf
        assert 0 < BOTH[name](model, TEST[:1], reference=TRAIN) < 1
        constant = np.full((20, 5), 0.5)
        assert BOTH[name](Plane(constant), constant, rows=constant) == 0.0
