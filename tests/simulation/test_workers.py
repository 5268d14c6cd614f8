"""Worker processes, as real processes of real scripts: no script runs twice, and every end has its own words."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import closing
from multiprocessing import resource_tracker, spawn
from pathlib import Path

import numpy as np
import psutil
import pytest

from giantstep import Function, Network, SpikedRF, simulate
from giantstep.runtime.workers import NoWorker, WorkerDied, Workers, process_pool, tell
from giantstep.simulation.schedule import TrialError

DOCS = Path(__file__).parents[2] / "docs"
SETTING = {"alpha": 1.0, "lam": 0.1, "d": 20, "trials": 2}

SCRIPT = """
import giantstep as gs

print("begun", flush=True)

def cube(x):
    return x**3

mine, net = gs.Function(lambda x: cube(x) / 6), gs.Network("tanh", eta=1, alpha0=1)
found = gs.simulate(net, mine, alpha=1, lam=0.1, d=20, trials=3, workers={workers})
print(found.test_error.values.tolist())
"""


def script(text: str, folder: Path, given: str = "file") -> tuple[str, str]:
    """What a script prints, on standard output and error; it may come as a file, by pipe, or as an argument."""
    (folder / "script.py").write_text(text)
    words = {"file": ["script.py"], "pipe": ["-"], "argument": ["-c", text]}[given]
    how = {"capture_output": True, "text": True, "cwd": folder, "timeout": 120}
    done = subprocess.run([sys.executable, *words], input=text, env=os.environ | {"OMP_NUM_THREADS": "1"}, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_script_without_a_main_guard_simulates_with_workers(tmp_path):
    alone, _ = script(SCRIPT.format(workers=1), tmp_path)
    for given in ("file", "pipe", "argument"):
        together, complaint = script(SCRIPT.format(workers=2), tmp_path, given)
        assert together == alone
        assert together.count("begun") == 1
        assert complaint == ""


def test_the_sweep_of_the_documentation_runs_as_it_stands(tmp_path):
    (example,) = re.findall(r"```python\n(import numpy.*?)```", (DOCS / "sweeps.md").read_text(), re.DOTALL)
    small = example.replace('"d": 500', '"d": 20').replace('"trials": 20', '"trials": 2')
    assert small != example
    out, complaint = script(small + "\nprint(results.simulation.attrs['missing'])", tmp_path)
    assert (out, complaint) == ("0\n", "")


def pid(_: int) -> int:
    time.sleep(0.2)  # so that no worker does all
    return os.getpid()


@pytest.mark.posix
def test_a_death_takes_one_job_and_the_others_are_done():
    with process_pool(2, 1) as pool:
        futures: list[Future] = [pool.submit(pid, n) for n in range(3)]
        deadly = pool.submit(_die)
        futures += [pool.submit(pid, n) for n in range(3)]
        with pytest.raises(WorkerDied, match=r"killed, perhaps for want of memory"):
            deadly.result(60)
        assert len({future.result(60) for future in futures}) >= 2
        with pytest.raises(WorkerDied, match="exit status 3"):
            pool.submit(os._exit, 3).result(60)
        with pytest.raises(WorkerDied, match="Segmentation fault"):
            pool.submit(_die, signal.SIGSEGV).result(60)


def _die(how: int = 9) -> None:
    os.kill(os.getpid(), how)


@pytest.mark.posix
def test_a_worker_that_does_not_start_is_no_death(monkeypatch):
    resource_tracker.ensure_running()  # by this Python
    monkeypatch.setattr(spawn, "_python_exe", b"/no/such/python")  # as multiprocessing.set_executable does
    said = r"do not start: the process ended while it started \(exit status 255\); with workers = 1"
    with pytest.raises(NoWorker, match=said):
        simulate(Network("tanh", 1.0, 1.0), "sin", workers=2, **SETTING)


def test_a_worker_that_cannot_import_giantstep_says_so(monkeypatch, tmp_path):
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("raise ImportError('this is not numpy')")
    monkeypatch.syspath_prepend(tmp_path)  # ours is imported already, the worker's is not
    with process_pool(1, 1) as pool, pytest.raises(NoWorker, match="this is not numpy"):
        pool.submit(pid, 0).result(60)


class Picky(Exception):
    """One that pickle cannot make again."""

    def __init__(self, one, two):
        super().__init__(one)


def raising(kind, *words):
    raise kind(*words)


def test_errors_come_back_with_the_place_where_they_were_raised():
    with process_pool(1, 1) as pool:
        with pytest.raises(ZeroDivisionError, match="mine") as caught:
            pool.submit(raising, ZeroDivisionError, "mine").result(60)
        assert "in raising" in str(caught.value.__cause__)
        with pytest.raises(RuntimeError, match="Picky: one"):
            pool.submit(raising, Picky, "one", "two").result(60)
        with pytest.raises(RuntimeError, match="SystemExit: 5"):
            pool.submit(raising, SystemExit, 5).result(60)
        assert pool.submit(abs, -1).result(60) == 1


def threads() -> tuple[str, set[int]]:
    from threadpoolctl import threadpool_info

    return os.environ["OMP_NUM_THREADS"], {library["num_threads"] for library in threadpool_info()}


@pytest.mark.parametrize("forked", [False, True])  # where linear algebra is loaded before a worker is there
@pytest.mark.parametrize("count", [1, 2])
def test_workers_have_the_threads_that_they_are_given(count, forked):
    with closing(Workers(1, count, "scipy.linalg", forked)) as pool:
        assert pool.submit(threads).result(60) == (str(count), {count})


def telling(values: list[int]) -> int:
    for value in values:
        tell(value)
    return sum(values)


def test_a_job_tells_something_in_the_middle_and_may_be_left_there():
    told: list[int] = []
    with closing(Workers(1, 1, "numpy")) as pool:
        assert pool.do(telling, [1, 2], hear=told.append) == 3
        (before,) = pool.alive

        def look() -> None:
            raise Impatient

        with pytest.raises(Impatient):
            pool.do(abs, -1, look=look)
        assert pool.alive == {before}  # it had not begun
        began = time.monotonic()
        with pytest.raises(Impatient):
            pool.do(telling_and_sleeping, hear=lambda told: look())
        assert time.monotonic() - began < 10
        (after,) = pool.alive - {before}  # which was ended; another is there before it is needed
        assert (before.process.is_alive(), after.process.is_alive()) == (False, True)
        assert pool.do(abs, -1) == 1


class Impatient(Exception):
    pass


def telling_and_sleeping() -> None:
    tell(1)
    time.sleep(600)


@pytest.mark.posix
def test_lost_processes_are_a_sentence_of_simulate():
    class Broken:
        def submit(self, function, task):
            future = Future()
            future.set_exception(BrokenExecutor("gone"))
            return future

    lost = "trial 0 of seed 0 at d=20 was lost: .*"
    with pytest.raises(TrialError, match=f"{lost}try fewer workers"):
        simulate(SpikedRF(Function(lambda x: _die()), 0.5, 0.5), "sin", workers=2, **SETTING)
    with pytest.raises(TrialError, match=rf"{lost}the executor lost its processes \(gone\)"):
        simulate(SpikedRF("tanh", 0.5, 0.5), "sin", executor=Broken(), **SETTING)


def test_workers_of_simulate_share_the_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    counting = Function(lambda x: np.tanh(x) * int(os.environ["OMP_NUM_THREADS"]))
    one, plain = (simulate(SpikedRF(own, 0.5, 0.5), "sin", workers=2, **SETTING) for own in (counting, "tanh"))
    np.testing.assert_allclose(one.m, plain.m, rtol=1e-9)


def test_nothing_is_left_when_the_block_is_left_early():
    with process_pool(2, 1) as pool:
        running = [pool.submit(pid, 0).result(60), pool.submit(pid, 0).result(60)]
        busy, waiting = [pool.submit(time.sleep, 600) for _ in range(2)], pool.submit(pid, 0)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert not any(psutil.pid_exists(number) for number in running)
    assert all(future.done() for future in busy)
    with pytest.raises(CancelledError):
        waiting.result(0)


BUSY = """
import time
from giantstep.runtime.workers import process_pool
with process_pool(2, 1) as pool:
    print(pool.submit(abs, -1).result(), flush=True)
    [future.result() for future in [pool.submit(time.sleep, 600) for _ in range(2)]]
"""


@pytest.mark.posix
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_workers_end_with_their_parent_also_in_the_middle_of_a_job(name):
    ending = getattr(signal, name)
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "1\n"
            time.sleep(0.3)  # until both have a job
            workers = psutil.Process(parent.pid).children(recursive=True)
            assert len(workers) >= 2  # and multiprocessing's own
            if ending == signal.SIGINT:  # as a terminal does: to the workers as well
                os.killpg(parent.pid, ending)
            else:
                parent.send_signal(ending)
            _, complaint = parent.communicate(timeout=20)
        finally:
            parent.kill()
    assert complaint.count("Traceback") == (ending == signal.SIGINT)  # the script's own, not the workers'
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive
