"""Speed and memory of the theory, against the way it is usually written. Processor time of one core, one run.

    python benchmarks/theory.py [--quick]

The setting is tanh on a sine (η̃ = 3, α0 = 20, β = 1, λ = 0.1). The baseline is fixed-point iteration with
damping 1/2 to a tolerance of 1e-4 on (q1, q2, m, ζ, ψ): every hat an adaptive `scipy.integrate.quad` over κ (m
two, being a ratio), the coefficients and the target's moments functions of κ that each integrand calls where its
formula has them, each a 19-node Gauss-Hermite sum, the bulk a mean over the 2,000 eigenvalues of one drawn matrix.
It was written so after a leaner one had fallen short of the ratio of 10,000 aimed at: that one, which takes all
coefficients from one evaluation of the activation, gave 2,200 to 4,900.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import quad
from threadpoolctl import threadpool_limits

import giantstep as gs

clock = time.process_time  # of this process alone: other users of the machine do not count
NETWORK = gs.Network("tanh", eta=3.0, alpha0=20.0, beta=1.0)
BETA, LAM = 1.0, 0.1
MILLION = """
import resource, numpy as np, giantstep as gs
gs.predict(gs.Network("tanh", eta=3.0, alpha0=20.0), "sin", bulk="isotropic",
           alpha=np.linspace(0.2, 3.0, {side}), lam=np.geomspace(1e-3, 10.0, {side}))
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_maxrss * 1024, used.ru_utime + used.ru_stime)
"""


class Baseline:
    """Result 3 as it is usually typed in."""

    def __init__(self, c: float, r: float, gamma: float, size: int = 2000):
        self.c, self.r, self.gamma = c, r, gamma
        self.z, w = np.polynomial.hermite_e.hermegauss(19)
        self.w = w / w.sum()
        W = np.random.default_rng(0).standard_normal((size, size)) * np.sqrt(c / size)
        self.eigenvalues = np.linalg.eigvalsh(W @ W.T)

    def mu0(self, kappa: float) -> float:
        return self.w @ np.tanh(np.sqrt(self.c) * self.z + self.r * kappa)

    def mu1(self, kappa: float) -> float:
        return self.w @ (self.z * np.tanh(np.sqrt(self.c) * self.z + self.r * kappa)) / np.sqrt(self.c)

    def mu2sq(self, kappa: float) -> float:
        square = self.w @ np.tanh(np.sqrt(self.c) * self.z + self.r * kappa) ** 2
        return square - self.mu0(kappa) ** 2 - self.c * self.mu1(kappa) ** 2

    def moment(self, kappa: float, weight: Any = 1.0, power: int = 1) -> float:
        """The target's moments given κ: t0, with weight z t1, with power 2 t2."""
        rho = np.sqrt(1.0 - self.gamma**2)
        return self.w @ (weight * np.sin(self.gamma * kappa + rho * self.z) ** power)

    def average(self, f: Callable[[float], float]) -> float:
        def integrand(kappa: float) -> float:
            return f(kappa) * np.exp(-(kappa**2) / 2) / np.sqrt(2 * np.pi)

        return quad(integrand, -10.0, 10.0)[0]

    def test_error(self, alpha: float, tolerance: float = 1e-4, damping: float = 0.5) -> float:
        c, beta, mu0, mu1, mu2sq, t = self.c, BETA, self.mu0, self.mu1, self.mu2sq, self.moment
        V1 = V2 = q1 = q2 = 1.0
        m = zeta = psi = 0.1

        def D(k: float) -> float:
            return 1.0 + mu1(k) ** 2 * V1 + mu2sq(k) * V2

        def M(k: float) -> float:
            return mu0(k) * m + k * mu1(k) * zeta

        def power(k: float) -> float:
            signal = t(k, power=2) - 2 * M(k) * t(k) + M(k) ** 2 - 2 * mu1(k) * psi * t(k, self.z)
            return signal + mu1(k) ** 2 * q1 + mu2sq(k) * q2

        def without_m(k: float) -> float:
            return mu0(k) * (t(k) - k * mu1(k) * zeta) / D(k)

        while True:
            hat_V1 = alpha / beta * self.average(lambda k: mu1(k) ** 2 / D(k))
            hat_V2 = alpha / beta * self.average(lambda k: mu2sq(k) / D(k))
            hat_q1 = alpha / beta * self.average(lambda k: mu1(k) ** 2 * power(k) / D(k) ** 2)
            hat_q2 = alpha / beta * self.average(lambda k: mu2sq(k) * power(k) / D(k) ** 2)
            hat_psi = alpha / np.sqrt(beta) * self.average(lambda k: mu1(k) * t(k, self.z) / D(k))
            hat_zeta = alpha / np.sqrt(beta) * self.average(lambda k: k * mu1(k) * (t(k) - M(k)) / D(k))
            new_m = self.average(without_m) / self.average(lambda k: mu0(k) ** 2 / D(k))
            rho = self.eigenvalues
            S = LAM + hat_V2 + hat_V1 * rho
            new_V2, new_V1 = np.mean(1 / S), np.mean(rho / S)
            J0, J1, J2 = (np.mean(rho**k / S**2) for k in range(3))
            new = np.array(
                [
                    hat_q1 * J2 + hat_q2 * J1 + hat_zeta**2 * c * J1 + hat_psi**2 * J2,
                    hat_q1 * J1 + hat_q2 * J0 + hat_zeta**2 * c * J0 + hat_psi**2 * J1,
                    new_m,
                    np.sqrt(beta) * c * new_V2 * hat_zeta,
                    np.sqrt(beta) * new_V1 * hat_psi,
                ]
            )
            old = np.array([q1, q2, m, zeta, psi])
            step = damping * new + (1 - damping) * old
            V1, V2 = damping * new_V1 + (1 - damping) * V1, damping * new_V2 + (1 - damping) * V2
            q1, q2, m, zeta, psi = step
            if np.abs(step - old).max() < tolerance:
                return self.average(power)


def best(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest time of several runs, and the last result."""
    times = []
    for _ in range(repeats):
        start = clock()
        result = run()
        times.append(clock() - start)
    return min(times), result


def predict(model: gs.Network | gs.SpikedRF, **options: Any) -> xr.Dataset:
    return gs.predict(model, "sin", **{"lam": LAM, **options})


def relative(found: xr.Dataset, fine: xr.Dataset) -> float:
    return float(np.abs(found.test_error / fine.test_error - 1.0).max())


def against_the_baseline(quick: bool) -> None:
    equivalent = NETWORK.equivalent("sin")
    baseline = Baseline(float(equivalent.c), float(equivalent.r), float(equivalent.gamma))
    alphas = np.linspace(0.2, 3.0, 50)
    chosen = alphas[[5, 30]] if quick else alphas[::10]
    usual, errors = [], []
    fine = predict(NETWORK, alpha=alphas, bulk="isotropic", tolerance=1e-13)
    for alpha in chosen:
        seconds, value = best(lambda alpha=alpha: baseline.test_error(alpha), 1)
        usual.append(seconds)
        errors.append(abs(value / float(fine.test_error.sel(alpha=alpha)) - 1.0))
    seconds, found = best(lambda: predict(NETWORK, alpha=alphas, bulk="isotropic"), 5 if quick else 20)
    per_point = seconds / len(alphas)
    print(f"a curve of {len(alphas)} alphas, per point")
    print(f"  usual way   {np.mean(usual):9.3f} s    relative error {min(errors):.1e} to {max(errors):.1e}")
    print(f"  giantstep   {per_point * 1e6:9.1f} µs   relative error {relative(found, fine):.1e}")
    print(f"  ratio       {np.mean(usual) / per_point:9,.0f}   (asked for: 10,000)")


def throughput(quick: bool) -> None:
    side = 100 if quick else 300
    grid = {"alpha": np.linspace(0.2, 3.0, side), "lam": np.geomspace(1e-3, 10.0, side)}
    seconds, found = best(lambda: predict(NETWORK, bulk="isotropic", **grid), 2)
    some = {name: values[:: side // 10] for name, values in grid.items()}
    fine = predict(NETWORK, bulk="isotropic", tolerance=1e-13, **some)
    error = relative(found.sel(some), fine)
    print(f"points per second when alpha and lam vary     {side**2 / seconds:9,.0f}   error {error:.1e}   (50,000)")

    count = 2000 if quick else 10000
    model = own_first_layers("tanh", count)
    seconds, found = best(lambda: predict(model, alpha=1.5), 2)
    few = own_first_layers("tanh", count, every=count // 100)
    error = relative(found.isel(point=slice(None, None, count // 100)), predict(few, alpha=1.5, tolerance=1e-13))
    print(f"points per second, each its own (c, r, gamma) {count / seconds:9,.0f}   error {error:.1e}   (5,000)")
    spent, whole = time_in_the_activation(count)
    print(f"  of which evaluating the activation          {100 * spent / whole:8.0f}%")


def own_first_layers(activation: Any, count: int, every: int = 1) -> gs.SpikedRF:
    rng = np.random.default_rng(1)
    drawn = (rng.uniform(0.2, 2.0, count), rng.uniform(0.0, 1.0, count), rng.uniform(1.0, 2.0, count))
    r, gamma, c = (xr.DataArray(x[::every], dims="point") for x in drawn)
    return gs.SpikedRF(activation, r=r, gamma=gamma, c=c)


def time_in_the_activation(count: int) -> tuple[float, float]:
    """Seconds inside the activation, and in all, when every point has its own first layer."""
    spent = 0.0

    def timed(x: np.ndarray) -> np.ndarray:
        nonlocal spent
        start = clock()
        values = np.tanh(x)
        spent += clock() - start
        return values

    model = own_first_layers(gs.Function(timed, parity="odd", name="tanh"), count)
    start = clock()
    predict(model, alpha=1.5)
    return spent, clock() - start


def exact_over_isotropic(quick: bool) -> None:
    count = 20 if quick else 60
    print("cost of the exact bulk over the isotropic one, per point")
    for activation, kind in (("tanh", "odd"), ("relu", "not odd")):
        steps = xr.DataArray(np.linspace(0.5, 3.0, count), dims="point")
        nets = {
            "a curve in alpha": (gs.Network(activation, eta=2.0, alpha0=1.0), np.linspace(0.2, 3.0, count)),
            "own first layers": (gs.Network(activation, eta=steps, alpha0=1.0), 1.5),
        }
        for name, (net, alpha) in nets.items():
            cost = {
                bulk: best(lambda net=net, alpha=alpha, bulk=bulk: predict(net, alpha=alpha, bulk=bulk), 3)[0]
                for bulk in ("exact", "isotropic")
            }
            times = f"{cost['exact'] / count * 1e3:7.2f} ms over {cost['isotropic'] / count * 1e3:6.3f} ms"
            print(f"  {activation} ({kind}), {name}: {times} = {cost['exact'] / cost['isotropic']:.0f}")


def memory(quick: bool) -> None:
    side = 300 if quick else 1000
    script = MILLION.format(side=side)
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=one_core)
    peak, seconds = map(float, done.stdout.split())
    print(f"a grid of {side**2:,} points: peak memory {peak / 2**30:.2f} GB in {seconds:.1f} s   (under 2 GB)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer points: half a minute or so")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", gs.LimitWarning)  # speed is asked for here
    print(f"giantstep {gs.__version__}, numpy {np.__version__}, Python {platform.python_version()}, one core")
    with threadpool_limits(1):
        for part in (against_the_baseline, throughput, exact_over_isotropic, memory):
            part(quick)


if __name__ == "__main__":
    main()
