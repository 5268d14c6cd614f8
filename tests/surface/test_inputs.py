"""Inputs with a covariance on the command line and in sweep files: the words make what Python makes."""

import csv
from pathlib import Path

import numpy as np
import pytest

import giantstep as gs
from giantstep.sweep import run_sweep
from giantstep.sweep.toml import read

from .command import giantstep as run

NET = "--eta 1 --alpha0 1 --alpha 2 --lam 0.1 --d 40 --trials 2 --format csv"
MODEL = gs.Network("tanh", eta=1, alpha0=1)
BLOCKS = gs.Inputs([5, 1], [0.25, 0.75], [0.8, 0.2])
X, W = np.random.default_rng(0).normal(size=(500, 40)) * np.linspace(2, 0.1, 40), np.ones(40)
ALONG, LABELLED = gs.Inputs.from_data(X, direction=W), gs.Inputs.from_data(X, y=X @ W)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    for name, values in (("X", X), ("w", W), ("y", X @ W)):
        np.save(tmp_path / f"{name}.npy", values)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "inputs"),
    [
        ("--eigenvalues 5,1 --masses 0.25,0.75 --shares 0.8,0.2", BLOCKS),
        ("--power-law 0,0.3 --source 2", gs.Inputs.power_law([0, 0.3], d=40, source=2)),
        ("--inputs X.npy --direction w.npy", ALONG),
        ("--inputs X.npy --labels y.npy", LABELLED),
    ],
)
def test_options_make_the_inputs_that_python_makes(words: str, inputs: gs.Inputs, sample: Path) -> None:
    done = run(f"simulate {NET} {words}", cwd=sample)
    found = [float(row["test_error"]) for row in csv.DictReader(done.stdout.splitlines())]
    expected = gs.simulate(MODEL, gs.Target("sin", inputs=inputs), alpha=2, lam=0.1, d=40, trials=2).test_error
    np.testing.assert_allclose(found, expected.values.ravel(), rtol=1e-9)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--masses 0.5,0.5", "--masses goes with --eigenvalues"),
        ("--eigenvalues 1,2 --power-law 1", "--eigenvalues and --power-law both say"),
        ("--inputs no.npy", "--inputs no.npy does not exist"),
        ("--inputs /", "--inputs / is a folder"),
        ("--inputs y.npy", "y.npy': X has shape (500,)"),
        ("--inputs X.npy --direction w.npy --labels y.npy", "--direction and --labels both say"),
        ("--inputs X.npy --labels w.npy", "w.npy': y has shape (40,)"),
        ("--eigenvalues 1,x", "has 'x', which is not a number"),
        ("--eigenvalues 1,2 --shares [[1,", "not a list of lists"),
        ("--eigenvalues 9,1 --masses 0.01,0.99", "use d of at least 100"),
    ],
)
def test_options_that_say_no_covariance_are_refused(words: str, sentence: str, sample: Path) -> None:
    done = run(f"simulate {NET} {words}", cwd=sample)
    assert done.returncode
    assert sentence in done.stderr


TOML = """
target = {{ function = "sin", noise = 0.1, inputs = {{ {inputs} }} }}
alpha = 2
lam = 0.1
model = {{ activation = "tanh", eta = 1, alpha0 = 1 }}
simulation = {{ d = 40, trials = 2 }}
theory = {{ d = 40 }}
"""


@pytest.mark.parametrize(
    ("words", "inputs"),
    [
        ("eigenvalues = [5, 1], masses = [0.25, 0.75], shares = [0.8, 0.2]", BLOCKS),
        ("eigenvalues = [2.5, 0.5], d = 40", gs.Inputs([2.5, 0.5], d=40)),
        ("power_law = 0.3", gs.Inputs.power_law(0.3, d=1000)),
        ('inputs = "X.npy", direction = "w.npy"', ALONG),
        ('inputs = "X.npy", labels = "y.npy"', LABELLED),
    ],
)
def test_sweep_files_have_the_same_words(words: str, inputs: gs.Inputs, sample: Path) -> None:
    path = sample / "sweep.toml"
    path.write_text(TOML.format(inputs=words))
    sweep = read(path)
    assert sweep.target.inputs == inputs
    assert gs.Sweep.from_dict(sweep.to_dict()).target == sweep.target


def test_a_sweep_over_exponents_has_the_answers_of_each(tmp_path: Path) -> None:
    path, at = tmp_path / "sweep.toml", {"alpha": 2, "lam": 0.1, "d": 40}
    path.write_text(TOML.format(inputs="power_law = [0, 0.5], d = 40"))
    found = run_sweep(read(path), tmp_path / "store.sqlite", workers=1)
    target = gs.Target("sin", noise=0.1, inputs=gs.Inputs.power_law(0.5, d=40))
    alone = gs.simulate(MODEL, target, **at, trials=2), gs.predict(MODEL, target, **at)
    for swept, one in zip((found.simulation, found.theory), alone, strict=True):
        errors = swept.test_error.sel(exponent=0.5).values.ravel()
        np.testing.assert_allclose(errors, one.test_error.values.ravel(), rtol=1e-6)


@pytest.mark.parametrize("command", ["bayes", "ridge"])
def test_commands_for_isotropic_inputs_offer_no_others(command: str) -> None:
    words = run(f"{command} --help").stdout
    assert "--latent-noise" in words
    assert not any(flag in words for flag in ("--eigenvalues", "--power-law", "--inputs"))


def test_commands_that_predict_take_inputs(tmp_path: Path) -> None:
    words = "--eta 0.5 --alpha0 1 --alpha 2 --lam 0.1"
    done = run(f"compare {words} --power-law 0,0.3 --d 40 --trials 3 --plot {tmp_path}/p.svg")
    assert done.returncode == 0, done.stderr
    assert "inputs with a covariance" in done.stdout
    assert (tmp_path / "p.svg").exists()
    assert run("tune --alpha 2 --over eta --alpha0 1 --lam 0.1 --eigenvalues 2,0.5").returncode == 0
