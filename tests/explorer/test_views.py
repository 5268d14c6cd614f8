"""What the page gets is what the library computes, and the Python lines beside it reproduce it."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import numpy as np
import pytest

import giantstep as gs
from giantstep.explorer.call import Call, spaced
from giantstep.explorer.settings import Settings

from .conftest import Visitor

POINT = {"eta": 1.3, "alpha0": 2.5, "beta": 1.2, "noise": 0.1, "lam": 0.02, "alpha": 1.5}
SETTINGS: dict[str, Any] = POINT | {"bulk": "isotropic"}
SIN = gs.Target("sin", noise=0.1)
TWO = {"target": "x1 + x1*x2", "activation": "relu"}  # of two directions
SIGNS = {"target": "sign", "noise": 0.0, "flips": 0.1}
SPIKED = {"layer": "spiked", "bulk": "isotropic"}
STEPS = {"steps": 2, "rows": "gaussian", "bias_scale": 1.0}
ERRORS = ("test_error", "train_error")
PARTS = ("expressivity", "readout", "batch_noise", "test_error", "ridge_error", "bayes_error")


def asked(visitor: Visitor, view: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The last word on a view. (On a busy machine progress is reported before, and slow views have a draft.)"""
    status, (*_, answer, end) = visitor.ask(view, settings)
    assert (status, end) == (200, {"end": True})
    return answer


def reproduced(code: str) -> Any:
    """What the Python lines compute."""
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, space)
    return space["answer"]


def same(values: Any, expected: Any, rtol: float = 1e-9) -> None:
    """The same code on the same machine; threads may reorder sums."""
    np.testing.assert_allclose(np.asarray(values, float), np.asarray(expected, float), rtol=rtol)


@pytest.mark.parametrize(
    ("view", "changed", "names", "words"),
    [
        ("curve", {}, ERRORS, ()),
        ("random_features", {}, ERRORS, ()),
        ("bounds", {}, ("lower", "upper", "linear"), ()),
        ("learned", {}, ("learned", "truth", "x"), ()),
        ("landscape", {}, ("test_error",), ()),
        ("best_linear", {}, ("test_error",), ()),
        ("best_possible", {}, ("test_error",), ()),
        ("parts", {}, PARTS, ()),
        ("spectrum", {"alpha": 0.5}, ("eigenvalue", "density", "edge", "mass_at_zero"), ()),
        ("learned", TWO, ("learned", "truth", "x1", "x2"), ()),
        ("curve", {"along": "lam", "low": 0.001, "high": 10}, ERRORS, ("lam=np.geomspace(0.001, 10, 80)",)),
        ("curve", {"along": "beta", "low": 0.5, "high": 2}, ERRORS, ("beta=np.linspace(0.5, 2, 80)",)),
        ("curve", {"along": "eta", "low": 0.1, "high": 5}, ERRORS, ("eta=np.geomspace(0.1, 5, 80)",)),
        ("curve", SPIKED | {"along": "gamma", "low": -1, "high": 1}, ERRORS, ("gamma=np.linspace(-1, 1",)),
        ("curve", SPIKED | {"bulk": "orthogonal", "beta": 1.0}, ERRORS, ("bulk='orthogonal'",)),
        ("curve", STEPS, ERRORS, ("steps=2", "rows='gaussian'", "bias_scale=1")),
        pytest.param("landscape", STEPS, ("test_error",), ("steps=2",), marks=pytest.mark.slow),
        ("parts", {"inputs": "blocks"}, PARTS, ("gs.Inputs([2.5, 0.5], masses=[0.25, 0.75], shares=[0.9, 0.1])",)),
    ],
)
def test_the_lines_of_a_view_reproduce_its_numbers(visitor, view, changed, names, words):
    answer = asked(visitor, view, SETTINGS | changed)
    assert all(word in answer["code"] for word in words), answer["code"]
    dataset = reproduced(answer["code"])
    for name in names:
        same(answer[name], dataset[name])


BLOCKS = {"inputs": "blocks", "share": 0.7}
POWER = {"inputs": "power", "exponent": 0.2}
RELU = gs.Network("relu", 1.3, 2.5, 1.2)
BIASED = gs.Letters((1, 1), (0.5, 0.5), biases=(0, 0.7))


@pytest.mark.parametrize(
    ("changed", "net", "target"),
    [
        (TWO, RELU, gs.Target(TWO["target"], noise=0.1)),
        (BLOCKS, gs.Network("tanh", 1.3, 2.5, 1.2), ("sin", gs.Inputs([5, 1], [0.25, 0.75], shares=[0.7, 0.3]))),
        (TWO | BLOCKS, RELU, (TWO["target"], gs.Inputs([5, 1], [0.25, 0.75], shares=[[0.7, 0.3]] * 2))),
        (TWO | POWER, RELU, (TWO["target"], gs.Inputs.power_law(0.2, 300))),
        (
            SIGNS | {"latent_noise": 0.2, "readout": "1:0.5:0,1:0.5:0.7"},
            gs.Network("tanh", 1.3, 2.5, 1.2, readout=BIASED),
            gs.Target("sign", flips=0.1, latent_noise=0.2),
        ),
        (SPIKED | {"r": 2, "gamma": 0.4, "c": 0.7}, gs.SpikedRF("tanh", r=2, gamma=0.4, c=0.7, beta=1.2), SIN),
        (STEPS, gs.Network("tanh", 1.3, 2.5, 1.2, steps=2, rows="gaussian", bias_scale=1.0), SIN),
    ],
)
def test_a_curve_is_the_library_s(visitor, changed, net, target):
    answer = asked(visitor, "curve", SETTINGS | changed)
    if isinstance(target, tuple):
        target = gs.Target(target[0], noise=0.1, inputs=target[1])
    alpha = np.array(answer["x"])
    dataset = gs.predict(net, target, alpha=alpha, lam=0.02, bulk="isotropic", d=Settings().d)
    for name in {"test_error", "train_error", "test_error_01"} & set(dataset):
        same(answer[name], dataset[name])
    if net is RELU:  # the alignment with the target's whole span
        learned = asked(visitor, "learned", SETTINGS | changed)
        same(learned["layer"]["gamma"], [np.linalg.norm(dataset["gamma"])])
    if changed.get("inputs"):  # isotropic inputs are those for which these are known
        for view in ("best_linear", "best_possible"):
            assert visitor.ask(view, SETTINGS | changed) == (200, [{}, {"end": True}])


def test_coefficients_come_letter_by_letter(visitor):
    answer = asked(visitor, "coefficients", SETTINGS | {"readout": "-1:0.25,0.5:0.75"})
    dataset = reproduced(answer["code"])
    assert [curve["letter"] for curve in answer["curves"]] == [-1.0, 0.5]
    for curve in answer["curves"]:
        for name in ("mu0", "mu1", "mu2"):
            same(curve[name], dataset[name].sel(letter=curve["letter"]))
    (spiked,) = asked(visitor, "coefficients", SPIKED)["curves"]
    assert spiked["letter"] is None


def test_the_optimum_is_no_worse_than_the_map(visitor):
    area, best = asked(visitor, "landscape", SETTINGS), asked(visitor, "optimum", SETTINGS)
    assert best["best"]["error"] <= area["best"]["test_error"]["error"]
    assert area["best"]["test_error"]["error"] == np.nanmin(np.asarray(area["test_error"], float))


def test_the_map_of_labels_has_wrong_signs_and_its_own_best_place(visitor):
    """The rate and penalty of the least squared error are not those of the fewest wrong signs."""
    area = asked(visitor, "landscape", SETTINGS | SIGNS | {"loss": "logistic"})
    squared, signs = (area["best"][name] for name in ("test_error", "test_error_01"))
    assert signs["error"] == np.nanmin(np.asarray(area["test_error_01"], float))
    assert (squared["strength"], squared["lam"]) != (signs["strength"], signs["lam"])


@pytest.mark.parametrize(
    ("bulk", "drawn", "note"), [("orthogonal", "isotropic", "orthogonal rows is not known"), ("exact", "exact", None)]
)
def test_a_spectrum_of_another_model_says_so(visitor, bulk, drawn, note):
    answer = asked(visitor, "spectrum", {"activation": "relu", "bulk": bulk})
    assert answer["bulk"] == drawn
    assert note in answer["notes"][-1] if note else not answer["notes"]


@pytest.mark.parametrize("inputs", ["isotropic", "power"])
def test_a_simulation_arrives_trial_by_trial(visitor, inputs):
    settings = SETTINGS | {"d": 40, "trials": 3, "seed": 5, "inputs": inputs}
    status, (begin, *lines, end) = visitor.ask("simulate", settings)
    assert (status, end) == (200, {"end": True})
    assert [begin["trial"], *(line["trial"] for line in lines)] == [0, 1, 2, 3]
    assert lines[0]["test_error"]["error"] == [None] * 8  # one trial has no standard error
    assert ("gs.Inputs.power_law(0.3, d=40)" in begin["code"]) == (inputs == "power")
    errors = reproduced(lines[-1]["code"])["test_error"]
    same(lines[-1]["test_error"]["mean"], errors.mean("trial"), rtol=1e-8)
    same(lines[-1]["test_error"]["error"], errors.std("trial", ddof=1) / 3**0.5, rtol=1e-6)


def test_a_given_spike_has_isotropic_inputs(visitor):
    assert asked(visitor, "curve", SPIKED | {"inputs": "blocks"}) == asked(visitor, "curve", SPIKED)


def test_finite_size_reaches_the_theory_only_when_asked(visitor):
    settings = {"bulk": "isotropic", "activation": "relu", "d": 50}
    limit, finite = (asked(visitor, "curve", settings | {"finite": finite}) for finite in (False, True))
    assert ("d=50" in limit["code"], "d=50" in finite["code"]) == (False, True)
    assert limit["test_error"] != finite["test_error"]


@pytest.mark.parametrize("text", ['"); import os; os.system("id") #', "'''\n\\", "x\u2028y\U0001f600"])
def test_hostile_texts_stay_texts_in_the_python_lines(text):
    arguments = {"alpha": spaced(0.1, 1.0, 3), "lam": 0.1}
    tree = ast.parse(Call("predict", Settings(activation=text, target=text), arguments).python())
    assert [type(node).__name__ for node in tree.body] == ["Import", "Import", "Assign", "Assign", "Assign"]
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert constants.count(text) == 2


def test_a_continuous_law_of_letters_is_written_as_such():
    space: dict[str, Any] = {"gs": gs}
    exec(Call("bounds", Settings(readout="gaussian:6"), {}).python().splitlines()[3], space)
    assert (space["net"].readout.law, len(space["net"].readout.values)) == ("gaussian", 6)


def test_random_features_know_nothing_of_the_spike(visitor):
    flat = asked(visitor, "random_features", SETTINGS | {"along": "eta", "low": 0.1, "high": 5})
    spiked = asked(visitor, "random_features", SETTINGS | SPIKED | {"r": 3})
    plain = gs.predict(gs.Network("tanh", eta=0, alpha0=0, beta=1.2), SIN, alpha=1.5, lam=0.02)
    assert flat["test_error"] == pytest.approx(float(plain.test_error), rel=1e-9)
    assert np.interp(1.5, spiked["x"], spiked["test_error"]) == pytest.approx(flat["test_error"], rel=1e-2)


@pytest.mark.parametrize(
    ("changed", "samples"),
    [
        ({}, lambda x: x + 2.5),
        ({"steps": 3}, lambda x: x + 7.5),
        ({"along": "alpha0", "low": 0.1, "high": 5, "steps": 2}, lambda x: 1.5 + 2 * x),
        ({"along": "eta", "low": 0.1, "high": 5}, lambda x: np.array(4.0)),
        ({"layer": "spiked"}, lambda x: x),
        ({"alpha0": "inf"}, lambda x: np.full_like(x, 1e6)),
    ],
)
def test_references_get_all_samples_of_steps_and_readout(visitor, changed, samples):
    for view, verb in (("best_linear", gs.ridge), ("best_possible", gs.bayes)):
        answer = asked(visitor, view, SETTINGS | changed)
        expected = verb(SIN, alpha=samples(np.asarray(answer["x"], float)))
        # 1e6 samples and 1e6 + a few have errors of 1e-8 and less, which differ by a millionth
        np.testing.assert_allclose(answer["test_error"], expected.test_error.values, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    ("view", "changed", "answer"),
    [
        ("best_possible", TWO, {}),
        ("parts", SPIKED, {"parts": None}),
        ("parts", TWO, {"parts": None}),
        ("parts", SIGNS, {"parts": None}),
        ("parts", {"loss": "logistic", "target": "sign", "noise": 0.0}, {"parts": None}),
    ],
)
def test_what_is_not_known_or_takes_too_long_is_left_out(visitor, view, changed, answer):
    assert visitor.ask(view, SETTINGS | changed) == (200, [answer, {"end": True}])


@pytest.mark.parametrize("view", ["curve", "random_features", "landscape"])
def test_a_draft_is_coarser_and_close(visitor, view):
    settings = SETTINGS | {"activation": "relu", "beta": 1.23}
    draft, full = asked(visitor, f"{view}/draft", settings), asked(visitor, view, settings)
    assert draft["draft"]
    assert "draft" not in full
    rough, fine = np.asarray(draft["test_error"], float), np.asarray(full["test_error"], float)
    assert rough.size < fine.size
    np.testing.assert_allclose(rough.flat[0], fine.flat[0], rtol=1e-3)  # the draft's tolerance is 1e-4
    assert asked(visitor, f"{view}/draft", settings) == full  # what is known is not drafted


def test_what_is_slow_begins_with_its_draft(visitor):
    _, lines = visitor.ask("curve", SETTINGS | {"loss": "huber:0.5"})
    assert [line.get("draft", False) for line in lines if "test_error" in line] == [True, False]
    shares = [line["progress"] for line in lines if "progress" in line]
    assert shares == sorted(shares)
    assert all(0 <= share < 1 for share in shares)


@pytest.mark.parametrize(("gamma", "above"), [(0.3, True), (1, False)])
def test_a_lower_bound_above_the_linear_method_is_explained(visitor, gamma, above):
    answer = asked(visitor, "bounds", SPIKED | {"gamma": gamma, "r": 2})
    assert (answer["lower"] > answer["linear"]) == above
    assert ["may lie above the best linear method" in note for note in answer["notes"]] == [True] * above


def test_several_steps_have_a_path_and_one_step_is_not_spelled_out(visitor):
    answer = asked(visitor, "learned", SETTINGS | STEPS)
    same(answer["layer"]["r"], reproduced(answer["code"])["r"])
    assert len(answer["layer"]["network_error"]) == 2
    single = asked(visitor, "learned", SETTINGS)
    assert not any(word in single["code"] for word in ("steps", "rows", "bias_scale"))
    assert np.shape(single["layer"]["r"]) == (1,)
    signs = {"activation": "relu", "readout": "rademacher", "steps": 2, "bulk": "isotropic"}
    assert np.shape(asked(visitor, "learned", signs)["layer"]["r"]) == (2, 2)  # steps and letters


def test_parts_that_are_far_from_real_sizes_say_so(visitor):
    settings = {"eta": 1, "alpha0": 100, "target": "tanh", "noise": 0, "lam": 0.01}
    assert "very large networks" in asked(visitor, "parts", settings)["notes"][0]
