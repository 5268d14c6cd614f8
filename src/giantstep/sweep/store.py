"""The file that keeps a sweep's results: SQLite, written by one process, readable by anybody at any time.

A job is written in one transaction, so that after a crash it is either there or to be done again; write-ahead logging
makes a transaction safe against the death of the process at any moment (a power cut may cost the last moments,
never what was before them). Tables:

    meta      which version's numbers these are
    run       each time a driver worked: the sweep asked for (parameters, seed), version, machine, times
    family    what points have in common, as JSON (see `points`)
    batch     one finished job: its points [points, columns], seconds of work, machine
    answer    one quantity of a batch: numbers [points, ...] as bytes, with a checksum
    failure   a job that failed, and why
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..errors import ParameterError
from .encoding import Damaged, blank, decoded, encoded
from .job import RESULTS_VERSION, Answers, Job, Outcome, machine
from .lock import only_writer
from .points import Family
from .problems import StoreError, StoreFull

APPLICATION_ID = 0x67537765  # "gSwe": says that a SQLite file is ours
SCHEMA_VERSION = 1
_HEADER = b"SQLite format 3\0"
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (id INTEGER PRIMARY KEY, sweep TEXT NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL,
                  began TEXT NOT NULL, ended TEXT);
CREATE TABLE family (id TEXT PRIMARY KEY, description TEXT NOT NULL, attrs TEXT NOT NULL DEFAULT '{}') WITHOUT ROWID;
CREATE TABLE machine (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE);
CREATE TABLE batch (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, family TEXT NOT NULL, points BLOB NOT NULL,
                    seconds REAL NOT NULL, machine INTEGER NOT NULL, run INTEGER NOT NULL, finished TEXT NOT NULL);
CREATE INDEX batch_family ON batch (family);
CREATE TABLE answer (batch INTEGER NOT NULL, name TEXT NOT NULL, form TEXT NOT NULL, words TEXT, data BLOB NOT NULL,
                     checksum INTEGER NOT NULL);
CREATE INDEX answer_batch ON answer (batch);
CREATE TABLE failure (identity TEXT PRIMARY KEY, family TEXT NOT NULL, points BLOB NOT NULL, message TEXT NOT NULL,
                      run INTEGER NOT NULL, finished TEXT NOT NULL) WITHOUT ROWID;
"""


class Failure(NamedTuple):
    """Points [points, columns] that could not be computed, and why."""

    keys: np.ndarray
    message: str


class Store:
    """An open store; `Store.writing` and `Store.reading` open one."""

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path, self.connection, self._run = path, connection, 0

    @classmethod
    @contextmanager
    def writing(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """The store at `path`, made if there is none, for this process alone to write."""
        path = Path(path)
        _check_header(path)
        with only_writer(path), ExitStack() as cleanup:
            if not path.exists() or not path.stat().st_size:
                _create(path)
            with cls.reading(path) as found:  # nothing is changed before all is known to be well
                found._check_results_version()
            connection = cleanup.enter_context(closing(_connected(path, "rw")))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield cls(path, connection)
            with suppress(sqlite3.OperationalError):  # somebody reads at this moment: the log stays
                connection.execute("PRAGMA journal_mode = DELETE")  # one plain file, ready to be copied

    @classmethod
    @contextmanager
    def reading(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """The store at `path`, also while another process writes to it."""
        path = Path(path)
        _check_header(path)
        if not path.exists() or not path.stat().st_size:
            raise ParameterError(f"{str(path)!r} does not exist: nothing of this sweep has been computed yet")
        with closing(_connected(path, "ro")) as connection, _sound(path):
            damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)
            yield cls(path, connection)

    def begin_run(self, sweep: str, threads: int) -> None:
        """Enter what is asked for now, by whom."""
        with self._transaction():
            row = (sweep, __version__, machine(threads), _now())
            self._run = (
                self.connection.execute(
                    "INSERT INTO run (sweep, version, machine, began) VALUES (?, ?, ?, ?)", row
                ).lastrowid
                or 0
            )

    def end_run(self) -> None:
        with self._transaction():
            self.connection.execute("UPDATE run SET ended = ? WHERE id = ?", (_now(), self._run))

    def enter_family(self, family: Family) -> None:
        with self._transaction():
            self.connection.execute(
                "INSERT OR IGNORE INTO family (id, description) VALUES (?, ?)",
                (family.id, family.description),
            )

    def add(self, job: Job, outcome: Outcome) -> None:
        """Keep what came of a job, whole or not at all; one that is there already stays as it is."""
        points = np.ascontiguousarray(job.keys, dtype="<f8").tobytes()
        with self._transaction():
            execute = self.connection.execute
            if outcome.answers is None:
                row = (job.identity, job.family, points, outcome.message, self._run, _now())
                execute("INSERT OR REPLACE INTO failure VALUES (?, ?, ?, ?, ?, ?)", row)
                return
            execute("INSERT OR IGNORE INTO machine (description) VALUES (?)", (outcome.machine,))
            place = execute("SELECT id FROM machine WHERE description = ?", (outcome.machine,)).fetchone()[0]
            row = (job.identity, job.family, points, outcome.seconds, place, self._run, _now())
            entered = execute(
                "INSERT OR IGNORE INTO batch (identity, family, points, seconds, machine, run, finished)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            if entered.rowcount:
                rows = [
                    (entered.lastrowid, name, *encoded(values)) for name, values in outcome.answers.items()
                ]
                self.connection.executemany("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", rows)
            execute("DELETE FROM failure WHERE identity = ?", (job.identity,))
            if outcome.attrs:
                execute("UPDATE family SET attrs = ? WHERE id = ?", (json.dumps(outcome.attrs), job.family))

    def points(self, family: Family) -> np.ndarray:
        """Every point of the family that is there, [points, columns]."""
        rows = self.connection.execute("SELECT points FROM batch WHERE family = ? ORDER BY id", (family.id,))
        return _points(b"".join(row[0] for row in rows), family)

    def failures(self, family: Family) -> list[Failure]:
        rows = self.connection.execute(
            "SELECT points, message FROM failure WHERE family = ? ORDER BY finished", (family.id,)
        )
        return [Failure(_points(points, family), message) for points, message in rows]

    def answers(self, family: Family) -> Answers:
        """Every quantity at `points(family)`, in that order; NaN, or no words, where a batch does not have it."""
        with _sound(self.path):
            return self._answers(family)

    def _answers(self, family: Family) -> Answers:
        width = 8 * len(family.columns)
        sizes = self.connection.execute(
            "SELECT id, length(points) FROM batch WHERE family = ? ORDER BY id", (family.id,)
        ).fetchall()
        ends = np.cumsum([0, *(size // width for _, size in sizes)])
        where = {batch: slice(ends[i], ends[i + 1]) for i, (batch, _) in enumerate(sizes)}
        found: Answers = {}
        rows = self.connection.execute(
            "SELECT batch, name, form, words, data, checksum FROM answer"
            " WHERE batch IN (SELECT id FROM batch WHERE family = ?) ORDER BY rowid",
            (family.id,),
        )
        for batch, name, *stored in rows:
            values = decoded(*stored)
            if name not in found:
                found[name] = blank((int(ends[-1]), *values.shape[1:]), values.dtype)
            found[name][where[batch]] = values
        return found

    def attrs(self, family: Family) -> dict[str, str]:
        """What the results' attributes should say, the versions that computed them included."""
        row = self.connection.execute("SELECT attrs FROM family WHERE id = ?", (family.id,)).fetchone()
        versions = self.connection.execute(
            "SELECT DISTINCT version FROM run WHERE id IN (SELECT run FROM batch WHERE family = ?)",
            (family.id,),
        )
        said = ", ".join(sorted(version for (version,) in versions)) or __version__
        return {**json.loads(row[0] if row else "{}"), "giantstep_version": said}

    def last_sweep(self) -> dict[str, Any]:
        """What was asked for last, as plain data."""
        row = self.connection.execute("SELECT sweep FROM run ORDER BY id DESC LIMIT 1").fetchone()
        if row is None:
            raise ParameterError(f"{str(self.path)!r} is empty: no sweep has been run into it")
        return json.loads(row[0])

    def seconds(self, family: Family) -> float:
        """Time that workers have spent on the family."""
        query = "SELECT total(seconds) FROM batch WHERE family = ?"
        return self.connection.execute(query, (family.id,)).fetchone()[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # SQLite itself rolls back after some errors
                    self.connection.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            if "full" in str(error) or "disk I/O" in str(error):
                raise StoreFull(
                    f"{str(self.path)!r} cannot grow ({error}); what was finished is safe: make room and run the same "
                    "command again"
                ) from error
            raise StoreError(f"{str(self.path)!r} cannot be written: {error}") from error

    def _check_results_version(self) -> None:
        told = dict(self.connection.execute("SELECT key, value FROM meta"))
        if told.get("results_version") != str(RESULTS_VERSION):
            raise StoreError(
                f"{str(self.path)!r} has results of giantstep {told.get('version')}, whose numbers differ from "
                f"those of {__version__} (results version {told.get('results_version')}, not {RESULTS_VERSION}); "
                "export them as they are, or start anew with another --store"
            )


def _create(path: Path) -> None:
    """A new store under a temporary name, which then takes its place: there is never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            connection.executescript(
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
                f" BEGIN; {_SCHEMA} COMMIT;"
            )
            facts = {"version": __version__, "results_version": str(RESULTS_VERSION), "created": _now()}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
        os.replace(temporary, path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"{str(path)!r} cannot be made: {error}; choose another place with --store"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=10.0
    )


def _check_header(path: Path) -> None:
    """Refuse what is not ours by its first bytes, without opening it."""
    if not path.parent.is_dir():
        raise StoreError(f"{str(path)!r}: the folder {str(path.parent)!r} does not exist; create it first")
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    if not header:
        return
    ours = header[68:72] == APPLICATION_ID.to_bytes(4, "big")
    if not header.startswith(_HEADER) or not ours:
        raise StoreError(
            f"{str(path)!r} is not a store of sweeps (or its beginning is damaged) and is left as it is; choose "
            "another name with --store"
        )
    if (version := int.from_bytes(header[60:64], "big")) != SCHEMA_VERSION:
        raise StoreError(
            f"{str(path)!r} has layout {version} of stores, and this giantstep knows {SCHEMA_VERSION}; use the version "
            "that made it, or start anew with another --store"
        )


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.DatabaseError, Damaged) as error:
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise StoreError(f"{str(path)!r} cannot be read: {error}") from error
        raise StoreError(
            f"{str(path)!r} is damaged ({' '.join(str(error).split())}) and is left as it is; restore a copy, or start "
            "anew with another --store"
        ) from error


def _points(data: bytes, family: Family) -> np.ndarray:
    return np.frombuffer(data, dtype="<f8").reshape(-1, len(family.columns))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
