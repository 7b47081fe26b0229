"""Finding rows on the page: search, lasso, filters, the comparison of a selection, and links."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from browser import Opened, chromium

from twofold import DRUR
from twofold.export import explorer

N = 90


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def frame():
    """Rows of three kinds; "height" tells one kind from the others, "noise" none."""
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], N // 3)
    rows = pd.DataFrame(
        {
            "height": rng.normal(size=N) + 6.0 * (kinds == 2),
            "width": rng.normal(size=N) + 3.0 * (kinds == 1),
            "noise": rng.normal(size=N),
            "age": rng.integers(0, 9, size=N).astype(float),
        }
    )
    return rows, pd.Series(np.array(["oak", "pine", "larch"])[kinds], name="species")


@pytest.fixture(scope="module")
def model(frame):
    model = DRUR(2, n_centers=12, alpha=1e-3, init="pca", scale="standard", random_state=0)
    return model.fit(frame[0])


@pytest.fixture(scope="module")
def latents(model, frame):
    return model.transform(frame[0])


@pytest.fixture(scope="module")
def written(model, frame, tmp_path_factory):
    rows, species = frame
    notes = [f"note {row}: {'felled' if row % 10 == 0 else 'standing'}" for row in range(N)]
    return explorer.write(
        model,
        rows,
        species,
        path=tmp_path_factory.mktemp("find") / "page.html",
        columns={"note": notes},
    )


@pytest.fixture(scope="module")
def opened(browser, written):
    opened = Opened(browser, written)
    yield opened
    opened.close()


@pytest.fixture
def page(opened):
    """The one page of this module, as it was at first."""
    opened.page.fill("#search", "")
    if opened.state()["left"] is not None:
        opened.page.click("#filter-clear")
    opened.page.focus("#marks")
    opened.page.keyboard.press("Escape")
    opened.page.keyboard.press("0")
    opened.use("walk")
    return opened


def chart(page, name):
    """Return a chart of the filter panel, which is opened."""
    if "folded" in page.page.get_attribute("#filter", "class"):
        page.page.click("#filter .fold")
    return page.page.get_by_role("group", name=f"Filter by {name}", exact=True)


def frequent(values):
    return {name: int(count) for name, count in values.value_counts().items()}


def counts_of(place):
    return {
        line.locator(".word").inner_text(): int(line.locator(".count").inner_text())
        for line in place.locator(".tick").all()
    }


def all_around(page):
    """Return the corners of the map."""
    box = page.page.locator("#marks").bounding_box()
    left, top = box["x"] + 3, box["y"] + 3
    right, bottom = box["x"] + box["width"] - 3, box["y"] + box["height"] - 3
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def test_search_finds_names_labels_and_text(page, frame):
    species = frame[1]
    page.page.fill("#search", "LARCH")
    assert page.state()["found"] == np.flatnonzero(species == "larch").tolist()
    assert page.page.inner_text("#found-count") == "30 found"
    page.page.fill("#search", "felled")
    assert page.state()["found"] == list(range(0, N, 10))
    page.page.fill("#search", "row 7")  # the row of that name first
    assert page.state()["found"] == [7, *range(70, 80)]
    page.page.fill("#search", "no such text")
    assert page.state()["found"] == []
    assert page.page.inner_text("#found-count") == "0 found"
    page.page.press("#search", "Enter")
    assert page.page.locator("#found-next").is_disabled()


def test_enter_walks_through_the_matches(page, latents):
    page.page.focus("#marks")
    page.page.keyboard.press("/")
    page.page.keyboard.type("felled")
    for at, row in enumerate([0, 10, 20]):
        page.page.keyboard.press("Enter")
        state = page.state()
        assert state["foundAt"] == at
        assert page.page.inner_text("#found-count") == f"{at + 1} of 9"
        np.testing.assert_allclose(state["here"], latents[row], atol=1e-4)
    page.page.keyboard.press("Shift+Enter")
    assert page.state()["foundAt"] == 1
    page.page.click("#found-before")
    page.page.click("#found-before")
    assert page.state()["foundAt"] == 8
    page.page.click("#found-select")
    assert page.state()["selected"] == list(range(0, N, 10))
    page.page.focus("#search")
    page.page.keyboard.press("Escape")
    assert page.state()["found"] == []


def test_matches_out_of_view_come_into_view(page):
    for _ in range(6):
        page.page.click("#zoom-in")
    page.page.fill("#search", "row 83")
    page.page.press("#search", "Enter")
    x, y = page.place_of(83)
    middle = page.middle()
    box = page.page.locator("#marks").bounding_box()
    assert abs(x - middle[0]) < box["width"] / 2
    assert abs(y - middle[1]) < box["height"] / 2


def test_matches_are_marked_on_the_map(page):
    ink = (
        "() => { const c = document.querySelector('#marks'); const p = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data; let n = 0;"
        " for (let i = 3; i < p.length; i += 4) n += p[i] > 0; return n; }"
    )
    page.page.fill("#search", "felled")
    page.state()
    # Nine rings; without them there is only that of the decoded place.
    assert page.page.evaluate(ink) > 6 * 150


def test_a_lasso_selects_what_is_inside(page):
    places = np.array(
        [page.page.evaluate("(r) => window.twofold.screenOf(r)", r) for r in range(N)]
    )
    box = page.page.locator("#marks").bounding_box()
    page.page.focus("#marks")
    page.page.keyboard.press("l")
    assert page.state()["tool"] == "lasso"
    # A triangle: inside are the places to the same side of all its edges.
    corners = np.array([[150.0, 120.0], [560.0, 200.0], [300.0, 520.0]])
    page.drag(*(corner + np.array([box["x"], box["y"]]) for corner in [*corners, corners[0]]))
    along = np.roll(corners, -1, axis=0) - corners
    away = places[:, None] - corners
    inside = (along[:, 0] * away[..., 1] > along[:, 1] * away[..., 0]).all(axis=1)
    assert 0 < inside.sum() < N
    assert page.state()["selected"] == np.flatnonzero(inside).tolist()


def test_lasso_box_and_path_by_keyboard(page):
    keys = page.page.keyboard
    page.page.focus("#marks")
    for tool in "lbp":
        keys.press("Escape")
        keys.press(tool)
        keys.press("c")
        for _ in range(5):
            keys.press("Shift+ArrowRight")
        if tool == "l":
            keys.press("c")
        for _ in range(5):
            keys.press("Shift+ArrowDown")
        keys.press("c")
        if tool != "b":
            keys.press("Enter")
        state = page.state()
        if tool == "p":
            assert state["path"]["corners"] == 2
        else:
            assert 0 < len(state["selected"]) < N
        for _ in range(5):
            keys.press("Shift+ArrowLeft")
            keys.press("Shift+ArrowUp")


def test_ticks_filter_the_map_and_the_other_charts(page, frame):
    rows, species = frame
    ticks = chart(page, "species")
    assert counts_of(ticks) == frequent(species)
    ticks.get_by_text("pine").click()
    state = page.state()
    assert state["left"] == np.flatnonzero(species == "pine").tolist()
    assert page.page.inner_text("#filter-count") == "30 of 90 rows"
    # Its own chart shows what the other filters leave: a second word can be ticked.
    assert counts_of(ticks) == frequent(species)
    ages = chart(page, "age")
    ages.get_by_label("age, from").fill("4")
    ages.get_by_label("age, from").press("Enter")
    left = (rows["age"] >= 4) & (species == "pine")
    assert page.state()["left"] == np.flatnonzero(left).tolist()
    assert counts_of(ticks) == frequent(species[rows["age"] >= 4])
    page.use("box")
    corners = all_around(page)
    page.drag(corners[0], corners[2])
    assert page.state()["selected"] == np.flatnonzero(left).tolist()
    page.page.fill("#search", "felled")  # only rows that are left
    assert set(page.state()["found"]) == set(np.flatnonzero(left)) & set(range(0, N, 10))
    page.page.click("#filter-clear")
    assert page.state()["left"] is None
    assert page.state()["found"] == list(range(0, N, 10))


def test_ranges_by_pointer_and_keyboard(page, frame):
    heights = frame[0]["height"]
    place = chart(page, "height")
    plot = place.locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    y = box["y"] + box["height"] / 2
    page.drag((box["x"] + box["width"] / 4, y), (box["x"] + box["width"] / 2, y))
    low, high = (heights.min() + share * (heights.max() - heights.min()) for share in (0.25, 0.5))
    left = page.state()["left"]
    assert abs(len(left) - ((heights >= low) & (heights <= high)).sum()) <= 2
    place.get_by_role("button", name="Clear the filter of height").click()
    assert page.state()["left"] is None
    smallest = place.get_by_role("slider", name="Smallest height")
    assert smallest.get_attribute("aria-valuetext") == "open"
    for _ in range(12):
        smallest.press("ArrowRight")
    middle = (heights.min() + heights.max()) / 2
    assert page.state()["left"] == np.flatnonzero(heights >= middle).tolist()
    assert smallest.get_attribute("aria-valuetext") != "open"
    smallest.press("Home")
    assert page.state()["left"] is None
    largest = place.get_by_role("slider", name="Largest height")
    largest.press("PageDown")
    assert len(page.state()["left"]) < N
    page.page.click("#filter-select")
    state = page.state()
    assert state["selected"] == state["left"]


def test_wrong_numbers_change_nothing(page):
    field = chart(page, "noise").get_by_label("noise, from")
    field.fill("a lot")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    assert page.state()["left"] is None
    field.fill("")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "false"


def test_charts_of_further_columns_by_name(page):
    assert chart(page, "species").count() == 1
    charts = page.page.locator(".chart")
    before = charts.count()
    # All columns have one but that of texts, which differ from row to row.
    offered = page.page.locator("#filter-names option")
    assert [one.get_attribute("value") for one in offered.all()] == ["note"]
    page.page.fill("#filter-add", "no such column")
    page.page.press("#filter-add", "Enter")
    assert charts.count() == before


def test_a_selection_is_compared_with_the_rest(page, frame):
    rows, species = frame
    page.page.fill("#search", "larch")
    page.page.click("#found-select")
    state = page.state()
    one, other = rows[species == "larch"], rows[species != "larch"]
    pooled = np.sqrt((one.var(ddof=1) * 29 + other.var(ddof=1) * 59) / 88)
    expected = (one.mean() - other.mean()) / pooled
    found = {each["name"]: each for each in state["compared"]}
    for name in rows:
        assert found[name]["difference"] == pytest.approx(expected[name], rel=1e-4)
        assert float(found[name]["texts"][0]) == pytest.approx(one[name].mean(), rel=2e-3)
    assert (found["species"]["level"], found["species"]["texts"]) == ("larch", ["100 %", "0 %"])
    sizes = [abs(each["difference"] or np.inf) for each in state["compared"]]
    assert sizes == sorted(sizes, reverse=True)
    names = page.page.locator("#comparison tbody th").all_inner_texts()
    assert names[:2] == ["species = larch", "height"]
    # Above the pins, and in view.
    panel = page.page.locator("#selected").bounding_box()
    assert panel["y"] < 400
    head = page.page.inner_text("#count")
    assert head == "30 rows selected"
    page.page.locator("#rows th button").nth(2).click()
    assert "row 62" in page.page.inner_text("#place")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    assert "row 63" in page.page.inner_text("#place")


def test_columns_have_the_names_of_series_and_rows_count_from_0(page):
    table_of = "window.twofold.csv()"
    page.page.fill("#search", "row 0")
    page.page.click("#found-select")
    table = list(csv.reader(io.StringIO(page.page.evaluate(table_of))))
    assert table[0][:3] == ["row", "species", "note"]
    assert table[1][:3] == ["row 0", "oak", "note 0: felled"]


def test_panels_fold(page):
    button = page.page.locator("#here .fold")
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "false"
    assert not page.page.is_visible("#decoded")
    button.press("Enter")
    assert page.page.is_visible("#decoded")


def test_a_link_restores_the_page(browser, page, written):
    page.page.select_option("#color", label="species")
    page.page.click("#zoom-in")
    page.page.fill("#search", "felled")
    page.page.click("#found-select")
    chart(page, "age").get_by_label("age, from").fill("2.5")
    page.page.keyboard.press("Tab")
    chart(page, "species").get_by_text("oak").click()
    page.use("walk")
    page.pin(np.flatnonzero(np.isin(np.arange(N), page.state()["left"]))[0].item())
    page.use("path")
    x, y = page.middle()
    page.drag((x - 60, y), (x, y + 40), (x + 60, y))
    page.page.focus("#marks")
    page.page.keyboard.press("Space")
    wanted = page.state()
    page.page.click("#link")
    fragment = page.page.evaluate("location.hash")
    assert len(fragment) < 400
    other = Opened(browser, written)
    other.page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
    other.state()
    found = other.state()
    for part in ("left", "selected"):
        assert found[part] == wanted[part]
    assert [pin["row"] for pin in found["pins"]] == [pin["row"] for pin in wanted["pins"]]
    assert found["path"]["corners"] == wanted["path"]["corners"]
    assert not found["path"]["isPlaying"]
    for part in ("u", "v", "scale"):
        assert found["view"][part] == pytest.approx(wanted["view"][part], rel=1e-6)
    again = dict(part.split("=") for part in found["fragment"][1:].split("&"))
    once = dict(part.split("=") for part in fragment[1:].split("&"))
    for part in set(once) - {"w"}:
        assert again[part] == once[part]
    other.page.close()
    page.page.evaluate("history.replaceState(null, '', location.pathname)")


def test_a_link_is_read_at_the_start(browser, written):
    opened = Opened(browser, written)
    opened.page.goto(f"{opened.url}#t=1.{N}&c=f1&s=BQI&p=4.8")
    opened.page.reload()
    opened.page.evaluate("window.twofold.ready")
    opened.state()
    state = opened.state()
    assert state["selected"] == [5, 6]
    assert [pin["row"] for pin in state["pins"]] == [4, 8]
    assert "width" in opened.page.inner_text("#legend")
    assert opened.said == []
    opened.page.close()


HOSTILE = [
    "#",
    "#<img src=x onerror=alert(1)>",
    "#t=1.90&c=<b>&v=1~2&s=%00&p=-1&f=0!////&l=AAAA&w=!&h=x",
    "#t=1.90&c=99&v=NaN~Infinity~1&s=_____w&p=90.1e99&f=77:1~2&l=&w=A&h=AAAAAA",
    "#t=1.90&c=f99&v=1e999~0~1&s=gICAgICAgICAAQ&p=0.0.0.0.0.0.0.0&f=0:1~2;2!A;f0:1~2~3",
    "#t=1.90&s=AP____8H&v=0~0~-5&f=__proto__:1;f0!AQ&p=constructor&l=_____w8",
    "#t=1.91&s=AAE&p=1&c=2",
    "#t=2.90&s=AAE",
    "#t=1.90&s=." + "f" * 4000,
    "#t=1.90&s=" + "gICA" * 100_000,
    "#" + "t=1.90&" * 20_000,
    "#t=1.90&s=%E0%A4%A&p=%&c=%ff",
    "#t=1.90&f=1!_____w;0:1~2~3;2:~x",
    "#constructor=1&__proto__=2&t=1.90&toString=3",
]


def test_hostile_fragments_do_nothing(page):
    page.state()
    before = page.page.evaluate("window.twofold.state()")
    for fragment in HOSTILE:
        page.page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
        after = page.state()
        for part in ("selected", "pins", "left", "view", "path", "fragment", "here"):
            assert after[part] == before[part], fragment
    page.page.evaluate("history.replaceState(null, '', location.pathname)")


def test_hostile_names_and_extreme_columns(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1e-300, 1.0, 1e200]
    nasty = ["</script><img src=x onerror=window.hurt=1>", "\u202e\u05d0", "n" * 5_000, "__proto__"]
    columns = {
        nasty[0]: np.array(nasty, dtype=object)[np.arange(60) % 4],
        nasty[2]: np.where(np.arange(60) % 2, np.nan, 1e9 + rng.normal(size=60)),
        "__proto__": np.full(60, np.nan),
        "constant": np.full(60, 0.1),
        "words": [f"{row} word" for row in range(60)],
    }
    model = DRUR(2, n_centers=10, init="pca", scale="standard", random_state=0).fit(X)
    names = [f"<b>{row}</b>" for row in range(60)]
    path = tmp_path / "p.html"
    explorer.write(model, X, path=path, columns=columns, row_names=names, feature_names=nasty[:3])
    opened = Opened(browser, path)
    opened.page.click("#filter-open")
    assert opened.page.locator(".chart").count() == 10
    for slider in opened.page.get_by_role("slider", name="Smallest").all():
        slider.press("PageUp")
    opened.page.locator(".ticks input").nth(2).check()
    opened.state()
    opened.page.click("#filter-clear")
    assert opened.state()["left"] is None
    opened.page.get_by_role("button", name="48 more").click()
    assert opened.page.locator(".ticks").last.locator("input").count() == 60
    opened.page.fill("#search", "<b>1")
    assert len(opened.state()["found"]) == 11
    opened.page.click("#found-select")
    chosen = np.array([name.startswith("<b>1") for name in names])
    one, other = X[chosen] / [1e-300, 1.0, 1e200], X[~chosen] / [1e-300, 1.0, 1e200]
    pooled = (one.var(axis=0, ddof=1) * 10 + other.var(axis=0, ddof=1) * 48) / 58
    expected = (one.mean(axis=0) - other.mean(axis=0)) / np.sqrt(pooled)
    compared = opened.state()["compared"]
    for name, difference in zip(nasty, expected, strict=False):
        same = [each["difference"] for each in compared if each["name"] == name]
        assert any(found == pytest.approx(difference, rel=1e-3) for found in same)
    assert "<b>1</b>" in opened.page.inner_text("#rows")
    assert opened.page.evaluate(
        "window.hurt === undefined && !document.querySelector('b, aside img')"
    )
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    aside = "document.querySelector('aside')"
    assert opened.page.evaluate(f"{aside}.scrollWidth <= {aside}.clientWidth")
    opened.close()


@pytest.mark.parametrize("q", [1, 3])
def test_lines_and_clouds(browser, tmp_path, q):
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = DRUR(q, n_centers=10, alpha=1e-3, init="pca", random_state=0).fit(X)
    opened = Opened(browser, explorer.write(model, X, path=tmp_path / "p.html"))
    keys = opened.page.keyboard
    opened.page.fill("#search", "row 7")
    opened.page.press("#search", "Enter")
    np.testing.assert_allclose(opened.state()["here"], model.transform(X[[7]])[0], atol=1e-4)
    if q == 3:
        opened.use("turn")
        x, y = opened.middle()
        opened.drag((x, y), (x + 50, y + 20))
    opened.page.focus("#marks")
    keys.press("b")
    keys.press("c")
    for _ in range(4):
        keys.press("Shift+ArrowRight")
        keys.press("Shift+ArrowDown")
    keys.press("c")
    wanted = opened.state()
    assert 0 < len(wanted["selected"]) < 40
    opened.page.evaluate("document.querySelector('#forget').click()")
    opened.page.click("#reset")
    if q == 3:
        opened.use("turn")
        opened.drag(opened.middle(), (x, y + 90))
    opened.page.evaluate("(fragment) => { location.hash = fragment; }", wanted["fragment"])
    found = opened.state()
    assert found["selected"] == wanted["selected"]
    assert found["fragment"] == wanted["fragment"]
    opened.close()


def test_a_german_browser_has_decimal_commas(browser, written):
    opened = Opened(browser, written, locale="de-DE")
    opened.page.mouse.move(*opened.place_of(4))
    assert "," in opened.page.inner_text("#place").split(")")[0].replace(", ", "")
    field = chart(opened, "age").get_by_label("age, from")
    for typed, least in (("2,5", 2.5), ("4.5", 4.5)):
        field.fill(typed)
        field.press("Enter")
        opened.state()
        assert field.input_value() == str(least).replace(".", ",")
    opened.page.click("#filter-select")
    opened.state()
    table = list(csv.DictReader(io.StringIO(opened.page.evaluate("window.twofold.csv()"))))
    assert len(table) > 0
    assert all(float(line["age"]) >= 4.5 and "." in line["height"] for line in table)
    opened.close()
