"""What the page gets is what the library computes, and the Python lines beside it reproduce it."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import numpy as np
import pytest

import giantstep as gs
from giantstep.explorer.call import Call, Spaced
from giantstep.explorer.settings import Settings
from giantstep.explorer.views import VIEWS

from .conftest import Visitor

SETTINGS: dict[str, Any] = {
    "eta": 1.3,
    "alpha0": 2.5,
    "noise": 0.1,
    "lam": 0.02,
    "alpha": 1.5,
    "bulk": "isotropic",
}


def reproduced(code: str) -> Any:
    """What the Python lines compute."""
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, space)
    return space["found"]


@pytest.mark.parametrize(
    ("view", "names"),
    [
        ("curve", ["test_error", "train_error"]),
        ("random_features", ["test_error", "train_error"]),
        ("bounds", ["lower", "upper", "linear"]),
        ("learned", ["learned", "truth", "x"]),
        ("landscape", ["test_error"]),
        ("best_linear", ["test_error"]),
        ("best_possible", ["test_error"]),
        ("parts", ["expressivity", "readout", "batch_noise", "test_error", "ridge_error", "bayes_error"]),
    ],
)
def test_the_lines_of_a_view_reproduce_its_numbers(visitor: Visitor, view: str, names: list[str]) -> None:
    status, (*_, answer, end) = visitor.ask(view, SETTINGS)  # on a busy machine progress is reported first
    assert status == 200
    assert end == {"end": True}
    found = reproduced(answer["code"])
    for name in names:  # the same code on the same machine; threads may reorder sums
        np.testing.assert_allclose(np.asarray(answer[name], float), found[name].values, rtol=1e-9)


@pytest.mark.parametrize("view", ["curve", "bounds", "learned", "landscape"])
def test_targets_of_several_directions_are_answered(visitor: Visitor, view: str) -> None:
    asked = SETTINGS | {"target": "x1 + x1*x2", "activation": "relu"}
    status, (answer, end) = visitor.ask(view, asked)
    assert status == 200
    assert end == {"end": True}
    assert "error" not in answer
    found = reproduced(answer["code"])
    name = {"learned": "learned", "bounds": "lower"}.get(view, "test_error")
    np.testing.assert_allclose(np.asarray(answer[name], float), found[name].values, rtol=1e-9)
    if view == "learned":  # on a plane, the first projection first
        x1, x2 = np.meshgrid(answer["x1"], answer["x2"], indexing="ij")
        np.testing.assert_allclose(answer["truth"], x1 + x1 * x2, atol=1e-12)
    if view == "curve":
        direct = gs.predict(
            gs.Network("relu", 1.3, 2.5), gs.Target("x1 + x1*x2", noise=0.1), alpha=1.0, lam=0.02
        )
        assert answer["layer"]["gamma"] == pytest.approx(float(np.linalg.norm(direct["gamma"])), rel=1e-9)


@pytest.mark.parametrize("inputs", ["blocks", "power"])
@pytest.mark.parametrize("target", ["sin", "x1 + x1*x2"])
def test_structured_inputs_reach_the_library(visitor: Visitor, inputs: str, target: str) -> None:
    asked = SETTINGS | {
        "inputs": inputs,
        "share": 0.7,
        "exponent": 0.2,
        "target": target,
        "activation": "relu",
    }
    _, (*_, answer, _) = visitor.ask("curve", asked)
    rows = [[0.7, 0.3]] * gs.Target(target).directions
    omega = (
        gs.Inputs([5, 1], [0.25, 0.75], shares=rows)
        if inputs == "blocks"
        else gs.Inputs.power_law(0.2, Settings().d)
    )
    found = gs.predict(
        gs.Network("relu", 1.3, 2.5),
        gs.Target(target, noise=0.1, inputs=omega),
        alpha=np.array(answer["x"]),
        lam=0.02,
        bulk="isotropic",
        d=Settings().d,
    )
    np.testing.assert_allclose(answer["test_error"], found["test_error"].values, rtol=1e-9)
    np.testing.assert_allclose(answer["test_error"], reproduced(answer["code"])["test_error"], rtol=1e-9)
    for view in ("best_linear", "best_possible"):  # which are known for isotropic inputs
        assert visitor.ask(view, asked) == (200, [{}, {"end": True}])


@pytest.mark.parametrize(
    ("view", "name"), [("bounds", "lower"), ("parts", "readout"), ("learned", "learned")]
)
def test_all_charts_are_of_the_structured_inputs(visitor: Visitor, view: str, name: str) -> None:
    _, (*_, answer, _) = visitor.ask(view, SETTINGS | {"inputs": "blocks"})
    found = reproduced(answer["code"])[name].values
    np.testing.assert_allclose(np.asarray(answer[name], float), found, rtol=1e-9)
    _, (*_, other, _) = visitor.ask(view, SETTINGS)
    assert answer[name] != other[name]


def test_a_simulation_is_of_the_structured_inputs(visitor: Visitor) -> None:
    asked = SETTINGS | {"inputs": "power", "d": 60, "trials": 2}
    _, (*_, answer, _) = visitor.ask("simulate", asked)
    assert "gs.Inputs.power_law(0.3, d=60)" in answer["code"]
    found = reproduced(answer["code"])["test_error"].mean("trial").values
    np.testing.assert_allclose(answer["test_error"]["mean"], found, rtol=1e-9)


def test_a_given_spike_has_isotropic_inputs(visitor: Visitor) -> None:
    spiked = {"layer": "spiked", "bulk": "isotropic"}
    _, (*_, answer, _) = visitor.ask("curve", spiked)
    assert visitor.ask("curve", spiked | {"inputs": "blocks"})[1][-2]["test_error"] == answer["test_error"]


def test_random_signs_and_biases_reach_the_library(visitor: Visitor) -> None:
    asked = {
        "target": "sign",
        "noise": 0.0,
        "flips": 0.1,
        "latent_noise": 0.2,
        "readout": "1:0.5:0,1:0.5:0.7",
    }
    _, (answer, _) = visitor.ask("curve", SETTINGS | asked | {"finite": True})
    found = reproduced(answer["code"])
    np.testing.assert_allclose(answer["test_error_01"], found.test_error_01.values, rtol=1e-9)
    target = gs.Target("sign", flips=0.1, latent_noise=0.2)
    letters = gs.Letters((1, 1), (0.5, 0.5), biases=(0, 0.7))
    net = gs.Network("tanh", eta=1.3, alpha0=2.5, readout=letters)
    alpha = np.asarray(answer["x"], float)
    expected = gs.predict(net, target, alpha=alpha, lam=0.02, bulk="isotropic", d=300)
    np.testing.assert_allclose(answer["test_error_01"], expected.test_error_01.values, rtol=1e-9)


def test_coefficients_come_letter_by_letter(visitor: Visitor) -> None:
    _, (answer, _) = visitor.ask("coefficients", SETTINGS | {"readout": "-1:0.25,0.5:0.75"})
    found = reproduced(answer["code"])
    assert [curve["letter"] for curve in answer["curves"]] == [-1.0, 0.5]
    for curve in answer["curves"]:
        for name in ("mu0", "mu1", "mu2"):
            np.testing.assert_allclose(curve[name], found[name].sel(letter=curve["letter"]).values, rtol=1e-9)


def test_the_optimum_is_no_worse_than_the_map(visitor: Visitor) -> None:
    _, (*_, area, _) = visitor.ask("landscape", SETTINGS)  # on a busy machine progress is reported first
    _, (*_, best, _) = visitor.ask("optimum", SETTINGS)
    assert best["best"]["error"] <= area["best"]["test_error"]["error"]
    assert best["best"]["error"] <= np.nanmin(np.asarray(area["test_error"], float))


def test_the_spectrum_has_mass_one_and_knows_its_edges(visitor: Visitor) -> None:
    _, (answer, _) = visitor.ask("spectrum", SETTINGS | {"alpha": 0.5})
    eigenvalue, density = np.asarray(answer["eigenvalue"], float), np.asarray(answer["density"], float)
    assert answer["bulk"] == "isotropic"
    assert answer["mass_at_zero"] == pytest.approx(0.5)  # rank n = p/2
    assert answer["edge"][0][0] <= eigenvalue.min() <= eigenvalue.max() <= answer["edge"][-1][1]
    # trapezoids on 80 Chebyshev-like nodes: their error is of order (π/80)² of the mass, 0.15 %
    assert np.trapezoid(density, eigenvalue) == pytest.approx(0.5, rel=0.01)


def test_a_simulation_arrives_trial_by_trial(visitor: Visitor) -> None:
    given = SETTINGS | {"d": 40, "trials": 3, "seed": 5}
    status, (begin, *lines, end) = visitor.ask("simulate", given)
    assert status == 200
    assert end == {"end": True}
    assert [begin["trial"], *(line["trial"] for line in lines)] == [0, 1, 2, 3]
    assert lines[0]["test_error"]["error"] == [None] * 8  # one trial has no standard error
    found = reproduced(lines[-1]["code"])["test_error"]
    mean, error = found.mean("trial"), found.std("trial", ddof=1) / 3**0.5
    np.testing.assert_allclose(lines[-1]["test_error"]["mean"], mean.values, rtol=1e-8)
    np.testing.assert_allclose(lines[-1]["test_error"]["error"], error.values, rtol=1e-6)


def test_finite_size_reaches_the_theory_only_when_asked(visitor: Visitor) -> None:
    curves = [
        visitor.ask("curve", {"bulk": "isotropic", "activation": "relu", "finite": finite, "d": 50})[1][0]
        for finite in (False, True)
    ]
    assert "d=50" not in curves[0]["code"]
    assert "d=50" in curves[1]["code"]
    assert curves[0]["test_error"] != curves[1]["test_error"]


def test_binary_targets_have_shares_of_wrong_signs(visitor: Visitor) -> None:
    _, (answer, _) = visitor.ask("curve", {"target": "sign", "noise": 0, "bulk": "isotropic"})
    assert all(0 < share < 0.5 for share in answer["test_error_01"])


@pytest.mark.parametrize("text", ['"); import os; os.system("id") #', "'''\n\\", "x\u2028y\U0001f600"])
def test_hostile_texts_stay_texts_in_the_python_lines(text: str) -> None:
    code = Call(
        "predict", Settings(activation=text, target=text), {"alpha": Spaced(0.1, 1.0, 3), "lam": 0.1}
    ).python()
    tree = ast.parse(code)
    assert [type(node).__name__ for node in tree.body] == ["Import", "Import", "Assign", "Assign", "Assign"]
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert constants.count(text) == 2


def test_a_continuous_law_of_letters_is_written_as_such() -> None:
    code = Call("bounds", Settings(readout="gaussian:6"), {}).python()
    space: dict[str, Any] = {"gs": gs}
    exec(code.splitlines()[3], space)
    assert space["net"].readout.law == "gaussian"
    assert len(space["net"].readout.values) == 6


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"along": "lam", "low": 0.001, "high": 10}, "lam"),
        ({"along": "beta", "low": 0.5, "high": 2}, "beta"),
        ({"along": "eta", "low": 0.1, "high": 5}, "eta"),
        ({"layer": "spiked", "along": "gamma", "low": -1, "high": 1}, "gamma"),
        ({"layer": "spiked", "bulk": "orthogonal"}, "alpha"),
    ],
)
def test_curves_run_along_any_parameter_of_either_layer(
    visitor: Visitor, asked: dict[str, Any], name: str
) -> None:
    status, (answer, _) = visitor.ask("curve", SETTINGS | asked)
    assert status == 200
    found = reproduced(answer["code"])
    assert found["test_error"].dims == (name,)
    np.testing.assert_allclose(answer["x"], found[name].values)
    np.testing.assert_allclose(answer["test_error"], found["test_error"].values, rtol=1e-9)


def test_random_features_know_nothing_of_the_spike(visitor: Visitor) -> None:
    _, (flat, _) = visitor.ask("random_features", SETTINGS | {"along": "eta", "low": 0.1, "high": 5})
    _, (spiked, _) = visitor.ask("random_features", SETTINGS | {"layer": "spiked", "r": 3})
    plain = gs.predict(gs.Network("tanh", eta=0, alpha0=0), gs.Target("sin", noise=0.1), alpha=1.5, lam=0.02)
    assert flat["test_error"] == pytest.approx(float(plain.test_error), rel=1e-9)
    assert np.interp(1.5, spiked["x"], spiked["test_error"]) == pytest.approx(flat["test_error"], rel=1e-2)


@pytest.mark.parametrize(
    ("asked", "samples"),
    [
        ({}, lambda x: x + 2.5),
        ({"steps": 3}, lambda x: x + 7.5),
        ({"along": "alpha0", "low": 0.1, "high": 5, "steps": 2}, lambda x: 1.5 + 2 * x),
        ({"along": "eta", "low": 0.1, "high": 5}, lambda x: np.array(4.0)),
        ({"layer": "spiked"}, lambda x: x),
        ({"alpha0": "inf"}, lambda x: np.full_like(x, 1e6)),
    ],
)
def test_references_get_all_samples_of_steps_and_readout(visitor: Visitor, asked: Any, samples: Any) -> None:
    target = gs.Target("sin", noise=0.1)
    for view, verb in (("best_linear", gs.ridge), ("best_possible", gs.bayes)):
        _, (*_, answer, _) = visitor.ask(view, SETTINGS | asked)
        expected = verb(target, alpha=samples(np.asarray(answer["x"], float)))
        # 1e6 samples and 1e6 + a few have errors of 1e-8 and less, which differ by a millionth
        np.testing.assert_allclose(answer["test_error"], expected.test_error.values, rtol=1e-5, atol=1e-12)


def test_the_best_possible_error_of_several_directions_is_left_out(visitor: Visitor) -> None:
    assert visitor.ask("best_possible", SETTINGS | {"target": "x1 + x1*x2"}) == (200, [{}, {"end": True}])


def test_the_parts_of_an_error_sum_to_it(visitor: Visitor) -> None:
    _, (*_, answer, _) = visitor.ask("parts", SETTINGS | {"eta": 1.7})
    assert sum(answer[name] for name in answer["parts"]) == pytest.approx(answer["test_error"], rel=1e-9)


@pytest.mark.parametrize(
    "asked",
    [{"layer": "spiked"}, {"target": "x1 + x1*x2"}, {"target": "sign", "noise": 0, "loss": "logistic"}],
)
def test_an_error_that_cannot_be_split_is_left_whole(visitor: Visitor, asked: dict[str, Any]) -> None:
    assert visitor.ask("parts", SETTINGS | asked)[1][0] == {"parts": None}


@pytest.mark.parametrize("view", ["curve", "random_features", "landscape"])
def test_a_draft_is_coarser_and_close(visitor: Visitor, view: str) -> None:
    asked = SETTINGS | {"activation": "relu", "beta": 1.23}
    _, (draft, _) = visitor.ask(f"{view}/draft", asked)
    _, (full, _) = visitor.ask(view, asked)
    assert draft["draft"]
    assert "draft" not in full
    rough, fine = np.asarray(draft["test_error"], float), np.asarray(full["test_error"], float)
    assert rough.size < fine.size
    np.testing.assert_allclose(rough.flat[0], fine.flat[0], rtol=1e-3)  # the draft's tolerance is 1e-4
    assert visitor.ask(f"{view}/draft", asked)[1][0] == full  # what is known is not drafted


def test_what_is_slow_begins_with_its_draft(visitor: Visitor) -> None:
    _, lines = visitor.ask("curve", SETTINGS | {"loss": "huber:0.5"})
    answers = [line for line in lines if "test_error" in line]
    assert [line.get("draft", False) for line in answers] == [True, False]
    shares = [line["progress"] for line in lines if "progress" in line]
    assert shares == sorted(shares)
    assert all(0 <= share < 1 for share in shares)


def test_a_lower_bound_above_the_linear_method_is_explained(visitor: Visitor) -> None:
    _, (answer, _) = visitor.ask("bounds", {"layer": "spiked", "gamma": 0.3, "r": 2})
    assert answer["lower"] > answer["linear"]
    assert "may lie above the best linear method" in answer["notes"][-1]
    _, (aligned, _) = visitor.ask("bounds", {"layer": "spiked", "gamma": 1, "r": 2})
    assert aligned["lower"] <= aligned["linear"]
    assert not aligned["notes"]


def test_a_spectrum_of_another_model_says_so(visitor: Visitor) -> None:
    _, lines = visitor.ask("spectrum", {"activation": "relu", "bulk": "orthogonal"})
    answer = next(line for line in lines if "bulk" in line)
    assert answer["bulk"] == "isotropic"
    assert "orthogonal rows is not known" in answer["notes"][-1]
    _, lines = visitor.ask("spectrum", {"activation": "relu", "bulk": "exact"})
    answer = next(line for line in lines if "bulk" in line)
    assert answer["bulk"] == "exact"
    assert not answer["notes"]


def test_what_a_view_does_not_use_does_not_reach_it() -> None:
    moved = Settings(lam=7.0, alpha=9.0, eta=0.3)
    assert moved.only(VIEWS["coefficients"].uses) == Settings(eta=0.3)
    assert moved.only(VIEWS["landscape"].uses) == Settings(alpha=9.0)
    assert moved.only(VIEWS["curve"].uses) == Settings(lam=7.0, eta=0.3)  # it runs along alpha
    assert moved.only(VIEWS["best_possible"].uses) == Settings()


STEPS = SETTINGS | {"steps": 2, "rows": "gaussian", "bias_scale": 1.0}


@pytest.mark.parametrize("view", ["curve", "learned", pytest.param("landscape", marks=pytest.mark.slow)])
def test_several_steps_and_gaussian_rows_reach_the_library(visitor: Visitor, view: str) -> None:
    status, lines = visitor.ask(view, STEPS)
    assert status == 200, lines
    answer = [line for line in lines if "code" in line][-1]
    assert "draft" not in answer
    found = reproduced(answer["code"])
    assert "steps=2" in answer["code"]
    assert 'rows="gaussian"' in answer["code"]
    assert "bias_scale=1" in answer["code"]
    np.testing.assert_allclose(
        np.asarray(answer.get("test_error", answer.get("point", {}).get("test_error")), float),
        found["test_error"].values,
        rtol=1e-9,
    )
    if view != "landscape":
        path = answer["layer"]["path"]
        np.testing.assert_allclose(path["r"], found["r"].values, rtol=1e-9)
        assert len(path["network_error"]) == 2
        assert answer["layer"]["r"] == path["r"][-1]


def test_one_step_on_unit_rows_is_not_spelled_out(visitor: Visitor) -> None:
    _, (answer, _) = visitor.ask("curve", SETTINGS)
    assert "steps" not in answer["code"]
    assert "rows" not in answer["code"]
    assert "path" not in answer["layer"]


def test_letters_part_ways_at_the_second_step(visitor: Visitor) -> None:
    asked = {"activation": "relu", "readout": "rademacher", "steps": 2, "bulk": "isotropic"}
    _, lines = visitor.ask("curve", asked)
    layer = lines[-2]["layer"]
    assert np.shape(layer["path"]["r"]) == (2, 2)  # steps and letters
    assert layer["r"] == layer["path"]["r"][-1]


def test_the_number_of_steps_has_limits(visitor: Visitor) -> None:
    for steps in (0, 9, 1.5):
        status, (answer,) = visitor.ask("curve", {"steps": steps})
        assert (status, answer["field"]) == (400, "steps")


def test_the_map_of_labels_has_wrong_signs_and_its_own_best_place(visitor: Visitor) -> None:
    """The rate and penalty of the least squared error are not those of the fewest wrong signs."""
    asked = SETTINGS | {"target": "sign", "noise": 0.0, "flips": 0.1, "loss": "logistic"}
    _, (*_, area, _) = visitor.ask("landscape", asked)
    for name in ("test_error", "test_error_01"):
        assert area["best"][name]["error"] == np.nanmin(np.asarray(area[name], float))
    places = [
        (area["best"][name]["strength"], area["best"][name]["lam"])
        for name in ("test_error", "test_error_01")
    ]
    assert places[0] != places[1]
