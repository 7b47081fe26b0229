"""Model files that lie: nothing but `ModelFileError`, and nothing unchecked behind them."""

import contextlib
import io
import struct
import zipfile
from copy import deepcopy
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import twofold
from benchmarks.fuzz._forging import Forged, zipped
from twofold import UKR, ModelFileError, TwoWay
from twofold.datasets import make_s_curve
from twofold.export.contents import CONTENTS
from twofold.export.decoder import Decoder
from twofold.export.documents import from_npy
from twofold.export.model_files import FORMAT, describe, from_bytes, to_bytes
from twofold.export.object_graph import CLASSES
from twofold.export.special_values import STATES, generator_of
from twofold.maps import KernelRidgeMap, NadarayaWatson
from twofold.numerics.sums._compiled import check_shape
from twofold.optimize import SpectralGuidance
from twofold.principal_manifold import PrincipalManifold, WrappedKernel

FORMER = Path(__file__).parent.parent / "files"
MARK = "twofold model"


@pytest.fixture(scope="module")
def X():
    return make_s_curve(60, random_state=0)[0]


def saved(model, folder):
    path = folder / "model.twofold"
    model.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def content(X, tmp_path_factory):
    model = TwoWay("pca", up="nw", down="projection", random_state=0).fit(X)
    return saved(model, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def many(content):
    """A model of 4,000 sources, whose maps run in compiled loops."""
    X = make_s_curve(4_000, random_state=0)[0]
    Z = np.column_stack([np.arctan2(X[:, 0], X[:, 2]), X[:, 1]])
    forged = Forged(content)
    arrays = {"inputs_": Z, "targets_": X, "latents_": Z, "images_": X, "points_": Z}
    arrays["log_densities_"] = -np.square(Z).sum(axis=1)
    for node in forged.nodes:
        for name in arrays.keys() & node["state"].keys():
            forged.replace(node["state"][name]["$array"], arrays[name])
        if "bandwidth_" in node["state"]:
            node["state"]["bandwidth_"] = 0.02
    return forged.signed()


def load(content, folder):
    path = folder / "forged.twofold"
    path.write_bytes(content)
    return twofold.load(path)


def refused(content, folder, match=None):
    with pytest.raises(ModelFileError, match=match):
        load(content, folder)


def node_of(forged, name):
    """Return the attributes of the last object of a class, which is fitted."""
    return next(one["state"] for one in reversed(forged.nodes) if one["class"] == name)


def test_every_class_has_a_table():
    assert set(CONTENTS) == set(CLASSES)


class TestIndices:
    """Indices for compiled loops are computed, never read."""

    @pytest.mark.parametrize(
        "attack",
        [
            lambda order: order + 10**12,
            lambda order: order + len(order),
            lambda order: order - len(order),
            lambda order: order.astype(float),
        ],
        ids=["far", "beyond", "before", "floats"],
    )
    def test_of_former_files_are_ignored(self, attack, tmp_path):
        path = FORMER / "format-3" / "ukr-columns.twofold"
        expected, forged = twofold.load(path), Forged(path.read_bytes())
        numbers = [
            one["state"]["order"]["$array"] for one in forged.nodes if one["class"] == "LocalMeans"
        ]
        assert numbers
        for number in numbers:
            forged.replace(number, attack(forged.array(number)))
        model = load(forged.signed(), tmp_path)
        X = np.load(path.with_suffix(".npz"))["X"]
        np.testing.assert_array_equal(model.transform(X), expected.transform(X))
        np.testing.assert_array_equal(
            model.inverse_transform(model.embedding_),
            expected.inverse_transform(expected.embedding_),
        )

    def test_points_of_former_files_are_ignored(self, tmp_path):
        path = FORMER / "format-3" / "ukr-columns.twofold"
        expected, forged = twofold.load(path), Forged(path.read_bytes())
        number = node_of(forged, "LocalMeans")["points"]["$array"]
        forged.replace(number, np.repeat(forged.array(number), 200, axis=1))
        X = np.load(path.with_suffix(".npz"))["X"]
        model = load(forged.signed(), tmp_path)
        np.testing.assert_array_equal(model.transform(X), expected.transform(X))

    @pytest.mark.parametrize("name", ["_neighbors", "_columns", "predict"])
    def test_are_no_attributes_today(self, name, content, tmp_path):
        forged = Forged(content)
        node_of(forged, "NadarayaWatson")[name] = None
        refused(forged.signed(), tmp_path, f"attribute '{name}', which its class does not have")

    @pytest.mark.parametrize("name", ["Neighbors", "LocalMeans", "CellIndex"])
    def test_are_no_objects_today(self, name, content, tmp_path):
        forged = Forged(content)
        forged.nodes.append({"class": name, "state": {}})
        node_of(forged, "TwoWay")["embedding"] = {"$object": len(forged.nodes) - 1}
        refused(forged.signed(), tmp_path, "unknown class")

    def test_are_not_stored(self, many):
        assert not {"_neighbors", "tree", "order"} & {
            key for one in Forged(many).nodes for key in one["state"]
        }


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("NadarayaWatson", "inputs_"),
        ("NadarayaWatson", "targets_"),
        ("Projection", "latents_"),
        ("Projection", "images_"),
        ("LatentDensity", "points_"),
    ],
)
def test_arrays_of_many_sources(owner, name, many, tmp_path):
    """Each array widened, narrowed, longer, shorter, of another type, or with other values."""
    forged = Forged(many)
    number = node_of(forged, owner)[name]["$array"]
    given = forged.array(number)
    attacks = [
        np.repeat(given, 100, axis=1),
        given[:, :-1],
        np.vstack([given, given[:1]]),
        given[:-1],
        given[:0],
        given.astype(complex),
        given.astype(int),
        given.astype(">f8"),
        given.astype(np.float16),
        given.ravel(),
        given * np.nan,
        np.where(np.arange(len(given))[:, None] == 7, np.inf, given),
        given * 1e200,
    ]
    for attack in attacks:
        forged.replace(number, attack)
        refused(forged.signed(), tmp_path)
    forged.replace(number, given)
    model = load(forged.signed(), tmp_path)
    assert model.decoder_._neighbors.local is not None
    assert np.isfinite(model.inverse_transform(model.transform(np.zeros((5, 3))))).all()


def test_compiled_loops_check_shapes():
    with pytest.raises(ValueError, match=r"values has shape \(2, 3\), but \(2, 4\) is needed"):
        check_shape("values", np.zeros((2, 3)), 2, 4)


def test_maps_check_what_compiled_loops_take(monkeypatch):
    monkeypatch.setattr("twofold.numerics.sums.neighbors.MANY_SOURCES", 100)
    monkeypatch.setattr("twofold.numerics.sums.neighbors.LARGEST_SHARE", 1.0)
    Z = np.random.default_rng(0).normal(size=(300, 2))
    map_ = NadarayaWatson(bandwidth=0.1).fit(Z, Z)
    assert map_._neighbors.local is not None
    with pytest.raises(ValueError, match=r"targets has shape \(300, 3\)"):
        map_.predict(np.zeros((300, 3)))
    with pytest.raises(ValueError, match="data has shape"):
        map_.normal_terms(Z, np.zeros((300, 5)))
    map_.targets_ = map_.targets_[:-1]
    with pytest.raises(ValueError, match="values has shape"):
        map_.predict(Z)


class TestDocuments:
    def changes(self):
        deep = []
        for _ in range(500):
            deep = [deep]
        return {
            "unknown class": (("objects", 0, "class"), "system"),
            "unknown class 'os.system'": (("objects", 0, "class"), "os.system"),
            "attribute called '__class__'": (("objects", 0, "state", "__class__"), 1),
            "attribute called 'a b'": (("objects", 0, "state", "a b"), 1),
            "attribute 'transform'": (("objects", 0, "state", "transform"), 1),
            "attribute 'own'": (("objects", 0, "state", "own"), 1),
            "no object '999'": (("objects", 0, "state", "decoder_"), {"$object": 999}),
            "in themselves": (("objects", 0, "state", "decoder_"), {"$object": 0}),
            "no array '-1'": (("objects", 0, "state", "embedding_"), {"$array": -1}),
            "no array 'True'": (("objects", 0, "state", "embedding_"), {"$array": True}),
            "unknown kind": (("objects", 0, "state", "embedding_"), {"$code": "1"}),
            "kind '.items' is damaged": (("objects", 0, "state", "embedding_"), {"$items": [1]}),
            "kind '.tuple' is damaged": (("objects", 0, "state", "embedding_"), {"$tuple": 1}),
            "kind '.float' is damaged": (("objects", 0, "state", "_variance"), {"$float": "1"}),
            "kind '.strings' is damaged": (
                ("objects", 0, "state", "up_"),
                {"$strings": [["a"], 1]},
            ),
            "kind '.unsaved' is damaged": (("objects", 0, "state", "up"), {"$unsaved": 1}),
            "random generator": (
                ("objects", 0, "state", "random_state"),
                {"$rng": {"bit_generator": "eval"}},
            ),
            "nested": (("objects", 0, "state", "x_"), deep),
            "_variance is -1": (("objects", 0, "state", "_variance"), -1),
            "_variance is not a number": (("objects", 0, "state", "_variance"), "1"),
            "n_features_in_ is not a whole": (("objects", 0, "state", "n_features_in_"), 3.0),
            "features instead of 4": (("objects", 0, "state", "n_features_in_"), 4),
            "up_ is not text": (("objects", 0, "state", "up_"), 3),
            "no objects": (("objects",), []),
            "class and state": (("objects", 0), 3),
            "list of arrays": (("arrays",), None),
            "not an estimator": (("objects",), [{"class": "Gaussian", "state": {}}]),
            "upgrade twofold": (("format",), FORMAT + 1),
            "not a number of": (("format",), "1"),
            "not that of": (("mark",), "x"),
        }

    def test_hostile_values(self, content, tmp_path):
        for message, (place, value) in self.changes().items():
            forged = Forged(content)
            holder = forged.document
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
            refused(forged.signed(), tmp_path, message)

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("versions", None, "versions is not what"),
            ("parameters", [1, 2], "parameters is not what"),
            ("n_features", "3", "n_features is not what"),
            ("n_features", 10**30, "describes another model"),
            ("class", "UKR", "describes another model"),
            ("class", None, "class is not what"),
            ("n_components", 7, "describes another model"),
            ("n_components", True, "n_components is not what"),
            ("feature_names", ["a", "b", "c"], "describes another model"),
        ],
    )
    def test_headers_describe_the_model(self, key, value, message, content, tmp_path):
        forged = Forged(content)
        forged.document[key] = value
        refused(forged.signed(), tmp_path, message)

    @pytest.mark.parametrize("key", ["class", "n_features", "parameters", "versions"])
    def test_headers_without_a_part(self, key, content, tmp_path):
        forged = Forged(content)
        del forged.document[key]
        refused(forged.signed(), tmp_path, f"{key} is not what")

    @pytest.mark.parametrize("key", ["n_components", "feature_names"])
    def test_headers_without_what_is_not_needed(self, key, content, tmp_path):
        forged = Forged(content)
        del forged.document[key]
        assert load(forged.signed(), tmp_path).n_features_in_ == 3

    def test_versions_of_another_kind(self, content, tmp_path):
        forged = Forged(content)
        forged.document |= {"format": FORMAT + 1, "versions": [1]}
        refused(forged.signed(), tmp_path, "written by twofold 'later'")
        forged.document["versions"] = {"twofold": "\x1b[31m9.0"}
        refused(forged.signed(), tmp_path, r"twofold '\\x1b\[31m9.0'")

    def test_time_zones_that_are_paths(self, tmp_path):
        day = pd.date_range("2024-01-01", periods=30, tz="Europe/Berlin")
        table = pd.DataFrame({"day": day, "size": np.arange(30.0)})
        model = twofold.TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(table)
        forged = Forged(saved(model, tmp_path))
        storage = next(
            one["state"]
            for one in forged.nodes
            if one["class"] == "Storage" and "Berlin" in one["state"]["dtype"]
        )
        storage["dtype"] = f"datetime64[ns, dateutil/{tmp_path}/zone]"
        refused(forged.signed(), tmp_path, "a time zone of dateutil")

    def test_missing_attributes(self, content, tmp_path):
        for number, node in enumerate(Forged(content).nodes):
            cls = getattr(import_module(CLASSES[node["class"]]), node["class"])
            for name in node["state"]:
                forged = Forged(content)
                del forged.nodes[number]["state"][name]
                if not hasattr(cls, name) and name not in CONTENTS[node["class"]].sometimes:
                    refused(forged.signed(), tmp_path, f"it has no '{name}'")

    def test_parameters_that_decide_what_a_model_is(self, X, tmp_path):
        """The tags of scikit-learn ask for this parameter while a file is read."""
        forged = Forged(saved(twofold.AgglomerativeIsomap().fit(X), tmp_path))
        forged.nodes[0]["state"]["dissimilarity"] = node_of(forged, "AgglomerativeIsomap")[
            "embedding_"
        ]
        model = load(forged.signed(), tmp_path)
        assert model.transform(X).shape == (60, 2)

    @pytest.mark.parametrize(
        "params",
        [{"gamma": "abc"}, {"coef0": "x"}, {"degree": "3"}, {"degree": {"$float": "nan"}}, []],
        ids=str,
    )
    def test_parameters_of_kernels(self, params, X, tmp_path):
        model = UKR(metric="poly", metric_params={"degree": 2}, random_state=0, max_iter=2)
        with pytest.warns(UserWarning, match="max_iter=2"):
            forged = Forged(saved(model.fit(X), tmp_path))
        node_of(forged, "FeatureSpace")["params"] = params
        refused(forged.signed(), tmp_path, "params")

    def test_degrees_that_are_not_whole(self, X, tmp_path):
        ridge = KernelRidgeMap(kernel="poly", degree=2)
        forged = Forged(saved(TwoWay("pca", up=ridge, down=ridge).fit(X), tmp_path))
        node_of(forged, "KernelRidgeMap")["degree"] = 2.5
        refused(forged.signed(), tmp_path, "degree that is not whole")

    @pytest.mark.parametrize("names", [["up"], ["up", "down", "n_jobs"], ["not one"]], ids=str)
    def test_parameters_are_no_learned_attributes(self, names, content, tmp_path):
        forged = Forged(content)
        node_of(forged, "TwoWay")["_learned_names"] = {"$tuple": names}
        refused(forged.signed(), tmp_path, "_learned_names")

    def test_uses_of_objects_are_counted(self, content, tmp_path):
        """Each of a chain of objects has the next one twice, so that the last has many places."""
        forged = Forged(content)
        node_of(forged, "TwoWay")["random_state"] = {"$object": len(forged.nodes)}
        for depth in range(20):
            following = {"$object": len(forged.nodes) + 1}
            state = {"kernel": "gaussian", "bandwidth": [following, following], "n_jobs": None}
            if depth == 19:
                state["bandwidth"] = "auto"
            forged.nodes.append({"class": "NadarayaWatson", "state": state})
        refused(forged.signed(), tmp_path, "objects are used too often")

    @pytest.mark.parametrize("width", [1e-300, 0.0, -1.0, 1e301, float("nan")])
    def test_bandwidths_out_of_range(self, width, content, tmp_path):
        for name in ("LatentDensity", "NadarayaWatson"):
            forged = Forged(content)
            node_of(forged, name)["bandwidth_"] = width if width == width else {"$float": "nan"}
            refused(forged.signed(), tmp_path, "bandwidth_ is")

    def test_bandwidths_whose_square_overflows(self, content, tmp_path):
        forged = Forged(content)
        node_of(forged, "LatentDensity")["bandwidth_"] = 1e199
        refused(forged.signed(), tmp_path, "bandwidth_ is")

    def test_points_too_many_bandwidths_away(self, content, tmp_path):
        forged = Forged(content)
        density = node_of(forged, "LatentDensity")
        points = forged.array(density["points_"]["$array"])
        forged.replace(density["points_"]["$array"], points * 1e100)
        density["bandwidth_"] = 1e-90
        refused(forged.signed(), tmp_path, "too many bandwidths away")

    def test_not_fitted(self, content, tmp_path):
        forged = Forged(content)
        state = forged.nodes[0]["state"]
        for name in [one for one in state if one.endswith("_") or one.startswith("_")]:
            del state[name]
        refused(forged.signed(), tmp_path, "not fitted")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b'{"mark": 1, "mark": 2}', "a key twice"),
            (b'{"mark": NaN}', "NaN is not a number"),
            (b'{"mark": 1e999}', "1e999 is too large"),
            (b'{"mark": "\\ud800"}', "surrogates not allowed"),
            (b"[" * 10_000, "recursion"),
            (b"9" * 5_000, "digits"),
            (b"\xff", "cannot be read"),
            (b"3", "not that of"),
            (b"null", "not that of"),
            (b'{"a": [' + b"1," * 5_000_000 + b"1]}", "more than 4000000 values"),
        ],
        ids=range(10),
    )
    def test_hostile_text(self, text, message, content, tmp_path):
        refused(Forged(content).signed(text), tmp_path, message)

    def test_facts_that_people_read(self, content, tmp_path):
        path = tmp_path / "facts.twofold"
        for key, value in [("class", 1), ("n_features", "3"), ("n_components", []), ("roles", 3)]:
            forged = Forged(content)
            forged.document[key] = value
            path.write_bytes(forged.signed())
            with pytest.raises(ModelFileError):
                describe(path)


class TestClassConfusion:
    def test_of_every_object(self, content, tmp_path):
        """Each object with the class of another one."""
        for number, node in enumerate(Forged(content).nodes):
            for name in sorted(CLASSES)[number % 5 :: 5]:
                forged = Forged(content)
                forged.nodes[number]["class"] = name
                grnn = (node["class"], name) == ("NadarayaWatson", "GRNN")
                if name != node["class"] and not grnn:
                    refused(forged.signed(), tmp_path)

    def test_of_every_reference(self, content, tmp_path):
        """Each object in place of each other one."""
        nodes = Forged(content).nodes
        for number, node in enumerate(nodes):
            places = [key for key, one in node["state"].items() if isinstance(one, dict)]
            for key in places:
                for other in range(len(nodes)):
                    forged = Forged(content)
                    if forged.nodes[number]["state"][key] == {"$object": other}:
                        continue
                    forged.nodes[number]["state"][key] = {"$object": other}
                    # Units of data and latents may be alike; a projection may take any latents.
                    with contextlib.suppress(ModelFileError):
                        model = load(forged.signed(), tmp_path)
                        assert key in ("_latent_units", "_data_units", "density", "density_")
                        assert np.isfinite(model.transform(np.zeros((2, 3)))).all()


class TestArrays:
    def header(self, text):
        header = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header

    @pytest.mark.parametrize(
        "text",
        [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }",
            "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000000,), }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
            "{'descr': ['<f8'], 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<f8', 'fortran_order': 3, 'shape': (1,), }",
            "{'descr': '<f8', 'shape': (1,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), ",
            ":'descr': '<f8', 'fortran_order': False, 'shape': (200, 2), }",
            "__import__('os').system('true')",
            "(" * 500,
        ],
        ids=range(14),
    )
    def test_hostile_headers(self, text, content, tmp_path):
        payload = self.header(text) + bytes(8)
        with pytest.raises(ValueError, match=r"its|cannot"):
            from_npy(payload)
        forged = Forged(content)
        forged.payloads[0] = payload
        refused(forged.signed(), tmp_path, "array 0 cannot be read")

    def test_uses_of_an_array_are_counted(self, content, tmp_path):
        """Each of many objects with the same large array would be searched on its own."""
        forged = Forged(content)
        state = node_of(forged, "TwoWay")
        state["embedding"] = [{"$array": 0}] * 10**4
        refused(forged.signed(), tmp_path, "used too often")

    def test_uses_up_to_the_last_byte(self):
        uses = [{"$array": 0}] * ((2**20 + 16 * 8) // 8)
        decoder = Decoder([{}], [np.zeros(1)], FORMAT)
        assert len(decoder._value(uses, 0)) == len(uses)
        with pytest.raises(ModelFileError, match="used too often"):
            decoder._value({"$array": 0}, 0)

    def test_versions_of_headers(self):
        array, buffer = np.arange(6.0).reshape(2, 3), io.BytesIO()
        for version in ((1, 0), (2, 0), (3, 0)):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, version=version)
            if version == (3, 0):
                with pytest.raises(ValueError, match="its version is unknown"):
                    from_npy(buffer.getvalue())
            else:
                np.testing.assert_array_equal(from_npy(buffer.getvalue()), array)

    def test_objects_are_made_once(self, content, tmp_path):
        forged = Forged(content)
        node_of(forged, "TwoWay")["embedding"] = [{"$object": 2}] * 10_000
        model = load(forged.signed(), tmp_path)
        assert len({id(one) for one in model.embedding}) == 1


class TestSpecialValues:
    def value(self, plain, *arrays):
        """Return what a plain value in a file stands for."""
        return Decoder([{}], list(arrays), FORMAT)._value(plain, 0)

    def test_scalars(self):
        found = self.value({"$scalar": 0}, np.array(2.5, dtype=np.float32))
        assert type(found) is np.float32
        assert found == 2.5
        with pytest.raises(ModelFileError, match="it has 1 dimensions"):
            self.value({"$scalar": 0}, np.array([2.5]))

    def test_arrays_of_text(self):
        np.testing.assert_array_equal(self.value({"$strings": ["a", "b"]}), ["a", "b"])
        for content in (["a", 1], [1, "a"], [1, 2], [None]):
            with pytest.raises(ModelFileError, match="not an array of text"):
                self.value({"$strings": content})

    @pytest.mark.parametrize("kind", ["$tuple", "$items"])
    def test_nested_too_deeply(self, kind):
        deep = "x"
        for _ in range(100):
            deep = {kind: [deep] if kind == "$tuple" else [["key", deep]]}
        with pytest.raises(ModelFileError, match="its values are nested too deeply"):
            self.value(deep)

    def with_parameter(self, value, content, arrays=()):
        forged = Forged(content)
        numbers = []
        for array in arrays:
            numbers.append(len(forged.payloads))
            forged.payloads.append(b"")
            forged.document["arrays"].append(None)
            forged.replace(numbers[-1], array)
        node_of(forged, "TwoWay")["embedding"] = value(*numbers)
        return forged.signed()

    @pytest.mark.parametrize(
        ("columns", "pointers", "shape"),
        [
            ([0, 10**9], [0, 1, 2], [2, 2]),
            ([0, -1], [0, 1, 2], [2, 2]),
            ([0, 1], [0, 10**9, 2], [2, 2]),
            ([0, 1], [0, 2, 1], [2, 2]),
            ([0, 1], [0, 1], [2, 2]),
            ([0, 1], [0, 1, 2], [2, -2]),
            ([0, 1], [0, 1, 2], [2, True]),
            ([0, 1], [0, 1, 2], 3),
            ([0.0, 1.0], [0, 1, 2], [2, 2]),
            ([[0, 1]], [0, 1, 2], [2, 2]),
        ],
        ids=range(10),
    )
    def test_sparse_matrices(self, columns, pointers, shape, content, tmp_path):
        forged = self.with_parameter(
            lambda *numbers: {"$csr": [*numbers, shape]},
            content,
            [np.ones(2), np.array(columns), np.array(pointers)],
        )
        refused(forged, tmp_path, "kind '.csr' is damaged")

    def test_sparse_matrices_come_back(self, X, tmp_path):
        affinity = csr_array(np.eye(60) + np.eye(60, k=1) + np.eye(60, k=-1))
        guidance = SpectralGuidance(affinity, schedule=(2, 0))
        model = UKR(init="pca", guidance=guidance, max_iter=20, random_state=0).fit(X)
        again = load(saved(model, tmp_path), tmp_path)
        np.testing.assert_array_equal(again.guidance.affinity.toarray(), affinity.toarray())

    @pytest.mark.parametrize("name", STATES)
    def test_states_of_generators(self, name, content, tmp_path):
        rng = np.random.Generator(getattr(np.random, name)(5))
        state = rng.bit_generator.state
        words = {"state": {}}
        arrays = [one for one in [*state["state"].values(), *state.values()] if np.ndim(one)]

        def encoded(value, numbers):
            if isinstance(value, dict):
                return {key: encoded(one, numbers) for key, one in value.items()}
            return {"$array": numbers.pop(0)} if np.ndim(value) else value

        def plain(state):
            ordered = {"state": state["state"], **state}
            return lambda *numbers: {"$rng": encoded(ordered, list(numbers))}

        again = load(self.with_parameter(plain(state), content, arrays), tmp_path).embedding
        assert again.integers(10**9) == rng.integers(10**9)
        attacks = [{"bit_generator": "PCG65"}, {"state": 3}, {"more": 1}, words]
        if "has_uint32" in state:
            attacks += [{"has_uint32": 2}, {"uinteger": -1}, {"uinteger": 2**32}]
        if "inc" in state["state"]:
            attacks += [{"state": state["state"] | {word: 2**128}} for word in ("state", "inc")]
        attacks += [{"state": state["state"] | {"pos": p}} for p in (-1, 625, 10**9, "1", True)]
        attacks += [{"buffer_pos": p} for p in (-1, 5, 10**9)]
        for attack in attacks:
            changed = plain(deepcopy(state) | attack)
            refused(self.with_parameter(changed, content, arrays), tmp_path, "is damaged")
        for array in arrays[:1]:
            for other in (array[:-1], array.astype(float), array.astype(np.int64)):
                refused(
                    self.with_parameter(plain(state), content, [other, *arrays[1:]]),
                    tmp_path,
                    "is damaged",
                )

    def test_states_of_format_1(self):
        """It had large numbers as text."""
        rng = np.random.default_rng(5)
        state = dict(rng.bit_generator.state)
        state["state"] = {word: {"$int": str(one)} for word, one in state["state"].items()}
        again = generator_of(state)
        assert again.integers(10**9) == rng.integers(10**9)
        state["state"]["inc"] = {"$int": "1e3"}
        with pytest.raises(ValueError, match="invalid literal"):
            generator_of(state)

    @pytest.mark.parametrize("position", [-1, 625, 10**9, 2.5, "1", True])
    def test_position_of_a_legacy_generator(self, position, X, tmp_path):
        """NumPy takes any position, and then reads there."""
        rng = np.random.RandomState(0)
        model = TwoWay("pca", up="nw", down="nw", random_state=rng).fit(X)
        forged = Forged(saved(model, tmp_path))
        node_of(forged, "TwoWay")["random_state"]["$rng"]["legacy"]["state"]["pos"] = position
        refused(forged.signed(), tmp_path, "no state of MT19937")


class TestArchives:
    def test_encrypted_entries(self, content, tmp_path):
        for flags in (1, 0x41, 0x20, 0x800, 0xFFFF):
            changed = bytearray(content)
            for start in (b"PK\x03\x04", b"PK\x01\x02"):
                at = changed.index(start) + (6 if start.endswith(b"\x04") else 8)
                struct.pack_into("<H", changed, at, flags)
            with contextlib.suppress(ModelFileError):
                load(bytes(changed), tmp_path)
            with contextlib.suppress(ModelFileError):
                from_bytes(bytes(changed), MARK, TwoWay, "these bytes")

    def test_entries_that_share_bytes(self, content, tmp_path):
        """Many entries of the same bytes would be read one by one."""
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        changed = bytearray(zipped(entries))
        directory = changed.index(b"PK\x01\x02")
        end = changed.rindex(b"PK\x05\x06")
        one = changed[directory : changed.index(b"PK\x01\x02", directory + 4)]
        many = bytes(changed[directory:end]) + bytes(one) * 100
        tail = bytearray(changed[end:])
        n = len(entries) + 100
        struct.pack_into("<HHII", tail, 8, n, n, len(many), directory)
        refused(bytes(changed[:directory]) + many + bytes(tail), tmp_path, "entries")

    def test_compressed(self, content, tmp_path):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        entries["0.npy"] = bytes(10**8)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, payload in entries.items():
                archive.writestr(name, payload)
        refused(buffer.getvalue(), tmp_path, "compressed")

    def test_bytes_raise_no_error_of_files(self):
        for content in (b"", b"PK", b"hello", bytes(100)):
            with pytest.raises(ModelFileError, match="these bytes"):
                from_bytes(content, MARK, TwoWay, "these bytes")


class TestWriting:
    """What could not be read is not written."""

    def test_unknown_attributes(self, X, tmp_path):
        model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
        model.note = "mine"
        with pytest.raises(ModelFileError, match="an attribute 'note'"):
            model.save(tmp_path / "m.twofold")
        del model.note
        model.save(tmp_path / "m.twofold")

    def test_damaged_models(self, X, tmp_path):
        model = TwoWay("pca", up="krr", down="krr", random_state=0).fit(X)
        assert isinstance(model.decoder_, KernelRidgeMap)
        model.decoder_.weights_[0, 0] = np.nan
        with pytest.raises(ModelFileError, match="weights_ has values that are not in its range"):
            model.save(tmp_path / "m.twofold")

    def test_text_that_is_no_text(self, X, tmp_path):
        model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
        model.feature_names_in_ = np.array(["a", "\ud800", "c"], dtype=object)
        with pytest.raises(ModelFileError, match="cannot be written"):
            model.save(tmp_path / "m.twofold")
        with pytest.raises(ModelFileError, match="cannot be written"):
            to_bytes(model, MARK)

    def test_parts_of_what_is_left_out_are_not_kept(self, tmp_path):
        """A kernel of the user's own within one of ours, once as parameter and once in the map."""

        class Own:
            def values(self, z, centers, width):
                return np.exp(-np.abs(z[:, None] - centers) / width)

            def slopes(self, z, centers, width):
                return -np.sign(z[:, None] - centers) / width * self.values(z, centers, width)

        angle = np.linspace(0.0, 6.0, 40)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        model = PrincipalManifold(
            kernel=WrappedKernel(Own()), domain="circle", alpha=1e-2, init="pca", tol=0.1
        ).fit(X)
        with pytest.raises(ModelFileError, match="holds data and no code"):
            model.save(tmp_path / "m.twofold")


def test_damaged_objects_of_older_formats(tmp_path):
    path = FORMER / "format-1" / "drur-axes.twofold"
    forged = Forged(path.read_bytes())
    del node_of(forged, "Coordinates")["axes"]
    refused(forged.signed(), tmp_path, "Coordinates.* is damaged")
    forged = Forged(path.read_bytes())
    number = [one["class"] for one in forged.nodes].index("FromCoordinates")
    forged.nodes[number]["state"]["way"] = {"$object": number}
    refused(forged.signed(), tmp_path, "nested")
    forged = Forged(path.read_bytes())
    node_of(forged, "Coordinates")["spread"] = -1.0
    refused(forged.signed(), tmp_path, "unit is -1")
