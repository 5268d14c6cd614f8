"""The exceptions and warnings of giantstep: each is a sentence that names the way out."""

from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

_PACKAGE = (str(Path(__file__).parent), "<attrs generated methods giantstep.")
_LIBRARIES = (*_PACKAGE, *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), "<frozen")
_LONGEST = 200  # characters of a value in a message
_EXCERPT = 60  # characters of an expression around what is wrong with it


class GiantstepError(Exception):
    """Base of every error that giantstep raises on purpose: `except gs.GiantstepError` catches them all.

    Examples
    --------
    >>> try:
    ...     gs.Network("tanh", eta=-1, alpha0=1)
    ... except gs.GiantstepError as error:
    ...     print(error)
    eta = -1 is not allowed: it must be at least 0
    """

    page: ClassVar[str | None] = None
    """The page of the documentation on this kind of error; tracebacks name it below the message."""

    def __init__(self, *args: object):
        super().__init__(*args)
        if self.page is not None:
            self.add_note(f"(the documentation has a page on this: {self.page})")

    def _render_traceback_(self) -> list[str]:
        """The traceback in IPython and Jupyter: the user's lines, the message and its cause, no frames of giantstep.

        `%debug` still has all frames.
        """
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        error: BaseException | None = self
        while error is not None:
            error.__traceback__ = _outside_the_package(error.__traceback__)
            error = error.__cause__
        return shell.InteractiveTB.structured_traceback(type(self), self, self.__traceback__)


class ParameterError(GiantstepError, ValueError):
    """An argument has a value that is not allowed, or that the theory does not cover. It is a `ValueError`, too.

    Attributes
    ----------
    name : str or None
        The name of the argument, if the error is about one.
    value : object
        The value that was given.
    reason : str or None
        The rest of the sentence after "name = value", so that a command line or a page can begin it in its own words.

    Examples
    --------
    >>> gs.Target("sin", noise=-1)
    Traceback (most recent call last):
        ...
    giantstep.errors.ParameterError: noise = -1 is not allowed: it must be at least 0

    >>> try:
    ...     gs.Target("sin", noise=-1)
    ... except gs.ParameterError as error:
    ...     print("--" + error.name, error.value, error.reason)
    --noise -1.0 is not allowed: it must be at least 0
    """

    def __init__(self, sentence: str, name: str | None = None, value: object = None, reason: str | None = None):
        super().__init__(sentence)
        self.name, self.value, self.reason = name, value, reason


def refused(name: str, value: object, reason: str) -> ParameterError:
    """The error that an argument's value is refused: "name = value reason"."""
    return ParameterError(f"{name} = {shown(value)} {reason}", name, value, reason)


def shown(value: object) -> str:
    """A value in a message: on one line, and no longer than that."""
    try:
        text = f"{value:g}" if isinstance(value, float) else " ".join(repr(value).split())
    except Exception:  # Python writes no whole number of 5,000 digits, and objects may have a `__repr__` that fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


@contextmanager
def named(name: str, part: str | None = None) -> Iterator[None]:
    """Errors about a value that nobody has named yet, or about `part` of it, are about the argument `name`."""
    try:
        yield
    except ParameterError as error:
        if error.name in (None, part, "data"):
            error.name = name
            if error.reason and not isinstance(error, ExpressionError):
                error.args = (f"{name} = {shown(error.value)} {error.reason}",)
        raise


class NotCovered(ParameterError):
    """The question makes sense, but giantstep does not cover it; the message names the way out."""

    page = "Questions that people ask"


class ExpressionError(ParameterError):
    """A function typed as text was refused.

    Attributes
    ----------
    reason : str
        What is wrong.
    text : str
        The text as it was given.
    position : int
        The column where the trouble is, counted from 0.

    Examples
    --------
    >>> try:
    ...     gs.Target("tanh(x")
    ... except gs.ExpressionError as error:
    ...     print(error.reason, error.position)
    this is not an expression: '(' was never closed 4
    """

    page = "Your own activation, target or loss"

    def __init__(self, reason: str, text: str, position: int = 0):
        line = " ".join(text.split("\n"))
        start = max(0, min(position - _EXCERPT // 2, len(line) - _EXCERPT))
        super().__init__(f"{reason}\n  {line[start : start + _EXCERPT]}\n  {' ' * (position - start)}^")
        self.reason: str = reason
        self.text, self.position = text, position

    def __reduce__(self) -> tuple[Any, ...]:  # so that it crosses from a worker process
        return ExpressionError, (self.reason, self.text, self.position), self.__dict__


class ConvergenceError(GiantstepError, RuntimeError):
    """Some points of the grid were not solved to the accuracy asked for; the message names the first of them.

    Attributes
    ----------
    partial : xarray.Dataset
        The result with what was computed: NaN in the answers of the points that failed, and in their `status` a
        sentence that says why. `predict(..., throw=False)` returns it instead of raising.

    Examples
    --------
    >>> try:
    ...     answer = gs.predict(gs.SpikedRF("tanh", r=5, gamma=0.9), "sin", alpha=0.5, lam=0)
    ... except gs.ConvergenceError as error:
    ...     print(error.partial.status.item().split(":")[0])
    without a penalty, rare inputs far out along the spike decide the error here, because the activation saturates there
    """

    page = "When a point does not converge"

    def __init__(self, message: str, partial: Any = None):
        super().__init__(message)
        self.partial = partial


class GiantstepWarning(UserWarning):
    """The result is valid, but there is something about it that you should know. The message says what.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gs.GiantstepWarning)  # if you know already
    ...     answer = gs.predict(gs.SpikedRF("tanh", r=1, gamma=1), "sin", alpha=1, lam=0.1)
    """


class LimitWarning(GiantstepWarning):
    """The answer is right as a limit, but far from what networks of a usual size, or real data sets, give.

    Examples
    --------
    >>> import warnings
    >>> import giantstep as gs
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", gs.LimitWarning)
    ...     try:
    ...         found = gs.predict(gs.Network("tanh", eta=0.001, alpha0=1), "sin", alpha=2, lam=0.1)
    ...     except gs.LimitWarning as warning:
    ...         print(str(warning).split(" at ")[0])
    the limit d = inf is out of reach of real sizes
    """


def _outside_the_package(traceback: TracebackType | None, entered: bool = False) -> TracebackType | None:
    """The same traceback without the frames of this package, and of the libraries that it calls."""
    if traceback is None:
        return None
    file = traceback.tb_frame.f_code.co_filename
    entered = entered or file.startswith(_PACKAGE)
    later = _outside_the_package(traceback.tb_next, entered)
    if entered and file.startswith(_LIBRARIES):
        return later
    return TracebackType(later, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


def warn(message: str | Warning, category: type[Warning] = GiantstepWarning) -> None:
    """Warn at the line of the user's that asked: the innermost one outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", __name__).startswith("giantstep"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
