import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from twofold import UKR
from twofold.datasets import make_noisy_spiral, make_s_curve
from twofold.metrics import procrustes_r2


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
    errors = [row["cv_error"] for row in model.candidates_]
    assert errors == sorted(errors)
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


def test_domain_is_the_lowest_density_of_a_latent(curve):
    X, _ = curve
    model = UKR(init="isomap", random_state=0).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    assert model.density_threshold_ == pytest.approx(K.mean(axis=1).min())
    far = model.transform(X + 10.0)
    K = np.exp(-0.5 * np.square(far[:, None] - model.embedding_).sum(axis=2))
    assert (K.mean(axis=1) >= model.density_threshold_ * (1 - 1e-9)).all()


def test_domain_may_leave_out_a_share_of_the_latents(curve):
    X, _ = curve
    model = UKR(init="isomap", density_threshold="quantile:0.2", random_state=0).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    assert (K.mean(axis=1) < model.density_threshold_).mean() == pytest.approx(0.2, abs=0.02)


def test_validation_chooses_the_iterations(spiral):
    X, _ = spiral
    model = UKR(1, init="isomap", max_iter=60, validation_fraction=0.2, random_state=0).fit(X)
    assert len(model.validation_history_) >= 1
    best = 10 * (int(np.argmin(model.validation_history_)) + 1)
    assert model.n_iter_ <= best


def test_leaving_out_groups_smooths_more(spiral):
    X, _ = spiral
    one, many = (UKR(1, init="isomap", leave_out=size, random_state=0).fit(X) for size in (1, 60))
    # Fewer neighbours to predict from: wider kernels against the same latents.
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
