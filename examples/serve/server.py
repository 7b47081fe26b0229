"""Serve a model file over HTTP, with the standard library only.

    python server.py flowers.twofold [--port 8000] [--host 127.0.0.1]

============  ==========================  =========================================================
request       body (JSON)                 answer (JSON)
============  ==========================  =========================================================
GET /         none                        the class, the numbers and names of columns and latents
POST /encode  ``{"rows": [[...], ...]}``  ``{"latents": [[...], ...]}``
POST /decode  ``{"latents": [[...]]}``    ``{"rows": [[...], ...]}``
POST /score   ``{"rows": [[...], ...]}``  ``{"score": 0.9, "errors": [...]}``: the share of variance
                                          that is kept, and the distance of each row
============  ==========================  =========================================================

A missing cell is ``null``. Errors are ``{"error": "..."}`` with the status 400 (bad values), 404,
405, 411 (no length), 413 (too large), 415 (not JSON) or 503 (busy).

Limits: a body has at most `MOST_BYTES`, a request at most `MOST_ROWS` rows, at most `MOST_AT_ONCE`
requests are computed at once, and a connection that is silent for `SECONDS` is closed. The server
listens on this computer only unless ``--host`` says otherwise. It has no encryption and no
accounts: put it behind a reverse proxy that has.
"""

import argparse
import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import twofold

MOST_BYTES = 4 * 2**20
MOST_ROWS = 2_000
MOST_AT_ONCE = 4
SECONDS = 15


class RequestError(Exception):
    """A request that cannot be answered, with the status of the answer."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Service:
    """Answers questions to a model; everything that does not concern HTTP."""

    def __init__(self, model):
        self.model = model
        self.columns = int(model.n_features_in_)
        self.latents = int(model.embedding_.shape[1])
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]

    def warm_up(self):
        """Compute what the maps compute on first use, so that the first request does not wait."""
        place = self.model.embedding_[:1]
        row = np.asarray(self.model.inverse_transform(place))
        self.model.transform(row)
        self.model.score(row)

    def about(self):
        """Return what a client has to know."""
        return {
            "model": type(self.model).__name__,
            "columns": self.columns,
            "latents": self.latents,
            "names": self.names,
        }

    def encode(self, question):
        """Return latents of rows."""
        rows = matrix(question, "rows", self.columns, gaps=True)
        return {"latents": self.model.transform(rows).tolist()}

    def decode(self, question):
        """Return rows of latents."""
        latents = matrix(question, "latents", self.latents)
        return {"rows": self.model.inverse_transform(latents).tolist()}

    def score(self, question):
        """Return how well the model describes rows."""
        rows = matrix(question, "rows", self.columns, gaps=True)
        errors = self.model.reconstruction_error(rows)
        return {"score": self.model.score(rows), "errors": errors.tolist()}


def matrix(question, key, width, *, gaps=False):
    """Return the checked rows of a question."""
    if not isinstance(question, dict) or set(question) != {key}:
        raise RequestError(400, f'the body must be {{"{key}": [[...], ...]}}')
    rows = question[key]
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_ROWS:
        raise RequestError(400, f'"{key}" must be a list of 1 to {MOST_ROWS} rows')
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != width:
            raise RequestError(400, f'"{key}"[{number}] must be a list of {width} numbers')
        for value in row:
            # In JSON true is no number, but in Python it is 1.
            known = isinstance(value, int | float) and not isinstance(value, bool)
            if not known and not (gaps and value is None):
                raise RequestError(400, f'"{key}"[{number}] has a value that is no number')
    try:
        return np.array(rows, dtype=np.float64)  # None becomes NaN, a missing cell
    except (OverflowError, TypeError, ValueError):
        raise RequestError(400, f'"{key}" has numbers that are out of range') from None


def parsed(body):
    """Return the value of a JSON text without NaN and infinity, which JSON does not have."""

    def refuse(name):
        raise RequestError(400, f"{name} is not JSON; a missing cell is null")

    try:
        return json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is not JSON") from None


class Handler(BaseHTTPRequestHandler):
    """One connection. Subclasses have a ``service``."""

    service: Service
    at_once = threading.BoundedSemaphore(MOST_AT_ONCE)
    timeout = SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answer what the model is."""
        if self.path == "/":
            self.answer(200, self.service.about())
        else:
            self.answer(404, {"error": "GET / tells what the model is"})

    def do_POST(self):
        """Answer a question."""
        try:
            ask = {
                "/encode": self.service.encode,
                "/decode": self.service.decode,
                "/score": self.service.score,
            }.get(self.path)
            if ask is None:
                raise RequestError(404, "POST to /encode, /decode or /score")
            question = parsed(self.body())
            if not self.at_once.acquire(blocking=False):
                raise RequestError(503, "busy; try again")
            try:
                found = ask(question)
            finally:
                self.at_once.release()
            self.answer(200, found)
        except RequestError as error:
            # What is left of the body would be taken for the next request.
            self.close_connection = True
            self.answer(error.status, {"error": str(error)})
        except (ValueError, MemoryError) as error:  # values that the model refuses
            self.answer(400, {"error": str(error)[:500]})

    def body(self):
        """Read a body of bounded size."""
        if self.headers.get_content_type() != "application/json":
            raise RequestError(415, "the content type must be application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or len(length) > 18:
            raise RequestError(411, "a Content-Length is needed")
        if int(length) > MOST_BYTES:
            raise RequestError(413, f"the body may have {MOST_BYTES} bytes")
        return self.rfile.read(int(length))

    def answer(self, status, value):
        """Write an answer."""
        content = json.dumps(value, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Log nothing: questions may be private."""


def make_server(path, host="127.0.0.1", port=8000):
    """Return a server of a model file that is ready for its first request."""
    service = Service(twofold.load(path))
    service.warm_up()
    handler = type("ModelHandler", (Handler,), {"service": service})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    return server


def main():
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve a model file over HTTP.")
    parser.add_argument("model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    with make_server(options.model, options.host, options.port) as server:
        print("http://{}:{}/".format(*server.server_address[:2]))
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
