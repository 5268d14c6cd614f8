"""The rows of a store, each with a checksum of all that is in it, and a ledger of how many there are.

What is read is what was written, and all of it: a bit that flips anywhere in a row does not match the row's checksum,
and a row that is lost does not match the ledger. Tables are read from end to end rather than by an index, which
may be damaged too. The answers, which are large, are read one family at a time; their batch says how many it has.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .encoding import Damaged


class Run(NamedTuple):
    id: int
    sweep: str
    version: str
    machine: str
    began: str
    ended: str | None


class FamilyRow(NamedTuple):
    id: str
    description: str
    attrs: str


class Machine(NamedTuple):
    id: int
    description: str


class Batch(NamedTuple):
    id: int
    identity: str
    family: str
    points: bytes
    seconds: float
    machine: int
    run: int
    finished: str
    answers: int  # how many quantities it has


class FailureRow(NamedTuple):
    identity: str
    family: str
    points: bytes
    message: str
    run: int
    finished: str


class Meta(NamedTuple):
    key: str
    value: str


KINDS: dict[str, Any] = {
    "meta": Meta,
    "run": Run,
    "family": FamilyRow,
    "machine": Machine,
    "batch": Batch,
    "failure": FailureRow,
}
SCHEMA = """
CREATE TABLE ledger (name TEXT PRIMARY KEY, rows INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE run (id INTEGER PRIMARY KEY, sweep TEXT NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL,
                  began TEXT NOT NULL, ended TEXT, checksum INTEGER NOT NULL);
CREATE TABLE family (id TEXT PRIMARY KEY, description TEXT NOT NULL, attrs TEXT NOT NULL,
                     checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE machine (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE, checksum INTEGER NOT NULL);
CREATE TABLE batch (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, family TEXT NOT NULL, points BLOB NOT NULL,
                    seconds REAL NOT NULL, machine INTEGER NOT NULL, run INTEGER NOT NULL, finished TEXT NOT NULL,
                    answers INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE answer (batch INTEGER NOT NULL, name TEXT NOT NULL, form TEXT NOT NULL, words TEXT, data BLOB NOT NULL,
                     checksum INTEGER NOT NULL);
CREATE INDEX answer_batch ON answer (batch);
CREATE TABLE failure (identity TEXT PRIMARY KEY, family TEXT NOT NULL, points BLOB NOT NULL, message TEXT NOT NULL,
                      run INTEGER NOT NULL, finished TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
"""


def checksum(row: Sequence[Any]) -> int:
    """Of every value of a row, with its kind and its length, so that nothing can move from one to the next."""
    total = 0
    for value in row:
        data = value if isinstance(value, bytes) else repr(value).encode()
        total = zlib.crc32(b"%c%d:" % (type(value).__name__[0].encode(), len(data)), total)
        total = zlib.crc32(data, total)
    return total


def add(connection: sqlite3.Connection, table: str, row: Sequence[Any]) -> None:
    """A new row, entered in the ledger."""
    _insert(connection, table, row)
    _enter(connection, table, +1)


def put(connection: sqlite3.Connection, table: str, row: Any) -> None:
    """A row in place of the one with the same key (its first value), if there is one."""
    remove(connection, table, row[0])
    add(connection, table, row)


def remove(connection: sqlite3.Connection, table: str, key: Any) -> None:
    """The row with this key, if there is one."""
    gone = connection.execute(f"DELETE FROM {table} WHERE {KINDS[table]._fields[0]} = ?", (key,)).rowcount
    if gone:
        _enter(connection, table, -gone)


def following(connection: sqlite3.Connection, table: str) -> int:
    """The number of the next row of a table that is numbered, from which nothing is ever removed."""
    return count(connection, table) + 1


def add_answers(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(
        "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", [(*row, checksum(row)) for row in rows]
    )


def read(connection: sqlite3.Connection, table: str) -> list[Any]:
    """Every row of a table, in the order of its key."""
    kind = KINDS[table]
    rows = connection.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY {kind._fields[0]}").fetchall()
    for row in rows:
        if checksum(row[:-1]) != row[-1]:
            raise Damaged(f"a row of its table {table} does not match its checksum")
    if len(rows) != count(connection, table):
        raise Damaged(
            f"its table {table} has {len(rows)} rows, not the {count(connection, table)} that were written"
        )
    return [kind(*row[:-1]) for row in rows]


def read_answers(connection: sqlite3.Connection, batches: list[Batch]) -> Iterator[tuple[Any, ...]]:
    """Name, form, words and data of every quantity, each after the position of its batch in the list."""
    for place, batch in enumerate(batches):
        rows = connection.execute(
            "SELECT * FROM answer WHERE batch = ? ORDER BY rowid", (batch.id,)
        ).fetchall()
        if len(rows) != batch.answers:
            raise Damaged(f"a job has {len(rows)} answers, not the {batch.answers} that were written")
        for row in rows:
            if checksum(row[:-1]) != row[-1]:
                raise Damaged("an answer does not match its checksum")
            yield place, *row[1:-1]


def check(connection: sqlite3.Connection) -> None:
    """That every table is as it was written."""
    for table in KINDS:
        read(connection, table)
    for _ in read_answers(connection, read(connection, "batch")):
        pass


def count(connection: sqlite3.Connection, table: str) -> int:
    """How many rows were written to a table, by the ledger."""
    row = connection.execute("SELECT rows, checksum FROM ledger WHERE name = ?", (table,)).fetchone()
    if row is None or checksum((table, row[0])) != row[1]:
        raise Damaged("its ledger does not match its checksum")
    return row[0]


def prepare(connection: sqlite3.Connection, facts: dict[str, str]) -> None:
    """The tables of a new store."""
    connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
    for table in KINDS:
        connection.execute("INSERT INTO ledger VALUES (?, ?, ?)", (table, 0, checksum((table, 0))))
    for row in facts.items():
        add(connection, "meta", row)


def _insert(connection: sqlite3.Connection, table: str, row: Sequence[Any]) -> None:
    marks = ", ".join("?" * (len(row) + 1))
    connection.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, checksum(row)))


def _enter(connection: sqlite3.Connection, table: str, change: int) -> None:
    rows = count(connection, table) + change
    connection.execute(
        "UPDATE ledger SET rows = ?, checksum = ? WHERE name = ?", (rows, checksum((table, rows)), table)
    )
