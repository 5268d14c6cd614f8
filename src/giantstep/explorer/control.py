"""A control of the page: how a setting looks there, and what a visitor may enter into it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import refused
from ..model.checks import flag, number

_LONGEST_TEXT = 300  # of an expression or a list of letters


@dataclass(frozen=True)
class Control:
    """How a setting looks on the page: `when` says for which other settings it is there."""

    group: str
    label: str
    symbol: str | None = None
    hint: str | None = None
    low: float | None = None
    high: float | None = None
    infinite: bool = False
    slider: tuple[float, float, str] | None = None  # its ends, and "log" or "linear"
    options: tuple[tuple[str, str], ...] | None = None  # value and words
    suggestions: str | None = None  # the list of names that is offered
    short: bool = False
    more: bool = False  # folded away until it is wanted
    when: Mapping[str, str] | None = None

    def for_page(self) -> dict[str, Any]:
        """What is not at its default."""
        return {
            name: value for name, value in asdict(self).items() if value is not None and value is not False
        }

    def read(self, name: str, value: Any, kind: type) -> Any:
        """A visitor's value of the setting `name`, checked, as text, number, whole number or switch."""
        if kind is bool:
            return flag(name, value)
        if kind is str:
            return self._text(name, value)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise refused(name, value[:40], "is not a number") from None
        if value == math.inf and self.infinite:
            return value
        checked = self.within(name, value)
        if kind is int and not (type(value) is int and checked.is_integer()):
            raise refused(name, value, "must be a whole number")
        return kind(checked)

    def within(self, name: str, value: Any) -> float:
        """A number between the control's ends."""
        return number(name, value, low=self.low, high=self.high)

    def _text(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise refused(name, value, "must be a text")
        if len(value) > _LONGEST_TEXT:
            raise refused(name, f"{value[:40]}…", f"is longer than {_LONGEST_TEXT} characters")
        known = dict(self.options or ())
        if known and value not in known:
            raise refused(name, value[:40], f"is unknown; there are {', '.join(known)}")
        return value.strip()
