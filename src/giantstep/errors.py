"""The exceptions and warnings of giantstep: each is a sentence that names the way out."""

from __future__ import annotations

from typing import Any


class GiantstepError(Exception):
    """Base of every error that giantstep raises on purpose."""


class ParameterError(GiantstepError, ValueError):
    """An argument has a value that makes no sense; the message says what is allowed."""


class ExpressionError(ParameterError):
    """A function typed as text was refused; `position` is the offending column, counted from 0."""

    def __init__(self, reason: str, text: str, position: int = 0):
        shown, at = _excerpt(text, position)
        super().__init__(f"{reason}\n  {shown}\n  {' ' * at}^")
        self.reason, self.text, self.position = reason, text, position

    def __reduce__(self) -> tuple[Any, ...]:  # so that it crosses from a worker process
        return ExpressionError, (self.reason, self.text, self.position)


class ConvergenceError(GiantstepError, RuntimeError):
    """Some grid points were not solved; `partial` is the Dataset with what was computed."""

    def __init__(self, message: str, partial: Any):
        super().__init__(message)
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:  # so that it crosses from a worker process
        return ConvergenceError, (self.args[0], self.partial)


class GiantstepWarning(UserWarning):
    """A result that stands, but that its user should know more about."""


class LimitWarning(GiantstepWarning):
    """A number that is right as a limit, and far from what networks of a usual size, or real data sets, give."""


def _excerpt(text: str, position: int, width: int = 60) -> tuple[str, int]:
    """At most `width` characters of one line of `text` around `position`, and where that lies in them."""
    line = " ".join(text.split("\n"))
    start = max(0, min(position - width // 2, len(line) - width))
    return line[start : start + width], position - start
