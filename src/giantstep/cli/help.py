"""Help as plain, aligned text: the same in a terminal, in a pipe and in a page of documentation."""

from __future__ import annotations

import shutil
import textwrap
from typing import Any

_COLUMN = 24  # where descriptions begin
_WIDEST = 100
_NARROWEST = 20  # of a description: a terminal that has no room for it wraps it by itself


class PlainHelp:
    """A cyclopts help formatter: names to the left, descriptions wrapped to the right, no boxes."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        if panel.entries:
            _write(console, "\n".join([f"{panel.title}:", *(_entry(entry, console) for entry in panel.entries), ""]))

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        _write(console, "usage: " + _text(usage, console).removeprefix("Usage: ") + "\n")

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        _write(console, "\n".join(map(_wrapped, _text(description, console).split("\n"))) + "\n")


def _entry(entry: Any, console: Any) -> str:
    names = ", ".join(sorted(entry.display_labels, key=len))
    value = "|".join(entry.choices or ()) or entry.metavar
    if value and names.startswith("-"):
        names = f"{names} {value}"
    known = entry.default not in (None, "False")  # a switch that is off needs no remark
    remark = f" (default {entry.default})" if known else " (required)" if entry.required else ""
    first, blank = f"  {names}".ljust(_COLUMN), " " * _COLUMN
    text = textwrap.fill(
        " ".join(f"{_text(entry.description, console)}{remark}".split()),
        max(_COLUMN + _NARROWEST, _width()),
        initial_indent=blank,
        subsequent_indent=blank,
        break_on_hyphens=False,
    )
    return f"{first}\n{text}" if len(first) > _COLUMN else first + text[_COLUMN:]  # a long name has its line


def _wrapped(line: str) -> str:
    """A long line of prose in several; indented ones are examples and stay."""
    return line if line.startswith(" ") else textwrap.fill(line, max(_NARROWEST, _width()))


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size().columns)


def _text(renderable: Any, console: Any) -> str:
    with console.capture() as capture:
        console.print(renderable or "", soft_wrap=True, highlight=False, markup=False)
    return capture.get().strip()


def _write(console: Any, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)
