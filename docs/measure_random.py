"""Networks drawn at random from all that the theory covers, against the theory at the same d: a table for the docs.

    python docs/measure_random.py --device cuda --d 4000 --trials 24 --count 48 --seconds 540 > table.md

Nothing about a setting is chosen by hand: activation, target, number of directions, letters, biases, rows, steps, loss
and all numbers are drawn from one seed. A setting that the theory refuses, or does not solve, is listed as such.

With `--structured` the inputs have a covariance: two or three eigenvalues, or a power law, with the target's shares of
them drawn as well; rates are half as large, and biases, which that theory does not cover, are left out.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from typing import Any

import numpy as np

import giantstep as gs

ACTIVATIONS = ("tanh", "erf", "sin", "relu", "gelu", "softplus", "tanh(x + 0.5)", "max(x, 0.1*x)")
TARGETS = (
    "tanh", "sin", "relu", "sign", "He2", "He3", "x + He2(x)/2",
    "x1 + x1*x2", "sin(x1) + x2", "max(x1, x2)", "tanh(x1)*x2 + x1", "x1 + x1*x2 + x1*x2*x3",
)  # fmt: skip
LETTERS = (
    None,
    None,
    None,
    ((-1.0, 1.0), (0.5, 0.5)),
    ((0.5, 1.5), (0.5, 0.5)),
    ((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25)),
)
LOSSES = ("square", "square", "square", "square", "huber:0.7")


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


def drawn(
    rng: np.random.Generator, d: int, structured: bool
) -> tuple[gs.Network, gs.Target, dict[str, Any], str]:
    """A network, a target, the readout's parameters, and the three in words."""

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
    plain, inputs, spectrum = gs.Target(target, noise=noise), None, ""
    if structured:
        size = d if loss == "square" else d // 2
        inputs, spectrum = drawn_inputs(rng, size, plain.directions)
        eta, biases = eta / 2.0, 0.0
    net = gs.Network(
        activation, eta=eta, alpha0=alpha0, beta=beta, steps=steps, rows=rows, bias_scale=biases, **more
    )
    words = [activation, f"on {target}", f"{steps} steps" if steps > 1 else "1 step"]
    words += [f"letters {', '.join(f'{x:g}' for x in letters[0])}"] if letters else []
    words += ["Gaussian rows"] * (rows == "gaussian") + [f"biases {biases}/√d"] * (biases > 0)
    words += [f"noise {noise}"] * (noise > 0) + [loss] * (loss != "square") + [spectrum] * bool(spectrum)
    numbers = f"η̃ {eta:g}, α0 {alpha0:g}, β {beta:g}, α {alpha:g}, λ {lam:g}"
    return (
        net,
        gs.Target(target, noise=noise, inputs=inputs),
        {"alpha": alpha, "lam": lam, "loss": loss},
        f"{', '.join(words)}; {numbers}",
    )


def measured(
    seed: int, d: int, trials: int, device: str, structured: bool
) -> tuple[str, float | None, float | None]:
    """One row of the table, and z of test error and training loss."""
    net, target, readout, words = drawn(np.random.default_rng(seed), d, structured)
    size = d if readout["loss"] == "square" else d // 2  # other losses iterate
    try:
        found = gs.predict(net, target, **readout, d=size)
    except gs.GiantstepError as refusal:
        return f"| {words} | — | — | {str(refusal).splitlines()[0][:160]} | | |", None, None
    run = gs.simulate(
        net, target, **readout, d=size, trials=trials, seed=1000 + seed, device=device, progress=False
    )
    z = []
    for name in ("test_error", "train_loss"):
        values = run[name].values.reshape(-1)
        z.append(float((values.mean() - float(found[name])) / (values.std(ddof=1) / len(values) ** 0.5)))
    values, theory = run["test_error"].values.reshape(-1), float(found["test_error"])
    error = values.std(ddof=1) / len(values) ** 0.5
    gap = 100.0 * (theory / values.mean() - 1.0)
    row = f"{values.mean():.4f} ± {error:.4f} | {theory:.4f} | {gap:+.2f} % | {z[0]:+.1f} | {z[1]:+.1f}"
    return f"| {words} | {row} |", z[0], z[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cpu")
    for name, default in (("d", 300), ("trials", 24), ("count", 48), ("seed", 0), ("seconds", 540)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--structured", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", gs.GiantstepWarning)
    began, rows = time.perf_counter(), []
    print("| network | simulated | exact | gap | z | z of the training loss |\n|---|---|---|---|---|---|")
    for i in range(asked.count):
        if time.perf_counter() - began > asked.seconds:
            print(f"\nstopped after {i} of {asked.count}, for time")
            break
        row, *z = measured(asked.seed + i, asked.d, asked.trials, asked.device, asked.structured)
        rows.append(z)
        print(row, flush=True)
    solved = np.array([z for z in rows if z[0] is not None], float)
    rms = np.sqrt((solved**2).mean(axis=0))
    print(
        f"\n{len(solved)} of {len(rows)} settings predicted; rms z {rms[0]:.2f} (training loss {rms[1]:.2f})"
    )


if __name__ == "__main__":
    main()
