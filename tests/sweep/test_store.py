"""The file: refused with a sentence when it is not what it should be, and never made worse."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import giantstep as gs
from giantstep.sweep import results, run_sweep
from giantstep.sweep import store as store_module
from giantstep.sweep.executors import local
from giantstep.sweep.job import Outcome
from giantstep.sweep.lock import _still_there, only_writer
from giantstep.sweep.parts import parts
from giantstep.sweep.problems import StoreError, StoreFull
from giantstep.sweep.rows import checksum
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


CHANGES = [
    "UPDATE batch SET points = points || x'00' WHERE id = 2",
    "UPDATE batch SET family = 'another' WHERE id = 2",
    "UPDATE batch SET seconds = seconds + 1 WHERE id = 2",
    "UPDATE batch SET id = 1000 WHERE id = 2",
    "DELETE FROM batch WHERE id = (SELECT max(id) FROM batch)",
    "UPDATE answer SET name = 'train_error' WHERE name = 'test_error'",
    "UPDATE answer SET form = '[\"<f8\", [2]]' WHERE rowid = 3",
    "UPDATE answer SET batch = batch + 1 WHERE rowid = 3",
    "UPDATE answer SET words = '[]' WHERE words IS NOT NULL",
    "DELETE FROM answer WHERE rowid = 3",
    "UPDATE family SET attrs = '{'",
    "UPDATE family SET attrs = CAST(x'ff' AS TEXT)",
    "UPDATE run SET version = '9'",
    "UPDATE ledger SET rows = rows + 1",
    "DELETE FROM ledger WHERE name = 'batch'",
    "ALTER TABLE batch RENAME COLUMN points TO pounts",
    "DROP TABLE answer",
]


def test_no_value_of_a_row_can_move_into_the_next_or_change_its_kind_unnoticed():
    rows = [(1, 23), (12, 3), ("1", 23), (1.0, 23), (b"1", 23), (b"12", b"3"), (b"1", b"23"), (None, b"123")]
    assert len({checksum(row) for row in rows}) == len(rows)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_anywhere_in_a_row_is_noticed(change, tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    connection = sqlite3.connect(path)
    connection.execute(change)
    connection.commit()
    connection.close()
    if "RENAME" in change:  # what is read and checked is the same whatever it is called
        assert results(SWEEP, path).simulation.identical(results(SWEEP, whole).simulation)
        return
    with pytest.raises(StoreError, match="is damaged"):
        results(SWEEP, path)


def test_a_damaged_index_is_noticed_before_anything_is_added(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    connection = sqlite3.connect(path)
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_batch_1'"
    ).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    (identity,) = connection.execute("SELECT identity FROM batch WHERE id = 5").fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    at = data.index(identity.encode(), (root - 1) * size)
    data[at] ^= 1
    path.write_bytes(data)
    assert results(SWEEP, path).simulation.identical(results(SWEEP, whole).simulation)
    refused(path, "is damaged")


def test_a_store_of_before_there_were_checksums_is_refused_in_words(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes()[:60] + (1).to_bytes(4, "big") + whole.read_bytes()[64:])
    refused(
        path,
        "has layout 1 of stores, and this giantstep knows 2; use the version that made it, or start anew",
    )


@contextmanager
def anybody() -> Iterator[None]:
    """As a user for whom permissions count, if this is root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.posix
def test_a_killed_store_where_nothing_can_be_written_says_what_to_do(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE run SET ended = ended")
    connection.commit()
    with TemporaryDirectory(dir="/tmp") as name:  # which everybody may enter
        folder = Path(name)
        for part in ("s.sqlite", "s.sqlite-wal"):
            (folder / part).write_bytes((tmp_path / part).read_bytes())
        connection.close()
        folder.chmod(0o555)
        words = r"last run was killed .* copy s\.sqlite and s\.sqlite-wal together to another folder"
        with anybody(), pytest.raises(StoreError, match=words):
            results(SWEEP, folder / "s.sqlite")
        folder.chmod(0o755)
        assert results(SWEEP, folder / "s.sqlite").simulation.identical(results(SWEEP, whole).simulation)


@pytest.mark.posix
def test_a_link_laid_in_place_of_the_lock_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "s.sqlite.lock").symlink_to(victim)
    with pytest.raises(StoreError, match="cannot be written here"), only_writer(tmp_path / "s.sqlite"):
        pytest.fail("it has the lock")
    assert victim.read_text() == "precious"


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
            drive(SWEEP, parts(SWEEP), store, lambda wanted, jobs: local(1, 1))
    assert 0 < batches(path) < 41  # 40 trials at a setting and a block of theory
    run_sweep(SWEEP, path, workers=1)
    assert_same_results(SWEEP, path, whole)
    assert_nothing_twice(SWEEP, path)


class _FullOnce:
    """A connection whose disk is full at one of its commits."""

    def __init__(self, connection: sqlite3.Connection, commit: int):
        self._genuine, self._left = connection, commit

    def execute(self, words: str, *values):
        self._left -= words == "COMMIT"
        if words == "COMMIT" and self._left == 0:
            raise sqlite3.OperationalError("disk I/O error")
        return self._genuine.execute(words, *values)

    def __getattr__(self, name: str):
        return getattr(self._genuine, name)


def test_what_a_commit_has_lost_is_written_again_by_the_same_store(tmp_path):
    """The third: that of the only job, which also says which bulk was meant."""
    sweep, path = gs.Sweep(SWEEP.model, "sin", alpha=1.0, lam=0.1, theory={}), tmp_path / "s.sqlite"
    with Store.writing(path) as store:
        genuine = store.connection
        store.connection = _FullOnce(genuine, 3)  # type: ignore[assignment]
        with pytest.raises(StoreFull, match="what was finished is safe"):
            run_sweep(sweep, store, workers=1)
        assert batches(path) == 0
        store.connection = genuine
        found = run_sweep(sweep, store, workers=1)
    assert (found.done, found.theory.attrs["bulk"]) == (1, "exact")
    assert_nothing_twice(sweep, path)


def test_a_job_that_comes_back_twice_stays_as_it_was(tmp_path):
    """As one does whose worker was given up and answered all the same; a failure that came first is forgotten."""
    (theory, *_), path = parts(SWEEP), tmp_path / "s.sqlite"
    job = next(iter(theory.jobs(np.ones(len(theory.keys), bool))))
    first, second = (
        Outcome({"test_error": np.full(len(job.keys), value)}, machine="here") for value in (1.0, 2.0)
    )
    with Store.writing(path) as store:
        store.begin_run("{}", 1)
        store.enter_family(theory.family)
        for outcome, failures in ((Outcome(None, "lost"), 1), (first, 0), (second, 0)):
            store.add(job, outcome)
            assert len(store.failures(theory.family)) == failures
        store.add(job, replace(first, attrs={"bulk": "told"}))
        assert store.attrs(theory.family)["bulk"] == "told"
        assert (store.answers(theory.family)["test_error"] == 1.0).all()
        assert len(store.points(theory.family)) == len(job.keys)


@pytest.mark.posix
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
            "c.execute(\"INSERT INTO batch SELECT NULL, 'half', '', '', 0, 1, 1, '', 0, 0\");"
            "os.kill(os.getpid(), 9)",
            str(path),
        ]
    )
    assert died.returncode == -9
    run_sweep(SWEEP, path, workers=1)
    assert batches(path) == before
    assert_same_results(SWEEP, path, whole)


@pytest.mark.posix
def test_a_lock_that_its_holder_has_removed_meanwhile_is_not_held(tmp_path):
    path = tmp_path / "s.sqlite.lock"
    path.touch()
    descriptor = os.open(path, os.O_RDWR)
    try:
        assert _still_there(descriptor, path)
        path.unlink()
        assert not _still_there(descriptor, path)
        path.touch()  # somebody's new one
        assert not _still_there(descriptor, path)
    finally:
        os.close(descriptor)


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
