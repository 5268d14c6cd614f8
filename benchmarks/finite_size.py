"""What is left of theory's gap to networks of finite size, with `d=`: the settings of docs/theory/finite-size.md.

    python benchmarks/finite_size.py                    all settings at d = 150 and 300, on this machine
    python benchmarks/finite_size.py 600 1200 --device cuda --trials 1000

Prints, per setting and size, theory over simulation - 1 in the test and the training error, in per cent, at three
readouts, with standard errors.
"""

from __future__ import annotations

import argparse
import warnings

import xarray as xr

import giantstep as gs

MIX = "x + (x**2 - 1)/2"
SETTINGS = (  # activation, target, eta, alpha0, beta, steps
    ("tanh", "sin", 10, 0.2, 2, 1),
    ("tanh", "sin", 2, 1, 1, 1),
    ("tanh", "tanh", 3, 16, 1, 1),
    ("relu", "sin", 3, 1, 1, 1),
    ("relu", "tanh", 1.5, 2, 2, 1),
    ("gelu", MIX, 2, 2, 1.5, 1),
    ("tanh(x + 0.5)", "sin", 2, 1, 1, 1),
    ("tanh", "relu", 5, 0.5, 1, 1),
    ("relu", "relu", 2, 1, 1, 1),
    ("softplus", "sin", 4, 0.5, 0.7, 1),
    ("tanh", "sin", 5, 0.3, 0.5, 1),
    ("tanh", "sin", 2, 1, 1, 2),
    ("relu", "tanh", 1.5, 1, 1, 2),
)
READOUT = {
    "alpha": xr.DataArray([1.0, 3.0, 2.0], dims="readout"),
    "lam": xr.DataArray([0.1, 0.1, 0.01], dims="readout"),
}


def gaps(theory: xr.DataArray, runs: xr.DataArray) -> str:
    """Theory over simulation - 1, and standard errors."""
    mean = runs.mean("trial")
    error = (runs.std("trial", ddof=1) / mean / runs.sizes["trial"] ** 0.5).max()
    found = ", ".join(f"{gap:+.1f}" for gap in (100 * (theory / mean - 1)).values)
    return f"{found} ({100 * float(error):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[150, 300])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    warnings.simplefilter("ignore", gs.LimitWarning)  # what is left of the gap is printed
    given = parser.parse_args()
    for activation, target, eta, alpha0, beta, steps in SETTINGS:
        net = gs.Network(activation, eta=eta, alpha0=alpha0, beta=beta, steps=steps)
        print(f"{activation} on {target}, eta {eta}, alpha0 {alpha0}, beta {beta}, steps {steps}", flush=True)
        for d in given.sizes:
            theory = gs.predict(net, target, d=d, **READOUT)
            runs = gs.simulate(net, target, d=d, trials=given.trials, device=given.device, progress=False, **READOUT)
            test, train = (gaps(theory[name], runs[name]) for name in ("test_error", "train_error"))
            print(f"  d {d:5}  test {test}  train {train}", flush=True)


if __name__ == "__main__":
    main()
