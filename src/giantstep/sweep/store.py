"""The file that keeps a sweep's results: SQLite, written by one process, readable by anybody at any time.

A job is written in one transaction, so that after a crash it is either there or to be done again; write-ahead logging
makes a transaction safe against the death of the process at any moment (a power cut may cost the last moments,
never what was before them). Every row has a checksum (see `rows`). Tables:

    meta      which version's numbers these are
    run       each time a driver worked: the sweep asked for (parameters, seed), version, machine, times
    family    what points have in common, as JSON (see `points`)
    batch     one finished job: its points [points, columns], seconds of work, machine
    answer    one quantity of a batch: numbers [points, ...] as bytes
    failure   a job that failed, and why
    ledger    how many rows each table has
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..errors import ParameterError
from . import rows
from .encoding import Damaged, blank, decoded, encoded
from .job import RESULTS_VERSION, Answers, Job, Outcome, machine
from .lock import only_writer
from .opening import check_header, check_pages, connected, create, damaged, now, sound
from .points import Family
from .problems import StoreError, StoreFull


class Failure(NamedTuple):
    """Points [points, columns] that could not be computed, and why."""

    keys: np.ndarray
    message: str


class Store:
    """An open store; `Store.writing` and `Store.reading` open one."""

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path, self.connection, self._run = path, connection, 0
        self._read: dict[str, list[Any]] = {}
        self._told: dict[str, str] = {}  # attributes of families, as they were written last

    @classmethod
    @contextmanager
    def writing(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """The store at `path`, made if there is none, for this process alone to write."""
        path = Path(path)
        check_header(path)
        with only_writer(path), ExitStack() as cleanup:
            if not path.exists() or not path.stat().st_size:
                create(path)
            with cls.reading(path) as found:  # nothing is changed before all is known to be well
                found._check_results_version()
                found._check_whole()
            with sound(path):
                connection = cleanup.enter_context(closing(connected(path, "rw")))
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
            yield cls(path, connection)
            with suppress(sqlite3.OperationalError):  # somebody reads at this moment: the log stays
                connection.execute("PRAGMA journal_mode = DELETE")  # one plain file, ready to be copied

    @classmethod
    @contextmanager
    def reading(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """The store at `path` as it is now, also while another process writes to it."""
        path = Path(path)
        check_header(path)
        if not path.exists() or not path.stat().st_size:
            raise ParameterError(f"{str(path)!r} does not exist: nothing of this sweep has been computed yet")
        with ExitStack() as cleanup:
            with sound(path):
                connection = cleanup.enter_context(closing(connected(path, "ro")))
                connection.execute("BEGIN")  # all that is read is of one moment
                check_pages(connection, "quick_check")
            yield cls(path, connection)

    def begin_run(self, sweep: str, threads: int) -> None:
        """Enter what is asked for now, by whom."""
        with self._transaction():
            self._run = rows.following(self.connection, "run")
            row = rows.Run(self._run, sweep, __version__, machine(threads), now(), None)
            rows.add(self.connection, "run", row)

    def end_run(self) -> None:
        with self._transaction():
            for row in self._rows("run"):
                if row.id == self._run:
                    rows.put(self.connection, "run", row._replace(ended=now()))

    def enter_family(self, family: Family) -> None:
        with self._transaction():
            if family.id not in {row.id for row in self._rows("family")}:
                rows.add(self.connection, "family", rows.FamilyRow(family.id, family.description, "{}"))

    def add(self, job: Job, outcome: Outcome) -> None:
        """Keep what came of a job, whole or not at all; one that is there already stays as it is."""
        points = np.ascontiguousarray(job.keys, dtype="<f8").tobytes()
        with self._transaction():
            if outcome.answers is None:
                row = (job.identity, job.family, points, outcome.message, self._run, now())
                rows.put(self.connection, "failure", rows.FailureRow(*row))
                return
            there = "SELECT 1 FROM batch WHERE identity = ?"
            if not self.connection.execute(there, (job.identity,)).fetchone():
                self._add_batch(job, outcome, outcome.answers, points)
            rows.remove(self.connection, "failure", job.identity)
            if outcome.attrs:
                self._tell_family(job.family, json.dumps(outcome.attrs))

    def _add_batch(self, job: Job, outcome: Outcome, answers: Answers, points: bytes) -> None:
        place = rows.following(self.connection, "batch")
        work = (float(outcome.seconds), self._machine(outcome.machine), self._run, now(), len(answers))
        rows.add(self.connection, "batch", rows.Batch(place, job.identity, job.family, points, *work))
        rows.add_answers(
            self.connection, [(place, name, *encoded(values)) for name, values in answers.items()]
        )

    def _machine(self, description: str) -> int:
        known = "SELECT id FROM machine WHERE description = ?"
        if found := self.connection.execute(known, (description,)).fetchone():
            return found[0]
        place = rows.following(self.connection, "machine")
        rows.add(self.connection, "machine", rows.Machine(place, description))
        return place

    def _tell_family(self, family: str, attrs: str) -> None:
        if attrs != self._told.get(family):
            for row in self._rows("family"):
                if row.id == family and row.attrs != attrs:
                    rows.put(self.connection, "family", row._replace(attrs=attrs))
            self._told[family] = attrs

    def points(self, family: Family) -> np.ndarray:
        """Every point of the family that is there, [points, columns]."""
        return _points(b"".join(batch.points for batch in self._batches(family)), family)

    def failures(self, family: Family) -> list[Failure]:
        found = [row for row in self._rows("failure") if row.family == family.id]
        return [
            Failure(_points(row.points, family), row.message)
            for row in sorted(found, key=lambda r: r.finished)
        ]

    def answers(self, family: Family) -> Answers:
        """Every quantity at `points(family)`, in that order; NaN, or no words, where a batch does not have it."""
        with sound(self.path):
            batches = self._batches(family)
            sizes = [len(batch.points) // (8 * len(family.columns)) for batch in batches]
            ends = np.cumsum([0, *sizes])
            found: Answers = {}
            for place, name, *stored in rows.read_answers(self.connection, batches):
                values = decoded(*stored)
                if name not in found:
                    found[name] = blank((int(ends[-1]), *values.shape[1:]), values.dtype)
                found[name][ends[place] : ends[place + 1]] = values
            return found

    def attrs(self, family: Family) -> dict[str, str]:
        """What the results' attributes should say, the versions that computed them included."""
        told = next((row.attrs for row in self._rows("family") if row.id == family.id), "{}")
        runs = {batch.run for batch in self._batches(family)}
        versions = {run.version for run in self._rows("run") if run.id in runs}
        return {**json.loads(told), "giantstep_version": ", ".join(sorted(versions)) or __version__}

    def last_sweep(self) -> dict[str, Any]:
        """What was asked for last, as plain data."""
        if not (runs := self._rows("run")):
            raise ParameterError(f"{str(self.path)!r} is empty: no sweep has been run into it")
        return json.loads(runs[-1].sweep)

    def seconds(self, family: Family) -> float:
        """Time that workers have spent on the family."""
        return math.fsum(batch.seconds for batch in self._batches(family))

    def _batches(self, family: Family) -> list[rows.Batch]:
        return [batch for batch in self._rows("batch") if batch.family == family.id]

    def _rows(self, table: str) -> list[Any]:
        """All of a table, read once as long as nothing is written to it."""
        if table not in self._read:
            with sound(self.path):
                self._read[table] = rows.read(self.connection, table)
        return self._read[table]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._read.clear()
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._read.clear()
                self.connection.execute("COMMIT")
            except BaseException:
                self._told.clear()
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
        except Damaged as error:
            raise damaged(self.path, str(error)) from error

    def _check_results_version(self) -> None:
        told = dict(self._rows("meta"))
        if told.get("results_version") != str(RESULTS_VERSION):
            raise StoreError(
                f"{str(self.path)!r} has results of giantstep {told.get('version')}, whose numbers differ from "
                f"those of {__version__} (results version {told.get('results_version')}, not {RESULTS_VERSION}); "
                "export them as they are, or start anew with another --store"
            )

    def _check_whole(self) -> None:
        """Before a run, that every table is as it was written, and every index as its table."""
        with sound(self.path):
            rows.check(self.connection)
            check_pages(self.connection, "integrity_check")


def _points(data: bytes, family: Family) -> np.ndarray:
    return np.frombuffer(data, dtype="<f8").reshape(-1, len(family.columns))
