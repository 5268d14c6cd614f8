"""Everything works where the operating system is not Linux: each is played here by taking away what it lacks.

The type checker knows the names that each system has; `make platforms` has it look at the whole package as macOS and
as Windows would see it. Here the package runs without them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ACTING = """
import os, select, signal, sys
from types import SimpleNamespace

played = os.environ["PLAYED"]
sys.modules["fcntl"] = None if played == "win32" else sys.modules.get("fcntl")
for module, names in {
    os: ["sched_getaffinity", "O_NOFOLLOW", "O_NONBLOCK", "pread", "nice", "fchmod"],
    select: ["poll", "epoll"],
    signal: ["pthread_sigmask", "SIG_BLOCK"],
}.items():
    for name in names:
        if played == "win32" or name in ("sched_getaffinity", "epoll"):
            delattr(module, name)

import multiprocessing.context
contexts = multiprocessing.context._concrete_contexts
if played == "win32":
    os.supports_fd.clear()  # os.chmod wants a path
    multiprocessing.set_start_method("spawn")
    contexts.pop("forkserver"), contexts.pop("fork")

import giantstep.runtime.system
giantstep.runtime.system.sys = SimpleNamespace(platform=played)
"""

PARTS = {
    "theory, files and pictures": """
import giantstep as gs
net = gs.Network("tanh", eta=1, alpha0=1)
curve = gs.predict(net, "sin", alpha=[0.5, 1.0], lam=0.1)
for ending in ("nc", "json", "csv"):
    for _ in range(2):  # the second replaces the first
        gs.save(curve, f"{folder}/a.{ending}")
assert gs.load(f"{folder}/a.nc").identical(curve)
gs.plot(curve).figure.savefig(f"{folder}/a.png")
from giantstep.cli import main
for words in (f"predict --eta 1 --alpha0 1 --alpha 1 --lam 0.1 --out {folder}/b.csv", "figure basis --quick"):
    try:
        main([*words.split(), *(["--out", folder] if "figure" in words else [])])
    except SystemExit as ended:
        assert not ended.code, words
""",
    "simulation and sweeps": """
from pathlib import Path
import giantstep as gs
from giantstep.sweep import Store
from giantstep.sweep.store import StoreError
store = Path(folder) / "s.sqlite"
net = gs.Network("tanh", eta=[1, 2], alpha0=1)
assert gs.simulate(net, lambda z: z**3, alpha=1.0, lam=0.1, d=20, trials=3, workers=2).sizes["trial"] == 3
sweep = gs.Sweep(net, "sin", alpha=1.0, lam=0.1, theory=True)
assert gs.run_sweep(sweep, store, workers=2).done
with Store.writing(store):
    try:
        with Store.writing(store):
            raise AssertionError
    except StoreError as refusal:
        assert "is being written by another process" in str(refusal), refusal
assert [path.name for path in Path(folder).iterdir()] == ["s.sqlite"]
""",
    "explorer": """
import json, threading, urllib.request
from giantstep.explorer import Explorer
server = Explorer()
assert server.allow_reuse_address == (played != "win32")
threading.Thread(target=server.serve_forever, daemon=True).start()
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"}
for view in ("bounds", "optimum"):  # of the two kinds of process: quick, and one that lets others go first
    asked = urllib.request.Request(f"{server.url}api/{view}", b'{"bulk": "isotropic"}', headers)
    with urllib.request.urlopen(asked, timeout=100) as answer:
        assert "error" not in json.loads(answer.readline())
server.shutdown()
server.server_close()
""",
}


@pytest.mark.linux  # which has all that is taken away
@pytest.mark.parametrize(
    ("played", "part"),
    [*(("win32", part) for part in PARTS), ("darwin", "explorer"), ("darwin", "simulation and sweeps")],
)
def test_it_works_without_what_another_system_lacks(part: str, played: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ACTING)  # every process plays, also those that are started
    (folder := tmp_path / "folder").mkdir()
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"PYTHONPATH": path, "PLAYED": played, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    words = [sys.executable, "-c", "import os, sys\nplayed, folder = sys.argv[1:]" + PARTS[part], played, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Traceback") == 0, done.stderr
