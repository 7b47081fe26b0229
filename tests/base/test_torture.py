"""What every estimator does with bad input and faults: one test for each row of a table."""

import concurrent.futures
import copy
import multiprocessing
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from registry import DEFAULTS, ESTIMATORS, unless_listed
from scipy import sparse
from scipy.linalg import orthogonal_procrustes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from twofold.datasets import make_s_curve

pytestmark = [
    # Row 20: pieces are joined with a warning; tested where the joining is.
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
    # Documented: the race is won by PCA.
    pytest.mark.filterwarnings("ignore:No method is better than PCA:UserWarning"),
    # The registered instances run few iterations, for speed.
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
]
FEW = "-few"
"""The ending of a name: defaults with few rows."""

OF_FEW = (
    "test_03_two_rows",
    "test_05_one_feature_keeps_its_order",
    "test_07_equal_rows",
    "test_09_fewer_directions_than_components",
    "test_10_large_and_small_units",
    "test_11_extreme_units",
    "test_23_one_outlier",
    "test_24_far_away",
)
"""The tests that defaults run in every run, with few rows, for speed; slow runs do the others."""


RELATIVES = (
    "two_way-pca-rbf",
    "two_way-krr",
    "two_way-function",
    "ukr-quartic",
    "drur-all",
    "manifold-norm",
    "isomap-grnn",
)
"""Estimators whose fits run the same threads, processes and phases as those of another one."""

OF_PROCESSES = ("test_26", "test_27", "test_28")
"""The rows that relatives run in slow runs only: they start processes, or fit several times."""


def pytest_generate_tests(metafunc):
    slow = list(DEFAULTS)
    test = metafunc.definition.originalname
    if test.startswith(OF_PROCESSES):
        slow += RELATIVES
    names = [name for name in ESTIMATORS if name not in slow]
    names += [pytest.param(name, marks=pytest.mark.slow) for name in slow]
    if test in OF_FEW:
        names += [name + FEW for name in DEFAULTS]
    metafunc.parametrize("name", names)


RANK_WARNING = pytest.mark.filterwarnings("ignore:The data vary in only:UserWarning")


def make(name, **params):
    name = name.removesuffix(FEW)
    return clone((ESTIMATORS | DEFAULTS)[name]).set_params(**params)


def n_rows(name):
    return 16 if name.endswith(FEW) else 40 if name in DEFAULTS else 80


@pytest.fixture
def X(name):
    return make_s_curve(n_rows(name), noise=0.05, random_state=0)[0]


@pytest.fixture(scope="module")
def fitted():
    return {}


@pytest.fixture
def models(name, X, fitted):
    """Models by name, this test's among them; tests only read them."""
    if name not in fitted:
        fitted[name] = make(name).fit(X)
    return fitted


def n_latents(model):
    return model.embedding_.shape[1]


def outputs(model, X):
    Z = model.transform(X)
    return [
        model.embedding_,
        Z,
        model.inverse_transform(Z),
        model.reconstruction_error(X),
        model.log_density(Z),
        np.array([model.score(X)]),
        model.sample(5, random_state=0),
    ]


def assert_same_latents(Z, reference, tolerance):
    """Up to shift, rotation and reflection, entry by entry."""
    Z, reference = Z - Z.mean(axis=0), reference - reference.mean(axis=0)
    rotation, _ = orthogonal_procrustes(Z, reference)
    np.testing.assert_allclose(Z @ rotation, reference, atol=tolerance * np.abs(reference).max())


def assert_finite(model, X):
    """Check about 20 of the rows: each row is mapped on its own."""
    for output in outputs(model, X[:: max(1, len(X) // 20)]):
        assert np.isfinite(output).all()


@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_01_nan_and_infinity(name, X, models, value, word):
    bad = X.copy()
    bad[5, 1] = value
    if word == "NaN":  # a missing value; tests/base/test_gaps.py has more
        bad[7] = value
        with pytest.raises(ValueError, match="Row 7 of X has only missing values"):
            make(name).fit(bad)
    else:
        with pytest.raises(ValueError, match=f"Input X contains {word}, first in row 5, column 1"):
            make(name).fit(bad)
    for method in ("transform", "reconstruct", "reconstruction_error", "score", "impute"):
        with pytest.raises(ValueError, match=word):
            getattr(models[name], method)(bad)
    for method in ("inverse_transform", "log_density"):
        with pytest.raises(ValueError, match=f"Input Z contains {word}"):
            getattr(models[name], method)(np.full((1, n_latents(models[name])), value))


@pytest.mark.parametrize(
    ("shape", "message"), [((0, 3), "0 sample"), ((5, 0), "0 feature"), ((1, 3), "1 sample")]
)
def test_02_too_little(name, X, shape, message):
    with pytest.raises(ValueError, match=message):
        make(name).fit(np.zeros(shape))


def test_03_two_rows(name):
    model = make(name, n_components=1).fit(np.array([[0.0, 1.0], [1.0, 3.0]]))
    assert_finite(model, np.array([[0.0, 1.0], [0.5, 2.0]]))


def test_03_one_iteration(name, X):
    if "max_iter" not in make(name).get_params():
        pytest.skip("the estimator does not iterate")
    with pytest.warns(match="iteration"):
        model = make(name, max_iter=1).fit(X)
    assert model.n_iter_ == 1
    assert_finite(model, X)


@pytest.mark.parametrize(
    ("rows", "n_components", "message"),
    [
        (2, 2, "n_components=2 must be less than n_samples=2"),
        (40, 4, "n_components=4 must be at most n_features=3"),
        (40, 0, "n_components=0"),
    ],
)
def test_04_too_many_components(name, X, rows, n_components, message):
    with pytest.raises(ValueError, match=message):
        make(name, n_components=n_components).fit(X[:rows])


def test_05_one_feature_keeps_its_order(name):
    x = np.sort(np.random.default_rng(0).random(min(40, n_rows(name))))[:, None]
    model = make(name, n_components=1).fit(x)
    assert_finite(model, x)
    steps = np.diff(model.embedding_[:, 0])
    with unless_listed(name, "order"):
        assert (steps >= 0.0).all() or (steps <= 0.0).all()


def test_06_a_constant_column_is_as_none(name, X, models):
    with_constant = np.insert(X, 1, 0.1, axis=1)
    model = make(name).fit(with_constant)
    up = model.inverse_transform(model.embedding_)
    assert (up[:, 1] == 0.1).all()
    with unless_listed(name, "constant column"):
        np.testing.assert_array_equal(model.embedding_, models[name].embedding_)
        expected = models[name].inverse_transform(models[name].embedding_)
        np.testing.assert_array_equal(np.delete(up, 1, axis=1), expected)


def test_07_equal_rows(name):
    X = np.full((30, 3), 0.1)
    with pytest.warns(UserWarning, match="vary in only 0 directions"):
        model = make(name).fit(X)
    assert_finite(model, X)
    far = np.full((1, n_latents(model)), 3.0)
    np.testing.assert_array_equal(model.inverse_transform(far), X[:1])
    assert model.score(X) == 1.0
    assert_finite(model, X + 1.0)


def test_08_duplicated_rows_share_their_latents(name, X):
    twice = np.vstack([X, X[::2]])
    model = make(name).fit(twice)
    assert_finite(model, twice)
    Z = model.transform(twice)
    np.testing.assert_allclose(Z[: len(X) : 2], Z[len(X) :], atol=1e-8)


@pytest.mark.parametrize(
    ("direction", "n_components"),
    [([1.0, 2.0, -1.0, 0.5], 2), ([1.0, 0.0, 0.0, 0.0], 4)],
    ids=["line", "one column"],
)
def test_09_fewer_directions_than_components(name, direction, n_components):
    X = np.outer(np.linspace(-1.0, 1.0, min(40, n_rows(name))), direction)
    with pytest.warns(UserWarning, match=f"only 1 directions, .* n_components={n_components};"):
        model = make(name, n_components=n_components).fit(X)
    assert_finite(model, X)


@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_10_large_and_small_units(name, X, models, factor):
    model = make(name).fit(X * factor)
    assert_finite(model, X * factor)
    # Each at its own latents: rounding may mirror them.
    up = model.inverse_transform(model.embedding_[:5]) / factor
    expected = models[name].inverse_transform(models[name].embedding_[:5])
    with unless_listed(name, "units"):
        assert_same_latents(model.embedding_, models[name].embedding_, 1e-10)
        np.testing.assert_allclose(up, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e-310])
def test_11_extreme_units(name, X, factor):
    try:
        model = make(name).fit(X * factor)
    except ValueError as error:
        assert "range" in str(error)
    else:
        assert_finite(model, X * factor)


@pytest.mark.parametrize("power", [-30, 7, 100])
def test_12_powers_of_two(name, X, models, power):
    model = make(name).fit(np.ldexp(X, power))
    some = X[::4]
    with unless_listed(name, "powers of two"):
        np.testing.assert_array_equal(model.embedding_, models[name].embedding_)
        np.testing.assert_array_equal(
            model.transform(np.ldexp(some, power)), models[name].transform(some)
        )


def test_13_a_large_offset(name, X, models):
    model = make(name).fit(X + 1e8)
    # The offset rounds the data at 1e-8; the reference is rounded in the same way, without it.
    rounded = make(name).fit((X + 1e8) - 1e8)
    some = X[::4] + 1e8
    with unless_listed(name, "offset"):
        assert_same_latents(model.embedding_, rounded.embedding_, 1e-6)
        assert model.score(some) == pytest.approx(rounded.score(some - 1e8), abs=1e-6)


def test_14_columns_permuted_and_rotated(name, X, models):
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    others = [X[:, [2, 0, 1]], X @ rotation]
    found = [make(name).fit(other) for other in others]
    with unless_listed(name, "rotated"):
        for model, other in zip(found, others, strict=True):
            assert_same_latents(model.embedding_, models[name].embedding_, 1e-8)
            assert model.score(other[::4]) == pytest.approx(models[name].score(X[::4]), abs=1e-8)


@pytest.fixture(scope="module")
def fitted_to_permuted():
    return {}


@pytest.fixture
def permuted(name, X, fitted_to_permuted):
    """A model of permuted rows, and their order."""
    order = np.random.default_rng(1).permutation(len(X))
    if name not in fitted_to_permuted:
        fitted_to_permuted[name] = make(name).fit(X[order])
    return fitted_to_permuted[name], order


def test_14_rows_permuted(name, models, permuted):
    model, order = permuted
    with unless_listed(name, "latents of permuted rows"):
        assert_same_latents(model.embedding_, models[name].embedding_[order], 1e-8)


def test_14_score_of_rows_permuted(name, X, models, permuted):
    found = permuted[0].score(X[::4])
    with unless_listed(name, "rows permuted"):
        assert found == pytest.approx(models[name].score(X[::4]), abs=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, bool])
@RANK_WARNING
def test_15_types(name, X, dtype):
    converted = (X * 4.0).astype(dtype)
    model = make(name).fit(converted)
    Z = model.transform(converted)
    expected = np.float32 if dtype is np.float32 else np.float64
    assert Z.dtype == model.inverse_transform(Z).dtype == expected
    # float32 is compared with the data before rounding; the others lose more than rounding.
    single = dtype is np.float32
    exact = make(name).fit(X * 4.0 if single else converted.astype(np.float64))
    with unless_listed(name, "single precision" if single else ""):
        assert_same_latents(model.embedding_, exact.embedding_, 1e-3)


def test_15_types_refused(name, X):
    words = X.astype(str)
    for bad in (X.astype(complex), words, words.astype(object) + "x"):
        with pytest.raises(ValueError, match=r"[Cc]omplex|could not convert"):
            make(name).fit(bad)


def test_16_sparse(name, X, models):
    model = make(name).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(model.embedding_, models[name].embedding_)
    np.testing.assert_array_equal(model.transform(sparse.csc_array(X)), model.transform(X))


def test_17_memory_layouts(name, X, models, tmp_path):
    file = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=X.shape)
    file[:] = X
    file.flush()
    layouts = [
        np.asfortranarray(X),
        X[::-1][::-1],
        X.astype(X.dtype.newbyteorder()),
        np.memmap(tmp_path / "x", dtype=np.float64, mode="r", shape=X.shape),
    ]
    for layout in layouts:
        model = make(name).fit(layout)
        np.testing.assert_allclose(model.embedding_, models[name].embedding_, atol=1e-12)
        np.testing.assert_array_equal(np.asarray(layout), X)


def test_19_wrong_width_and_not_fitted(name, X, models):
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3"):
        models[name].transform(X[:, :2])
    q = n_latents(models[name])
    with pytest.raises(ValueError, match=f"Z has {q + 1} columns.*n_components={q}"):
        models[name].inverse_transform(np.zeros((1, q + 1)))
    for method in (
        "transform",
        "inverse_transform",
        "reconstruct",
        "reconstruction_error",
        "score",
        "log_density",
        "sample",
    ):
        with pytest.raises(NotFittedError):
            getattr(make(name), method)(*(() if method == "sample" else (X,)))


NOT_JOINED = dict.fromkeys(
    ("two_way-pca-rbf", "two_way-function", "ukr-quartic", "ukr-l1", "manifold", "manifold-norm"),
    "no neighborhood graph",
) | {
    "auto": "its methods warn, if one of them wins",
    "auto-defaults": "its methods warn, if one of them wins",
    "two_way-defaults": "no neighborhood graph",
    "ukr-defaults": "its starts with a graph are compared with others, and do not warn",
    "drur-defaults": "its starts with a graph are compared with others, and do not warn",
    "manifold-defaults": "its starts with a graph are compared with others, and do not warn",
    "supervised": "the pieces are classes, which it links without a warning",
}


def test_20_a_graph_in_pieces(name, X):
    half = len(X) // 2
    pieces = np.vstack([X[:half], X[half:] + 100.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make(name).fit(pieces)
    assert_finite(model, pieces)
    if name in NOT_JOINED:
        pytest.skip(NOT_JOINED[name])
    messages = " ".join(str(one.message) for one in caught)
    with unless_listed(name, "graph in pieces"):
        assert "had 2 connected components, which were joined" in messages


def test_21_as_many_neighbors_as_rows(name, X):
    given = make(name).get_params()
    n = len(X)
    params = {"n_neighbors": n, "init": f"isomap:{n}", "embedding": f"isomap:{n}"}
    params = {parameter: value for parameter, value in params.items() if parameter in given}
    if not params:
        pytest.skip("no graph among the parameters")
    bound = rf"n_neighbors={n} must be .*(less than n_samples={n}|{n - 1})"
    with pytest.raises(ValueError, match=bound):
        make(name, **params).fit(X)


def test_22_labels(name, X, models):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(name).fit(X, np.zeros(7))
    if make(name).__sklearn_tags__().target_tags.required:
        with pytest.raises(ValueError, match="y has one class"):
            make(name).fit(X, np.zeros(len(X)))
        return
    labeled = make(name).fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(labeled.embedding_, models[name].embedding_)


def test_23_one_outlier(name, X):
    outlier = X.copy()
    outlier[0] = 1e6 * X.std()
    model = make(name).fit(outlier)
    assert_finite(model, outlier)


def test_24_far_away(name, X, models):
    model = models[name]
    far = np.vstack([X[:3] + 1e6, X[:3] * 1e150, np.full((1, 3), 1e300)])
    assert np.isfinite(model.transform(far)).all()
    assert (model.reconstruction_error(far) > 1e3 * model.reconstruction_error(X).max()).all()
    assert np.isfinite(model.score(far))
    spread = model.embedding_.std()
    latents = np.array([[1e6 * spread, 0.0], [1e150, -1e150], [1e300, 1e300]])[
        :, : n_latents(model)
    ]
    assert np.isfinite(model.inverse_transform(latents)).all()
    densities = model.log_density(latents)
    assert np.isfinite(densities).all()
    assert (densities < model.log_density(model.embedding_).min() - 100.0).all()
    small = latents[:1].astype(np.float32)
    assert np.isfinite(model.inverse_transform(small)).all()
    assert np.isfinite(model.log_density(small)).all()


def test_26_seeds(name, X):
    X = X[::2]
    before = np.random.get_state()[1].copy()
    one, two = (make(name, random_state=3).fit(X) for _ in range(2))
    some = X[:10]
    for a, b in zip(outputs(one, some), outputs(two, some), strict=True):
        np.testing.assert_array_equal(a, b)
    for kind in (np.random.RandomState, np.random.default_rng):
        one, two = (make(name, random_state=kind(3)).fit(X) for _ in range(2))
        np.testing.assert_array_equal(one.embedding_, two.embedding_)
        np.testing.assert_array_equal(one.transform(some), two.transform(some))
        np.testing.assert_array_equal(one.sample(5, random_state=0), two.sample(5, random_state=0))
    assert_finite(make(name, random_state=None).fit(X), X)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    with pytest.raises(ValueError, match="random_state"):
        make(name, random_state="seed").fit(X)


def _fit_and_score(name, X):
    return score(make(name).fit(X), X)


def score(model, X):
    """Score a quarter of the rows, for speed."""
    return model.score(X[::4])


def use_small_blocks(monkeypatch, n_threads):
    """So that even small data make several blocks."""
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 100_000)
    monkeypatch.setattr("twofold.numerics.threads.n_threads", lambda _: n_threads)


def test_27_threads(name, X, models, monkeypatch):
    scores = []
    for n_threads in (1, 2):
        use_small_blocks(monkeypatch, n_threads)
        scores.append(_fit_and_score(name, X))
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    assert scores[0] == pytest.approx(score(models[name], X), rel=1e-9)


def test_27_concurrent_fits(name, X, models, monkeypatch):
    use_small_blocks(monkeypatch, n_threads=2)
    expected = score(models[name], X)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(_fit_and_score, [name] * 4, [X] * 4))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def process(method):
    return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(method))


@pytest.fixture(scope="module")
def fresh_process():
    """A process that inherits nothing, shared by all estimators because its imports are slow."""
    with process("spawn") as pool:
        yield pool


def test_27_forked_process(name, X, models, monkeypatch):
    use_small_blocks(monkeypatch, n_threads=2)
    make(name).fit(X)  # so that a fork finds threads that have run
    with warnings.catch_warnings():
        # Forking a process that has threads is what is being tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        with process("fork") as pool:
            found = pool.submit(_fit_and_score, name, X).result(timeout=120)
    assert found == pytest.approx(score(models[name], X), rel=1e-9)


def test_27_fresh_process(name, X, models, fresh_process):
    found = fresh_process.submit(_fit_and_score, name, X).result(timeout=120)
    assert found == pytest.approx(score(models[name], X), rel=1e-9)


def test_27_loky(name, X, models):
    scores = Parallel(2, backend="loky")(delayed(_fit_and_score)(name, X) for _ in range(2))
    np.testing.assert_allclose(scores, score(models[name], X), rtol=1e-9)


PHASES = ("_fit", "_learn")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_28_interrupted_fit_leaves_all_or_nothing(name, X, models, monkeypatch, phase, when):
    fresh, old = make(name), copy.deepcopy(models[name])
    latents = old.transform(X[:10])
    real = getattr(type(fresh), phase)

    def interrupted(self, *args):
        if when == "after":
            real(self, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(fresh), phase, interrupted)
    for model in (fresh, old):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2])
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    assert not hasattr(fresh, "n_features_in_")
    assert old.n_features_in_ == 3
    np.testing.assert_array_equal(old.transform(X[:10]), latents)


@pytest.mark.timing
@pytest.mark.filterwarnings("ignore:The data look like pure noise")
def test_28_ctrl_c_is_prompt(name):
    X = np.random.default_rng(0).standard_normal((1_500, 10))
    model = make(name).fit(X)  # imports and compiles numba, which does not survive an interrupt
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    # A suite started in the background may inherit an ignored SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.perf_counter()
    timer.start()
    try:
        while time.perf_counter() - started < 20.0:
            model.fit(X)
    except KeyboardInterrupt:
        pass
    else:
        pytest.fail("the interrupt was lost")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - started - 0.3 < 5.0  # a second, with room for a busy machine


def test_refit_forgets_the_old_model(name, models):
    model = copy.deepcopy(models[name])
    iris = load_iris(return_X_y=True)[0][::3]
    model.fit(iris)
    assert model.inverse_transform(model.transform(iris)).shape == iris.shape
    np.testing.assert_array_equal(model.embedding_, make(name).fit(iris).embedding_)
