"""The loop of Carreira-Perpinan & Lu (2010) as parameters, against a naive one, and its options."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from twofold import DRUR
from twofold.datasets import make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.drur.adaptation import MapAdapter, RadialAdapter
from twofold.drur.alternation import project_rows
from twofold.drur.radial_regression import RadialRegression
from twofold.drur.settings import PROJECTIONS
from twofold.maps import MLP, LinearMap, RBFNetwork
from twofold.maps.rbf_network import kmeans_centers
from twofold.metrics import procrustes_r2
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.threads import some_rows
from twofold.optimize import GaussNewton

LOOP = {"down_weight": None, "tol": None, "recenter": (True, False), "exact": True}
ROLL, SHEET = make_swiss_roll(300, random_state=0)
NOISY_SHEET = SHEET + 10.0 * np.random.default_rng(0).standard_normal(SHEET.shape)
LAMBDA = 1e-3


def basis(inputs, centers, width):
    return np.exp(-0.5 * np.square(inputs[:, None] - centers).sum(axis=2) / width**2)


def solved(inputs, targets, centers, width, ridge=LAMBDA):
    """Solve Eqs. (15) and (16) and return the map as a function, with weights."""
    G_xy, G_xx = basis(inputs, centers, width).T, basis(centers, centers, width)
    N = len(inputs)
    system = G_xy @ G_xy.T + ridge * G_xx - np.outer(G_xy.sum(axis=1), G_xy.sum(axis=1)) / N
    W = np.linalg.solve(system, G_xy @ (targets - targets.mean(axis=0))).T
    w = (targets.T - W @ G_xy).mean(axis=1)
    return lambda z: basis(z, centers, width) @ W.T + w, W


def best_width(inputs, targets, centers):
    """Train on three quarters of the rows, test on the others, and pick the best width."""
    held_out = np.zeros(len(inputs), dtype=bool)
    held_out[some_rows(len(inputs), len(inputs) // 4)] = True
    errors = {}
    for width in width_grid(centers, ratio=2.0**0.5):
        ridge = LAMBDA * (~held_out).mean()  # stated for all rows
        f, _ = solved(inputs[~held_out], targets[~held_out], centers, width, ridge)
        errors[width] = np.square(targets[held_out] - f(inputs[held_out])).sum()
    return min(errors, key=errors.get)


def projected(x, y, f, W, centers, width, pull):
    """Minimize Eq. (7) by the steps of Eq. (12), with backtracking."""

    def energy(x):
        return np.square(y - f(x[None])[0]).sum() + np.square(x - pull).sum()

    for _ in range(200):
        phi = basis(x[None], centers, width)[0]
        J = W @ (phi[:, None] * (centers - x)) / width**2  # Eq. (17)
        p = np.linalg.solve(np.eye(len(x)) + J.T @ J, J.T @ (y - f(x[None])[0]) - x + pull)
        step = 1.0
        while energy(x + step * p) > energy(x) and step > 1e-9:
            step *= 0.5
        x = x + step * p
        if np.linalg.norm(p) < 1e-7 * np.linalg.norm(x):
            break
    return x


def papers_loop(Y, X, n_centers, n_iter, seed):
    """Run the algorithm of the paper's Fig. 1, point by point."""
    Y, X = Y - Y.mean(axis=0), X - X.mean(axis=0)
    kmeans_seed = int(np.random.default_rng(seed).integers(2**31))
    C_F = kmeans_centers(Y, n_centers, random_state=kmeans_seed, n_random=20)
    C_f, width_F = None, None
    for turn in range(n_iter + 1):  # the last one only adapts
        C_f = kmeans_centers(X, n_centers, init=C_f, random_state=kmeans_seed, n_random=20)
        width_f = best_width(X, Y, C_f)
        width_F = width_F or best_width(Y, X, C_F)
        f, W = solved(X, Y, C_f, width_f)
        F, _ = solved(Y, X, C_F, width_F)
        if turn < n_iter:
            triples = zip(X, Y, F(Y), strict=True)
            X = np.array([projected(x, y, f, W, C_f, width_f, c) for x, y, c in triples])
    return X, f, F


def test_the_loop_is_that_of_the_paper():
    Y, start = ROLL[:60], NOISY_SHEET[:60]
    scale = np.sqrt(np.square(Y - Y.mean(axis=0)).sum(axis=1).mean())
    expected, f, F = papers_loop(Y, start, 8, 2, seed=5)
    model = DRUR(
        n_centers=8,
        alpha=LAMBDA,
        init=start,
        max_iter=2,
        optimizer=GaussNewton(max_iter=200, tol=1e-8, damping=0.0, max_damping=0.0),
        random_state=np.random.default_rng(5),
        **LOOP,
    ).fit(Y)
    # Latents of a fit have the unit in which the data have a total variance of one.
    np.testing.assert_allclose(scale * model.embedding_, expected, atol=1e-3 * scale)
    np.testing.assert_allclose(
        scale * model.transform(Y, method="map"), F(Y - Y.mean(axis=0)), atol=1e-3 * scale
    )
    np.testing.assert_allclose(
        model.inverse_transform(model.embedding_), f(expected) + Y.mean(axis=0), atol=1e-3 * scale
    )


def loop(X, start, **setting):
    options = {"n_centers": 15, "alpha": 1e-5, "max_iter": 4, "random_state": 0} | LOOP | setting
    return DRUR(init=start, **options).fit(X)


def test_only_the_units_of_the_start_relative_to_the_data_matter():
    latents = loop(ROLL, NOISY_SHEET).embedding_
    np.testing.assert_allclose(
        loop(0.37 * ROLL + 5.0, 0.37 * NOISY_SHEET).embedding_, latents, atol=1e-5
    )
    other = loop(ROLL, 0.1 * NOISY_SHEET).embedding_
    assert np.square(other).sum() < 0.1 * np.square(latents).sum()  # nothing is rescaled
    rescaled = [loop(ROLL, unit * NOISY_SHEET, down_weight=1.0).embedding_ for unit in (1.0, 0.1)]
    np.testing.assert_allclose(rescaled[0], rescaled[1], atol=1e-5)


def test_a_named_start_has_the_units_of_the_data():
    model = loop(ROLL, "pca", up="linear", down="linear", max_iter=1)
    share = PCA(2).fit(ROLL).explained_variance_ratio_.sum()
    assert np.square(model.embedding_).sum(axis=1).mean() == pytest.approx(share, rel=1e-6)


def test_a_fixed_number_of_iterations_with_all_rows():
    model = loop(ROLL, NOISY_SHEET, max_iter=7)
    assert model.n_iter_ == len(model.history_) == 7
    assert np.isnan(model.validation_history_).all()
    with_rule = DRUR(n_centers=15, alpha=1e-5, init=NOISY_SHEET, random_state=0).fit(ROLL)
    assert np.isfinite(with_rule.validation_history_).all()


def test_the_width_of_the_encoder_is_chosen_once(monkeypatch):
    asked = []
    choose = RadialRegression.choose

    def counted(self, targets, *others):
        asked.append(targets.shape[1])
        return choose(self, targets, *others)

    monkeypatch.setattr(RadialRegression, "choose", counted)
    loop(ROLL, NOISY_SHEET, max_iter=5)
    assert asked.count(2) == 1  # F: latents are the targets
    assert asked.count(3) == 6  # f: five iterations and the last adaptation


def test_exact_centers_are_the_best_of_many():
    def inertia(centers):
        return np.square(ROLL[:, None] - centers).sum(axis=2).min(axis=1).sum()

    best = inertia(kmeans_centers(ROLL, 12, random_state=3, n_random=20))
    singles = [KMeans(12, init="random", n_init=1, random_state=s).fit(ROLL) for s in range(20)]
    assert best <= np.median([one.inertia_ for one in singles])
    adapter = RadialAdapter(12, (1e-5,), fixed=True, seed=3, exact=True)
    adapter.adapt(ROLL, SHEET, anew=True)
    assert inertia(adapter.centers) == pytest.approx(best)


def test_exact_fits_have_no_samples_and_no_subspaces(monkeypatch):
    X, sheet = make_swiss_roll(200, n_features=60, random_state=0)
    whole = loop(X, sheet)
    assert whole._ways["map"].maps[0].is_identity
    monkeypatch.setattr("twofold.drur.settings.N_TURNED", 50)
    monkeypatch.setattr("twofold.drur.settings.TURNED_PER_CENTER", 1)
    monkeypatch.setattr("twofold.drur.radial_regression.N_JUDGED", 40)
    np.testing.assert_array_equal(loop(X, sheet).embedding_, whole.embedding_)


def test_exact_fits_need_rows_in_memory():
    with pytest.raises(ValueError, match="exact=True uses every row"):
        DRUR(exact=True).fit_blocks([ROLL])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"optimizer": "newton"}, "optimizer='newton'"),
        ({"optimizer": 3}, "minimize_rows"),
        ({"exact": "yes"}, "exact='yes'"),
        ({"recenter": (1, 2, 3)}, "two"),
        ({"recenter": (True, -1)}, "recenter=-1"),
        ({"recenter": "a"}, r"recenter='a' must be a bool, an int or a pair \(up, down\)"),
        ({"tol": -1}, "tol=-1 must be .*, or None"),
        (LOOP | {"init": 1e150 * ROLL[:50, :2]}, "init: the variance .* down_weight=None"),
        (LOOP | {"init": 1e-150 * ROLL[:50, :2]}, "init: the variance .* down_weight=None"),
        ({"down_weight": "none"}, "down_weight='none'"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises((TypeError, ValueError), match=message):
        DRUR(**setting).fit(ROLL[:50])


@pytest.mark.parametrize("setting", [LOOP | {"max_iter": 60}, {"tol": 0.0, "max_iter": 60}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_maps_give_the_principal_subspace(setting):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((250, 6)) * [5.0, 4.0, 2.0, 1.0, 1.0, 0.5]
    X = X @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    start = rng.standard_normal((250, 2))
    model = DRUR(up="linear", down="linear", init=start, random_state=0, **setting).fit(X)
    images = model.inverse_transform(np.vstack([np.zeros(2), np.eye(2)]))
    pca = PCA(2).fit(X)
    assert subspace_angles((images[1:] - images[0]).T, pca.components_.T).max() < 0.02
    lost = 1.0 - pca.explained_variance_ratio_.sum()
    assert 1.0 - model.score(X) == pytest.approx(lost, rel=1e-3)
    assert model.n_centers_ == (0, 0)
    assert model.alpha_ == (0.0, 0.0)


def test_linear_map_is_ridge_regression():
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((40, 3)) + 2.0, rng.standard_normal((40, 5))
    line = LinearMap(0.7).fit(Z, X)
    z, x = Z - Z.mean(axis=0), X - X.mean(axis=0)
    W = np.linalg.solve(z.T @ z + 0.7 * np.eye(3), z.T @ x)
    np.testing.assert_allclose(line.weights_, W, rtol=1e-10)
    np.testing.assert_allclose(line.predict(Z).mean(axis=0), X.mean(axis=0), rtol=1e-10)
    assert line.penalty() == pytest.approx(0.7 * np.square(W).sum())


def test_penalty_of_a_perceptron_is_what_training_lowers():
    Z, X = SHEET, ROLL
    network = MLP(6, alpha=0.3, max_iter=2000, random_state=0).fit(Z, X)
    scale = np.sqrt(np.square(Z - Z.mean(axis=0)).mean())
    target_scale = np.sqrt(np.square(X - X.mean(axis=0)).mean())
    first = np.square(network.hidden_weights_ * scale).sum()
    second = np.square(network.weights_ / target_scale).sum()
    assert network.penalty() == pytest.approx(0.3 * target_scale**2 * (first + second))
    # At the minimum, residuals and decay of the output layer balance: grad of the sum is zero.
    residuals = X - network.predict(Z)
    slope = -2.0 * network.features(Z).T @ residuals + 2.0 * 0.3 * network.weights_
    assert np.abs(slope).max() < 0.02 * np.abs(2.0 * 0.3 * network.weights_).max()


@pytest.mark.parametrize(
    "prototype",
    [MLP(5, alpha=0.5, random_state=0), LinearMap(2.0), RBFNetwork(8, alpha=0.1, random_state=0)],
    ids=["mlp", "linear", "rbf"],
)
def test_maps_report_their_penalty(prototype):
    adapter = MapAdapter(prototype)
    learned = adapter.adapt(SHEET, ROLL, anew=True)
    assert adapter.penalty() == learned.penalty() > 0.0


def test_a_map_without_a_penalty_counts_as_none():
    from sklearn.linear_model import LinearRegression

    adapter = MapAdapter(LinearRegression())
    adapter.adapt(SHEET, ROLL, anew=True)
    assert adapter.penalty() == 0.0


def test_the_energy_of_perceptrons_has_their_penalty():
    histories = {}
    for alpha in (0.0, 3.0):
        model = loop(ROLL, NOISY_SHEET, up="mlp", down="mlp", n_centers=5, alpha=alpha, max_iter=1)
        histories[alpha] = model.history_[0]
        up = model._ways["project"].maps[-1].decoder
        assert (up.penalty() > 0.0) == (alpha > 0.0)
    assert histories[3.0] > histories[0.0] + 0.01


def test_projections_by_all_minimizers():
    data = (ROLL - ROLL.mean(axis=0)) / 10.0
    latents = (NOISY_SHEET - NOISY_SHEET.mean(axis=0)) / 100.0
    up = RBFNetwork(10, bandwidth=0.5, alpha=0.1, random_state=0).fit(latents, data)
    pulls = RBFNetwork(10, alpha=0.1, random_state=0).fit(data, latents).predict(data)
    first = np.square(data - up.predict(latents)).sum(axis=1)
    first += np.square(latents - pulls).sum(axis=1)
    _, lowest = project_rows(up, data, pulls, latents, PROJECTIONS["gauss_newton"])
    for name in ("gradient", "fixed_point"):
        Z, energies = project_rows(up, data, pulls, latents, PROJECTIONS[name])
        assert (energies <= first + 1e-12).all()
        direct = np.square(data - up.predict(Z)).sum(axis=1) + np.square(Z - pulls).sum(axis=1)
        np.testing.assert_allclose(energies, direct, rtol=1e-8)
        if name == "gradient":
            np.testing.assert_allclose(np.median(energies / lowest), 1.0, atol=1e-4)
    assert np.median(lowest) < np.median(first)


def test_fixed_points_are_iterates_of_the_papers_formula():
    X, _ = make_s_curve(60, random_state=0)
    data = X - X.mean(axis=0)
    latents = 3.0 * data[:, :2]  # latents wider than the data: slopes below 1, so it converges
    up = LinearMap().fit(latents, data)
    pulls = latents + 0.1
    J = up.weights_.T
    Z = latents.copy()
    for _ in range(100):
        Z = pulls + (data - up.predict(Z)) @ J
    found, _ = project_rows(up, data, pulls, latents, PROJECTIONS["fixed_point"])
    np.testing.assert_allclose(found, Z, atol=1e-3)


@pytest.mark.parametrize("optimizer", ["gauss_newton", "gradient", "fixed_point"])
def test_optimizers_by_name(optimizer):
    model = loop(ROLL, NOISY_SHEET, optimizer=optimizer)
    floor = {"gauss_newton": 0.97, "gradient": 0.97, "fixed_point": 0.8}[optimizer]
    assert procrustes_r2(SHEET, model.embedding_) > floor


def test_errors_are_orthogonal_to_the_manifold_where_the_encoder_is_right():
    X, along = make_noisy_spiral(100, random_state=0)
    data = X - X.mean(axis=0)
    latents = 3.0 * (along - along.mean(axis=0)) / along.std()
    up = RBFNetwork(15, alpha=1e-3, random_state=0).fit(latents, data)
    precise = GaussNewton(max_iter=100, tol=1e-12)
    pulls = latents + 0.3
    Z, _ = project_rows(up, data, pulls, latents, precise)
    _, slopes, _ = up.normal_terms(Z, data)
    # Equating Eq. (8) to zero: J^T (y - f(x)) = x - F(y).
    close = np.abs(slopes - (Z - pulls)) < 1e-4
    assert close.mean() > 0.95
    for _ in range(150):  # an encoder that finds the latents exactly
        Z, _ = project_rows(up, data, Z, Z, precise)
    curvature, slopes, losses = up.normal_terms(Z, data)
    cosines = np.abs(slopes[:, 0]) / np.sqrt(curvature[:, 0, 0] * losses)
    assert np.median(cosines) < 0.01
