"""Random numbers depend on (seed, trial, batch, kind, row) and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.simulation.backend import make_backend
from giantstep.simulation.draw import CHUNK_ROWS, Draws, Kind, Purpose

BACKEND = make_backend()


def inputs(start: int, stop: int, width: int = 5, **changes: int) -> np.ndarray:
    words = {"seed": 3, "trial": 4} | changes
    return Draws(words["seed"], words["trial"], BACKEND).normal(
        Purpose.TRAIN, Kind.INPUTS, start, stop, width
    )


def test_more_rows_only_append():
    long = inputs(0, 3 * CHUNK_ROWS + 7)
    for start, stop in [(0, 1), (0, CHUNK_ROWS), (5, CHUNK_ROWS + 1), (CHUNK_ROWS - 1, 3 * CHUNK_ROWS + 7)]:
        np.testing.assert_array_equal(inputs(start, stop), long[start:stop])


def test_draws_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = inputs(0, 1000, width=200)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    np.testing.assert_array_equal(inputs(0, 1000, width=200), alone)


def test_every_word_of_the_key_opens_another_stream():
    draws = Draws(3, 4, BACKEND)
    streams = [
        inputs(0, 40),
        inputs(0, 40, seed=4),
        inputs(0, 40, trial=3),
        inputs(CHUNK_ROWS, CHUNK_ROWS + 40),
        draws.normal(Purpose.TEST, Kind.INPUTS, 0, 40, 5),
        draws.normal(Purpose.TRAIN, Kind.NOISE, 0, 40, 5),
    ]
    flat = np.stack([stream.ravel() for stream in streams])
    correlation = np.corrcoef(flat) - np.eye(len(flat))
    assert np.abs(correlation).max() < 5 / np.sqrt(flat.shape[1])  # five standard deviations of chance


def test_normals_and_uniforms_have_their_moments():
    z = inputs(0, 4000, width=50)
    count = z.size
    assert abs(z.mean()) < 4 / np.sqrt(count)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / count)
    u = Draws(0, 0, BACKEND).uniform(Purpose.TRAIN, Kind.COIN, 0, 20000)
    assert u.shape == (20000,)
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * len(u))


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_seeds_may_be_as_large_as_64_bits(seed):
    assert np.isfinite(inputs(0, 3, seed=seed)).all()
