"""How predict behaves: blocks, grids, labels, failures and warnings."""

import json
import pickle
import re
import time
import warnings

import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep.theory import answers, doubts, engine, problem, square
from giantstep.theory.problem import model_grid, pose

NET = {"eta": 1.5, "alpha0": 0.8}
SATURATING = gs.SpikedRF("tanh", r=8.0, gamma=0.9)  # ridgeless interpolation is out of reach here
SAME = 1e-12  # other block shapes, other orders of summation


def _assert_same(a: xr.Dataset, b: xr.Dataset, tolerance: float = SAME) -> None:
    for name in ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2"):
        size = max(1e-3, float(np.abs(b[name]).max()))  # an odd network on an even target: m = 0
        assert np.allclose(a[name], b[name], rtol=0.0, atol=tolerance * size), name


# blocks


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
def test_results_do_not_depend_on_the_size_of_blocks(bulk, monkeypatch):
    net = gs.Network("tanh", eta=[0.5, 1.0, 8.0], alpha0=[0.5, 1.0], beta=1.2)

    def predict() -> xr.Dataset:
        return gs.predict(net, "abs", alpha=[0.3, 1.0, 3.0], lam=[0.01, 1.0], bulk=bulk)

    whole = predict()
    sizes = []
    solve = engine._solve
    for module in (engine, problem):
        monkeypatch.setattr(module, "BLOCK", 1 << 8)
    monkeypatch.setattr(
        engine,
        "_solve",
        lambda part, tolerance: (
            sizes.append(len(part.layer_index) * len(part.readout_index)) or solve(part, tolerance)
        ),
    )
    # refinement is decided block by block, so that two answers may differ within their tolerance
    _assert_same(predict(), whole, 1e-9)
    assert max(sizes) < 36  # it was cut indeed


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (gs.SpikedRF("tanh", r=1.0, gamma=0.7), gs.Target("sin", noise=0.3)),
        (gs.SpikedRF("relu", r=30.0, gamma=0.5), gs.Target("abs")),  # cut around the features' thin layer
        (gs.SpikedRF("erf", r=1.0, gamma=0.999), gs.Target("sign")),  # and around the target's
        (gs.Network("gelu", eta=2.0, alpha0=1.0), gs.Target("sign", flips=0.1)),
    ],
)
def test_doubled_rules_hold_those_that_they_refine(model, target):
    asked = pose(model, target, model_grid(model, target))
    once, twice = (asked.table(np.arange(1), points) for points in (24, 48))
    for stride in (1, 2):
        (features, label), (again, same) = once.at(stride), twice.at(2 * stride)
        for a, b in zip((*features, *label[:3]), (*again, *same[:3]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_progress_is_reported_up_to_one():
    seen: list[float] = []
    model = gs.SpikedRF("tanh", r=[0.5, 1.0, 9.0], gamma=0.5)
    gs.predict(model, "sin", alpha=[1.0, 2.0], lam=0.1, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


# failures


def test_a_point_that_fails_raises_and_carries_everything_else():
    with pytest.raises(gs.ConvergenceError, match=r"1 of 2 points failed.*lam = 0") as caught:
        gs.predict(SATURATING, "sin", alpha=0.5, lam=[0.0, 0.1])
    partial = caught.value.partial
    assert partial.converged.values.tolist() == [False, True]
    assert np.isnan(partial.test_error.values[0])
    alone = gs.predict(SATURATING, "sin", alpha=0.5, lam=0.1)
    assert float(partial.test_error[1]) == pytest.approx(float(alone.test_error), rel=SAME)
    assert "small positive lam" in partial.status.values[0]


def test_a_single_failing_point_raises_too():
    with pytest.raises(gs.ConvergenceError, match="1 of 1 points failed"):
        gs.predict(SATURATING, "sin", alpha=0.5, lam=0.0)


def test_without_throw_failures_are_flagged_and_warned_about():
    with pytest.warns(gs.GiantstepWarning, match="1 of 2 points failed"):
        found = gs.predict(SATURATING, "sin", alpha=0.5, lam=[0.0, 0.1], throw=False)
    assert found.converged.values.tolist() == [False, True]
    for name in ("test_error", "train_error", "m", "q1", "V2"):
        assert np.isnan(found[name].values[0])
        assert np.isfinite(found[name].values[1])


def test_an_absurd_interpolating_readout_is_refused_and_an_honest_one_on_strong_noise_is_not():
    """Without a ridge the error is linear in the noise's power, however strong."""
    with pytest.raises(gs.ConvergenceError, match="1 of 1 points failed") as caught:
        gs.predict(gs.SpikedRF("softplus", r=4.0, gamma=0.9), "sin", alpha=0.3, lam=0.0)  # 1e12 times E σ*²
    assert "small positive lam" in caught.value.partial.status.item()
    model, noise = gs.SpikedRF("tanh", r=0.5, gamma=0.9), np.array([1.0, 1e5])
    clean, weak, strong = gs.predict(
        model, gs.Target("sin", noise=[0.0, *noise]), alpha=0.5, lam=0.0
    ).test_error.values
    assert strong - clean == pytest.approx(1e10 * (weak - clean), rel=1e-7)


def test_unsolved_equations_are_told_from_poor_integration(monkeypatch):
    monkeypatch.setattr(square, "_NEWTON_STEPS", 0)
    with pytest.raises(gs.ConvergenceError) as caught:
        gs.predict(gs.SpikedRF("tanh", r=1.0, gamma=0.5), "sin", alpha=1.0, lam=1e-3)
    assert "not solved" in caught.value.partial.status.item()
    assert float(caught.value.partial.residual) > answers.RESIDUAL_TOLERANCE
    two = gs.TwoSpikes(
        "tanh", left=((1, 1), (1, -1)), strengths=(1, 1), alignments=(0.7, 0.5), weights=(0.5, 0.5)
    )
    with pytest.raises(gs.ConvergenceError, match="not solved"):
        gs.predict(two, "sin", alpha=1.0, lam=1e-3)


def test_a_bad_point_does_not_poison_its_batch():
    alpha = np.array([0.25, 0.5, 1.0, 2.0])
    with pytest.warns(gs.GiantstepWarning):
        found = gs.predict(SATURATING, "sin", alpha=alpha, lam=[0.0, 1e-3, 0.1], throw=False)
    clean = gs.predict(SATURATING, "sin", alpha=alpha, lam=[1e-3, 0.1])
    _assert_same(found.isel(lam=[1, 2]), clean, 1e-9)


def test_a_jump_that_was_not_declared_is_found():
    """A user's step function without its breakpoint has the errors of one that names it."""
    hidden, named = (
        gs.Function(lambda x: 1.0 * (x > 0.123)),
        gs.Function(lambda x: 1.0 * (x > 0.123), breakpoints=[0.123]),
    )
    found, wanted = (
        gs.predict(gs.SpikedRF("tanh", r=1.0, gamma=1.0), f, alpha=1.0, lam=0.1) for f in (hidden, named)
    )
    _assert_same(found, wanted, 1e-9)


def test_shares_of_wrong_signs_that_are_not_resolved_fail_their_point(monkeypatch):
    """Beyond 1e-4, which is what a share is read off to; they have a rule of their own."""
    model, y = gs.SpikedRF("tanh", r=1.0, gamma=0.5), gs.Target("sign", flips=0.1)
    genuine = engine.count_wrong_signs
    for off, code in ((5e-5, 0), (2e-4, 2)):

        def counted(*given, off=off):
            return genuine(*given)._replace(error=np.full(1, off))

        monkeypatch.setattr(engine, "count_wrong_signs", counted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.GiantstepWarning)
            found = gs.predict(model, y, alpha=1.0, lam=0.1, throw=False)
        assert found.code == code
        assert (found.quadrature_error == off) == bool(code)


# grids and labels


def test_arrays_are_crossed_and_scalars_open_no_dimension():
    found = gs.predict(
        gs.SpikedRF("tanh", r=[0.5, 1.0], gamma=0.3, beta=[0.8, 1.2, 2.0]), "sin", alpha=[1.0, 2.0], lam=0.1
    )
    assert dict(found.sizes) == {"r": 2, "beta": 3, "alpha": 2}
    assert found.test_error.dims == ("r", "beta", "alpha")
    point = gs.predict(gs.SpikedRF("tanh", r=1.0, gamma=0.3, beta=1.2), "sin", alpha=2.0, lam=0.1)
    assert point.test_error.dims == ()
    assert float(point.test_error) == pytest.approx(
        float(found.test_error.sel(r=1.0, beta=1.2, alpha=2.0)), rel=1e-9
    )


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
def test_zipped_arrays_equal_single_calls(bulk):
    eta, alpha0 = xr.DataArray([0.5, 1.0, 3.0], dims="run"), xr.DataArray([2.0, 0.5, 1.0], dims="run")
    lam = xr.DataArray([0.1, 0.2, 0.01], dims="run")
    found = gs.predict(
        gs.Network("tanh", eta=eta, alpha0=alpha0), "sin", alpha=[0.5, 1.5], lam=lam, bulk=bulk
    )
    assert set(found.test_error.dims) == {"run", "alpha"}
    for i in range(3):
        for j, alpha in enumerate((0.5, 1.5)):
            net = gs.Network("tanh", eta=float(eta[i]), alpha0=float(alpha0[i]))
            alone = gs.predict(net, "sin", alpha=alpha, lam=float(lam[i]), bulk=bulk)
            _assert_same(found.isel(run=i, alpha=j), alone, 1e-9)


def test_the_dataset_describes_itself():
    net = gs.Network("tanh", eta=1.0, alpha0=[0.5, 1.0])
    found = gs.predict(net, gs.Target("sin", noise=0.1), alpha=[1.0, 2.0, 3.0], lam=0.1, bulk="exact", d=500)
    answers = ["test_error", "train_error", "train_loss", "m", "zeta", "psi", "chi", "q1", "q2", "V1", "V2"]
    for name in [*answers, "residual", "quadrature_error"]:
        assert found[name].dims == ("alpha0", "alpha")
        assert found[name].dtype == float
        assert found[name].attrs["long_name"]
    for name in ("c", "r", "gamma"):
        assert found[name].dims == ("alpha0",)
    assert found.converged.dtype == bool
    assert set(np.unique(found.status)) == {"converged"}
    assert {"eta", "alpha0", "beta", "noise", "alpha", "lam", "d"} <= set(found.coords)
    assert found.test_error.attrs["symbol"] == r"\epsilon_g"
    assert (found.attrs["command"], found.attrs["loss"], found.attrs["bulk"]) == (
        "predict",
        "square",
        "exact",
    )
    assert found.attrs["giantstep_version"] == gs.__version__
    assert gs.Network.from_dict(json.loads(found.attrs["model"])).to_dict() == net.to_dict()


def test_letters_open_their_dimensions_and_chi_belongs_to_bulks_whose_norms_vary():
    net = gs.Network("tanh", **NET, readout=gs.Letters((0.5, 1.5), (0.3, 0.7)))
    found = gs.predict(net, "sin", alpha=[1.0, 2.0], lam=0.1, d=300)
    assert found.m.dims == ("alpha", "letter")
    assert found.V1.dims == ("alpha", "letter", "letter_")
    assert found.letter.values.tolist() == [0.5, 1.5]
    assert found.chi.dims == ("alpha", "letter")
    assert "chi" not in gs.predict(net, "sin", alpha=1.0, lam=0.1, d=300, bulk="isotropic")


# the default bulk


def _biased(activation: str, eta: float) -> gs.Network:
    letters = gs.Letters((1.0, 1.0), (0.5, 0.5), biases=(0.0, 0.5))
    return gs.Network(activation, eta=eta, alpha0=0.5, readout=letters)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_default_bulk_of_a_network_with_biases_is_the_exact_one(activation):
    """Without a word, because it needs no warning; the paper's model is another one, and says so."""
    options = {"alpha": [0.5, 1.0], "lam": [0.1, 1.0], "d": 500}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        default, exact, isotropic = (
            gs.predict(_biased(activation, 3.0), "tanh", bulk=bulk, **options)
            for bulk in (None, "exact", "isotropic")
        )
    assert [found.attrs["bulk"] for found in (default, exact, isotropic)] == ["exact", "exact", "isotropic"]
    assert default.drop_attrs().equals(exact.drop_attrs())
    assert "chi" in default
    assert float(np.abs(isotropic.test_error / default.test_error - 1.0).max()) > 0.01


# numbers that real networks do not have


def test_a_limit_that_no_size_comes_near_is_marked_and_said_once_with_both_numbers():
    """However small the rate, at d = ∞ the all-ones direction is fitted: not at any size."""
    rates = [0.0, 0.001, 0.1, 1.0]
    net = gs.Network("tanh", eta=rates, alpha0=1)
    with pytest.warns(gs.LimitWarning) as said:
        limit = gs.predict(net, "sin", alpha=2, lam=0.1)
    assert limit["code"].values.tolist() == [0, 6, 6, 0]
    assert limit["converged"].all()
    assert "give a finite d" in limit["status"].values[1]
    sized = gs.predict(net, "sin", alpha=2, lam=0.1, d=1000)
    assert not sized["code"].any()
    assert len(said) == 1
    shown = re.search(r"error is ([0-9.]+) in the limit and ([0-9.]+) at", str(said[0].message))
    assert shown is not None
    found = [float(part["test_error"].values[1]) for part in (limit, sized)]
    assert [float(text) for text in shown.groups()] == pytest.approx(found, rel=1e-3)
    assert "2 of 4 points: where eta = 0.001" in str(said[0].message)


@pytest.mark.parametrize(
    ("model", "target", "loss"),
    [
        (gs.Network("tanh", eta=0.03, alpha0=1, steps=2), "sin", "square"),
        (gs.SpikedRF("tanh", r=0.02, gamma=0.9), "sin", "square"),
        (gs.SpikedRF("tanh", r=0.02, gamma=0.9), gs.Target("sign", flips=0.1), "logistic"),
    ],
    ids=["two steps", "a given spike", "another loss"],
)
def test_the_size_shown_beside_the_limit_is_that_of_the_theory_with_d(model, target, loss):
    """To a tenth of the gap: what steps take from common rows is left out, and the rule in κ is the coarsest."""
    with pytest.warns(gs.LimitWarning, match="at d = 1000") as said:
        limit = gs.predict(model, target, alpha=2, lam=0.1, loss=loss)
    shown = float(str(said[0].message).split(" at d = 1000")[0].split()[-1])
    exact = float(gs.predict(model, target, alpha=2, lam=0.1, loss=loss, d=1000)["test_error"])
    assert shown == pytest.approx(exact, abs=0.1 * abs(exact - float(limit["test_error"])))


def test_doubts_are_said_of_solved_points_alone_and_the_gravest_of_them():
    """Every code there is: batches that scatter, rare inputs, far from real sizes, squares that learn, wide rows."""
    plain = {
        "test_error": 1.0,
        "sized_error": 1.0,
        "rare": 0.0,
        "scatter": 0.0,
        "squares": 0.0,
        "spread": 0.0,
        "share": 0.0,
    }

    def marked(**other: float) -> list[int]:
        found = {name: np.full((1, 12), value) for name, value in (plain | other).items()}
        found["code"] = np.arange(12, dtype=np.int8)[None]
        doubts.mark(found, np.ones((1, 1)))
        return found["code"][0].tolist()

    assert marked() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert marked(scatter=0.18) == [8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]  # 0.18² is more than 3 %,
    assert marked(scatter=0.17) == marked()  # and 0.17² is not
    assert marked(rare=0.04, scatter=1.0) == [7, 1, 2, 3, 4, 5, 7, 7, 8, 9, 10, 11]
    assert marked(sized_error=1.04, scatter=1.0) == [6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert marked(squares=0.04, scatter=1.0) == [9, 1, 2, 3, 4, 5, 9, 7, 8, 9, 10, 11]
    assert marked(squares=0.04, rare=0.04) == [7, 1, 2, 3, 4, 5, 7, 7, 8, 9, 10, 11]
    assert marked(spread=0.06, scatter=1.0) == [10, 1, 2, 3, 4, 5, 10, 7, 8, 9, 10, 11]
    assert marked(share=0.6, rare=0.04) == [11, 1, 2, 3, 4, 5, 11, 11, 11, 11, 11, 11]


def test_averages_that_rare_inputs_make_are_marked():
    """Ridgeless and saturating: the theory's mean is 572, and networks of any size that fits a computer give 3."""
    net = gs.Network("tanh", eta=3, alpha0=1)
    for d in (None, 200):
        with pytest.warns(gs.GiantstepWarning, match="a million samples may not hold"):
            found = gs.predict(net, "sin", alpha=0.5, lam=0, d=d)
        assert found["code"] == 7
        assert found["converged"]
    two = gs.Network("tanh", eta=2, alpha0=1, steps=2)
    with pytest.warns(gs.GiantstepWarning, match="a million samples may not hold"):
        gs.predict(two, "sin", alpha=0.5, lam=0, d=200)
    for quiet in ({"alpha": 0.5, "lam": 0.01}, {"alpha": 2, "lam": 0}):
        assert gs.predict(net, "sin", d=200, **quiet)["code"] == 0


# extreme scales


@pytest.mark.parametrize("r", [100.0, 1e4, 1e6])
def test_a_steep_spike_is_solved_and_approaches_a_sign(r):
    """tanh(rκ + z) is a step of width 1/r in κ: what it misses of sign(κ) is of that order."""
    steep = gs.predict(gs.SpikedRF("tanh", r=r, gamma=0.5), "sin", alpha=1, lam=0.1)
    limit = gs.predict(gs.SpikedRF("tanh", r=1e9, gamma=0.5), "sin", alpha=1, lam=0.1)
    assert float(steep["quadrature_error"]) < 1e-9
    assert float(steep["test_error"]) == pytest.approx(float(limit["test_error"]), abs=1.0 / r)


@pytest.mark.parametrize(("slope", "c"), [(50, 10.0), (200, 1.0)])
def test_a_steep_activation_is_solved_and_close_to_a_sign(slope, c):
    """No number of points resolves it to rounding; the averages over κ do. They differ for |x| < 1/slope or so."""
    at = {"r": 1.0, "gamma": 0.7, "c": c}
    steep, sign = (
        float(gs.predict(gs.SpikedRF(name, **at), "sin", alpha=1, lam=0.1, d=100)["test_error"])
        for name in (f"tanh({slope}*x)", "sign")
    )
    assert steep == pytest.approx(sign, rel=4 / (slope * np.sqrt(2 * np.pi * c)))  # twice the share of such x


def test_an_activation_that_is_noise_to_every_rule_is_refused():
    with pytest.raises(gs.ConvergenceError, match="numerical integration did not reach the tolerance"):
        gs.predict(gs.SpikedRF("sin", r=1e5, gamma=0.7, c=1e10), "sin", alpha=1, lam=0.1, d=100)


def test_an_activation_seen_from_afar_is_a_sign():
    """Rows of norm s with a spike of strength s: tanh(s x) → sign(x), at a distance of order 1/s."""
    plain = gs.predict(gs.SpikedRF("sign", r=1.0, gamma=0.8), "sin", alpha=1, lam=0.1)["test_error"]
    for s in (1e3, 1e5):
        far = gs.predict(gs.SpikedRF("tanh", r=s, gamma=0.8, c=s * s), "sin", alpha=1, lam=0.1)
        assert float(far["quadrature_error"]) < 1e-9
        assert float(far["test_error"]) == pytest.approx(float(plain), abs=3.0 / s)


def test_separable_labels_are_recognised_on_the_coarsest_rule():
    """The path in λ and finer rules are the dear part: none of them is walked for a point without a solution."""
    began = time.process_time()
    with pytest.raises(gs.ConvergenceError, match="give a finite d"):
        gs.predict(gs.SpikedRF("tanh", r=1, gamma=1), "sign", alpha=2, lam=0.1, loss="logistic")
    assert time.process_time() - began < 3.0  # of this process; it was 14


# shared and spared work


def test_workers_share_the_blocks_and_change_no_bit(monkeypatch):
    monkeypatch.setattr(engine, "BLOCK", 1 << 12)  # several blocks
    net, target = gs.Network("tanh", eta=[1.0, 2.0], alpha0=1.0), gs.Target("x + 0.1*x**3", noise=0.2)
    grid = {"alpha": np.geomspace(0.2, 5.0, 12), "lam": np.geomspace(0.01, 1.0, 6)}
    shares: list[float] = []
    alone = gs.predict(net, target, **grid)
    shared = gs.predict(net, target, workers=2, progress=shares.append, **grid)
    assert len(shares) > 2
    assert alone.identical(shared)
    with pytest.raises(gs.ParameterError, match="workers = 0"):
        gs.predict(net, target, alpha=1.0, lam=1.0, workers=0)


def test_a_block_is_solved_alone_as_among_all_others():
    """Two letters span two directions after two steps and one after one step: blocks of different kinds."""
    readout = gs.Letters((1.0, 2.0), (0.5, 0.5))
    net, target = gs.Network("relu", eta=0.5, alpha0=2.0, steps=[2, 1], readout=readout), gs.Target("relu")
    whole = pose(net, target, model_grid(net, target, alpha=[0.5, 1.0], lam=0.1), "isotropic")
    tasks = list(engine._tasks(whole))
    assert len(tasks) == 2
    for task in tasks:
        part = task.alone().problem
        assert (part.spikes, part.width) == (whole.spikes, whole.width)
        among, alone = (engine._solve(one, 1e-8) for one in (task, task.alone()))
        assert all(np.array_equal(among[name], alone[name]) for name in among)


@pytest.mark.parametrize(("layers", "readouts"), [(1, 80_000), (8000, 1)])
def test_a_block_travels_with_its_own_points_alone(layers, readouts):
    """All points of a large grid with every block took longer than the work that was shared."""
    net, target = gs.Network("tanh", eta=np.linspace(0.5, 1.0, layers), alpha0=1.0), gs.Target("sin")
    grid = model_grid(net, target, alpha=np.geomspace(0.2, 5.0, readouts), lam=0.1)
    whole = pose(net, target, grid)
    tasks = list(engine._tasks(whole))
    sent = sum(len(pickle.dumps(task.alone())) for task in tasks)
    assert len(tasks) > 5
    assert sent < 2 * len(pickle.dumps(whole))


@pytest.mark.parametrize(
    ("model", "target", "loss"),
    [
        (gs.Network("tanh", eta=2.0, alpha0=1.0), gs.Target("sin", noise=0.3), "square"),
        (gs.Network("tanh", eta=2.0, alpha0=1.0), gs.Target("sin", noise=0.3), "huber:0.5"),
        (gs.SpikedRF("erf", r=1.0, gamma=0.99), gs.Target("sign", flips=0.1), "logistic"),
        (
            gs.TwoSpikes("tanh", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.4, 0.6)),
            gs.Target("sin"),
            "square",
        ),
    ],
    ids=["square", "huber", "logistic, cut at a jump", "two spikes"],
)
def test_half_a_rule_in_kappa_says_what_the_whole_one_does(model, target, loss, monkeypatch):
    where = {"alpha": [0.5, 2.0], "lam": 0.1, "loss": loss}
    half = gs.predict(model, target, **where)
    monkeypatch.setattr(problem.Problem, "odd", False)
    _assert_same(half, gs.predict(model, target, **where), SAME if loss == "square" else 1e-9)


def test_a_rule_is_halved_only_where_both_halves_are_alike(monkeypatch):
    """An even target, a bias, a loss that prefers one side: half a rule would be wrong by far."""
    monkeypatch.setattr(engine, "folded", lambda *both: pytest.fail("halved"))
    biased = gs.Letters((1.0,), (1.0,), biases=(0.5,))
    for model, target, loss in (
        (gs.SpikedRF("tanh", r=1.0, gamma=0.7), "x**2", "square"),
        (gs.SpikedRF("relu", r=1.0, gamma=0.7), "sin", "square"),
        (gs.SpikedRF("tanh", r=1.0, gamma=0.7, readout=biased), "sin", "square"),
        (gs.SpikedRF("tanh", r=1.0, gamma=0.7), gs.Target("sin", noise=0.3), "pinball:0.8"),
    ):
        gs.predict(model, target, alpha=1.0, lam=0.5, loss=loss)
