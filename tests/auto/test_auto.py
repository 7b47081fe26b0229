"""The race: judging, rounds, ties, the winner's fit, seconds, warnings, the report."""

import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import twofold
from twofold import DRUR, UKR, AutoTwoWay, TwoWay
from twofold.auto import final, race
from twofold.auto.contenders import CONTENDERS, for_all_rows
from twofold.auto.effort import Effort
from twofold.auto.judging import Judged, codes_of
from twofold.auto.race import decided
from twofold.datasets import make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.metrics import map_score, relative_reconstruction_error

METHODS = list(CONTENDERS)


@pytest.fixture(scope="module")
def sheet():
    return make_s_curve(400, random_state=0)[0]


SHUFFLED = load_digits().data[np.random.default_rng(0).permutation(1797)]
"""The digits are sorted by writers."""


@pytest.fixture(scope="module")
def digits():
    return SHUFFLED[:700]


@pytest.fixture(scope="module")
def of_digits(digits):
    return AutoTwoWay(random_state=0).fit(digits)


def noise(n_rows=600, n_columns=10, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, n_columns))


def flat(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((n_rows, 2)) @ rng.standard_normal((2, 12))
    return plane + 0.1 * rng.standard_normal((n_rows, 12))


# --- what is right for which data ---


def test_sheet_is_unrolled(sheet):
    model = AutoTwoWay(random_state=0).fit(sheet[:320])
    assert model.method_ in ("drur", "isomap")
    assert model.score(sheet[320:]) > 0.999


def test_clusters_of_images_are_better_kept_than_by_a_network(of_digits, digits):
    held_out = SHUFFLED[700:]
    network = DRUR(random_state=0).fit(digits)
    assert of_digits.method_ == "ukr"
    assert map_score(of_digits, held_out, n_codes=[64]) > map_score(network, held_out, n_codes=[64])


def test_curve():
    X, _ = make_noisy_spiral(300, random_state=0)
    model = AutoTwoWay(1, random_state=0).fit(X)
    assert model.score(X) > 0.98


# --- the race ---


def test_report_has_every_method_once_and_the_winner_first(of_digits):
    report = of_digits.report_
    assert sorted(row["method"] for row in report) == sorted(METHODS)
    assert all(row["score"] is not None for row in report)  # every method was tried
    assert report[0]["method"] == of_digits.method_
    assert report[0]["verdict"].startswith("won")
    assert not any(row["verdict"].startswith("won") for row in report.rows[1:])
    assert report[0]["error"] == of_digits.held_out_error_
    frame = report.to_frame()
    assert list(frame.columns)[:2] == ["method", "round"]
    assert len(frame) == len(METHODS)
    html = report._repr_html_()
    assert html.count("<tr>") == 1 + len(METHODS)
    assert "64 codewords" in str(report)


def test_held_out_error_is_honest(of_digits):
    """The race predicts the error of rows that nobody has seen, fitted to fewer rows."""
    rows = SHUFFLED[700:1200]
    error = 1.0 - of_digits.score(rows)
    assert 0.7 * of_digits.held_out_error_ < error < 1.3 * of_digits.held_out_error_


def test_later_rounds_have_more_rows_and_fewer_methods(digits):
    model = AutoTwoWay(random_state=0).fit(np.vstack([digits, SHUFFLED[700:1300]]))
    rounds = {row["round"] for row in model.report_}
    assert rounds == {1, 2}
    last = [row for row in model.report_ if row["round"] == 2]
    first = [row for row in model.report_ if row["round"] == 1]
    assert min(row["rows"] for row in last) > max(row["rows"] for row in first)
    assert {row["method"] for row in first}.isdisjoint(row["method"] for row in last)
    # The last round has the best of the first, and PCA.
    assert len(last) <= 4


def judged(plain, rounded=None):
    plain = np.asarray(plain, dtype=float)
    return Judged(plain, plain if rounded is None else np.asarray(rounded, float))


def test_score_is_the_map_score_at_64_codewords(digits):
    model = UKR(init="pca", random_state=0).fit(digits)
    rows = SHUFFLED[700:]
    expected = map_score(model, rows, n_codes=[64])
    unit = np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean())
    found = Judged.of(
        lambda Z: model.inverse_transform(Z) / unit,
        codes_of(model.embedding_, 0),
        model.transform(rows),
        rows / unit,
        np.zeros(len(rows)),
    )
    # k-means has one start here, and three there.
    assert found.score == pytest.approx(expected, abs=0.03)
    assert found.error == pytest.approx(
        relative_reconstruction_error(rows, model.reconstruct(rows))
    )


def test_error_outside_the_coordinates_counts():
    rows = np.random.default_rng(0).standard_normal((30, 3))
    codes = np.zeros((1, 1))
    inside, outside = (
        Judged.of(lambda Z: np.zeros((len(Z), 3)), codes, np.zeros((30, 1)), rows, np.full(30, c))
        for c in (0.0, 0.5)
    )
    assert outside.error == pytest.approx(inside.error + 0.5)


def test_standard_error_of_a_difference():
    """That of many drawn samples of rows, and nothing for equal errors."""
    rng = np.random.default_rng(0)
    difficulty = rng.gamma(2.0, size=(2_000, 200))
    ours = difficulty * (1.0 + 0.2 * rng.random((2_000, 200)))
    theirs = difficulty * (1.05 + 0.2 * rng.random((2_000, 200)))
    behind = np.array([judged(a).behind(judged(b))[0] for a, b in zip(theirs, ours, strict=True)])
    stated = judged(theirs[0]).behind(judged(ours[0]))[1]
    assert stated == pytest.approx(behind.std(), rel=0.15)
    assert judged(ours[0]).behind(judged(ours[0])) == (0.0, 0.0)


class _Trial:
    def __init__(self, name, errors):
        self.name, self.judged = name, judged(errors)


@pytest.mark.parametrize(
    ("scales", "winner"),
    [
        ({"drur": 1.0, "ukr": 0.97}, "ukr"),  # three percent better
        ({"drur": 1.0, "ukr": 0.995}, "drur"),  # half a percent
        ({"ukr": 1.0, "principal_manifold": 0.96}, "ukr"),  # four percent, but it costs more
        ({"ukr": 1.0, "principal_manifold": 0.90}, "principal_manifold"),
        ({"pca": 1.0, "drur": 0.5}, "drur"),
        ({"pca": 1.0, "drur": 0.98}, "pca"),
    ],
)
def test_ties_go_to_the_cheaper_and_smoother(scales, winner):
    errors = np.random.default_rng(0).gamma(2.0, size=300)
    trials = [_Trial(name, scale * errors) for name, scale in scales.items()]
    trials.sort(key=lambda trial: -trial.judged.score)
    running = [CONTENDERS[name] for name in METHODS if name in scales]
    assert decided(trials, running)[0].name == winner


def test_a_bend_that_could_be_chance_does_not_replace_pca():
    rng = np.random.default_rng(4)
    linear, bent = rng.gamma(1.0, size=20), 0.9 * rng.gamma(1.0, size=20)
    trials = [_Trial("drur", bent), _Trial("pca", linear)]
    behind, standard_error = trials[1].judged.behind(trials[0].judged)
    assert 0.03 < behind < standard_error
    assert decided(trials, [CONTENDERS["pca"], CONTENDERS["drur"]])[0].name == "pca"


def test_smoothing_shrinks_with_more_rows():
    found = {"init": "tsne", "smoothing": 2.0}
    assert for_all_rows(found, 1.0)["smoothing"] == 2.0
    assert for_all_rows(found, 1.0 / 4.0)["smoothing"] == 1.5
    assert found["smoothing"] == 2.0


def test_filters_of_warnings_are_as_before(sheet):
    """Trials run in threads, and silence is a state of the process."""
    before = list(warnings.filters)
    for seed in range(2):
        AutoTwoWay(methods=["drur", "tsne", "isomap"], random_state=seed, n_jobs=2).fit(sheet)
        assert list(warnings.filters) == before
    with pytest.raises(KeyboardInterrupt):
        AutoTwoWay(methods={"a": _Interrupted(), "b": TwoWay("pca")}, n_jobs=2).fit(sheet)
    time.sleep(0.5)
    assert list(warnings.filters) == before


class _Interrupted(TwoWay):
    def _learn(self, problem):
        raise KeyboardInterrupt


def test_held_out_rows_take_no_part_in_starts(sheet, monkeypatch):
    seen = []
    original = race.resolve_init

    def spy(one, rows, *rest):
        seen.append(len(rows))
        return original(one, rows, *rest)

    monkeypatch.setattr(race, "resolve_init", spy)
    AutoTwoWay(methods=["pca", "tsne"], random_state=0).fit(sheet)
    assert set(seen) == {300}


def test_failing_methods_are_reported(sheet):
    methods = {"bad": DRUR(max_iter=-5), "good": TwoWay("isomap", up="nw", down="nw")}
    with pytest.warns(UserWarning, match=r"methods: 'bad' failed: max_iter=-5"):
        model = AutoTwoWay(methods=methods, random_state=0).fit(sheet)
    assert model.report_[1]["method"] == "bad"
    assert model.report_[1]["verdict"].startswith("failed: max_iter=-5")
    with pytest.raises(ValueError, match="none could be tried"):
        AutoTwoWay(methods={"bad": methods["bad"], "worse": methods["bad"]}).fit(sheet)


def test_methods_that_do_not_suit_the_dimension():
    X = np.random.default_rng(0).standard_normal((150, 9))
    with pytest.raises(ValueError, match="at most 3 latent dimensions"):
        AutoTwoWay(6, methods=["principal_manifold", "ukr"]).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoTwoWay(6, random_state=0).fit(X)
    verdicts = {row["method"]: row["verdict"] for row in model.report_}
    assert verdicts["principal_manifold"] == "not tried: for at most 3 latent dimensions"


def test_settings_of_given_estimators_stay(sheet):
    methods = {"pca": TwoWay("isomap", up="nw", down="nw", random_state=3, n_jobs=1)}
    best = AutoTwoWay(methods=methods, random_state=0).fit(sheet).best_estimator_
    assert (best.random_state, best.n_jobs) == (3, 1)


def test_given_estimators_race(sheet):
    methods = {
        "rough": TwoWay("random", up="nw", down="nw"),
        "good": TwoWay("isomap", up="krr", down="krr"),
    }
    model = AutoTwoWay(methods=methods, random_state=0).fit(sheet)
    assert model.method_ == "good"
    assert model.best_estimator_.up == "krr"
    assert methods["good"].__sklearn_is_fitted__() is False
    assert clone(model).methods["good"].up == "krr"


# --- the winner ---


@pytest.mark.parametrize("name", METHODS)
def test_model_is_its_winner(name, sheet, tmp_path):
    model = AutoTwoWay(methods=[name], random_state=0).fit(sheet)
    best = model.best_estimator_
    Z = model.transform(sheet[:20])
    assert np.array_equal(Z, best.transform(sheet[:20]))
    assert np.array_equal(model.inverse_transform(Z), best.inverse_transform(Z))
    assert np.array_equal(model.log_density(Z), best.log_density(Z))
    assert model.score(sheet) == best.score(sheet)
    assert np.array_equal(model.embedding_, best.embedding_)
    assert np.array_equal(model.sample(3, random_state=0), best.sample(3, random_state=0))
    assert np.array_equal(model.reconstruction_error(sheet), best.reconstruction_error(sheet))
    path = tmp_path / "model.twofold"
    model.save(path)
    again = twofold.load(path)
    assert np.array_equal(again.transform(sheet[:20]), Z)
    assert again.method_ == name
    assert str(again.report_) == str(model.report_)


def test_winner_can_be_fitted_again_by_itself(of_digits, digits):
    again = clone(of_digits.best_estimator_).fit(digits)
    assert again.score(digits) == pytest.approx(of_digits.score(digits), abs=0.01)


def test_linear_winner_is_pca():
    X = flat()
    with pytest.warns(UserWarning, match="No method is better than PCA"):
        model = AutoTwoWay(random_state=0).fit(X)
    assert model.method_ == "pca"
    pca = PCA(2).fit(X)
    rebuilt = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(model.reconstruct(X), rebuilt, atol=1e-8)


def test_feature_names_reach_the_winner(sheet):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(sheet, columns=["x", "y", "z"])
    model = AutoTwoWay(methods=["drur"], random_state=0).fit(frame)
    assert list(model.best_estimator_.feature_names_in_) == ["x", "y", "z"]
    assert model.best_estimator_.transform(frame[:3]).shape == (3, 2)


def test_repr_says_what_was_fitted(of_digits):
    text = repr(of_digits)
    assert text.startswith("AutoTwoWay(random_state=0)\n  fitted: UKR, 700 rows of 64 columns")
    assert "(held-out rows)" in text
    html = of_digits._repr_mimebundle_()["text/html"]
    assert "fitted: UKR, 700 rows" in html
    assert "fitted:" not in repr(clone(of_digits))


def test_same_seed_same_model(sheet):
    one, other = (AutoTwoWay(random_state=3).fit(sheet) for _ in range(2))
    assert np.array_equal(one.embedding_, other.embedding_)
    assert one.method_ == other.method_


def test_threads_do_not_change_the_winner(sheet):
    one, two = (AutoTwoWay(random_state=0, n_jobs=n).fit(sheet) for n in (1, 2))
    assert one.method_ == two.method_
    assert one.score(sheet) == pytest.approx(two.score(sheet), rel=1e-9)


# --- dimensions ---


def test_number_of_dimensions():
    X, _ = make_swiss_roll(1000, noise=0.5, random_state=0)
    model = AutoTwoWay("auto", methods=["isomap", "pca"], random_state=0).fit(X)
    assert model.embedding_.shape == (1000, 2)
    assert model.dimension_choice_.n_components == 2


def test_given_dimensions_are_not_chosen(of_digits):
    assert of_digits.dimension_choice_ is None


# --- warnings ---


def test_noise_is_reported():
    with pytest.warns(UserWarning, match="pure noise"):
        AutoTwoWay(methods=["pca", "tsne"], random_state=0).fit(noise())


def test_dominant_column_is_reported(sheet):
    X = np.column_stack([sheet, 1e3 * sheet[:, 0]])
    with pytest.warns(UserWarning, match=r"Column 3 has 100.0% of the variance"):
        AutoTwoWay(methods=["isomap"], random_state=0).fit(X)


@pytest.mark.parametrize("n_rows", [60, 100, 400])
def test_structure_gives_no_warning(sheet, n_rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AutoTwoWay(methods=["pca", "tsne", "isomap"], random_state=0).fit(sheet[:n_rows])


def test_few_rows_for_a_number_of_dimensions(sheet):
    with pytest.warns(UserWarning, match="from 100 rows"):
        AutoTwoWay("auto", methods=["pca", "isomap"], random_state=0).fit(sheet[:100])


# --- small and bad input ---


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "n_rows", [2, 3, 5, 10, 19, 20, *(pytest.param(n, marks=pytest.mark.slow) for n in (25, 40))]
)
def test_few_rows(n_rows):
    X = np.random.default_rng(0).standard_normal((n_rows, 4))
    model = AutoTwoWay(1, random_state=0).fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.inverse_transform(model.embedding_)).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_column_keeps_its_order():
    X = np.sort(np.random.default_rng(0).standard_normal((60, 1)), axis=0)
    Z = AutoTwoWay(1, random_state=0).fit(X).transform(X)[:, 0]
    assert (np.diff(Z) > 0).all() or (np.diff(Z) < 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"effort": "slow"}, "effort='slow' must be one of"),
        ({"effort": -1.0}, "effort=-1.0"),
        ({"methods": ["umap"]}, "'umap' is unknown"),
        ({"methods": []}, "methods is empty"),
        ({"methods": ["pca", "umap"]}, "'umap' is unknown"),
        ({"n_components": 4}, "n_components=4"),
    ],
)
def test_bad_parameters(settings, message, sheet):
    with pytest.raises(ValueError, match=message):
        AutoTwoWay(**settings).fit(sheet)


def test_methods_must_be_ours(sheet):
    with pytest.raises(TypeError, match="methods=None must be"):
        AutoTwoWay(methods=None).fit(sheet)
    with pytest.raises(TypeError, match="must be an estimator of twofold"):
        AutoTwoWay(methods={"pca": PCA(2)}).fit(sheet)


# --- seconds ---


def test_rounds_of_efforts():
    assert Effort.of("balanced").sizes(300) == [300]
    assert Effort.of("balanced").sizes(1_500) == [400, 1_500]
    assert Effort.of("balanced").sizes(15_000) == [400, 1_500]
    assert Effort.of("balanced").sizes(60_000) == [400, 2_000, 6_000]
    assert Effort.of("fast").sizes(10**6) == [500]
    assert Effort.of("best").sizes(10**6) == [1_000, 5_000]
    sizes = Effort.of(10.0).sizes(10**6)
    assert sizes[0] < 200
    assert sizes[-1] == 2_000
    assert (np.diff(sizes) > 0).all()


@pytest.mark.timing
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_seconds_bound_the_fit():
    X, _ = make_swiss_roll(30_000, noise=0.5, n_features=10, random_state=0)
    AutoTwoWay(effort=1.0, random_state=0).fit(X[:3_000])  # compile
    began = time.perf_counter()
    model = AutoTwoWay(effort=2.0, random_state=0).fit(X)
    assert time.perf_counter() - began < 6.0
    if model.fitted_rows_ is not None:
        assert len(model.embedding_) == len(model.fitted_rows_)
    assert model.transform(X[:5]).shape == (5, 2)


@pytest.mark.timing
def test_seconds_bound_a_single_method():
    X, _ = make_s_curve(20_000, random_state=0)
    began = time.perf_counter()
    with pytest.warns(UserWarning, match="seconds sufficed for"):
        AutoTwoWay(methods="ukr", effort=0.5, random_state=0, n_jobs=1).fit(X)
    assert time.perf_counter() - began < 6.0


def test_part_of_the_rows_is_reported(sheet, monkeypatch):
    monkeypatch.setattr(final, "_affordable", lambda *_: 150)
    monkeypatch.setattr(final, "WORTH_A_REFIT", np.inf)
    with pytest.warns(UserWarning, match=r"seconds sufficed for 150 of 400 rows"):
        model = AutoTwoWay(methods=["isomap", "tsne"], effort=30.0, random_state=0).fit(sheet)
    assert len(np.unique(model.fitted_rows_)) == len(model.embedding_) == 150
    alone = clone(model.best_estimator_).fit(sheet[model.fitted_rows_])
    np.testing.assert_array_equal(model.transform(sheet[:9]), alone.transform(sheet[:9]))


def test_fits_grow_while_there_is_time(sheet, monkeypatch):
    monkeypatch.setattr(final, "_affordable", lambda *_: 40)
    model = AutoTwoWay(methods=["isomap", "tsne"], effort=60.0, random_state=0).fit(sheet)
    assert model.fitted_rows_ is None
    assert len(model.embedding_) == 400
