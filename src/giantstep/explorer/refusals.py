"""What the library says, in the words of the page: its controls have labels, and nobody there writes Python."""

from __future__ import annotations

import json
import re
import traceback
from http import HTTPStatus

from ..errors import ExpressionError, GiantstepError, ParameterError
from ..runtime.workers import WorkerDied
from .settings import CONTROLS

_FAILED = HTTPStatus.INTERNAL_SERVER_ERROR
_SETTINGS = {"function": "target"}  # names of the library that differ from the page's
_PHRASES = {  # sentences that point to Python, and what a visitor of the page does instead
    r"SpikedRF, which needs no derivative": "“Comes from: a spike, given directly”",
    r"there is no SpikedRF with one spike that resembles this network": "they have no coefficients in common",
    r", or the spiked features model net\.equivalent\(target\)": "",
    r"(a special |an? )?SpikedRF or TwoSpikes": "a given spike",
    r"a SpikedRF( or a Network)?": "a given spike",
    r"a Network('s)?": r"a trained network\1",
    r"; simulate_spectrum has their eigenvalues|,? or simulate_spectrum|; bounds\(\) has .*$": "",
    r", or letters and their shares, such as Letters\(.*\)$": ", or pairs such as -1:0.5,1:0.5",
    r"; in Python also a Loss| or a sequence of numbers": "",
    r"; giantstep\.functions\.catalogue\(\) lists the names": "; the box offers the names that are known",
    r"; (pass|give) (a Python function|Function\().*$": "; use another function",
    r"; ask predict\(.*$": "",
    r"give biases of order one in its Letters, or a target without inputs=": "or choose isotropic inputs",
    r"flips, latent_noise and scale": "flips and latent_noise",
    r"; simulate, or predict with d=, shows .*$": "; “Theory at this d”, under “Finite size”, predicts for a size",
    r"\bor simulate\b": "or press Simulate",
    r"^the limit d = inf is out of reach of real sizes at": "These values are for d = ∞, from which networks of real"
    " sizes differ much, at",
}
_CODES = "eta|alpha0|alpha|lam|beta|gamma|flips|latent_noise|bias_scale|bulk"
_WORDS = "function|target|activation|noise|loss|steps|rows|readout|along|low|high"  # which are English, too
_ARGUMENT = re.compile(  # `lam` anywhere, words where they have a value: `loss = 'hinge'`
    rf"(?<![\w'.])(?:({_CODES})\b(\s*=\s*)?|({_WORDS})\s*=\s*)(?:'([^']*)')?"
)


class Refused(Exception):
    """There is no answer, for a reason that the visitor should read; perhaps one setting is to blame."""

    def __init__(self, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST, setting: str | None = None):
        super().__init__(sentence)
        self.sentence, self.status, self.setting = sentence, status, setting

    def json(self) -> str:
        """What the page gets."""
        return json.dumps({"error": self.sentence, "field": self.setting})


class Gone(Exception):
    """Nobody waits for the answer any more."""


def page_words(text: str) -> str:
    """A sentence of the library with the labels of the page."""
    text = " ".join(text.split())
    for pattern, words in _PHRASES.items():
        text = re.sub(pattern, words, text)
    return _ARGUMENT.sub(_labelled, text)


def _labelled(argument: re.Match[str]) -> str:
    """The label of a setting for its name, and its value without quotes."""
    code, sign, word, value = argument.groups()
    name = code or word
    control = CONTROLS[_SETTINGS.get(name, name)]
    label = f"{control.label} ({control.symbol})" if control.symbol else control.label
    return label + (" = " if sign or word else "") + (value or "")


def refusal(error: Exception) -> Refused:
    """What is wrong as a sentence for the page, with the setting that it is about, if it is about one."""
    if isinstance(error, WorkerDied):
        return Refused("the computation ended unexpectedly; try less extreme values", _FAILED)
    if isinstance(error, MemoryError | ArithmeticError):
        return Refused(f"these values are too extreme to compute with ({type(error).__name__})")
    if not isinstance(error, GiantstepError):
        traceback.print_exception(error)
        return Refused(f"the computation failed ({type(error).__name__}); the terminal has the details", _FAILED)
    text, name = str(error), getattr(error, "name", None)
    if isinstance(error, ExpressionError):
        text = f"{error.reason} (column {error.position + 1} of {error.text[:80]})"
    elif name is None and isinstance(error, ParameterError):  # whose sentence begins with what it is about
        name = re.split(r"[\s':,]", text.lstrip("'"), maxsplit=1)[0]
    name = _SETTINGS.get(name or "", name)
    return Refused(page_words(text), setting=name if name in CONTROLS else None)
