"""Unsupervised regression: energies, maps, choices."""

import pickle

import numpy as np
import pytest

from twofold import DRUR
from twofold.datasets import make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.maps import MLP, KernelExpansion, RBFNetwork
from twofold.maps._moments import CrossMoments, FeatureMoments, RidgeSystem
from twofold.maps.radial_regression import RadialRegression
from twofold.metrics import procrustes_r2
from twofold.objectives.two_regressions import TwoRegressions, down_penalty_of
from twofold.unsupervised_regression import (
    Alternation,
    MapAdapter,
    RadialAdapter,
    project_rows,
    scaled,
)

ROLL, SHEET = make_swiss_roll(400, random_state=0)
NOISY_SHEET = SHEET + 10.0 * np.random.default_rng(0).standard_normal(SHEET.shape)
NOBODY = np.empty(0, dtype=np.intp)


@pytest.fixture(scope="module")
def roll_model():
    return DRUR(n_centers=30, alpha=1e-5, init=NOISY_SHEET, random_state=0).fit(ROLL)


def alternation(data, *, recenter=0, max_iter=12, tol=0.0, held_out=NOBODY, adapters=None):
    data = data - data.mean(axis=0)
    data /= np.sqrt(np.square(data).sum(axis=1).mean())
    up, down = adapters or (
        RadialAdapter(25, (1e-5,), fixed=False, seed=0),
        RadialAdapter(25, (1e-5,), fixed=True, seed=0),
    )
    return Alternation(data, up, down, 3.0, max_iter, tol, recenter, held_out)


def penalty(network):
    gram = network._features(network.centers_)
    return network.alpha_ * float(np.vdot(network.weights_, gram @ network.weights_))


def test_with_kept_centres_no_turn_raises_the_energy():
    run = alternation(ROLL)
    energies = []
    run_data = run.data
    Z = scaled(NOISY_SHEET, 3.0)
    for _ in range(12):
        down = run.down.adapt(run_data, Z, anew=False)
        up = run.up.adapt(Z, run_data, anew=False)
        energies.append(
            np.square(run_data - up.predict(Z)).sum()
            + np.square(Z - down.predict(run_data)).sum()
            + penalty(up)
            + penalty(down)
        )
        Z, after = project_rows(up, run_data, down.predict(run_data), Z)
        energies.append(after.sum() + penalty(up) + penalty(down))
    energies = np.array(energies)
    assert (np.diff(energies) <= 1e-9 * energies[0]).all()
    assert energies[-1] < 0.2 * energies[0]


def test_projection_is_the_minimum_of_each_rows_energy():
    run = alternation(ROLL)
    Z = scaled(NOISY_SHEET, 3.0)
    down, up = run.down.adapt(run.data, Z, anew=True), run.up.adapt(Z, run.data, anew=True)
    pulls = down.predict(run.data)
    found, energies = project_rows(up, run.data, pulls, Z, max_iter=100, tol=1e-12)
    direct = np.square(run.data - up.predict(found)).sum(axis=1)
    direct += np.square(found - pulls).sum(axis=1)
    np.testing.assert_allclose(energies, direct, rtol=1e-10)
    _, slope, _ = up.normal_terms(found, run.data)
    gradient = -slope + found - pulls  # Eq. (8)
    assert np.median(np.abs(gradient)) < 1e-6
    for shift in ([1e-3, 0.0], [0.0, 1e-3], [-1e-3, 0.0], [0.0, -1e-3]):
        moved = found + shift
        others = np.square(run.data - up.predict(moved)).sum(axis=1)
        others += np.square(moved - pulls).sum(axis=1)
        assert (others >= energies - 1e-9).all()


def test_row_space_changes_nothing():
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((80, 2)), rng.standard_normal((80, 40))
    up = RBFNetwork(7, bandwidth=1.0, alpha=1e-3, random_state=0).fit(Z, X)
    small, basis = up.in_row_space()
    assert small.weights_.shape == (7, 7)
    np.testing.assert_allclose(
        small.predict(Z) @ basis.T + up.intercept_, up.predict(Z), atol=1e-12
    )
    reduced = small.normal_terms(Z, (X - up.intercept_) @ basis)
    for whole, part in zip(up.normal_terms(Z, X)[:2], reduced[:2], strict=True):
        np.testing.assert_allclose(part, whole, atol=1e-10)


def test_sums_over_blocks_solve_the_papers_equations():
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((300, 2)), rng.standard_normal((300, 5))
    centers = rng.standard_normal((12, 2))
    network = RadialRegression(Z, centers).fit(X, 0.9, 0.01)
    Phi = np.exp(-0.5 * ((Z[:, None] - centers) ** 2).sum(axis=2) / 0.81)
    G = np.exp(-0.5 * ((centers[:, None] - centers) ** 2).sum(axis=2) / 0.81)
    centred = Phi - Phi.mean(axis=0)
    # Eq. (16), transposed.
    W = np.linalg.solve(centred.T @ Phi + 0.01 * G, centred.T @ X)
    np.testing.assert_allclose(network.weights_, W, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(network.intercept_, (X - Phi @ W).mean(axis=0), atol=1e-8)


def test_moments_add_up():
    rng = np.random.default_rng(0)
    Phi, Y = rng.standard_normal((200, 6)), rng.standard_normal((200, 3))
    whole = RidgeSystem.of(FeatureMoments.of(lambda rows: Phi[rows], 200, 6), np.eye(6), 0.1)
    parts = [slice(0, 50), slice(50, 200)]
    moments = [
        FeatureMoments.of(lambda rows, P=Phi[part]: P[rows], len(Phi[part]), 6) for part in parts
    ]
    cross = [CrossMoments.of(lambda rows, P=Phi[part]: P[rows], Y[part], 6) for part in parts]
    together = RidgeSystem.of(moments[0] + moments[1], np.eye(6), 0.1)
    ours = together.solve(cross[0] + cross[1])
    theirs = whole.solve(CrossMoments.of(lambda rows: Phi[rows], Y, 6))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_singular_features_have_finite_weights():
    Phi = np.ones((20, 4))
    system = RidgeSystem.of(FeatureMoments.of(lambda rows: Phi[rows], 20, 4), np.zeros((4, 4)), 0.0)
    weights, bias = system.solve(CrossMoments.of(lambda rows: Phi[rows], np.ones((20, 2)), 4))
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(bias + Phi[0] @ weights, 1.0)


def test_gradient_of_the_eliminated_energy():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((15, 4)), rng.standard_normal((15, 2))
    energy = TwoRegressions(X, 0.8, 0.1, down_penalty_of(X, 1.5, 0.2))
    value, gradient = energy.value_and_grad(Z)
    step = 1e-4
    for i in range(15):
        for d in range(2):
            moves = []
            for factor in (-2, -1, 1, 2):
                moved = Z.copy()
                moved[i, d] += factor * step
                moves.append(energy.value(moved))
            slope = (moves[0] - 8 * moves[1] + 8 * moves[2] - moves[3]) / (12 * step)
            assert slope == pytest.approx(gradient[i, d], rel=1e-6, abs=1e-8)
    assert value == energy.value(Z)


def test_eliminated_energy_is_that_of_the_two_ridge_regressions():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
    up = KernelExpansion(bandwidth=0.8, alpha=0.1).fit(Z, X)
    down = KernelExpansion(bandwidth=1.5, alpha=0.2).fit(X, Z)
    direct = np.square(X - up.predict(Z)).sum() + penalty(up)
    direct += np.square(Z - down.predict(X)).sum() + penalty(down)
    energy = TwoRegressions(X, 0.8, 0.1, down_penalty_of(X, 1.5, 0.2))
    assert energy.value(Z) == pytest.approx(direct, rel=1e-5)


def test_order_is_restored_from_noisy_latents(roll_model):
    assert procrustes_r2(SHEET, NOISY_SHEET) < 0.92
    assert procrustes_r2(SHEET, roll_model.embedding_) > 0.99
    assert roll_model.score(ROLL) > 0.98


def test_energies_fall_and_are_told(roll_model):
    assert roll_model.n_iter_ == len(roll_model.history_) == len(roll_model.validation_history_)
    assert roll_model.history_[-1] < 0.5 * roll_model.history_[0]


def test_both_ways_down(roll_model):
    by_map = roll_model.transform(ROLL, method="map")
    projected = roll_model.transform(ROLL, method="project")
    default = roll_model.transform(ROLL)
    assert set(roll_model.errors_) == {"map", "project"}
    assert roll_model.method_ == min(roll_model.errors_, key=roll_model.errors_.get)
    np.testing.assert_array_equal(default, projected if roll_model.method_ == "project" else by_map)
    errors = [
        np.square(ROLL - roll_model.inverse_transform(Z)).sum(axis=1) for Z in (by_map, projected)
    ]
    assert (errors[1] <= errors[0] + 1e-6 * errors[0].max()).all()
    with pytest.raises(ValueError, match="method='nearest'"):
        roll_model.transform(ROLL, method="nearest")


def test_perceptrons_find_the_spiral():
    X, along = make_noisy_spiral(300, random_state=0)
    start = along + 0.1 * np.ptp(along) * np.random.default_rng(0).standard_normal(along.shape)
    model = DRUR(1, up="mlp", down="mlp", n_centers=10, init=start, random_state=0).fit(X)
    r = np.corrcoef(along[:, 0], model.embedding_[:, 0])[0, 1]
    assert r * r > 0.97
    assert model.n_centers_ == (10, 10)
    assert np.isnan(model.alpha_).all()


def test_maps_of_your_own():
    X, _ = make_s_curve(200, random_state=0)
    model = DRUR(up=KernelExpansion(), down=MLP(10, random_state=0), init="isomap", random_state=0)
    assert model.fit(X).score(X) > 0.95


def test_automatic_choices():
    X, _ = make_s_curve(400, noise=0.02, random_state=0)
    model = DRUR(random_state=0).fit(X)
    assert model.score(X) > 0.97
    assert model.init_ == model.candidates_[0]["name"] != "pca"
    energies = [candidate["energy"] for candidate in model.candidates_]
    assert energies == sorted(energies)
    assert model.n_centers_[0] in (15, 30, 60, 120, 250)
    assert all(0 < alpha < 1 for alpha in model.alpha_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_size_without_embedding_does_not_depend_on_rows():
    sizes = []
    for n in (3_000, 15_000):
        X, _ = make_swiss_roll(n, random_state=0)
        model = DRUR(
            n_centers=20, init="pca", max_iter=4, store_embedding=False, random_state=0
        ).fit(X)
        assert model.embedding_.shape == (0, 2)
        assert model.transform(X[:5]).shape == (5, 2)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < 1.05 * sizes[0]


def test_wide_data_are_fitted_in_their_leading_subspace():
    X, Z = make_swiss_roll(600, n_features=120, random_state=0)
    model = DRUR(n_centers=30, init=Z, random_state=0).fit(X)
    assert model.decoder_.weights_.shape == (30, 120)
    assert model.score(X) > 0.9
    assert model.transform(X[:3]).shape == (3, 2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"up": "spline"}, "up='spline'"),
        ({"down": 3}, "down=3"),
        ({"n_centers": 0}, "n_centers=0"),
        ({"n_centers": (1, 2, 3)}, "two"),
        ({"alpha": -1.0}, "alpha"),
        ({"tol": -1.0}, "tol"),
        ({"down_weight": 0.0}, "down_weight"),
        ({"max_iter": 0}, "max_iter"),
        ({"recenter": -1}, "recenter"),
        ({"init": np.zeros((3, 2))}, "shape"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises((TypeError, ValueError), match=message):
        DRUR(**setting).fit(ROLL[:50])


def test_an_up_map_without_normal_terms_is_refused():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="normal_terms"):
        DRUR(up=LinearRegression()).fit(ROLL[:50])


def test_held_out_rows_take_no_part():
    held_out = np.arange(0, 400, 10)
    run = alternation(ROLL, recenter=3, max_iter=6, held_out=held_out)
    turns = run.run(NOISY_SHEET, lambda *_: False)
    spoiled = run.data.copy()
    spoiled[held_out] += 0.1
    again = Alternation(
        spoiled,
        RadialAdapter(25, (1e-5,), fixed=False, seed=0),
        RadialAdapter(25, (1e-5,), fixed=True, seed=0),
        3.0 * np.square(run.data).sum() / np.square(spoiled).sum(),
        6,
        0.0,
        3,
        held_out,
    ).run(NOISY_SHEET, lambda *_: False)
    ratio = np.square(run.data).sum() / np.square(spoiled).sum()
    n = min(len(again.energies), len(turns.energies))
    np.testing.assert_allclose(again.energies[:n], turns.energies[:n] * ratio, rtol=1e-6)
    assert (again.held_out[:n] > turns.held_out[:n]).all()


def test_a_callback_ends_the_turns():
    run = alternation(ROLL, max_iter=10)
    assert len(run.run(NOISY_SHEET, lambda n, *_: n == 3).energies) == 3


def test_perceptrons_go_on_from_where_they_were():
    adapter = MapAdapter(MLP(5, max_iter=5, warm_start=True, random_state=0))
    first = adapter.adapt(SHEET, ROLL, anew=True)
    error = np.square(ROLL - first.predict(SHEET)).sum()
    for _ in range(5):
        learned = adapter.adapt(SHEET, ROLL, anew=False)
    assert np.square(ROLL - learned.predict(SHEET)).sum() < error
