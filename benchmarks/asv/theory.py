"""How long the theory takes, commit by commit: the questions that people wait for. Processor time of one core.

    asv machine --yes                               # once: what the machine is called
    asv continuous --interleave-rounds main HEAD    # two commits by turns, and what became slower or faster

`docs/performance.md` has the settings and the other commands. `python -m benchmarks.asv.theory` prints its table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings

# before numpy is there; asv has imported it by now, and is told so in asv.conf.json
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import xarray as xr

import giantstep as gs
from giantstep.insight.reference.bayes import evolution_of

ALPHAS, LONGER = np.linspace(0.2, 3.0, 50), np.linspace(0.1, 5.0, 50)
BULKS = {"isotropic": ("tanh", "isotropic"), "exact tanh": ("tanh", "exact"), "exact ReLU": ("relu", "exact")}
SIDE = {"isotropic": 300, "exact tanh": 150, "exact ReLU": 100}  # of the grid
COUNT = {"isotropic": 2000, "exact tanh": 1000, "exact ReLU": 1000}  # of first layers
COMMAND = "predict --activation tanh --target sin --eta 3 --alpha0 20 --beta 1 --alpha 0.2:3:5 --lam 0.1"


REFERENCE_TARGETS = {
    "sign": gs.Target("sign"),
    "sign pattern": gs.Target("sign(x**3 - x)"),
    "logistic": gs.Target("logistic", scale=2.0),
    "tanh + noise": gs.Target("tanh", noise=0.1),
    "sin + noise": gs.Target("sin", noise=0.1),
    "ReLU + noise": gs.Target("relu", noise=0.1),
    "square": gs.Target("x**2"),
    "sin": gs.Target("sin"),
}


class _Timed:
    timer = staticmethod(time.process_time)  # of this process alone: other users of the machine do not count
    warmup_time, number = 0.1, 1
    repeat = (3, 100, 1.0)  # at least and at most so many calls, and seconds from which on there are enough

    def setup(self, *_: str | int) -> None:
        """Imports are the command's business."""
        warnings.simplefilter("ignore")
        gs.predict(gs.SpikedRF("tanh", r=1.0, gamma=0.5), "sin", alpha=1.0, lam=1.0)


class SquareLoss(_Timed):
    """A curve, a grid of readouts on one first layer, and a first layer for every point."""

    params, param_names = list(BULKS), ["bulk"]

    def time_curve(self, bulk: str) -> None:
        activation, rows = BULKS[bulk]
        net = gs.Network(activation, eta=3.0, alpha0=20.0)
        gs.predict(net, "sin", alpha=ALPHAS, lam=0.1, bulk=rows)

    def time_grid(self, bulk: str) -> None:
        (activation, rows), side = BULKS[bulk], SIDE[bulk]
        net = gs.Network(activation, eta=3.0, alpha0=20.0)
        alpha, lam = np.linspace(0.2, 3.0, side), np.geomspace(1e-3, 10.0, side)
        gs.predict(net, "sin", alpha=alpha, lam=lam, bulk=rows)

    def time_first_layers(self, bulk: str) -> None:
        activation, rows = BULKS[bulk]
        eta = xr.DataArray(np.linspace(0.5, 3.0, COUNT[bulk]), dims="point")
        gs.predict(gs.Network(activation, eta=eta, alpha0=1.0), "sin", alpha=1.5, lam=0.1, bulk=rows)


class SeveralSteps(_Timed):
    params, param_names = [["tanh", "relu", "gelu"], [1, 2, 3]], ["activation", "steps"]

    def time_curve(self, activation: str, steps: int) -> None:
        net = gs.Network(activation, eta=2.0, alpha0=1.0, steps=steps)
        gs.predict(net, "sin", alpha=ALPHAS, lam=0.1)


class OtherLosses(_Timed):
    features = gs.SpikedRF("tanh", r=1.0, gamma=0.7)

    def time_logistic(self) -> None:
        gs.predict(self.features, "sign", alpha=LONGER, lam=0.1, loss="logistic")

    def time_hinge(self) -> None:
        gs.predict(self.features, "sign", alpha=LONGER, lam=0.1, loss="hinge")

    def time_huber(self) -> None:
        gs.predict(self.features, gs.Target("sin", noise=0.3), alpha=LONGER, lam=0.1, loss="huber:0.7")

    def time_logistic_on_exact_relu(self) -> None:
        net = gs.Network("relu", eta=2.0, alpha0=1.0)
        gs.predict(net, "sign", alpha=LONGER, lam=0.1, loss="logistic")


class SeveralDirections(_Timed):
    """Losses other than the square loss, on targets of several directions."""

    net = gs.Network("tanh", eta=2.0, alpha0=1.0)
    alphas = np.linspace(0.5, 4.0, 10)

    def _time(self, target: gs.Target, loss: str) -> None:
        gs.predict(self.net, target, alpha=self.alphas, lam=0.1, loss=loss)

    def time_huber_of_two(self) -> None:
        self._time(gs.Target("x1 + x1*x2", noise=0.3), "huber:0.7")

    def time_huber_of_three(self) -> None:
        target = gs.Target("x1 + x1*x2 + x2*x3/2", noise=0.3)
        gs.predict(self.net, target, alpha=1.0, lam=0.1, loss="huber:0.7")

    def time_logistic_of_two(self) -> None:
        self._time(gs.Target("sign(x1 + x1*x2)"), "logistic")

    def time_hinge_of_two(self) -> None:
        self._time(gs.Target("sign(x1 + x1*x2)"), "hinge")

    def time_logistic_of_three(self) -> None:
        self._time(gs.Target("sign(x1) + sign(x2)*sign(x3)/2", flips=0.05), "logistic")


class Insight(_Timed):
    net = gs.Network("tanh", eta=2.0, alpha0=1.0)

    def time_spectrum(self) -> None:
        gs.spectrum(self.net, "sin", alpha=1.5)

    def time_tune(self) -> None:
        gs.tune(self.net, "sin", alpha=1.5, over=("eta", "lam"), bulk="isotropic")

    def time_tune_exact(self) -> None:
        gs.tune(self.net, "sin", alpha=1.5, over=("eta", "lam"))

    def time_tune_budget(self) -> None:
        gs.tune(self.net, "sin", budget=3.0, over=("eta", "lam", "split"), bulk="isotropic")

    def time_two_spikes(self) -> None:
        two = gs.TwoSpikes("relu", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5))
        gs.predict(two, "sin", alpha=np.linspace(0.3, 3.0, 10), lam=0.1)


class Reference(_Timed):
    """The best possible error along a curve, from nothing, and at further numbers of samples."""

    params, param_names = list(REFERENCE_TARGETS), ["target"]

    def time_curve(self, target: str) -> None:
        evolution_of.cache_clear()
        gs.bayes(REFERENCE_TARGETS[target], alpha=LONGER)

    def time_further(self, target: str) -> None:
        gs.bayes(REFERENCE_TARGETS[target], alpha=LONGER)


def _of_children() -> float:
    """Processor time of the processes that this one has started and waited for."""
    spent = os.times()
    return spent.children_user + spent.children_system


class Command(_Timed):
    """From the shell: interpreter, imports and answer."""

    timer = staticmethod(_of_children)

    def time_predict(self) -> None:
        words = [sys.executable, "-m", "giantstep", *COMMAND.split()]
        # an installed package has its bytecode: it is not compiled again for every command
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=kept)


def _fastest(group: _Timed, name: str, values: tuple[str | int, ...]) -> float:
    """Seconds of the fastest call, after as many as asv warms up with, of as many as it would make."""
    least, most, enough = group.repeat
    times: list[float] = []
    warm = time.perf_counter() + group.warmup_time
    end = warm + enough
    while len(times) < least or (len(times) < most and time.perf_counter() < end):
        began = group.timer()
        getattr(group, name)(*values)
        if time.perf_counter() > warm:
            times.append(group.timer() - began)
    return min(times)


def main() -> None:
    """Every row once more, the fastest of its calls, as lines of text."""
    from itertools import product

    groups = (SquareLoss(), SeveralSteps(), OtherLosses(), SeveralDirections(), Insight(), Reference(), Command())
    for group in groups:
        given = getattr(group, "params", [])
        axes = [] if not given else given if isinstance(given[0], list) else [given]
        for name in (name for name in dir(group) if name.startswith("time_")):
            for values in product(*axes):
                group.setup()
                row = " ".join(map(str, (type(group).__name__, name.removeprefix("time_"), *values)))
                print(f"{row:44s} {1e3 * _fastest(group, name, values):9.1f} ms", flush=True)


if __name__ == "__main__":
    main()
