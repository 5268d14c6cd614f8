"""How long the explorer's page waits for each of its views, over HTTP, for settings that were not asked before; and,
where chromium and playwright are there, how often a new curve follows a slider and what an answer costs the page. Times
by the clock depend on what else the machine does; processor times, those of a single thread, hardly.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from threadpoolctl import threadpool_limits

from giantstep.explorer import Explorer
from giantstep.explorer.settings import Settings
from giantstep.explorer.views import VIEWS

QUICK = ("curve", "curve/draft", "random_features", "bounds", "learned", "coefficients", "landscape", "landscape/draft")
SLOW = ("optimum", "spectrum")
DRAGGED = {"tanh": "", "relu": "#activation=relu", "huber loss": "#loss=huber:0.5"}
DRAG_SECONDS = 6
DRAG = """async (seconds) => {
  const slider = document.querySelector("#slide-eta"), box = document.querySelector("#curve .chart");
  const middle = () => { const { y } = box.data.find(({ meta }) => meta === "main"); return y[y.length >> 1]; };
  const answers = () => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/")).length;
  performance.setResourceTimingBufferSize(100_000);
  let curves = 0, last = middle();
  const before = answers(), begun = performance.now();
  for (let k = 0; performance.now() - begun < 1000 * seconds; k += 1) {
    slider.value = 80 + Math.round(60 * Math.sin(k / 40));
    slider.dispatchEvent(new Event("input"));
    await new Promise((done) => setTimeout(done, 33));
    if (middle() !== last) curves += 1;
    last = middle();
  }
  return [curves, answers() - before];
}"""


def seconds(server: Explorer, view: str, settings: dict[str, Any]) -> float:
    """From the question to the end of the answer."""
    host, port = server.server_address[:2]
    connection = http.client.HTTPConnection(str(host), int(port))
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"}
    begun = time.perf_counter()
    connection.request("POST", f"/api/{view}", json.dumps(settings), headers)
    response = connection.getresponse()
    text = response.read()
    assert response.status == 200, text
    connection.close()
    return time.perf_counter() - begun


def processor_seconds(view: str, settings: dict[str, Any]) -> float:
    """What a process computes for one answer, waiting for nobody."""
    name, _, manner = view.partition("/")
    asked = Settings.parse(settings).only(VIEWS[name].uses)
    begun = time.process_time()
    VIEWS[name].answer(asked, manner == "draft")
    return time.process_time() - begun


def start() -> float:
    """From the command to a page that is served."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "giantstep", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        waited = time.perf_counter() - begun
        process.terminate()
    return waited


def curves_in_a_row(server: Explorer, activation: str) -> float:
    """Drafts of a network's curve that come one after another in a second, each of a new learning rate."""
    times = [seconds(server, "curve/draft", {"activation": activation, "eta": 2 + k / 997}) for k in range(40)]
    return 1 / statistics.median(times)


def dragging(server: Explorer) -> None:
    """New curves per second while a slider moves, and what each costs the page, in chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for name, address in DRAGGED.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.link}{address}")
            page.wait_for_selector("html[data-ready=true]", state="attached")
            page.wait_for_selector(".card.busy", state="detached", timeout=120_000)
            tools = page.context.new_cdp_session(page)
            tools.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time, not the clock
            begun = _spent(tools)
            curves, answers = page.evaluate(DRAG, DRAG_SECONDS)
            whole = _spent(tools) - begun
            page.wait_for_selector(".card.busy", state="detached", timeout=120_000)
            page.route("**/api/**", lambda route: None)  # nobody answers: what is left is the slider's own
            begun = _spent(tools)
            page.evaluate(DRAG, DRAG_SECONDS)
            idle = _spent(tools) - begun
            print(
                f"{name:12} {curves / DRAG_SECONDS:4.1f} new curves a second at a load of {os.getloadavg()[0]:.1f};"
                f" processor time of the page {1e3 * (whole - idle) / max(answers, 1):.1f} ms for each of {answers}"
                f" answers, beside {1e3 * idle / DRAG_SECONDS:.0f} ms a second for the slider itself"
            )
            page.close()
        browser.close()


def _spent(tools: Any) -> float:
    """Processor time of the page's main thread so far: scripts, styles, layout and painting."""
    metrics = tools.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def main() -> None:
    threadpool_limits(1)  # as in the explorer's processes
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; start of the server {start():.2f} s")
    with Explorer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        print(f"first answer, while the library loads: {seconds(server, 'bounds', {}):.2f} s")
        for activation in ("tanh", "relu"):
            print(f"{activation}: {curves_in_a_row(server, activation):.0f} drafts of the curve a second")
        for bulk in ("isotropic", "exact"):
            for view in (*QUICK, *SLOW):
                repeats = 3 if view in SLOW else 9
                place = 2 if view.endswith("draft") else 1  # what is known in full is not drafted
                asked = [{"bulk": bulk, "beta": place + k / 100} for k in range(1, repeats + 1)]
                times = [seconds(server, view, settings) for settings in asked]
                again = seconds(server, view, asked[0])
                spent = min(processor_seconds(view, settings) for settings in asked)
                print(
                    f"{view:16} {bulk:10} median {statistics.median(times) * 1e3:6.0f} ms,"
                    f" longest {max(times) * 1e3:6.0f} ms, again {again * 1e3:3.0f} ms;"
                    f" processor time, shortest {spent * 1e3:6.1f} ms"
                )
        if shutil.which("chromium") and importlib.util.find_spec("playwright"):
            dragging(server)
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    main()
