"""Pages of very many rows: few bytes a row, and no word missing about what is left out."""

import json
import re
from base64 import b64decode
from zlib import decompress

import numpy as np
import pytest
from browser import Opened, chromium
from sklearn.decomposition import PCA

from twofold import TwoWay
from twofold.export import explorer
from twofold.export.explorer import _write
from twofold.export.explorer._many_rows import levels_of, places, row_names_of
from twofold.export.explorer._packing import Packer

N = 120_000


def unpacked(packer, packed):
    planes = np.frombuffer(decompress(b64decode(packer.texts[packed["array"]])), dtype=np.uint8)
    kind = np.dtype(packed["type"]).newbyteorder("<")
    codes = np.ascontiguousarray(planes.reshape(kind.itemsize, -1).T).view(kind)
    return np.array(packed["offset"]) + np.array(packed["step"]) * codes.reshape(packed["shape"])


def test_places_have_two_bytes_each():
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(500, 3)) * [1.0, 1e6, 0.0] + [0.0, -1e7, 4.0]
    packer = Packer()
    packed = places(latents, packer)
    assert packed["type"] == "uint16"
    off = np.abs(unpacked(packer, packed) - latents).max(axis=0)
    assert (off <= 0.51 / 65_535 * np.maximum(np.ptp(latents, axis=0), 1e-300)).all()


def test_levels_of_numbers():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=5_000), [1e9]])
    codes, table = levels_of(values)
    assert codes.dtype == np.uint8
    inner = np.argsort(values)[50:-50]
    off = np.abs(table[codes] - values)[inner]
    assert off.max() < 0.05
    codes, table = levels_of(np.array([3.5, -1.0, 3.5]))
    np.testing.assert_array_equal(table[codes], [3.5, -1.0, 3.5])
    codes, table = levels_of(np.full(400, 2.0))
    np.testing.assert_array_equal(table[codes], 2.0)


@pytest.mark.parametrize(
    ("texts", "size"),
    [
        ([f"row {number}" for number in range(1, 5_001)], 60),
        ([str(number) for number in range(0, 50_000, 10)], 60),
        ([f"a{number % 7}\nb" for number in range(5_000)], 400),
        (["01", "2", "3"], 60),
    ],
)
def test_names_of_many_rows(texts, size):
    packer = Packer()
    found = row_names_of(texts, packer)
    assert len(packer.texts[0]) < size
    if "prefix" in found:
        numbers = np.cumsum(unpacked(packer, found["steps"])).astype(int)
        assert [f"{found['prefix']}{number}" for number in numbers] == texts
    else:
        text = unpacked(packer, found["text"]).astype(np.uint8).tobytes().decode()
        assert text.split("\n") == [" ".join(one.split()) for one in texts]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A page of more rows than it has values for."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=N)
    X = rng.normal(size=(N, 4)) + 5.0 * np.eye(4)[y]
    model = TwoWay(PCA(2), up="rbf", down="rbf", n_centers=20, random_state=0).fit(X[:300])
    path = tmp_path_factory.mktemp("many") / "page.html"
    with pytest.warns(UserWarning, match="has the places and colors of 120,000 rows"):
        explorer.write(model, X, y, path=path, columns={"first": X[:, 0]})
    return model, X, y, path


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def test_a_row_costs_few_bytes(many):
    text = many[-1].read_text(encoding="utf-8")
    content = json.loads(re.search(r'id="content">(.*?)</script>', text, re.DOTALL).group(1))
    assert content["data"] is None
    arrays = re.findall(r'id="array-\d+">(.*?)</script>', text, re.DOTALL)
    landscape = content["landscape"]["grid"]["array"]
    total = sum(len(one) for number, one in enumerate(arrays) if number != landscape)
    # Two places, a class and two columns of numbers are seven bytes; base64 takes a third more.
    assert total / N < 9.0


def test_the_page_says_what_it_lacks(browser, many):
    model, X, y, path = many
    opened = Opened(browser, path)
    assert "120,000 rows (without their values)" in opened.page.inner_text("#summary")
    state = opened.state()
    assert state["drawnBy"] == "density"
    assert sorted(state["names"]) == ["0", "1", "2"]
    row = 17
    z = model.transform(X[[row]])[0]
    opened.page.mouse.move(*opened.place_of(row))
    opened.state()
    assert re.search(r"near row \d+ \(\d\)", opened.page.inner_text("#place"))
    np.testing.assert_allclose(opened.state()["here"], z, atol=0.1)
    opened.page.mouse.click(*opened.place_of(row))
    assert opened.state()["pins"]
    assert "data" not in opened.page.locator(".card th").all_inner_texts()
    options = opened.page.locator("#color option").all_inner_texts()
    assert options == ["label", "first", "reconstruction error", "left out: too many rows"]
    opened.page.select_option("#color", label="first")
    assert "first" in opened.page.inner_text("#legend")
    opened.use("box")
    x, at = opened.middle()
    opened.drag((x - 30, at - 30), (x + 30, at + 30))
    selected = opened.state()["selected"]
    line = opened.page.evaluate("window.twofold.csv()").split("\r\n")[1].split(",")
    assert line[0] == f"row {selected[0]}"
    assert line[1] == str(y[selected[0]])
    np.testing.assert_allclose(float(line[2]), X[selected[0], 0], atol=0.1)
    assert len(line) == 6  # row, columns, latents
    for _ in range(14):
        opened.page.click("#zoom-in")
    assert opened.state()["drawnBy"] == "canvas"
    opened.close()


def test_rounded_places_do_not_lie_on_a_lattice(browser, many):
    opened = Opened(browser, many[-1])
    places = opened.page.evaluate(
        "(n) => Promise.all(Array.from({ length: n }, (_, row) => window.twofold.screenOf(row)))",
        5_000,
    )
    scale = opened.state()["view"]["scale"]
    opened.close()
    Z = many[0].transform(many[1][:5_000])
    step = np.ptp(many[0].transform(many[1]), axis=0) / 65_535
    rest = np.modf(np.array(places)[:, 0] / scale / step[0])[0]
    assert np.bincount((8 * np.abs(rest)).astype(int), minlength=8).min() > 400
    off = np.diff(places, axis=0) / scale - np.diff(Z * [1, -1], axis=0)
    assert (np.abs(off) <= 2.1 * step + 1e-6).all()


def test_left_out_rows_are_warned_of(tmp_path, many, monkeypatch):
    model, X, _, _ = many
    monkeypatch.setattr(_write, "MOST_POINTS", 50)
    with pytest.warns(UserWarning, match="shows 50 of 120 rows, a random sample"):
        explorer.write(model, X[:120], path=tmp_path / "page.html")
    explorer.write(model, X[:120], path=tmp_path / "page.html", max_points=50)
