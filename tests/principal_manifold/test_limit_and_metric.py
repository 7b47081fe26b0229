"""The penalty as a constraint, and squared losses in a given metric."""

import numpy as np
import pytest
from scipy import linalg

from twofold import PrincipalManifold
from twofold.export.model_files import load
from twofold.principal_manifold import Mahalanobis, PenaltyLimit
from twofold.principal_manifold.functional import penalized, solved, solved_within
from twofold.principal_manifold.limit import LOG_RANGE

PLACES = np.linspace(-1.0, 1.0, 1_000)[:, None]


def arc(n=200, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.standard_normal((n, 2))


def length_of(model):
    return np.linalg.norm(np.diff(model.inverse_transform(PLACES), axis=0), axis=1).sum()


class TestLimit:
    @pytest.mark.parametrize("penalty", ["rkhs", "l2"])
    @pytest.mark.parametrize("loss", ["squared", "norm"])
    def test_the_penalty_meets_the_limit_and_the_loss_never_rises(self, penalty, loss):
        X = arc()
        model = PrincipalManifold(
            penalty=penalty, loss=loss, alpha=PenaltyLimit(0.5), init="pca"
        ).fit(X)
        assert model.roughness_ == pytest.approx(0.5, rel=1e-3)
        assert model.roughness_ <= 0.5 * (1.0 + 1e-9)
        assert np.diff(model.history_).max() <= 1e-12
        assert model.alpha_ > 0.0

    def test_linear_penalties(self):
        X = arc(60)
        model = PrincipalManifold(
            penalty="l1", n_nodes=6, alpha=PenaltyLimit(1.5), init="pca", tol=1e-2
        ).fit(X)
        assert model.roughness_ == pytest.approx(1.5, rel=1e-3)

    def test_the_multiplier_gives_the_same_manifold(self):
        X = arc()
        limited = PrincipalManifold(alpha=PenaltyLimit(0.5), init="pca", tol=1e-7).fit(X)
        weighted = PrincipalManifold(alpha=limited.alpha_, init=limited.embedding_, tol=1e-7).fit(X)
        assert weighted.roughness_ == pytest.approx(0.5, rel=0.01)
        np.testing.assert_allclose(
            weighted.inverse_transform(PLACES), limited.inverse_transform(PLACES), atol=0.03
        )

    def test_an_adaptation_is_the_best_map_of_the_class(self):
        rng = np.random.default_rng(0)
        X = arc()
        model = PrincipalManifold(alpha=1e-3, n_nodes=5, init="pca").fit(X)
        up, Z = model.decoder_.up, model.embedding_
        inside = model.encoder_.frame.into(model._data_units.into(X))
        design = np.hstack([np.ones((len(X), 1)), up.features(Z)])
        grams, right = [design.T @ design / len(X)], design.T @ inside / len(X)
        best, _ = solved_within(up, grams, right, "rkhs", 0.0, 1.0)

        def loss(W, f0):
            return np.square(inside - design[:, 1:] @ W - f0).sum(axis=1).mean()

        lowest = loss(best.weights_, best.intercept_)
        assert penalized(best, "rkhs") == pytest.approx(1.0, rel=1e-3)
        for size in (1e-3, 1e-2, 0.1):
            for _ in range(50):
                other = solved(up, grams, right, "rkhs", 1.0)
                other.weights_ = best.weights_ + size * rng.standard_normal(best.weights_.shape)
                other.weights_ *= min(1.0, np.sqrt(1.0 / penalized(other, "rkhs")))
                rest = inside - design[:, 1:] @ other.weights_
                assert loss(other.weights_, rest.mean(axis=0)) >= lowest * (1.0 - 1e-3)

    @pytest.mark.parametrize("length", [0.5, 1.5, 2.5])
    def test_curves_of_a_given_length(self, length):
        X = arc()
        model = PrincipalManifold(
            kernel="spline", n_nodes=30, alpha=PenaltyLimit(length=length), init="pca", tol=1e-5
        ).fit(X)
        assert length_of(model) <= length * (1.0 + 1e-6)
        assert length_of(model) == pytest.approx(length, rel=0.02)
        speeds = np.linalg.norm(np.diff(model.inverse_transform(PLACES), axis=0), axis=1)
        assert speeds.std() < 0.15 * speeds.mean()
        alone = PrincipalManifold(
            kernel="spline", n_nodes=30, alpha=PenaltyLimit(length**2 / 4), init="pca", tol=1e-5
        ).fit(X)
        assert model.score(X) >= alone.score(X) - 1e-9
        again = PrincipalManifold(
            kernel="spline", n_nodes=30, alpha=PenaltyLimit(length=100 * length), init="pca"
        ).set_params(tol=1e-5)
        assert length_of(again.fit(100.0 * X)) == pytest.approx(100 * length_of(model), rel=1e-3)

    def test_the_best_segment(self):
        X = np.column_stack([np.linspace(-1.0, 1.0, 400), np.zeros(400)])
        model = PrincipalManifold(
            kernel="spline", alpha=PenaltyLimit(length=1.0), init="pca", tol=0.0
        ).fit(X)
        ends = np.sort(model.inverse_transform([[-1.0], [1.0]])[:, 0])
        np.testing.assert_allclose(ends, [-0.5, 0.5], atol=0.01)

    def test_closed_curves_of_a_given_length(self):
        rng = np.random.default_rng(0)
        angle = rng.uniform(-np.pi, np.pi, 300)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        model = PrincipalManifold(
            kernel="spline", n_nodes=40, domain="circle", alpha=PenaltyLimit(length=4.0), tol=1e-5
        ).fit(X)
        assert length_of(model) == pytest.approx(4.0, rel=0.02)
        radius = np.linalg.norm(model.inverse_transform(PLACES), axis=1)
        assert radius.mean() == pytest.approx(4.0 / (2.0 * np.pi), rel=0.03)

    def test_a_limit_that_does_not_bind(self):
        X = arc()
        model = PrincipalManifold(alpha=PenaltyLimit(1e12), n_nodes=4, init="pca").fit(X)
        assert model.alpha_ == 0.0
        free = PrincipalManifold(alpha=float(np.exp(LOG_RANGE[0])), n_nodes=4, init="pca").fit(X)
        assert model.score(X) == pytest.approx(free.score(X), abs=1e-3)

    def test_many_rows(self, monkeypatch):
        monkeypatch.setattr("twofold.principal_manifold.settings.MOST_ROWS", 300)
        X = arc(1_000)
        model = PrincipalManifold(alpha=PenaltyLimit(0.5), n_nodes=5, init="pca").fit(X)
        assert model.roughness_ == pytest.approx(0.5, rel=1e-3)

    def test_model_files(self, tmp_path):
        model = PrincipalManifold(alpha=PenaltyLimit(0.5), init="pca", tol=1e-2).fit(arc(60))
        model.save(tmp_path / "model.twofold")
        again = load(tmp_path / "model.twofold")
        assert again.alpha == PenaltyLimit(0.5)
        assert again.roughness_ == model.roughness_

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"alpha": PenaltyLimit(1.0), "assignment": "soft"}, "assignment='hard'"),
            ({"alpha": PenaltyLimit(length=1.0)}, "kernel='spline'"),
            (
                {"alpha": PenaltyLimit(1.0), "penalty": "l1", "refit_alpha": 1e-3},
                "without the limit",
            ),
            (
                {"alpha": PenaltyLimit(length=1.0), "kernel": "spline", "loss": "mahalanobis"},
                "units of the data",
            ),
        ],
    )
    def test_settings_that_make_no_sense(self, settings, message):
        with pytest.raises(ValueError, match=message):
            PrincipalManifold(**settings).fit(arc(50))

    @pytest.mark.parametrize("given", [{}, {"limit": 1.0, "length": 1.0}, {"limit": 0.0}])
    def test_limits_that_make_no_sense(self, given):
        with pytest.raises(ValueError, match="limit="):
            PenaltyLimit(**given)


class TestMetric:
    def test_lines_diagonalize_both_matrices(self):
        # Example 5: the leading generalized eigenvectors of the covariance and D.
        rng = np.random.default_rng(0)
        mixing = rng.standard_normal((4, 4))
        X = rng.standard_normal((400, 4)) * [3.0, 2.0, 0.5, 0.2] @ mixing
        half = rng.standard_normal((4, 4))
        D = half @ half.T + 0.5 * np.eye(4)
        model = PrincipalManifold(
            2, kernel="linear", alpha=0.0, loss=Mahalanobis(D), init="pca", tol=1e-8
        ).set_params(max_iter=1_000)
        model.fit(X)
        corners = model.inverse_transform([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        found = (corners[1:] - corners[0]).T
        _, vectors = linalg.eigh(np.cov(X.T), D)
        expected = D @ vectors[:, -2:]
        root = np.linalg.inv(linalg.sqrtm(D).real)
        angles = linalg.subspace_angles(root @ found, root @ expected)
        assert np.rad2deg(angles.max()) < 2.0
        plain = PrincipalManifold(2, kernel="linear", alpha=0.0, init="pca").fit(X)
        directions = plain.inverse_transform([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        other = linalg.subspace_angles(root @ (directions[1:] - directions[0]).T, root @ expected)
        assert np.rad2deg(other.max()) > 10.0

    def test_the_covariance_is_mahalanobis(self):
        X = arc() * [1.0, 5.0]
        named = PrincipalManifold(loss="mahalanobis", alpha=1e-3, init="pca").fit(X)
        given = PrincipalManifold(
            loss=Mahalanobis(np.cov(X.T, bias=True)), alpha=1e-3, init=named.embedding_
        ).fit(X)
        assert given.score(X) == pytest.approx(named.score(X), abs=2e-3)

    def test_multiples_of_the_identity_change_nothing(self):
        X = arc()
        plain = PrincipalManifold(alpha=1e-3, init="pca").fit(X)
        for scale in (1.0, 1e-6, 1e8):
            model = PrincipalManifold(
                alpha=1e-3, init="pca", loss=Mahalanobis(scale * np.eye(2))
            ).fit(X)
            np.testing.assert_allclose(
                model.inverse_transform(PLACES), plain.inverse_transform(PLACES), atol=1e-6
            )

    def test_codes_are_nearest_in_the_metric(self):
        X = arc(noise=0.3)
        D = np.array([[2.0, 0.9], [0.9, 0.5]])
        model = PrincipalManifold(alpha=1e-3, loss=Mahalanobis(D), init="pca").fit(X)
        images = model.inverse_transform(PLACES)
        inverse = np.linalg.inv(D)
        for x, z in zip(X[:20], model.transform(X[:20]), strict=True):
            offsets = x - images
            losses = np.einsum("nd,de,ne->n", offsets, inverse, offsets)
            own = x - model.inverse_transform(z[None])[0]
            assert own @ inverse @ own <= losses.min() * (1.0 + 1e-6)

    def test_constant_columns(self):
        X = arc()
        padded = np.column_stack([X[:, 0], np.full(len(X), 7.0), X[:, 1]])
        half = np.random.default_rng(0).standard_normal((3, 3))
        D = half @ half.T + np.eye(3)
        model = PrincipalManifold(alpha=1e-3, loss=Mahalanobis(D), init="pca").fit(padded)
        kept = np.linalg.inv(np.linalg.inv(D)[np.ix_([0, 2], [0, 2])])
        same = PrincipalManifold(alpha=1e-3, loss=Mahalanobis(kept), init="pca").fit(X)
        np.testing.assert_allclose(model.embedding_, same.embedding_, atol=1e-6)

    def test_model_files(self, tmp_path):
        X = arc(60)
        model = PrincipalManifold(
            alpha=1e-3, loss=Mahalanobis([[1.0, 0.2], [0.2, 2.0]]), init="pca", tol=1e-2
        ).fit(X)
        model.save(tmp_path / "model.twofold")
        again = load(tmp_path / "model.twofold")
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        np.testing.assert_array_equal(again.loss.D, model.loss.D)

    @pytest.mark.parametrize(
        ("D", "message"),
        [
            (np.ones(3), "square"),
            (np.ones((2, 3)), "square"),
            ([[1.0, 0.5], [0.0, 1.0]], "symmetric"),
            ([[1.0, 2.0], [2.0, 1.0]], "positive definite"),
            ([[np.nan, 0.0], [0.0, 1.0]], "NaN"),
        ],
    )
    def test_matrices_that_make_no_sense(self, D, message):
        with pytest.raises(ValueError, match=message):
            Mahalanobis(D)

    def test_the_wrong_size(self):
        with pytest.raises(ValueError, match="3 columns; X has 2"):
            PrincipalManifold(loss=Mahalanobis(np.eye(3)), alpha=1e-3).fit(arc(50))


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.diag([1.0, 1e-20]), "1e-12 times the largest, 1"),
        ("a", "D='a' must be"),
        (np.eye(2) * 1j, "real numbers"),
        (None, "square"),
    ],
)
def test_matrices_of_no_metric(D, message):
    with pytest.raises(ValueError, match=message):
        Mahalanobis(D)


@pytest.mark.parametrize("alpha", [None, (1.0,), {}])
def test_messages_name_all_kinds_of_alpha(alpha):
    with pytest.raises(TypeError, match="'cv', a CrossValidation or a PenaltyLimit"):
        PrincipalManifold(alpha=alpha).fit(arc(20))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_limits_of_extreme_data(scale):
    X = arc(40)
    model = PrincipalManifold(alpha=PenaltyLimit(1.0), init="pca", tol=0.05).fit(scale * X)
    assert np.isfinite(model.inverse_transform(model.transform(scale * X))).all()
    assert np.isfinite(model.roughness_)
