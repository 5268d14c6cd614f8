"""Opening the file of a store: what is not one is refused by its first bytes, and every trouble is a sentence."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from .. import __version__
from ..files import check_plain, replacing
from . import rows
from .encoding import Damaged
from .job import RESULTS_VERSION
from .problems import StoreError

APPLICATION_ID = 0x67537765  # "gSwe": says that a SQLite file is ours
SCHEMA_VERSION = 2  # 1 had checksums of the answers alone
_HEADER = b"SQLite format 3\0"
_BESIDE = ("", ".lock", "-journal", "-wal", "-shm")  # a store, its lock, and what SQLite has beside it
_NOT_DAMAGE = ("locked", "busy", "unable to open", "disk I/O", "full", "readonly")


def create(path: Path) -> None:
    """A new store under a temporary name, which then takes its place: there is never half of one."""
    try:
        with (
            replacing(path) as temporary,
            closing(sqlite3.connect(temporary, isolation_level=None)) as connection,
        ):
            connection.executescript(
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
            )
            facts = {"version": __version__, "results_version": str(RESULTS_VERSION), "created": now()}
            rows.prepare(connection, facts)
    except sqlite3.Error as error:
        raise StoreError(
            f"{str(path)!r} cannot be made: {error}; choose another place with --store"
        ) from error


def connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=10.0
    )


def check_header(path: Path) -> None:
    """Refuse what is not ours by its first bytes, without opening it."""
    if not path.parent.is_dir():
        raise StoreError(f"{str(path)!r}: the folder {str(path.parent)!r} does not exist; create it first")
    for ending in _BESIDE:
        check_plain(f"{path}{ending}")
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
def sound(path: Path) -> Iterator[None]:
    """Whatever SQLite or numpy says of what is in the file, as a sentence."""
    try:
        yield
    except (sqlite3.Error, Damaged, ValueError, TypeError, OverflowError, MemoryError) as error:
        words = " ".join(str(error).split())
        if isinstance(error, sqlite3.OperationalError) and any(word in words for word in _NOT_DAMAGE):
            raise StoreError(f"{str(path)!r} cannot be read: {words}{_advice(path, words)}") from error
        raise damaged(path, words) from error


def damaged(path: Path, words: str) -> StoreError:
    return StoreError(
        f"{str(path)!r} is damaged ({words}) and is left as it is; restore a copy, or start anew with another --store"
    )


def _advice(path: Path, words: str) -> str:
    """What to do about a store whose last run was killed: SQLite must merge its log, for which it makes a file."""
    log = path.with_name(f"{path.name}-wal")
    if "unable to open" not in words and "readonly" not in words:
        return "; try again in a moment"
    if not log.exists():
        return f"; is the folder {str(path.parent)!r} readable?"
    return (
        f"; its last run was killed and left a log, which can only be read where files can be written: copy "
        f"{path.name} and {log.name} together to another folder and use them there"
    )


def check_pages(connection: sqlite3.Connection, how: str) -> None:
    damage = connection.execute(f"PRAGMA {how}(1)").fetchone()[0]
    if damage != "ok":
        raise Damaged(damage)


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
