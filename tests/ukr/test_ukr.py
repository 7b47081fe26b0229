import numpy as np
import pytest
from registry import KERNELS
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from twofold import UKR
from twofold.datasets import make_noisy_helix, make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.optimize import SpectralGuidance


@pytest.fixture(scope="module")
def spiral():
    return make_noisy_spiral(300, random_state=0)


@pytest.fixture(scope="module")
def curve():
    return make_s_curve(120, noise=0.05, random_state=0)


def test_spiral_is_unrolled(spiral):
    X, truth = spiral
    model = UKR(1, random_state=0).fit(X)
    assert model.cv_error_ < 0.0025
    order = np.corrcoef(
        np.argsort(np.argsort(truth[:, 0])), np.argsort(np.argsort(model.embedding_[:, 0]))
    )
    assert abs(order[0, 1]) > 0.99
    clean, _ = make_noisy_spiral(300, noise=0.0, random_state=1)
    assert np.square(model.reconstruction_error(clean)).mean() < 0.0015
    names = [row["name"] for row in model.candidates_]
    assert model.init_ == names[0]
    assert {"pca", "tsne"} <= set(names)
    scores = [row["map_score"] for row in model.candidates_]
    assert scores[:2] == sorted(scores[:2], reverse=True)  # after ten iterations
    assert scores[2:] == sorted(scores[2:], reverse=True)
    assert (np.diff(model.history_) <= 1e-12).all()


@pytest.mark.parametrize("kernel", ["gaussian", "quartic", "triweight", "student"])
def test_kernels(kernel, curve):
    X, truth = curve
    model = UKR(kernel=kernel, init="isomap", random_state=0).fit(X)
    assert model.score(X) > 0.9
    if kernel != "student":  # its heavy tails let the latents spread without bound
        assert procrustes_r2(truth, model.embedding_) > 0.6


@pytest.mark.parametrize("optimizer", ["rprop", "gd", "cg"])
def test_optimizers(optimizer, curve):
    X, _ = curve
    model = UKR(init="isomap", optimizer=optimizer, max_iter=40, random_state=0).fit(X)
    assert model.cv_error_ < model.candidates_[0]["cv_error"]


class TestFeatureSpace:
    def test_linear_kernel_is_data_space(self, curve):
        X, _ = curve
        settings = {"init": "pca", "homotopy": False, "max_iter": 40, "random_state": 0}
        data = UKR(**settings).fit(X)
        feature = UKR(metric="linear", **settings).fit(X - X.mean(axis=0))
        assert feature.cv_error_ == pytest.approx(data.cv_error_, rel=1e-6)
        assert procrustes_r2(data.embedding_, feature.embedding_, scaling=False) > 1 - 1e-8
        Z = data.embedding_[:5]
        up = feature.inverse_transform(feature.embedding_[:5]) + X.mean(axis=0)
        np.testing.assert_allclose(up, data.inverse_transform(Z), atol=1e-4)

    @pytest.mark.parametrize("metric", ["l1", "rbf"])
    def test_end_to_end(self, metric, curve):
        X, _ = curve
        model = UKR(metric=metric, init="isomap", random_state=0).fit(X[:100])
        assert model.score(X[100:]) > 0.6
        assert np.square(X - model.reconstruct(X)).sum(axis=1).mean() < 0.3
        alone = np.vstack([model.transform(x[None]) for x in X[100:]])
        np.testing.assert_allclose(alone, model.transform(X[100:]), atol=1e-6)
        inner = model.kernel_inner(X[:3], model.embedding_[:4])
        assert inner.shape == (3, 4)

    def test_precomputed_equals_named(self, curve):
        X, _ = curve
        gamma = 0.3
        settings = {"init": "pca", "homotopy": False, "max_iter": 40, "random_state": 0}
        named = UKR(metric="rbf", metric_params={"gamma": gamma}, **settings).fit(X[:100])
        given = UKR(metric="precomputed", **settings).fit(rbf_kernel(X[:100], gamma=gamma))
        np.testing.assert_allclose(given.embedding_, named.embedding_, atol=1e-6)
        rows = rbf_kernel(X[100:], X[:100], gamma=gamma)
        np.testing.assert_allclose(given.transform(rows), named.transform(X[100:]), atol=1e-6)
        np.testing.assert_allclose(
            given.kernel_inner(rows, named.embedding_[:4]),
            named.kernel_inner(X[100:], named.embedding_[:4]),
            atol=1e-6,
        )
        assert given.__sklearn_tags__().input_tags.pairwise
        with pytest.raises(NotImplementedError, match="no pre-images"):
            given.inverse_transform(given.embedding_)

    def test_inner_products_in_data_space(self, curve):
        X, _ = curve
        model = UKR(init="pca", random_state=0).fit(X)
        expected = X[:3] @ model.inverse_transform(model.embedding_[:4]).T
        np.testing.assert_allclose(model.kernel_inner(X[:3], model.embedding_[:4]), expected)


def test_plain_error_within_a_density_constraint(curve):
    """The paper's first route, Eqs. (8)-(9)."""
    X, _ = curve
    model = UKR(
        objective="reconstruction", density_threshold=0.02, init="isomap", random_state=0
    ).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    assert K.mean(axis=1).min() >= 0.02
    assert model.density_threshold_ == pytest.approx(0.02)
    assert model.score(X) > 0.8


@pytest.mark.parametrize(("threshold", "margin"), [("quantile:0", 0.0), ("auto", 8.0)])
def test_domain_is_the_lowest_density_of_a_latent(threshold, margin, curve):
    X, _ = curve
    model = UKR(init="isomap", density_threshold=threshold, random_state=0).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    assert model.density_threshold_ == pytest.approx(K.mean(axis=1).min())
    with pytest.warns(UserWarning, match="far from the rows of the fit"):
        Z = model.transform(X + 10.0)
    densities = model.log_density(Z)
    assert densities.min() >= model.log_density_threshold_ - margin - 1e-9
    assert (densities.min() < model.log_density_threshold_ - 1e-9) == (margin > 0.0)


def test_domain_may_leave_out_a_share_of_the_latents(curve):
    X, _ = curve
    model = UKR(init="isomap", density_threshold="quantile:0.2", random_state=0).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    assert (K.mean(axis=1) < model.density_threshold_).mean() == pytest.approx(0.2, abs=0.02)
    inside = model.log_density(model.transform(X)) >= model.log_density_threshold_ - 1e-9
    assert inside.all()
    with pytest.raises(ValueError, match="No latent lies in the domain"):
        UKR(init="isomap", density_threshold=0.9, random_state=0).fit(X)


def test_validation_chooses_the_iterations(spiral):
    X, _ = spiral
    model = UKR(1, init="isomap", max_iter=60, validation_fraction=0.2, random_state=0).fit(X)
    assert len(model.validation_history_) >= 1
    best = 5 * (int(np.argmax(model.validation_history_)) + 1)
    assert model.n_iter_ <= best


def test_the_pseudo_count_follows_the_noise():
    counts = []
    for noise in (0.0, 0.3):
        X, _ = make_noisy_spiral(200, noise=noise, random_state=0)
        model = UKR(1, init="isomap", random_state=0).fit(X)
        start = model.candidates_[0]["cv_error"] / X.var(axis=0).sum()
        assert model.pseudo_count_ == pytest.approx(np.clip(start, 1e-3, 1.0), rel=1e-6)
        counts.append(model.pseudo_count_)
    assert counts[0] < 0.2 * counts[1]
    given = UKR(1, init="isomap", pseudo_count=0.25, random_state=0).fit(X)
    assert given.pseudo_count_ == 0.25


@pytest.mark.parametrize("seed", range(3))
def test_noisy_rolls_are_unrolled(seed):
    """The start of the lowest error is t-SNE, whose map of a roll is in pieces."""
    X, truth = make_swiss_roll(600, noise=0.5, random_state=seed)
    model = UKR(init=["tsne", "isomap"], random_state=0).fit(X)
    assert model.init_ == "isomap"
    assert procrustes_r2(truth, model.embedding_) > 0.98


def test_half_of_the_small_spirals_are_unrolled():
    """120 noisy rows leave gaps about as wide as the distance between two turns."""
    unrolled = 0
    for seed in range(8):
        X, truth = make_noisy_spiral(120, random_state=seed)
        Z = UKR(1, random_state=0).fit(X).embedding_
        unrolled += abs(spearmanr(truth[:, 0], Z[:, 0])[0]) > 0.95
    assert unrolled >= 4  # of 16 samples, 8


def test_scores_do_not_depend_on_units():
    X, _ = make_noisy_spiral(150, random_state=0)
    settings = {"init": ["isomap:6", "pca"], "max_iter": 10, "validation_fraction": 0.2}
    one, other = (
        UKR(1, random_state=0, **settings).fit(unit * X + shift)
        for unit, shift in ((1.0, 0.0), (2.0**20, 3.0))
    )
    np.testing.assert_allclose(one.validation_history_, other.validation_history_, rtol=1e-3)
    for first, second in zip(one.candidates_, other.candidates_, strict=True):
        assert first["map_score"] == pytest.approx(second["map_score"], rel=1e-3)


def test_the_paper_chooses_by_the_leave_one_out_error():
    X, _ = make_noisy_spiral(120, random_state=0)
    compared = UKR(1, max_iter=1, homotopy=False, random_state=0)
    with pytest.warns(ConvergenceWarning):
        compared.fit(X)
    best = min(compared.candidates_, key=lambda start: start["cv_error"])["name"]
    model = UKR(
        1,
        init=best,
        optimizer="rprop",
        max_iter=50,
        tol=0.0,
        pseudo_count=0.0,
        density_threshold="quantile:0",
        random_state=0,
    ).fit(X)
    assert model.init_ == best
    assert model.pseudo_count_ == 0.0


def test_leaving_out_groups_smooths_more(spiral):
    X, _ = spiral
    one, many = (UKR(1, init="lle", leave_out=size, random_state=0).fit(X) for size in (1, 60))
    # Fewer neighbors to predict from: wider kernels against the same latents.
    assert many.candidates_[0]["scales"] < one.candidates_[0]["scales"]


def test_homotopy_runs_where_pca_wins(curve):
    X, _ = curve
    flat = UKR(init="pca", random_state=0).fit(X)
    assert flat.init_ == "pca"
    direct = UKR(init="pca", homotopy=False, random_state=0).fit(X)
    assert not np.allclose(flat.embedding_, direct.embedding_)


def test_starts(curve):
    X, truth = curve
    for init in (truth, PCA(2), "lle:9", [truth, "pca"], lambda X, q, rng: X[:, :q]):
        model = UKR(init=init, random_state=0).fit(X)
        assert np.isfinite(model.embedding_).all()
    with pytest.raises(ValueError, match="init gives 3 columns"):
        UKR(init=X).fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_iter": 0}, "max_iter=0"),
        ({"objective": "likelihood"}, "objective='likelihood'"),
        ({"objective": "reconstruction"}, "needs a density_threshold"),
        ({"density_threshold": 2.0}, "density_threshold=2"),
        ({"density_threshold": "quantile:2"}, "density_threshold='quantile:2'"),
        ({"density_threshold": "lowest"}, "density_threshold='lowest'"),
        ({"pseudo_count": -1.0}, "pseudo_count=-1"),
        ({"homotopy": "often"}, "homotopy='often'"),
        ({"validation_fraction": 1.5}, "validation_fraction=1.5"),
        ({"validation_fraction": 0.999}, "leaves 0 of 120"),
        ({"leave_out": 0}, "leave_out=0"),
        ({"kernel": "box"}, "kernel='box'"),
        ({"metric": "cosmic"}, "metric='cosmic'"),
        ({"optimizer": "magic"}, "magic"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_parameters(params, message, curve):
    with pytest.raises(ValueError, match=message):
        UKR(**{"init": "pca", **params}).fit(curve[0])


def test_a_fit_cut_short_says_so(curve):
    with pytest.warns(ConvergenceWarning, match="still falling"):
        model = UKR(init="isomap", max_iter=1, random_state=0).fit(curve[0])
    assert model.n_iter_ == 1


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_homotopy_with_an_outlier(kernel):
    X = np.random.default_rng(0).standard_normal((120, 4))
    X[7] *= 100.0
    model = UKR(kernel=kernel, init="pca", homotopy=True, max_iter=20, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_one_latent_thrown_far_away_recovers(kernel, spiral):
    X, truth = spiral
    start = 20.0 * truth
    start[5] += 1e4
    model = UKR(1, kernel=kernel, init=start, random_state=0).fit(X)
    assert abs(model.embedding_ - np.median(model.embedding_)).max() < 1e3
    assert model.score(X) > 0.98


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_no_stray_is_left(kernel):
    X = load_digits().data[:400]
    model = UKR(kernel=kernel, init="isomap", max_iter=60, random_state=0).fit(X)
    squared = np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2)
    K = np.exp(KERNELS[kernel].log_profile(squared))
    assert (K.sum(axis=1) - 1.0).min() > 0.05


def test_inner_products_of_city_blocks():
    """Eq. (17) in the caller's units and from the caller's origin."""
    X = np.random.default_rng(0).random((30, 3)) + 10.0
    model = UKR(1, metric="l1", init="pca", homotopy=False, random_state=0).fit(X)
    weights = model.encoder_.regression.weights(model.embedding_[:2])
    kernel = 0.5 * (
        np.abs(X[:4]).sum(axis=1)[:, None]
        + np.abs(X).sum(axis=1)
        - np.abs(X[:4, None] - X).sum(axis=2)
    )
    inner = model.kernel_inner(X[:4], model.embedding_[:2])
    np.testing.assert_allclose(inner, kernel @ weights.T, rtol=1e-9)


@pytest.mark.parametrize("metric", ["rbf", "linear", "laplacian"])
def test_kernels_that_do_not_depend_on_the_origin(metric, curve):
    X, _ = curve
    settings = {"metric": metric, "init": "pca", "homotopy": False, "max_iter": 40}
    here = UKR(random_state=0, **settings).fit(X[:80])
    there = UKR(random_state=0, **settings).fit(X[:80] + 2.0**20)
    assert there.cv_error_ == pytest.approx(here.cv_error_, rel=1e-3)


def test_kernels_in_degenerate_cases(curve):
    X, _ = curve
    with pytest.raises(ValueError, match="equal up to rounding, and the data vary in no direct"):
        UKR(1, metric="rbf").fit(1e-9 * X)
    with pytest.raises(ValueError, match="out of range"):
        UKR(1, metric="linear").fit(1e160 * X)
    with pytest.raises(ValueError, match="symmetric"):
        UKR(1, metric="precomputed").fit(np.triu(X[:9] @ X[:9].T))
    model = UKR(1, metric="poly", init="pca", homotopy=False, random_state=0).fit(X[:60])
    assert np.isfinite(model.transform(1e150 * X[:2])).all()


def test_attributes_of_a_constant_model():
    with pytest.warns(UserWarning, match="only 0 directions"):
        model = UKR(1).fit(np.ones((20, 3)))
    assert (model.n_iter_, model.cv_error_, model.init_) == (1, 0.0, "constant")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_candidates_report_the_same_error_as_the_model(spiral):
    X, _ = spiral
    model = UKR(1, init="isomap", pseudo_count=0.5, max_iter=1, tol=1e9, random_state=0).fit(X)
    assert model.candidates_[0]["cv_error"] == pytest.approx(model.cv_error_, rel=0.2)


def test_constant_columns_count_in_city_block_errors(curve):
    X, _ = curve
    table = np.column_stack([X[:60], np.full(60, 3.0)])
    model = UKR(1, metric="l1", init="pca", homotopy=False, random_state=0).fit(table)
    off = table[:2].copy()
    off[:, -1] += 16.0
    near, far = model.reconstruction_error(table[:2]), model.reconstruction_error(off)
    np.testing.assert_allclose(far**2, near**2 + 16.0, rtol=1e-9)


def test_latents_that_say_nothing_still_lead_somewhere():
    X = load_digits().data[:150]
    model = UKR(init="random", random_state=0).fit(X)
    assert model.embedding_.std() > 0.1
    assert model.score(X) > 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestGuidance:
    def test_random_starts_end_lower(self):
        X, _ = make_noisy_helix(300, random_state=0)
        errors = {
            name: [
                UKR(1, init="random", guidance=guidance, max_iter=120, random_state=seed)
                .fit(X)
                .cv_error_
                for seed in range(4)
            ]
            for name, guidance in (("plain", None), ("guided", SpectralGuidance()))
        }
        assert np.median(errors["guided"]) < 0.75 * np.median(errors["plain"])

    @pytest.mark.parametrize("optimizer", ["gd", "rprop", "cg"])
    def test_with_held_out_rows_and_other_minimizers(self, optimizer):
        X, _ = make_noisy_helix(120, random_state=0)
        settings = {
            "init": "random",
            "optimizer": optimizer,
            "max_iter": 60,
            "validation_fraction": 0.2,
            "random_state": 0,
        }
        plain = UKR(1, **settings).fit(X)
        guided = UKR(1, guidance=SpectralGuidance(hold=2), **settings).fit(X)
        assert guided.n_iter_ <= 60
        assert len(guided.validation_history_) > 0
        if optimizer != "rprop":  # which is slow to start, at every level anew
            assert guided.validation_history_.max() > plain.validation_history_.max()

    def test_many_rows(self, monkeypatch):
        monkeypatch.setattr("twofold.ukr.settings.MANY_ROWS", 1_000)
        X, _ = make_noisy_helix(1_500, random_state=0)
        settings = {"init": "random", "max_iter": 12, "random_state": 0}
        plain = UKR(1, **settings).fit(X).history_
        guided = UKR(1, guidance=SpectralGuidance(hold=1), **settings).fit(X).history_
        assert plain[0] == guided[0]
        assert plain[1] != guided[1]
        assert (np.diff(guided) < 0.0).all()

    def test_only_guidance_guides(self):
        X, _ = make_noisy_helix(40, random_state=0)
        with pytest.raises(TypeError, match="guidance='auto'"):
            UKR(1, guidance="auto").fit(X)
