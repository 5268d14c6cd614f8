"""Values of independent derivations, digit by digit: first layers, rows and answers of many kinds of networks.

The numbers are in check_values.json: for each case what is expected of `predict` with some options, by name, and under
"rows" of the first layer and of its resolvent at Ṽ = (½ 0.2; 0.2 0.4). Without steps there is no direction of a spike,
and forms on it are 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import giantstep as gs
from giantstep import Letters, Target
from giantstep.theory.problem import model_grid, pose

from ..zoo import BIASES, BLOCKS, MIX, PRODUCT, SHIFTED, SIGNS, THREE_BLOCKS, TOGETHER, TWO, TWO_SIGNS, Case, steps

pytestmark = pytest.mark.filterwarnings("ignore::giantstep.GiantstepWarning")  # limits out of reach of real sizes

VALUES = json.loads(Path(__file__).with_name("check_values.json").read_text(encoding="utf-8"))
HE3 = "x + (x**3 - 3*x)/6"
ON_THREE = [[[0.5, 0.2], [0.2, 0.2]], [[0.3, -0.1], [-0.1, 0.5]], [[0.2, -0.1], [-0.1, 0.3]]]
FOUR_BLOCKS = ((2, 1, 4, 0.5), (0.15, 0.3, 0.05, 0.5))  # in no order


def on_blocks(
    activation, target, spectrum, shares, etas, alphas=None, beta=1.0, at=(1.5, 0.1), noise=0.0, **more
) -> Case:
    y = Target(target, noise=noise, inputs=gs.Inputs(*spectrum, shares=shares))
    return Case("", steps(activation, etas, alphas, beta, **more), y, *at)


A, B = BLOCKS, THREE_BLOCKS
ON_BLOCKS = {
    "no step": on_blocks("tanh", "tanh", A, (0.9, 0.1), (0,)),
    "tanh": on_blocks("tanh", "sin", A, (0.5, 0.5), (2,)),
    "relu": on_blocks("relu", "tanh", A, (0.3, 0.7), (1.5,)),
    "gelu, noise": on_blocks("gelu", "relu", B, (0.6, 0.2, 0.2), (1.5,), (2,), at=(1.5, 0.01), noise=0.2),
    "not odd, noise": on_blocks(SHIFTED, MIX, A, (0.5, 0.5), (1,), at=(3, 0.3), noise=0.3),
    "erf, four blocks": on_blocks(
        "erf", "sin", FOUR_BLOCKS, (0.3, 0.2, 0.4, 0.1), (3,), (0.5,), 0.7, (0.5, 0.3), noise=0.3
    ),
    "tanh, two steps": on_blocks("tanh", "sin", A, (0.5, 0.5), (1.5, 1)),
    "relu, two steps": on_blocks("relu", "tanh", A, (0.3, 0.7), (1, 0.7)),
    "not odd, two steps": on_blocks(SHIFTED, MIX, ((2, 0.5), (1 / 3, 2 / 3)), (0.5, 0.5), (1, 0.7)),
    "letters of two signs": on_blocks("relu", "tanh", A, (0.3, 0.7), (1.5,), readout=SIGNS),
    "letters of two sizes": on_blocks("relu", MIX, B, (0.6, 0.2, 0.2), (1,), noise=0.2, readout=TWO),
    "two signs, two steps": on_blocks("relu", "tanh", A, (0.3, 0.7), (1.5, 1), readout=SIGNS),
    "not odd, noise, two steps": on_blocks(
        SHIFTED, MIX, A, (0.5, 0.5), (0.8, 0.7), beta=0.8, noise=0.3, readout=TWO_SIGNS
    ),
    "two directions together": on_blocks("tanh", PRODUCT, A, TOGETHER, (1,), (2,)),
    "two directions, two signs, two steps": on_blocks(
        "relu", PRODUCT, A, ((0.8, 0.2), (0.2, 0.8)), (1.2, 1), (2, 2), readout=SIGNS
    ),
    "two directions together, two steps": on_blocks("relu", PRODUCT, A, TOGETHER, (1, 0.7), (2, 2)),
    "three steps": on_blocks("gelu", "sin", A, (0.4, 0.6), (1.2, 1, 0.8), readout=SIGNS),
    "biases, gaussian rows": on_blocks("relu", "tanh", A, (0.3, 0.7), (1, 0.8), rows="gaussian", readout=BIASES),
    "everything": on_blocks(
        "gelu", PRODUCT, B, ON_THREE, (1, 0.8), (2, 1.5), 0.8, rows="gaussian",
        readout=Letters((-1, 0.5), (0.4, 0.6), biases=(0, 0.3)),
    ),
}  # fmt: skip

ONE_LETTER = {
    "tanh on sin": Case("", steps("tanh", (2, 2)), "sin"),
    "three steps, noise": Case("", steps("tanh", (2, 2, 2)), Target("sin", noise=0.3)),
    "relu on a parabola": Case("", steps("relu", (2, 1.5), (2, 1)), MIX),
    "gelu on relu, noise": Case("", steps("gelu", (2, 2), (0.8, 0.8)), Target("relu", noise=0.2)),
    "no parity": Case("", steps(SHIFTED, (2, 1.5)), MIX),
    "gelu, three steps": Case("", steps("gelu", (1.5, 1.5, 1.5), (2, 1, 1)), MIX),
}


THREE_SIGNS = Letters((-1, 0, 1), (0.3, 0.3, 0.4))
LETTERS = {
    "tanh, two sizes": Case("", steps("tanh", (2, 2), readout=TWO), "sin"),
    "relu, two signs": Case("", steps("relu", (2, 2), readout=SIGNS), "tanh"),
    "gelu, three letters": Case("", steps("gelu", (1.5, 1.5), (1.5, 1.5), readout=THREE_SIGNS), HE3),
    "no parity, noise": Case("", steps(SHIFTED, (1.5, 1.5), None, 0.8, readout=TWO_SIGNS), Target(MIX, noise=0.3)),
}
BIASED = Letters((1, 1), (0.5, 0.5), biases=(0, 1))
ROWS = {
    "gaussian rows, tanh": Case("", steps("tanh", (2, 2), rows="gaussian"), "sin"),
    "gaussian rows, gelu, one step": Case("", steps("gelu", (3,), (4,), 3.0, rows="gaussian"), MIX, 4.0, 0.01),
    "gaussian rows, two signs": Case(
        "", steps("gelu", (3, 3), (4, 2), 3.0, rows="gaussian", readout=SIGNS), MIX, 4.0, 0.01
    ),
    "biases, one step": Case("", steps("tanh", (2,), readout=BIASED), "sin"),
    "biases and gaussian rows": Case("", steps("relu", (1.5, 1), rows="gaussian", readout=BIASES), "tanh"),
}
DIRECTIONS = {
    "tanh on x1 + x1*x2": Case("", steps("tanh", (2,), (2,)), PRODUCT),
    "relu on x1 + x1*x2": Case("", steps("relu", (1.5,), (2,)), PRODUCT),
    "erf on tanh(x1) + (x2**2 - 1)/2": Case(
        "", steps("erf", (2,), (1.5,)), Target("tanh(x1) + (x2**2 - 1)/2", noise=0.3)
    ),
    "gelu on x1 + x1*x2/2 + x2*x3/2": Case("", steps("gelu", (2,), (2,)), Target("x1 + x1*x2/2 + x2*x3/2", noise=0.2)),
}


def predicted(case: Case, parts: Iterable[str]) -> dict[str, xr.Dataset]:
    """Answers by the law of the rows, "exact" or "isotropic", and the size: "exact, d = 600"; sizes in one call."""
    answers = {}
    for law, bulk, model in (
        ("exact", "exact", case.model),
        ("isotropic", "isotropic", case.model),
        ("gaussian rows", "exact", gs.Network.from_dict(case.model.to_dict() | {"rows": "gaussian"})),
    ):
        sizes = {part: float(part.partition(" = ")[2] or "inf") for part in parts if part.startswith(law)}
        if sizes:
            found = case.but(model=model).predict(bulk=bulk, d=list(sizes.values()))
            answers |= {part: found.isel(d=i) for i, part in enumerate(sizes)}
    return answers


def answer(found: xr.Dataset, name: str) -> np.ndarray:
    """By name; "last r" is that after the last step."""
    values = found[name.removeprefix("last ")]
    return values.isel(step=-1).values if name.startswith("last ") and "step" in values.dims else values.values


def assert_values(case: Case, expected: dict, tolerance: dict[str, float], relative: bool = False) -> None:
    """`tolerance` of each name, or that of "" for the others; where `relative`, to the largest of a kind above 1.

    What is expected as one number is summed over letters.
    """
    found = predicted(case, expected)
    for part, values in expected.items():
        quantities = row_quantities(case) if part == "rows" else {name: answer(found[part], name) for name in values}
        for name, value in values.items():
            computed = np.ravel(quantities[name] if np.ndim(value) else np.sum(quantities[name]))
            allowed = tolerance.get(name, tolerance[""]) * (max(1.0, np.abs(value).max()) if relative else 1.0)
            assert_allclose(computed, np.ravel(value), rtol=0, atol=allowed, err_msg=f"{part}: {name}")


def row_quantities(case: Case) -> dict[str, np.ndarray]:
    """Of the first layer, and of the exact bulk's resolvent: traces, and forms on spikes, target and row norms."""
    problem = pose(case.model, case.label, model_grid(case.model, case.label, alpha=1.0, lam=1.0))
    bulk, layer = problem.bulks(np.arange(1))[0], problem.first_layers.layer
    frame, k = layer.frame(), case.label.directions
    K, S, b = layer.c.shape[1], frame.spikes, frame.b[0]
    upper = np.triu_indices(K)
    at = bulk.resolvent(np.array([[0.5, 0.2], [0.2, 0.4]])[None, None, :K, :K])
    G = at.forms()[0, 0]
    theta = np.zeros((k, S + k))  # the target's directions in terms of d̂ and ê
    met = min(S, k)
    theta[:met, :met] = np.diag(frame.gamma[0, :met])
    theta[:, S:] = np.diag(frame.rho[0])
    theta = frame.turn[0] @ theta
    directions = G[: S + k, :, : S + k]
    quantities = {
        "c": layer.c,
        "spikes' products": layer.gram[0][upper],
        "spikes on the target": layer.on_target,
        "covariance": layer.row_covariance,
        "variance": bulk.free.forms()[0, 0, -1, 0, -1, 0],
        "T": at.T[0, 0][upper],
        "overlap": bulk.norm_overlap()[0][upper],
        "forms on spikes": np.einsum("sj,jskt,tk->st", b, G[:S, :, :S], b)[upper],
        "forms of spikes with norms": np.einsum("sj,jst->st", b, G[:S, :, S + k]),
        "forms on norms": G[S + k, :, S + k][upper],
        "forms on the target": np.einsum("i,isjt,j->st", theta[0], directions, theta[-1])[upper],
    }
    if K == 1:
        here = G[:, 0, :, 0][np.triu_indices(len(G))]
        slope = at.form_slopes[0, 0, 0, :, 0, :, 0][np.triu_indices(len(G))]
        quantities |= {"slope": at.slopes[0], "forms": here, "slope of t times the forms": here + 0.5 * slope}
    return quantities


@pytest.mark.parametrize(
    ("case", "part"),
    [
        pytest.param(case, part, marks=[pytest.mark.slow] * (case == "three steps"))
        for case in ON_BLOCKS
        for part in ("rows", "answers")
    ],
)
def test_inputs_with_a_covariance_have_the_values_of_an_independent_derivation(case, part):
    """Printed with eight decimals; relative to the largest of a kind."""
    values = VALUES["inputs with a covariance"][case]
    chosen = {name: values[name] for name in values if (name == "rows") == (part == "rows")}
    assert_values(ON_BLOCKS[case], chosen, {"": 1e-7}, relative=True)


PRINTED = 6e-9  # values are printed with eight decimals


@pytest.mark.parametrize("case", ONE_LETTER)
def test_one_letter_has_the_values_of_an_independent_derivation(case):
    assert_values(ONE_LETTER[case], VALUES["one letter"][case], {"": PRINTED})


def assert_undragged(case: Case, expected: dict, tolerance: dict[str, float]) -> None:
    """Values at finite d that leave out what steps take away of the mean rows.

    So does `predict` for inputs with several eigenvalues, even if these are equal.
    """
    sized = {part for part in expected if " = " in part}
    assert_values(case, {part: expected[part] for part in expected.keys() - sized}, tolerance)
    equal = Target(case.label.function, noise=case.label.noise, inputs=gs.Inputs.power_law(0, d=2))
    assert_values(case.but(target=equal), {part: expected[part] for part in sized}, tolerance)


@pytest.mark.parametrize("case", LETTERS)
def test_letters_have_the_values_of_an_independent_derivation(case):
    assert_undragged(LETTERS[case], VALUES["letters"][case], {"": PRINTED, "last r": 2 * PRINTED})


@pytest.mark.parametrize("case", ROWS)
def test_initial_rows_and_biases_have_the_values_of_an_independent_derivation(case):
    """q2 of a wide network at a small penalty is a few; letters' soft directions cost a digit."""
    assert_undragged(ROWS[case], VALUES["rows and biases"][case], {"": 2 * PRINTED})


@pytest.mark.parametrize("case", DIRECTIONS)
def test_one_step_has_its_check_values(case):
    """Targets of several directions, printed with nine decimals."""
    tolerance = {"": 2e-8, "gamma": 2e-9, "c": 2e-9, "r": 2e-9}
    assert_values(DIRECTIONS[case], VALUES["several directions"][case], tolerance)
