"""The server: what it serves, what it refuses, and that no work outlives those who wait for it."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import psutil
import pytest

import giantstep as gs
from giantstep.explorer import Explorer, assets, explore
from giantstep.explorer.jobs import Jobs
from giantstep.explorer.refusals import Refused, refusal
from giantstep.explorer.server import listening, opened
from giantstep.explorer.settings import Settings
from giantstep.explorer.views import VIEWS

from .conftest import eventually

JSON = {"Content_Type": "application/json"}


@contextmanager
def simulating(address: tuple[str, int], token: str, d: int) -> Iterator[TextIO]:
    """A visitor who waits for a simulation, which has begun."""
    body = json.dumps({"d": d, "trials": 50, "loss": "huber:0.5"}).encode()  # a trial takes a minute
    head = f"POST /api/simulate HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    with socket.create_connection(address) as connection, connection.makefile() as answer:
        connection.sendall(
            f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        assert any('"trial": 0' in line for line in answer)  # after which a minute passes without a word
        yield answer


def test_the_page_and_all_that_it_loads_are_served_name_no_other_machine_and_read_no_text_as_html(visitor):
    status, headers, page = visitor.request("GET", "/")
    assert (status, headers["Cache-Control"]) == (200, "no-store")
    policy = dict(part.split(maxsplit=1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["script-src"] == "'self'"  # no inline script, no text as code
    assert policy["default-src"] == "'none'"
    assert [name for name, value in policy.items() if "unsafe" in value] == ["style-src-attr"]  # for Plotly
    wanted, seen = {"index.html", *re.findall(r'(?:src|href)="([\w.]+)"', page.decode())}, set()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        status, headers, body = visitor.request("GET", f"/{name}")
        assert (status, headers["X-Content-Type-Options"]) == (200, "nosniff"), name
        wanted |= set(re.findall(r'from "\./([\w.]+)"', body.decode())) - seen
        assert set(re.findall(r"https?://[^\"'\s]+", body.decode())) <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", body.decode()), name
    assert {"main.js", "chart.js", "style.css", "icon.svg"} <= seen
    assert {f"/{name}" for name in seen} | {"/"} == set(visitor.server.pages)


def test_plotly_comes_from_its_package_or_the_page_is_told_what_to_install(visitor, monkeypatch):
    script = assets.plotly_script()
    assert script is not None
    status, headers, body = visitor.request("GET", f"/plotly.min.js?{assets.plotly_version()}")
    assert (status, body) == (200, script.read_bytes())
    assert "immutable" in headers["Cache-Control"]
    monkeypatch.setattr(assets, "find_spec", lambda name: None)  # as where it is not installed
    about = json.loads(visitor.request("GET", "/api/about")[2])
    assert about["plotly"] is None
    assert "giantstep[explore]" in about["missing"]
    assert visitor.request("GET", "/plotly.min.js")[0] == 404


def test_the_page_knows_every_setting_and_view(visitor):
    about = json.loads(visitor.request("GET", "/api/about")[2])
    assert {control["name"]: control["initial"] for control in about["controls"]} == asdict(Settings())
    limits = {control["name"]: (control.get("low"), control.get("high")) for control in about["controls"]}
    assert limits["lam"] == (0, 1e6)
    assert limits["target"] == (None, None)
    assert set(about["views"]) == set(VIEWS)
    used = {name for view in VIEWS.values() for name in view.uses}
    drawn = {"quantity", "untrained", "linear", "best", "limits", "model"}  # the page itself heeds these
    assert used | drawn == set(asdict(Settings()))  # no control without effect


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "Basic abc", "Bearer é"])
def test_nobody_asks_without_the_token(visitor, given):
    for status, _, body in (
        visitor.request("GET", "/api/about", Authorization=given),
        visitor.request("POST", "/api/bounds", b"{}", **JSON, Authorization=given),
    ):
        assert status == 401
        assert "the whole link" in json.loads(body)["error"]
    assert visitor.request("GET", "/", Authorization=given)[0] == 200  # the page itself holds no secret


def test_a_browser_is_led_to_the_link_by_a_file_of_its_owner(monkeypatch):
    asked: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr("webbrowser.open", asked.put)
    with opened("http://127.0.0.1:1/?token=a&b"):
        address = asked.get(timeout=20)
        assert "token" not in address  # the command line of a browser can be read by everybody
        path = Path(address.removeprefix("file://"))
        assert path.parent.stat().st_mode & 0o077 == 0
        assert "http://127.0.0.1:1/?token=a&amp;b" in path.read_text()
    assert not path.exists()


PYTHON = re.compile(
    r"\b(eta|alpha0?|lam|beta|gamma|bulk|flips|latent_noise)\b|SpikedRF|Network|Letters\(|\w\(\)|gs\.|Traceback|\n"
)


REFUSALS: list[tuple[Any, str, str | None]] = [
    ({"eta": -1}, "Learning rate ÷ d (η̃) = -1", "eta"),
    ({"eta": "many"}, "many is not a number", "eta"),
    ({"lam": float("nan")}, "Ridge penalty", "lam"),
    ({"beta": float("inf")}, "Width", "beta"),
    ({"alpha": True}, "Fit samples", "alpha"),
    ({"low": 3, "high": 2}, "from = 3", "low"),
    ({"along": "r"}, "Runs along", "along"),
    ({"layer": "both"}, "both", "layer"),
    ({"layer": "spiked", "gamma": 1.5}, "Alignment", "gamma"),
    ({"d": 10.5}, "d = 10.5", "d"),
    ({"steps": 0}, "Number of steps", "steps"),
    ({"finite": "yes"}, "finite", "finite"),
    ({"colour": "red"}, "colour", None),
    ({"target": 3}, "Target", "target"),
    ({"target": "x" * 5000}, "longer than 300", "target"),
    ([1, 2], "JSON object", None),
    ({"target": "__import__('os').system('id')"}, "column 12", "target"),
    ({"target": "(lambda: 1)()"}, "has no meaning here", "target"),
    ({"target": "tanh(x"}, "not an expression", "target"),
    ({"target": "exp(x**4)"}, "", "target"),
    ({"activation": "tanhh"}, "did you mean 'tanh'", "activation"),
    ({"activation": "sign"}, "a spike, given directly", "activation"),
    ({"activation": "abs(x)**0.5"}, "a spike, given directly", "activation"),
    ({"activation": "floor(x)"}, "the box offers the names", "activation"),
    ({"bulk": "orthogonal"}, "Model of its rows = orthogonal", "bulk"),
    ({"loss": "hinge"}, "Flipped signs", "loss"),
    ({"loss": "huber:-1"}, "", "loss"),
    ({"loss": "nonsense"}, "nonsense", "loss"),
    ({"loss": "huber:0.5", "lam": 0}, "Ridge penalty (λ) must be positive", "lam"),
    ({"readout": "foo"}, "Initial readout (a₀) = foo", "readout"),
    ({"loss": "hinge", "flips": 0.1, "noise": 0.2}, "Latent noise", "noise"),
    ({"inputs": "blocks", "bias_scale": 1.0}, "isotropic inputs", "bias_scale"),
]
OF_OTHER_VIEWS = [
    ("coefficients", {"readout": "rademacher", "steps": 2, "activation": "relu"}, "directions", None),
    ("spectrum", {"readout": "rademacher", "steps": 2, "activation": "relu"}, "one spike", None),
    ("simulate", {"alpha0": "inf"}, "Step samples ÷ d (α₀)", "alpha0"),
]


@pytest.mark.parametrize(
    ("view", "settings", "words", "blamed"), [*(("curve", *row) for row in REFUSALS), *OF_OTHER_VIEWS]
)
def test_a_refusal_is_a_sentence_of_the_page_and_names_the_setting_to_blame(visitor, view, settings, words, blamed):
    status, lines = visitor.ask(view, settings)
    (answer,) = (line for line in lines if "error" in line)
    assert status == (200 if len(lines) > 1 else 400)  # a simulation has begun when it is refused
    assert words in answer["error"]
    assert not PYTHON.search(answer["error"])
    assert answer["field"] == blamed


@pytest.mark.parametrize(
    "settings", [{"eta": 1e3, "lam": 0}, {"alpha0": "inf", "beta": 100}, {"beta": 0.01, "lam": 1e6}]
)
def test_extreme_values_within_the_limits_are_answered(visitor, settings):
    status, (answer, *_) = visitor.ask("curve", settings | {"bulk": "isotropic"})
    assert (status, "error" in answer) in {(200, False), (400, True)}


@pytest.mark.parametrize(
    ("status", "method", "path", "body", "headers"),
    [
        (403, "POST", "/api/coefficients", b"{}", JSON | {"Host": "evil.example"}),
        (403, "POST", "/api/coefficients", b"{}", JSON | {"Host": "evil.example:{port}"}),
        (403, "POST", "/api/coefficients", b"{}", JSON | {"Origin": "http://evil.example"}),
        (403, "POST", "/api/coefficients", b"{}", JSON | {"Origin": "null"}),
        (415, "POST", "/api/coefficients", b"{}", {"Content_Type": "text/plain"}),
        (200, "POST", "/api/coefficients", b"{}", JSON | {"Host": "{own}", "Origin": "http://{own}"}),
        (403, "GET", "/", None, {"Host": "evil.example"}),
        (200, "GET", "/", None, {"Host": "localhost:{port}"}),
        (200, "GET", "/", None, {"Host": "[::1]:80"}),
        (200, "HEAD", "/", None, {}),
        (404, "GET", "/../server.py", None, {}),
        (404, "GET", "/%2e%2e/server.py", None, {}),
        (404, "GET", "/page/index.html", None, {}),
        (404, "GET", "/api/curve", None, {}),
        (400, "POST", "/api/curve", b"{", JSON),
        (400, "POST", "/api/curve", b"[" * 10_000, JSON),
        (413, "POST", "/api/curve", b" " * 20_000, JSON),
        (413, "POST", "/api/curve", b"", JSON | {"Content_Length": "-5"}),
        (404, "POST", "/api/nonsense", b"{}", JSON),
        (404, "POST", "/api/curve/slowly", b"{}", JSON),
        (404, "POST", "/", b"{}", JSON),
        (501, "PUT", "/api/curve", b"{}", JSON),
    ],
)
def test_only_the_own_page_gets_an_answer_and_only_to_a_question(visitor, status, method, path, body, headers):
    own = f"{visitor.host}:{visitor.port}"
    headers = {name: value.format(own=own, port=visitor.port) for name, value in headers.items()}
    assert visitor.request(method, path, body, **headers)[0] == status


NOT_USED = {"bounds": "lam", "curve": "alpha", "landscape": "eta", "coefficients": "lam", "best_possible": "eta"}


def test_equal_questions_are_computed_once(visitor, monkeypatch):
    """A view does not depend on what it does not use, nor a curve on the value of what it runs along."""
    first = {view: visitor.ask(view, {"bulk": "isotropic", name: 1.7}) for view, name in NOT_USED.items()}
    monkeypatch.setattr(visitor.server.jobs, "lanes", {})  # nobody computes any more
    for view, name in NOT_USED.items():
        assert visitor.ask(view, {"bulk": "isotropic", name: 2.7})[1][-2:] == first[view][1][-2:]


def test_work_ends_when_nobody_waits(visitor):
    workers = visitor.server.jobs.lanes["simulation"].alive
    with simulating((visitor.host, visitor.port), visitor.server.token, d=3000):
        (worker,) = (worker for worker in workers if worker.working)
    eventually(lambda: worker not in workers, 10.0)  # long before its first trial ends
    assert not worker.process.is_alive()


@pytest.mark.posix
def test_a_worker_that_dies_is_a_sentence_and_the_next_question_is_answered(visitor):
    with simulating((visitor.host, visitor.port), visitor.server.token, d=1500) as answer:
        (worker,) = (worker for worker in visitor.server.jobs.lanes["simulation"].alive if worker.working)
        os.kill(worker.process.pid, signal.SIGKILL)
        assert "ended unexpectedly" in answer.read()
    assert visitor.ask("simulate", {"d": 20, "trials": 2})[0] == 200


def test_work_that_takes_too_long_ends_with_a_sentence():
    jobs = Jobs(longest={"slow": 0.0})
    jobs.lanes["slow"].submit(int).result(60)
    with pytest.raises(Refused, match="too long"):
        jobs.answer("optimum", False, {}, print)
    assert not [worker for worker in jobs.lanes["slow"].alive if worker.working]
    jobs.close()


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (gs.ConvergenceError("2 points\nfailed", None), 400, "2 points failed"),
        (MemoryError(), 400, "extreme"),
        (KeyError("secret"), 500, "KeyError"),
    ],
)
def test_errors_become_sentences(error, status, words, capsys):
    refused = refusal(error)
    assert refused.status == status
    assert words in refused.sentence
    assert "secret" not in refused.sentence
    assert ("secret" in capsys.readouterr().err) == (status == 500)  # for the terminal alone


def test_a_taken_port_is_a_sentence_and_the_usual_one_gives_way():
    with Explorer() as first:
        taken = int(first.server_address[1])
        with pytest.raises(gs.ParameterError, match=f"port = {taken}"):
            explore(port=taken, browser=False)
        with listening("127.0.0.1", None, usual=taken) as second:
            assert second.server_address[1] != taken
            assert len(first.token) >= 32
            assert first.token != second.token
            assert second.link == f"{second.url}?token={second.token}"
    with pytest.raises(gs.ParameterError, match="65535"):
        explore(port=99999, browser=False)
    with pytest.raises(gs.ParameterError, match=r"host = 'no\.such\.host\.invalid'"):
        explore("no.such.host.invalid", browser=False)


@pytest.mark.posix
@pytest.mark.parametrize(("end", "status", "words"), [("SIGINT", 0, "the explorer has ended\n"), ("SIGKILL", -9, "")])
def test_the_command_serves_until_it_is_ended_and_leaves_nothing_at_work(end, status, words):
    command = [sys.executable, "-m", "giantstep", "explore", "--no-browser", "--port", "0"]
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # which this run itself may ignore
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed, start_new_session=True)
    try:
        assert process.stderr is not None
        link = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{32})", process.stderr.readline())
        assert link is not None
        with urllib.request.urlopen(link.group()) as page:
            assert b"giantstep" in page.read()
        with simulating(("127.0.0.1", int(link.group(1))), link.group(2), d=3000):
            started = psutil.Process(process.pid).children(recursive=True)
            # Ctrl-C in a terminal is heard by the processes that it has started, too
            (os.killpg if end == "SIGINT" else os.kill)(process.pid, getattr(signal, end))
            _, rest = process.communicate(timeout=60)
        assert (process.returncode, rest) == (status, words)
        _, alive = psutil.wait_procs(started, timeout=20)  # long before the first trial ends
        assert len(started) > 3
        assert not alive
    finally:
        process.kill()
        process.communicate()
