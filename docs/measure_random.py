"""Networks drawn at random from all that the theory covers, against the theory at the same d: a table for the docs.

    python docs/measure_random.py --device cuda --d 4000 --trials 24 --count 48 --seconds 540 > table.md

Nothing about a setting is chosen by hand: activation, target, number of directions, letters, biases, rows, steps, loss
and all numbers are drawn from one seed. A setting that the theory refuses, or does not solve, is listed as such.

With `--structured` the inputs have a covariance: two or three eigenvalues, or a power law, with the target's shares of
them drawn as well; rates are half as large, and biases, which that theory does not cover, are left out. With `--signs`
one network in four learns labels ±1, and its test error is the share of wrong signs.

Predictions run in processes beside the simulation.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import giantstep as gs

ACTIVATIONS = ("tanh", "erf", "sin", "relu", "gelu", "softplus", "tanh(x + 0.5)", "max(x, 0.1*x)")
TARGETS = (
    "tanh", "sin", "relu", "sign", "He2", "He3", "x + He2(x)/2",
    "x1 + x1*x2", "sin(x1) + x2", "max(x1, x2)", "tanh(x1)*x2 + x1", "x1 + x1*x2 + x1*x2*x3",
)  # fmt: skip
LETTERS = (None, None, None, ((-1.0, 1.0), (0.5, 0.5)), ((0.5, 1.5), (0.5, 0.5)), ((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25)))
LOSSES = ("square", "square", "square", "square", "huber:0.7")
SIGNS = (
    {"function": "sign", "flips": 0.1},
    {"function": "sin(2*x)", "flips": 0.1, "latent_noise": 0.3},
    {"function": "logistic", "scale": 2.0},
    {"function": "x1 + x1*x2", "latent_noise": 0.3},
)
SIGN_LOSSES = ("square", "logistic", "hinge", "squared_hinge")
ERRORS = ("test_error", "test_error_01", "train_loss")


def drawn_inputs(rng: np.random.Generator, d: int, directions: int) -> tuple[gs.Inputs, str]:
    """Inputs with two or three eigenvalues, or a power law, and the same in words."""
    blocks = int(rng.integers(2, 5))
    if blocks == 4:
        exponent, source = np.round(rng.uniform(0.1, 0.3), 2), np.round(rng.uniform(0.0, 3.0), 1)
        words = f"power law {exponent:g}, source {source:g}"
        return gs.Inputs.power_law(float(exponent), d=d, source=float(source)), words
    eigenvalues = np.round(np.exp(rng.uniform(math.log(0.15), math.log(4.0), blocks)), 2)
    masses = rng.dirichlet(np.full(blocks, 3.0))
    shares = rng.dirichlet(np.ones(blocks), size=directions)
    listed = ", ".join(f"{omega:g}" for omega in eigenvalues)
    return gs.Inputs(eigenvalues, masses, shares), f"eigenvalues ∝ {listed}"


def drawn(seed: int, d: int, structured: bool, signs: bool) -> tuple[gs.Network, gs.Target, dict[str, Any], str]:
    """A network, a target, the readout's parameters with its d, and all of them in words."""
    rng = np.random.default_rng(seed)

    def one(among: tuple[Any, ...]) -> Any:
        return among[rng.integers(len(among))]

    def log_uniform(low: float, high: float) -> float:
        return float(np.round(np.exp(rng.uniform(math.log(low), math.log(high))), 3))

    activation, target, letters, loss = one(ACTIVATIONS), one(TARGETS), one(LETTERS), one(LOSSES)
    steps, rows, biases = one((1, 1, 2, 2, 3)), one(("unit", "unit", "gaussian")), one((0.0, 0.0, 0.5))
    noise = one((0.0, 0.3))
    eta, alpha0, beta = log_uniform(0.5, 4.0), log_uniform(0.3, 2.0), log_uniform(0.5, 2.0)
    alpha, lam = log_uniform(0.5, 3.0), log_uniform(0.03, 1.0)
    more = {} if letters is None else {"readout": gs.Letters(*letters)}
    labels: dict[str, Any] = {"function": target, "noise": noise}
    if signs and rng.uniform() < 0.25:
        labels, loss = one(SIGNS), one(SIGN_LOSSES)
    size = d if loss == "square" else d // 2  # other losses iterate
    inputs, spectrum = None, ""
    if structured:
        inputs, spectrum = drawn_inputs(rng, size, gs.Target(**labels).directions)
        eta, biases = eta / 2.0, 0.0
    net = gs.Network(activation, eta=eta, alpha0=alpha0, beta=beta, steps=steps, rows=rows, bias_scale=biases, **more)
    words = [activation, f"on {labels['function']}", f"{steps} steps" if steps > 1 else "1 step"]
    words += [f"letters {', '.join(f'{x:g}' for x in letters[0])}"] if letters else []
    words += ["Gaussian rows"] * (rows == "gaussian") + [f"biases {biases}/√d"] * (biases > 0)
    words += [f"{name.replace('_', ' ')} {labels[name]:g}" for name in labels if name != "function" and labels[name]]
    words += [loss] * (loss != "square") + [spectrum] * bool(spectrum)
    numbers = f"η̃ {eta:g}, α0 {alpha0:g}, β {beta:g}, α {alpha:g}, λ {lam:g}"
    return (
        net,
        gs.Target(**labels, inputs=inputs),
        {"alpha": alpha, "lam": lam, "loss": loss, "d": size},
        f"{', '.join(words)}; {numbers}",
    )


def predicted(*setting: Any) -> dict[str, float] | str:
    """The theory's answers to a setting, or why there are none."""
    warnings.simplefilter("ignore", gs.GiantstepWarning)
    net, target, readout, _ = drawn(*setting)
    try:
        answers = gs.predict(net, target, **readout)
    except gs.GiantstepError as refusal:
        return str(refusal).splitlines()[0][:160]
    return {name: float(answers[name]) for name in ERRORS if name in answers}


def row(setting: tuple[Any, ...], trials: int, device: str, theory: dict[str, float] | str) -> tuple[str, list[float]]:
    """One row of the table, and z of the test error and of the training loss."""
    net, target, readout, words = drawn(*setting)
    if isinstance(theory, str):
        return f"| {words} | — | — | {theory} | | |", []
    run = gs.simulate(net, target, **readout, trials=trials, seed=1000 + setting[0], device=device, progress=False)
    error = "test_error_01" if setting[-1] and "test_error_01" in theory else "test_error"
    z, means, widths = [], [], []
    for name in (error, "train_loss"):
        values = run[name].values.reshape(-1)
        means.append(values.mean())
        widths.append(values.std(ddof=1) / len(values) ** 0.5)
        z.append(float((means[-1] - theory[name]) / widths[-1]))
    gap = 100.0 * (theory[error] / means[0] - 1.0)
    numbers = f"{means[0]:.4f} ± {widths[0]:.4f} | {theory[error]:.4f} | {gap:+.2f} % | {z[0]:+.1f} | {z[1]:+.1f}"
    return f"| {words} | {numbers} |", z


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cpu")
    for name, default in (("d", 300), ("trials", 24), ("count", 48), ("seed", 0), ("seconds", 540), ("processes", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--structured", action="store_true")
    parser.add_argument("--signs", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", gs.GiantstepWarning)
    settings = [(asked.seed + i, asked.d, asked.structured, asked.signs) for i in range(asked.count)]
    began, scores, answered = time.perf_counter(), [], 0
    pool = ProcessPoolExecutor(asked.processes, multiprocessing.get_context("spawn"))
    theories = [pool.submit(predicted, *setting) for setting in settings]
    print("| network | simulated | exact | gap | z | z of the training loss |\n|---|---|---|---|---|---|")
    for setting, theory in zip(settings, theories, strict=True):
        if time.perf_counter() - began > asked.seconds:
            print(f"\nstopped after {answered} of {asked.count}, for time")
            break
        line, z = row(setting, asked.trials, asked.device, theory.result())
        answered += 1
        scores += [z] if z else []
        print(line, flush=True)
    pool.shutdown(wait=False, cancel_futures=True)
    rms = np.sqrt((np.array(scores) ** 2).mean(axis=0))
    print(f"\n{len(scores)} of {answered} settings predicted; rms z {rms[0]:.2f} (training loss {rms[1]:.2f})")


if __name__ == "__main__":
    main()
