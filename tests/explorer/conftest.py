"""A running explorer, asked over real HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from giantstep.explorer import Explorer


def eventually(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait for something, on a busy machine too."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


class Visitor:
    """What a browser does, without one."""

    def __init__(self, server: Explorer):
        self.server = server
        self.host, self.port = str(server.server_address[0]), int(server.server_address[1])

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, dict, bytes]:
        """Status, headers and body; with the token, unless an Authorization is given."""
        headers = {"Authorization": f"Bearer {self.server.token}"} | headers
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, dict(response.headers), response.read()
        finally:
            connection.close()

    def ask(self, view: str, settings: Any = None) -> tuple[int, list[dict[str, Any]]]:
        """Status and lines of an answer."""
        body = json.dumps(settings or {}).encode()
        status, _, text = self.request("POST", f"/api/{view}", body, Content_Type="application/json")
        return status, [json.loads(line) for line in text.splitlines()]


@contextmanager
def serving() -> Iterator[Explorer]:
    """An explorer that runs meanwhile."""
    with Explorer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def visitor() -> Iterator[Visitor]:
    with serving() as server:
        yield Visitor(server)
