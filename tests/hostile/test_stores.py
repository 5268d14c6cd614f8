"""Stores that are damaged: a sentence, or the answers that were kept. None is made worse by being read."""

from __future__ import annotations

from pathlib import Path

import pytest

from giantstep.errors import GiantstepError
from giantstep.sweep import results, run_sweep
from giantstep.sweep.results import status
from giantstep.sweep.store import StoreError

from ..sweep.helpers import SWEEP
from .damage import damaged

QUICK, ALL = 60, 500


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    run_sweep(SWEEP, path, workers=1)
    return path


@pytest.mark.parametrize("seeds", [range(QUICK), pytest.param(range(QUICK, ALL), marks=pytest.mark.hostile)])
def test_a_damaged_store_is_refused_or_gives_what_was_kept(whole, seeds, tmp_path):
    known, told = results(SWEEP, whole), status(SWEEP, whole)
    sound, path, said = whole.read_bytes(), tmp_path / "s.sqlite", []
    for seed in seeds:
        hurt = damaged(sound, seed)
        path.write_bytes(hurt)
        try:
            for sweep in (SWEEP, None):  # as asked for, and as the store says
                found = results(sweep, path)
                assert found.theory.identical(known.theory), seed
                assert found.simulation.identical(known.simulation), seed
            assert status(SWEEP, path) == told, seed
        except GiantstepError as error:
            said.append(error)
        assert path.read_bytes() == hurt, seed
    assert len(said) > len(seeds) // 4
    assert all(str(error).count("\n") == 0 for error in said)
    assert all(isinstance(error, StoreError) or "does not exist" in str(error) for error in said)


@pytest.mark.hostile
def test_a_run_into_a_damaged_store_is_refused_or_leaves_it_as_a_sound_one(whole, tmp_path):
    known, sound, path = results(SWEEP, whole), whole.read_bytes(), tmp_path / "s.sqlite"
    for seed in range(ALL, ALL + 100):
        hurt = damaged(sound, seed)
        path.write_bytes(hurt)
        try:
            found = run_sweep(SWEEP, path, workers=1)
        except StoreError:
            assert path.read_bytes() == hurt, seed
        else:
            assert found.simulation.identical(known.simulation), seed
            assert found.theory.identical(known.theory) or seed % 8 == 6, seed  # begun anew: its date may differ
        for rest in tmp_path.glob("s.sqlite-*"):
            rest.unlink()
