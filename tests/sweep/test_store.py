"""The file: refused with a sentence when it is not what it should be, and never made worse."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import giantstep as gs
from giantstep.sweep import results, run_sweep
from giantstep.sweep import store as store_module
from giantstep.sweep.executors import local
from giantstep.sweep.lock import only_writer
from giantstep.sweep.problems import StoreError, StoreFull
from giantstep.sweep.run import drive
from giantstep.sweep.store import Store

from .helpers import assert_nothing_twice, assert_same_results, batches

SWEEP = gs.Sweep(
    gs.Network("tanh", eta=[0.5, 1.0], alpha0=2.0),
    "sin",
    alpha=[0.5, 1.0, 2.0],
    lam=[0.01, 0.1],
    theory={"bulk": "isotropic"},
    simulation={"d": 10, "trials": 20, "n_test": 200},
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    run_sweep(SWEEP, path, workers=1)
    return path


def refused(path: Path, words: str) -> None:
    """With this sentence, and not a byte changed, nor a file added."""
    before, around = path.read_bytes(), sorted(path.parent.iterdir())
    with pytest.raises(StoreError, match=words):
        run_sweep(SWEEP, path, workers=1)
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == around


def test_foreign_files_are_refused_and_left_untouched(tmp_path):
    text = tmp_path / "notes.sqlite"
    text.write_text("my only copy\n" * 100)
    refused(text, "is not a store of sweeps")
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.executescript("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);")
    connection.close()
    refused(other, "is not a store of sweeps")


def test_damaged_files_are_refused_and_left_untouched(tmp_path, whole):
    sound = whole.read_bytes()
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(sound[: len(sound) // 2])
    refused(cut, "is damaged")
    overwritten = tmp_path / "overwritten.sqlite"
    overwritten.write_bytes(sound[:4096] + b"\xa5" * 8192 + sound[4096 + 8192 :])
    refused(overwritten, "is damaged")


def test_a_changed_number_is_noticed(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    connection = sqlite3.connect(path)
    (data,) = connection.execute("SELECT data FROM answer WHERE rowid = 3").fetchone()
    connection.execute("UPDATE answer SET data = ? WHERE rowid = 3", (bytes([data[0] ^ 1]) + data[1:],))
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="does not match its checksum"):
        results(SWEEP, path)


def test_results_of_another_version_are_not_mixed_but_can_be_exported(tmp_path, whole, monkeypatch):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    monkeypatch.setattr(store_module, "RESULTS_VERSION", 1_000_000)
    refused(path, "results version 1, not 1000000.*start anew with another --store")
    assert results(SWEEP, path).simulation.identical(results(SWEEP, whole).simulation)
    path.write_bytes(path.read_bytes()[:60] + (77).to_bytes(4, "big") + path.read_bytes()[64:])
    refused(path, "has layout 77 of stores")


def test_a_full_disk_stops_cleanly_and_the_sweep_goes_on_when_there_is_room(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    with Store.writing(path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 8}")
        with pytest.raises(StoreFull, match="what was finished is safe"):
            drive(SWEEP, store, lambda parts, jobs: local(1, 1))
    assert 0 < batches(path) < 41  # 40 trials at a setting and a block of theory
    run_sweep(SWEEP, path, workers=1)
    assert_same_results(SWEEP, path, whole)
    assert_nothing_twice(SWEEP, path)


def test_a_half_written_job_is_not_there(tmp_path, whole):
    """A process that dies between the first statement of a transaction and its last."""
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    before = batches(path)
    died = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sys, sqlite3; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "c.execute('PRAGMA journal_mode = WAL'); c.execute('BEGIN IMMEDIATE');"
            "c.execute(\"INSERT INTO batch SELECT NULL, 'half', family, points, 0, 1, 1, '' FROM batch LIMIT 1\");"
            "os.kill(os.getpid(), 9)",
            str(path),
        ]
    )
    assert died.returncode == -9
    run_sweep(SWEEP, path, workers=1)
    assert batches(path) == before
    assert_same_results(SWEEP, path, whole)


def test_the_lock_of_a_dead_process_does_not_bind(tmp_path):
    path = tmp_path / "s.sqlite"
    lock = tmp_path / "s.sqlite.lock"
    lock.write_text('{"pid": 1, "since": "long ago"}')
    with only_writer(path), pytest.raises(StoreError, match="another process"), only_writer(path):
        pytest.fail("two writers")
    assert not lock.exists()


def test_what_it_was_made_by_is_on_record(whole):
    connection = sqlite3.connect(whole)
    sweep, version, machine, began, ended = connection.execute(
        "SELECT sweep, version, machine, began, ended FROM run"
    ).fetchone()
    assert '"seed":0' in sweep
    assert version == gs.__version__
    assert '"numpy"' in machine
    assert '"threads": 1' in machine
    assert began <= ended
    seconds, worker = connection.execute(
        "SELECT min(seconds), min(m.description) FROM batch JOIN machine AS m ON m.id = batch.machine"
    ).fetchone()
    assert seconds > 0
    assert worker == machine
    connection.close()
