"""Why a file is refused, and how much it may ask for."""

from __future__ import annotations


class Unreadable(Exception):
    """A file that is not what `save` wrote; the message completes "it cannot be read: ..."."""


NOT_OURS = "it is damaged, or not a Dataset that giantstep saved"
CHANGED = "it does not match its checksum: it is damaged, or somebody has changed it"


def check_size(asked: int, file_size: int) -> None:
    """Refuse arrays that are out of proportion to the file that holds them, before there is memory for them.

    What we write takes about as much room in memory as on disk; other programs compress, seldom more than tenfold.
    """
    if asked > 16 * file_size + (64 << 20):
        raise Unreadable(
            f"it asks for {asked / 2**30:.1f} GiB of memory, out of proportion to its own {file_size / 2**20:.1f} MiB"
        )
