"""Sphinx directives that write what the package knows, so that nothing is typed twice."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from giantstep.answers.quantities import QUANTITIES
from giantstep.model.parameters import PARAMETERS


class Symbols(Directive):
    """A table of `giantstep.model.parameters` (the argument is `inputs`) or of `giantstep.answers.quantities`
    (`answers` or `diagnostics`)."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        part = self.arguments[0]
        lines = ["| name | symbol | meaning |", "|---|---|---|"]
        if part == "inputs":
            rows = [(name, row.symbol, row.help) for name, row in PARAMETERS.items()]
        else:
            rows = [
                (name, row.symbol, f"{row.words} ({row.only})" if row.only else row.words)
                for name, row in QUANTITIES.items()
                if (row.kind == "diagnostic") == (part == "diagnostics")
            ]
        for name, symbol, words in rows:
            words = words.replace("|", r"\|")
            lines.append(f"| `{name}` | {f'${symbol}$' if symbol else ''} | {words} |")
        container = nodes.Element()
        self.state.nested_parse(StringList(lines), self.content_offset, container)
        return container.children


_MATHEMATICS = r"^ *\.\. math::.*\n(?:(?: +.*)?\n)*"  # a directive with its indented lines
_EXAMPLE = r"^ *>>> .*\n(?: *\S.*\n?)*"  # with what it prints, up to an empty line
_KEPT = re.compile(rf"({_MATHEMATICS}|{_EXAMPLE}|:math:`[^`]*`|``[^`]*``)", flags=re.MULTILINE)


def plain_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """In docstrings |v| is an absolute value, where reStructuredText sees a substitution: escape the bars."""
    parts = _KEPT.split("\n".join(lines))
    escaped = [part if k % 2 else part.replace("|", r"\|") for k, part in enumerate(parts)]
    lines[:] = "".join(escaped).split("\n")


_LONG = 30  # letters: longer names may break at the edge of a table's cell


def mark_long_names(app: Any, doctree: nodes.document, page: str) -> None:
    """Give literals with a long word the class `long`, for the style sheet."""
    for literal in doctree.findall(nodes.literal):
        if any(len(word) > _LONG for word in literal.astext().split()):
            literal["classes"].append("long")


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("symbols", Symbols)
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("doctree-resolved", mark_long_names)
    return {"version": "1", "parallel_read_safe": True}
