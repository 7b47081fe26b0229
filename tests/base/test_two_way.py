import logging

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from twofold import DRUR, TwoWay, load
from twofold.datasets import make_s_curve
from twofold.maps import GRNN, MLP, KernelRidgeMap
from twofold.maps import pair_selection as selection
from twofold.maps.pair_selection import choose_pair
from twofold.maps.projection import Projection
from twofold.metrics import nearest_neighbor_accuracy, relative_reconstruction_error
from twofold.numerics import threads
from twofold.numerics.codebooks import score_of_map


@pytest.fixture(scope="module")
def data():
    return make_s_curve(150, noise=0.05, random_state=0)[0]


def test_digits_under_tsne():
    """The figure of the README: at most 0.25 of the variance lost on held-out digits."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    model = TwoWay(TSNE(max_iter=400, random_state=0), random_state=0).fit(X)
    assert relative_reconstruction_error(X_test, model.reconstruct(X_test)) <= 0.25
    accuracy = nearest_neighbor_accuracy(model.embedding_, y, model.transform(X_test), y_test)
    assert accuracy > 0.95
    assert model.down_ == "projection"


def test_the_encoder_encodes_the_embedding():
    """A projection has the lowest error here, but its latents have nothing to do with these."""
    X, _ = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    model = TwoWay(KernelPCA(2, kernel="rbf", gamma=2.0), random_state=0).fit(X)
    assert model.candidates_[0]["latent_error"] < 0.1
    assert min(model.candidates_, key=lambda row: row["error"])["latent_error"] > 1.0
    assert np.abs(model.transform(X) - model.embedding_).max() < 0.1


def test_pairs_of_rows(data):
    distances = np.linalg.norm(data[:, None] - data, axis=2)
    model = TwoWay(TSNE(metric="precomputed", init="random", max_iter=250, random_state=0))
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not TwoWay(TSNE()).__sklearn_tags__().input_tags.pairwise
    assert model.fit(distances).transform(distances[:3]).shape == (3, 2)
    with pytest.raises(TypeError, match="dense"):
        model.fit(csr_array(distances))


@pytest.mark.parametrize("up", ["nw", "krr", "rbf", MLP(20, random_state=0)])
@pytest.mark.parametrize("down", ["projection", "nw", "krr", "rbf", KernelRidgeMap()])
def test_every_pair(up, down, data):
    model = TwoWay("isomap", up=up, down=down, random_state=0).fit(data)
    assert model.score(data) > 0.9
    assert model.candidates_ == []
    expected = up if isinstance(up, str) else type(up).__name__
    assert model.up_ == expected


def test_maps_of_ones_own(data):
    model = TwoWay(
        "isomap", up=KernelRidgeMap(kernel="polynomial", degree=6), down=GRNN(), random_state=0
    ).fit(data)
    assert (model.up_, model.down_) == ("KernelRidgeMap", "GRNN")
    assert model.score(data) > 0.9
    model = TwoWay("isomap", up=KernelRidgeMap(kernel="rbf"), down="auto", random_state=0).fit(data)
    assert model.score(data) > 0.9


def test_auto_takes_the_best_on_held_out_rows(data):
    model = TwoWay("isomap", random_state=0).fit(data)
    rows = model.candidates_
    assert len(rows) == 12
    limit = 1.03 * min(row["error"] for row in rows)
    good = [row for row in rows if row["error"] <= limit]
    rest = [row["error"] for row in rows if row["error"] > limit]
    assert rows[: len(good)] == sorted(good, key=lambda row: -row["map_score"])
    assert [row["error"] for row in rows[len(good) :]] == sorted(rest)
    assert (model.up_, model.down_) == (rows[0]["up"], rows[0]["down"])


class Table:
    """A map that looks up what it was made for; the choice of a pair clones and fits it."""

    def __init__(self, function=None):
        self.function = function

    def get_params(self, deep=True):
        return {"function": self.function}

    def set_params(self, **params):
        return self

    def fit(self, inputs, targets):
        return self

    def predict(self, inputs):
        return self.function(inputs)


def test_the_map_score_is_that_of_codebooks_and_breaks_ties():
    latents = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 1))
    data = np.hstack([latents, np.zeros((400, 1))])
    # Both decoders are exact at the latents; the second is torn between them.
    exact = Table(lambda Z: np.hstack([Z, np.zeros_like(Z)]))
    known = {float(z): True for z in latents[:, 0]}
    torn = Table(lambda Z: np.array([[z, 0.0 if float(z) in known else 3.0] for z in Z[:, 0]]))
    noisy = Table(lambda Z: np.hstack([Z, np.full_like(Z, 0.1)]))
    encode = Table(lambda X: X[:, :1])
    rng = np.random.default_rng(1)
    ups = {"torn": torn, "exact": exact, "noisy": noisy}
    chosen = choose_pair(ups, {"first": encode}, data, latents, rng)
    assert [row["up"] for row in chosen.table] == ["exact", "torn", "noisy"]
    rng = np.random.default_rng(1)  # the same rows are held out
    order = rng.permutation(400)
    held_out, kept = np.sort(order[:40]), np.sort(order[40:])
    expected = score_of_map(
        noisy.predict,
        latents[kept],
        latents[held_out],
        data[held_out],
        float(latents.var()),
        int(rng.integers(2**31)),
    )
    assert chosen.table[2]["map_score"] == pytest.approx(expected)


def test_few_rows_take_the_first_pair():
    model = TwoWay("pca", n_components=1).fit(np.arange(12.0).reshape(6, 2))
    assert (model.up_, model.down_) == ("nw", "projection")
    assert model.candidates_ == []


@pytest.mark.parametrize(
    "embedding",
    [
        PCA(2),
        make_pipeline(StandardScaler(), PCA(2)),
        lambda X, q, rng: X[:, :q],
        "lle",
        "kernel_pca",
        "random",
    ],
)
def test_embeddings(embedding, data):
    model = TwoWay(embedding, up="nw", down="nw", random_state=0).fit(data)
    assert model.embedding_.shape == (150, 2)
    assert np.isfinite(model.transform(data)).all()


def test_array_embedding_in_odd_units():
    data, truth = make_s_curve(150, noise=0.05, random_state=0)
    Z = 1e-200 * truth + 1e-195
    model = TwoWay(Z, random_state=0).fit(data)
    np.testing.assert_array_equal(model.embedding_, Z)
    assert model.score(data) > 0.9
    one = TwoWay(truth[:, 0], random_state=0).fit(data)
    assert one.transform(data).shape == (150, 1)


def test_labels_reach_the_embedding():
    X, y = load_iris(return_X_y=True)
    model = TwoWay(LinearDiscriminantAnalysis(n_components=2), random_state=0).fit(X, y)
    assert nearest_neighbor_accuracy(model.embedding_, y, model.transform(X), y) > 0.9


def test_names_with_a_number_of_neighbors(data):
    few, many = (TwoWay(f"isomap:{k}", up="nw", down="nw").fit(data) for k in (150 // 8, 40))
    plain = TwoWay("isomap", up="nw", down="nw").fit(data)
    np.testing.assert_array_equal(few.embedding_, plain.embedding_)
    assert np.abs(many.embedding_ - plain.embedding_).max() > 0.0


def test_n_centers(data):
    for up in ("krr", "rbf"):
        model = TwoWay("isomap", up=up, down="nw", n_centers=9, random_state=0).fit(data)
        assert len(model.decoder_.centers_) == 9
        full = TwoWay("isomap", up=up, down="nw", n_centers=10_000, random_state=0).fit(data)
        assert len(full.decoder_.centers_) == 150


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"up": "spline"}, ValueError, "up='spline'"),
        ({"up": "projection"}, ValueError, "up='projection'"),
        ({"down": MLP}, TypeError, "or an object with the methods fit.*it is a class"),
        ({"n_centers": 0}, ValueError, "n_centers=0"),
        ({"n_centers": 2.5}, TypeError, "n_centers=2.5"),
        ({"embedding": "umap"}, ValueError, "embedding='umap'"),
        ({"embedding": "pca:3"}, ValueError, "embedding='pca:3': 'pca' takes no number"),
        ({"embedding": np.zeros((3, 2))}, ValueError, "embedding gives an array of shape"),
        ({"embedding": PCA(3), "n_components": 9}, ValueError, "n_components=9 contradicts"),
        ({"embedding": PCA(2), "n_components": 2}, None, None),
        ({"embedding": np.zeros((150, 2)), "n_components": 1}, ValueError, "contradicts"),
        ({"down": Projection(n_starts=2)}, None, None),
        ({"embedding": np.zeros((150, 4))}, ValueError, "n_components=4"),
        ({"embedding": make_pipeline(PCA(2))}, None, None),
        ({"embedding": make_pipeline(PCA(2)), "n_components": 3}, ValueError, "contradicts"),
    ],
)
def test_parameters(params, error, message, data):
    model = TwoWay(**{"embedding": "pca", **params})
    if error is None:
        assert model.fit(data).score(data) > 0.8
    else:
        with pytest.raises(error, match=message):
            model.fit(data)


def test_embedding_wider_than_the_data_says_so(data):
    def wide(X, q, rng):
        return np.hstack([X, X])

    with pytest.raises(ValueError, match="n_components=6 must be at most n_features=3"):
        TwoWay(wide).fit(data)


def test_constant_data_keep_settings_and_given_latents():
    X = np.full((30, 3), 2.0)
    Z = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.warns(UserWarning, match="vary in only 0"):
        model = TwoWay(Z, up="krr", down="nw").fit(X)
    np.testing.assert_array_equal(model.embedding_, Z)
    assert (model.up_, model.down_, model.candidates_) == ("krr", "nw", [])
    np.testing.assert_array_equal(model.inverse_transform(Z[:2]), X[:2])
    warned = pytest.warns(UserWarning, match="vary in only 0")
    with warned, pytest.raises(ValueError, match="up='bad'"):
        TwoWay(up="bad").fit(X)


def test_float32_results_stay_finite(data):
    model = TwoWay(data[:, :2] * 1e60, up="nw", down="nw").fit(data.astype(np.float32))
    Z = model.transform(data.astype(np.float32))
    assert Z.dtype == np.float32
    assert np.isfinite(Z).all()


def test_duplicated_rows_transform_one_by_one():
    for seed in range(5):
        X = np.repeat(np.random.default_rng(seed).standard_normal((6, 5)), 10, axis=0)
        model = TwoWay("pca", random_state=0).fit(X)
        alone = np.vstack([model.transform(row[None]) for row in X[::10]])
        np.testing.assert_allclose(np.repeat(alone, 10, axis=0), model.transform(X), atol=1e-8)


def test_verbose_tells_the_phases(data, caplog):
    with caplog.at_level(logging.INFO, logger="twofold"):
        TwoWay("pca", verbose=1).fit(data)
    assert [line for line in caplog.messages if line.startswith("TwoWay")] == [
        "TwoWay: embedding",
        "TwoWay: choosing the maps",
        "TwoWay: fitting the maps",
    ]


def test_callbacks(data):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")

    class Recorder:
        events = []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.events.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            return False

    assert isinstance(Recorder(), callback.FitCallback)
    TwoWay("pca").set_callbacks(Recorder()).fit(data)
    assert Recorder.events == [
        "setup",
        "fit",
        "embedding",
        "choosing the maps",
        "fitting the maps",
        "teardown",
    ]


def test_choose_pair_needs_rows(data):
    ups, downs = {"krr": KernelRidgeMap()}, {"krr": KernelRidgeMap(), "projection": Projection()}
    chosen = choose_pair(ups, downs, data[:10], data[:10, :1], np.random.default_rng(0))
    assert (chosen.up, chosen.down, chosen.table) == ("krr", "krr", [])


def test_of_many_rows_some_choose_and_all_are_fitted(monkeypatch):
    X, _ = make_s_curve(200, random_state=0)
    settings = {"up": "auto", "down": "nw", "random_state": 0}
    whole = TwoWay("pca", **settings).fit(X)
    monkeypatch.setattr(selection, "MAX_KEPT", 50)
    part = TwoWay("pca", **settings).fit(X)
    assert {row["up"] for row in part.candidates_} == {row["up"] for row in whole.candidates_}
    # The width is that of all rows, not of the fifty that chose.
    chosen = part.candidates_[0]["up"]
    alone = TwoWay("pca", up=chosen, down="nw", random_state=0).fit(X)
    np.testing.assert_allclose(part.transform(X), alone.transform(X), rtol=1e-6)


@pytest.mark.parametrize("down", ["nw", "projection"])
def test_threads_do_not_change_the_result(data, down):
    one, two = (
        TwoWay("isomap", up="krr", down=down, random_state=0, n_jobs=n_jobs).fit(data)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_allclose(one.transform(data), two.transform(data), rtol=1e-12, atol=1e-12)
    assert one.score(data) == pytest.approx(two.score(data), rel=1e-9)


@pytest.mark.parametrize("embedding", ["lle", "isomap"])
@pytest.mark.filterwarnings("ignore:.*connected components:UserWarning")
def test_threads_of_libraries_do_not_decide_between_equal_distances(embedding):
    """Rows of small integers have many equal neighbors."""
    rng = np.random.default_rng(0)
    means = rng.normal(7.5, 2.5, (26, 16))
    X = means[rng.integers(26, size=1_200)] + rng.normal(0.0, 1.2, (1_200, 16))
    X = np.clip(np.round(X), 0.0, 15.0)
    model = TwoWay(embedding, up="nw", down="nw", random_state=0)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(model.fit(X).embedding_)
    np.testing.assert_array_equal(*found)


def test_threads_do_not_decide_how_many_centers_a_network_has():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (4_000, 2)) @ rng.integers(-3, 4, (2, 16))
    X = (X + rng.integers(0, 3, X.shape)).astype(float)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            model = DRUR(max_iter=3, n_jobs=n_threads, random_state=0).fit(X)
        found.append(np.append(model.embedding_.ravel(), model.score(X)))
    np.testing.assert_array_equal(*found)


def test_n_jobs_limits_the_threads(data, monkeypatch):
    seen = set()
    real = threads.ThreadPoolExecutor

    def pool(workers, *args):
        seen.add(workers)
        return real(workers, *args)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(threads, "BLOCK_BYTES", 2**12)
    TwoWay("pca", up="nw", down="nw", n_jobs=1).fit(data).transform(data)
    assert not seen  # one thread needs no pool
    with pytest.raises(ValueError, match="n_jobs=0"):
        TwoWay("pca", n_jobs=0).fit(data)


def test_models_without_n_jobs_use_all_cores(data, tmp_path):
    """Model files from before the parameter lack it."""
    model = TwoWay("pca", up="nw", down="nw", n_jobs=1).fit(data)
    del model.n_jobs
    model.save(tmp_path / "old.twofold")
    old = load(tmp_path / "old.twofold")
    assert old.get_params()["n_jobs"] is None
    np.testing.assert_array_equal(old.transform(data), model.transform(data))


def test_complex_latents_are_refused():
    X, _ = make_s_curve(60, random_state=0)
    with pytest.raises(ValueError, match="not an array of numbers"):
        TwoWay(X[:, :2] + 1j).fit(X)


def test_wide_data_of_many_rows_are_projected_in_their_leading_subspace(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.random((500, 2))
    X = np.sin(3.0 * Z @ rng.standard_normal((2, 80))) + 0.01 * rng.standard_normal((500, 80))
    plain = TwoWay(Z[:400], up="nw", down="projection", random_state=0).fit(X[:400])
    for name, most in (("MANY_ROWS", 300), ("MAX_KEPT", 300), ("MAX_FITTED", 350)):
        monkeypatch.setattr(f"twofold.maps.pair_selection.{name}", most)
    many = TwoWay(Z[:400], up="nw", down="projection", random_state=0).fit(X[:400])
    assert many.score(X[400:]) > plain.score(X[400:]) - 0.01
    many.save(tmp_path / "many.twofold")
    again = load(tmp_path / "many.twofold")
    np.testing.assert_array_equal(again.transform(X[400:]), many.transform(X[400:]))
    auto = TwoWay(Z[:400], random_state=0).fit(X[:400])
    assert auto.score(X[400:]) > 0.9
