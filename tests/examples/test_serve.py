"""The example of a service: answers of the model, limits, and requests that are no questions."""

import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from twofold import UKR
from twofold.datasets import make_s_curve

FOLDER = Path(__file__).parents[2] / "examples" / "serve"


def module(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def X():
    return make_s_curve(120, random_state=0)[0]


@pytest.fixture(scope="module")
def model(X):
    return UKR(init="isomap", random_state=0).fit(X)


@pytest.fixture(scope="module")
def example():
    return module("server")


@pytest.fixture(scope="module")
def address(example, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.twofold"
    model.save(path)
    with example.make_server(path, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address
        server.shutdown()
        thread.join()


def ask(address, path, body=None, method="POST", **headers):
    connection = http.client.HTTPConnection(*address, timeout=20)
    try:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"}
        connection.request(method, path, content, kind | headers)
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_answers_are_those_of_the_model(address, model, X):
    status, about = ask(address, "/", method="GET")
    assert status == 200
    assert about == {"model": "UKR", "columns": 3, "latents": 2, "names": None}
    rows = X[:5]
    status, found = ask(address, "/encode", {"rows": rows.tolist()})
    assert status == 200
    np.testing.assert_array_equal(found["latents"], model.transform(rows))
    status, again = ask(address, "/decode", found)
    assert status == 200
    np.testing.assert_array_equal(again["rows"], model.reconstruct(rows))
    status, judged = ask(address, "/score", {"rows": rows.tolist()})
    assert status == 200
    assert judged["score"] == model.score(rows)
    np.testing.assert_array_equal(judged["errors"], model.reconstruction_error(rows))


def test_missing_cells(address, model, X):
    row = X[0].tolist()
    row[1] = None
    status, found = ask(address, "/encode", {"rows": [row]})
    assert status == 200
    gappy = np.array([[row[0], np.nan, row[2]]])
    np.testing.assert_array_equal(found["latents"], model.transform(gappy))


def test_one_connection_many_questions(address):
    connection = http.client.HTTPConnection(*address, timeout=20)
    for _ in range(3):
        body = json.dumps({"latents": [[0.0, 0.0]]})
        connection.request("POST", "/decode", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200
        assert len(json.loads(answer.read())["rows"]) == 1
    connection.close()


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/other", {"rows": [[1, 2, 3]]}, 404, "POST to"),
        ("/encode", b"", 400, "not JSON"),
        ("/encode", b"{", 400, "not JSON"),
        ("/encode", b"[" * 100_000, 400, "not JSON"),
        ("/encode", b"\xff\xfe", 400, "not JSON"),
        ("/encode", b'{"rows": [[NaN, 1, 2]]}', 400, "NaN is not JSON"),
        ("/encode", b'{"rows": [[1e999, 1, 2]]}', 400, "inf"),
        ("/encode", [], 400, "the body must be"),
        ("/encode", {"rows": [[1, 2, 3]], "more": 1}, 400, "the body must be"),
        ("/encode", {"latents": [[1, 2, 3]]}, 400, "the body must be"),
        ("/encode", {"rows": []}, 400, "1 to 2000 rows"),
        ("/encode", {"rows": [[1, 2, 3]] * 2_001}, 400, "1 to 2000 rows"),
        ("/encode", {"rows": [[1, 2]]}, 400, "list of 3 numbers"),
        ("/encode", {"rows": [[1, 2, "3"]]}, 400, "no number"),
        ("/encode", {"rows": [[1, 2, True]]}, 400, "no number"),
        ("/encode", {"rows": [[1, 2, [3]]]}, 400, "no number"),
        ("/encode", {"rows": [[1, 2, 10**400]]}, 400, "out of range"),
        ("/decode", {"latents": [[1, None]]}, 400, "no number"),
        ("/decode", {"latents": [[1, 2, 3]]}, 400, "list of 2 numbers"),
        ("/score", {"rows": "all"}, 400, "1 to 2000 rows"),
    ],
    ids=range(20),
)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_what_is_no_question(path, body, status, said, address):
    found, answer = ask(address, path, body)
    assert (found, set(answer)) == (status, {"error"})
    assert said in answer["error"]


def test_limits(address, example, X, monkeypatch):
    length = {"Content-Length": str(example.MOST_BYTES + 1)}
    status, answer = ask(address, "/encode", b"", **length)
    assert status == 413
    status, _ = ask(address, "/encode", {"rows": [[1, 2, 3]]}, **{"Content-Type": "text/plain"})
    assert status == 415
    status, _ = ask(address, "/encode", b"", **{"Content-Length": "-1"})
    assert status == 411
    status, _ = ask(address, "/nothing", method="GET")
    assert status == 404
    none_left = threading.BoundedSemaphore(1)
    none_left.acquire()
    monkeypatch.setattr(example.Handler, "at_once", none_left)
    status, answer = ask(address, "/encode", {"rows": X[:1].tolist()})
    assert (status, answer["error"]) == (503, "busy; try again")


def test_a_silent_connection_is_closed(address, example, monkeypatch):
    monkeypatch.setattr(example.Handler, "timeout", 0.2)
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(b"POST /encode HTTP/1.1\r\n")
        assert connection.recv(100) == b""


def test_onnx_alone(model, X, tmp_path):
    pytest.importorskip("onnx", reason="needs the extra onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    from twofold.export.onnx import export

    for name in ("down", "up"):
        export(model, tmp_path / f"{name}.onnx", map=name)
    np.save(tmp_path / "rows.npy", X[:7])
    files = [tmp_path / name for name in ("down.onnx", "up.onnx", "rows.npy")]
    code = f"import sys; sys.modules['twofold'] = None; sys.argv = {list(map(str, files))!r}; "
    code += f"exec(open({str(FOLDER / 'onnx_client.py')!r}).read().split('if __name__')[0]); "
    code += "main(*sys.argv)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    error = float(told.rsplit(":", 1)[1])
    assert error < 0.2 * X.std()
