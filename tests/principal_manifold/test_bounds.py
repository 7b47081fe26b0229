"""Bounds of Smola et al. (2001), section 7, against naive references and known rates."""

import numpy as np
import pytest
from scipy.special import gamma, zeta

from twofold import PrincipalManifold
from twofold.principal_manifold import KernelSpectrum, RiskBounds
from twofold.principal_manifold.spectrum import steepness

J = np.arange(1.0, 2_001.0)


def spectrum_of(values, decay="exponential", exponent=1.0, **more):
    return KernelSpectrum(np.asarray(values), decay, exponent, 0.5, **more)


def bounds_of(values, *, d=2, limit=0.5, radius=1.0, **more):
    spectrum = values if isinstance(values, KernelSpectrum) else spectrum_of(values)
    return RiskBounds(spectrum, d, radius, limit, **more)


def equation_81(values, a, log_n, d, largest=1.0):
    """Return the bound for given scale factors, as printed."""
    norm = np.sqrt((values / a**2).sum())
    j = np.arange(1.0, len(values) + 1.0)
    products = np.exp(np.cumsum(np.log(a)) / j)
    return (6.0 * largest * np.sqrt(d) * norm * np.exp(-log_n / (j * d)) * products).max()


class TestEntropyNumbers:
    @pytest.mark.parametrize("values", [np.exp(-J[:30]), J[:200] ** -2.5, np.ones(5)])
    @pytest.mark.parametrize("log_n", [0.0, 3.0, 40.0])
    def test_the_closed_form_is_equation_81_at_its_own_scale_factors(self, values, log_n):
        bounds, d = bounds_of(values, d=3), 3
        found, j = bounds._scaling(log_n)
        a = np.sqrt(values)
        a[j:] = np.exp((np.log(a[:j]).sum() - log_n / d) / j)
        assert found == pytest.approx(equation_81(values, a, log_n, d))
        assert (np.diff(a) <= 1e-12).all()

    @pytest.mark.parametrize("values", [np.exp(-J[:20]), J[:40] ** -2.0])
    def test_no_other_scale_factors_give_less(self, values):
        bounds, rng = bounds_of(values, d=2), np.random.default_rng(0)
        for log_n in (0.5, 10.0):
            found, j = bounds._scaling(log_n)
            best = np.sqrt(values)
            best[j:] = np.exp((np.log(best[:j]).sum() - log_n / 2) / j)
            tried = [values ** rng.uniform(0.0, 1.0) for _ in range(50)]
            near = [best * np.exp(0.1 * rng.standard_normal(len(values))) for _ in range(50)]
            others = [
                np.sort(a)[::-1] for a in tried + near
            ]  # entropy numbers of diagonal operators need decreasing factors
            assert min(equation_81(values, a, log_n, 2) for a in others) >= found * (1 - 1e-12)

    def test_scales(self):
        few = bounds_of(np.exp(-J[:30]), limit=0.5)
        more = bounds_of(np.exp(-J[:30]), limit=2.0)
        assert more.entropy_number(5.0) == pytest.approx(2.0 * few.entropy_number(5.0))
        tall = bounds_of(spectrum_of(np.exp(-J[:30]), largest_eigenfunction=3.0))
        assert tall.entropy_number(5.0) == pytest.approx(3.0 * few.entropy_number(5.0))

    def test_eigenvalues_that_were_not_computed_count(self):
        whole = J**-2.0
        part = bounds_of(spectrum_of(whole[:50], trace=whole.sum()))
        assert part.entropy_number(5.0) == pytest.approx(bounds_of(whole).entropy_number(5.0))
        assert part.log_covering_number(1e-6) == np.inf

    def test_linear_penalties_square_the_operator(self):
        # Eq. (87): twice the decay, so polynomial entropy numbers fall twice as fast.
        values = J**-3.0
        quadratic, linear = (bounds_of(values, limit=1.0, penalty=p) for p in ("rkhs", "l1"))
        a = np.sqrt(values)
        _, j = linear._scaling(0.5 * 60.0)
        a[j:] = np.exp((np.log(a[:j]).sum() - 0.5 * 60.0 / 2) / j)
        norm = (values / a**2).sum()
        k = np.arange(1.0, len(a) + 1.0)
        squared = np.exp(-60.0 / (k * 2) + np.cumsum(np.log(a**2)) / k).max()
        assert linear.entropy_number(60.0) == pytest.approx(6.0 * 2 * norm * squared)

        def slope(one):
            logs = np.log([one.entropy_number(log_n) for log_n in (200.0, 400.0)])
            return -(logs[1] - logs[0]) / np.log(2.0)

        assert slope(quadratic) == pytest.approx(1.0, abs=0.05)
        assert slope(linear) == pytest.approx(2.0 * slope(quadratic), rel=0.1)


class TestDecay:
    """Propositions 5, 12 and 13: the growth of covering numbers."""

    @pytest.mark.parametrize("p", [1.0, 2.0])
    def test_exponential(self, p):
        values = np.exp(-(np.arange(1.0, 600.0 if p == 1 else 26.0) ** p))
        bounds = bounds_of(spectrum_of(values, exponent=p), d=1)
        radii = np.array([1e-60, 1e-110]) if p == 1 else np.array([1e-60, 1e-100])
        sizes = [bounds.log_covering_number(radius) for radius in radii]
        power = np.log(sizes[1] / sizes[0]) / np.log(np.log(radii[1]) / np.log(radii[0]))
        assert power == pytest.approx(bounds.spectrum.covering_exponent, abs=0.1)
        assert bounds.spectrum.covering_exponent == (p + 1.0) / p

    @pytest.mark.parametrize("a", [1.0, 2.0, 4.0])
    def test_polynomial_growth_decides_between_equations_53_and_85(self, a):
        values = J ** -(a + 1.0)
        spectrum = spectrum_of(values, "polynomial", a + 1.0, trace=zeta(a + 1.0))
        bounds = bounds_of(spectrum, d=1)
        radii = bounds.entropy_number(200.0) * np.array([1.0, 0.5])
        sizes = [bounds.log_covering_number(radius) for radius in radii]
        power = np.log(sizes[1] / sizes[0]) / np.log(2.0)
        assert power == pytest.approx(2.0 / a, rel=0.05)
        assert spectrum.covering_exponent == pytest.approx(2.0 / a)

    @pytest.mark.parametrize(
        "spectrum",
        [
            spectrum_of(np.exp(-0.7 * J[:40]), exponent=1.0),
            spectrum_of(3.0 * np.exp(-0.2 * J[:12] ** 2), exponent=2.0),
            spectrum_of(J**-3.0, "polynomial", 3.0),
        ],
    )
    def test_explicit_bounds_lie_above(self, spectrum):
        bounds = bounds_of(spectrum)
        for log_n in (1.0, 10.0, 50.0):
            optimal, explicit = bounds.entropy_number(log_n), bounds.explicit_entropy_number(log_n)
            assert optimal <= explicit < 20.0 * optimal

    def test_equation_83_bounds_the_sum(self):
        # The norm of sqrt(lambda) / a for lambda = beta^2 exp(-c j^p), a = exp(-tau j^p / 2).
        p, c, tau = 1.5, 0.8, 0.3
        exact = np.exp((tau - c) * J**p).sum()
        assert exact <= 1.0 + gamma(1.0 / p) / (p * (c - tau) ** (1.0 / p))


class TestLipschitz:
    def test_equation_89(self):
        more = {"slope": 2.0, "largest": 1.0, "n_components": 1, "domain_radius": 1.0}
        bounds = bounds_of(np.exp(-J[:30]), d=2, limit=3.0, penalty="l1", **more)
        log_n = 200.0
        by_hand = min(
            3.0 * (2.0 / a + min(4.0 * np.exp(-log_n / (2 * a)), 1.0)) for a in range(1, 2_000)
        )
        assert bounds.lipschitz_entropy_number(log_n) == pytest.approx(by_hand)
        assert bounds_of(np.exp(-J[:30]), **more).lipschitz_entropy_number(9.0) == np.inf

    def test_no_function_of_the_class_lies_further_from_its_values(self):
        # The first term of Eq. (89): c_k Lambda times the distance to the next place.
        X = np.random.default_rng(0).standard_normal((60, 2))
        model = PrincipalManifold(penalty="l1", alpha=1e-2, init="pca", tol=0.05).fit(X)
        slope, largest = steepness(model.decoder_.up, model.domain_)
        z = np.linspace(-1.0, 1.0, 400)[:, None]
        images = model.inverse_transform(z)
        speed = np.linalg.norm(np.diff(images, axis=0), axis=1).max() / (z[1, 0] - z[0, 0])
        assert speed <= model.roughness_ * slope * (1.0 + 1e-6)
        assert largest == 1.0
        assert slope == pytest.approx(np.exp(-0.5) / model.decoder_.up.widths[0], rel=1e-3)


class TestRisk:
    def test_constants_of_the_loss(self):
        bounds = bounds_of(np.exp(-J[:30]), radius=3.0)
        assert (bounds.largest_loss, bounds.loss_slope) == (36.0, 12.0)
        plain = bounds_of(np.exp(-J[:30]), radius=3.0, power=1.0)
        assert (plain.largest_loss, plain.loss_slope) == (6.0, 1.0)

    def test_units_change_nothing(self):
        # With e_c instead of its square, as printed, this fails.
        here, there = (bounds_of(np.exp(-J[:30]), radius=s, limit=s**2) for s in (1.0, 10.0))
        assert there.excess_risk(10**5) == pytest.approx(100.0 * here.excess_risk(10**5), rel=1e-6)
        one = here.excess_probability(1.0, 10**5), there.excess_probability(100.0, 10**5)
        assert one[0] == pytest.approx(one[1], rel=1e-6)
        two = here.deviation_probability(0.5, 10**5), there.deviation_probability(50.0, 10**5)
        assert two[0] == pytest.approx(two[1], rel=1e-6)

    def test_probabilities_fall(self):
        bounds = bounds_of(np.exp(-J[:30]))
        found = [bounds.excess_probability(1.0, m) for m in (10, 10_000, 12_000)]
        assert found[0] == 1.0
        assert 1.0 > found[1] > found[2] > 0.0
        few, many = (bounds.deviation_probability(eta, 2_000) for eta in (1.0, 1.2))
        assert 1.0 > few > many > 0.0

    def test_probabilities_are_those_of_hoeffding_for_one_map(self):
        # A class of one map: no cover is needed, and Eq. (46) becomes Hoeffding's inequality.
        bounds = bounds_of(np.array([1e-14]), limit=1e-14)
        found = bounds.deviation_probability(0.5, 400)
        assert found == pytest.approx(2.0 * np.exp(-2.0 * 400 * 0.25 / 16.0), rel=0.02)

    def test_the_measured_deviation_is_below_the_bound(self):
        # Points of a class of one map with losses 0 or e: the worst case of Hoeffding.
        bounds = bounds_of(np.array([1e-14]), limit=1e-14)
        losses = bounds.largest_loss * np.random.default_rng(0).integers(0, 2, (4_000, 200))
        deviations = np.abs(losses.mean(axis=1) - 0.5 * bounds.largest_loss)
        for eta in (0.2, 0.4, 0.6):
            assert (deviations > eta).mean() <= bounds.deviation_probability(eta, 200)

    @pytest.mark.parametrize(
        ("values", "decay", "exponent", "rate"),
        [
            (np.exp(-J[:700]), "exponential", 1.0, 0.5),
            (J**-2.0, "polynomial", 2.0, 0.25),
            (J**-3.0, "polynomial", 3.0, 1.0 / 3.0),
        ],
    )
    def test_rates_of_corollary_7(self, values, decay, exponent, rate):
        trace = values.sum() if decay == "exponential" else zeta(exponent)
        # A narrow class reaches the law with few eigenvalues.
        limit = 0.5 if decay == "exponential" else 1e-5
        bounds = bounds_of(spectrum_of(values, decay, exponent, trace=trace), d=1, limit=limit)
        few, many = (10**10, 10**13) if decay == "exponential" else (10**8, 10**9)
        found = np.log(bounds.excess_risk(few) / bounds.excess_risk(many)) / np.log(many / few)
        assert found == pytest.approx(rate, abs=0.05)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"limit": 0.0}, "limit="),
            ({"radius": -1.0}, "radius="),
            ({"penalty": "l2"}, "penalty="),
            ({"power": 0.5}, "power="),
            ({"d": 0}, "n_features="),
        ],
    )
    def test_what_makes_no_sense(self, settings, message):
        with pytest.raises(ValueError, match=message):
            bounds_of(np.ones(2), **settings)

    @pytest.mark.parametrize("log_n", [-5.0, np.nan])
    def test_numbers_of_balls_that_make_no_sense(self, log_n):
        bounds = bounds_of(np.exp(-J[:30]))
        for method in ("entropy_number", "explicit_entropy_number", "lipschitz_entropy_number"):
            with pytest.raises(ValueError, match="log_n="):
                getattr(bounds, method)(log_n)

    def test_numbers_of_rows_that_make_no_sense(self):
        bounds = bounds_of(np.exp(-J[:30]))
        for method in (bounds.deviation_probability, bounds.excess_probability):
            with pytest.raises(TypeError, match=r"n_samples=0\.1"):
                method(1_000.0, 0.1)
            with pytest.raises(ValueError, match="n_samples=0"):
                method(1_000.0, 0)

    def test_radii_out_of_range(self):
        with pytest.raises(ValueError, match="out of range"):
            bounds_of(np.ones(2), radius=1e-160)


class TestOfAModel:
    def test_eigenfunctions_and_trace(self):
        X = np.random.default_rng(0).standard_normal((50, 2))
        spline = PrincipalManifold(kernel="spline", alpha=1e-2, tol=0.05).fit(X)
        spectrum = spline.generalization_report().spectrum
        # The eigenfunctions are sines on an interval of length 2; int 1 + z = 2.
        assert spectrum.largest_eigenfunction == pytest.approx(1.0, abs=0.01)
        assert spectrum.total == pytest.approx(2.0, rel=1e-3)
        surface = PrincipalManifold(2, n_nodes=9, alpha=1e-2, tol=0.05, init="pca").fit(
            np.c_[X, X[:, :1] ** 2]
        )
        spectrum = surface.generalization_report().spectrum
        assert spectrum.total == pytest.approx(4.0)
        assert spectrum.eigenvalues.sum() == pytest.approx(4.0, rel=1e-6)

    def test_bounds_of_a_fitted_model_do_not_depend_on_units(self):
        X = np.random.default_rng(0).standard_normal((60, 2)) * [2.0, 0.3]
        found = []
        for scale in (1.0, 1e3):
            model = PrincipalManifold(alpha=1e-2, init="pca", tol=0.05).fit(scale * X)
            bounds = model.generalization_report(scale * X, n_repeats=1).bounds
            assert bounds.limit == pytest.approx(model.roughness_)
            found.append(bounds.excess_risk(10**6) / scale**2)
            assert bounds.radius == pytest.approx(
                np.linalg.norm(scale * (X - X.mean(axis=0)), axis=1).max()
            )
        assert found[0] == pytest.approx(found[1], rel=1e-3)

    def test_no_bounds_where_the_paper_has_none(self):
        X = np.random.default_rng(0).standard_normal((60, 2))
        for settings in ({"penalty": "l2"}, {"loss": "huber"}, {"loss": "mahalanobis"}):
            model = PrincipalManifold(alpha=1e-2, init="pca", tol=0.05, **settings).fit(X)
            report = model.generalization_report(X, n_repeats=1)
            assert report.bounds is None
            assert (report.curve.best is None) == ("penalty" in settings)

    def test_values_out_of_range(self):
        X = np.random.default_rng(0).standard_normal((60, 2)) * 1e-160
        model = PrincipalManifold(alpha=1e-2, init="pca", tol=0.05).fit(X)
        with pytest.raises(ValueError, match="out of range"):
            model.generalization_report(X)

    def test_refits_do_not_break_the_limit_of_a_report(self):
        X = np.random.default_rng(0).standard_normal((40, 2))
        model = PrincipalManifold(
            penalty="l1", refit_alpha=1e-3, alpha=1e-2, n_nodes=4, init="pca", tol=0.1
        ).fit(X)
        assert model.generalization_report(X, n_repeats=1).bounds is not None
