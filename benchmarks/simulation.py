"""How long one simulated trial takes, where the time goes, and how it compares with the straightforward way.

    python benchmarks/simulation.py                          # d = p = 2000, n up to 3d, 10 lams, 6 alphas
    python benchmarks/simulation.py --device cuda --d 10000 --alphas 2   # on a GPU, float64 and float32

    OMP_NUM_THREADS=1 python benchmarks/simulation.py --cpu-time   # on a machine that others use too

The straightforward way draws fresh data for every alpha, forms the Gram matrix, and inverts it for every lam; it
tests on 2d fresh samples. Both are given the same random numbers, so their readouts must agree.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from giantstep.model.spiked import SpikedRF
from giantstep.model.target import Target
from giantstep.runtime.threads import allowed_threads
from giantstep.simulation.backend import MANY_LAMS, Backend, make_backend
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Draws, Purpose
from giantstep.simulation.first_layer import first_layer
from giantstep.simulation.trial import Task, run_trial

clock = time.perf_counter
MODEL, TARGET = SpikedRF("tanh", r=0.9, gamma=0.8), Target("sin", noise=0.1)


class Ledger:
    """Seconds and operations by kind of work. Only the outermost kind counts."""

    def __init__(self, synchronise: Callable[[], None]):
        self.seconds, self.operations = defaultdict(float), defaultdict(float)
        self.synchronise, self.open = synchronise, False

    @contextmanager
    def entry(self, kind: str, operations: float):
        if self.open:
            yield
            return
        self.open = True
        self.synchronise()
        start = clock()
        yield
        self.synchronise()
        self.seconds[kind] += clock() - start
        self.operations[kind] += operations
        self.open = False


def watch(backend: Backend, ledger: Ledger) -> None:
    """Have the backend's products and solves, and the draws, enter themselves in the ledger."""

    def timed(name: str, kind: str, count: Callable[..., float]) -> None:
        original = getattr(backend, name)

        def method(*arguments: Any) -> Any:
            with ledger.entry(kind, count(*arguments)):
                return original(*arguments)

        setattr(backend, name, method)

    def product(a: Any, b: Any) -> float:
        return 2.0 * np.prod(a.shape) * (b.shape[1] if b.ndim > 1 else 1)

    def solves(matrix: Any, right: Any, lams: Any) -> float:
        return matrix.shape[0] ** 3 / 3 * min(len(lams), MANY_LAMS)

    timed("matmul", "products", product)
    timed("add_product", "products", lambda total, a, b: product(a, b))
    timed("add_gram", "products", lambda total, rows: rows.shape[0] * rows.shape[1] ** 2.0)
    timed("solve_shifted", "factorisations", solves)
    draw = Draws.normal

    def normal(draws: Draws, batch: int, kind: Any, start: int, stop: int, width: int) -> Any:
        with ledger.entry("draws", (stop - start) * width):
            return draw(draws, batch, kind, start, stop, width)

    Draws.normal = normal


def straightforward(task: Task) -> np.ndarray:
    """|a|²/p of every point, the obvious way in numpy."""
    draws = Draws(task.seed, task.trial, make_backend())
    layer = first_layer(task.model, task.target, task.d, draws)
    p, q2 = len(layer.rows), []
    for n in sorted({n for n, _ in task.points}):
        train = Data(Purpose.TRAIN, task.target, layer.theta, draws).block(0, n)
        test = Data(Purpose.TEST, task.target, layer.theta, draws).block(0, 2 * task.d)
        phi = np.tanh(train.inputs @ layer.rows.T) / np.sqrt(p)
        phi_test = np.tanh(test.inputs @ layer.rows.T) / np.sqrt(p)
        gram, correlation = phi.T @ phi, phi.T @ train.labels
        for lam in [lam for size, lam in task.points if size == n]:
            readout = np.linalg.inv(gram + lam * np.eye(p)) @ correlation
            ((test.clean - phi_test @ readout) ** 2).mean()
            q2.append(readout @ readout / p)
    return np.array(q2)


def matmul_rate(backend: Backend, size: int) -> float:
    """Operations per second of a large square product: the yardstick."""
    a = backend.asarray(np.random.default_rng(0).standard_normal((size, size)))
    return 2.0 * size**3 / best_of(3, lambda: backend.matmul(a, a), synchroniser(backend))


def synchroniser(backend: Backend) -> Callable[[], None]:
    return backend.torch.cuda.synchronize if backend.device != "cpu" else lambda: None  # type: ignore[attr-defined]


def best_of(times: int, work: Callable[[], Any], synchronise: Callable[[], None] = lambda: None) -> float:
    seconds = []
    for _ in range(times):
        synchronise()
        start = clock()
        work()
        synchronise()
        seconds.append(clock() - start)
    return min(seconds)


def report_crossover(backend: Backend, size: int) -> None:
    """Times behind `MANY_LAMS`, on the CPU: one Cholesky solve, and eigenvalues, which serve any number of lams."""
    rows = backend.asarray(np.random.default_rng(0).standard_normal((2 * size, size)))
    gram, right = backend.add_gram(backend.zeros(size, size), rows), rows[0, :]
    times = [
        best_of(2, lambda solve=solve, lam=lam: solve(gram, right, lam), synchroniser(backend))
        for solve, lam in ((backend._by_cholesky, 1.0), (backend._by_eigenvalues, [1.0]))
    ]
    crossover = f"{times[1] / times[0]:.1f} lams; MANY_LAMS = {MANY_LAMS}"
    print(f"  one Cholesky solve {times[0]:.3f} s, the eigenvalues {times[1]:.3f} s: crossover at {crossover}")


def watched_trial(task: Task, dtype: str, synchronise: Callable[[], None]) -> tuple[Ledger, float]:
    """Where the time of a trial goes, and its seconds."""
    ledger, original, backend = Ledger(synchronise), Draws.normal, make_backend(None, task.device, dtype)
    watch(backend, ledger)
    try:
        return ledger, best_of(1, lambda: run_trial(task, backend), synchronise)
    finally:
        Draws.normal = original


def idle_share(task: Task, backend: Backend) -> float:
    """Share of a trial in which the GPU has nothing to do: it waits for the host."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        elapsed = best_of(1, lambda: run_trial(task, backend), synchroniser(backend))
    on_device = (one.time_range for one in seen.events() if one.device_type == DeviceType.CUDA)
    spans = sorted((one.start, one.end) for one in on_device)
    busy, end = 0.0, 0.0
    for start, stop in spans:
        busy, end = busy + max(0.0, stop - max(start, end)), max(end, stop)
    return 1.0 - 1e-6 * busy / elapsed


def report(task: Task, dtype: str, repeats: int) -> float:
    """Time one trial, print the shares of the fastest of `repeats`, return its seconds."""
    backend = make_backend(None, task.device, dtype)
    synchronise = synchroniser(backend)
    run_trial(task, backend)
    rate, seconds, total, ledger = 0.0, np.inf, np.inf, Ledger(synchronise)
    for _ in range(repeats):  # yardstick and trials by turns: the machine's speed drifts
        rate = max(rate, matmul_rate(backend, min(task.d, 8192)))
        seconds = min(seconds, best_of(1, lambda: run_trial(task, backend), synchronise))
        entries, elapsed = watched_trial(task, dtype, synchronise)
        if elapsed < total:
            ledger, total = entries, elapsed
    print(f"{task.device} {dtype}: one trial {seconds:.2f} s; large product {rate / 1e9:.0f} GFLOP/s")
    for kind in ("draws", "products", "factorisations"):
        spent, done = ledger.seconds[kind], ledger.operations[kind] / max(ledger.seconds[kind], 1e-12)
        speed = f"{done / 1e6:.0f} M numbers/s" if kind == "draws" else f"{done / rate:.0%} of the large product's rate"
        print(f"  {kind:15s}{spent:7.2f} s {spent / total:5.0%}   {speed}")
    rest = total - sum(ledger.seconds.values())
    print(f"  {'the rest':15s}{rest:7.2f} s {rest / total:5.0%}")
    if task.device != "cpu":
        print(f"  the GPU is idle for {min(idle_share(task, backend) for _ in range(repeats)):.1%} of the trial")
    else:
        report_crossover(make_backend(None, task.device, dtype), task.d)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, default=2000)
    parser.add_argument("--lams", type=int, default=10)
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-baseline", action="store_true", help="skip the straightforward way")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time instead of elapsed time")
    options = parser.parse_args()
    if options.cpu_time:
        global clock
        clock = time.process_time
    lams = np.logspace(-3, 1, options.lams).tolist()
    points = tuple((round(alpha * options.d), lam) for alpha in options.alphas for lam in lams)
    task = Task(MODEL, TARGET, options.d, points=points, device=options.device)
    print(
        f"d = p = {options.d}, alphas {options.alphas}, {len(lams)} lams; {platform.machine()}, numpy {np.__version__}"
    )
    kind = "CPU time" if options.cpu_time else "elapsed time"
    print(f"{kind}, {allowed_threads()} thread(s)")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run_trial(task)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if options.device == "cpu":
        print(f"peak memory {peak / (8 * (2 * options.d) ** 2):.2f} (d + p)² doubles, imports included")
    seconds = {dtype: report(task, dtype, options.repeats) for dtype in ("float64", "float32")}
    if options.device == "cpu" and not options.no_baseline:
        start = clock()
        expected = straightforward(task)
        plain = clock() - start
        difference = np.abs(run_trial(task)["q2"] / expected - 1).max()
        ratio = plain / seconds["float64"]
        print(f"straightforward: {plain:.2f} s, {ratio:.1f} times as long; |a|² agrees to {difference:.0e}")


if __name__ == "__main__":
    main()
