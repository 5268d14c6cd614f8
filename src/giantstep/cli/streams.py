"""Standard output and error as they happen to be: closed, full, without Unicode, or with nobody reading."""

from __future__ import annotations

import codecs
import io
import os
import sys

_SPELT = {"±": "+-", "²": "2", "½": "1/2", "·": "*", "×": "x", "√": "sqrt", "ξ": "xi", "→": "->", "∞": "inf"}


def prepare() -> None:
    """Let every text through: what a stream's encoding lacks is spelt in ASCII, what was closed swallows all."""
    codecs.register_error("giantstep.spelt", _spelt)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for as long as we run)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="giantstep.spelt")


def abandon_output() -> None:
    """Write no more to standard output, lest Python's own last flush of it fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _spelt(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_SPELT.get(letter, "?") for letter in error.object[error.start : error.end]), error.end
