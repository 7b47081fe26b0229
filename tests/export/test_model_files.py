"""Model files: the same bits after a round trip, and files of former formats."""

import contextlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from registry import ESTIMATORS
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import twofold
from twofold import UKR, ModelFileError, TwoWay
from twofold.datasets import make_s_curve
from twofold.export.model_files import (
    FORMAT,
    describe,
    from_bytes,
    load_with_roles,
    save,
    save_with_roles,
    to_bytes,
)
from twofold.export.roles import Roles
from twofold.export.upgrades import UPGRADES
from twofold.numerics.units import CenteredUnits
from twofold.optimize import SpectralGuidance

OWN = [name for name, one in ESTIMATORS.items() if type(one).__module__.startswith("twofold")]


@pytest.fixture(scope="module")
def X():
    return make_s_curve(60, random_state=0)[0]


@pytest.fixture(scope="module")
def file(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "curve.twofold"
    TwoWay("pca", up="nw", down="nw", random_state=0).fit(X).save(path)
    return path


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, content, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, payload in content.items():
            archive.writestr(name, payload)


@pytest.mark.parametrize("name", OWN)
def test_round_trip_is_bit_equal(name, X, tmp_path):
    model = clone(ESTIMATORS[name]).fit(X)
    model.save(tmp_path / "one.twofold")
    again = twofold.load(tmp_path / "one.twofold")
    assert type(again) is type(model)
    Z = model.transform(X)
    np.testing.assert_array_equal(again.transform(X), Z)
    np.testing.assert_array_equal(again.inverse_transform(Z), model.inverse_transform(Z))
    np.testing.assert_array_equal(again.log_density(Z), model.log_density(Z))
    np.testing.assert_array_equal(again.reconstruction_error(X), model.reconstruction_error(X))
    np.testing.assert_array_equal(again.sample(4, random_state=0), model.sample(4, random_state=0))
    assert set(again.__dict__) == set(model.__dict__)
    again.save(tmp_path / "two.twofold")
    if name != "two_way-function":  # whose function is no data
        first, second = (tmp_path / f"{n}.twofold" for n in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.ukr.settings.MANY_ROWS", 400)
    monkeypatch.setattr("twofold.numerics.sums.neighbors.MANY_SOURCES", 400)
    monkeypatch.setattr("twofold.numerics.sums.neighbors.LARGEST_SHARE", 1.0)
    X = make_s_curve(600, random_state=0)[0]
    model = UKR(init=X[:, :2], max_iter=2, random_state=0).fit(X)
    assert model.decoder_._neighbors.local is not None
    model.save(tmp_path / "many.twofold")
    again = twofold.load(tmp_path / "many.twofold")
    np.testing.assert_array_equal(again.transform(X[:200]), model.transform(X[:200]))


def test_projections_with_an_index(X, tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.maps.projection.MAX_COMPARED", 40)
    monkeypatch.setattr("twofold.ukr.settings.MANY_ROWS", 40)
    model = UKR(init="pca", max_iter=20, random_state=0).fit(X)
    assert model.encoder_.maps[-1]._index is not None
    model.save(tmp_path / "model.twofold")
    again = twofold.load(tmp_path / "model.twofold")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_parameters_of_all_kinds(X, tmp_path):
    rng, old = np.random.default_rng(5), np.random.RandomState(5)
    guidance = SpectralGuidance(np.eye(60), schedule=(3, 0))
    for state in (rng, old, None):
        model = UKR(init="pca", guidance=guidance, max_iter=20, random_state=state).fit(X)
        twofold.save(model, tmp_path / "m.twofold")
        again = twofold.load(tmp_path / "m.twofold")
        np.testing.assert_array_equal(again.guidance.affinity, np.eye(60))
        assert again.guidance.schedule == (3, 0)
        if state is not None:
            assert again.random_state.normal() == state.normal()
        clone(again).fit(X)


def test_feature_names(X, tmp_path):
    frame = pd.DataFrame(X, columns=["länge", "b</script>", "c"])
    model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(frame)
    model.save(tmp_path / "m.twofold")
    again = twofold.load(tmp_path / "m.twofold")
    assert list(again.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    assert describe(tmp_path / "m.twofold")["feature_names"] == list(frame.columns)


def test_what_is_no_data_is_named(X, tmp_path):
    model = TwoWay(TSNE(perplexity=9), up="nw", down="nw", random_state=0).fit(X)
    model.save(tmp_path / "m.twofold")
    again = twofold.load(tmp_path / "m.twofold")
    assert "TSNE(perplexity=9)" in repr(again.embedding)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    with pytest.raises((TypeError, ValueError), match="not in the model file"):
        again.fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_cannot_be_saved(X, tmp_path):
    by_function = UKR(metric=lambda a, b: a @ b.T, init="pca", homotopy=False, max_iter=5).fit(X)
    with pytest.raises(ModelFileError, match="cannot be written"):
        by_function.save(tmp_path / "m.twofold")
    with pytest.raises(ValueError, match="not fitted"):
        twofold.save(make_pipeline(StandardScaler(), by_function), tmp_path / "m.twofold")
    with pytest.raises(TypeError, match="a pipeline that ends in it, not a search"):
        twofold.save(StandardScaler(), tmp_path / "m.twofold")
    with pytest.raises(ValueError, match="not fitted"):
        TwoWay().save(tmp_path / "m.twofold")
    assert not list(tmp_path.iterdir())


def test_truncated(file, tmp_path):
    content = file.read_bytes()
    for tenth in range(10):
        path = tmp_path / "short.twofold"
        path.write_bytes(content[: len(content) * tenth // 10])
        with pytest.raises(ModelFileError):
            twofold.load(path)


def test_bit_flips(file, X, tmp_path):
    content, expected = bytearray(file.read_bytes()), twofold.load(file).transform(X)
    rng = np.random.default_rng(0)
    path = tmp_path / "flipped.twofold"
    refused = 0
    for _ in range(1_000):
        place, bit = int(rng.integers(len(content))), int(rng.integers(8))
        content[place] ^= 1 << bit
        path.write_bytes(content)
        content[place] ^= 1 << bit
        try:
            # What a zip archive says twice, or of times and rights, may change without harm.
            np.testing.assert_array_equal(twofold.load(path).transform(X), expected)
        except ModelFileError:
            refused += 1
    assert refused > 900


def test_every_bit_of_the_archives_directory(file, X, tmp_path):
    """Among them are flags of encryption, versions, and places outside the file."""
    content, expected = bytearray(file.read_bytes()), twofold.load(file).transform(X)
    path = tmp_path / "flipped.twofold"
    first = content.index(b"PK\x01\x02")
    places = [*range(first, first + 60), *range(len(content) - 30, len(content))]
    for place in places:
        for bit in range(8):
            changed = content.copy()
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with contextlib.suppress(ModelFileError):
                np.testing.assert_array_equal(twofold.load(path).transform(X), expected)


def test_not_a_model(tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError, match="not a model file"):
        twofold.load(tmp_path / "text")
    write(tmp_path / "zip", {"a": b"b"})
    with pytest.raises(ModelFileError, match=r"model\.json is missing"):
        describe(tmp_path / "zip")
    with pytest.raises(FileNotFoundError):
        twofold.load(tmp_path / "nothing")


def test_a_failed_write_leaves_the_old_file(X, file, tmp_path, monkeypatch):
    model = twofold.load(file)
    path = tmp_path / "m.twofold"
    model.save(path)
    before = path.read_bytes()

    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["m.twofold"]


OLD_FILES = sorted((Path(__file__).parent.parent / "files").glob("format-*/*.twofold"))


@pytest.mark.parametrize("path", OLD_FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_of_older_formats_are_read(path, tmp_path):
    assert describe(path)["format"] == int(path.parent.name.removeprefix("format-"))
    model = twofold.load(path)
    expected = np.load(path.with_suffix(".npz"))
    latents, decoded = (model.transform(expected["X"]), model.inverse_transform(expected["Z"]))
    # The expected values come from another processor, whose matrix products round differently.
    np.testing.assert_allclose(latents, expected["Z"], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(decoded, expected["decoded"], rtol=1e-7, atol=1e-7)
    model.save(tmp_path / "new.twofold")
    assert describe(tmp_path / "new.twofold")["format"] == FORMAT
    again = twofold.load(tmp_path / "new.twofold")
    np.testing.assert_array_equal(again.transform(expected["X"]), latents)
    np.testing.assert_array_equal(again.inverse_transform(expected["Z"]), decoded)


def test_there_is_an_old_file_of_every_class_that_was_replaced():
    names = {
        node["class"]
        for path in OLD_FILES
        for node in json.loads(entries(path)["model.json"])["objects"]
    }
    assert {name for table in UPGRADES.values() for name in table} <= names


def test_roles_of_columns_come_back(tmp_path):
    X = make_s_curve(30, random_state=0)[0]
    model = TwoWay("pca", up="nw", down="nw").fit(X)
    roles = Roles(label="kind", id="plant", left_out=("note", "remark"))
    save_with_roles(model, tmp_path / "m.twofold", roles)
    again, found = load_with_roles(tmp_path / "m.twofold")
    assert found == roles
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    save_with_roles(model, tmp_path / "m.twofold", None)
    assert load_with_roles(tmp_path / "m.twofold")[1] == Roles()


def test_objects_as_bytes_come_back():
    units = CenteredUnits.of(make_s_curve(30, random_state=0)[0])
    content = to_bytes(units, "twofold test")
    again = from_bytes(content, "twofold test", CenteredUnits, "a test")
    assert type(again) is CenteredUnits
    np.testing.assert_array_equal(again.center, units.center)
    with pytest.raises(ModelFileError, match="a test: it holds CenteredUnits, not TwoWay"):
        from_bytes(content, "twofold test", TwoWay, "a test")
    with pytest.raises(ModelFileError, match="not that of a twofold model"):
        from_bytes(content, "twofold model", CenteredUnits, "a test")


def test_parameters_are_described_in_two_hundred_characters(tmp_path):
    X = make_s_curve(30, random_state=0)[0]
    model = TwoWay(np.arange(60.0).reshape(30, 2) / 7.0, up="nw", down="nw").fit(X)
    save(model, tmp_path / "m.twofold")
    described = describe(tmp_path / "m.twofold")["parameters"]
    assert described["embedding"] == repr(model.embedding)[:200]
    assert described["up"] == "'nw'"
