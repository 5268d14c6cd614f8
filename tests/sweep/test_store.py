"""The file: refused with a sentence when it is not what it should be, and never made worse."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import giantstep as gs
from giantstep.sweep import results, run_sweep
from giantstep.sweep import store as store_module
from giantstep.sweep.store import Store, StoreError, StoreFull

from .helpers import SWEEP, assert_as_undisturbed, batches


def refused(path: Path, words: str) -> None:
    """With this sentence, and not a byte changed, nor a file added."""
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words):
        run_sweep(SWEEP, path, workers=1)
    assert [(path, before)] == [(each, each.read_bytes()) for each in path.parent.iterdir()]


def of_another_program() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);")
    return connection.serialize()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sound: b"my only copy\n" * 100, "is not a store of sweeps"),
        (lambda sound: of_another_program(), "is not a store of sweeps"),
        (lambda sound: sound[: len(sound) // 2], "is damaged"),
        (lambda sound: sound[:4096] + b"\xa5" * 8192 + sound[4096 + 8192 :], "is damaged"),
        (lambda sound: sound[:63] + b"\2" + sound[64:], "has layout 2 of stores, and this giantstep knows 3; use the"),
        (lambda sound: sound[:63] + b"\x4d" + sound[64:], "has layout 77 of stores"),
    ],
)  # fmt: skip
def test_foreign_and_damaged_files_are_refused_and_left_untouched(tmp_path, whole, change, words):
    path = tmp_path / "s.sqlite"
    path.write_bytes(change(whole.read_bytes()))
    refused(path, words)


CHANGES = [
    "UPDATE job SET data = zeroblob(length(data)) WHERE id = 2",
    "UPDATE job SET data = data || x'00' WHERE id = 2",
    "UPDATE job SET facts = facts || ' ' WHERE id = 2",
    "UPDATE job SET id = 1000 WHERE id = 2",
    "UPDATE job SET (facts, data, checksum) = (SELECT facts, data, checksum FROM job AS o WHERE o.id = 3) WHERE id = 2",
    "UPDATE job SET checksum = checksum + 1 WHERE id = 2",
    "DELETE FROM job WHERE id = 2",
    "DELETE FROM job WHERE id = (SELECT max(id) FROM job)",
    "DELETE FROM job",
    "UPDATE job SET facts = CAST(x'ff' AS TEXT)",
    "UPDATE run SET facts = replace(facts, 'version', 'vision')",
    "UPDATE sqlite_sequence SET seq = seq + 1",
    "DELETE FROM sqlite_sequence",
    "ALTER TABLE job RENAME COLUMN data TO date",
    "DROP TABLE job",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_anywhere_in_a_row_is_noticed(change, tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with pytest.raises(StoreError, match="is damaged"):
        results(SWEEP, path)


@pytest.mark.posix
def test_a_killed_store_where_nothing_can_be_written_says_what_to_do(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, TemporaryDirectory(dir="/tmp") as name:  # which all may enter
        connection.executescript("PRAGMA journal_mode = WAL; UPDATE run SET facts = facts")
        folder, me = Path(name), os.geteuid()
        for part in ("s.sqlite", "s.sqlite-wal"):
            (folder / part).write_bytes((tmp_path / part).read_bytes())
        folder.chmod(0o555)
        os.seteuid(me or 65534)  # for root permissions do not count
        words = r"last run was killed .* copy s\.sqlite and s\.sqlite-wal together to another folder"
        try:
            with pytest.raises(StoreError, match=words):
                results(SWEEP, folder / "s.sqlite")
        finally:
            os.seteuid(me)
            folder.chmod(0o755)
        assert results(SWEEP, folder / "s.sqlite").simulation.identical(results(SWEEP, whole).simulation)


@pytest.mark.posix
def test_a_link_laid_in_place_of_the_lock_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "s.sqlite.lock").symlink_to(victim)
    with pytest.raises(StoreError, match="cannot be written here"), Store.writing(tmp_path / "s.sqlite"):
        pytest.fail("it has the lock")
    assert victim.read_text() == "precious"


def test_results_of_another_version_are_not_mixed_but_can_be_exported(tmp_path, whole, monkeypatch):
    path = tmp_path / "s.sqlite"
    path.write_bytes(whole.read_bytes())
    monkeypatch.setattr(store_module, "RESULTS_VERSION", 1_000_000)
    refused(path, "results version 1, not 1000000.*start anew with another --store")
    assert results(SWEEP, path).simulation.identical(results(SWEEP, whole).simulation)


def test_a_full_disk_stops_cleanly_and_the_sweep_goes_on_when_there_is_room(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    with Store.writing(path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 8}")
        with pytest.raises(StoreFull, match="what was finished is safe"):
            run_sweep(SWEEP, store, workers=1)
        kept = batches(path)
        store.connection.execute("PRAGMA max_page_count = 100000")
        assert run_sweep(SWEEP, store, workers=1).done == 41 - kept  # by the same store
    assert 0 < kept < 41  # 40 trials at a setting and a block of theory
    assert_as_undisturbed(SWEEP, path, whole)


def test_the_lock_of_a_dead_process_does_not_bind(tmp_path):
    path = tmp_path / "s.sqlite"
    lock = tmp_path / "s.sqlite.lock"
    lock.write_text('{"pid": 1, "since": "long ago"}')
    with Store.writing(path), pytest.raises(StoreError, match="another process"), Store.writing(path):
        pytest.fail("two writers")
    assert not lock.exists()


def test_what_it_was_made_by_is_on_record(whole):
    with closing(sqlite3.connect(whole)) as connection:
        rows = [connection.execute(f"SELECT facts FROM {table}").fetchone() for table in ("run", "job")]
    run, job = (json.loads(facts) for (facts,) in rows)
    assert (run["sweep"]["simulation"]["seed"], run["machine"]["threads"]) == (0, 1)
    assert run["version"] == job["version"] == gs.__version__
    assert run["machine"] == job["machine"]
    assert run["families"][job["family"]]["kind"] == "theory"
