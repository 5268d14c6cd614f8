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
        if not panel.entries:
            return
        lines = [f"{panel.title}:"]
        for entry in panel.entries:
            names = ", ".join(sorted(entry.display_labels, key=len))
            if entry.metavar and entry.metavar != "CHOICE" and names.startswith("-"):
                names = f"{names} {entry.metavar}"
            if entry.choices:
                names = f"{names} {'|'.join(entry.choices)}"
            lines += _entry(names, _text(entry.description, console), entry)
        _write(console, "\n".join([*lines, ""]))

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        _write(console, "usage: " + _text(usage, console).strip().removeprefix("Usage: ") + "\n")

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        _write(console, "\n".join(map(_wrapped, _text(description, console).strip().split("\n"))) + "\n")


def _entry(names: str, description: str, entry: Any) -> list[str]:
    remark = " (required)" if entry.required else ""
    if entry.default not in (None, "False"):  # a switch that is off needs no remark
        remark = f" (default {entry.default})"
    wrapped = textwrap.wrap(
        " ".join(description.split()) + remark,
        width=max(_NARROWEST, _width() - _COLUMN),
        break_on_hyphens=False,
    )
    first = f"  {names}".ljust(_COLUMN)
    if len(first) > _COLUMN:  # a long name has a line of its own
        return [first, *(" " * _COLUMN + line for line in wrapped)]
    return [first + (wrapped[0] if wrapped else ""), *(" " * _COLUMN + line for line in wrapped[1:])]


def _wrapped(line: str) -> str:
    """A long line of prose in several; indented ones are examples and stay."""
    return line if line.startswith(" ") else textwrap.fill(line, max(_NARROWEST, _width()))


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size().columns)


def _text(renderable: Any, console: Any) -> str:
    if renderable is None or isinstance(renderable, str):
        return renderable or ""
    if hasattr(renderable, "plain"):
        return renderable.plain.rstrip()
    with console.capture() as capture:
        console.print(renderable, soft_wrap=True, highlight=False)
    return capture.get().rstrip()


def _write(console: Any, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)
