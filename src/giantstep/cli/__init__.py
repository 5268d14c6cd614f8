"""The command `giantstep`: data on standard output, everything else on standard error, errors as one line."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from cyclopts import App

_HELP = """What does a two-layer network learn from one giant gradient step,
and how well will it generalise? Exact theory (predict), real networks of
finite size (simulate), and both side by side (compare)."""

_EPILOGUE = """Symbols are the paper's; counts are divided by the input dimension d:
  eta      learning rate of the step     alpha0   samples in the step
  alpha    samples for the readout       beta     width
  lam      ridge penalty                 noise    of the labels (standard dev.)
  r        strength of the spike that the step leaves in the first layer
  gamma    its alignment with the target
  c        mean squared norm of the rows without the spike

Start here:
  giantstep predict --eta 3 --alpha0 20 --alpha 0.2:3:5 --lam 0.1
  giantstep compare --eta 1 --alpha0 0.5 --alpha 0.5:3:6 --lam 0.1 --d 300
  giantstep predict --help
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 when all is well, 2 for anything refused, 130 after Ctrl-C."""
    from ..errors import ExpressionError, GiantstepError
    from . import output

    output.prepare()
    words = sys.argv[1:] if arguments is None else arguments
    warnings.showwarning = _warnings_once()
    try:
        status = _run(words)
        sys.stdout.flush()
    except ExpressionError as error:
        option = {"function": "--target: ", "activation": "--activation: "}.get(str(error.name), "")
        reason = error.reason.replace("giantstep.functions.catalogue()", "giantstep functions")
        status = _refuse(f"{option}{reason} (column {error.position + 1} of {error.text[:80]!r})")
    except GiantstepError as error:
        status = _refuse(" ".join([_in_options(error, words), *getattr(error, "__notes__", ())]))
    except KeyboardInterrupt:
        print("interrupted: nothing more was computed or written", file=sys.stderr)
        status = 130
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        output.abandon_output()
        status = 141
    except OSError as error:
        if error.filename is None:
            output.abandon_output()
        place = "standard output" if error.filename is None else repr(error.filename)
        status = _refuse(f"{place} cannot be used: {error.strerror or error}; choose another place")
    except MemoryError as error:
        status = _refuse(f"there is not enough memory ({error}); use shorter ranges or a smaller d")
    sys.exit(status)


def make_app() -> App:
    """The commands, ready to parse."""
    from cyclopts import App

    from .. import __version__
    from . import commands, figures, insight, spectra, sweep
    from .help import PlainHelp

    app = App(
        name="giantstep",
        help=_HELP,
        help_epilogue=_EPILOGUE,
        help_format="plaintext",
        help_formatter=PlainHelp(),
        version=f"giantstep {__version__}",
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    verbs = (
        commands.predict,
        commands.simulate,
        commands.compare,
        insight.bounds,
        insight.learned,
        insight.staircase,
        spectra.spectrum,
        insight.tune,
        insight.explain,
        insight.bayes,
        insight.ridge,
        insight.coefficients,
        commands.functions,
        figures.figure,
        figures.reproduce,
        commands.explore,
        commands.demo,
    )
    for place, verb in enumerate(verbs):
        app.command(verb, sort_key=place, help_epilogue="")
    app.command(sweep.make_sweep_app(sort_key=verbs.index(commands.functions) + 0.5))
    return app


def _run(words: Sequence[str]) -> int:
    from cyclopts import CoercionError, CycloptsError, MissingArgumentError, UnknownOptionError

    from ..errors import GiantstepError

    app = make_app()
    try:
        return app(words, exit_on_error=False, print_error=False) or 0
    except CycloptsError as error:
        if isinstance(error.__cause__, GiantstepError):  # of a range or a file, whose option has said all
            raise error.__cause__ from None
        help_page = " ".join(["giantstep", *(error.command_chain or ()), "--help"])
        said = " ".join(str(error).split())
        if isinstance(error, CoercionError) and error.target_type is float and error.token is not None:
            said = f'Invalid value for {error.token.keyword}: "{error.token.value}" is not one number'
        if isinstance(error, UnknownOptionError):
            known = {name for one in error.argument_collection for name in one.names}
            said = _unknown(error.token.keyword or error.token.value, known)
        if isinstance(error, MissingArgumentError) and error.argument is not None:
            for name in error.command_chain or ():
                app = app[name]
            known = {name for one in app.assemble_argument_collection() for name in one.names}
            said = _missing(error.argument, words, known)
        return _refuse(f"{said} ({help_page} lists what there is)")


def _unknown(option: str, known: Set[str]) -> str:
    """That there is no such option, and which one was meant if its name is near: their dashes are no likeness."""
    from difflib import get_close_matches

    name = option.partition("=")[0]
    near = get_close_matches(name.lstrip("-"), [one.lstrip("-") for one in sorted(known)], n=1)
    return f"{name} is unknown here" + (f": did you mean --{near[0]}?" if near else "")


def _missing(argument: Any, given: Sequence[str], known: Set[str]) -> str:
    """That an option was left out, misspelt, or stands there without its value; and what it is for."""
    from difflib import get_close_matches

    unknown = [word.partition("=")[0] for word in given if word.startswith("--")]
    meant = get_close_matches(argument.name, [word for word in unknown if word not in known], n=1)
    if meant:
        return f"{meant[0]} is unknown: did you mean {argument.name}?"
    what = f"{argument.name} {'needs a value' if argument.name in given else 'is missing'}"
    return f"{what}: {argument.parameter.help}" if argument.parameter.help else what


def _in_options(error: Exception, words: Sequence[str]) -> str:
    """What an error says, about the option that its argument has here if that was given."""
    name, value, reason = (getattr(error, key, None) for key in ("name", "value", "reason"))
    option = f"--{str(name).replace('_', '-')}"
    if reason is None or option not in [word.partition("=")[0] for word in words]:
        return str(error)
    return f"{option} {f'{value:g}' if isinstance(value, float) else value} {reason}"


def _refuse(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _warnings_once() -> Callable[..., None]:
    """Warnings as lines on standard error, each once however often a command comes by it."""

    @cache
    def say(words: str) -> None:
        print(f"warning: {words}", file=sys.stderr)

    return lambda message, *rest, **more: say(" ".join(str(message).split()))
