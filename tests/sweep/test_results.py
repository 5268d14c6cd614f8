"""What a sweep finds is what `predict` and `simulate` say, and asking for more keeps what is there."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep.errors import GiantstepWarning, ParameterError
from giantstep.sweep import results
from giantstep.sweep import simulation as simulation_module
from giantstep.sweep import theory as theory_module
from giantstep.sweep.part import positions, rounded
from giantstep.sweep.results import complete_trials, status

from .helpers import assert_nothing_twice, batches

GRID = {"alpha": [0.5, 1.0, 2.0], "lam": [0.01, 0.1]}
SIMULATED = {"d": 20, "trials": 3, "n_test": 200}
MODELS = {
    "network": gs.Network("tanh", eta=[0.5, 1.0], alpha0=2.0),
    "letters": gs.Network("tanh", eta=1.0, alpha0=[1.0, 2.0], beta=[1.0, 1.5], readout="ternary"),
    "features": gs.SpikedRF("erf", r=[0.5, 1.0], gamma=0.7, beta=[0.8, 1.2]),
}
AGREE = {"predict": 4e-9, "simulate": 1e-10}
"""Two solves, each to 1e-9 in its equations and 1e-9 in its integrals; and what `simulate` promises whatever the
threads and whatever is asked for together."""


def said(dataset: xr.Dataset) -> dict[str, object]:
    """Attributes, less those that say how it went."""
    return {name: value for name, value in dataset.attrs.items() if name not in ("missing", "interrupted")}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_laid_out_and_valued_as_the_verbs_give_them(name, tmp_path):
    model, target = MODELS[name], gs.Target("sin", noise=[0.0, 0.3])
    sweep = gs.Sweep(model, target, **GRID, theory={"bulk": "isotropic"}, simulation=SIMULATED)
    found = gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    verbs = (
        gs.predict(model, target, **GRID, bulk="isotropic"),
        gs.simulate(model, target, **GRID, **SIMULATED),
    )
    for one, other in zip(found[:2], verbs, strict=True):
        assert said(one) == said(other)
        assert list(one.data_vars) == list(other.data_vars)
        assert list(one.coords) == list(other.coords)
        for key in one.variables:
            assert one[key].dims == other[key].dims, key
            assert one[key].attrs == other[key].attrs, key
            if one[key].dtype.kind == "f" and key not in ("residual", "quadrature_error"):
                near = AGREE[other.attrs["command"]]
                np.testing.assert_allclose(one[key], other[key], rtol=near, atol=near, err_msg=str(key))
        assert one.attrs["missing"] == 0


def test_a_target_of_several_directions_is_simulated_as_the_verb_does(tmp_path):
    model, target = gs.Network("relu", eta=[0.5, 1.0], alpha0=2.0, steps=2), gs.Target("x1 + x1*x2")
    found = gs.run_sweep(
        gs.Sweep(model, target, **GRID, simulation=SIMULATED), tmp_path / "s.sqlite", workers=1
    )
    expected = gs.simulate(model, target, **GRID, **SIMULATED)
    assert found.simulation.gamma.dims == ("trial", "eta", "step", "direction")
    assert said(found.simulation) == said(expected)
    xr.testing.assert_allclose(found.simulation.drop_attrs(), expected.drop_attrs(), rtol=1e-10)


def test_theory_with_a_list_of_d_has_that_dimension(tmp_path):
    model = MODELS["network"]
    sweep = gs.Sweep(model, "sin", **GRID, theory={"bulk": "isotropic", "d": [100.0, np.inf]})
    found = gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1).theory
    direct = gs.predict(model, "sin", **GRID, bulk="isotropic", d=[100.0, np.inf])
    assert found["test_error"].dims == direct["test_error"].dims
    np.testing.assert_allclose(found["test_error"], direct["test_error"], rtol=AGREE["predict"])
    again = gs.Sweep(model, "sin", **GRID, theory={"bulk": "isotropic"})
    assert status(again, tmp_path / "s.sqlite")[0].done == 12  # d = inf is what no d means


def test_asking_again_computes_nothing_and_asking_for_more_only_what_is_new(tmp_path, monkeypatch):
    store, computed = tmp_path / "s.sqlite", []

    def spied(task):
        computed.append((task.trial, task.model.eta, task.points))
        return simulation_module_attempt(task)

    simulation_module_attempt = simulation_module.attempt
    monkeypatch.setattr(simulation_module, "attempt", spied)

    def run(eta, alpha, lam, trials):
        computed.clear()
        sweep = gs.Sweep(
            gs.Network("tanh", eta=eta, alpha0=2.0), "sin", alpha, lam, simulation={"d": 20, "trials": trials}
        )
        found = gs.run_sweep(sweep, store, workers=1).simulation
        assert_nothing_twice(sweep, store) if eta == [0.5, 1.0] else None
        return found

    before = run([0.5], [0.5, 1.0], [0.1], 2)
    assert len(computed) == 2
    run([0.5], [0.5, 1.0], [0.1], 2)
    assert computed == []
    run([0.5], [0.5, 1.0], [0.1], 3)
    assert [trial for trial, _, _ in computed] == [2]
    run([0.5, 1.0], [0.5, 1.0], [0.1], 3)
    assert {eta for _, eta, _ in computed} == {1.0}
    assert len(computed) == 3
    run([0.5, 1.0], [0.5, 1.0, 2.0], [0.1], 3)
    assert {points for _, _, points in computed} == {((40, 0.1),)}
    after = run([0.5, 1.0], [0.5, 1.0, 2.0], [0.01, 0.1], 3)
    assert {points for _, _, points in computed} == {((10, 0.01), (20, 0.01), (40, 0.01))}
    kept = after.sel(eta=0.5, alpha=[0.5, 1.0], lam=[0.1], trial=[0, 1])
    np.testing.assert_array_equal(kept["test_error"], before["test_error"].sel(eta=0.5))


@pytest.mark.filterwarnings("ignore:the limit d = inf")
def test_a_theory_grid_grows_by_its_new_points_alone(tmp_path, monkeypatch):
    from giantstep.theory import predict as prediction

    sizes, genuine = [], prediction.predict

    def spied(*arguments, **options):
        found = genuine(*arguments, **options)
        sizes.append(found["test_error"].size)
        return found

    monkeypatch.setattr(prediction, "predict", spied)
    monkeypatch.setattr(theory_module, "BLOCK", 8)

    def run(eta, alpha):
        sizes.clear()
        model = gs.Network("tanh", eta=eta, alpha0=2.0)
        sweep = gs.Sweep(model, "sin", alpha, [0.1, 1.0], theory={"bulk": "isotropic"})
        found = gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1).theory
        assert found.attrs["missing"] == 0
        direct = genuine(model, "sin", alpha=alpha, lam=[0.1, 1.0], bulk="isotropic")
        np.testing.assert_allclose(found["test_error"], direct["test_error"], rtol=AGREE["predict"])
        return sum(sizes), max(sizes)

    assert run([0.5, 1.0, 2.0], [0.5, 1.0]) == (12, 8)  # calls have a block of points, not one
    assert run([0.5, 1.0, 2.0, 3.0], [0.5, 1.0, 2.0])[0] == 24 - 12


def test_numbers_that_differ_by_rounding_are_the_same_point():
    np.testing.assert_array_equal(rounded(0.1 * 3), rounded(0.3))
    np.testing.assert_array_equal(rounded(np.linspace(0.1, 1, 10)), rounded(np.linspace(0.1, 2, 20))[:10])
    np.testing.assert_array_equal(rounded([0.0, -0.0, np.inf, 1e-300]), [0.0, 0.0, np.inf, 1e-300])
    assert not np.signbit(rounded(-0.0))
    assert rounded(1.0) != rounded(1.0 + 1e-11)
    values = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-250, 250, 0.5)
    np.testing.assert_allclose(rounded(values), values, rtol=10.0**-11)  # 12 digits, the last one rounded
    np.testing.assert_array_equal(rounded(rounded(values)), rounded(values))


def test_points_are_found_wherever_they_are():
    rng = np.random.default_rng(1)
    stored = rng.integers(0, 4, (40, 3)).astype(float)
    wanted = rng.integers(0, 4, (60, 3)).astype(float)
    place = positions(wanted, stored)
    for row, index in zip(wanted, place, strict=True):
        assert (stored[index] == row).all() if index >= 0 else not (stored == row).all(axis=1).any()


def test_alphas_that_mean_the_same_number_of_samples_share_a_result(tmp_path):
    sweep = gs.Sweep(MODELS["network"], "sin", [0.5, 0.501, 1.0], 0.1, simulation=SIMULATED)
    found = gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1).simulation
    np.testing.assert_array_equal(found["test_error"].isel(alpha=0), found["test_error"].isel(alpha=1))
    assert_nothing_twice(sweep, tmp_path / "s.sqlite")


def test_failures_are_recorded_left_alone_and_retried_alone(tmp_path, monkeypatch):
    store, genuine, tried = tmp_path / "s.sqlite", simulation_module.attempt, []
    sweep = gs.Sweep(MODELS["network"], "sin", **GRID, simulation=SIMULATED)

    def failing(task):
        tried.append(task.trial)
        if task.trial == 1:
            raise MemoryError("a test")
        return genuine(task)

    monkeypatch.setattr(simulation_module, "attempt", failing)
    with pytest.warns(
        GiantstepWarning, match="2 jobs failed, the first with: MemoryError: a test; retry = True"
    ):
        found = gs.run_sweep(sweep, store, workers=1).simulation
    assert found.attrs["missing"] == 12
    assert found["test_error"].isnull().sel(trial=1).all()
    assert list(complete_trials(found).trial) == [0, 2]
    (told,) = status(sweep, store)
    assert (told.wanted, told.done, told.failed) == (6, 4, 2)
    assert told.messages == ("MemoryError: a test",) * 2
    tried.clear()
    gs.run_sweep(sweep, store, workers=1)
    assert tried == []
    monkeypatch.setattr(simulation_module, "attempt", lambda task: tried.append(task.trial) or genuine(task))
    more = gs.Sweep(MODELS["network"], "sin", **GRID, simulation=SIMULATED | {"trials": 4})
    assert (
        gs.run_sweep(more, store, workers=1, retry=True).simulation.attrs["missing"] == 12
    )  # its fourth trial
    assert tried == [1, 1]
    assert gs.run_sweep(sweep, store, workers=1).simulation.attrs["missing"] == 0
    assert status(sweep, store)[0].failed == 0


def test_several_sweeps_share_a_store(tmp_path):
    store = tmp_path / "s.sqlite"
    one, two = (gs.Sweep(MODELS["network"], name, **GRID, simulation=SIMULATED) for name in ("sin", "tanh"))
    first = gs.run_sweep(one, store, workers=1).simulation
    gs.run_sweep(two, store, workers=1)
    assert batches(store) == 12
    assert results(one, store).simulation.identical(first)
    assert results(None, store).simulation.attrs["target"] == results(two, store).simulation.attrs["target"]


@pytest.mark.parametrize("ending", ["nc", "json", "csv", "parquet"])
def test_results_are_written_to_files_with_every_digit(ending, tmp_path):
    sweep = gs.Sweep(MODELS["letters"], "sin", **GRID, theory={"bulk": "isotropic"}, simulation=SIMULATED)
    for dataset in gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)[:2]:
        path = tmp_path / f"out.{ending}"
        gs.save(dataset, path)
        if ending in ("nc", "json"):
            assert gs.load(path).identical(dataset)
            continue
        if ending == "csv":  # by Python: versions of pandas differ in how they take a float
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
            table = {name: [row[name] for row in rows] for name in rows[0]}
        else:
            table = pytest.importorskip("pandas").read_parquet(path)
        written = np.asarray(table["test_error"], float)
        np.testing.assert_array_equal(written, dataset["test_error"].values.ravel())
        assert "m[-1]" in table


def test_what_cannot_be_swept_is_refused_before_anything_is_computed(tmp_path):
    net = MODELS["network"]
    for words, arguments in {
        "nothing to do": {},
        "simulation.d is missing": {"simulation": {"trials": 3}},
        "theory.blk is unknown; theory has bulk, d, tolerance": {"theory": {"blk": "exact"}},
        "simulation.trials = 2.5": {"simulation": {"d": 20, "trials": 2.5}},
        "lam = inf cannot be simulated": {"lam": [0.1, np.inf], "simulation": SIMULATED},
    }.items():
        with pytest.raises(ParameterError, match=words):
            gs.Sweep(net, "sin", **(GRID | arguments))
    with pytest.raises(ParameterError, match="callable"):
        gs.Sweep(net, lambda x: x, **GRID, theory=True)
    zipped = xr.DataArray([0.5, 1.0], dims="k")
    with pytest.raises(ParameterError, match="several sweeps into one store"):
        gs.Sweep(net, "sin", alpha=zipped, lam=0.1, theory=True)
    tiny = gs.Sweep(net, "sin", alpha=0.01, lam=0.1, simulation=SIMULATED)
    with pytest.raises(ParameterError, match=r"alpha = 0\.01 leaves no training samples"):
        gs.run_sweep(tiny, tmp_path / "s.sqlite", workers=1)
    wrong = gs.Sweep(net, "sin", **GRID, theory={"bulk": "orthogonal"})
    with pytest.raises(ParameterError, match="special SpikedRF"):
        gs.run_sweep(wrong, tmp_path / "s.sqlite", workers=1)
    assert batches(tmp_path / "s.sqlite") == 0


def test_a_warning_of_a_job_is_of_the_kind_that_the_verb_gives(tmp_path):
    """So that a filter which silences or raises one kind does so in sweeps too."""
    model = gs.Network("tanh", eta=0.1, alpha0=2.0)
    sweep = gs.Sweep(model, "sin", alpha=0.1, lam=0.1, theory={"bulk": "isotropic"}, simulation=None)
    with pytest.warns(gs.LimitWarning, match="out of reach of real sizes") as verb:
        gs.predict(model, "sin", alpha=0.1, lam=0.1, bulk="isotropic")
    with pytest.warns(gs.LimitWarning) as job:
        gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    assert [str(one.message) for one in job] == [str(one.message) for one in verb]


def test_what_different_jobs_remark_on_is_said_once_each(tmp_path):
    """Of so many points three jobs are made, each with a worst one of its own."""
    grid = {"alpha": np.linspace(0.1, 1.0, 20), "lam": np.geomspace(0.01, 1.0, 20)}
    model = gs.Network("tanh", eta=np.linspace(0.1, 0.4, 10), alpha0=2.0)
    sweep = gs.Sweep(model, "sin", **grid, theory={"bulk": "isotropic"}, simulation=None)
    with pytest.warns(gs.LimitWarning) as said_by_jobs:
        gs.run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    texts = [str(one.message) for one in said_by_jobs]
    assert len(texts) > 1
    assert len(set(texts)) == len(texts)
