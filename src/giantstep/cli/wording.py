"""Sentences of the library in the words of the command line."""

from __future__ import annotations

import re
from functools import cache

_LEFT_ALONE = (
    r"--[\w-]+ [^\s:]+|\w+\([^()]*\)|(?<!=)'[^']*'"  # options with their values, calls, and what was quoted
)
_ARGUMENT = re.compile(_LEFT_ALONE + r"|\b([a-z]\w*)=(?:'([^']*)'|([\w.+-]*\w))?(?![\w\[.=(\"'])")


def in_options(sentence: str) -> str:
    """Python's keyword arguments as options: give lam=, bulk='isotropic' becomes give --lam, --bulk isotropic."""

    def option(match: re.Match[str]) -> str:
        name, text, number = match.groups()
        if name is None:
            return match.group()
        known = f"--{name}" in _options()
        return " ".join(filter(None, [f"--{name}", text or number])) if known else match.group()

    return _ARGUMENT.sub(option, sentence)


@cache
def _options() -> frozenset[str]:
    """The options of all commands."""
    from . import make_app

    app = make_app()
    commands = [app[name] for name in app if not name.startswith("-")]
    answering = [one for one in commands if one.default_command is not None]
    arguments = [argument for one in answering for argument in one.assemble_argument_collection()]
    return frozenset(name for one in arguments for name in one.names)
