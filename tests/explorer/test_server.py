"""The server's manners: what it serves, what it refuses, and that no work outlives those who wait for it."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import giantstep as gs
from giantstep.explorer import Explorer, explore, jobs, plotly
from giantstep.explorer.browser import opened
from giantstep.explorer.settings import Settings
from giantstep.explorer.views import VIEWS, View
from giantstep.explorer.workers import _live, messages

from .conftest import Visitor

JSON = {"Content_Type": "application/json"}


def test_the_page_and_all_that_it_loads_are_served(visitor: Visitor) -> None:
    status, headers, page = visitor.request("GET", "/")
    assert status == 200
    policy = dict(part.split(maxsplit=1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["script-src"] == "'self'"  # no inline script, no text as code
    assert policy["default-src"] == "'none'"
    assert [name for name, value in policy.items() if "unsafe" in value] == ["style-src-attr"]  # for Plotly
    wanted, seen = set(re.findall(r'(?:src|href)="([\w.]+)"', page.decode())), set()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        status, headers, body = visitor.request("GET", f"/{name}")
        assert status == 200, name
        assert headers["X-Content-Type-Options"] == "nosniff"
        wanted |= set(re.findall(r'from "\./([\w.]+)"', body.decode())) - seen
    assert {"main.js", "chart.js", "style.css", "icon.svg"} <= seen
    assert "plotly.min.js" not in {path.strip("/") for path in visitor.server.pages}  # nothing is vendored
    assert {f"/{name}" for name in seen} | {"/", "/index.html"} == set(visitor.server.pages)


def test_the_page_asks_no_other_machine_and_reads_no_text_as_html(visitor: Visitor) -> None:
    for name, (_, body) in visitor.server.pages.items():
        addresses = set(re.findall(r"https?://[^\"'\s]+", body.decode())) - {"http://www.w3.org/2000/svg"}
        assert not addresses, name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", body.decode()
        ), name


def test_plotly_comes_from_its_package_and_may_be_kept(visitor: Visitor) -> None:
    script = plotly.script()
    assert script is not None
    status, headers, body = visitor.request("GET", f"/plotly.min.js?{plotly.version()}")
    assert (status, body) == (200, script.read_bytes())
    assert "immutable" in headers["Cache-Control"]
    assert visitor.request("GET", "/")[1]["Cache-Control"] == "no-store"


def test_without_plotly_the_page_is_told_what_to_install(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plotly, "find_spec", lambda name: None)
    about = json.loads(visitor.request("GET", "/api/about")[2])
    assert about["plotly"] is None
    assert "giantstep[explore]" in about["missing"]
    assert visitor.request("GET", "/plotly.min.js")[0] == 404


def test_the_page_knows_every_setting_and_view(visitor: Visitor) -> None:
    about = json.loads(visitor.request("GET", "/api/about")[2])
    assert {control["name"]: control["initial"] for control in about["controls"]} == asdict(Settings())
    limits = {control["name"]: (control.get("low"), control.get("high")) for control in about["controls"]}
    assert limits["lam"] == (0, 1e6)
    assert set(about["views"]) == set(VIEWS)
    used = {name for view in VIEWS.values() for name in view.uses}
    drawn = {"quantity", "untrained", "linear", "best", "limits", "model"}  # the page itself heeds these
    assert used | drawn == set(asdict(Settings()))  # no control without effect


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "Basic abc", "Bearer é"])
def test_nobody_asks_without_the_token(visitor: Visitor, given: str) -> None:
    for status, _, body in (
        visitor.request("GET", "/api/about", Authorization=given),
        visitor.request("POST", "/api/bounds", b"{}", **JSON, Authorization=given),
    ):
        assert status == 401
        assert "the whole link" in json.loads(body)["error"]
    assert visitor.request("GET", "/", Authorization=given)[0] == 200  # the page itself holds no secret


def test_each_server_has_a_token_of_its_own(visitor: Visitor) -> None:
    with Explorer() as other:
        assert other.token != visitor.server.token
        assert len(other.token) >= 32
        assert other.link == f"{other.url}?token={other.token}"


def test_a_browser_is_led_to_the_link_by_a_file_of_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr("webbrowser.open", asked.put)
    with opened("http://127.0.0.1:1/?token=a&b"):
        address = asked.get(timeout=20)
        assert "token" not in address  # the command line of a browser can be read by everybody
        path = Path(address.removeprefix("file://"))
        assert path.stat().st_mode & 0o077 == 0
        assert "http://127.0.0.1:1/?token=a&amp;b" in path.read_text()
    assert not path.exists()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"eta": -1}, "Learning rate ÷ d (η̃) = -1"),
        ({"eta": "many"}, "many is not a number"),
        ({"eta": 1e300}, "Learning rate"),
        ({"lam": float("nan")}, "Ridge penalty"),
        ({"beta": float("inf")}, "Width"),
        ({"alpha": True}, "Fit samples"),
        ({"eta": [1, 2]}, "Learning rate"),
        ({"low": 3, "high": 2}, "from = 3"),
        ({"low": -1}, "from = -1"),
        ({"along": "r"}, "Runs along"),
        ({"along": "width"}, "Runs along"),
        ({"layer": "both"}, "both"),
        ({"layer": "spiked", "gamma": 1.5}, "Alignment"),
        ({"d": 10.5}, "d = 10.5"),
        ({"trials": 10**9}, "trials"),
        ({"finite": "yes"}, "finite"),
        ({"colour": "red"}, "colour"),
        ({"target": 3}, "Target"),
        ({"target": "x" * 5000}, "longer than 300"),
        ([1, 2], "JSON object"),
        ({"target": "__import__('os').system('id')"}, "column 12"),
        ({"target": "().__class__.__bases__"}, "dot"),
        ({"target": "(lambda: 1)()"}, "has no meaning here"),
        ({"target": "tanh(x"}, "not an expression"),
        ({"target": "exp(x**4)"}, ""),
        ({"activation": "tanhh"}, "did you mean 'tanh'"),
        ({"readout": "1:2:3:4"}, "Initial readout"),
        ({"loss": "hinge"}, "±1"),
        ({"loss": "nonsense"}, "nonsense"),
        ({"bulk": "round"}, "Model of its rows"),
    ],
)
def test_bad_values_get_a_sentence_in_the_page_s_words(visitor: Visitor, settings: Any, word: str) -> None:
    status, (answer,) = visitor.ask("curve", settings)
    assert status == 400
    assert word in answer["error"]
    assert "Traceback" not in answer["error"]
    assert "\n" not in answer["error"]


PYTHON = re.compile(
    r"\b(eta|alpha0?|lam|beta|gamma|bulk|flips|latent_noise)\b|SpikedRF|Network|Letters\(|\w\(\)|gs\."
)


@pytest.mark.parametrize(
    ("view", "settings", "word"),
    [
        ("curve", {"activation": "sign"}, "a spike, given directly"),
        ("curve", {"activation": "abs(x)**0.5"}, "a spike, given directly"),
        ("curve", {"activation": "floor(x)"}, "the box offers the names"),
        ("curve", {"bulk": "orthogonal"}, "Model of its rows = orthogonal"),
        ("curve", {"loss": "hinge"}, "Flipped signs"),
        ("curve", {"loss": "huber:0.5", "lam": 0}, "Ridge penalty (λ) must be positive"),
        ("curve", {"readout": "foo"}, "Initial readout (a₀) = foo"),
        ("curve", {"flips": 0.1, "noise": 0.2}, "Latent noise"),
        ("coefficients", {"readout": "rademacher", "steps": 2, "activation": "relu"}, "directions"),
        ("spectrum", {"readout": "rademacher", "steps": 2, "activation": "relu"}, "one spike"),
        ("curve", {"inputs": "blocks", "bias_scale": 1.0}, "isotropic inputs"),
        ("simulate", {"alpha0": "inf"}, "Step samples ÷ d (α₀)"),
    ],
)
def test_a_refusal_has_the_labels_of_the_page_and_no_python(
    visitor: Visitor, view: str, settings: Any, word: str
) -> None:
    _, lines = visitor.ask(view, settings)
    (sentence,) = [line["error"] for line in lines if "error" in line]
    assert word in sentence
    assert not PYTHON.search(sentence)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"eta": -1}, "eta"),
        ({"d": 5}, "d"),
        ({"low": 9}, "low"),
        ({"activation": "tanhh"}, "activation"),
        ({"target": "tanh("}, "target"),
        ({"target": "exp(x**4)"}, "target"),
        ({"readout": "1:2:3:4"}, "readout"),
        ({"loss": "nonsense"}, "loss"),
        ({"loss": "hinge"}, "loss"),
        ({"loss": "hinge", "flips": 0.1, "noise": 0.2}, "noise"),
        ({"loss": "huber:0.5", "lam": 0}, "lam"),
        ({"activation": "sign"}, "activation"),
        ({"loss": "huber:-1"}, "loss"),
    ],
)
def test_a_refusal_names_the_setting_that_is_to_blame(
    visitor: Visitor, settings: Any, field: str | None
) -> None:
    status, (answer,) = visitor.ask("curve", settings)
    assert (status, answer.get("field")) == (400, field)


@pytest.mark.parametrize(
    "settings", [{"eta": 1e3, "lam": 0}, {"alpha0": "inf", "beta": 100}, {"beta": 0.01, "lam": 1e6}]
)
def test_extreme_values_within_the_limits_are_answered(visitor: Visitor, settings: dict[str, Any]) -> None:
    status, (answer, *_) = visitor.ask("curve", settings | {"bulk": "isotropic"})
    assert (status, "error" in answer) in {(200, False), (400, True)}


def test_only_the_own_page_may_ask(visitor: Visitor) -> None:
    own = f"{visitor.host}:{visitor.port}"
    refused: list[tuple[int, dict[str, str]]] = [
        (403, JSON | {"Host": "evil.example"}),
        (403, JSON | {"Host": f"evil.example:{visitor.port}"}),
        (403, JSON | {"Host": own, "Origin": "http://evil.example"}),
        (403, JSON | {"Host": own, "Origin": "null"}),
        (415, {"Host": own, "Content_Type": "text/plain"}),
    ]
    for status, headers in refused:
        assert visitor.request("POST", "/api/coefficients", b"{}", **headers)[0] == status, headers
    assert visitor.request("GET", "/", Host="evil.example")[0] == 403
    assert (
        visitor.request("POST", "/api/coefficients", b"{}", **JSON, Host=own, Origin=f"http://{own}")[0]
        == 200
    )
    assert visitor.request("GET", "/", Host=f"localhost:{visitor.port}")[0] == 200
    assert visitor.request("GET", "/", Host="[::1]:80")[0] == 200


@pytest.mark.parametrize(
    "path", ["/../server.py", "/%2e%2e/server.py", "/page/index.html", "/api/curve", "/nothing"]
)
def test_nothing_else_is_served(visitor: Visitor, path: str) -> None:
    assert visitor.request("GET", path)[0] == 404


def test_broken_questions_are_refused(visitor: Visitor) -> None:
    assert visitor.request("POST", "/api/curve", b"{", **JSON)[0] == 400
    assert visitor.request("POST", "/api/curve", b"[" * 10_000, **JSON)[0] == 400
    assert visitor.request("POST", "/api/curve", b" " * 20_000, **JSON)[0] == 413
    assert visitor.request("POST", "/api/curve", b"", **JSON, Content_Length="-5")[0] == 411
    assert visitor.request("POST", "/api/nonsense", b"{}", **JSON)[0] == 404
    assert visitor.request("POST", "/", b"{}", **JSON)[0] == 404
    assert visitor.request("PUT", "/api/curve", b"{}", **JSON)[0] == 501


def test_equal_questions_are_computed_once(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    first = visitor.ask("bounds", {"eta": 1.7, "lam": 1})
    monkeypatch.setattr(visitor.server.jobs, "_computed", None)
    assert visitor.ask("bounds", {"eta": 1.7, "lam": 2}) == first  # bounds do not depend on the penalty


def test_work_ends_when_nobody_waits(visitor: Visitor) -> None:
    body = json.dumps({"d": 1500, "trials": 50}).encode()
    head = f"POST /api/simulate HTTP/1.0\r\nHost: {visitor.host}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {visitor.server.token}\r\n"
    with socket.create_connection((visitor.host, visitor.port)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert connection.recv(20).startswith(b"HTTP/1.0 200")  # it has begun
        (worker,) = visitor.server.jobs.workers.busy
    wait_until(lambda: not worker.process.is_alive() and not visitor.server.jobs.workers.busy)


@pytest.mark.posix
def test_a_worker_answers_again_and_is_replaced_only_when_it_was_ended(visitor: Visitor) -> None:
    def waiting() -> set[int]:
        return {worker.process.pid for worker in visitor.server.jobs.workers._idle["quick"]}

    visitor.ask("bounds", {"eta": 1.11})
    wait_until(lambda: len(waiting()) == 2)
    before = waiting()
    assert visitor.ask("bounds", {"eta": 1.12})[0] == 200
    assert visitor.ask("curve", {"target": "tanh("})[0] == 400  # nor does a refusal end it
    wait_until(lambda: waiting() == before)
    body = json.dumps({"along": "eta", "low": 0.1, "high": 10, "activation": "relu", "noise": 0.123}).encode()
    head = f"POST /api/curve HTTP/1.0\r\nHost: {visitor.host}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {visitor.server.token}\r\n"
    with socket.create_connection((visitor.host, visitor.port)) as connection:
        for pid in before:
            os.kill(pid, signal.SIGSTOP)  # slow, whatever the machine
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: bool(visitor.server.jobs.workers.busy))
        (worker,) = visitor.server.jobs.workers.busy
        for pid in before - {worker.process.pid}:
            os.kill(pid, signal.SIGCONT)
    wait_until(lambda: len(waiting()) == 2 and worker.process.pid not in waiting())
    assert visitor.ask("bounds", {"eta": 1.13})[0] == 200


def test_work_that_takes_too_long_ends_with_a_sentence(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_LONGEST_VIEW", 0.0)
    status, (answer,) = visitor.ask("optimum", {"eta": 1.9})
    assert status == 503
    assert "too long" in answer["error"]
    wait_until(lambda: not visitor.server.jobs.workers.busy)


def test_too_many_questions_are_refused(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MOST_WAITING", 0)
    assert visitor.ask("bounds", {"eta": 1.77})[0] == 503


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (gs.ParameterError("eta = 3 is not allowed"), "refused", "(η̃) = 3"),
        (gs.ConvergenceError("2 points\nfailed", None), "refused", "2 points failed"),
        (MemoryError(), "refused", "extreme"),
        (KeyError("secret"), "failed", "KeyError"),
    ],
)
def test_errors_become_sentences(
    error: Exception,
    kind: str,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(settings: Settings, effort: Any) -> Any:
        yield {"trial": 0}
        raise error

    monkeypatch.setitem(VIEWS, "bounds", View(fail, (), lambda settings: "quick"))
    first, (said, (text, _)) = messages("bounds", Settings())
    assert first == ("line", '{"trial": 0}')
    assert said == kind
    assert word in text
    assert "secret" not in text
    assert ("Traceback" in capsys.readouterr().err) == (kind == "failed")


def test_a_taken_port_is_a_sentence_and_the_usual_one_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    from giantstep.explorer import server as module

    with Explorer() as first:
        taken = int(first.server_address[1])
        with pytest.raises(gs.ParameterError, match=f"port = {taken}"):
            explore(port=taken, browser=False)
        monkeypatch.setattr(module, "PORT", taken)
        with module._listening("127.0.0.1", None) as second:
            assert second.server_address[1] != taken
    with pytest.raises(gs.ParameterError, match="65535"):
        explore(port=99999, browser=False)
    with pytest.raises(gs.ParameterError, match=r"host = 'no\.such\.host\.invalid'"):
        explore("no.such.host.invalid", browser=False)


@pytest.mark.posix
def test_the_command_serves_until_interrupted() -> None:
    command = [sys.executable, "-m", "giantstep", "explore", "--no-browser", "--port", "0"]
    heed = partial(
        signal.signal, signal.SIGINT, signal.SIG_DFL
    )  # this run itself may have been told to ignore it
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=heed, start_new_session=True
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", process.stderr.readline())
        assert found is not None
        with urllib.request.urlopen(found.group()) as page:
            assert b"giantstep" in page.read()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the processes that it has started, too
        _, rest = process.communicate(timeout=30)
        assert process.returncode == 0
        assert rest == "the explorer has ended\n"
    finally:
        process.kill()
        process.communicate()


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_script_without_a_guard_can_explore(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import json, threading, urllib.request
from giantstep.explorer import Explorer
print("began", flush=True)
server = Explorer()
threading.Thread(target=server.serve_forever, daemon=True).start()
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"}
asked = urllib.request.Request(f"{server.url}api/bounds", b'{"bulk": "isotropic"}', headers)
with urllib.request.urlopen(asked, timeout=100) as answer:
    print(sorted(json.loads(answer.readline())))
server.shutdown()
server.server_close()
"""
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    began, answered = done.stdout.splitlines()  # once, not again in each process
    assert began == "began"
    assert "'lower'" in answered


def test_a_process_whose_answer_nobody_reads_ends_quietly() -> None:
    """The explorer ends between two lines of an answer: the connection is reset, which is no failure of anybody's."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=_live, args=("quick", theirs))
    process.start()
    theirs.close()
    ours.send(("bounds", Settings(bulk="isotropic"), False))
    assert ours.poll(60)  # an answer is there, and stays unread
    ours.close()
    process.join(60)
    assert process.exitcode == 0
