"""Uncertainty of both maps and calibrated outliers, for every estimator."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from registry import ESTIMATORS
from scipy.sparse import csr_matrix
from scipy.stats import binom, spearmanr
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import twofold
from twofold import DRUR, UKR, AutoTwoWay, TableMap, TwoWay
from twofold.base.trust import trust_of
from twofold.datasets import make_s_curve

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
]
LIKE_OTHERS = ("two_way-isomap", "two_way-function", "ukr-quartic", "drur-all", "manifold-norm")
"""Instances whose maps are of the same classes as those of another one."""
everyone = pytest.mark.parametrize("name", [one for one in ESTIMATORS if one not in LIKE_OTHERS])
QUICK = ("two_way-pca-rbf", "drur")


def rows_of(n_rows, seed):
    """Return rows near a bent sheet in five columns, of different units, one constant."""
    sheet, _ = make_s_curve(n_rows, random_state=seed)
    noise = 0.05 * np.random.default_rng(seed).standard_normal((n_rows, 4))
    columns = np.column_stack([sheet, sheet[:, 0] * sheet[:, 1]]) + noise
    return np.column_stack([columns, np.full(n_rows, 7.0)])


@pytest.fixture(scope="module")
def X():
    return rows_of(90, 0)


@pytest.fixture(scope="module")
def X_new():
    return rows_of(40, 1)


@pytest.fixture(scope="module")
def fitted():
    return {}


@pytest.fixture
def model(name, X, fitted):
    if name not in fitted:
        fitted[name] = clone(ESTIMATORS[name]).fit(X)
    return fitted[name]


class TestEveryEstimator:
    @everyone
    def test_promises(self, name, model, X_new):
        """Shapes, batches, purity, float types, finite values, and the same without std."""
        before = pickle.dumps(model)
        Z, Z_std = model.transform(X_new[:6], return_std=True)
        decoded, std = model.inverse_transform(Z, return_std=True)
        scores, flags = model.outlier_scores(X_new), model.predict_outlier(X_new, 0.1)
        assert pickle.dumps(model) == before
        np.testing.assert_array_equal(Z, model.transform(X_new[:6]))
        np.testing.assert_array_equal(decoded, model.inverse_transform(Z))
        assert Z_std.shape == Z.shape
        assert std.shape == decoded.shape
        assert (Z_std >= 0.0).all()  # 0 at the edge of a domain
        assert (Z_std.mean(axis=0) > 0.0).all()
        assert (std[:, :4] > 0.0).all()
        assert (std[:, 4] == 0.0).all()
        assert flags.dtype == bool
        np.testing.assert_array_equal(flags, scores >= 1.0 - 1e-6)
        np.testing.assert_array_equal(model.transform(X_new[3:5], return_std=True)[1], Z_std[3:5])
        np.testing.assert_array_equal(model.inverse_transform(Z[3:5], return_std=True)[1], std[3:5])
        np.testing.assert_array_equal(model.outlier_scores(X_new[3:5]), scores[3:5])
        single = model.outlier_scores(X_new[:3].astype(np.float32))
        assert single.dtype == np.float32
        far = np.array([[1e200] * 5, [-1e300] * 5])
        assert (model.outlier_scores(far) > 3.0).all()
        assert np.isfinite(
            model.inverse_transform(np.full((1, Z.shape[1]), 1e200), return_std=True)[1]
        ).all()

    @everyone
    def test_cells_of_new_rows_lie_within(self, name, model, X_new):
        decoded, std = model.inverse_transform(model.transform(X_new), return_std=True)
        covered = (np.abs(X_new - decoded) <= 1.645 * std)[:, :4]
        assert 0.78 < covered.mean() <= 1.0

    @everyone
    def test_usual_rows_pass_and_strange_ones_do_not(self, name, model, X, X_new):
        assert model.predict_outlier(X_new).mean() < 0.17
        assert model.predict_outlier(X).mean() == pytest.approx(0.04, abs=0.025)
        strange = X_new[:4].copy()
        strange[:, 1] += 8.0
        assert model.predict_outlier(strange, 0.01).all()
        moved = X_new[:2].copy()
        moved[:, 4] += 1e-3
        assert (model.outlier_scores(moved) > 2.0).all()  # a column that never changed

    @pytest.mark.parametrize("name", ["ukr", "drur"])
    def test_files(self, name, model, X_new, tmp_path):
        model.outlier_scores(X_new)
        model.save(tmp_path / "m.twofold")
        loaded = twofold.load(tmp_path / "m.twofold")
        np.testing.assert_array_equal(loaded.outlier_scores(X_new), model.outlier_scores(X_new))
        Z = model.transform(X_new[:5])
        for call in ("inverse_transform", "transform"):
            rows = Z if call == "inverse_transform" else X_new[:5]
            expected = getattr(model, call)(rows, return_std=True)[1]
            np.testing.assert_array_equal(getattr(loaded, call)(rows, return_std=True)[1], expected)

    @pytest.mark.parametrize("name", QUICK)
    def test_gaps_do_not_count(self, name, model, X_new):
        gappy = X_new.copy()
        gappy[::3, 1] = np.nan
        scores = model.outlier_scores(gappy)
        whole = np.arange(len(X_new)) % 3 > 0
        np.testing.assert_array_equal(scores[whole], model.outlier_scores(X_new)[whole])
        assert (scores[~whole] >= 1.3).mean() < 0.3
        gappy[::3, :3] = np.nan  # one column that varies is left
        std = model.transform(gappy[:12], return_std=True)[1]
        complete = model.transform(X_new[:12], return_std=True)[1]
        assert std[::3].mean() > complete[::3].mean()
        np.testing.assert_array_equal(std[1::3], complete[1::3])

    @pytest.mark.parametrize("name", QUICK)
    def test_frames_come_back_as_frames(self, name, model, X_new):
        named = clone(ESTIMATORS[name]).fit(pd.DataFrame(rows_of(90, 0), columns=list("abcde")))
        named.set_output(transform="pandas")
        rows = pd.DataFrame(X_new[:5], columns=list("abcde"), index=list("vwxyz"))
        Z, std = named.transform(rows, return_std=True)
        assert std.columns.equals(Z.columns)
        assert std.index.equals(rows.index)
        np.testing.assert_array_equal(std, model.transform(X_new[:5], return_std=True)[1])
        part = named.inverse_transform(Z.to_numpy(), features=["b", "a"], return_std=True)[1]
        whole = named.inverse_transform(Z.to_numpy(), return_std=True)[1]
        np.testing.assert_array_equal(part, whole[:, [1, 0]])

    @pytest.mark.parametrize("name", ["two_way-pca-rbf", "ukr"])
    def test_weights_are_repeated_rows(self, name, X, X_new):
        weights = 1.0 + np.arange(len(X)) % 2
        model = clone(ESTIMATORS[name]).fit(X, sample_weight=weights)
        assert 0.0 < model.predict_outlier(X_new, 0.2).mean() < 0.5
        decoded, std = model.inverse_transform(model.transform(X_new), return_std=True)
        assert 0.75 < (np.abs(X_new - decoded) <= 1.645 * std)[:, :4].mean() < 0.99


class TestOtherInputs:
    def test_dask(self, X, X_new):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        blocks = da.from_array(X_new, chunks=(25, 5))
        expected = model.outlier_scores(X_new)
        np.testing.assert_array_equal(model.outlier_scores(blocks).compute(), expected)
        flags = model.predict_outlier(blocks, level=0.2)
        assert flags.dtype == bool
        np.testing.assert_array_equal(flags.compute(), model.predict_outlier(X_new, 0.2))
        frame = dd.from_pandas(pd.DataFrame(X_new), npartitions=2)
        np.testing.assert_array_equal(model.outlier_scores(frame).compute(), expected)
        with pytest.raises(TypeError, match="return_std=True is not supported for Dask"):
            model.transform(blocks, return_std=True)
        with pytest.raises(TypeError, match="return_std=True is not supported for Dask"):
            model.inverse_transform(blocks[:, :2], return_std=True)

    def test_sparse_rows(self, X, X_new):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        np.testing.assert_array_equal(
            model.outlier_scores(csr_matrix(X_new)), model.outlier_scores(X_new)
        )

    def test_pipelines(self, X, X_new):
        steps = make_pipeline(StandardScaler(), clone(ESTIMATORS["two_way-pca-rbf"])).fit(X)
        model = twofold.from_pipeline(steps)
        expected = steps[-1].outlier_scores(steps[0].transform(X_new))
        np.testing.assert_allclose(model.outlier_scores(X_new), expected, atol=1e-6)
        Z = model.transform(X_new)
        inside = steps[-1].inverse_transform(Z, return_std=True)[1] * steps[0].scale_
        np.testing.assert_allclose(model.inverse_transform(Z, return_std=True)[1], inside)

    def test_pipelines_with_principal_components(self, X, X_new):
        steps = make_pipeline(PCA(3), clone(ESTIMATORS["two_way-pca-rbf"])).fit(X)
        model = twofold.from_pipeline(steps)
        expected = steps[-1].outlier_scores(steps[0].transform(X_new))
        np.testing.assert_allclose(model.outlier_scores(X_new), expected, atol=1e-6)
        names, distances = model._strangeness(X_new)
        assert distances.shape == (40, len(names)) == (40, 5)
        assert 0.5 < np.sqrt(np.square(distances[:, :4]).mean()) < 2.0
        assert (distances[:, 4] == 0.0).all()

    def test_strangest_column_was_constant(self, X, X_new):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        moved = X_new[:3].copy()
        moved[1, 4] += 1e-3
        distances = model._strangeness(moved)[1]
        assert distances[1, 4] == np.inf
        assert np.isfinite(np.delete(distances.ravel(), 9)).all()
        assert distances[0, 4] == 0.0

    def test_without_training_rows(self, X):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        del model._gap_filling
        for call in (model.outlier_scores, model.predict_outlier):
            with pytest.raises(ValueError, match=r"keeps no training rows.* Fit it again"):
                call(X)
        with pytest.raises(ValueError, match="keeps no training rows"):
            model.transform(X, return_std=True)

    def test_damaged_numbers_of_rows(self, X):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        model._gap_filling.donors.numbers[3] = 2**60
        with pytest.raises(ValueError, match="out of range"):
            model.outlier_scores(X)

    def test_latents_that_were_not_kept(self, X, X_new):
        kept = clone(ESTIMATORS["drur"]).fit(X)
        light = clone(ESTIMATORS["drur"]).set_params(store_embedding=False).fit(X)
        assert len(light.embedding_) == 0
        ranks = spearmanr(kept.outlier_scores(X_new), light.outlier_scores(X_new))[0]
        assert ranks > 0.9

    @pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan])
    def test_levels(self, level, X):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        with pytest.raises(ValueError, match="level"):
            model.predict_outlier(X, level)
        with pytest.raises(TypeError, match="level"):
            model.predict_outlier(X, "high")

    def test_equal_rows(self):
        with pytest.warns(UserWarning, match="vary in only 0 directions"):
            model = TwoWay("pca", n_components=1, up="nw", down="nw").fit(np.ones((8, 3)))
        with pytest.raises(ValueError, match="equal rows"):
            model.outlier_scores(np.ones((2, 3)))

    def test_a_new_fit_is_calibrated_anew(self, X, X_new):
        model = clone(ESTIMATORS["two_way-pca-rbf"]).fit(X)
        first = model.outlier_scores(X_new)
        trust = trust_of(model)
        assert trust_of(model) is trust
        model.fit(X + 100.0)
        assert trust_of(model) is not trust
        assert (model.outlier_scores(X_new[:5]) > np.maximum(first[:5], 3.0)).all()


class TestCalibration:
    """On rows that the models have not seen; benchmarks.trust does this on real data."""

    def test_intervals_and_false_alarms(self):
        model = DRUR(n_centers=30, init="isomap", scale="standard", random_state=0)
        model.fit(rows_of(300, 0)[:, :4])
        X = rows_of(600, 5)[:, :4]
        decoded, std = model.inverse_transform(model.transform(X), return_std=True)
        assert (np.abs(X - decoded) <= 1.645 * std).mean() == pytest.approx(0.9, abs=0.03)
        for level in (0.01, 0.05, 0.1):
            # Two binomial spreads: of the new rows, and of the training rows they stand beside.
            spread = 3.0 * np.sqrt(level * (1.0 - level) * (1.0 / 600 + 1.0 / 300))
            assert model.predict_outlier(X, level).mean() == pytest.approx(level, abs=spread)

    def test_deviations_rank_errors(self):
        """Noise that grows along the sheet is found."""

        def noisy(seed):
            X, sheet = make_s_curve(300, random_state=seed)
            place = (sheet[:, 1] - sheet[:, 1].min()) / np.ptp(sheet[:, 1])
            noise = (0.02 + 0.2 * place)[:, None]
            return X + noise * np.random.default_rng(seed).standard_normal(X.shape)

        model = UKR(init="isomap", random_state=0).fit(noisy(0))
        X = noisy(1)
        decoded, std = model.inverse_transform(model.transform(X), return_std=True)
        assert spearmanr(np.abs(X - decoded).ravel(), std.ravel())[0] > 0.25

    def test_deviations_grow_away_from_the_training_rows(self):
        model = DRUR(n_centers=30, init="isomap", random_state=0).fit(rows_of(300, 0)[:, :4])
        directions = model.embedding_[:5] / np.linalg.norm(model.embedding_[:5], axis=1)[:, None]
        reach = np.linalg.norm(model.embedding_, axis=1).max()
        steps = [
            model.inverse_transform(s * reach * directions, return_std=True)[1].mean()
            for s in (0.3, 1.5, 3.0)
        ]
        assert steps[0] < steps[1] <= steps[2] * (1.0 + 1e-9)

    def test_positions_scatter_as_their_deviations_say(self):
        """Rows with known places on a curve: errors of places in units of their deviations."""
        rng = np.random.default_rng(0)

        def curve(t):
            return np.column_stack([np.cos(t), np.sin(t), 0.3 * t])

        def noisy(t):
            return curve(t) + 0.08 * rng.standard_normal((len(t), 3))

        model = UKR(1, init="isomap", random_state=0).fit(noisy(rng.uniform(0.0, 4.0, 200)))
        t = rng.uniform(0.4, 3.6, 100)
        Z, std = model.transform(noisy(t), return_std=True)
        errors = (Z - model.transform(curve(t))) / std
        assert 0.75 < np.sqrt(np.mean(np.clip(errors, -4.0, 4.0) ** 2)) < 1.4
        within = (np.abs(errors) < 1.645).mean()
        assert within == pytest.approx(0.9, abs=0.1)

    def test_rows_between_two_branches_have_uncertain_places(self):
        rng = np.random.default_rng(0)
        t = rng.uniform(-1.3, 1.3, 300)
        horseshoe = np.column_stack([np.cos(2.0 * t), np.sin(2.0 * t)])
        model = UKR(1, init="isomap", random_state=0).fit(
            horseshoe + 0.15 * rng.standard_normal((300, 2))
        )
        ends = np.array([[-1.0, 0.0]])  # between the ends
        on = np.array([[1.0, 0.0]])
        between = model.transform(ends, return_std=True)[1]
        assert between > 4.0 * model.transform(on, return_std=True)[1]

    @pytest.mark.parametrize("method", [UKR, DRUR], ids=["ukr", "drur"])
    def test_planted_errors_come_first(self, method):
        X = load_wine().data.copy()
        X[10, 0] *= 10.0  # a swapped unit
        X[60, 5] *= -3.0  # a sign error
        X[100, 12] = X[:, 12].mean() + 8.0 * X[:, 12].std()
        model = method(init="isomap", scale="standard", random_state=0).fit(X)
        ranks = np.argsort(np.argsort(-model.outlier_scores(X)))
        assert sorted(ranks[[10, 60, 100]].tolist()) == [0, 1, 2]
        names, distances = model._strangeness(X[[10, 60, 100]])
        assert [names[place] for place in distances.argmax(axis=1)] == ["x0", "x5", "x12"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=200)
    size = kind + rng.normal(size=200) / 9
    return pd.DataFrame(
        {
            "species": np.array(["a", "b", "c"])[kind],
            "length": 38 + 5 * size,
            "mass": np.exp(size),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(50 * size), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def table(frame):
    return TableMap(TwoWay("pca", up="rbf", down="projection", random_state=0)).fit(frame)


class TestTables:
    def test_decoded_frames(self, frame, table):
        Z, Z_std = table.transform(frame, return_std=True)
        rows, std = table.inverse_transform(Z, return_std=True)
        assert Z_std.shape == Z.shape
        assert std.columns.equals(rows.columns)
        within = np.abs(frame.length - rows.length) <= 1.645 * std.length
        assert 0.8 < within.mean() <= 1.0
        days = np.abs((frame.day - rows.day).dt.days) <= 1.645 * std.day + 1.0
        assert days.mean() > 0.8
        assert std.species.between(0.0, 1.0).all()

    def test_outliers(self, frame, table):
        odd = frame.iloc[:6].copy()
        odd.loc[0, "species"] = "c" if odd.species[0] == "a" else "a"
        odd.loc[1, "mass"] *= 20.0
        odd.loc[2, "day"] += pd.Timedelta(days=400)
        odd.loc[5, "mass"] = None
        scores = table.outlier_scores(odd)
        assert (scores[:3] > 2.0).all()
        assert np.isfinite(scores).all()
        np.testing.assert_array_equal(table.predict_outlier(odd, 0.01), scores >= 2.0 - 1e-6)
        names, distances = table._strangeness(odd)
        assert names[distances[1].argmax()] == "mass"
        assert distances[5, names.index("mass")] == 0.0


def test_auto_delegates_to_its_winner(X, X_new):
    model = AutoTwoWay(methods=["pca"], random_state=0).fit(X)
    best = model.best_estimator_
    np.testing.assert_array_equal(model.outlier_scores(X_new), best.outlier_scores(X_new))
    assert trust_of(best) is trust_of(model._unwrapped)


def test_false_alarms_over_splits_are_binomial():
    """Twenty fits to rows of one distribution: the share flagged is the level."""
    flagged = np.zeros(2)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((260, 2)) @ rng.standard_normal((2, 5))
        rows += 0.3 * rng.standard_normal(rows.shape)
        model = TwoWay("pca", up="rbf", down="rbf", n_centers=10, random_state=0).fit(rows[:160])
        flagged += [model.predict_outlier(rows[160:], level).sum() for level in (0.05, 0.1)]
    for count, level in zip(flagged, (0.05, 0.1), strict=True):
        low, high = binom.ppf([0.001, 0.999], 2000, level)
        assert low <= count <= high


def test_positions_on_a_line_in_any_batch():
    """Sums over disturbances are taken in one order, also of a single row with one latent."""
    X = rows_of(120, 0)[:, :4]
    model = TwoWay("pca", n_components=1, up="nw", down="nw").fit(X[:90])
    together = model.transform(X[90:], return_std=True)[1]
    alone = [model.transform(row[None], return_std=True)[1] for row in X[90:]]
    np.testing.assert_array_equal(np.concatenate(alone), together)


@pytest.fixture(scope="module")
def rows():
    return rows_of(300, 0)[:, :4], rows_of(300, 1)[:, :4]


@pytest.fixture(scope="module")
def whole(rows):
    return UKR(init="isomap", random_state=0).fit(rows[0])


class TestCompressed:
    """Prototypes cannot forget rows, so residuals are scaled to the error of left-out rows."""

    @pytest.mark.parametrize("n_prototypes", [20, 150, 300])
    def test_calibrated(self, n_prototypes, rows, whole):
        small, new = whole.compress(n_prototypes), rows[1]
        assert small.predict_outlier(new).mean() < 0.11
        decoded, std = small.inverse_transform(small.transform(new), return_std=True)
        assert (np.abs(new - decoded) <= 1.645 * std).mean() > 0.84

    def test_latents_are_those_of_rows(self, whole):
        """As many prototypes as rows are not the rows, in their order."""
        trust = trust_of(whole.compress(300))
        latents = trust.encoder.predict(trust.donors.rows.astype(np.float64))
        np.testing.assert_array_equal(trust.latents, latents)

    def test_files(self, rows, whole, tmp_path):
        small = whole.compress(150)
        small.save(tmp_path / "small.twofold")
        again = twofold.load(tmp_path / "small.twofold").outlier_scores(rows[1][:20])
        np.testing.assert_array_equal(again, small.outlier_scores(rows[1][:20]))
