"""How long the explorer's page waits for each of its views, over HTTP, for settings that were not asked before."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from giantstep.explorer import Explorer

QUICK = ("curve", "random_features", "bounds", "learned", "coefficients", "landscape")
SLOW = ("optimum", "spectrum")


def seconds(server: Explorer, view: str, settings: dict[str, Any]) -> float:
    """From the question to the end of the answer."""
    connection = http.client.HTTPConnection(*server.server_address[:2])
    begun = time.perf_counter()
    connection.request("POST", f"/api/{view}", json.dumps(settings), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    assert response.status == 200, text
    connection.close()
    return time.perf_counter() - begun


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


def main() -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; start of the server {start():.2f} s")
    with Explorer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        print(f"first answer, while the library loads: {seconds(server, 'bounds', {}):.2f} s")
        for bulk in ("isotropic", "exact"):
            for view in (*QUICK, *SLOW):
                repeats = 3 if view in SLOW else 9
                times = [
                    seconds(server, view, {"bulk": bulk, "beta": 1 + k / 100}) for k in range(1, repeats + 1)
                ]
                again = seconds(server, view, {"bulk": bulk, "beta": 1.01})
                print(
                    f"{view:16} {bulk:10} median {statistics.median(times) * 1e3:6.0f} ms,"
                    f" longest {max(times) * 1e3:6.0f} ms, again {again * 1e3:3.0f} ms"
                )
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    main()
