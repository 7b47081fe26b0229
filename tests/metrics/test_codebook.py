"""Codebook errors, the curve, its limit and the score, against naive loops and known cases."""

import numpy as np
import pandas as pd
import pytest
from judged_models import Plane, Torn, sheet
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import DRUR, UKR, TwoWay
from twofold.metrics import (
    codebook_error,
    map_score,
    rate_distortion,
    relative_reconstruction_error,
)
from twofold.metrics._checks import seed_of
from twofold.numerics.codebooks import codewords

TRAIN, TEST = sheet(300), sheet(80, seed=1)
SCORES = {
    "codebook_error": lambda *args, **kwargs: codebook_error(*args, n_codes=16, **kwargs),
    "rate_distortion": lambda *args, **kwargs: rate_distortion(*args, **kwargs).errors[0],
    "map_score": map_score,
}


def naive_codebook_error(model, X, n_codes):
    codes = codewords(model.embedding_, n_codes, seed_of(0))
    total = 0.0
    for row in X:
        z = model.transform(row[None])[0]
        nearest = min(codes, key=lambda code: ((code - z) ** 2).sum())
        total += ((row - model.inverse_transform(nearest[None])[0]) ** 2).sum()
    return total / len(X) / X.var(axis=0).sum()


def naive_quantization(rows, X, n_codes):
    codes = codewords(rows, n_codes, seed_of(0))
    nearest = [min(((row - code) ** 2).sum() for code in codes) for row in X]
    return np.mean(nearest) / X.var(axis=0).sum()


class TestCodebookError:
    @pytest.mark.parametrize("n_codes", [1, 7, 64])
    def test_equals_a_naive_loop(self, n_codes):
        model = Plane(TRAIN)
        expected = naive_codebook_error(model, TEST, n_codes)
        assert codebook_error(model, TEST, n_codes) == pytest.approx(expected, rel=1e-6)

    def test_with_all_latents_as_codewords_each_row_is_its_own(self):
        model = Plane(TRAIN)
        plain = relative_reconstruction_error(
            TRAIN, model.inverse_transform(model.transform(TRAIN))
        )
        assert codebook_error(model, TRAIN, len(TRAIN)) == pytest.approx(plain, rel=1e-9)
        assert codebook_error(model, TRAIN, 10**6) == pytest.approx(plain, rel=1e-9)

    def test_sees_a_torn_map_that_the_plain_error_does_not(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(500, 1)) * [[3.0, 1.0]]
        smooth, torn = Plane(X[:400], q=1), Torn(X[:400])
        for model in (smooth, torn):
            rebuilt = model.inverse_transform(model.transform(X[400:]))
            assert relative_reconstruction_error(X[400:], rebuilt) < 1e-20
        assert codebook_error(smooth, X[400:], 16) < 0.01
        assert codebook_error(torn, X[400:], 16) > 0.3
        assert map_score(smooth, X[400:]) > map_score(torn, X[400:]) + 0.5

    def test_reference(self):
        model = Plane(TRAIN)
        ratio = codebook_error(model, TEST) / codebook_error(model, TEST, reference=2.0 * TEST)
        assert ratio == pytest.approx(4.0)
        with pytest.raises(ValueError, match="reference has 2 features, but X has 5"):
            codebook_error(model, TEST, reference=TEST[:, :2])


class TestRateDistortion:
    def test_parts_are_those_of_the_other_functions(self):
        model = Plane(TRAIN)
        curve = rate_distortion(model, TEST, X_train=TRAIN, n_codes=[4, 16])
        assert_array_equal(curve.n_codes, [4, 16])
        assert_allclose(curve.errors, [codebook_error(model, TEST, k) for k in (4, 16)])
        assert_allclose(
            curve.limits, [naive_quantization(TRAIN, TEST, k) for k in (4, 16)], rtol=1e-6
        )
        rebuilt = model.inverse_transform(model.transform(TEST))
        assert curve.error == pytest.approx(relative_reconstruction_error(TEST, rebuilt))
        distances = ((TEST[:, None] - TRAIN) ** 2).sum(axis=2)
        order = np.argsort(distances, axis=1)
        for found, k in ((curve.nearest_row, 1), (curve.mean_of_five, 5)):
            means = np.array([TRAIN[row[:k]].mean(axis=0) for row in order])
            assert found == pytest.approx(relative_reconstruction_error(TEST, means))

    def test_sizes_by_default(self):
        model = Plane(TRAIN)
        assert_array_equal(rate_distortion(model, TEST).n_codes, [16, 64])
        few = Plane(TRAIN[:40])
        curve = rate_distortion(few, TEST)
        assert curve.errors.shape == curve.limits.shape == (0,)
        assert map_score(few, TEST) == pytest.approx(-np.log(curve.error))

    def test_halves_judge_each_other_without_training_data(self):
        model, X = Plane(TRAIN), sheet(400, seed=2)
        halves = rate_distortion(model, X, n_codes=[4, 16, 64])
        assert halves.nearest_row is None
        assert halves.mean_of_five is None
        known = rate_distortion(model, X, n_codes=[4, 16, 64], X_train=TRAIN)
        assert_allclose(halves.limits[:2], known.limits[:2], rtol=0.2)
        assert np.isnan(halves.limits[2])  # fewer than four rows for each codeword

    def test_a_model_is_near_its_limit_on_a_plane(self):
        curve = rate_distortion(Plane(TRAIN), TEST, X_train=TRAIN)
        assert (curve.errors < 1.1 * curve.limits).all()
        assert (curve.errors > 0.8 * curve.limits).all()

    @pytest.mark.parametrize("n_train", [1, 3])
    def test_few_training_rows(self, n_train):
        model = Plane(TRAIN)
        curve = rate_distortion(model, TEST, X_train=TRAIN[:n_train], n_codes=[8])
        assert curve.limits[0] == pytest.approx(curve.nearest_row)


class TestMapScore:
    def test_is_the_log_of_the_geometric_mean(self):
        model = Plane(TRAIN)
        curve = rate_distortion(model, TEST)
        errors = [*curve.errors, curve.error]
        product = np.prod(errors) ** (1 / len(errors))
        assert map_score(model, TEST) == pytest.approx(-np.log(product))
        assert map_score(model, TEST, n_codes=[]) == pytest.approx(-np.log(curve.error))

    @pytest.mark.parametrize("with_labels", [False, True])
    def test_is_a_scorer_of_scikit_learn(self, with_labels):
        X = pd.DataFrame(sheet(150), columns=list("abcde"))
        y = np.arange(150) % 2 if with_labels else None
        model = make_pipeline(StandardScaler(), TwoWay("pca", up="nw", down="nw"))
        grid = {"twoway__n_components": [1, 2]}
        search = GridSearchCV(model, grid, scoring=map_score, cv=3).fit(X, y)
        assert search.best_params_ == {"twoway__n_components": 2}
        fitted = model.set_params(twoway__n_components=1).fit(X[50:])
        first = search.cv_results_["split0_test_score"][0]
        assert first == pytest.approx(map_score(fitted, X[:50]))

    def test_an_exact_model_has_a_finite_score(self):
        X = np.repeat([[0.0, 0.0], [1.0, 2.0]], 50, axis=0)
        model = Plane(X, q=1)
        model.inverse_transform = lambda Z: np.where(
            np.asarray(Z) * model.axes[0, 0] > 0, *X[[-1, 0]]
        )
        assert map_score(model, X) == pytest.approx(12 * np.log(10))


class TestTorture:
    @pytest.mark.parametrize("name", SCORES)
    @pytest.mark.parametrize(
        ("unit", "shift"), [(1e150, 0.0), (1e-150, 0.0), (1e300, 0.0), (1.0, 1e8)]
    )
    def test_units_of_data_do_not_matter(self, name, unit, shift):
        expected = SCORES[name](Plane(TRAIN), TEST)
        moved = Plane(TRAIN)
        decode, encode = moved.inverse_transform, moved.transform
        moved.transform = lambda X: encode((X - shift) / unit)
        moved.inverse_transform = lambda Z: unit * decode(Z) + shift
        assert SCORES[name](moved, unit * TEST + shift) == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("name", SCORES)
    @pytest.mark.parametrize(("scale", "offset"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e8)])
    def test_units_of_latents_do_not_matter(self, name, scale, offset):
        expected = SCORES[name](Plane(TRAIN), TEST)
        moved = Plane(TRAIN, scale=scale, offset=offset)
        assert SCORES[name](moved, TEST) == pytest.approx(expected, rel=1e-2)

    @pytest.mark.parametrize("name", SCORES)
    def test_repeats_and_leaves_its_arguments_alone(self, name):
        model, X = Plane(TRAIN), TEST.copy()
        assert SCORES[name](model, X, random_state=3) == SCORES[name](model, X, random_state=3)
        assert_array_equal(X, TEST)
        assert np.isfinite(SCORES[name](model, X, random_state=None))

    @pytest.mark.parametrize("name", SCORES)
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_models_of_this_library_and_of_others(self, name):
        model = TwoWay("pca", up="nw", down="nw").fit(TRAIN)
        assert np.isfinite(SCORES[name](model, TEST.astype(np.float32)))
        pipeline = make_pipeline(StandardScaler(), model).fit(TRAIN)
        assert np.isfinite(SCORES[name](pipeline, TEST))
        pca = PCA(2).fit(TRAIN)
        with pytest.raises(ValueError, match="PCA has no training latents in embedding_"):
            SCORES[name](pca, TEST)
        known = SCORES[name](pca, TEST, latents=pca.transform(TRAIN))
        assert known == pytest.approx(SCORES[name](Plane(TRAIN), TEST), rel=1e-2)
        small = DRUR(n_centers=9, init="pca", store_embedding=False, max_iter=1).fit(TRAIN)
        with pytest.raises(ValueError, match="DRUR has no training latents"):
            SCORES[name](small, TEST)

    @pytest.mark.parametrize("name", SCORES)
    def test_bad_input(self, name):
        model = Plane(TRAIN)
        with pytest.raises(ValueError, match="X contains NaN"):
            SCORES[name](model, np.full((3, 5), np.nan))
        with pytest.raises(ValueError, match=r"latents has 3 columns, but .* has 2"):
            SCORES[name](model, TEST, latents=np.zeros((9, 3)))
        with pytest.raises(ValueError, match="latents contains NaN"):
            SCORES[name](model, TEST, latents=np.full((9, 2), np.nan))
        with pytest.raises(ValueError, match="random_state=-1"):
            SCORES[name](model, TEST, random_state=-1)
        with pytest.raises(NotFittedError):
            SCORES[name](UKR(), TEST)
        fitted = TwoWay("pca", up="nw", down="nw").fit(TRAIN)
        with pytest.raises(ValueError, match="5 features"):
            SCORES[name](fitted, TEST[:, :3])
        model.inverse_transform = lambda Z: np.zeros((len(Z), 4))
        with pytest.raises(ValueError, match=r"inverse_transform\(Z\) has 4 features"):
            SCORES[name](model, TEST)
        model.inverse_transform = lambda Z: np.full((len(Z), 5), np.nan)
        with pytest.raises(ValueError, match=r"inverse_transform\(Z\) contains NaN"):
            SCORES[name](model, TEST)

    def test_bad_sizes(self):
        model = Plane(TRAIN)
        with pytest.raises(ValueError, match="n_codes=0 must be at least 1"):
            codebook_error(model, TEST, 0)
        with pytest.raises(TypeError, match=r"n_codes=2.5 must be an integer"):
            map_score(model, TEST, n_codes=[2.5])
        for wrong in (64, "64"):
            with pytest.raises(TypeError, match="must be a sequence of integers"):
                rate_distortion(model, TEST, n_codes=wrong)
        with pytest.raises(ValueError, match="X_train has 4 features, but X has 5"):
            rate_distortion(model, TEST, X_train=TRAIN[:, :4])

    def test_constant_data_and_one_row(self):
        model = Plane(TRAIN)
        constant = np.full((20, 5), 0.5)
        assert codebook_error(model, constant) == np.inf
        assert codebook_error(model, TEST[:1]) == np.inf
        assert 0.0 < codebook_error(model, TEST[:1], reference=TRAIN) < 1.0
        curve = rate_distortion(model, TEST[:1], X_train=TRAIN)
        assert np.isinf(curve.limits).all()
        same = Plane(constant)
        assert codebook_error(same, constant) == 0.0
        assert rate_distortion(same, constant, X_train=constant).nearest_row == 0.0

    def test_a_decoder_that_explodes_is_infinitely_wrong(self):
        model = Plane(TRAIN)
        model.inverse_transform = lambda Z: np.full((len(Z), 5), 1e300)
        assert codebook_error(model, TEST) == np.inf
        assert map_score(model, TEST) == -np.inf
