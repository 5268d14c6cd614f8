"""Measure how well theory and simulation agree over the test suite's zoo, and write the tables of the docs.

    python docs/measure_agreement.py        from the root of the repository; about ten minutes on one core

Every case of `tests/zoo.py` is simulated once and compared with the prediction at the same d; networks
also with the isotropic model. The tables go to docs/_data, where the validation page includes them.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import zoo  # noqa: E402
from tests.agreement.harness import mean_square_interval  # noqa: E402
from tests.zoo import Case  # noqa: E402

import giantstep as gs  # noqa: E402

D, TRIALS, SEED = 300, 40, 4000


def measured(case: Case, seed: int, bulks: tuple[str | None, ...]) -> list[tuple[float, float, float]]:
    """For each bulk the relative gap of the theory, its standard error, and z of the test error."""
    run = case.simulate(d=D, trials=TRIALS, seed=seed)["test_error"]
    mean, error = float(run.mean()), float(run.std(ddof=1)) / TRIALS**0.5
    found = []
    for bulk in bulks:
        options = {} if bulk is None else {"bulk": bulk}
        theory = float(case.predict(d=D, **options)["test_error"])
        found.append((theory / mean - 1.0, error / mean, (mean - theory) / error))
    return found


def table(cases: list[Case], seed: int, bulks: dict[str, str | None]) -> str:
    """A Markdown table with a row for each case, and what z should be and is."""
    head = ["case", "standard error"] + [f"{name}: gap, z" for name in bulks]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    z: dict[str, list[float]] = {name: [] for name in bulks}
    for i, case in enumerate(cases):
        found = measured(case, seed + i, tuple(bulks.values()))
        cells = [f"{100 * gap:+.2f} %, {score:+.1f}" for gap, _, score in found]
        lines.append(f"| {case.name} | {100 * found[0][1]:.2f} % | " + " | ".join(cells) + " |")
        for name, (_, _, score) in zip(bulks, found, strict=True):
            z[name].append(score)
        print(lines[-1], flush=True)
    low, high = np.sqrt(mean_square_interval([TRIALS] * len(cases)))
    rms = ", ".join(f"{np.sqrt(np.mean(np.square(scores))):.2f} ({name})" for name, scores in z.items())
    lines += ["", f"Root mean square z: {rms}; 99 % of the time a right theory has {low:.2f} to {high:.2f}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    folder = Path(__file__).parent / "_data"
    about = f"Measured on {date.today():%d %B %Y} with giantstep {gs.__version__}: d = {D}, {TRIALS} trials a case.\n\n"
    network = {"exact": "exact", "isotropic": "isotropic"}
    jobs = [
        ("spiked", zoo.SPIKED, {"theory": None}, 0),
        ("letters", zoo.LETTERS, {"theory": None}, 100),
        ("networks", zoo.NETWORKS, network, 200),
    ]
    for name, cases, bulks, offset in jobs:
        (folder / f"agreement_{name}.md").write_text(about + table(cases, SEED + offset, bulks), encoding="utf-8")


if __name__ == "__main__":
    main()
