"""How predict behaves: grids, labels, failures, warnings, extreme scales, and work that is shared."""

import json
import math
import re
import time
import warnings

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import giantstep as gs
from giantstep.theory import doubts
from giantstep.theory.answers import judge

from ..zoo import TWO

SATURATING = gs.SpikedRF("tanh", r=8.0, gamma=0.9)  # ridgeless interpolation is out of reach here
SAME = 1e-12  # other block shapes, other orders of summation


def _assert_same(a: xr.Dataset, b: xr.Dataset, tolerance: float = SAME) -> None:
    for name in ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2"):
        size = max(1e-3, float(np.abs(b[name]).max()))  # an odd network on an even target: m = 0
        assert np.allclose(a[name], b[name], rtol=0.0, atol=tolerance * size), name


# failures


def test_a_point_that_fails_raises_and_carries_everything_else_or_is_flagged():
    with pytest.raises(gs.ConvergenceError, match=r"1 of 2 points failed.*lam = 0") as caught:
        gs.predict(SATURATING, "sin", alpha=0.5, lam=[0.0, 0.1])
    with pytest.warns(gs.GiantstepWarning, match="1 of 2 points failed"):
        flagged = gs.predict(SATURATING, "sin", alpha=0.5, lam=[0.0, 0.1], throw=False)
    alone = gs.predict(SATURATING, "sin", alpha=0.5, lam=0.1)
    for partial in (caught.value.partial, flagged):
        assert partial.converged.values.tolist() == [False, True]
        assert "small positive lam" in partial.status.values[0]
        assert all(np.isnan(partial[name].values[0]) for name in ("test_error", "train_error", "m", "q1", "V2"))
        _assert_same(partial.isel(lam=1), alone)
    with pytest.raises(gs.ConvergenceError, match="1 of 1 points failed"):
        gs.predict(SATURATING, "sin", alpha=0.5, lam=0.0)


def test_what_is_said_of_a_point_that_fails():
    """Codes: 0 is solved, 1 not solved, 2 imprecise; separable labels and interpolation explain what failed."""
    code, error, loss = [0, 0, 1, 1, 0, 0, 0], [1e-7, 2e-6, 0.0, 0.0, 0.0, 2e-6, np.nan], [1.0] * 4 + [0.0, 1.0, 1.0]
    for tolerance, codes in ((1e-9, [0, 2, 1, 5, 5, 5, 4]), (1e-5, [0, 0, 1, 5, 5, 0, 4])):
        answers = {"code": np.array(code, np.int8), "quadrature_error": np.array(error), "train_loss": np.array(loss)}
        judge(answers, np.isin(range(7), [3, 4, 5]), np.arange(7) == 6, tolerance)
        assert answers["code"].tolist() == codes


def test_an_absurd_interpolating_readout_is_refused_and_an_honest_one_on_strong_noise_is_not():
    """Without a ridge the error is linear in the noise's power, however strong."""
    for activation, r in (("softplus", 4.0), ("tanh", 2.0)):  # 1e12 times E σ*²; and not resolved
        with pytest.raises(gs.ConvergenceError, match=r"1 of 1 points failed.*small positive lam"):
            gs.predict(gs.SpikedRF(activation, r=r, gamma=0.9), "sin", alpha=0.3, lam=0.0)
    model, noise = gs.SpikedRF("tanh", r=0.5, gamma=0.9), np.array([1.0, 1e5])
    clean, weak, strong = gs.predict(model, gs.Target("sin", noise=[0.0, *noise]), alpha=0.5, lam=0.0).test_error.values
    assert strong - clean == pytest.approx(1e10 * (weak - clean), rel=1e-7)


def test_a_jump_that_was_not_declared_is_found():
    """A user's step function without its breakpoint has the errors of one that names it."""
    hidden, named = (
        gs.Function(lambda x: 1.0 * (x > 0.123)),
        gs.Function(lambda x: 1.0 * (x > 0.123), breakpoints=[0.123]),
    )
    found, wanted = (gs.predict(gs.SpikedRF("tanh", r=1.0, gamma=1.0), f, alpha=1.0, lam=0.1) for f in (hidden, named))
    _assert_same(found, wanted, 1e-9)


# grids and labels


@pytest.mark.parametrize("target", ["sin", "max(x1, 0)*(1 + x2)"])
def test_many_first_layers_have_the_answers_of_each(target):
    """Averages that many of them need are interpolated in tables, those of one are not."""
    rates = np.linspace(0.3, 3.0, 400)
    many = gs.predict(gs.Network("gelu", eta=rates, alpha0=1.5), target, alpha=1.2, lam=0.1)
    for place in (0, 210, 399):
        alone = gs.predict(gs.Network("gelu", eta=float(rates[place]), alpha0=1.5), target, alpha=1.2, lam=0.1)
        for name in ("test_error", "train_error", "q2", "c"):
            np.testing.assert_allclose(many[name].values[place], alone[name].values, rtol=1e-9, err_msg=name)


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
    assert [found.attrs[name] for name in ("command", "loss", "bulk")] == ["predict", "square", "exact"]
    assert found.attrs["giantstep_version"] == gs.__version__
    assert gs.Network.from_dict(json.loads(found.attrs["model"])).to_dict() == net.to_dict()


# the default bulk


def test_the_default_bulk_of_a_network_with_biases_is_the_exact_one_whose_norms_vary():
    """Without a word, because it needs no warning; the paper's model is another one, and says so."""
    net = gs.Network("relu", eta=3.0, alpha0=0.5, readout=gs.Letters((1.0, 1.0), (0.5, 0.5), biases=(0.0, 0.5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        default, exact, isotropic = (
            gs.predict(net, "tanh", alpha=0.5, lam=[0.1, 1.0], d=500, bulk=bulk)
            for bulk in (None, "exact", "isotropic")
        )
    assert [found.attrs["bulk"] for found in (default, exact, isotropic)] == ["exact", "exact", "isotropic"]
    assert default.drop_attrs().equals(exact.drop_attrs())
    assert default.chi.dims == ("lam", "letter")
    assert "chi" not in isotropic
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
    (one,) = said
    numbers = [f"{found.test_error.values[1]:.4g}" for found in (limit, sized)]
    where = "2 of 4 points: where eta = 0.001,.* is {} in the limit and {} at d = 1000"
    assert re.search(where.format(*numbers), str(one.message))


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


@pytest.mark.parametrize(
    ("reasons", "codes"),  # codes of points that had the codes 0 and 6 to 11 before
    [
        ({"scatter": 1.0}, [8, 6, 7, 8, 9, 10, 11]),
        ({"sized_error": 1.04, "scatter": 1.0}, [6, 6, 7, 8, 9, 10, 11]),
        ({"squares": 0.04, "scatter": 1.0}, [9, 9, 7, 8, 9, 10, 11]),
        ({"squares": 0.04, "rare": 0.04, "scatter": 1.0}, [7, 7, 7, 8, 9, 10, 11]),
        ({"spread": 0.06, "scatter": 1.0}, [10, 10, 7, 8, 9, 10, 11]),
        ({"share": 0.6, "rare": 0.04}, [11] * 7),
    ],
)
def test_doubts_are_said_of_solved_points_alone_and_the_gravest_of_them(reasons, codes):
    """Batches that scatter, far from real sizes, squares that learn, rare inputs, wide rows; failed points stay."""
    nothing = dict.fromkeys(("rare", "scatter", "squares", "spread", "share"), 0.0)
    values = {"test_error": 1.0, "sized_error": 1.0} | nothing | reasons
    answers = {name: np.full((1, 12), value) for name, value in values.items()}
    answers["code"] = np.arange(12, dtype=np.int8)[None]
    doubts.mark(answers, np.ones((1, 1)))
    assert answers["code"][0].tolist() == [codes[0], 1, 2, 3, 4, 5, *codes[1:]]


def test_averages_that_rare_inputs_make_are_marked():
    """Ridgeless and saturating: the theory's mean is 572, and networks of any size that fits a computer give 3."""
    net = gs.Network("tanh", eta=3, alpha0=1)
    for d in (None, 200):
        with pytest.warns(gs.GiantstepWarning, match="a million samples may hold none"):
            found = gs.predict(net, "sin", alpha=0.5, lam=0, d=d)
        assert found["code"] == 7
        assert found["converged"]
    two = gs.Network("tanh", eta=2, alpha0=1, steps=2)
    with pytest.warns(gs.GiantstepWarning, match="a million samples may hold none"):
        gs.predict(two, "sin", alpha=0.5, lam=0, d=200)
    for quiet in ({"alpha": 0.5, "lam": 0.01}, {"alpha": 2, "lam": 0}):
        assert gs.predict(net, "sin", d=200, **quiet)["code"] == 0


def test_the_share_of_rare_inputs_is_their_closed_form_where_nothing_is_learned():
    """The target exp(0.22x²) squared times the Gaussian density has variance 1/0.12; κ = x beyond 4.89 is rare."""
    share = math.erfc(norm.isf(0.5e-6) * math.sqrt(0.12 / 2.0))
    with pytest.warns(gs.LimitWarning, match=f"lam = 1e\\+14, they make {share:.0%}"):
        gs.predict(gs.SpikedRF("tanh", r=1, gamma=1), "exp(0.22*x**2)", alpha=1, lam=1e14)


# extreme scales


def steep(activation, r, gamma, c=1.0, **options):
    return gs.predict(gs.SpikedRF(activation, r=r, gamma=gamma, c=c), "sin", alpha=1, lam=0.1, **options)


@pytest.mark.parametrize("r", [100.0, 1e4, 1e6])
def test_a_steep_spike_is_solved_and_approaches_a_sign(r):
    """tanh(rκ + z) is a step of width 1/r in κ: what it misses of sign(κ) is of that order."""
    found, limit = steep("tanh", r, 0.5), steep("tanh", 1e9, 0.5)
    assert float(found.quadrature_error) < 1e-9
    assert float(found.test_error) == pytest.approx(float(limit.test_error), abs=1.0 / r)


@pytest.mark.parametrize(("slope", "c"), [(50, 10.0), (200, 1.0)])
def test_a_steep_activation_is_solved_and_close_to_a_sign(slope, c):
    """No number of points resolves it to rounding; the averages over κ do. They differ for |x| < 1/slope or so."""
    found, sign = (steep(name, 1.0, 0.7, c, d=100).test_error.item() for name in (f"tanh({slope}*x)", "sign"))
    assert found == pytest.approx(sign, rel=4 / (slope * np.sqrt(2 * np.pi * c)))  # twice the share of such x


def test_an_activation_that_is_noise_to_every_rule_is_refused():
    with pytest.raises(gs.ConvergenceError, match="numerical integration did not reach the tolerance"):
        gs.predict(gs.SpikedRF("sin", r=1e5, gamma=0.7, c=1e10), "sin", alpha=1, lam=0.1, d=100)


@pytest.mark.parametrize("s", [1e3, 1e5])
def test_an_activation_seen_from_afar_is_a_sign(s):
    """Rows of norm s with a spike of strength s: tanh(s x) → sign(x), at a distance of order 1/s."""
    far = steep("tanh", s, 0.8, s * s)
    assert float(far.quadrature_error) < 1e-9
    assert float(far.test_error) == pytest.approx(steep("sign", 1.0, 0.8).test_error.item(), abs=3.0 / s)


def test_separable_labels_are_recognised_on_the_coarsest_rule():
    """The path in λ and finer rules are the dear part: none of them is walked for a point without a solution."""
    began = time.process_time()
    with pytest.raises(gs.ConvergenceError, match="give a finite d"):
        gs.predict(gs.SpikedRF("tanh", r=1, gamma=1), "sign", alpha=2, lam=0.1, loss="logistic")
    assert time.process_time() - began < 3.0  # of this process; it was 14


# work that is shared or spared


@pytest.mark.parametrize(
    ("net", "target", "grid"),
    [
        (
            gs.Network("tanh", eta=[1.0, 2.0], alpha0=1.0),
            gs.Target("x + 0.1*x**3", noise=0.2),
            {"alpha": np.geomspace(0.2, 5.0, 100), "lam": np.geomspace(0.01, 1.0, 90)},
        ),
        # two letters span two directions after two steps and one after one step
        (gs.Network("relu", eta=0.5, alpha0=2.0, steps=[2, 1], readout=TWO), "relu", {"alpha": [0.5, 1.0], "lam": 0.1}),
    ],
    ids=["many points", "first layers of two kinds"],
)
def test_workers_share_the_work_and_change_no_bit(net, target, grid):
    shares: list[float] = []
    alone = gs.predict(net, target, bulk="isotropic", **grid)
    shared = gs.predict(net, target, bulk="isotropic", workers=2, progress=shares.append, **grid)
    assert alone.identical(shared)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    with pytest.raises(gs.ParameterError, match="workers = 0"):
        gs.predict(net, target, alpha=1.0, lam=1.0, workers=0)
