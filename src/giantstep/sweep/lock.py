"""One writer at a time, on the word of the operating system, which forgets a process the moment it dies."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .problems import StoreError


@contextmanager
def only_writer(store: Path) -> Iterator[None]:
    """Hold `store`.lock; a second writer is told who holds it. The file is gone afterwards."""
    path = store.with_name(store.name + ".lock")
    descriptor = _taken(store, path)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "since": time.strftime("%F %T")}).encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held, so that nobody's new lock is removed
        os.close(descriptor)


def _taken(store: Path, path: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise StoreError(f"{str(store)!r} cannot be written here: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise StoreError(
                f"{str(store)!r} is being written by another process{holder}; wait for it to finish or stop it "
                "(status and export work meanwhile)"
            ) from None
        if _still_there(descriptor, path):
            return descriptor
        os.close(descriptor)  # its holder removed it between our two calls: take the next one


def _still_there(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    try:
        told = json.loads(os.pread(descriptor, 1000, 0))
        return f" (process {told['pid']}, since {told['since']})"
    except (ValueError, KeyError, TypeError):
        return ""  # it has only just begun
