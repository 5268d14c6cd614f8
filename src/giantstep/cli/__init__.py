"""The command `giantstep`: data on standard output, everything else on standard error, errors as one line."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cyclopts import App, CycloptsError

    from ..errors import GiantstepError

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
    from cyclopts import CycloptsError

    from ..errors import GiantstepError
    from . import output

    output.prepare()
    words = sys.argv[1:] if arguments is None else arguments
    warnings.showwarning = _warnings_once()
    try:
        status = make_app()(words, exit_on_error=False, print_error=False) or 0
        sys.stdout.flush()
    except CycloptsError as error:
        status = _refuse(_misread(error, words))
    except GiantstepError as error:
        status = _refuse(_in_options(error, words))
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
    from cyclopts import App, Parameter

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
        default_parameter=Parameter(negative=()),  # no --no-limit
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


def _misread(error: CycloptsError, words: Sequence[str]) -> str:
    """What is wrong with the words of a command, and where it says what there is."""
    from cyclopts import CoercionError, MissingArgumentError, UnknownOptionError

    from ..errors import GiantstepError

    if isinstance(error.__cause__, GiantstepError):  # of a range or a file, whose option has said all
        return _in_options(error.__cause__, words)
    said = str(error)
    if isinstance(error, CoercionError) and error.target_type is float and error.token is not None:
        said = f'Invalid value for {error.token.keyword}: "{error.token.value}" is not one number'
    if isinstance(error, UnknownOptionError):
        unknown, _, _ = (error.token.keyword or error.token.value).partition("=")
        meant = _nearest(unknown, (name for one in error.argument_collection for name in one.names))
        said = f"{unknown} is unknown here" + (f": did you mean {meant}?" if meant else "")
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name, purpose = error.argument.name, error.argument.parameter.help
        unused = (word.partition("=")[0] for word in error.unused_tokens or ())
        said = f"{name} needs a value" if name in words else f"{name} is missing"
        said += f": {purpose}" if purpose else ""
        if name not in words and (typed := _nearest(name, unused)):
            said = f"{typed} is unknown: did you mean {name}?"
    help_page = " ".join(["giantstep", *(error.command_chain or ()), "--help"])
    return f"{said} ({help_page} lists what there is)"


def _nearest(option: str, others: Iterable[str]) -> str:
    """The option whose name is like this one's, or nothing: their dashes are no likeness."""
    from difflib import get_close_matches

    names = sorted({other.lstrip("-") for other in others if other.startswith("--")})
    return "".join(f"--{name}" for name in get_close_matches(option.lstrip("-"), names, n=1))


def _in_options(error: GiantstepError, words: Sequence[str]) -> str:
    """What an error says, about the option that its argument has here if that was given."""
    from ..errors import ExpressionError

    name, value, reason = (getattr(error, key, None) for key in ("name", "value", "reason"))
    if isinstance(error, ExpressionError):
        option = {"function": "--target: ", "activation": "--activation: "}.get(str(name), "")
        said = error.reason.replace("giantstep.functions.catalogue()", "giantstep functions")
        return f"{option}{said} (column {error.position + 1} of {error.text[:80]!r})"
    option, said = f"--{str(name).replace('_', '-')}", str(error)
    if reason is not None and option in [word.partition("=")[0] for word in words]:
        said = f"{option} {f'{value:g}' if isinstance(value, float) else value} {reason}"
    return " ".join([said, *getattr(error, "__notes__", ())])


def _refuse(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _warnings_once() -> Callable[..., None]:
    """Warnings as lines on standard error, each once however often a command comes by it."""

    @cache
    def say(words: str) -> None:
        print(f"warning: {words}", file=sys.stderr)

    return lambda message, *rest, **more: say(" ".join(str(message).split()))
