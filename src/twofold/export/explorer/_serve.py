"""Serve a page to the browsers of this computer, and answer their questions.

The server listens on the loopback address only. Its address has a random token, without which
nothing is served. Pages of other sites cannot use it: requests that name another host (DNS
rebinding) or come from another origin are refused, and no answer allows another origin to read it.
"""

from __future__ import annotations

import json
import secrets
import socketserver
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from twofold.export.explorer._answers import Answers

LOOPBACK = "127.0.0.1"
LARGEST_BODY = 16_000_000
PATIENCE = 30
"""Seconds to wait for the bytes of a request."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # besides the policy of the page
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """A server of one page on a port of the loopback address; port 0 is any free one."""

    daemon_threads = True

    def __init__(self, page: str, answers: Answers, port: int = 0) -> None:
        self.page = page.encode()
        self.answers = answers
        self.token = secrets.token_urlsafe(24)
        super().__init__((LOOPBACK, port), Handler)

    def server_bind(self) -> None:
        """Bind the port, without the name lookup of the base class."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about connections that break off."""

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which this computer's browsers may call the server."""
        return f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{self.hosts[0]}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "twofold", ""
    timeout = PATIENCE
    # Otherwise the body of an answer waits 40 ms for the receipt of its header.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """Send the page."""
        try:
            if self._asked():
                raise Refused(HTTPStatus.NOT_FOUND, "not found")
        except Refused as refused:
            self._refuse(refused)
            return
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:
        """Answer a question."""
        try:
            kind = self._asked()
            if kind not in self.server.answers:
                raise Refused(HTTPStatus.NOT_FOUND, "not found")
            answer = self._answer(kind, self._question())
        except Refused as refused:
            self._refuse(refused)
            return
        self._send(HTTPStatus.OK, "application/json", answer)

    def _asked(self) -> str:
        """Return what stands behind the token in the address of an allowed request."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this host is not served here")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
            raise Refused(HTTPStatus.FORBIDDEN, "requests of other origins are refused")
        parts = self.path.split("/", 2)
        token = parts[1] if len(parts) == 3 else ""
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.NOT_FOUND, "not found")
        return parts[2]

    def _question(self) -> Any:
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "questions are application/json")
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the length of a question is needed")
        if len(length) > len(str(LARGEST_BODY)) or int(length) > LARGEST_BODY:
            most = f"at most {LARGEST_BODY // 10**6} MB are taken at once"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, most)
        body = self.rfile.read(int(length))
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, "the question is not JSON") from error

    def _answer(self, kind: str, question: Any) -> bytes:
        try:
            return json.dumps(self.server.answers(kind, question), allow_nan=False).encode()
        except (ValueError, TypeError, MemoryError, ArithmeticError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error) or type(error).__name__) from error
        except Exception as error:
            message = f"unexpected {type(error).__name__}: {error}"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, message) from error

    def _refuse(self, refused: Refused) -> None:
        # The body may be unread: this connection cannot take another request.
        self.close_connection = True
        body = json.dumps({"error": str(refused)}).encode()
        self._send(refused.status, "application/json", body)

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        headers = HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write no log: addresses contain the token."""
