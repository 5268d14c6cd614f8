"""The file that keeps a sweep's results: SQLite, written by one process, readable by anybody at any time.

It has three tables, to which rows are only ever added, each in a transaction of its own:

    run      a driver at work: the sweep asked for, what its points have in common, version, machine, time
    job      a finished job: its points and their answers, seconds of work, machine, run, version, time
    failure  a job that failed, and why; it counts until its points are in `job`

A row is a number, facts in JSON, data in bytes (see `pack`), and the CRC-32 of all these. Rows are numbered from 1, and
SQLite itself remembers the last number. So a row that has changed does not match its checksum, and one that is lost is
missed: what is read is what was written, and all of it. Write-ahead logging makes a row safe against the death of the
process at any moment (a power cut may cost the last moments, never what was before them).
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock, Timeout

from .. import __version__
from ..errors import GiantstepError, ParameterError
from ..files import check_plain
from .job import RESULTS_VERSION, Answers, Job, Outcome, blank, machine, pack, unpack
from .part import Family

APPLICATION_ID = 0x67537765  # "gSwe": says that a SQLite file is ours
LAYOUT = 3  # 1 and 2 had a table for each kind of fact
_TABLES = ("run", "job", "failure")
_FULL = ("SQLITE_FULL", "SQLITE_IOERR")
_NOT_NOW = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR")


class StoreError(GiantstepError, RuntimeError):
    """A sweep's file cannot be used as asked; it is left as it is."""

    page = "Sweeps: thousands of settings, on a laptop or a cluster"


class StoreFull(StoreError):
    """There is no more room; everything finished is kept."""


class Row(NamedTuple):
    """A run, a job or a failure."""

    facts: dict[str, Any]
    columns: Answers  # answers, and what they are of: points [points, columns]


class Store:
    """An open store; `Store.writing` and `Store.reading` open one."""

    def __init__(self, path: Path, connection: sqlite3.Connection, rows: dict[str, list[Row]]):
        self.path, self.connection, self._rows = path, connection, rows

    @classmethod
    @contextmanager
    def writing(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """The store at `path`, made if there is none, for this process alone to write."""
        path = Path(path)
        there = check_header(path)
        with _only_writer(path), ExitStack() as cleanup:
            if not there or Path(f"{path}-journal").exists():
                with sentences(path, "written"):
                    _create(path)
            # nothing is changed before all is known to be well
            with cls.reading(path) as store, sentences(path):
                store._check_results_version()
                # rows can be read from a file whose free pages are in disorder, but SQLite must not write to it
                if (damage := store.connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                    raise ValueError(damage)
            with sentences(path):
                store.connection = cleanup.enter_context(closing(_connect(path, "rw")))
                store.connection.execute("PRAGMA journal_mode = WAL")
                store.connection.execute("PRAGMA synchronous = NORMAL")
            yield store
            with suppress(sqlite3.OperationalError):  # somebody reads at this moment: the log stays
                store.connection.execute("PRAGMA journal_mode = DELETE")  # one plain file, ready to be copied

    @classmethod
    @contextmanager
    def reading(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """The store at `path` as it is now, also while another process writes to it."""
        path = Path(path)
        if not check_header(path):
            raise ParameterError(f"{str(path)!r} does not exist: nothing of this sweep has been computed yet")
        with ExitStack() as cleanup:
            with sentences(path):
                connection = cleanup.enter_context(closing(_connect(path, "ro")))
                connection.execute("BEGIN")  # all that is read is of one moment
                rows = {table: list(_read(connection, table)) for table in _TABLES}
            yield cls(path, connection, rows)

    def begin_run(self, sweep: dict[str, Any], families: list[Family], threads: int) -> None:
        """Record a new run and its sweep."""
        described = {family.id: family.description for family in families}
        facts = {"sweep": sweep, "families": described, "results_version": RESULTS_VERSION, "machine": machine(threads)}
        self._add("run", facts, np.empty((0, 1)), {})

    def add(self, job: Job, outcome: Outcome) -> None:
        """Store the outcome of a job, whole or not at all."""
        facts = {"family": job.family, "run": len(self._rows["run"])}
        if outcome.answers is None:
            self._add("failure", facts | {"message": outcome.message}, job.keys, {})
        else:
            work = {"seconds": outcome.seconds, "machine": outcome.machine, "attrs": outcome.attrs}
            self._add("job", facts | work, job.keys, outcome.answers)

    def points(self, family: Family) -> np.ndarray:
        """Every point of the family that is there, [points, columns]."""
        return np.concatenate(
            [np.empty((0, len(family.columns))), *(job.columns["points"] for job in self._of(family))]
        )

    def answers(self, family: Family, places: np.ndarray) -> Answers:
        """Every quantity at these places of `points(family)`; `blank` at place -1, and where a job does not have it."""
        jobs = [job.columns for job in self._of(family)]
        answers, known = {}, {name: values for columns in jobs for name, values in columns.items()}
        del known["points"]
        for name, values in known.items():
            nothing = blank((1, *values.shape[1:]), values.dtype)
            whole = [
                columns[name] if name in columns else nothing.repeat(len(columns["points"]), axis=0) for columns in jobs
            ]
            answers[name] = np.concatenate([*whole, nothing])[places]
        return answers

    def failures(self, family: Family) -> list[tuple[np.ndarray, str]]:
        """Points [points, columns] that could not be computed, and why; the last reason where there are several."""
        last = {row.columns["points"].tobytes(): row for row in self._of(family, "failure")}
        return [(row.columns["points"], row.facts["message"]) for row in last.values()]

    def attrs(self, family: Family) -> dict[str, str]:
        """What the results' attributes should say, the versions that computed them included."""
        facts = [job.facts for job in self._of(family)]
        versions = sorted({each["version"] for each in facts}) or [__version__]
        return {**(facts[-1]["attrs"] if facts else {}), "giantstep_version": ", ".join(versions)}

    def last_sweep(self) -> dict[str, Any]:
        """The sweep of the last run, as plain data."""
        if not self._rows["run"]:
            raise ParameterError(f"{str(self.path)!r} is empty: no sweep has been run into it")
        return self._rows["run"][-1].facts["sweep"]

    def seconds(self, family: Family) -> float:
        """Time that workers have spent on the family."""
        return math.fsum(job.facts["seconds"] for job in self._of(family))

    def _of(self, family: Family, table: str = "job") -> list[Row]:
        return [row for row in self._rows[table] if row.facts["family"] == family.id]

    def _add(self, table: str, facts: dict[str, Any], points: np.ndarray, answers: Answers) -> None:
        """A new row, in a transaction of its own."""
        layout, data = pack(points, answers)
        facts = {**facts, "version": __version__, "time": _now(), **layout}
        text, place = json.dumps(facts), len(self._rows[table]) + 1
        values = (place, text, data, _checksum(table, place, text.encode(), data))
        with sentences(self.path, "written"):
            self.connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", values)
        self._rows[table].append(Row(facts, {"points": points, **answers}))

    def _check_results_version(self) -> None:
        for run in self._rows["run"]:
            if (version := run.facts["results_version"]) != RESULTS_VERSION:
                raise StoreError(
                    f"{str(self.path)!r} has results of giantstep {run.facts['version']}, and this is {__version__}, "
                    f"which computes other numbers (results version {version}, not {RESULTS_VERSION}); export them as "
                    "they are, or start anew with another --store"
                )


def check_header(path: Path) -> bool:
    """Whether there is a store; refuse a file that is none, by its first bytes, before SQLite opens it."""
    if not path.parent.is_dir():
        raise StoreError(f"{str(path)!r}: the folder {str(path.parent)!r} does not exist; create it first")
    for ending in ("", ".lock", "-journal", "-wal", "-shm"):  # a store, its lock, and what SQLite has beside it
        check_plain(f"{path}{ending}")
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    ours = header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")
    if header and not ours:
        raise StoreError(
            f"{str(path)!r} is not a store of sweeps (or its beginning is damaged) and is left as it is; choose "
            "another name with --store"
        )
    if header and (layout := int.from_bytes(header[60:64], "big")) != LAYOUT:
        raise StoreError(
            f"{str(path)!r} has layout {layout} of stores, and this giantstep knows {LAYOUT}; use the version "
            "that made it, or start anew with another --store"
        )
    return bool(header)


@contextmanager
def sentences(path: Path, verb: str = "read") -> Iterator[None]:
    """Turn errors of SQLite and numpy about the file's content into sentences."""
    try:
        yield
    except (sqlite3.Error, LookupError, ValueError, TypeError, OverflowError, MemoryError) as error:
        name, words = getattr(error, "sqlite_errorname", ""), " ".join(str(error).split())
        if verb == "written" and name.startswith(_FULL):
            raise StoreFull(
                f"{str(path)!r} cannot grow ({words}); what was finished is safe: make room and run the same "
                "command again"
            ) from error
        if name.startswith(_NOT_NOW):
            raise StoreError(f"{str(path)!r} cannot be {verb}: {words}{_advice(path)}") from error
        raise StoreError(
            f"{str(path)!r} is damaged ({words}) and is left as it is; restore a copy, or start anew with another "
            "--store"
        ) from error


def _advice(path: Path) -> str:
    """What to do about a store that cannot be used: SQLite must merge what a killed run has left beside it."""
    for left in (Path(f"{path}-wal"), Path(f"{path}-journal")):
        if left.exists():
            return (
                "; its last run was killed and left a log, which can only be read where files can be written: run it "
                f"again there, or copy {path.name} and {left.name} together to another folder and use them there"
            )
    return f"; try again in a moment, and check that files in {str(path.parent)!r} can be read and written"


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Hold the store's lock, which the system takes from a process that dies; a second writer is told who has it."""
    file, holder = Path(f"{path}.lock"), ""
    try:
        lock = FileLock(file, blocking=False).acquire()
    except Timeout:
        with suppress(OSError):
            holder = f" ({file.read_text()})"
        raise StoreError(
            f"{str(path)!r} is being written by another process{holder}; wait for it to finish or stop it "
            "(status and export work meanwhile)"
        ) from None
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be written here: {error.strerror}; choose another place") from None
    with lock:
        try:
            # Windows keeps what is locked to its holder, and removes it afterwards
            with suppress(PermissionError):
                file.write_text(f"process {os.getpid()}, since {_now()}")
            yield
        finally:
            with suppress(PermissionError):
                file.unlink()


def _create(path: Path) -> None:
    """The tables of a new store, in one transaction at its own place: half of one is undone by who opens it next."""
    with closing(_connect(path, "rwc")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            for table in _TABLES:
                connection.execute(
                    f"CREATE TABLE {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, facts TEXT NOT NULL, "
                    "data BLOB NOT NULL, checksum INTEGER NOT NULL)"
                )
        connection.execute("COMMIT")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=10.0)


def _read(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Every row, each checked, and that none is missing."""
    columns, count = "id, CAST(facts AS BLOB), CAST(data AS BLOB), checksum", 0
    rows = connection.execute(f"SELECT {columns} FROM {table} ORDER BY id")
    for count, (place, facts, data, checksum) in enumerate(rows, start=1):
        if place != count or checksum != _checksum(table, place, facts, data):
            raise ValueError(f"row {count} of its table {table} does not match its checksum")
        yield Row(known := json.loads(facts), unpack(known, data))
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone() or (0,)
    if last != (count,):
        raise ValueError(f"its table {table} has {count} rows, not the {last[0]} that were written")


def _checksum(table: str, place: int, facts: bytes, data: bytes) -> int:
    """Of every value of a row, with lengths, so that nothing can move from one to the next."""
    return zlib.crc32(data, zlib.crc32(facts, zlib.crc32(f"{table} {place} {len(facts)} {len(data)}".encode())))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
