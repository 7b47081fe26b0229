"""Unsupervised regression: energies, maps, choices."""

import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from twofold import DRUR
from twofold.datasets import make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.drur.adaptation import MapAdapter, RadialAdapter
from twofold.drur.alternation import Alternation, alternate, project_rows, scaled
from twofold.drur.nonparametric import TwoRegressions, down_penalty_of
from twofold.drur.radial_regression import (
    ALPHAS,
    CrossSums,
    NetworkSums,
    RadialRegression,
    RidgeSystem,
    network_sums,
)
from twofold.drur.settings import DRURSettings
from twofold.drur.stream import sampled_rows
from twofold.drur.sweep import Sweep
from twofold.maps import MLP, KernelRidgeMap, RBFNetwork
from twofold.maps.affine import Affine
from twofold.metrics import procrustes_r2
from twofold.optimize import GaussNewton

ROLL, SHEET = make_swiss_roll(400, random_state=0)
NOISY_SHEET = SHEET + 10.0 * np.random.default_rng(0).standard_normal(SHEET.shape)
NOBODY = np.empty(0, dtype=np.intp)


@pytest.fixture(scope="module")
def roll_model():
    return DRUR(n_centers=30, alpha=1e-5, init=NOISY_SHEET, random_state=0).fit(ROLL)


def units(data):
    data = data - data.mean(axis=0)
    return data / np.sqrt(np.square(data).sum(axis=1).mean())


def alternation():
    up = RadialAdapter(25, (1e-5,), fixed=False, seed=0)
    return Alternation(up, RadialAdapter(25, (1e-5,), fixed=True, seed=0))


def turns_of(data, *, weight=3.0, recenter=0, max_iter=12, held_out=NOBODY, callback=None):
    settings = DRURSettings.of(
        DRUR(down_weight=weight, max_iter=max_iter, tol=0.0, recenter=recenter)
    )
    goes_on = callback or (lambda *_: False)
    return alternate(alternation(), settings, data, NOISY_SHEET, held_out, goes_on)


def penalty(network):
    gram = network.features(network.centers_)
    return network.alpha_ * float(np.vdot(network.weights_, gram @ network.weights_))


def test_with_kept_centers_no_turn_raises_the_energy():
    run, run_data = alternation(), units(ROLL)
    energies = []
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
    run, data = alternation(), units(ROLL)
    Z = scaled(NOISY_SHEET, 3.0)
    down, up = run.down.adapt(data, Z, anew=True), run.up.adapt(Z, data, anew=True)
    pulls = down.predict(data)
    found, energies = project_rows(up, data, pulls, Z, GaussNewton(100, 1e-12))
    direct = np.square(data - up.predict(found)).sum(axis=1)
    direct += np.square(found - pulls).sum(axis=1)
    np.testing.assert_allclose(energies, direct, rtol=1e-10)
    _, slope, _ = up.normal_terms(found, data)
    gradient = -slope + found - pulls  # Eq. (8)
    assert np.median(np.abs(gradient)) < 1e-6
    for shift in ([1e-3, 0.0], [0.0, 1e-3], [-1e-3, 0.0], [0.0, -1e-3]):
        moved = found + shift
        others = np.square(data - up.predict(moved)).sum(axis=1)
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
    centered = Phi - Phi.mean(axis=0)
    # Eq. (16), transposed.
    W = np.linalg.solve(centered.T @ Phi + 0.01 * G, centered.T @ X)
    np.testing.assert_allclose(network.weights_, W, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(network.intercept_, (X - Phi @ W).mean(axis=0), atol=1e-8)


def test_sums_of_networks_add_up():
    rng = np.random.default_rng(0)
    Phi, Y = rng.standard_normal((200, 6)), rng.standard_normal((200, 3))

    def sums(part, kind=NetworkSums):
        return network_sums(kind, lambda rows: Phi[part][rows], 6, Y[part])

    def solved(sums):
        return RidgeSystem.of(sums, np.eye(6), 0.1).solve(sums)

    whole = sums(slice(None))
    together = solved(sums(slice(0, 50)) + sums(slice(50, 200)))
    for a, b in zip(solved(whole), together, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    alone = sums(slice(None), CrossSums)
    np.testing.assert_array_equal(alone.phi_y, whole.phi_y)


def test_singular_features_have_finite_weights():
    sums = network_sums(NetworkSums, lambda rows: np.ones((20, 4))[rows], 4, np.ones((20, 2)))
    weights, bias = RidgeSystem.of(sums, np.zeros((4, 4)), 0.0).solve(sums)
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(bias + np.ones(4) @ weights, 1.0)


def test_gradient_of_the_eliminated_energy():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((15, 4)), rng.standard_normal((15, 2))
    energy = TwoRegressions(X, 0.8, 0.1, down_penalty_of(X, 1.5, 0.2))
    _, gradient = energy.value_and_grad(Z)
    step = 1e-4
    for i in range(15):
        for d in range(2):
            moves = []
            for factor in (-2, -1, 1, 2):
                moved = Z.copy()
                moved[i, d] += factor * step
                moves.append(energy.value_and_grad(moved)[0])
            slope = (moves[0] - 8 * moves[1] + 8 * moves[2] - moves[3]) / (12 * step)
            assert slope == pytest.approx(gradient[i, d], rel=1e-6, abs=1e-8)


def test_eliminated_energy_is_that_of_the_two_ridge_regressions():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
    up = KernelRidgeMap(bandwidth=0.8, alpha=0.1).fit(Z, X)
    down = KernelRidgeMap(bandwidth=1.5, alpha=0.2).fit(X, Z)
    direct = np.square(X - up.predict(Z)).sum() + penalty(up)
    direct += np.square(Z - down.predict(X)).sum() + penalty(down)
    energy = TwoRegressions(X, 0.8, 0.1, down_penalty_of(X, 1.5, 0.2))
    assert energy.value_and_grad(Z)[0] == pytest.approx(direct, rel=1e-5)


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
    assert model.alpha_ == (1e-6, 1e-6)


def test_maps_of_your_own():
    X, _ = make_s_curve(200, random_state=0)
    model = DRUR(up=KernelRidgeMap(), down=MLP(10, random_state=0), init="isomap", random_state=0)
    assert model.fit(X).score(X) > 0.95
    assert model.n_centers_ == (0, 0)


def test_a_network_of_your_own_stays_what_it_is():
    X, _ = make_s_curve(300, random_state=0)
    own = RBFNetwork(30, kernel="student", random_state=0)
    model = DRUR(up=own, n_centers=30, init="isomap", random_state=0).fit(X)
    assert model.decoder_.maps[0].kernel == "student"
    assert model.score(X) == pytest.approx(1.0 - model.errors_[model.method_], abs=0.01)
    assert model.score(X) > 0.99


@pytest.mark.parametrize("alpha", [1e-5, 10.0])
def test_kept_centers_lower_the_energy_that_is_told(alpha):
    model = DRUR(n_centers=20, alpha=alpha, init=NOISY_SHEET, recenter=False, tol=0.0, max_iter=15)
    history = model.set_params(random_state=0).fit(ROLL).history_
    assert len(history) > 2
    assert np.diff(history).max() <= 1e-9 * history[0]


def test_a_start_without_a_direction_is_told():
    flat = np.repeat(SHEET[:50, :1], 2, axis=1)
    with pytest.warns(UserWarning, match="only 1 of 2 directions"):
        DRUR(n_centers=5, init=flat, random_state=0).fit(ROLL[:50])


@pytest.mark.parametrize("setting", [{}, {"n_centers": 1}, {"init": "pca", "alpha": 0.1}])
def test_two_rows(setting):
    model = DRUR(1, random_state=0, **setting).fit(ROLL[:2])
    assert np.isfinite(model.transform(ROLL[:5])).all()
    assert np.isfinite(model.inverse_transform([[3.0]])).all()


def test_masked_values_are_gaps():
    mask = np.zeros(ROLL.shape, dtype=bool)
    mask[::7, 1] = True
    make = DRUR(n_centers=10, init="pca", random_state=0)
    masked = copy.copy(make).fit(np.ma.masked_array(ROLL, mask=mask))
    missing = copy.copy(make).fit(np.where(mask, np.nan, ROLL))
    np.testing.assert_array_equal(masked.embedding_, missing.embedding_)
    mask[5] = True
    with pytest.raises(ValueError, match="Row 5 of X has only missing values"):
        make.fit(np.ma.masked_array(ROLL, mask=mask))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_fit():
    make = DRUR(n_centers=10, init="pca", random_state=0)
    expected = make.fit(ROLL).score(ROLL)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(_score, (make,)).get(timeout=60)
    assert found == expected


def _score(model):
    return model.fit(ROLL).score(ROLL)


def test_idle_turns_end_a_fit_whose_centers_always_move():
    X, _ = make_s_curve(300, random_state=0)
    model = DRUR(n_centers=20, init="isomap", recenter=True, random_state=0).fit(X)
    assert model.n_iter_ < 20


def test_errors_count_what_lies_outside_the_leading_subspace():
    X, _ = make_swiss_roll(600, n_features=300, random_state=0)
    X[:, 3:] *= 4.0
    model = DRUR(n_centers=30, init="pca", random_state=0).fit(X)
    assert model.errors_[model.method_] == pytest.approx(1.0 - model.score(X), abs=0.1)
    assert model.errors_[model.method_] > 0.4


def test_more_weight_down_makes_latents_that_the_down_map_finds():
    errors = []
    for weight in (0.1, 10.0):
        model = DRUR(n_centers=20, alpha=1e-3, init=NOISY_SHEET, down_weight=weight, random_state=0)
        model.fit(ROLL)
        missed = np.square(model.transform(ROLL, method="map") - model.embedding_).sum()
        errors.append(missed / np.square(model.embedding_ - model.embedding_.mean(axis=0)).sum())
    assert errors[1] < errors[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_order_does_not_get_lost_in_noise():
    X, sheet = make_swiss_roll(600, 0.5, random_state=1)
    start = sheet + 10.0 * np.random.default_rng(1).standard_normal(sheet.shape)
    r2 = [
        procrustes_r2(
            sheet,
            DRUR(n_centers=30, alpha=1e-5, init=start, max_iter=turns, random_state=0)
            .fit(X)
            .embedding_,
        )
        for turns in (2, 50)
    ]
    assert r2[1] > r2[0] - 0.005
    assert r2[1] > 0.97


def test_a_fit_cut_short_says_so_where_it_was_called():
    with pytest.warns(ConvergenceWarning, match="max_iter=1: one iteration") as caught:
        DRUR(n_centers=20, init="pca", max_iter=1, random_state=0).fit(ROLL)
    assert caught[0].filename == __file__


def test_automatic_choices():
    X, _ = make_s_curve(400, noise=0.02, random_state=0)
    model = DRUR(random_state=0).fit(X)
    assert model.score(X) > 0.97
    assert model.init_ == model.candidates_[0]["name"] != "pca"
    scores = [candidate["map_score"] for candidate in model.candidates_]
    assert scores == sorted(scores, reverse=True)
    assert all(candidate["energy"] > 0.0 for candidate in model.candidates_)
    assert model.n_centers_ in {(15, 15), (30, 30)}
    assert set(model.alpha_) <= set(ALPHAS)


def test_more_centers_where_they_pay():
    line = np.linspace(0.0, 1.0, 1_000)[:, None]
    noise = np.random.default_rng(0).standard_normal((1_000, 3))
    straight, wavy = (np.hstack([line, np.sin(k * line), line**2]) for k in (1.0, 60.0))
    few, many = (
        DRUR(1, init=line, random_state=0).fit(X + 0.01 * noise).n_centers_[0]
        for X in (straight, wavy)
    )
    assert few < many


@pytest.mark.parametrize("seed", [2, 3])
def test_noisy_rolls_are_unrolled_by_default(seed):
    X, sheet = make_swiss_roll(1_000, 0.5, random_state=seed)
    assert procrustes_r2(sheet, DRUR(random_state=seed).fit(X).embedding_) > 0.99


def test_starts_are_compared_by_the_score_of_the_map():
    X, _ = make_s_curve(300, random_state=0)
    noise = np.random.default_rng(0).standard_normal((300, 2))
    model = DRUR(n_centers=20, init=[noise, "isomap"], random_state=0).fit(X)
    assert model.init_ == "isomap"
    assert [one["name"] for one in model.candidates_] == ["isomap", "ndarray-0"]


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
        ({"n_centers": "most"}, "n_centers='most'"),
        ({"n_centers": "all", "up": "mlp"}, "radial networks"),
        ({"n_centers": (1, 2, 3)}, "two"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "most"}, "alpha='most'"),
        ({"tol": -1.0}, "tol=-1.0 must be finite and at least 0"),
        ({"store_embedding": "no"}, "store_embedding='no'"),
        ({"down_weight": 0.0}, "down_weight"),
        ({"down_weight": 1e200}, "down_weight=1e"),
        ({"init": np.zeros((50, 2))}, "all equal"),
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

    with pytest.raises(TypeError, match=r"'linear', or an object .* it lacks normal_terms"):
        DRUR(up=LinearRegression()).fit(ROLL[:50])


def test_held_out_rows_take_no_part():
    held_out = np.arange(0, 400, 10)
    data = units(ROLL)
    spoiled = data.copy()
    spoiled[held_out] += 0.1
    ratio = np.square(data).sum() / np.square(spoiled).sum()
    how = {"recenter": 3, "max_iter": 6, "held_out": held_out}
    turns = turns_of(data, **how)
    again = turns_of(spoiled, weight=3.0 * ratio, **how)
    n = min(len(again.energies), len(turns.energies))
    np.testing.assert_allclose(again.energies[:n], turns.energies[:n], rtol=1e-6)
    assert (again.held_out[:n] > turns.held_out[:n]).all()


def test_a_callback_ends_the_turns():
    assert len(turns_of(units(ROLL), callback=lambda n, *_: n == 3).energies) == 3


def test_perceptrons_go_on_from_where_they_were():
    adapter = MapAdapter(MLP(5, max_iter=5, warm_start=True, random_state=0))
    first = adapter.adapt(SHEET, ROLL, anew=True)
    error = np.square(ROLL - first.predict(SHEET)).sum()
    for _ in range(5):
        learned = adapter.adapt(SHEET, ROLL, anew=False)
    assert np.square(ROLL - learned.predict(SHEET)).sum() < error


def test_latents_of_a_center_at_every_point_descend_together():
    model = DRUR(n_centers="all", init=NOISY_SHEET, down_weight=3.0, random_state=0).fit(ROLL)
    assert procrustes_r2(SHEET, model.embedding_) > 0.98
    assert model.score(ROLL) > 0.999
    assert model.n_centers_ == (400, 400)
    assert model.history_[-1] < model.history_[0]
    decoder, X = model.decoder_, model._data_units.into(ROLL)
    left_out = decoder.leave_one_out(decoder.centers_, X)
    error = np.square(X - left_out).sum(axis=1).mean()
    assert decoder.error_ == pytest.approx(error, rel=1e-6)
    assert np.isnan(decoder.gamma_)
    again = KernelRidgeMap(bandwidth=decoder.bandwidth_, alpha=decoder.alpha_)
    again.fit(decoder.centers_, X)
    np.testing.assert_allclose(decoder.leverage_, again.leverage_, atol=0.02)


def test_a_center_at_every_point_has_its_limit():
    with pytest.raises(MemoryError, match=r"GB.*n_centers='auto'"):
        DRUR(n_centers="all").fit(np.random.default_rng(0).standard_normal((10_001, 3)))


def test_leave_one_out_error_is_that_of_leaving_out():
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((12, 2)), rng.standard_normal((12, 3))
    left_out = []
    for i in range(12):
        rest = np.arange(12) != i
        model = KernelRidgeMap(bandwidth=0.9, alpha=0.05).fit(Z[rest], X[rest])
        left_out.append(np.square(X[i] - model.predict(Z[[i]])[0]).sum())
    assert KernelRidgeMap._solved(Z, X, 0.9, 0.05).error_ == pytest.approx(
        np.mean(left_out), rel=1e-6
    )


def test_many_rows_are_swept_after_the_turns(monkeypatch):
    monkeypatch.setattr("twofold.drur.settings.N_TURNED", 1_500)
    X, sheet = make_swiss_roll(2_000, 0.2, random_state=0)
    start = sheet + 5.0 * np.random.default_rng(0).standard_normal(sheet.shape)
    model = DRUR(n_centers=30, alpha=1e-3, init=start, random_state=0).fit(X)
    assert model.embedding_.shape == (2_000, 2)
    assert procrustes_r2(sheet, model.embedding_) > 0.99
    assert model.alpha_ == pytest.approx((1e-3, 1e-3))
    few = DRUR(n_centers=30, alpha=1e-3, init=start[:1_500], random_state=0).fit(X[:1_500])
    assert model.score(X) > few.score(X) - 1e-3


def test_a_sweep_solves_the_regression_of_all_rows():
    data = units(ROLL)
    turns = turns_of(data, recenter=3, max_iter=4)
    coordinates = Affine()
    sweep = Sweep(coordinates, turns.up, turns.down, turns.latents)
    latents = sweep.latents_of(data)
    sums = sweep(data[:150]) + sweep(data[150:])
    maps = sweep.solved(sums, 1.0)
    direct = RadialRegression(latents, turns.up.centers_).fit(
        data, turns.up.bandwidth_, turns.up.alpha_
    )
    np.testing.assert_allclose(maps.up.predict(latents), direct.predict(latents), atol=1e-7)
    np.testing.assert_allclose(maps.decoder.predict(latents), maps.up.predict(latents), atol=1e-12)
    assert sums.squares == pytest.approx(400.0)


def test_a_sweep_starts_from_the_down_map_or_a_better_codeword():
    class Cubic:
        def predict(self, latents):
            return np.hstack([latents, latents**3])

    up, rng = Cubic(), np.random.default_rng(0)
    codewords, latents = rng.uniform(-1.0, 1.0, (30, 2)), rng.uniform(-1.0, 1.0, (50, 2))
    inside, pulls = up.predict(latents), latents.copy()
    pulls[:20] += 2.0  # where cubes are large
    starts = Sweep(Affine(), up, up, codewords)._starts(inside, pulls)

    def energy(guesses):
        return np.square(inside - up.predict(guesses)).sum(1) + np.square(guesses - pulls).sum(1)

    words = [energy(np.tile(word, (50, 1))) for word in codewords]
    np.testing.assert_allclose(energy(starts), np.minimum(energy(pulls), np.min(words, axis=0)))
    assert (starts != pulls).any(axis=1).sum() == 20


class TestBlocks:
    X, SHEET = make_s_curve(750, noise=0.02, random_state=0)
    SETTING = {"n_centers": 25, "init": "isomap", "random_state": 0}

    def blocks(self):
        return [self.X[start : start + 200] for start in range(0, 750, 200)]

    def test_all_ways_of_giving_rows_agree(self, tmp_path):
        np.save(tmp_path / "rows.npy", self.X)
        on_disk = np.load(tmp_path / "rows.npy", mmap_mode="r")
        models = [
            DRUR(**self.SETTING).fit_blocks(given)
            for given in (self.blocks(), self.blocks, on_disk)
        ]
        latents = [model.transform(self.X) for model in models]
        for other in latents[1:]:
            np.testing.assert_allclose(other, latents[0], atol=1e-6)
        assert models[0].embedding_.shape == (0, 2)
        assert procrustes_r2(self.SHEET, latents[0]) > 0.95
        fitted = DRUR(**self.SETTING).fit(self.X)
        assert models[0].score(self.X) > fitted.score(self.X) - 0.01

    def test_an_iterator_is_read_once(self):
        model = DRUR(**self.SETTING).fit_blocks(iter(self.blocks()))
        assert model.score(self.X) > 0.95

    def test_more_rows_than_take_part_in_the_turns(self, monkeypatch):
        monkeypatch.setattr("twofold.drur.settings.N_TURNED", 300)
        model = DRUR(**self.SETTING, alpha=1e-3).fit_blocks(self.blocks, n_passes=2)
        assert model.score(self.X) > 0.95
        assert model.alpha_ == pytest.approx((1e-3, 1e-3))
        sampled = DRUR(**self.SETTING, alpha=1e-3).fit_blocks(self.blocks, n_passes=0)
        assert sampled.alpha_ == pytest.approx((0.4e-3, 0.4e-3))
        once = DRUR(**self.SETTING, alpha=1e-3).fit_blocks(iter(self.blocks()))
        np.testing.assert_array_equal(once.transform(self.X), sampled.transform(self.X))

    def test_the_sample_does_not_depend_on_the_blocks(self):
        whole = sampled_rows([self.X], 150, np.random.default_rng(0))
        parts = sampled_rows(self.blocks(), 150, np.random.default_rng(0))
        np.testing.assert_array_equal(whole.rows, parts.rows)
        assert parts.n_rows == 750
        assert len(np.unique(parts.rows, axis=0)) == 150
        late = np.isin(self.X[500:], parts.rows).all(axis=1).sum()
        assert 30 < late < 70

    def test_names_are_kept(self):
        pandas = pytest.importorskip("pandas")
        frames = [pandas.DataFrame(block, columns=list("abc")) for block in self.blocks()]
        model = DRUR(**self.SETTING).fit_blocks(frames)
        assert list(model.feature_names_in_) == list("abc")
        with pytest.raises(ValueError, match="feature names"):
            model.transform(frames[0][["b", "a", "c"]])
        frames[2] = frames[2].rename(columns={"a": "z"})
        with pytest.raises(ValueError, match="Block 2"):
            DRUR(**self.SETTING).fit_blocks(frames)

    def test_bad_blocks_are_named(self):
        spoiled = self.blocks()
        spoiled[3] = spoiled[3].copy()
        spoiled[3][5, 1] = np.inf
        with pytest.raises(ValueError, match=r"Block 3: .*infinity.*row 5, column 1"):
            DRUR(**self.SETTING).fit_blocks(spoiled)
        spoiled[3][5] = np.nan
        with pytest.raises(ValueError, match="Block 3: Row 5 of X has only missing values"):
            DRUR(**self.SETTING).fit_blocks(spoiled)
        with pytest.raises(ValueError, match=r"Block 1: .*features"):
            DRUR(**self.SETTING).fit_blocks([self.X, self.X[:, :2]])

    @pytest.mark.parametrize(
        ("blocks", "error", "message"),
        [
            (3, TypeError, "int"),
            ("rows.npy", TypeError, "str"),
            ([], ValueError, "0 samples"),
            ([np.empty((0, 3))], ValueError, "0 samples"),
            ([np.ones((1, 3))], ValueError, "1 sample"),
            (np.ones(5), ValueError, "shape"),
            ([np.ones(5)], ValueError, "Block 0"),
        ],
    )
    def test_what_gives_no_rows(self, blocks, error, message):
        with pytest.raises(error, match=message):
            DRUR().fit_blocks(blocks)

    def test_rows_must_come_again(self):
        opened = iter(self.blocks())
        with pytest.raises(ValueError, match=r"0 rows in a further reading, 750 in the first"):
            DRUR(**self.SETTING).fit_blocks(lambda: opened)

    def test_perceptrons_are_those_of_the_sample(self):
        setting = self.SETTING | {"n_centers": 8, "up": "mlp", "down": "mlp"}
        models = [DRUR(**setting).fit_blocks(self.blocks, n_passes=n) for n in (0, 1)]
        Z = models[0].transform(self.X)
        np.testing.assert_array_equal(models[1].transform(self.X), Z)
        assert models[0].score(self.X) > 0.9

    def test_a_first_block_of_one_row(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(self.X, columns=list("abc"))
        model = DRUR(**self.SETTING).fit_blocks([frame[:1], frame[1:]])
        assert list(model.feature_names_in_) == list("abc")
        assert model.score(frame) > 0.95

    def test_settings_that_need_all_rows(self):
        with pytest.raises(ValueError, match="init is an array"):
            DRUR(init=self.SHEET).fit_blocks(self.blocks)
        with pytest.raises(ValueError, match="n_centers='all'"):
            DRUR(n_centers="all").fit_blocks(self.blocks)
        with pytest.raises(ValueError, match="n_passes=-1"):
            DRUR().fit_blocks(self.blocks, n_passes=-1)

    def test_a_failed_fit_leaves_the_model_as_it_was(self):
        model = DRUR(**self.SETTING).fit(self.X)
        before = model.transform(self.X)

        def breaks():
            yield self.X
            raise OSError("the disk is gone")

        with pytest.raises(OSError, match="disk"):
            model.fit_blocks(breaks)
        np.testing.assert_array_equal(model.transform(self.X), before)
        assert model.embedding_.shape == (750, 2)

    def test_columns_that_hardly_ever_vary(self, monkeypatch):
        monkeypatch.setattr("twofold.drur.settings.N_TURNED", 300)
        rare = np.zeros((750, 1))
        rare[7] = 1.0
        X = np.hstack([self.X, rare])
        with pytest.warns(UserWarning, match="1 columns, the first of them 3"):
            DRUR(**self.SETTING).fit_blocks(X)

    def test_equal_rows(self):
        with pytest.warns(UserWarning, match="directions"):
            model = DRUR(**self.SETTING).fit_blocks([np.ones((5, 3)), np.ones((4, 3))])
        np.testing.assert_array_equal(model.reconstruct(np.ones((2, 3))), np.ones((2, 3)))
