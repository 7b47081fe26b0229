"""New rows on a page: the down-map in the browser, and what is read from CSV."""

import csv
import io
import json

import numpy as np
import pytest
from browser import Opened, chromium
from mixed_tables import mixed_frame
from registry import ESTIMATORS, MAPS
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import PrincipalManifold, TableMap, TwoWay, from_pipeline
from twofold.datasets import make_swiss_roll
from twofold.export import explorer
from twofold.export.explorer._new_rows import down_map
from twofold.export.programs.exported import exported
from twofold.principal_manifold.domains import Domain, Points

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = ["width", "height", "depth"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def roll(n=100):
    return 1e3 + 50.0 * make_swiss_roll(n, random_state=0)[0]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    model = TwoWay("pca", up="rbf", down="rbf", n_centers=20, random_state=0).fit(roll())
    path = tmp_path_factory.mktemp("rows") / "page.html"
    explorer.write(model, roll(), path=path, feature_names=NAMES)
    return model, path


@pytest.fixture
def page(browser, written):
    opened = Opened(browser, written[1])
    yield opened
    opened.close()


def placed(page, rows, with_search=True):
    """Return the latents and distances that the browser finds for rows of own values."""
    found = page.page.evaluate(
        "([rows, search]) => window.twofold.encode(rows, search)",
        [np.asarray(rows).tolist(), with_search],
    )
    return np.array([one["z"] for one in found]), np.array([one["distance"] for one in found])


def added(page, text):
    """Add rows and return what the page says and has."""
    page.page.evaluate("(text) => window.twofold.add(text)", text)
    return page.page.inner_text("#new-rows .said"), page.state()["extras"]["added"]


def assert_maps_down(browser, model, X, new, path, *, new_rows=True):
    """Assert that the browser's map, before a search, is the one that Python exports."""
    explorer.write(model, X, path=path, new_rows=new_rows)
    opened = Opened(browser, path)
    Z, distances = placed(opened, new, with_search=False)
    opened.close()
    found = exported(model)
    latents = found.latents(found.read(X))
    down = down_map(found, found.read(X), latents)
    want = down.form(np.asarray(new, dtype=float))
    spread = np.sqrt(latents.var(axis=0).sum())
    if not down.is_formula:  # of equal images, which medians have, either is the nearest
        images = model.inverse_transform(want)
        ties = np.abs(model.inverse_transform(Z) - images).max(axis=1) <= 1e-6 * np.ptp(X)
        Z[ties] = want[ties]
    assert (np.abs(Z - want) <= 1e-5 * spread).all()
    if down.is_formula:
        assert (np.abs(Z - model.transform(new)) <= 1e-5 * spread).all()
        errors = model.reconstruction_error(new)
        np.testing.assert_allclose(distances, errors, atol=1e-5 * np.ptp(X, axis=0).max())
    return down


def between(X, n=20):
    """Return rows near those of X."""
    rng = np.random.default_rng(1)
    return X[:n] + 0.05 * np.ptp(X, axis=0) * rng.normal(size=(n, X.shape[1]))


@pytest.mark.parametrize("name", MAPS)
def test_every_map_down(browser, tmp_path, name):
    X = np.random.default_rng(1).normal(size=(60, 4)) * [1.0, 2.0, 3.0, 1.0] + 5.0
    model = TwoWay("pca", up="rbf", down=clone(MAPS[name]), n_centers=10, random_state=0).fit(X)
    assert assert_maps_down(browser, model, X, between(X), tmp_path / "p.html").is_formula


@pytest.mark.parametrize("name", ["ukr-l1", "drur", "manifold", "isomap-grnn"])
def test_every_kind_of_estimator(browser, tmp_path, name):
    X = roll()
    model = clone(ESTIMATORS[name]).fit(X)
    assert_maps_down(browser, model, X, between(X), tmp_path / "p.html")


@pytest.mark.parametrize("domain", [Domain((True,)), Points(5)], ids=str)
def test_circles_and_points(browser, tmp_path, domain):
    X = roll()
    model = PrincipalManifold(domain.n_components, domain=domain, alpha=1e-2, random_state=0).fit(X)
    assert_maps_down(browser, model, X, between(X), tmp_path / "p.html")
    explorer.write(model, X, path=tmp_path / "p.html")
    opened = Opened(browser, tmp_path / "p.html")
    _, distances = placed(opened, X[:20])
    opened.close()
    unit = np.ptp(X, axis=0).max()
    assert (distances <= model.reconstruction_error(X[:20]) + 1e-3 * unit).all()


def test_scaled_columns_and_pipelines(browser, tmp_path):
    X = np.column_stack([roll(), 1.7e9 + np.arange(100.0), 1e-9 * np.arange(100.0) ** 2])
    model = TwoWay("pca", up="rbf", down="rbf", n_centers=20, random_state=0, scale="standard")
    model.fit(X)
    assert_maps_down(browser, model, X, between(X), tmp_path / "p.html")
    inner = TwoWay("pca", up="rbf", down="krr", n_centers=20, random_state=0)
    pipeline = from_pipeline(make_pipeline(StandardScaler(), PCA(4), inner).fit(X))
    assert_maps_down(browser, pipeline, X, between(X), tmp_path / "p.html")


@pytest.mark.parametrize("name", ["ukr", "two_way-nw"])
def test_the_search_finds_what_transform_finds(browser, tmp_path, name):
    X = roll(150)
    model = clone(ESTIMATORS[name]).fit(X)
    new = between(X, 40)
    explorer.write(model, X, path=tmp_path / "p.html")
    opened = Opened(browser, tmp_path / "p.html")
    said = opened.page.locator("#new-rows .caption").text_content()
    Z, distances = placed(opened, new)
    _, before = placed(opened, new, with_search=False)
    opened.close()
    assert "by a search" in said
    assert "of the variance on 30 held-out rows" in said
    spread = np.sqrt(model.embedding_.var(axis=0).sum())
    off = np.sqrt(np.square(Z - model.transform(new)).sum(axis=1)) / spread
    assert np.mean(off < 1e-2) >= 0.8  # at the border of the density the two may differ
    errors = model.reconstruction_error(new)
    assert (distances <= before + 1e-9).all()
    assert np.mean(distances <= 1.05 * errors + 1e-6) >= 0.95


def test_four_latents(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)) @ rng.normal(size=(6, 6))
    model = TwoWay(
        "pca", n_components=4, up="rbf", down="projection", n_centers=30, random_state=0
    ).fit(X)
    explorer.write(model, X, path=tmp_path / "p.html")
    opened = Opened(browser, tmp_path / "p.html")
    _, distances = placed(opened, X[:30])
    opened.page.mouse.move(*opened.place_of(3))
    assert opened.state()["extras"]["expected"]["count"] == 20
    assert not opened.page.locator(".gauge").first.is_visible()  # the density has no grid
    opened.close()
    errors = model.reconstruction_error(X[:30])
    assert np.mean(distances <= 1.05 * errors + 1e-6) >= 0.95


def test_of_many_rows_some_are_compared(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.export.explorer._new_rows.MOST_IMAGES", 40)
    X = roll()
    model = TwoWay("pca", up="nw", down="projection", random_state=0).fit(X)
    assert_maps_down(browser, model, X, between(X), tmp_path / "p.html", new_rows="auto")


def test_tables(browser, tmp_path):
    frame = mixed_frame(levels=("Adelie", "Chinstrap", "Gentoo"))
    inner = TwoWay("pca", up="rbf", down="rbf", n_centers=15, random_state=0)
    model = TableMap(inner).fit(frame)
    explorer.write(model, frame, path=tmp_path / "p.html", new_rows=True)
    opened = Opened(browser, tmp_path / "p.html")
    some = frame.iloc[:30]
    said, rows = added(opened, some.iloc[:, ::-1].drop(columns="always").to_csv(index=False))
    assert said == "Mapped 30 rows."
    wrong = some.head(2).to_csv(index=False).replace("Adelie,nest 0", "Emu,nest 0")
    said, _ = added(opened, wrong.replace("2026-01-01", "1.1.2026"))
    opened.close()
    assert "line 2, Adelie: Emu is not one of its values" in said
    assert "line 2, day: 1.1.2026 is not a date" in said
    spread = np.sqrt(model.embedding_.var(axis=0).sum())
    Z = np.array([row["z"] for row in rows])
    assert (np.abs(Z - model.transform(some)) <= 1e-5 * spread).all()
    errors = model.reconstruction_error(some)
    np.testing.assert_allclose([row["distance"] for row in rows], errors, rtol=1e-4)


def test_a_large_formula_is_replaced_unless_asked_for(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 60))
    model = TwoWay("pca", up="rbf", down="nw", n_centers=10, random_state=0).fit(X)
    kinds = {}
    for asked in ("auto", True, False):
        path = explorer.write(model, X, path=tmp_path / "p.html", new_rows=asked)
        text = path.read_text(encoding="utf-8").split('id="content">')[1].split("</script>")[0]
        kinds[asked] = json.loads(text).get("down", {}).get("kind")
    assert kinds == {"auto": "images", True: "formula", False: None}
    with pytest.raises(ValueError, match="new_rows='yes'"):
        explorer.write(model, X, path=tmp_path / "p.html", new_rows="yes")


def test_whole_numbers_are_stored_once(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.integers(0, 17, size=(600, 60)), np.full((600, 2), 3)]).astype(float)
    model = TwoWay("pca", up="nw", down="nw", n_centers=10, random_state=0).fit(X)
    new = np.rint(between(X))
    down = assert_maps_down(browser, model, X, new, tmp_path / "p.html", new_rows="auto")
    assert down.is_formula
    size = (tmp_path / "p.html").stat().st_size
    without = explorer.write(model, X, path=tmp_path / "q.html", new_rows=False).stat().st_size
    assert size - without < 20_000


TEXTS = (
    "height,width,depth,color\n1010.5,990,1000,red\n",
    "\ufeffdepth;height;color;width\r\n1000;1010,5;red;990\r\n",
    'Depth\tWIDTH\tcolor\theight\n1000\t"990"\tred\t1010.5',
    'depth;color;width;height\n"1.000,0";red;990;1.010,5\n',
    'depth,width,height,color\n"1,000.0",990,"1,010.5","red, dark"\n',
)
WRONG = {
    "": "empty",
    "width,color\n1,2": "missing: height, depth",
    "width,width,height,depth\n1,2,3,4": "twice: width",
    "width,height,depth\n1,abc,3": "line 2, height: abc is not a number",
    "width,height,depth\n1,,3\n1000,1000,1000": "Left out 1 of 2 rows: line 2, height",
    "width;height;depth\n1,5;2.5;3": "not clear which mark",
    "width,height,depth": "no rows",
    "1000,1000,1000": "No header",
    "width,height,depth\n1e400,1,1": "width: 1e400 is not a number",
    "width,height,depth\n1,1,0x10": "depth: 0x10 is not a number",
}


def test_columns_are_found_by_name(page, written):
    want = written[0].transform(np.array([[990.0, 1010.5, 1000.0]]))[0]
    for number, text in enumerate(TEXTS, 1):
        said, rows = added(page, text)
        assert "Ignored: color" in said
        assert len(rows) == number
        np.testing.assert_allclose(rows[-1]["z"], want, atol=1e-4)


def test_wrong_text_is_named(page):
    for text, message in WRONG.items():
        assert message in added(page, text)[0]


def test_rows_are_listed_removed_and_downloaded(page, written, tmp_path):
    page.page.click("#new-rows summary")
    area = page.page.get_by_role("textbox", name="Rows as CSV")
    area.fill("id,width,height,depth\n=first,990,1010,1000\n<b>x</b>,1000,1000,1000\n")
    area.press("Tab")
    page.page.keyboard.press("Enter")
    page.state()
    names = page.page.locator("#new-rows tbody th").all_inner_texts()
    assert names == ["1 =first", "2 <b>x</b>"]
    page.page.get_by_role("button", name="2 <b>x</b>").click()
    rows = page.state()["extras"]["added"]
    np.testing.assert_allclose(page.state()["here"], rows[1]["z"])
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Download CSV").click()
    download.value.save_as(tmp_path / "new.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "new.csv").read_text(encoding="utf-8"))))
    assert [line["row"] for line in table] == ["'=first", "<b>x</b>"]
    assert float(table[0]["width"]) == 990.0
    X = np.array([[990.0, 1010.0, 1000.0]])
    assert float(table[0]["latent 2"]) == pytest.approx(written[0].transform(X)[0, 1], abs=1e-4)
    error = written[0].reconstruction_error(X)[0]
    assert float(table[0]["distance"]) == pytest.approx(error, rel=1e-4)
    page.page.get_by_role("button", name="Remove =first").press("Enter")
    assert [row["name"] for row in page.state()["extras"]["added"]] == ["<b>x</b>"]
    page.page.get_by_role("button", name="Remove all").click()
    assert page.state()["extras"]["added"] == []


def test_typing_and_pasting(page):
    page.page.click("#new-rows summary")
    page.page.get_by_role("textbox", name="Rows as CSV").press("b")
    assert page.state()["tool"] == "walk"
    transfer = (
        "(kind) => { const data = new DataTransfer();"
        "data.setData('text/plain', 'width,height,depth\\n1000,1000,1000');"
        "const options = { bubbles: true, cancelable: true };"
        "const name = kind === 'paste' ? 'clipboardData' : 'dataTransfer';"
        "const Kind = kind === 'paste' ? ClipboardEvent : DragEvent;"
        "document.body.dispatchEvent(new Kind(kind, { ...options, [name]: data })); }"
    )
    for number, kind in enumerate(("paste", "drop"), 1):
        page.page.evaluate(transfer, kind)
        assert len(page.state()["extras"]["added"]) == number


def test_rows_of_two_pastes_are_all_mapped(page):
    lines = "\n".join(["1000,1000,1000"] * 3000)
    text = "width,height,depth\n" + lines
    page.page.evaluate(
        "(text) => Promise.all([window.twofold.add(text), window.twofold.add(text)])", text
    )
    assert len(page.state()["extras"]["added"]) == 5000
    assert "Only the first 2000 rows" in page.page.inner_text("#new-rows .said")
    assert "and 4,900 more" in page.page.inner_text("#new-rows")


def test_a_file(page, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("width,height,depth\n1000,1000,1000\n", encoding="utf-8")
    page.page.click("#new-rows summary")
    page.page.set_input_files("#new-rows input", path)
    assert any(page.state()["extras"]["added"] for _ in range(50))
