"""A control of the page: how a setting looks there, and what a visitor may enter into it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import ParameterError
from ..model.parameters import parameter

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

    def said(self) -> dict[str, Any]:
        """What is not at its default, for the page."""
        return {
            name: value for name, value in asdict(self).items() if value is not None and value is not False
        }

    def read(self, name: str, value: Any, kind: type) -> Any:
        """A visitor's value of the setting `name`, checked, as text, number, whole number or switch."""
        return {str: self._text, float: self._number, int: self._count, bool: _switch}[kind](name, value)

    def within(self, name: str, number: float) -> float:
        """The number, which must be between the control's ends."""
        try:
            return parameter(name, number, low=self.low, high=self.high)  # type: ignore[arg-type]
        except ParameterError as error:
            raise FieldError(name, str(error)) from None

    def _text(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise FieldError(name, f"{name} must be a text")
        if len(value) > _LONGEST_TEXT:
            raise FieldError(name, f"{name} has {len(value)} characters; at most {_LONGEST_TEXT} are read")
        known = dict(self.options or ())
        if known and value not in known:
            raise FieldError(name, f"{name} = {value[:40]!r} is unknown; there are {', '.join(known)}")
        return value.strip()

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise FieldError(name, f"{name} must be a number")
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise FieldError(name, f"{name} = {str(value)[:40]!r} is not a number") from None
        return number if number == math.inf and self.infinite else self.within(name, number)

    def _count(self, name: str, value: Any) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole and self.low <= value <= self.high):  # type: ignore[operator]
            ends = f"{self.low} to {self.high}"
            raise FieldError(name, f"{name} = {str(value)[:40]} must be a whole number from {ends}")
        return value


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise FieldError(name, f"{name} must be true or false")
    return value


class FieldError(ParameterError):
    """A value that makes no sense, and the setting that has it."""

    def __init__(self, name: str, reason: str):
        super().__init__(reason)
        self.field = name
