"""The explorer in notebooks: traits on the side of Python, and messages in the browser."""

import re
import time
from html import unescape

import numpy as np
import pandas as pd
import polars as pl
import pytest
from browser import Opened, chromium
from fake_widget import FakeNotebook, traits_of
from sklearn.datasets import load_iris

from twofold import DRUR, AutoTwoWay, TableMap, TwoWay
from twofold.export import explorer
from twofold.export.explorer import _widget
from twofold.export.explorer._write import made_page

SLOWEST = 0.2
"""Seconds between a selection in the browser and Python."""


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model(iris):
    return DRUR(2, n_centers=10, alpha=1e-3, init="pca", random_state=0).fit(iris[0])


@pytest.fixture
def widget(model, iris):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    return model.explore(*iris, title="Irises <b>&amp;</b>")


# --- Python's side


def test_every_model_explores(model, iris):
    X = iris[0]
    frame = pd.DataFrame(X, columns=list("abcd"))
    quick = TwoWay("pca", up="nw", down="nw")
    table = TableMap(quick).fit(frame)
    auto = AutoTwoWay(methods={"pca": quick}, random_state=0).fit(X)
    for fitted, rows in ((model, X), (table, frame), (auto, X)):
        assert type(fitted).__name__ in fitted.explore(rows).title or fitted is auto
    assert explorer.show(model, X, title="A").title == "A"


def test_selected_rows_are_of_the_type_that_was_given(model, iris, widget):
    X = iris[0]
    rows, data = widget.selection()
    assert rows.shape == (0,)
    assert data.shape == (0, 4)
    widget.selected = np.array([7, 3])
    rows, data = widget.selection()
    assert rows.tolist() == widget.selected == widget._rows == [3, 7]
    np.testing.assert_array_equal(data, X[[3, 7]])
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"i{row}" for row in range(150)])
    of_frame = explorer.show(model, frame.to_numpy(), table=frame)
    of_frame.selected = np.arange(150) % 50 == 0
    assert of_frame.selection().equals(frame.iloc[[0, 50, 100]])
    of_polars = explorer.show(model, X, table=pl.DataFrame(X, schema=list("abcd")))
    of_polars.selected = [5]
    assert of_polars.selection().rows() == [tuple(X[5])]


def test_the_page_sets_traits_that_can_be_observed(widget):
    seen = []
    widget.observe(
        lambda change: seen.append((change["name"], change["new"])), ["selected", "latent"]
    )
    widget.set_state({"_rows": [4, 9]})
    widget.set_state({"latent": [0.5, -1.0]})
    assert seen == [("selected", [4, 9]), ("latent", (0.5, -1.0))]
    assert widget.selected == [4, 9]


def test_what_the_page_says_is_not_sent_back(widget, monkeypatch):
    sent = []
    monkeypatch.setattr(widget, "_send", lambda message, buffers=None: sent.append(message))
    widget.set_state({"_rows": [4, 9]})
    widget.set_state({"latent": [0.5, -1.0], "tool": "box"})
    assert [one for one in sent if one["method"] == "update"] == []
    widget.selected = [1]
    assert [one["state"] for one in sent if one["method"] == "update"] == [{"_rows": [1]}]


def test_the_browser_gets_these_traits_and_no_others(widget):
    expected = traits_of(widget._given.made)
    assert {name: widget.get_state()[name] for name in expected} == expected
    beside = {"_esm", "_anywidget_id", "layout", "tabbable", "tooltip", "comm"}
    own = set(widget.keys) - {name for name in widget.keys if name.startswith(("_model", "_view"))}
    assert own - beside - {"_dom_classes"} == set(expected)


def test_rows_of_a_sample_keep_their_numbers(model, iris):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    widget = explorer.show(model, *iris, max_points=10)
    shown = widget._given.made.chosen.tolist()
    widget.set_state({"_rows": [0, 9]})
    assert widget.selected == [shown[0], shown[9]]
    hidden = next(row for row in range(150) if row not in shown)
    widget.selected = [hidden, shown[2]]
    assert widget._rows == [2]
    widget.set_state({"_rows": [2]})  # the page confirms
    assert widget.selected == sorted([hidden, shown[2]])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("selected", [150], "from 150 to 150; the rows have numbers from 0 to 149"),
        ("selected", [-1], "from -1"),
        ("selected", [[1, 2]], "shape"),
        ("selected", [0.5], "float64"),
        ("latent", [1.0], "2 finite numbers"),
        ("latent", [1.0, np.nan], "2 finite numbers"),
        ("color", "speces", "'label', 'reconstruction error'"),
        ("tool", "hammer", "'walk', 'pan'"),
    ],
)
def test_wrong_values_are_errors(widget, name, value, message):
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=re.escape(message)):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


def test_names_of_columns(model, iris):
    X, y = iris
    table = pd.DataFrame({"kind": y.astype(str), "size": X[:, 0]})
    shown = explorer.show(model, X, labels="kind", table=table, columns=["size"])
    page = shown._page
    assert '"name":"kind"' in page
    assert '"name":"size"' in page
    with pytest.raises(ValueError, match="is not a column"):
        explorer.show(model, X, labels="knd", table=table)
    with pytest.raises(ValueError, match="give one of them"):
        explorer.show(model, X, y, labels=y)
    with pytest.raises(ValueError, match="table has 10 rows; X has 150"):
        explorer.show(model, X, table=table[:10])
    with pytest.raises(ValueError, match="height"):
        explorer.show(model, X, height=3)


def test_names_that_are_no_unicode(model, iris):
    X, y = iris
    broken = "a\udc80"
    shown = explorer.show(model, X, title=broken, columns={broken: y})
    shown._page.encode()
    assert shown.title == "a\\udc80"


# --- without anywidget


@pytest.fixture
def static(model, iris, monkeypatch):
    monkeypatch.setattr(_widget, "explorer_class", lambda: None)
    return model.explore(*iris, title='"Irises" <b>')


def test_without_anywidget_a_static_page(static):
    html = static._repr_html_()
    assert html.startswith('<iframe title="&quot;Irises&quot; &lt;b&gt;" sandbox="allow-scripts')
    page = unescape(html.split('srcdoc="', 1)[1].removesuffix('"></iframe>'))
    assert page == static._page
    assert "postMessage" not in page
    assert "twofold[widget]" in repr(static)
    with pytest.raises(RuntimeError, match="cannot tell its selection"):
        static.selection()


def test_only_pages_of_the_widget_have_a_bridge(model, iris, tmp_path):
    alone = explorer.write(model, *iris, path=tmp_path / "p.html").read_text(encoding="utf-8")
    for word in ("postMessage", '"message"', "fetch("):
        assert word not in alone
    inside = made_page(model, *iris, host="widget").text
    assert "postMessage" in inside
    assert "fetch(" not in inside
    policies = [re.search(r'Policy" content="(.*?)"', page).group(1) for page in (alone, inside)]
    shapes = [re.sub(r"sha256-[\w+/=]+", "", policy) for policy in policies]
    assert shapes[0] == shapes[1]
    assert "default-src 'none'" in shapes[0]


# --- the browser's side


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def made(model, iris):
    return made_page(model, *iris, host="widget", title="Irises <b>&amp;</b>")


@pytest.fixture
def notebook(browser, made):
    opened = FakeNotebook(browser, made)
    yield opened
    opened.close()


def corners(frame):
    box = frame.locator("#marks").bounding_box()
    return (box["x"] + 3, box["y"] + 3), (box["x"] + box["width"] - 3, box["y"] + box["height"] - 3)


@pytest.mark.timing
def test_a_selection_arrives_at_once(notebook):
    frame = notebook.view()
    frame.evaluate(
        "document.addEventListener('pointerup', () => (window.released = Date.now()), true)"
    )
    frame.click('[data-tool="box"]')
    notebook.until("() => model.traits.tool === 'box'")
    start, end = corners(frame)
    seconds = []
    for _ in range(3):
        notebook.from_python("_rows", [])
        notebook.page.mouse.move(*start)
        notebook.page.mouse.down()
        notebook.page.mouse.move(*end, steps=4)
        notebook.page.mouse.up()
        notebook.until("() => model.traits._rows.length === 150")
        saved = notebook.page.evaluate("saved.findLast((one) => one._rows?.length === 150).at")
        seconds.append((saved - frame.evaluate("window.released")) / 1000)
    print(f"from the browser to the model: {[f'{1000 * one:.0f} ms' for one in seconds]}")
    assert min(seconds) < SLOWEST
    assert notebook.trait("_rows") == list(range(150))


def test_python_sets_selection_latent_color_and_tool(notebook):
    frame = notebook.view()
    notebook.from_python("_rows", [2, 5])
    notebook.from_python("latent", [0.25, -0.5])
    notebook.from_python("color", "reconstruction error")
    notebook.from_python("tool", "path")
    notebook.until("() => true")
    for _ in range(50):
        state = frame.evaluate("window.twofold.state()")
        if state["tool"] == "path":
            break
    assert state["selected"] == [2, 5]
    assert state["here"] == [0.25, -0.5]
    assert frame.inner_text("#count") == "2 rows selected"
    assert frame.input_value("#color") == "1"
    notebook.from_python("color", "feature 2")
    frame.wait_for_selector("#legend:has-text('feature 2')")
    # A row that the page does not have is corrected.
    notebook.from_python("_rows", [3, 4711])
    notebook.until("() => JSON.stringify(model.traits._rows) === '[3]'")
    notebook.from_python("tool", "turn")  # hidden: the latents are a plane
    notebook.until("() => model.traits.tool === 'path'")


def test_the_pointer_moves_the_latent_at_a_steady_pace(notebook):
    frame = notebook.view()
    start, end = corners(frame)
    notebook.page.mouse.move(*start)
    notebook.page.wait_for_timeout(150)
    notebook.page.evaluate("saved.length = 0")
    before = time.perf_counter()
    notebook.page.mouse.move(*end, steps=60)
    notebook.page.wait_for_timeout(200)
    duration = time.perf_counter() - before
    saves = notebook.page.evaluate("saved.filter((one) => one.latent).length")
    assert 1 <= saves <= 20 * duration + 2
    here = frame.evaluate("window.twofold.state()")["here"]
    assert notebook.trait("latent") == here


def test_two_views_show_the_same_and_come_back(notebook):
    first = notebook.view()
    second = notebook.view()
    notebook.from_python("_rows", [1, 2, 3])
    first.wait_for_selector("#count:has-text('3 rows')")
    second.wait_for_selector("#count:has-text('3 rows')")
    second.click("#forget")
    first.wait_for_selector("#selected", state="hidden")
    assert notebook.trait("_rows") == []
    notebook.from_python("_rows", [8])
    # A frame that is moved is loaded again.
    notebook.page.evaluate("document.body.prepend(document.querySelector('iframe').parentNode)")
    again = notebook.page.locator("iframe").first.element_handle().content_frame()
    again.wait_for_selector("#count:has-text('1 row')")
    listeners = notebook.page.evaluate("model.count()")
    notebook.page.evaluate("views.forEach((end) => end())")
    assert listeners > 0
    assert notebook.page.evaluate("model.count()") == 0


def test_the_static_page_works_in_its_frame(browser, static):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.set_content(static._repr_html_())
    frame = page.locator("iframe").element_handle().content_frame()
    frame.wait_for_selector("#marks")
    assert frame.evaluate("window.twofold.ready") is True
    assert frame.inner_text("#title") == '"Irises" <b>'
    page.close()
    assert said == []


def test_keys_select_nothing_but_work(notebook):
    frame = notebook.view()
    frame.focus("#marks")
    before = notebook.trait("latent")
    notebook.page.keyboard.press("ArrowRight")
    notebook.until(f"() => model.traits.latent[0] > {before[0]}")
    notebook.page.keyboard.press("b")
    notebook.until("() => model.traits.tool === 'box'")
    assert notebook.page.locator("iframe").get_attribute("title") == "Irises <b>&amp;</b>"


@pytest.mark.parametrize("q", [1, 3, 4])
def test_latents_of_other_dimensions(browser, iris, q):
    model = TwoWay("pca", n_components=q, up="nw", down="nw").fit(iris[0])
    notebook = FakeNotebook(browser, made_page(model, *iris, host="widget"))
    frame = notebook.view()
    latent = [0.25 * number for number in range(1, q + 1)]
    notebook.from_python("latent", latent)
    frame.wait_for_selector(f"#place:has-text('({', '.join(f'{one:g}' for one in latent)})')")
    assert frame.evaluate("window.twofold.state()")["here"] == latent
    notebook.close()


def test_rows_can_be_downloaded_from_the_frame(notebook, tmp_path):
    frame = notebook.view()
    notebook.from_python("_rows", [2, 5])
    frame.wait_for_selector("#count:has-text('2 rows')")
    with notebook.page.expect_download() as download:
        frame.click("#download")
    download.value.save_as(tmp_path / "rows.csv")
    assert pd.read_csv(tmp_path / "rows.csv")["row"].tolist() == ["row 2", "row 5"]


def test_the_theme_is_that_of_the_notebook(browser, made):
    themes = {"#eee": "dark", "#111": "light", "color(srgb 0.9 0.9 0.9 / 0.8)": "dark"}
    for color, theme in themes.items():
        opened = FakeNotebook(browser, made, style=f"color: {color}")
        frame = opened.view()
        frame.wait_for_selector(f'html[data-theme="{theme}"]', state="attached")
        if theme == "light":  # and goes with it
            opened.page.evaluate("document.body.style.color = '#eee'")
            frame.wait_for_selector('html[data-theme="dark"]', state="attached")
        opened.close()


def test_other_frames_cannot_talk_to_the_page(notebook):
    frame = notebook.view()
    notebook.page.evaluate(
        "document.querySelector('iframe').contentWindow.postMessage("
        "{ twofold: 'connect', rows: [1] }, '*', [new MessageChannel().port2])"
    )
    notebook.page.evaluate(
        """() => {
          const other = document.body.appendChild(document.createElement("iframe"));
          other.srcdoc = "<script>parent.postMessage({ twofold: 'ready' }, '*');"
            + "parent.frames[0].postMessage({ twofold: 'connect', rows: [1] }, '*')</" + "script>";
        }"""
    )
    notebook.page.wait_for_timeout(200)
    assert frame.evaluate("window.twofold.state()")["selected"] == []


def test_a_page_opened_as_a_file_ignores_messages(browser, model, iris, tmp_path):
    opened = Opened(browser, explorer.write(model, *iris, path=tmp_path / "p.html"))
    opened.page.evaluate(
        "window.postMessage({ twofold: 'connect', rows: [1], tool: 'box' }, '*', "
        "[new MessageChannel().port2])"
    )
    opened.page.wait_for_timeout(100)
    state = opened.state()
    assert state["selected"] == []
    assert state["tool"] == "walk"
    opened.close()
