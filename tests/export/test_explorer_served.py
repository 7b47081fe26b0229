"""``twofold explore --serve``: what the server refuses and answers, and the page in a browser."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

import numpy as np
import pandas as pd
import pytest
from browser import chromium
from cli_runs import fails
from sklearn.datasets import load_iris

from twofold import UKR, TableMap, TwoWay
from twofold.cli.inputs import InputTable, Model
from twofold.cli.serving import page_server
from twofold.cli.tables.columns import Columns
from twofold.cli.tables.reading import Reading
from twofold.export.explorer import _answers, _serve
from twofold.export.explorer._write import made_page
from twofold.export.programs.translation import NoClosedForm

COLUMNS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def frame():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame["kind"] = np.array(["setosa", "versicolor", "virginica"])[y]
    frame.loc[3, "b"] = np.nan
    return frame


@pytest.fixture(scope="module")
def model(frame):
    return TableMap(TwoWay("pca", up="nw", down="nw")).fit(frame)


@pytest.fixture(scope="module")
def server(frame, model):
    table = InputTable("iris.csv", Reading(), Columns())
    with page_server(Model(model), table, frame, {"title": "Irises"}, 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def call(server, method="POST", kind="decode", body=None, headers=(), token=None):
    """Send a request; return its status, its headers and the text of its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    path = f"/{server.token if token is None else token}/{kind}"
    body = json.dumps(body) if isinstance(body, dict) else body
    headers = {"Content-Type": "application/json"} | dict(headers)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def ask(server, kind, **question):
    status, _, text = call(server, kind=kind, body=question)
    return status, json.loads(text)


QUESTION = {"latents": [[0.0, 0.0]]}


def test_the_page_is_there_and_small(server):
    status, headers, text = call(server, "GET", kind="")
    assert status == 200
    assert "Irises" in text
    assert "default-src 'none'" in text
    assert "connect-src 'self'" in text
    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    content = json.loads(text.split('id="content">')[1].split("</script>")[0])
    assert content["program"] is None
    assert "data" not in content


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_hosts_are_refused(server, method, host):
    headers = {"Host": host.format(port=server.server_port)}
    kind = "" if method == "GET" else "decode"
    status, _, text = call(server, method, kind, QUESTION, headers)
    assert status == 421
    assert server.token not in text


@pytest.mark.parametrize("token", ["", "x", "../", "0" * 32])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_tokens_are_refused(server, method, token):
    assert call(server, method, "decode", QUESTION, token=token)[0] == 404
    assert call(server, method, "", QUESTION, token=server.token[:-1])[0] == 404


def test_tokens_are_random_and_long(server):
    assert len(server.token) >= 32
    other = _serve.PageServer("", server.answers)
    other.server_close()
    assert other.token != server.token
    assert server.server_address[0] == "127.0.0.1"
    assert urllib.parse.urlsplit(server.address).hostname == "127.0.0.1"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Length": str(_serve.LARGEST_BODY + 1)}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "-1"}, 411),
        ({"Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_requests_that_pages_cannot_send_are_refused(server, headers, status):
    assert call(server, body=QUESTION, headers=headers)[0] == status


@pytest.mark.parametrize(
    ("kind", "question", "message"),
    [
        ("decode", b"{", "not JSON"),
        ("decode", b"[" * 100_000, "not JSON"),
        ("decode", b"[]", "JSON object"),
        ("decode", {}, "latents must be"),
        ("decode", {"latents": [[1.0]]}, "2 finite numbers"),
        ("decode", {"latents": [[1.0, float("nan")]]}, "2 finite numbers"),
        ("decode", {"latents": [[1.0, 10**400]]}, "2 finite numbers"),
        ("decode", {"latents": [[1.0, "2"]]}, "2 finite numbers"),
        ("rows", {"rows": [150]}, "from 0 to 149"),
        ("rows", {"rows": [-1]}, "from 0 to 149"),
        ("rows", {"rows": [True]}, "row numbers"),
        ("column", {"column": 5}, "from 0 to 4"),
        ("column", {"column": None}, "from 0 to 4"),
        ("encode", {"csv": " "}, "no rows"),
        ("encode", {"csv": 3}, "no rows"),
        ("encode", {"csv": "a,b\n1,2\n"}, "c"),
        ("encode", {"csv": "a,b,c,d,kind\n1,2,3,x,setosa\n"}, "x"),
        ("encode", {"csv": "\0"}, "UTF-8"),
    ],
)
def test_wrong_questions_have_one_line_as_an_answer(server, kind, question, message):
    status, _, text = call(server, kind=kind, body=question)
    assert status == 400
    error = json.loads(text)["error"]
    assert message in error
    assert "Traceback" not in error


def test_large_questions_are_refused(server, monkeypatch, frame):
    monkeypatch.setattr(_answers, "MOST_CELLS", 70)
    monkeypatch.setattr(_answers, "MOST_NEW_ROWS", 3)
    assert "at most 10 at once" in ask(server, "decode", latents=[[0.0, 0.0]] * 11)[1]["error"]
    assert "at most 14 at once" in ask(server, "rows", rows=[0] * 15)[1]["error"]
    answer = ask(server, "encode", csv=frame.head(4).to_csv(index=False))[1]
    assert "4 rows are too many" in answer["error"]


def test_unknown_questions_and_methods(server):
    assert call(server, kind="shutdown", body=QUESTION)[0] == 404
    assert call(server, kind="decode?x=1", body=QUESTION)[0] == 404
    assert call(server, "GET", "decode")[0] == 404
    assert call(server, "PUT", "decode", QUESTION)[0] == 501


def test_the_model_decodes_and_shows_rows(server, model, frame):
    Z = model.embedding_[:5]
    status, answer = ask(server, "decode", latents=Z.tolist())
    assert status == 200
    decoded = model.inverse_transform(Z)
    np.testing.assert_allclose(np.array(answer["rows"])[:, :4], decoded[COLUMNS], atol=1e-12)
    values = ask(server, "rows", rows=[3, 0])[1]["values"]
    assert values[0][1] is None
    np.testing.assert_allclose(values[1][:4], frame.loc[0, COLUMNS].astype(float))
    column = ask(server, "column", column=1)[1]["values"]
    assert column[3] is None
    assert len(column) == 150


def test_the_model_maps_new_rows(server, model, frame):
    text = frame.head(4).to_csv(index=False)
    status, answer = ask(server, "encode", csv=text)
    assert status == 200
    np.testing.assert_allclose(answer["latents"], model.transform(frame.head(4)), atol=1e-9)
    assert answer["names"] == [f"new row {row}" for row in range(1, 5)]
    assert answer["values"][3][1] is None
    assert len(answer["errors"]) == len(answer["log_densities"]) == 4
    # An unknown level is a gap, with a note.
    notes = ask(server, "encode", csv=text.replace("setosa", "tulip"))[1]["notes"]
    assert "tulip" in notes[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_without_a_closed_form_are_served():
    X = load_iris().data[:60]
    model = UKR(init="pca", metric="rbf", max_iter=5, homotopy=False, random_state=0).fit(X)
    with pytest.raises(NoClosedForm):
        made_page(model, X)
    made = made_page(model, X, host="server")
    answers = _answers.Answers(made, lambda text: (X[:2], ["a", "b"]))
    latents = model.embedding_[:3].tolist()
    rows = answers("decode", {"latents": latents})["rows"]
    np.testing.assert_allclose(rows, model.inverse_transform(latents), rtol=1e-9)
    mapped = answers("encode", {"csv": "x"})
    np.testing.assert_allclose(mapped["latents"], model.transform(X[:2]), rtol=1e-9)


def test_questions_at_once(server, model):
    Z = model.embedding_[:8].tolist()
    expected = ask(server, "decode", latents=Z)
    found = [None] * 8

    def one(number):
        found[number] = ask(server, "decode", latents=Z)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


# --- the command


def test_options_that_contradict_each_other(tmp_path, frame):
    data = tmp_path / "iris.csv"
    frame.to_csv(data, index=False)
    said = fails("explore", data, "--serve", "-o", tmp_path / "p.html", code=2)
    assert "--serve writes no page" in said
    assert "--port is for --serve" in fails("explore", data, "--port", "8000", code=2)


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_the_command_serves_until_ctrl_c(tmp_path, frame, model):
    model.save(tmp_path / "iris.twofold")
    frame.to_csv(tmp_path / "iris.csv", index=False)
    command = [
        sys.executable,
        "-m",
        "twofold",
        "explore",
        "iris.twofold",
        "iris.csv",
        "--serve",
        "--json",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        address = urllib.parse.urlsplit(json.loads(line)["address"])
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
        connection.request("GET", address.path)
        answer = connection.getresponse()
        assert answer.status == 200
        assert b"iris" in answer.read()
        connection.close()
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert rest == ""
    assert said.strip().endswith("interrupted")
    assert address.path.strip("/") not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["iris.csv", "iris.twofold"]


# --- the browser


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser, server):
    page = browser.new_page(viewport={"width": 1100, "height": 720})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address)
    assert page.evaluate("window.twofold.ready") is True
    yield page
    page.close()
    refused = "the server responded with a status of 400"  # Chromium's word for each of these
    assert [text for text in said if refused not in text] == []
    assert {url for url in asked if not url.startswith("blob:")} <= {
        server.address + kind for kind in ("", "decode", "encode", "rows", "column")
    }


def until(condition):
    for _ in range(100):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened")


def place_of(page, row):
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    x, y = page.evaluate("(row) => window.twofold.screenOf(row)", row)
    box = page.locator("#marks").bounding_box()
    return box["x"] + x, box["y"] + y


def test_hover_and_pins_show_what_the_server_decodes(page, model, frame):
    page.mouse.move(*place_of(page, 3))
    until(lambda: "missing" in page.inner_text("#decoded"))
    here = page.evaluate("window.twofold.state()")["here"]
    decoded = model.inverse_transform([here])
    first = page.inner_text("#decoded tbody tr:first-child td")
    assert float(first) == pytest.approx(float(decoded["a"].iloc[0]), rel=1e-3)
    page.mouse.click(*place_of(page, 3))
    until(lambda: "4.6" in page.inner_text(".card"))
    page.keyboard.press("Escape")


def test_color_by_a_feature(page, frame):
    page.select_option("#color", label="b")
    until(lambda: page.locator("#legend .ramp").count() == 1)
    high = frame["b"].dropna().sort_values().iloc[-2]  # the ramp ends inside
    until(lambda: str(high) in page.inner_text("#legend"))


def test_selected_rows_are_downloaded_with_their_data(page, tmp_path, frame):
    page.click('[data-tool="box"]')
    x, y = place_of(page, 3)
    page.mouse.move(x - 30, y - 30)
    page.mouse.down()
    page.mouse.move(x + 30, y + 30, steps=3)
    page.mouse.up()
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(tmp_path / "rows.csv")
    table = pd.read_csv(tmp_path / "rows.csv")
    rows = table["row"].str.removeprefix("row ").astype(int)
    assert 3 in rows.tolist()
    np.testing.assert_allclose(table["a"], frame["a"].iloc[rows])
    assert table["kind"].tolist() == frame["kind"].iloc[rows].tolist()


def test_new_rows_are_mapped_by_keyboard(page, model, frame):
    area = page.get_by_role("textbox", name="New rows as CSV")
    area.fill(frame.head(2).to_csv(index=False))
    area.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("9,9,9,9,<b>w</b>")  # letters are no shortcuts there
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("3 rows mapped by the model").wait_for()
    assert "<b>w</b>" in page.get_by_role("status").inner_text()
    assert page.evaluate("window.twofold.state()")["tool"] == "walk"
    lines = page.locator(".new-rows button")
    assert lines.count() == 3
    assert "further than" in lines.first.inner_text()
    lines.nth(1).focus()
    page.keyboard.press("Enter")
    here = page.evaluate("window.twofold.state()")["here"]
    np.testing.assert_allclose(here, model.transform(frame.iloc[[1]])[0], atol=1e-9)
    page.click("#forget-rows")
    assert page.locator(".new-rows").count() == 0
    area.fill("a,b\n1,2")
    page.click("#map-rows")
    page.get_by_role("status").get_by_text("new rows").wait_for()


def test_a_file_of_new_rows(page, frame, tmp_path):
    frame.head(3).to_csv(tmp_path / "new.csv", index=False, sep=";")
    page.set_input_files("#new input", tmp_path / "new.csv")
    page.get_by_role("status").get_by_text("3 rows mapped").wait_for()


def test_the_panel_works_by_touch_on_a_phone(browser, server, frame):
    phone = {"width": 390, "height": 844}
    page = browser.new_page(viewport=phone, has_touch=True, is_mobile=True)
    page.goto(server.address)
    assert page.evaluate("window.twofold.ready") is True
    page.fill("#new textarea", frame.head(2).to_csv(index=False))
    page.tap("#map-rows")
    page.tap(".new-rows button >> nth=1")
    assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]
    lines = page.locator(".new-rows")
    assert lines.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    page.close()
