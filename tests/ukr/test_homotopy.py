"""The schedule of the homotopy, the barrier, and PCA as a start."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

import twofold
from twofold import UKR
from twofold.datasets import make_s_curve
from twofold.numerics.linalg import row_norms_sq
from twofold.optimize import RProp
from twofold.starts.named import with_pca_by_name
from twofold.ukr import Homotopy
from twofold.ukr.density_constraint import constrained, relaxed
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import UKRSettings


@pytest.fixture(scope="module")
def X():
    return make_s_curve(90, noise=0.05, random_state=0)[0]


@pytest.fixture
def scheme(X):
    data = X - X.mean(axis=0)
    return KernelRegression.of(data, twofold.kernels.Gaussian(), many=False, pseudo_count=0.0)


class Counting:
    """A minimizer that counts the steps of each run."""

    def __init__(self):
        self.runs = []

    def minimize(self, objective, Z0, *, callback=None):
        steps = RProp(max_iter=1_000, tol=0.0, window=1_000)
        result = steps.minimize(objective, Z0, callback=callback)
        self.runs.append((objective.barrier, result.n_iter))
        return result


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_papers_schedule(X, monkeypatch):
    """100 steps at each of seven thresholds, then 300."""
    counting = Counting()
    monkeypatch.setattr(UKRSettings, "minimizer", lambda *_: counting)
    schedule = Homotopy(max_iter=100)
    model = UKR(init="pca", homotopy=schedule, max_iter=300, pseudo_count=0.0, random_state=0)
    model.fit(X[:40])
    free = [steps for barrier, steps in counting.runs if barrier is None]
    assert free == [300]
    for threshold in schedule.thresholds:
        stages = [
            (barrier.strength, steps)
            for barrier, steps in counting.runs
            if barrier is not None and barrier.threshold == threshold
        ]
        assert sum(steps for _, steps in stages) == 100
        weights = [weight for weight, _ in stages]
        assert weights == sorted(weights, reverse=True)
        assert weights[0] / weights[-1] == pytest.approx(10.0)


def test_few_iterations_use_the_last_weights(X, scheme):
    counting = Counting()
    schedule = Homotopy(barrier=(1e-1, 1e-2, 1e-3))
    constrained(scheme, 0.1 * X[:, :2], 0.2, schedule, lambda _: counting, 2, leave_one_out=True)
    variance = row_norms_sq(scheme.data).mean()
    found = [(barrier.strength / variance, steps) for barrier, steps in counting.runs]
    np.testing.assert_allclose(found, [(1e-2, 1), (1e-3, 1)])


def test_latents_stay_in_the_domain_at_every_threshold(X, scheme):
    for threshold in (0.5, 0.1, 0.02):
        Z = relaxed(
            scheme,
            X[:, :2],
            Homotopy(thresholds=(threshold,), max_iter=20),
            lambda n, tol: RProp(max_iter=n, tol=tol),
        )
        density = np.exp(-0.5 * np.square(Z[:, None] - Z).sum(axis=2)).mean(axis=1)
        assert density.min() >= threshold


def test_a_falling_weight_comes_closer_to_the_constrained_minimum(X):
    """Eq. (9): the plain error within a domain, of a constant or a falling weight."""
    settings = {"objective": "reconstruction", "density_threshold": 0.1, "init": "isomap"}
    errors = []
    for barrier in ((1e-1,), (1e-1, 1e-2, 1e-3, 1e-4)):
        schedule = Homotopy(barrier=barrier)
        model = UKR(homotopy=schedule, tol=1e-4, random_state=0, **settings).fit(X)
        K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
        assert K.mean(axis=1).min() >= 0.1
        errors.append(model.history_[-1])
    assert errors[1] < 0.95 * errors[0]


def test_history_of_the_plain_error_is_the_error(X):
    model = UKR(
        objective="reconstruction",
        density_threshold=0.05,
        init="isomap",
        pseudo_count=0.0,
        random_state=0,
    ).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    images = K @ X / K.sum(axis=1, keepdims=True)
    plain = np.square(X - images).sum(axis=1).mean()  # Eq. (8)
    assert model.history_[-1] == pytest.approx(plain, rel=1e-9)
    assert len(model.history_) == model.n_iter_ + 1


def test_more_thresholds_than_the_density_allows(X):
    """A plain error stops at its own threshold."""
    schedule = Homotopy(thresholds=(0.5, 0.05))
    model = UKR(
        objective="reconstruction",
        density_threshold=0.2,
        homotopy=schedule,
        init="pca",
        random_state=0,
    ).fit(X)
    K = np.exp(-0.5 * np.square(model.embedding_[:, None] - model.embedding_).sum(axis=2))
    assert K.mean(axis=1).min() >= 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"thresholds": ()}, r"thresholds=\(\) must be a list"),
        ({"thresholds": (0.1, 0.5)}, "must decrease"),
        ({"thresholds": (1.5, 0.5)}, "thresholds=1.5"),
        ({"barrier": (1e-3, 0.0)}, "barrier=0"),
        ({"barrier": 1e-3}, "barrier=0.001 must be a list"),
        ({"max_iter": 0}, r"^Homotopy\(max_iter=0\): max_iter must be"),
        ({"tol": -1.0}, "tol=-1"),
        ({"variance": 0.0}, "variance=0"),
        ({"variance": 1e-300}, "at least 1e-08"),
        ({"variance": 1e300}, "less than 10000"),
    ],
)
def test_invalid_schedules(settings, message):
    with pytest.raises(ValueError, match=message):
        Homotopy(**settings)


def test_a_numpy_bool_is_a_bool(X):
    for flag in (False, True):
        anneal = UKRSettings.of(UKR(init="pca", homotopy=np.bool_(flag)), len(X)).anneal
        assert anneal is flag


def test_a_schedule_is_saved_with_its_model(X, tmp_path):
    schedule = Homotopy(thresholds=[0.5, 0.1], max_iter=5)
    model = UKR(init="pca", homotopy=schedule, random_state=0).fit(X)
    model.save(tmp_path / "model.twofold")
    assert twofold.load(tmp_path / "model.twofold").homotopy == schedule


class TestPCA:
    def test_an_estimator_gives_what_the_name_gives(self, X):
        named, given = (UKR(init=init, random_state=0).fit(X) for init in ("pca", PCA(2)))
        np.testing.assert_array_equal(given.embedding_, named.embedding_)
        assert given.init_ == "pca"
        direct = UKR(init=PCA(2), homotopy=False, random_state=0).fit(X)
        assert direct.cv_error_ != given.cv_error_

    def test_other_settings_of_the_estimator_keep_the_homotopy(self, X):
        model = UKR(init=PCA(2, svd_solver="full"), random_state=0).fit(X)
        assert model.init_ == "PCA-0"
        # The same latents up to rounding, which the homotopy amplifies.
        named = UKR(init="pca", random_state=0).fit(X)
        assert model.cv_error_ == pytest.approx(named.cv_error_, rel=0.3)
        np.testing.assert_allclose(
            model.candidates_[0]["cv_error"], named.candidates_[0]["cv_error"], rtol=1e-6
        )

    def test_lists(self):
        starts = with_pca_by_name([PCA(2), "lle:5", PCA(2, whiten=True), np.ones((3, 2))], 2)
        assert starts[:2] == ["pca", "lle:5"]
        assert isinstance(starts[2], PCA)
        assert with_pca_by_name(PCA(3), 2).n_components == 3
