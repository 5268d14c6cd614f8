"""Answers of every kind stay what they were recorded to be."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from .settings import SETTINGS

RECORD = json.loads(Path(__file__).with_name("answers.json").read_text())
# On one machine a refactored engine agrees to 1e-12. Other machines round differently, and what an iteration ends at
# then moves within its own tolerance: 1e-10 for other losses (Anderson's mixing), 1e-9 for spectra and optima.
SOLVED, ITERATED = 1e-11, 1e-8
# a density near the edge of its support goes as a square root of the distance to it: √1e-15, relative to its own size
EDGES = 1e-6
# values around a minimum f are rounded to 1.5e-14 of it, and where it lies is known to √(2·1.5e-14 f/f''): f'' = 5f
FLAT = 1e-7
_LOSSES = ("logistic", "hinge", "exponential", "huber", "absolute", "pinball")
_ITERATED = (*_LOSSES, "tune", "spectrum", "weights", "over eta")


@pytest.mark.parametrize("name", SETTINGS)
def test_answers_are_as_recorded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = SETTINGS[name]()
    tolerance = ITERATED if any(word in name for word in _ITERATED) else SOLVED
    assert set(RECORD[name]) <= set(found)
    for key, (shape, values) in RECORD[name].items():
        expected = np.array(values, float).reshape(shape)
        assert found[key].shape == tuple(shape), key
        allowed = EDGES if key == "density" else FLAT if key.startswith("eta_") else tolerance
        size = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        np.testing.assert_allclose(found[key], expected, rtol=allowed, atol=allowed * size + 1e-13, err_msg=key)
