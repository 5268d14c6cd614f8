"""What a sweep finds is what `predict` and `simulate` say, and asking for more keeps what is there."""

import numpy as np
import pytest
import xarray as xr
from attrs import evolve

import giantstep as gs
from giantstep.errors import GiantstepWarning, ParameterError
from giantstep.sweep.results import complete_trials, results, status

from .helpers import Here, assert_nothing_twice, batches

GRID = {"alpha": [0.5, 1.0, 2.0], "lam": [0.01, 0.1]}
SIMULATED = {"d": 20, "trials": 3, "n_test": 200}
NETWORK = gs.Network("tanh", eta=[0.5, 1.0], alpha0=2.0)
NOISY = gs.Target("sin", noise=[0.0, 0.3])
LETTERS = gs.Network("tanh", eta=1.0, alpha0=[1.0, 2.0], beta=[1.0, 1.5], readout="ternary")
ZOO = {  # model, target, what is predicted
    "network": (NETWORK, NOISY, {"bulk": "isotropic"}),
    "letters": (LETTERS, NOISY, {"bulk": "isotropic"}),
    "features": (gs.SpikedRF("erf", r=[0.5, 1.0], gamma=0.7, beta=[0.8, 1.2]), NOISY, {"bulk": "isotropic"}),
    "sizes": (NETWORK, gs.Target("sin"), {"bulk": "isotropic", "d": [100.0, np.inf]}),
    "directions": (gs.Network("relu", eta=[0.5, 1.0], alpha0=2.0, steps=2), gs.Target("x1 + x1*x2"), None),
}
AGREE = {"predict": 4e-9, "simulate": 1e-10}
"""Two solves, each to 1e-9 in its equations and 1e-9 in its integrals; and what `simulate` promises whatever the
threads and whatever is asked for together."""


@pytest.mark.parametrize("name", ZOO)
def test_results_are_laid_out_and_valued_as_the_verbs_give_them(name, tmp_path):
    model, target, theory = ZOO[name]
    sweep = gs.Sweep(model, target, **GRID, theory=theory, simulation=SIMULATED)
    found = gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    pairs = [(found.simulation, gs.simulate(model, target, **GRID, **SIMULATED))]
    if theory is not None:
        pairs.append((found.theory, gs.predict(model, target, **GRID, **theory)))
    for one, other in pairs:
        assert one.attrs | {"interrupted": False} == other.attrs | {"missing": 0, "interrupted": False}
        assert list(one.data_vars) == list(other.data_vars)
        assert list(one.coords) == list(other.coords)
        for key in one.variables:
            assert one[key].dims == other[key].dims, key
            assert one[key].attrs == other[key].attrs, key
            if one[key].dtype.kind == "f" and key not in ("residual", "quadrature_error"):
                near = AGREE[other.attrs["command"]]
                np.testing.assert_allclose(one[key], other[key], rtol=near, atol=near, err_msg=str(key))
    for one, other in zip(results(sweep, tmp_path / "s.sqlite")[:2], found[:2], strict=True):
        assert one is other is None or one.identical(other)  # read from the file
    if name == "sizes":
        limit = gs.Sweep(model, target, **GRID, theory={"bulk": "isotropic"})
        assert status(limit, tmp_path / "s.sqlite")[0].done == 12  # d = inf is what no d means


GROWING = [  # eta, alpha, lam, trials; and how many jobs do what is new
    ([0.5], [0.5, 1.0], [0.1], 2, 1 + 2),
    ([0.5], [0.5, 1.0], [0.1], 2, 0),
    ([0.5], [0.5, 1.0], [0.1], 3, 1),
    ([0.5, 1.0], [0.5, 1.0], [0.1], 3, 1 + 3),
    ([0.5, 1.0], [0.5, 1.0, 2.0], [0.1], 3, 1 + 6),
    ([0.5, 1.0], [0.5, 1.0, 2.0], [0.01, 0.1], 3, 1 + 6),
    ([0.5, 1.0, 2.0], [0.5, 1.0, 2.0, 3.0], [0.01, 0.1], 3, 2 + 9),
]


@pytest.mark.filterwarnings("ignore:the limit d = inf")
def test_asking_for_more_computes_what_is_new_and_keeps_what_is_there(tmp_path):
    store, first = tmp_path / "s.sqlite", None
    for eta, alpha, lam, trials, jobs in GROWING:
        model, simulation = gs.Network("tanh", eta=eta, alpha0=2.0), SIMULATED | {"trials": trials}
        sweep = gs.Sweep(model, "sin", alpha, lam, theory={"bulk": "isotropic"}, simulation=simulation)
        found = gs.run_sweep(sweep, store, workers=1)
        assert found.done == jobs
        assert_nothing_twice(sweep, store)
        direct = gs.predict(model, "sin", alpha=alpha, lam=lam, bulk="isotropic")
        np.testing.assert_allclose(found.theory.test_error, direct.test_error, rtol=AGREE["predict"])
        first = first or found
    for before, after in zip(first[:2], found[:2], strict=True):
        kept = after.test_error.sel(eta=[0.5], alpha=[0.5, 1.0], lam=[0.1])
        kept = kept.sel(trial=[0, 1]) if "trial" in kept.dims else kept
        np.testing.assert_array_equal(kept, before.test_error)


PREDICTED = gs.Sweep(NETWORK, NOISY, 0.5, 0.3, theory={"bulk": "isotropic"}, simulation=SIMULATED)


@pytest.mark.parametrize(
    ("changed", "jobs"),
    [
        ({"lam": 0.1 * 3}, 0),
        ({"lam": 0.3 * (1 + 1e-13)}, 0),
        ({"lam": 0.3 * (1 + 1e-10)}, 1 + 12),
        ({"target": gs.Target("sin", noise=[-0.0, 0.3])}, 0),
        ({"alpha": 0.501}, 1),  # as many samples, to a simulation
        ({"alpha": [0.5, 0.501]}, 1),
        ({"simulation": SIMULATED | {"seed": 1}}, 12),
        ({"simulation": SIMULATED | {"d": 21}}, 12),
        ({"loss": "huber:1"}, 1 + 12),
        ({"target": gs.Target("tanh", noise=[0.0, 0.3])}, 1 + 12),
        ({"model": evolve(NETWORK, activation="erf")}, 1 + 12),
        ({"theory": {"bulk": "exact"}}, 1),
    ],
)
def test_a_point_is_known_again_by_its_content_to_twelve_digits(tmp_path, changed, jobs):
    store, asked = tmp_path / "s.sqlite", evolve(PREDICTED, **changed)
    assert gs.run_sweep(PREDICTED, store, workers=1).done == 13
    found = gs.run_sweep(asked, store, workers=1)
    assert found.done == jobs
    assert found.simulation.attrs["missing"] == found.theory.attrs["missing"] == 0
    if "alpha" in changed:  # equal points of one sweep are computed once
        gs.run_sweep(asked, tmp_path / "new.sqlite", workers=1)
        assert_nothing_twice(asked, tmp_path / "new.sqlite")


def test_what_a_first_layer_is_like_is_known_from_any_of_its_points(tmp_path):
    later, whole = (gs.Sweep(NETWORK, "sin", alpha, 0.1, simulation=SIMULATED) for alpha in ([1.0], [0.5, 1.0]))
    found = gs.run_sweep(later, tmp_path / "s.sqlite", workers=1).simulation
    more = results(whole, tmp_path / "s.sqlite").simulation
    assert more.test_error.isnull().sel(alpha=0.5).all()
    assert more.gamma.identical(found.gamma)


def out_of_memory():
    raise MemoryError("a test")


class Failing(Here):
    """The job of trial 1 at the larger rate fails."""

    def submit(self, function, work, threads):
        task = work.args[0]
        return super().submit(function, out_of_memory if (task.trial, task.model.eta) == (1, 1.0) else work, threads)


def test_failures_are_recorded_left_alone_and_retried_alone(tmp_path):
    store = tmp_path / "s.sqlite"
    sweep, more = (gs.Sweep(NETWORK, "sin", **GRID, simulation=SIMULATED | {"trials": trials}) for trials in (3, 4))
    words = "1 jobs failed, the first with: MemoryError: a test; retry = True"
    with pytest.warns(GiantstepWarning, match=words):
        found = gs.run_sweep(sweep, store, executor=Failing()).simulation
    assert found.attrs["missing"] == 6
    assert found["test_error"].isnull().sel(trial=1, eta=1.0).all()
    assert list(complete_trials(found).trial) == [0, 2]
    (progress,) = status(sweep, store)
    assert (progress.wanted, progress.done, progress.failed, progress.messages) == (6, 5, 1, ("MemoryError: a test",))
    assert gs.run_sweep(sweep, store, workers=1).done == 0
    again = gs.run_sweep(more, store, workers=1, retry=True)
    assert (again.done, again.simulation.attrs["missing"]) == (1, 12)  # its fourth trial
    assert gs.run_sweep(sweep, store, workers=1).simulation.attrs["missing"] == 0
    assert status(sweep, store)[0].failed == 0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "nothing to do"),
        ({"theory": {"blk": "exact"}}, "theory.blk is unknown; theory has bulk, d, tolerance"),
        ({"simulation": {"d": 20, "trials": 2.5}}, "trials = 2.5 is not allowed"),
        ({"lam": [0.1, np.inf], "simulation": SIMULATED}, "lam = inf cannot be simulated"),
        ({"target": lambda x: x, "theory": True}, "callable"),
        ({"alpha": xr.DataArray([0.5, 1.0], dims="k"), "theory": np.True_}, "several sweeps into one store"),
        ({"alpha": 0.01, "simulation": SIMULATED}, r"alpha = 0\.01 leaves no training samples"),
        ({"theory": {"bulk": "orthogonal"}}, "special SpikedRF"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_is_computed(tmp_path, changed, words):
    description = {"model": NETWORK, "target": "sin", **GRID, **changed}
    with pytest.raises(ParameterError, match=words):
        gs.run_sweep(gs.Sweep(**description), tmp_path / "s.sqlite", workers=1)
    assert batches(tmp_path / "s.sqlite") == 0


def test_warnings_are_of_the_kind_that_the_verb_gives_and_each_is_said_once(tmp_path):
    """So that a filter which silences or raises one kind does so in sweeps too."""
    model = gs.Network("tanh", eta=0.1, alpha0=2.0)
    with pytest.warns(gs.LimitWarning, match="out of reach of real sizes") as verb:
        gs.predict(model, "sin", alpha=0.1, lam=0.1, bulk="isotropic")
    sweep = gs.Sweep(model, "sin", alpha=0.1, lam=0.1, theory={"bulk": "isotropic"})
    with pytest.warns(gs.LimitWarning) as job:
        gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    assert [str(one.message) for one in job] == [str(one.message) for one in verb]
    # so many points are two jobs for each first layer, each with a worst point of its own
    model = gs.Network("tanh", eta=[0.1, 0.4], alpha0=2.0)
    grid = {"alpha": np.linspace(0.1, 1.0, 47), "lam": np.geomspace(0.01, 1.0, 47)}
    sweep = gs.Sweep(model, "sin", **grid, theory={"bulk": "isotropic"})
    with pytest.warns(gs.LimitWarning) as jobs:
        found = gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    assert (found.done, found.theory.attrs["missing"]) == (4, 0)
    assert len({str(one.message) for one in jobs}) == len(jobs) > 1
