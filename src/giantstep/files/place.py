"""Where a file goes: checked before the work, and replaced whole or not at all."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ParameterError


def check_place(path: str | os.PathLike[str]) -> Path:
    """The real path of a file that can be written or replaced here; an error otherwise."""
    final = Path(os.path.realpath(path))
    folder = final.parent
    if not folder.is_dir():
        raise ParameterError(
            f"path = {str(path)!r}: the folder {str(folder)!r} does not exist; create it first"
        )
    if not os.access(folder, os.W_OK):
        raise ParameterError(
            f"path = {str(path)!r}: the folder {str(folder)!r} is not writable; choose another"
        )
    if final.exists() and not (final.is_file() and os.access(final, os.W_OK)):
        kind = "not writable" if final.is_file() else "not a plain file"
        raise ParameterError(f"path = {str(path)!r} exists and is {kind}; choose another name")
    return final


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to, which takes its place if all goes well and vanishes if not.

    The new file has the permissions of the one it replaces. It is on the disk before it takes that one's place, so
    that not even a power cut leaves half a file. What a killed process left behind goes with the next save.
    """
    final = check_place(path)
    try:
        _remove_leftovers(final)
        temporary, descriptor = _created(final)
    except OSError as error:
        raise _refusal(path, error) from error
    try:
        yield temporary
        os.fsync(descriptor)
        os.replace(temporary, final)
        _sync_folder(final.parent)
    except OSError as error:
        raise _refusal(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
        os.close(descriptor)


def _created(final: Path) -> tuple[Path, int]:
    """A new file beside `final`, locked for as long as its descriptor is open.

    Its name cannot be foreseen, and it is never one that is there already, a link that somebody has laid included.
    """
    temporary = final.parent / f"{_prefix(final)}{secrets.token_hex(8)}{final.suffix}"
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(final).st_mode))
    except OSError:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
        raise
    return temporary, descriptor


def _remove_leftovers(final: Path) -> None:
    """Temporary files of processes that were killed: nobody holds their lock any more."""
    for name in os.listdir(final.parent):
        if not (name.startswith(_prefix(final)) and name.endswith(final.suffix)):
            continue
        with suppress(OSError):  # somebody else's, or gone by now
            descriptor = os.open(final.parent / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(final.parent / name)
            finally:
                os.close(descriptor)


def _prefix(final: Path) -> str:
    return f".{final.stem}.giantstep-"


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system has this
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refusal(path: str | os.PathLike[str], error: OSError) -> ParameterError:
    return ParameterError(
        f"path = {str(path)!r} cannot be written: {error.strerror or error}; choose another place"
    )
