"""`snellen view`: a read-only server of runs, on loopback. Files are served from the report's folder alone.

Built on the standard library's server: nothing to install, and a handful of requests by one person is all it serves.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from snellen.core.errors import SnellenError
from snellen.core.pictures import decode, encode_png
from snellen.web.browse import Browser

Query = Mapping[str, str]

POLICY = "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'"
LOOPBACK = frozenset({"127.0.0.1", "::1"})
REPORT_POLICY = "default-src 'self' data: 'unsafe-inline'; connect-src 'none'"

WAITING = b"""<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Snellen: report</title><body><p>The report is being made. It is shown as soon as it is there.</p></body>"""


class LateReport:
    """A report that is made, in the background, when it is first looked at: of large runs that takes a minute."""

    def __init__(self, make: Callable[[], Path]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: Future[Path] | None = None

    def folder(self) -> Path | None:
        """Where the report lies; None while it is being made. What its making raised, it raises."""
        with self._lock:
            if self._made is None:
                self._made = Future()
                Thread(target=self._work, args=(self._made,), daemon=True).start()
        return self._made.result().resolve() if self._made.done() else None

    def _work(self, made: Future[Path]) -> None:
        try:
            made.set_result(self._make())
        except BaseException as error:
            made.set_exception(error)


def serve(
    browser: Browser, *, host: str = "127.0.0.1", port: int = 0, report: LateReport | None = None
) -> ThreadingHTTPServer:
    """A server that is bound and not yet running (`serve_forever`); port 0 takes a free one."""
    return ThreadingHTTPServer((host, port), partial(Handler, browser, report))


class Handler(BaseHTTPRequestHandler):
    """Answers GET, and nothing else."""

    protocol_version = "HTTP/1.1"
    server_version = "snellen"
    sys_version = ""

    def __init__(self, browser: Browser, report: LateReport | None, *args: Any, **kwargs: Any) -> None:
        self.browser = browser
        self.report = report
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        """The page, its data, a picture, or a file of the report."""
        if not self._host_is_ours():
            self._send(HTTPStatus.FORBIDDEN, b"this server answers to its own address only", "text/plain")
            return
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path)
        try:
            if path in ROUTES:
                ROUTES[path](self, query)
            elif path.startswith("/report/") and self.report is not None:
                self._file(path.removeprefix("/report/") or "index.html")
            else:
                self._send(HTTPStatus.NOT_FOUND, b"there is no such page", "text/plain")
        except SnellenError as error:
            self._send(HTTPStatus.BAD_REQUEST, str(error).encode(), "text/plain; charset=utf-8")

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""

    def _host_is_ours(self) -> bool:
        """Against DNS rebinding: a page elsewhere must not reach this server under a name of its own."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        bound = str(self.server.server_address[0])  # type: ignore[index]
        return bound not in LOOPBACK or host in {*LOOPBACK, "localhost"}

    def page(self, query: Query) -> None:
        """The viewer."""
        self._asset("view.html", "text/html; charset=utf-8")

    def script(self, query: Query) -> None:
        """Its script."""
        self._asset("view.js", "text/javascript; charset=utf-8")

    def style(self, query: Query) -> None:
        """Its style."""
        self._asset("view.css", "text/css; charset=utf-8")

    def about(self, query: Query) -> None:
        """What is being looked at."""
        runs = [{"name": seen.name, "path": seen.run.path} for seen in self.browser.runs]
        self._json({
            "runs": runs, "boxes": self.browser.boxes, "samples": len(self.browser.ids),
            "attributes": self.browser.attributes(), "report": self.report is not None,
        })  # fmt: skip

    def listing(self, query: Query) -> None:
        """Samples that fit."""
        page = query.get("page", "0")
        self._json(
            self.browser.listed(
                query=query.get("q", ""),
                show=query.get("show", "all"),
                attribute=query.get("where", ""),
                page=int(page) if page.isdecimal() else 0,
                around=query.get("around", ""),
            )
        )

    def sample(self, query: Query) -> None:
        """One sample."""
        self._json(self.browser.sample(query.get("id", "")))

    def picture(self, query: Query) -> None:
        """The picture of one sample."""
        data = self.browser.picture(query.get("id", ""))
        kinds = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
        kind = next((name for mark, name in kinds.items() if data.startswith(mark)), None)
        if kind is None:
            data, kind = encode_png(decode(data, name=query.get("id", ""))), "image/png"
        self._send(HTTPStatus.OK, data, kind)

    def _file(self, name: str) -> None:
        assert self.report is not None
        folder = self.report.folder()
        if folder is None:
            self._send(HTTPStatus.OK, WAITING, "text/html; charset=utf-8")
            return
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            self._send(HTTPStatus.NOT_FOUND, b"there is no such file", "text/plain")
            return
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self._send(HTTPStatus.OK, path.read_bytes(), kind, policy=REPORT_POLICY)

    def _asset(self, name: str, kind: str) -> None:
        self._send(HTTPStatus.OK, (files("snellen.web") / "pages" / name).read_bytes(), kind)

    def _json(self, value: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(value, allow_nan=False).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str, *, policy: str = POLICY) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


ROUTES: Mapping[str, Callable[[Handler, Query], None]] = {
    "/": Handler.page,
    "/view.js": Handler.script,
    "/view.css": Handler.style,
    "/api/about": Handler.about,
    "/api/samples": Handler.listing,
    "/api/sample": Handler.sample,
    "/api/picture": Handler.picture,
}
