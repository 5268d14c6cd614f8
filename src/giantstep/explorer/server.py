"""The web server: one page, one address per view, for visitors of this machine.

What protects it: it listens on this machine alone unless told otherwise; questions must carry the token of the link
that it prints, so that other people on this machine cannot ask; requests must name it by an IP address, by localhost or
by the name it was started with (so that no other site can reach it by rebinding a name of its own); questions must be
JSON from this very page (another site's page cannot send that without a permission that is never given); the page may
load nothing from elsewhere and run no inline script; files come from a fixed list.

What Plotly needs of the content policy: style attributes, one empty style element (which it fills by script), and
pictures of its own making (data and blob addresses). It may still run no inline script and no text as code.
"""

from __future__ import annotations

import html
import json
import re
import secrets
import selectors
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..runtime.system import ports_can_be_taken_over
from . import assets
from .jobs import Jobs
from .refusals import Gone, Refused
from .settings import controls
from .views import VIEWS

PORT = 8642
_MOST_BYTES = 16_384  # of a question
_ADDRESS = re.compile(r"[0-9.]+|\[[0-9a-f:.]+\]")  # no domain ends in a number, or stands in brackets
_JSON = "application/json"
_EMPTY = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="  # of no text at all
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data: blob:;"
    f" style-src-elem 'self' '{_EMPTY}'; style-src-attr 'unsafe-inline';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FRESH = "no-store"
_VERSIONED = "public, max-age=31536000, immutable"  # how long a browser keeps what has its version in its address


class Explorer(ThreadingHTTPServer):
    """The explorer's server; `with Explorer() as server: server.serve_forever()`. Port 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 32
    allow_reuse_address = not ports_can_be_taken_over()

    def __init__(self, host: str = "127.0.0.1", port: int = 0):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.name = host.lower()
        self.token = secrets.token_urlsafe(24)
        self.pages = assets.pages()
        super().__init__((host, port), _Handler)
        self.jobs = Jobs()

    @property
    def link(self) -> str:
        """The address with the token: whoever has it may ask."""
        return f"{self.url}?token={self.token}"

    @property
    def url(self) -> str:
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.name, self.name)
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.server_address[1]}/"

    def server_close(self) -> None:
        if hasattr(self, "jobs"):  # not where listening failed
            self.jobs.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A visitor who went away is no event; anything else is."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def explore(host: str = "127.0.0.1", port: int | None = None, browser: bool = True) -> None:
    """Serve the explorer until Ctrl-C, and open it in a browser. Without a port: 8642, or a free one."""
    with listening(host, port) as server:
        print(f"giantstep explorer: {server.link}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
        if assets.plotly_script() is None:
            print(assets.MISSING, file=sys.stderr, flush=True)
        try:
            with opened(server.link) if browser else nullcontext():
                server.serve_forever()
        except KeyboardInterrupt:
            print("the explorer has ended", file=sys.stderr)


def listening(host: str, port: int | None, usual: int = PORT) -> Explorer:
    """A server on this port; without one on the usual port, or on a free one where that is taken."""
    try:
        return Explorer(host, usual if port is None else port)
    except OverflowError:
        raise ParameterError(f"port = {port} must be a whole number from 0 to 65535") from None
    except OSError as error:
        if port is None:
            return listening(host, 0)
        raise ParameterError(
            f"cannot listen on host = {host!r}, port = {port} ({error.strerror or error}); choose another port, or 0, "
            "and for host an address of this machine"
        ) from None


@contextmanager
def opened(link: str) -> Iterator[None]:
    """Have a browser open the link by way of a file that nobody else can read.

    The command line of a browser can be read by all users of a machine; the file, which leads on to the link and is
    removed at the end, cannot.
    """
    address = html.escape(link, quote=True)
    with tempfile.TemporaryDirectory(prefix="giantstep-") as folder:  # which its owner alone may enter
        path = Path(folder) / "explorer.html"
        path.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
            f'<a href="{address}">giantstep explorer</a>\n',
            encoding="utf-8",
        )
        threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        yield


class _Handler(BaseHTTPRequestHandler):
    server: Explorer  # type: ignore[assignment]
    server_version, sys_version = "giantstep", ""
    timeout = 30  # seconds that a visitor may take to ask
    begun = False  # an answer
    disable_nagle_algorithm = True  # a line goes out when it is written

    def do_GET(self) -> None:
        try:
            if self.command == "POST":
                self.server.jobs.answer(*self._question(), self._line, self._wanted)
                self._line('{"end": true}')
            else:
                self._send(HTTPStatus.OK, *self._page())
        except Refused as refusal:
            if self.begun:
                self._line(refusal.json())
            else:
                self._send(refusal.status, _JSON, refusal.json().encode())
        except Gone:
            self.close_connection = True

    do_HEAD = do_POST = do_GET

    def _page(self) -> tuple[str, bytes, str]:
        """The type and the content of what is asked for, and how long it may be kept."""
        path = self.path.split("?")[0]
        if not self._local():
            raise Refused("this server is reached by IP address or as localhost only", HTTPStatus.FORBIDDEN)
        if path == "/api/about":
            self._check_token()
            return _JSON, _about(), _FRESH
        if path == "/plotly.min.js" and (script := assets.plotly_script()) is not None:
            return assets.TYPES["js"], script.read_bytes(), _VERSIONED
        if path not in self.server.pages:
            raise Refused("there is no such page", HTTPStatus.NOT_FOUND)
        return (*self.server.pages[path], _FRESH)

    def _question(self) -> tuple[str, bool, Any]:
        """The view that is asked for, whether a draft will do, and the settings as JSON gives them; or a refusal."""
        origin = self.headers.get("Origin")
        same_site = origin is None or origin.lower() == f"http://{self.headers.get('Host', '').lower()}"
        if not self._local() or not same_site:
            raise Refused("questions must come from the explorer's own page", HTTPStatus.FORBIDDEN)
        before, _, question = self.path.partition("/api/")
        view, _, manner = question.partition("/")
        if before or manner not in ("", "draft"):
            raise Refused("there is no such page", HTTPStatus.NOT_FOUND)
        self._check_token()
        if self.headers.get_content_type() != _JSON:
            raise Refused("questions must be JSON", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,5}", length) or int(length) > _MOST_BYTES:
            raise Refused(
                f"the question must say its length, which may be {_MOST_BYTES} bytes at most",
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        try:
            return view, manner == "draft", json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused("the question is not valid JSON") from None

    def _check_token(self) -> None:
        given = self.headers.get("Authorization", "").encode()
        if not secrets.compare_digest(given, f"Bearer {self.server.token}".encode()):
            raise Refused(
                "this page may not ask yet: open the whole link that giantstep explore printed in its terminal",
                HTTPStatus.UNAUTHORIZED,
            )

    def _line(self, text: str) -> None:
        """Send a line of an answer; with the first one there is an answer at all."""
        try:
            if not self.begun:
                self._send(HTTPStatus.OK, "application/x-ndjson")
                self.begun = True
            self.wfile.write(text.encode() + b"\n")
            self.wfile.flush()
        except OSError:
            raise Gone from None

    def _wanted(self) -> bool:
        """Whether the visitor is still connected: a browser that has lost interest closes."""
        try:
            with selectors.DefaultSelector() as heard:
                heard.register(self.connection, selectors.EVENT_READ)
                return not heard.select(0) or self.connection.recv(1, socket.MSG_PEEK) != b""
        except OSError:
            return False

    def _local(self) -> bool:
        host = self.headers.get("Host", "").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return name in ("localhost", self.server.name) or _ADDRESS.fullmatch(name) is not None

    def _send(self, status: HTTPStatus, kind: str, body: bytes | None = None, cache: str = _FRESH) -> None:
        """An answer, or what stands before one that comes in lines."""
        length = {} if body is None else {"Content-Length": str(len(body))}
        self.send_response(status)
        for name, value in ({"Content-Type": kind, "Cache-Control": cache} | length | _HEADERS).items():
            self.send_header(name, value)
        self.end_headers()
        if body is not None and self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a terminal that fills up with requests helps nobody."""


def _about() -> bytes:
    """What the page needs to know before it asks: the controls, names, and what each view uses."""
    from .. import __version__
    from ..functions import catalogue
    from ..losses import NAMES

    return json.dumps(
        {
            "version": __version__,
            "plotly": assets.plotly_version(),
            "missing": assets.MISSING,
            "controls": controls(),
            "functions": list(catalogue()),
            "losses": list(NAMES),
            "views": {name: {"uses": view.uses, "drafts": view.drafts} for name, view in VIEWS.items()},
        }
    ).encode()
