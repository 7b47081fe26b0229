"""The page as text: what goes into it and what may not."""

import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from zlib import decompress

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from twofold import DRUR, UKR, PrincipalManifold, TwoWay
from twofold.export import explorer
from twofold.export.explorer._appearance import appearance
from twofold.export.explorer._columns import column
from twofold.export.explorer._packing import Packer
from twofold.export.explorer._page import HOSTS, SCRIPTS, _static
from twofold.export.programs.translation import NoClosedForm


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model(iris):
    return DRUR(2, n_centers=10, alpha=1e-3, init="pca", random_state=0).fit(iris[0])


def content_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="content">(.*?)</script>', text, re.DOTALL).group(1))


def unpacked(packer, packed):
    """Unpack an array as the page does."""
    planes = np.frombuffer(decompress(b64decode(packer.texts[packed["array"]])), dtype=np.uint8)
    kind = np.dtype(packed["type"]).newbyteorder("<")
    codes = np.ascontiguousarray(planes.reshape(kind.itemsize, -1).T).view(kind)
    numbers = codes.astype(np.float64).reshape(packed["shape"])
    return np.array(packed["offset"]) + np.array(packed["step"]) * numbers


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(17.0), "uint8"),
        (np.arange(-300.0, 300.0), "uint16"),
        (np.arange(256).astype(np.float32) / 255, "uint8"),
        (np.round(np.linspace(-3, 3, 50), 2), "uint16"),
        (np.pi * np.arange(20.0).reshape(4, 5), "float32"),
        (np.array([1e300, -1e300]), "float64"),
        (1e8 + np.pi * np.arange(20.0), "float32"),
        (1e300 * np.pi * np.arange(20.0), "float32"),
        (1e-300 * np.pi * np.arange(20.0), "float32"),
        (np.zeros((0, 3)), "float32"),
        (np.full(5, 3.25), "uint8"),
        (np.array([True, False]), "uint8"),
    ],
)
def test_packed_arrays_are_what_they_were(values, kind):
    packer = Packer()
    packed = packer.pack(values, exact=kind == "float64")
    assert packed["type"] == kind
    extent = np.ptp(values.astype(float)) if values.size else 1.0
    np.testing.assert_allclose(unpacked(packer, packed), values, rtol=0, atol=1e-7 * extent)


def test_columns_have_units_of_their_own():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 3)) * [1e-9, 1.0, 1e9] + [0.0, 1e8, 1e12]
    packer = Packer()
    found = unpacked(packer, packer.pack(values, by_column=True))
    assert (np.abs(found - values).max(axis=0) <= 1e-7 * np.ptp(values, axis=0)).all()
    whole = np.column_stack([np.arange(50.0), 1e6 + np.arange(50.0) / 4])
    packed = packer.pack(whole, by_column=True)
    assert packed["type"] == "uint8"
    np.testing.assert_array_equal(unpacked(packer, packed), whole)


def test_equal_arrays_are_stored_once():
    packer = Packer()
    packer.pack(np.arange(100.0))
    packer.pack(np.arange(100.0) + 5.0)  # the same codes, another offset
    packer.pack(np.arange(100.0) * 2.0)
    assert len(packer.texts) == 2


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", None, "b"], ["a", "b"]),
        ([10, 2, 2, 1], ["1", "2", "10"]),
        ([1.0, np.nan, 2.0, 1.0], ["1", "2"]),
        ([True, False, True, True], ["False", "True"]),
        (pd.Series(["x", pd.NA, "y", "x"], dtype="string"), ["x", "y"]),
    ],
)
def test_labels_are_classes(values, names):
    found = column("label", values, Packer(), labels=True)
    assert found["kind"] == "class"
    assert found["names"] == names


def test_numbers_are_numbers():
    packer = Packer()
    found = column("value", [0.5, np.nan, np.inf, 2.0], packer, labels=True)
    assert found["kind"] == "number"
    np.testing.assert_array_equal(unpacked(packer, found["gaps"]), [0, 1, 1, 0])


def images_of(side):
    rng = np.random.default_rng(0)
    at = np.linspace(-1, 1, side)
    middle = rng.uniform(-0.6, 0.6, size=(300, 2, 1, 1))
    return np.exp(-8 * ((at[:, None] - middle[:, 0]) ** 2 + (at - middle[:, 1]) ** 2)).reshape(
        300, -1
    )


def test_rows_show_what_they_are():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 64)) @ rng.normal(size=(64, 64))
    curves = np.cumsum(rng.normal(size=(300, 100)), axis=1)
    assert appearance(load_digits().data, "auto", None)["kind"] == "image"
    assert appearance(images_of(12), "auto", None) == {
        "kind": "image",
        "height": 12,
        "width": 12,
        "channels": 1,
    }
    assert appearance(curves, "auto", None)["kind"] == "curve"
    assert appearance(table, "auto", None)["kind"] == "table"
    assert appearance(load_iris().data, "auto", None)["kind"] == "table"
    assert appearance(table[:, :48], "auto", (4, 4, 3))["channels"] == 3
    assert appearance(table, "curve", None)["kind"] == "curve"
    assert appearance(table, "image", None)["width"] == 8


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("picture", None, "kind='picture'"),
        ("table", (2, 2), "for kind='image'"),
        ("image", None, "not a square"),
        ("auto", (2, 5), "has 10 values; the data have 3"),
        ("auto", (1, 3, 1, 1), "must be"),
        ("auto", (-1, -3), "must be"),
    ],
)
def test_wrong_appearances(kind, shape, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        appearance(np.zeros((10, 3)), kind, shape)


def test_the_page_says_what_it_was_told(tmp_path, model, iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=[f"flower {i}" for i in range(150)])
    named = DRUR(2, n_centers=10, alpha=1e-3, init="pca", random_state=0).fit(frame)
    path = explorer.write(
        named, frame, y, path=tmp_path / "page.html", title="Iris & co", columns={"half": y > 0}
    )
    content = content_of(path)
    assert path == tmp_path / "page.html"
    assert content["title"] == "Iris & co"
    assert content["features"] == ["a", "b", "c", "d"]
    assert content["rows"][3] == "flower 3"
    assert (
        content_of(
            explorer.write(named, frame, pd.Series(y, name="species"), path=tmp_path / "q.html")
        )["columns"][0]["name"]
        == "species"
    )
    names = [one["name"] for one in content["columns"]]
    assert names == ["label", "half", "reconstruction error", "log density"]
    assert content["model"] == {
        "name": "DRUR",
        "n_training": 150,
        "n_components": 2,
        "n_features": 4,
    }
    assert "<title>Iris &amp; co</title>" in path.read_text(encoding="utf-8")


def test_gaps_and_columns_of_one_name(tmp_path, model, iris):
    X, y = iris
    labels = ["a", float("nan"), None, *["b"] * 147]
    content = content_of(
        explorer.write(model, X, labels, path=tmp_path / "p.html", columns={"label": y + 0.5})
    )
    first, second = content["columns"][:2]
    assert (first["name"], first["names"]) == ("label", ["a", "b"])
    assert (second["name"], second["kind"]) == ("label", "number")


def test_models_that_keep_no_latents(tmp_path, iris):
    kept = DRUR(2, n_centers=10, alpha=1e-3, init="pca", store_embedding=False, random_state=0)
    content = content_of(explorer.write(kept.fit(iris[0]), iris[0], path=tmp_path / "p.html"))
    assert content["latents"]["shape"] == [150, 2]
    assert np.isfinite(content["landscape"]["low"]).all()


def test_of_many_rows_some_are_shown(tmp_path, model, iris):
    content = content_of(
        explorer.write(model, iris[0], iris[1], path=tmp_path / "p.html", max_points=40)
    )
    assert content["latents"]["shape"] == [40, 2]
    assert content["n_rows"] == 150
    assert len(content["rows"]) == 40
    # Numbers of the rows of the table, from 0.
    assert all(0 <= int(name.removeprefix("row ")) < 150 for name in content["rows"])


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_no_label_becomes_markup(tmp_path, model, iris):
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    path = explorer.write(
        model,
        iris[0],
        np.where(iris[1] > 0, nasty, "<!--"),
        path=tmp_path / "p.html",
        title=nasty,
        feature_names=[nasty, "\u2028", "\u202eabc", '"'],
        columns={nasty: iris[1]},
        row_names=[nasty] * 150,
    )
    text = path.read_text(encoding="utf-8")
    assert nasty not in text
    parser = Tags()
    parser.feed(text)
    plain = Tags()
    plain.feed(
        explorer.write(model, iris[0], path=tmp_path / "plain.html").read_text(encoding="utf-8")
    )
    kinds = [tag for tag, attrs in parser.tags if not attrs.get("id", "").startswith("array-")]
    assert kinds == [
        tag for tag, attrs in plain.tags if not attrs.get("id", "").startswith("array-")
    ]
    assert content_of(path)["title"] == nasty


def test_the_policy_forbids_everything_else(tmp_path, model, iris):
    text = explorer.write(model, iris[0], path=tmp_path / "p.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"https?://", text)
    assert " style=" not in text
    assert not re.search(r"\son\w+=", text.split("<script>")[0])


def test_digits_are_under_500_kB(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = TwoWay(PCA(2), up="nw", down="nw", random_state=0).fit(X)
    path = explorer.write(model, X, y, path=tmp_path / "digits.html")
    assert path.stat().st_size < 500_000
    assert content_of(path)["appearance"]["kind"] == "image"


def test_refused(tmp_path, model, iris):
    X, y = iris
    path = tmp_path / "p.html"
    with pytest.raises(TypeError, match="PCA is not a two-way estimator"):
        explorer.write(PCA(2).fit(X), X, path=path)
    with pytest.raises(NotFittedError):
        explorer.write(UKR(), X, path=path)
    with pytest.raises(ValueError, match="expecting 4 features"):
        explorer.write(model, X[:, :2], path=path)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        explorer.write(model, X, y[:-1], path=path)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        explorer.write(model, X, path=path, columns={"more": y[:3]})
    with pytest.raises(ValueError, match="one value per row"):
        explorer.write(model, X, X, path=path)
    with pytest.raises(ValueError, match="feature_names has 2 names"):
        explorer.write(model, X, path=path, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="max_points"):
        explorer.write(model, X, path=path, max_points=0)
    rbf = UKR(metric="rbf", init="pca", homotopy=False, max_iter=3, random_state=0)
    with pytest.warns(match="iteration"):
        rbf.fit(X)
    with pytest.raises(NoClosedForm, match="metric='rbf'"):
        explorer.write(rbf, X, path=path)
    assert not list(tmp_path.iterdir())


def test_an_old_page_stays_when_writing_fails(tmp_path, model, iris, monkeypatch):
    path = tmp_path / "p.html"
    path.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        explorer.write(model, iris[0], path=path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.html"]


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_far_from_one(tmp_path, iris, scale):
    X = iris[0] * scale
    manifold = PrincipalManifold(1, n_nodes=8, alpha=1e-2, init="pca", random_state=0).fit(X)
    content = content_of(explorer.write(manifold, X, path=tmp_path / "p.html"))
    assert np.log2(np.array(content["data"]["step"]) / scale) == pytest.approx(1, abs=2)
    assert content["appearance"]["high"] == X.max()


def test_training_rows_of_kernel_regression_keep_their_latents(tmp_path, monkeypatch):
    X = load_iris().data
    model = UKR(init="pca", homotopy=False, random_state=0).fit(X)
    monkeypatch.setattr("twofold.export.explorer._write.MOST_PROJECTED", 120)
    encoded = []
    encode = UKR._encode
    monkeypatch.setattr(UKR, "_encode", lambda self, rows: encoded.append(1) or encode(self, rows))
    explorer.write(model, X, path=tmp_path / "own.html")
    assert not encoded
    explorer.write(model, X[:100], path=tmp_path / "other.html")
    assert encoded


def test_scripts_declare_each_name_once():
    """All scripts of a page share one scope, where a second declaration stops the page."""
    declared = re.compile(r"^(?:const|let|class|(?:async )?function) +(\w+)", re.MULTILINE)
    for host in HOSTS.values():
        names = [
            name
            for script in (*SCRIPTS, *host.scripts)
            for name in declared.findall(_static(script))
        ]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice
