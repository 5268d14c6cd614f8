"""Losses as users meet them: text, pickles, other array libraries, and refusals."""

from __future__ import annotations

import pickle

import array_api_strict as strict
import numpy as np
import pytest

from giantstep import ParameterError
from giantstep.losses import NAMES, Loss, as_loss, huber, pinball

TEXTS = [name.replace("delta", "0.5").replace("tau", "0.9") for name in NAMES]  # as messages show them


@pytest.mark.parametrize("text", TEXTS)
def test_a_loss_survives_its_text_and_a_pickle(text: str):
    loss = as_loss(text)
    assert as_loss(loss.spec) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert as_loss(loss) is loss


def test_spelling_is_free_and_parameters_have_defaults():
    assert as_loss(" Squared-Hinge ") == as_loss("squared_hinge")
    assert as_loss("huber") == huber(1.0)
    assert as_loss("pinball:0.25") == pinball(0.25)
    assert as_loss("huber:0.5") != as_loss("huber:0.6")


@pytest.mark.parametrize("text", ["cubic", "huber:x", "huber:-1", "huber:nan", "pinball:1", "logistic:2", ""])
def test_what_is_no_loss_is_refused_with_the_way_out(text: str):
    with pytest.raises(ParameterError, match=r"huber|pinball|use one of"):
        as_loss(text)


@pytest.mark.parametrize("text", TEXTS)
def test_values_and_derivatives_work_in_other_array_libraries(text: str):
    loss, rng = as_loss(text), np.random.default_rng(0)
    y, z = rng.choice([-1.0, 1.0], 50), 2.0 * rng.standard_normal(50)
    for part in (loss.value, loss.derivative):
        found = part(strict.asarray(y), strict.asarray(z))
        assert np.allclose(np.asarray(found), part(y, z), rtol=1e-14, atol=0)


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_are_those_of_values(text: str):
    loss, h = as_loss(text), 1e-6
    z = np.linspace(-3.05, 3.05, 62)
    for y in (-1.0, 1.0):
        labels = np.full_like(z, y)
        slope = (loss.value(labels, z + h) - loss.value(labels, z - h)) / (2 * h)
        # central differences: h² times the third derivative (below e³), and rounding EPS·ℓ/h
        assert np.allclose(slope, loss.derivative(labels, z), rtol=0, atol=1e-8)


def test_extreme_margins_neither_overflow_nor_lose_digits():
    loss, z = as_loss("logistic"), np.array([-800.0, -40.0, 40.0, 800.0])
    ones = np.ones(4)
    assert np.allclose(loss.value(ones, z), [800.0, 40.0, np.exp(-40.0), 0.0], rtol=1e-15)
    assert np.allclose(loss.derivative(ones, z), [-1.0, -1.0, -np.exp(-40.0), 0.0], rtol=1e-15)


@pytest.mark.parametrize(
    ("value", "slope", "words"),
    [
        (lambda y, z: -((y - z) ** 2), lambda y, z: 2 * (y - z), "not convex"),
        (lambda y, z: (y - z) ** 2, lambda y, z: z - y, "derivative is not the derivative of value"),
        (lambda y, z: np.where(z > 0, np.inf, 0.0), lambda y, z: 0.0 * z, "not finite"),
        ("square", lambda y, z: z - y, "not callable"),
    ],
)
def test_a_loss_of_ones_own_is_checked(value, slope, words):
    with pytest.raises(ParameterError, match=words):
        Loss(value, slope)


def test_a_loss_knows_whether_it_is_a_function_of_the_residual():
    assert {text for text in TEXTS if as_loss(text).residual} == {"square", "absolute", "huber:0.5", "pinball:0.9"}
    assert Loss(lambda y, z: (y - z) ** 4 / 4, lambda y, z: (z - y) ** 3).residual
    assert not Loss(lambda y, z: np.exp(-y * z), lambda y, z: -y * np.exp(-y * z)).residual
