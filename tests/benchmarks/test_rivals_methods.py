"""The benchmark beside the rivals: its methods and sets."""

import importlib.util

import numpy as np
import pytest
from fake_rivals import sheet

import twofold
from benchmarks.rivals import catalogue, networks, references, ways_back
from benchmarks.rivals.continuum import make_continuum
from benchmarks.rivals.methods import METHODS
from twofold.datasets import data_folder
from twofold.metrics import relative_reconstruction_error


def needs(module):
    found = importlib.util.find_spec(module) is not None
    return pytest.mark.skipif(not found, reason=f"{module} is not installed")


needs_data = pytest.mark.skipif(
    not (data_folder() / "mnist.npz").is_file(), reason="MNIST is not in the data folder"
)


@pytest.fixture
def short(monkeypatch):
    """Let networks train for a moment."""
    monkeypatch.setattr(networks, "FEWEST_STEPS", 300)
    monkeypatch.setattr(networks, "EPOCHS", 1)


# -- ways back


class Shift:
    """A map that forgets all but two columns."""

    def fit(self, X):
        self.embedding_ = X[:, :2].astype(np.float32)
        return self

    def transform(self, X):
        return X[:, :2]


def test_a_map_gets_a_way_back():
    X, truth = sheet(300)
    data = np.hstack([truth, X])
    model = ways_back.WithDecoder(Shift(), ways_back.Neighbors(0, 1)).fit(data[:250])
    rebuilt = model.inverse_transform(model.transform(data[250:]))
    assert relative_reconstruction_error(data[250:], rebuilt) < 0.05
    assert model.embedding_.dtype == np.float64


@pytest.mark.parametrize(("noise", "expected"), [(0.0, 3), (3.0, 10)])
def test_the_number_of_neighbors_is_chosen_by_validation(noise, expected):
    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(400, 2))
    X = np.sin(3 * Z) + noise * rng.standard_normal(Z.shape)  # noise asks for many
    assert ways_back.Neighbors(0, 1).fit(Z, X).n_neighbors_ == expected


def test_neighbors_of_very_few_rows():
    Z = np.arange(5.0)[:, np.newaxis]
    assert ways_back.Neighbors(0, 1).fit(Z, Z).n_neighbors_ == 3


@needs("inverse_projections")
@pytest.mark.parametrize("kind", ["NNinv", "Rbf"])
def test_inverse_projections_decode(kind, capsys):
    rng = np.random.default_rng(0)
    Z = rng.uniform(-5.0, 5.0, (300, 2))
    X = 7.0 + Z @ rng.standard_normal((2, 6))
    decoder = ways_back.NNinv(0, 1) if kind == "NNinv" else ways_back.Rbf()
    rebuilt = decoder.fit(Z[:250], X[:250]).predict(Z[250:])
    assert relative_reconstruction_error(X[250:], rebuilt) < 0.05
    assert capsys.readouterr().out == ""


@needs("openTSNE")
@pytest.mark.filterwarnings("ignore")
def test_new_points_of_tsne_lie_in_the_map_that_was_fitted():
    from benchmarks.rivals.adapters import Tsne

    X, _ = sheet(120)
    model = Tsne(0, 1).fit(X)
    before = model.embedding_.copy()
    Z = model.transform(X)
    np.testing.assert_array_equal(model.embedding_, before)
    spread = np.linalg.norm(before - before.mean(axis=0), axis=1).mean()
    assert np.abs((Z - before).mean(axis=0)).max() < 0.05 * spread
    np.testing.assert_allclose(model.transform(X), Z, atol=1e-8 * spread)


# -- networks


@needs("torch")
@pytest.mark.parametrize("kind", ["Autoencoder", "VariationalAutoencoder"])
def test_autoencoders(short, kind):
    X, _ = sheet(400)
    make = getattr(networks, kind)
    model = make(0, 1).fit(X[:300])
    Z = model.transform(X[300:])
    assert Z.shape == (100, 2)
    assert model.embedding_.shape == (300, 2)
    assert relative_reconstruction_error(X[300:], model.inverse_transform(Z)) < 0.1
    np.testing.assert_array_equal(make(0, 1).fit(X[:300]).transform(X[300:]), Z)


@needs("torch")
def test_the_divergence_draws_the_latents_to_a_unit_normal(short, monkeypatch):
    X, _ = sheet(400)
    monkeypatch.setattr(networks, "KL_WEIGHT", 100.0)
    drawn = networks.VariationalAutoencoder(0, 1).fit(X).embedding_
    assert np.abs(drawn).max() < 0.2  # the means are all but zero: nothing is encoded


@needs("torch")
def test_a_decoder_of_given_latents(short):
    X, truth = sheet(400)
    latents = 1e3 + 50.0 * truth
    decoder = networks.Decoder(0, 1).fit(latents[:300], X[:300])
    assert relative_reconstruction_error(X[300:], decoder.predict(latents[300:])) < 0.1


@needs("torch")
def test_training_keeps_the_weights_of_the_lowest_validation_error(monkeypatch):
    import torch

    X, _ = sheet(60)
    monkeypatch.setattr(networks, "FEWEST_STEPS", 120)
    monkeypatch.setattr(networks, "RATE", 3.0)  # diverges
    torch.manual_seed(0)
    model = networks.Autoencoder(0, 1).fit(X)
    rebuilt = model.inverse_transform(model.transform(X))
    errors = []
    for steps in (1, 120):
        monkeypatch.setattr(networks, "FEWEST_STEPS", steps)
        monkeypatch.setattr(networks, "CHECKS", 1)  # the last weights
        last = networks.Autoencoder(0, 1).fit(X)
        errors.append(relative_reconstruction_error(X, last.inverse_transform(last.transform(X))))
    assert relative_reconstruction_error(X, rebuilt) <= errors[-1]


# -- reference lines


def test_lookups():
    X, _ = sheet(200)
    one = references.Lookup(1, 1).fit(X[:150])
    assert one.figures(X[:150])["error"] == 0.0
    nearest = [X[:150][np.square(X[:150] - x).sum(axis=1).argmin()] for x in X[150:]]
    found = one.figures(X[150:])
    assert found["error"] == pytest.approx(relative_reconstruction_error(X[150:], nearest))
    five = references.Lookup(5, 1).fit(X[:150]).figures(X[150:])
    assert 0 < five["error"] < found["error"]  # less noise


def test_kmeans_is_the_limit_of_codebook_errors():
    X, _ = sheet(400)
    found = references.KMeans(0).fit(X[:300]).figures(X[300:])
    assert found.keys() == {"codebook_error_16", "codebook_error_64"}
    assert 0 < found["codebook_error_64"] < found["codebook_error_16"] < 0.3


# -- the registry


def test_the_registry_is_complete():
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert names[0] == "AutoTwoWay()"
    wanted = ("umap-learn + kNN", "openTSNE + kNN", "PaCMAP + kNN", "umap-learn + network")
    assert {*wanted, "autoencoder (PyTorch)", "variational autoencoder (PyTorch)"} < set(names)
    assert sum(method.reference for method in METHODS) == 3
    assert not any(method.reference and method.ours for method in METHODS)


@pytest.mark.parametrize("method", [m for m in METHODS if m.ours], ids=lambda m: m.name)
def test_ours_get_the_seed_and_two_latents(method):
    if method.name == "AutoTwoWay()" and not hasattr(twofold, "AutoTwoWay"):
        with pytest.raises(ImportError, match="no AutoTwoWay"):
            method.make(7, 1)
        return
    settings = method.make(7, 1).get_params()
    assert (settings["random_state"], settings["n_components"]) == (7, 2)


PACKAGES = {
    "umap-learn": "umap",
    "openTSNE": "openTSNE",
    "pacmap": "pacmap",
    "phate": "phate",
    "ugtm": "ugtm",
    "GPy": "GPy",
    "torch": "torch",
    "inverse-projections": "inverse_projections",
    "scikit-learn": "sklearn",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "method", [m for m in METHODS if not m.ours and not m.reference], ids=lambda m: m.name
)
def test_rivals_on_a_small_table(short, method):
    module = PACKAGES[method.package]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    X, _ = sheet(200)
    model = method.make(0, 1)
    model.fit(X[:160])
    Z = np.asarray(model.transform(X[160:]))
    assert Z.shape == (40, 2)
    if getattr(model, "inverse_transform", None) is None:
        assert method.name in ("PHATE", "Isomap", "LLE")
        return
    assert relative_reconstruction_error(X[160:], model.inverse_transform(Z)) < 0.6


# -- the sets

SHAPES = {
    "iris": (120, 30, 4),
    "wine": (142, 36, 13),
    "glass": (171, 43, 9),
    "sonar": (166, 42, 60),
    "ionosphere": (281, 70, 34),
    "wdbc": (455, 114, 30),
    "vehicle": (677, 169, 18),
    "digits": (1438, 359, 64),
    "oil flow": (1000, 1000, 12),
    "COIL-20": (1152, 288, 1024),
    "rotated digits": (1152, 288, 784),
    "S-curve": (1500, 1000, 3),
    "segment": (1848, 462, 19),
    "branching continuum": (2128, 532, 240),
    "optdigits": (3823, 1000, 64),
    "satimage": (4435, 1000, 36),
    "USPS": (7291, 1000, 256),
}


def sets():
    return {data.name: data for data in catalogue.catalogue(quick=False)}


def test_the_catalogue_is_complete():
    found = sets()
    rolls = {f"Swiss roll 3-D, {10**k:,}" for k in (3, 4, 5, 6)}
    rolls |= {f"Swiss roll 100-D, {10**k:,}" for k in (3, 4, 5, 6)}
    assert set(found) == {*SHAPES, "MNIST", *rolls}
    assert {name for name, one in found.items() if one.on_request} == {
        "Swiss roll 3-D, 1,000,000",
        "Swiss roll 100-D, 100,000",
        "Swiss roll 100-D, 1,000,000",
    }
    names = list(found)
    for n, d in ((10**4, 3), (10**5, 3), (10**4, 100)):  # trouble with few rows spares many
        few, many = (names.index(f"Swiss roll {d}-D, {rows:,}") for rows in (n // 10, n))
        assert few < many
    assert {data.name for data in catalogue.catalogue(quick=True)} >= {*SHAPES, "MNIST"}


@needs_data
@pytest.mark.parametrize("name", SHAPES)
def test_sets_have_the_stated_shapes(name, tmp_path):
    prepared = sets()[name].prepare(tmp_path)
    assert (prepared.rows, prepared.held_out, prepared.features) == SHAPES[name]
    assert prepared.truth == (name in ("S-curve", "rotated digits"))
    assert (prepared.classes > 1) == (name != "S-curve")
    assert (prepared.unit is None) == (name in catalogue.OWN_UNITS)


def test_columns_with_units_of_their_own_are_standardized(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1.0, 1e3, 0.0] + 5.0
    whole = catalogue.Split(X[:40], X[40:])
    alone = catalogue.DataSet("x", lambda: whole, per_column=True).prepare(tmp_path)
    found = catalogue.Split.load(alone.path)
    np.testing.assert_allclose(found.X_train.std(axis=0), [1.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.X_test[:, 1], (X[40:, 1] - X[:40, 1].mean()) / X[:40, 1].std())
    together = catalogue.DataSet("x", lambda: whole).prepare(tmp_path)
    assert together.unit == pytest.approx(np.sqrt(X[:40].var(axis=0).mean()))


@needs_data
def test_rotated_digits_turn():
    found = catalogue.rotated_digits()
    images = found["X"].reshape(-1, catalogue.N_ANGLES, 28, 28)
    half, quarter = catalogue.N_ANGLES // 2, catalogue.N_ANGLES // 4
    np.testing.assert_allclose(images[:, half], images[:, 0, ::-1, ::-1], atol=1e-6)
    np.testing.assert_allclose(found["truth"][quarter], [0.0, 1.0], atol=1e-12)
    assert set(found["y"]) == set(catalogue.DIGITS)


def test_the_continuum_branches():
    X, branch = make_continuum(700, 60)
    assert X.shape == (700, 60)
    assert X.min() == 0.0
    assert set(branch) == set(range(7))
    centers = np.array([X[branch == one].mean(axis=0) for one in range(7)])
    nearest = np.square(X[:, np.newaxis] - centers).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == branch) > 0.6
    assert np.array_equal(make_continuum(700, 60)[0], X)
    assert make_continuum()[0].shape == (2_660, 240)
