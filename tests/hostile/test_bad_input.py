"""Whatever an argument is by mistake, a public verb says so in a sentence that names the argument."""

from __future__ import annotations

import contextlib
import random

import matplotlib
import pytest

import giantstep as gs

from .bad_input import cases, raw_endings, verbs

matplotlib.use("Agg")
QUICK = 300
# in the long run alone
SLOW = ("bayes", "explain", "tune", "spectrum", "weight_spectrum", "run_sweep", "compare")
NET, FIT = gs.Network("tanh", eta=1, alpha0=1), {"alpha": 1, "lam": 0.1}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_bad_input_is_refused_in_a_sentence():
    table = verbs()
    quick = [case for case in cases(table) if case.verb not in SLOW]
    assert raw_endings(random.Random(0).sample(quick, QUICK), table) == {}


@pytest.mark.hostile
def test_all_bad_input_is_refused_in_a_sentence():
    table = verbs()
    gs.save(table["save"].fine["dataset"], "curve.nc")
    assert raw_endings(cases(table), table) == {}


@pytest.mark.parametrize("size", [1e308, 1e20])
def test_extreme_numbers_are_answered_or_refused(size):
    models = [
        lambda: (NET, gs.Target("sin", noise=size)),
        lambda: (gs.Network("tanh", eta=1, alpha0=1, beta=1 / size), "sin"),
        lambda: (gs.SpikedRF("tanh", r=size, gamma=0.5), "sin"),
        lambda: (gs.Network("tanh", eta=1, alpha0=1, bias_scale=size), "sin"),
    ]
    for made in models:
        with contextlib.suppress(gs.GiantstepError):
            gs.predict(*made(), **FIT)
