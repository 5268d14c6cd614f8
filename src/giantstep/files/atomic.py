"""Where a file goes: checked before the work, and replaced whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ParameterError, refused

_LEFT_BEHIND = 3600.0  # seconds without a word: far longer than a file takes to be written


def check_place(path: str | os.PathLike[str]) -> Path:
    """The real path of a file that can be written or replaced here; an error otherwise."""
    final = Path(os.path.realpath(path))
    folder = final.parent
    if not folder.is_dir():
        raise refused("path", str(path), f"is in {str(folder)!r}, a folder that does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise refused("path", str(path), f"is in {str(folder)!r}, a folder that is not writable; choose another")
    check_plain(path)
    if final.exists() and not os.access(final, os.W_OK):
        raise refused("path", str(path), "exists and is not writable; choose another name")
    return final


def check_plain(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe, a device, a socket or a folder: none is a file of ours, and to open one may take for ever."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise refused("path", str(path), f"cannot be used: {error.strerror}; choose another name") from None
    if not stat.S_ISREG(mode):
        raise refused(
            "path",
            str(path),
            "is not a plain file but a folder, a pipe, a device or a socket, and is left as it is; choose another name",
        )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to, which takes its place if all goes well and vanishes if not.

    The new file has the permissions of the one it replaces. It is on the disk before it takes that one's place, so
    that not even a power cut leaves half a file. What a killed process left behind goes with a later save.
    """
    final = check_place(path)
    try:
        _remove_leftovers(final)
        temporary = _created(final)
        try:
            yield temporary
            with open(temporary, "rb+") as written:
                os.fsync(written.fileno())
            os.replace(temporary, final)
        finally:
            with suppress(OSError):
                temporary.unlink()
    except OSError as error:
        raise ParameterError(
            f"path = {str(path)!r} cannot be written: {error.strerror or error}; choose another place"
        ) from error


def _created(final: Path) -> Path:
    """A new file beside `final`.

    Its name cannot be foreseen, and it is never one that is there already, a link that somebody has laid included.
    """
    temporary = final.parent / f"{_prefix(final)}{secrets.token_hex(8)}{final.suffix}"
    with open(temporary, "xb") as new, suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(final).st_mode)
        os.chmod(new.fileno() if os.chmod in os.supports_fd else temporary, mode)
    return temporary


def _remove_leftovers(final: Path) -> None:
    """Temporary files of processes that were killed: nobody has written to them for long."""
    for left in final.parent.glob(f"{glob.escape(_prefix(final))}*{glob.escape(final.suffix)}"):
        with suppress(OSError):  # somebody else's, or gone by now
            if time.time() - left.lstat().st_mtime > _LEFT_BEHIND:
                left.unlink()


def _prefix(final: Path) -> str:
    return f".{final.stem}.giantstep-"
