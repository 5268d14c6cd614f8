"""Networks on patches of two photographs, for the tutorial on inputs with a covariance; writes the file beside this.

    python docs/tutorials/image_patches.py          # some minutes on one core

Patches of 20 × 20 grey values from scikit-learn's sample images, without their mean and with unit norm. Their
covariance is raised to a power: 1 leaves the patches as they are, 1/2 whitens them halfway. Targets depend on one
direction, uniform in the space of the inputs or on the ten leading components. The rate is such that r = 1.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import giantstep as gs

STORE = Path(__file__).with_suffix(".json")
SIDE, STRIDE, TRIALS, SEED = 20, 3, 12, 5
READOUTS = ((1.5, 0.1), (0.6, 0.1))
PAIRS = (("tanh", "sin"), ("relu", "tanh"))


def patches() -> np.ndarray:
    """All patches, [n, 400]: grey, each without its mean and with unit norm."""
    from sklearn.datasets import load_sample_images

    found = []
    for image in load_sample_images().images:
        windows = np.lib.stride_tricks.sliding_window_view(image.mean(axis=2), (SIDE, SIDE))
        found.append(windows[::STRIDE, ::STRIDE].reshape(-1, SIDE * SIDE))
    rows = np.concatenate(found)
    rows = rows - rows.mean(axis=1, keepdims=True)
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / size)[size[:, 0] > 0]


def whitened_by(rows: np.ndarray, power: float) -> tuple[np.ndarray, np.ndarray]:
    """The same patches with this power of their covariance, and its eigenvectors, largest eigenvalues first."""
    rows = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    scale = np.where(values > 1e-12 * values[-1], np.maximum(values, 1e-300), np.inf) ** ((power - 1.0) / 2.0)
    return rows @ (vectors * scale) @ vectors.T, vectors[:, ::-1]


def variants(X: np.ndarray, vectors: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """The patches, and two controls with their covariance.

    "shuffled" has each principal component permuted over the patches, which keeps its law and ends all dependence;
    "signs" has random signs for all components of all patches, which keeps the dependence of their sizes alone.
    """
    components = X @ vectors
    signs = random.choice([-1.0, 1.0], size=components.shape)
    return {
        "patches": X,
        "shuffled": random.permuted(components, axis=0) @ vectors.T,
        "signs": components * signs @ vectors.T,
    }


def main() -> None:
    warnings.simplefilter("ignore", gs.GiantstepWarning)  # of small effective ranks, which are the subject
    random, raw, lines = np.random.default_rng(SEED), patches(), []
    for power in (0.5, 1.0):
        X, vectors = whitened_by(raw, power)
        rows = variants(X, vectors, random)
        places = {"uniform": random.normal(size=SIDE**2), "leading": vectors[:, :10] @ random.normal(size=10)}
        for place, direction in places.items():
            laws = {"gaussian": gs.Inputs.from_data(X, direction=direction)}
            laws |= {name: gs.Inputs.from_data(kept, direction=direction, keep=True) for name, kept in rows.items()}
            for activation, function in PAIRS:
                about = {"power": power, "place": place, "activation": activation, "target": function}
                lines += compared(about, laws)
    STORE.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n", encoding="utf-8")


def compared(about: dict[str, Any], laws: dict[str, gs.Inputs]) -> list[dict[str, Any]]:
    """One line for each readout: the theory, with and without the covariance, and networks on each kind of inputs."""
    activation, function, lines = about["activation"], about["target"], []
    target, alone, d = gs.Target(function, inputs=laws["gaussian"]), gs.Target(function), SIDE**2

    def step(target: gs.Target) -> gs.Network:
        """A network whose spike has the strength 1."""
        r = gs.predict(gs.Network(activation, eta=1, alpha0=1), target, alpha=1, lam=1, throw=False).r
        return gs.Network(activation, eta=1.0 / float(r), alpha0=1)

    net = step(target)
    for alpha, lam in READOUTS:
        at = {"alpha": alpha, "lam": lam, "d": d}
        line = {**about, **at, "effective_rank": laws["gaussian"].effective_rank}
        line["theory"] = float(gs.predict(net, target, **at, throw=False).test_error)
        line["isotropic"] = float(gs.predict(step(alone), alone, **at).test_error)
        for name, inputs in laws.items():
            found = gs.simulate(net, gs.Target(function, inputs=inputs), **at, trials=TRIALS, seed=SEED)
            line[name] = float(found.test_error.mean())
            line[f"{name}_error"] = float(found.test_error.std(ddof=1)) / TRIALS**0.5
            line[f"{name}_r"] = float(found.r.mean())
        lines.append({key: float(f"{one:.5g}") if isinstance(one, float) else one for key, one in line.items()})
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    main()
