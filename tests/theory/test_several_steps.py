"""Several giant steps: reductions that must hold, and values of independent derivations, digit by digit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.first_layers import FirstLayers
from giantstep.theory.layer import FirstLayer
from giantstep.theory.problem import model_grid, pose
from giantstep.theory.step_covariance import StepCovariance

PRINTED = 6e-9  # values are printed with eight decimals
MIX, HE3 = "(x**2 - 1)/2 + x", "x + (x**3 - 3*x)/6"
AT = {"alpha": 1.5, "lam": 0.1}


def schedule(etas, alphas) -> list[gs.Step]:
    return [gs.Step(eta, alpha0) for eta, alpha0 in zip(etas, alphas, strict=True)]


# one letter: (activation, target, eta, alpha, noise), c, r, gamma in the end, errors of the isotropic model, of the
# network (with q2), ψ, χ
ONE_LETTER = {
    "tanh on sin": (
        ("tanh", "sin", (2, 2), (1, 1), 0.0),
        (1.34340079, 1.23742255, 0.83044724),
        (0.11471280, 0.03939602),
        (0.11983804, 0.04150911, 0.26696686, 0.35368248, -0.02386336),
    ),
    "three steps, noise": (
        ("tanh", "sin", (2, 2, 2), (1, 1, 1), 0.3),
        (1.60885842, 1.41586845, 0.86861756),
        (0.13345811, 0.07604916),
        (0.13691689, 0.07896783, 0.35828009, 0.33461390, -0.03619490),
    ),
    "relu on a parabola": (
        ("relu", MIX, (2, 1.5), (2, 1), 0.0),
        (1.13351399, 1.80640544, 0.72879640),
        (1.01604671, 0.31798618),
        (0.89143346, 0.30634500, 1.47135111, 0.68953353, -0.32752973),
    ),
    "gelu on relu, noise": (
        ("gelu", "relu", (2, 2), (0.8, 0.8), 0.2),
        (1.71515353, 1.19497694, 0.64914414),
        (0.23204441, 0.05599726),
        (0.24379940, 0.06519951, 0.36071912, 0.28652718, 0.08721300),
    ),
    "no parity": (
        ("tanh(x + 0.5)", MIX, (2, 1.5), (1, 1), 0.0),
        (2.21603315, 1.89458459, 0.73098561),
        (1.18114216, 0.59826903),
        (1.18606820, 0.60239164, 1.39860354, 0.67721729, 0.41359674),
    ),
    "gelu, three steps": (
        ("gelu", MIX, (1.5, 1.5, 1.5), (2, 1, 1), 0.0),
        (0.79366064, 2.00368389, 0.69994954),
        (0.96044598, 0.33711390),
        (0.83166088, 0.34517803, 1.42587103, 0.68868044, -0.25921777),
    ),
}


@pytest.mark.parametrize("case", ONE_LETTER.values(), ids=ONE_LETTER)
def test_one_letter_has_the_values_of_an_independent_derivation(case):
    (activation, target, etas, alphas, noise), scalars, isotropic, exact = case
    net, y = gs.Network(activation, steps=schedule(etas, alphas)), gs.Target(target, noise=noise)
    found = gs.predict(net, y, bulk="isotropic", **AT)
    end = found.isel(step=-1)
    assert [float(end[name]) for name in ("c", "r", "gamma")] == pytest.approx(scalars, abs=PRINTED)
    assert [float(found[name]) for name in ("test_error", "train_error")] == pytest.approx(
        isotropic, abs=PRINTED
    )
    found = gs.predict(net, y, **AT)
    names = ("test_error", "train_error", "q2", "psi", "chi")
    assert [float(found[name]) for name in names] == pytest.approx(exact, abs=PRINTED)


def _bulk(net: gs.Network, target: gs.Target):
    problem = pose(net, target, model_grid(net, target, **AT))
    return problem, problem.bulks(np.arange(1))[0]


def test_the_chain_of_two_batches_has_the_forms_of_an_independent_derivation():
    """At Ṽ = ½: F, -F', and the forms on (W v̂, W ê, δ); then tr C²/d, and what the last step does to the norms."""
    problem, bulk = _bulk(gs.Network("tanh", steps=schedule((2, 2), (1, 1))), gs.Target("sin"))
    at = bulk.resolvent(np.full((1, 1, 1, 1), 0.5))
    assert at.T.item() == pytest.approx(0.77402635, abs=PRINTED)
    assert at.tangent(np.ones((1, 1, 1, 1, 1))).item() == pytest.approx(0.62782117, abs=PRINTED)
    forms = at.forms()[0, 0, :, 0, :, 0]
    rows = [0.87798353, -0.04273871, -0.91903284, 0.74321998, 0.02131384, 2.46313003]
    assert forms[np.triu_indices(3)] == pytest.approx(rows, abs=PRINTED)
    assert bulk.norm_overlap().item() == pytest.approx(2.1662731, abs=6e-8)
    training = problem.first_layers
    law = training.batch(1, np.arange(1), 0)[0]
    last = StepCovariance(training.neurons, training.path[1], training.steps[1], law, first=False)
    gain = (last.earlier[1] + last.gain).item()
    assert [gain, last.direct.item()] == pytest.approx([1.04453315, 0.42669653], abs=PRINTED)


# letters: activation, target, letters (fractions), eta, alpha, beta, noise; isotropic errors at d = ∞; with q2 at
# d = 700, isotropic and exact, without what steps take away of the mean rows; c and r in the end
LETTERS = {
    "tanh, two sizes": (
        ("tanh", "sin", (0.5, 1.5), (0.5, 0.5), (2, 2), (1, 1), 1.0, 0.0),
        (0.12143861, 0.04032748),
        (0.12186453, 0.04045954, 0.26541225),
        (0.12746382, 0.04259611, 0.27108319),
        (1.10562802, 1.78379169),
        (0.62498924 / 0.5, 1.78039674 / 1.5),
    ),
    "relu, two signs": (
        ("relu", "tanh", (-1, 1), (0.5, 0.5), (2, 2), (1, 1), 1.0, 0.0),
        (0.13355721, 0.03334674),
        (0.13437583, 0.03355378, 0.17253172),
        (0.13694037, 0.03573596, 0.18155754),
        (1.57604004, 1.57604004),
        (1.08522978, 1.08522978),
    ),
    "gelu, three letters": (
        ("gelu", HE3, (-1, 0, 1), (0.3, 0.3, 0.4), (1.5, 1.5), (1.5, 1.5), 1.0, 0.0),
        (0.51405031, 0.12354573),
        (0.51579908, 0.12399304, 0.59465619),
        (0.50406278, 0.12771409, 0.60690882),
        (1.55664189, 1.0, 1.38654896),
        (1.58845676, 0.0, 1.52211163),
    ),
    "no parity, noise": (
        ("tanh(x + 0.5)", MIX, (-1, 1), (0.4, 0.6), (1.5, 1.5), (1, 1), 0.8, 0.3),
        (0.99674320, 0.59664566),
        (0.99825063, 0.59713917, 1.34184246),
        (0.99072166, 0.59955661, 1.38282429),
        (1.91620130, 2.07138634),
        (1.93196563, 1.85071647),
    ),
}


@pytest.mark.parametrize("case", LETTERS.values(), ids=LETTERS)
def test_letters_have_the_values_of_an_independent_derivation(case, monkeypatch):
    monkeypatch.setattr(FirstLayers, "mean_row_covariance", lambda self, chunk: None)
    (activation, target, letters, shares, etas, alphas, beta, noise), *expected, c, r = case
    net = gs.Network(activation, steps=schedule(etas, alphas), beta=beta, readout=gs.Letters(letters, shares))
    y = gs.Target(target, noise=noise)
    options = ({"bulk": "isotropic"}, {"bulk": "isotropic", "d": 700}, {"d": 700})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GiantstepWarning)  # the limit is out of reach of real sizes
        for option, values in zip(options, expected, strict=True):
            found = gs.predict(net, y, **AT, **option)
            answers = [float(found.test_error), float(found.train_error), float(found.q2.sum())]
            assert answers[: len(values)] == pytest.approx(values, abs=PRINTED)
    end = found.isel(step=-1)
    assert end.c.values == pytest.approx(c, abs=PRINTED)
    assert end.r.values == pytest.approx(r, abs=2 * PRINTED)


# Gaussian rows and biases: exact bulk at d = ∞, and at d = 700 without what steps take away of the mean rows
ROWS = {
    "gaussian rows, tanh": (
        ("tanh", "sin", (1,), (0,), "gaussian", (2, 2), (1, 1), 1.5, 1.0, 0.1),
        (0.11980720, 0.04146960, 0.26719679),
        (0.12017535, 0.04157352, 0.26939087),
    ),
    "gaussian rows, gelu, one step": (
        ("gelu", MIX, (1,), (0,), "gaussian", (3,), (4,), 4.0, 3.0, 0.01),
        (0.49579295, 0.07319416, 3.87260042),
        (0.49579312, 0.07319418, 3.87259801),
    ),
    "gaussian rows, two signs": (
        ("gelu", MIX, (-1, 1), (0, 0), "gaussian", (3, 3), (4, 2), 4.0, 3.0, 0.01),
        (0.54214162, 0.06339493, 2.70785393),
        (0.54254652, 0.06344288, 2.71114583),
    ),
    "biases, one step": (
        ("tanh", "sin", (1, 1), (0, 1), "unit", (2,), (1,), 1.5, 1.0, 0.1),
        (0.21819387, 0.07425936, 0.46937907),
        (0.21870838, 0.07442613, 0.47231220),
    ),
    "biases and gaussian rows": (
        ("relu", "tanh", (1, 1), (-0.5, 0.5), "gaussian", (1.5, 1), (1, 1), 1.5, 1.0, 0.1),
        (0.25009722, 0.11431111, 0.47498779),
        (0.25192519, 0.12480664, 0.52474528),
    ),
}


@pytest.mark.parametrize("case", ROWS.values(), ids=ROWS)
def test_initial_rows_and_biases_have_the_values_of_an_independent_derivation(case, monkeypatch):
    monkeypatch.setattr(FirstLayers, "mean_row_covariance", lambda self, chunk: None)
    (activation, target, letters, biases, rows, etas, alphas, alpha, beta, lam), limit, sized = case
    share = (1.0 / len(letters),) * len(letters)
    readout = gs.Letters(letters, share, biases=biases if any(biases) else None)
    net = gs.Network(activation, steps=schedule(etas, alphas), beta=beta, rows=rows, readout=readout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GiantstepWarning)
        for d, values in ((None, limit), (700, sized)):
            found = gs.predict(net, target, alpha=alpha, lam=lam, d=d)
            answers = [float(found.test_error), float(found.train_error), float(found.q2.sum())]
            # q2 of a wide network at a small penalty is a few; letters' soft directions cost a digit
            assert answers == pytest.approx(values, abs=2 * PRINTED)


def test_gaussian_rows_without_a_step_matter_where_the_features_have_no_mean():
    """A centred relu: only the fluctuation of the row norms can fit the target's mean."""
    net = gs.Network("max(x, 0) - 0.3989422804014327", eta=0, alpha0=0, beta=3, rows="gaussian")
    found = gs.predict(net, "relu", alpha=4, lam=0.01)
    assert [float(found.test_error), float(found.train_error)] == pytest.approx(
        [0.41872852, 0.05214959], abs=2e-8
    )
    assert float(found.chi) == pytest.approx(1.21300349, abs=2e-7)


# reductions

LIKE = {"rtol": 1e-9, "atol": 1e-11}  # integrals on other rules, which are good to 1e-10 and better


def _same(a, b, names=("test_error", "train_error", "m", "zeta", "psi", "q1", "q2")):
    for name in names:
        np.testing.assert_allclose(a[name], b[name], err_msg=name, **LIKE)


@pytest.mark.parametrize("bulk", ["exact", "isotropic"])
def test_a_step_that_is_none_changes_nothing(bulk):
    def after(steps):
        return gs.predict(gs.Network("gelu", steps=steps), y, bulk=bulk, d=300, **AT)

    y = gs.Target("sin", noise=0.2)
    two = schedule((2, 1.5), (1, 2))
    expected = after(two)
    for none in (gs.Step(0, 1), gs.Step(2, 0)):
        for place in range(3):  # first, in the middle, last
            _same(after([*two[:place], none, *two[place:]]), expected)


def test_one_step_is_one_step_however_it_is_said():
    plain = gs.predict(gs.Network("relu", eta=2, alpha0=1), "tanh", **AT)
    for net in (gs.Network("relu", eta=2, alpha0=1, steps=1), gs.Network("relu", steps=[gs.Step(2, 1)])):
        found = gs.predict(net, "tanh", **AT)
        for name in ("test_error", "train_error", "psi", "chi", "c", "r", "gamma"):
            np.testing.assert_allclose(found[name], plain[name], rtol=1e-12)


def test_a_grid_of_steps_has_the_answers_of_each_number():
    together = gs.predict(gs.Network("tanh", eta=2, alpha0=1, steps=[0, 1, 3]), "sin", **AT)
    for steps in (0, 1, 3):
        net = gs.Network("tanh", eta=2 if steps else 0, alpha0=1, steps=max(steps, 1))
        alone, one = gs.predict(net, "sin", **AT), together.sel(steps=steps)
        np.testing.assert_allclose(one.test_error, alone.test_error, rtol=1e-11)
        assert np.isnan(one.r.values[steps:]).all()
        if steps:
            np.testing.assert_allclose(one.r.values[:steps], np.atleast_1d(alone.r), rtol=1e-11)
    assert together.sizes["step"] == 3


def test_a_letter_split_in_two_is_one_letter():
    whole = gs.Letters((-1, 1), (0.4, 0.6))
    parts = gs.Letters((-1, 1, 1), (0.4, 0.25, 0.35))
    a, b = (
        gs.predict(gs.Network("relu", eta=2, alpha0=1, steps=2, readout=readout), "tanh", d=500, **AT)
        for readout in (whole, parts)
    )
    _same(a, b, ("test_error", "train_error"))
    np.testing.assert_allclose(a.m.values[1], b.m.values[1:].sum(), **LIKE)


def test_groups_that_are_not_merged_give_what_merged_ones_do(monkeypatch):
    """Equal letters as separate groups: singular responses, and spikes that coincide."""
    from giantstep.model import groups

    net = gs.Network("gelu", eta=1.5, alpha0=1, steps=2, readout=gs.Letters((1, 1), (0.3, 0.7)))
    merged = gs.predict(net, "sin", d=500, **AT)

    def apart(letters, odd):
        count = len(letters.values)
        return groups.Merging(letters, np.arange(count), np.ones(count), np.ones(count))

    monkeypatch.setattr("giantstep.theory.problem.merge", apart)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GiantstepWarning)
        found = gs.predict(net, "sin", d=500, **AT)
    _same(merged, found, ("test_error", "train_error"))


def test_the_sign_of_a_letter_does_not_matter_for_odd_activations():
    a, b = (
        gs.predict(gs.Network("tanh", eta=2, alpha0=1, steps=2, readout=readout), "sin", **AT)
        for readout in ("uniform", "rademacher")
    )
    np.testing.assert_allclose(a.test_error, b.test_error, rtol=1e-12)
    np.testing.assert_allclose(np.broadcast_to(a.gamma.values[:, None], b.gamma.shape), b.gamma, rtol=1e-12)


def test_a_common_bias_is_a_shifted_activation():
    bias = gs.Letters((1,), (1,), biases=(0.5,))
    a = gs.predict(gs.Network("tanh", eta=2, alpha0=1, steps=2, readout=bias), MIX, **AT)
    b = gs.predict(gs.Network("tanh(x + 0.5)", eta=2, alpha0=1, steps=2), MIX, **AT)
    _same(a, b)


def test_a_target_without_linear_part_is_never_found():
    found = gs.predict(gs.Network("relu", eta=1, alpha0=2, steps=3), "x**2 - 1", bulk="isotropic", **AT)
    np.testing.assert_allclose(found.gamma, 0.0, atol=1e-12)


def test_population_gradients_align_and_leave_the_rows_isotropic_on_all_but_the_target():
    """α = ∞: v̂ᵀCv̂ = (p2 p1 + k2 E[z f_g] E[z f_b])², known in closed form up to Gaussian averages."""
    problem, bulk = _bulk(gs.Network("tanh", steps=schedule((2, 1), (np.inf, np.inf))), gs.Target("sin"))
    forms = bulk.resolvent(np.zeros((1, 1, 1, 1))).forms()[0, 0, :, 0, :, 0]
    assert problem.frame(np.arange(1)).gamma.item() == pytest.approx(1.0, abs=1e-12)
    assert problem.c.item() == pytest.approx(0.903, abs=6e-4)
    assert forms[0, 0] == pytest.approx(0.929, abs=6e-4)


def test_the_network_s_own_error_falls_as_the_derivation_says():
    """tanh on sin, eight steps of η̃ = 2 on d samples: γ and the error of the network itself."""
    found = gs.predict(gs.Network("tanh", eta=2, alpha0=1, steps=8), "sin", bulk="isotropic", **AT)
    gamma = [0.678, 0.830, 0.906, 0.945, 0.968, 0.980, 0.988, 0.992]
    assert found.gamma.values == pytest.approx(gamma, abs=6e-4)
    assert found.network_error.values[[-2, -1]] == pytest.approx([0.025, 0.020], abs=6e-4)


def test_every_bound_holds_after_several_steps():
    for steps, bulk in (([1, 2], "exact"), ([1, 2, 3], "isotropic")):  # on a plane of spikes, and in a space
        net = gs.Network("relu", eta=1.5, alpha0=2, steps=steps, readout="rademacher")
        bounds = gs.bounds(net, "tanh", bulk=bulk)
        found = gs.predict(net, "tanh", alpha=[0.5, 2, 8], lam=[0.001, 0.1], d=1000, bulk=bulk)
        assert (found.test_error >= bounds.lower - 1e-12).all()


# what is refused


def test_what_several_steps_do_not_cover_is_refused_with_a_sentence():
    five = gs.Letters((-2, -1, 0.5, 1, 2), (0.2,) * 5)
    with pytest.raises(gs.ParameterError, match=r"5 directions.*simulate"):
        gs.predict(gs.Network("relu", eta=1, alpha0=1, steps=2, readout=five), "sin", **AT)
    with pytest.raises(gs.ParameterError, match="schedule"):
        gs.Network("relu", eta=1, alpha0=1, steps=[gs.Step(1, 1)])
    with pytest.raises(gs.ParameterError, match="whole"):
        gs.Network("relu", eta=1, alpha0=1, steps=1.5)
    with pytest.raises(gs.ParameterError, match="rows"):
        gs.Network("relu", eta=1, alpha0=1, rows="cauchy")
    with pytest.raises(gs.ParameterError, match="no Step"):
        gs.Network("relu", steps=[gs.Step(1, 1), "again"])


def test_schedules_go_to_dictionaries_and_back():
    for net in (
        gs.Network("relu", steps=[gs.Step(1, 1), gs.Step(2, 0.5, loss="huber:1")], rows="gaussian"),
        gs.Network("tanh", eta=1, alpha0=[0.5, 1], steps=[1, 2], rows=0.8),
    ):
        again = gs.Network.from_dict(net.to_dict())
        assert again == net
        assert hash(again) == hash(net)
        assert eval(repr(net), {"Network": gs.Network, "Step": gs.Step}) == net


def test_directions_that_several_spikes_span_have_their_signs_from_the_last_of_them():
    """Whatever an eigenvector happens to point to; the last that is there, letters of zero having none."""
    rng = np.random.default_rng(2)
    spikes = np.concatenate([rng.normal(size=(20, 3, 5)), np.zeros((20, 1, 5))], axis=1)
    gram, on_target = spikes @ spikes.swapaxes(-1, -2), 0.5 * spikes[..., :1]
    frame = FirstLayer(np.ones((20, 4)), gram, on_target, np.ones((20, 4))).frame()
    along = frame.b @ frame.back  # as they are before they are turned to meet the target
    np.testing.assert_allclose(along @ along.swapaxes(-1, -2), gram, atol=1e-12)
    assert (along[:, 2] > 0.0).all()


def test_more_steps_than_memory_allows_are_refused_with_the_number():
    with pytest.raises(gs.ParameterError, match=r"steps = 41: the theory covers up to 40"):
        gs.predict(gs.Network("tanh", eta=0.1, alpha0=1, steps=41), "sin", alpha=1, lam=0.1)
