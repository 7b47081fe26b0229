"""Standard deviations over the map, p-values, and the views of unusual rows."""

import numpy as np
import pytest

from twofold.calibration.cross_fit import CrossFit
from twofold.calibration.spread import LEAST_MEAN, LEAST_OWN, PRIOR_ROWS, Spread
from twofold.calibration.tails import N_LARGEST, Tail
from twofold.calibration.unusual import Rows, Unusual, _mahalanobis
from twofold.numerics.factor_model import FactorModel

M = 1200


def noise_at(Z):
    """Deviations of two columns: one grows along the map, one is the same everywhere."""
    return np.column_stack([0.1 + 0.9 * (Z[:, 0] > 0.0), np.full(len(Z), 0.3)])


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def spread(rng):
    Z = rng.uniform(-1.0, 1.0, (M, 1))
    residuals = noise_at(Z) * np.random.default_rng(1).standard_normal((M, 2))
    observed = np.ones((M, 2), dtype=bool)
    found = CrossFit(Z, residuals, observed, np.arange(M) % 3)
    return Spread(found, np.zeros(2), np.full(2, 4.0), np.zeros(M))


class TestSpread:
    def test_variances_equal_naive_means(self, spread):
        Z, squares = spread.found.latents, np.square(spread.found.residuals)
        pooled = squares.mean(axis=0)
        for place in (-0.5, 0.7):
            weights = np.exp(-0.5 * np.square((place - Z[:, 0]) / 0.2))
            expected = (weights @ squares + PRIOR_ROWS * pooled) / (weights.sum() + PRIOR_ROWS)
            expected += LEAST_OWN * pooled + LEAST_MEAN * pooled.mean()
            found = spread.variances(np.array([[place]]), 0.2)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_cells_that_were_missing_do_not_count(self, spread, rng):
        observed = rng.random((M, 2)) < 0.7
        residuals = np.where(observed, spread.found.residuals, 0.0)
        found = CrossFit(spread.found.latents, residuals, observed, spread.found.folds)
        other = Spread(found, spread.mean, spread.variance, spread.log_densities)
        places = np.array([[-0.5], [0.5]])
        ratio = other.variances(places, 0.3) / spread.variances(places, 0.3)
        assert 0.6 < ratio.min() <= ratio.max() < 1.6

    def test_deviations_follow_the_map(self, spread):
        places = np.linspace(-0.9, 0.9, 40)[:, None]
        found = spread.deviations(places, np.zeros((40, 2)), np.zeros(40))
        ratio = found / noise_at(places)
        assert np.median(ratio, axis=0) == pytest.approx([1.0, 1.0], abs=0.25)
        ahead, behind = found[places[:, 0] > 0.3, 0], found[places[:, 0] < -0.3, 0]
        assert ahead.min() > 4.0 * behind.max()  # ten times the noise

    def test_new_residuals_lie_within(self, spread, rng):
        Z = rng.uniform(-1.0, 1.0, (4000, 1))
        residuals = noise_at(Z) * rng.standard_normal((4000, 2))
        std = spread.deviations(Z, np.zeros((4000, 2)), np.zeros(4000))
        covered = (np.abs(residuals) <= 1.645 * std).mean(axis=0)
        assert covered.mean() == pytest.approx(0.9, abs=0.02)
        assert covered == pytest.approx([0.9, 0.9], abs=0.05)

    def test_heavy_tails_do_not_matter(self, rng):
        Z = rng.uniform(-1.0, 1.0, (M, 1))
        observed = np.ones((M, 3), dtype=bool)
        found = CrossFit(Z, rng.standard_t(2, (M, 3)), observed, np.arange(M) % 3)
        spread = Spread(found, np.zeros(3), np.full(3, 50.0), np.zeros(M))
        std = spread.deviations(Z, np.zeros((M, 3)), np.zeros(M))
        covered = np.abs(rng.standard_t(2, (M, 3))) <= 1.645 * std
        assert covered.mean() == pytest.approx(0.9, abs=0.03)

    def test_deviations_grow_away_from_support(self, spread):
        """Where nothing is known they are those of the column, around the decoded value."""
        images = np.array([[0.0, 0.0], [0.0, 0.0], [10.0, 0.0]])
        places = np.zeros((3, 1))
        near, low, far = spread.deviations(places, images, np.array([0.0, -1.0, -1e6]))
        assert (near < low).all()
        np.testing.assert_allclose(far, [np.sqrt(4.0 + 100.0), 2.0], rtol=1e-6)


class TestTail:
    def test_conformal_values(self, rng):
        values = rng.standard_normal(99)
        tail = Tail(values)
        for value in (-5.0, 0.0, np.sort(values)[-10]):
            expected = -np.log10((1 + (values >= value).sum()) / 100.0)
            assert tail.log_p(np.array([value]))[0] == pytest.approx(expected)

    def test_tail_keeps_the_order(self, rng):
        tail = Tail(rng.standard_normal(500))
        found = tail.log_p(np.linspace(-4.0, 60.0, 400))
        assert (np.diff(found) >= 0.0).all()
        assert (np.diff(found[-100:]) > 0.0).all()
        assert np.isfinite(tail.log_p(np.array([1e300]))).all()

    def test_false_alarms(self):
        rng = np.random.default_rng(3)
        shares = []
        for _ in range(60):
            tail = Tail(rng.exponential(size=200))
            new = tail.log_p(rng.exponential(size=200))
            shares.append([(new >= -np.log10(level) - 1e-9).mean() for level in (0.01, 0.05, 0.1)])
        assert np.mean(shares, axis=0) == pytest.approx([0.01, 0.05, 0.1], abs=0.012)

    def test_own_values_are_beside_the_others(self, rng):
        values = rng.standard_normal(50)
        own = Tail(values).own_log_p
        for place in np.argsort(values)[[0, 10, 30, -N_LARGEST - 2, -2, -1]]:
            others = Tail(np.delete(values, place)).log_p(values[place : place + 1])
            assert own[place] == pytest.approx(others[0])

    def test_few_or_equal_values(self):
        assert Tail(np.zeros(1)).own_log_p.tolist() == [0.0]
        equal = Tail(np.ones(30))
        assert equal.log_p(np.array([1.0]))[0] == 0.0
        assert equal.log_p(np.array([2.0]))[0] > 1.0


def test_mahalanobis_distances_with_and_without_gaps(rng):
    loadings = rng.standard_normal((6, 2))
    rows = rng.standard_normal((300, 2)) @ loadings.T + 0.3 * rng.standard_normal((300, 6))
    model = FactorModel.fit(rows, np.ones(rows.shape, dtype=bool), n_iter=0)
    covariance = model.loadings @ model.loadings.T + np.diag(model.noise)
    observed = rng.random((20, 6)) < 0.7
    observed[:, 0], observed[:5] = True, True
    found = _mahalanobis(model, rows[:20], observed)
    for number, cells in enumerate(observed):
        c = (rows[number] - model.mean)[cells]
        expected = c @ np.linalg.solve(covariance[np.ix_(cells, cells)], c) / cells.sum()
        assert found[number] == pytest.approx(np.log(expected + 1e-6), rel=1e-6)


def test_each_view_finds_its_own_kind_of_row(rng):
    """One odd row for each view among usual ones; the others do not find it first."""
    Z = rng.uniform(-1.0, 1.0, (300, 2))
    together = rng.standard_normal((300, 1)) * [1.0, 1.0, 0.0, 0.0]
    residuals = 0.1 * (together + 0.2 * rng.standard_normal((300, 4)))
    data = np.column_stack([Z, Z]) + residuals
    observed = np.ones((300, 4), dtype=bool)
    density = -np.square(Z).sum(axis=1)
    found = CrossFit(Z, residuals, observed, np.arange(300) % 3)
    spread = Spread(found, data.mean(axis=0), data.var(axis=0), density)
    unusual = Unusual(Rows(data, observed, Z, residuals, density), spread)
    middle = np.zeros((4, 2))
    odd = np.zeros((4, 4))
    odd[0, :2] = 0.12, -0.12  # against the relation, each cell usual
    odd[1, 3] = 0.3
    densities = np.array([0.0, 0.0, -40.0, 0.0])
    rows = Rows(np.zeros((4, 4)) + odd, observed[:4], middle, odd, densities)
    scores = unusual.scores(rows, np.zeros(4))
    assert (scores[:3] > 2.0).all()
    assert scores[3] < 1.3
    changed = unusual.scores(rows, np.array([0.0, 0.0, 0.0, 1.0]))
    assert changed[3] > 3.0
    np.testing.assert_array_equal(changed[:3], scores[:3])
    known = Rows(*(part[:7] for part in (data, observed, Z, 0.0 * residuals, density)))
    np.testing.assert_array_equal(unusual.scores(known, np.zeros(7)), unusual._tail.own_log_p[:7])
