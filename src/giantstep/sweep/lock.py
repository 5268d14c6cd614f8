"""One writer at a time, on the word of the operating system, which forgets a process the moment it dies."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor

from ..system import NO_LINKS
from .problems import StoreError


@contextmanager
def only_writer(store: Path) -> Iterator[None]:
    """Hold `store`.lock; a second writer is told who holds it. The file is gone afterwards."""
    path = store.with_name(store.name + ".lock")
    descriptor = _taken(store, path)
    try:
        os.ftruncate(descriptor, 0)
        note = json.dumps({"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S")})
        os.write(descriptor, f" {note}".encode())
        yield
    finally:
        gone = _removed(path)  # while it is held, so that nobody's new lock is removed
        os.close(descriptor)
        if not gone:  # Windows removes nothing that is open, here or elsewhere
            _removed(path)


def _taken(store: Path, path: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o644)
        except OSError as error:
            raise StoreError(f"{str(store)!r} cannot be written here: {error.strerror}") from None
        try:
            taken = lock_descriptor(descriptor, blocking=False)
        except OSError as error:
            os.close(descriptor)
            raise StoreError(
                f"{str(store)!r} cannot be written here: its file system has no locks ({error.strerror}); choose a "
                "folder on a disk of this machine"
            ) from None
        if not taken:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise StoreError(
                f"{str(store)!r} is being written by another process{holder}; wait for it to finish or stop it "
                "(status and export work meanwhile)"
            )
        if _still_there(descriptor, path):
            return descriptor
        os.close(descriptor)  # its holder removed it between our two calls: take the next one


def _still_there(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _removed(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        return False
    return True


def _holder(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 1, os.SEEK_SET)  # Windows keeps the byte that is locked to its holder
        told = json.loads(os.read(descriptor, 1000))
        return f" (process {told['pid']}, since {told['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # it has only just begun
